"""Pivoting agrees with a plain dictionary, keeps the first value, and gives back whatever does not fit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.store.wide import LongSamples, pivot

BIG = 2**53
samples_of = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 2), st.integers(0, 3), st.integers(-5, 5),
        st.one_of(st.integers(-3, 3), st.sampled_from([BIG, BIG + 1, -(2**63), 2**63 - 1]), st.sampled_from([0.5, 1.5, float("inf")])),
    ),
    max_size=60,
)  # fmt: skip


def arrays(rows, spread=1):
    columns = list(zip(*rows, strict=True)) if rows else [[], [], [], [], []]
    whole = np.array([isinstance(value, int) for value in columns[4]], bool)
    return LongSamples(
        entity=np.array(columns[0], np.int32), source=np.array(columns[1], np.int32), column=np.array(columns[2], np.int32),
        ts=np.array(columns[3], np.int64) * spread, value=np.array([float(v) for v in columns[4]], np.float64),
        value_int=np.array([v if isinstance(v, int) else 0 for v in columns[4]], np.int64), has_int=whole,
    )  # fmt: skip


@given(samples_of, st.lists(st.booleans(), min_size=4, max_size=4), st.sampled_from([1, 3_600_000_000, 10**15]))
def test_every_sample_is_in_a_cell_or_given_back(rows, integer, spread):
    integer = np.array(integer)
    wide = pivot(arrays(rows, spread), integer)
    cells, order, misfits, repeated = {}, [], [], []
    for number, (entity, source, column, ts, value) in enumerate(rows):
        exact = (
            isinstance(value, int)
            if integer[column]
            else not isinstance(value, int) or abs(value) <= BIG or value == -(2**63)
        )
        key = (entity, ts * spread, source, column)
        kept = value if integer[column] else float(value)
        if not exact:
            misfits.append(number)
        elif key not in cells:
            cells[key] = kept
        else:
            (repeated if cells[key] == kept else misfits).append(number)
        order.append(key[:3])
    assert wide.misfits.tolist() == sorted(misfits)
    assert sorted(wide.repeated.tolist()) == sorted(repeated)
    labels = list(zip(wide.entity.tolist(), wide.ts.tolist(), wide.source.tolist(), strict=True))
    assert labels == sorted({key[:3] for key in cells})
    found = {
        (*label, column): values[row].item()
        for column, (values, valid) in enumerate(wide.columns)
        for row, label in enumerate(labels)
        if valid[row]
    }
    assert found == cells


def test_numbers_beyond_63_bits_fall_back_to_ranks():
    ts = np.array([0, 2**62, 2**62, 5], np.int64)
    entity = np.array([3_000_000, 0, 3_000_000, 0], np.int32)
    ones = np.ones(4)
    long = LongSamples(
        entity=entity, source=np.array([0, 5000, 0, 1], np.int32), column=np.zeros(4, np.int32), ts=ts, value=ones,
        value_int=ones.astype(np.int64), has_int=ones.astype(bool),
    )  # fmt: skip
    wide = pivot(long, np.array([True]))
    assert list(zip(wide.entity.tolist(), wide.ts.tolist(), wide.source.tolist(), strict=True)) == [
        (0, 5, 1), (0, 2**62, 5000), (3_000_000, 0, 0), (3_000_000, 2**62, 0),
    ]  # fmt: skip
