"""From single samples to wide rows: one row per entity, time and file, one column per metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LongSamples", "Numbers", "Wide", "pivot"]

Ints = NDArray[np.int64]
Numbers = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
#: Doubles hold every integer up to here.
_EXACT_TO = 2**53


@dataclass(frozen=True, eq=False, kw_only=True)
class LongSamples:
    """Samples as arrays of equal length.

    Attributes
    ----------
    entity, source, column : (sample,) int32 or int64
        Small numbers from 0: entity in the order wanted, file, metric column.
    ts : (sample,) int64
        UTC microseconds.
    value : (sample,) float64
    value_int : (sample,) int64
    has_int : (sample,) bool
        Where ``value_int`` holds the exact value.
    """

    entity: Numbers
    source: Numbers
    column: Numbers
    ts: Ints
    value: Floats
    value_int: Ints
    has_int: Flags

    def take(self, rows: Ints) -> LongSamples:
        """Give some of the samples."""
        return LongSamples(**{name: getattr(self, name)[rows] for name in self.__dataclass_fields__})


@dataclass(frozen=True, eq=False, kw_only=True)
class Wide:
    """Wide rows, ordered by entity, time, file.

    Attributes
    ----------
    entity, ts, source : (row,)
    columns : tuple of ((row,) values, (row,) bool)
        One per metric column: int64 or float64 values, and where there is one.
    misfits : (sample,) int64
        Samples that the row cannot hold: a second, different value for the same cell, or a value
        that the type of the column would change.
    repeated : (sample,) int64
        Samples that say again, in the same file, what another one said; they are dropped.
    """

    entity: Numbers
    ts: Ints
    source: Numbers
    columns: tuple[tuple[NDArray[np.generic], Flags], ...]
    misfits: Ints
    repeated: Ints


def pivot(samples: LongSamples, integer: Flags) -> Wide:
    """Put samples into rows.

    Parameters
    ----------
    samples : LongSamples
        In the order of their files, which decides whose value a cell takes.
    integer : (column,) bool
        Which columns are int64; the others are float64.

    Examples
    --------
    >>> whole = np.array([7, 9, 9], dtype=np.int64)
    >>> zero = np.zeros(3, dtype=np.int64)
    >>> long = LongSamples(entity=zero, source=zero, column=zero, ts=np.array([0, 5, 5]), value=whole * 1.0,
    ...                    value_int=whole, has_int=np.ones(3, dtype=bool))
    >>> rows = pivot(long, np.array([True]))
    >>> rows.ts.tolist(), rows.columns[0][0].tolist(), rows.repeated.tolist()
    ([0, 5], [7, 9], [2])
    """
    fits = _fits(samples, integer)
    key = _keys(samples)
    rows = np.unique(key)
    by_column = np.argsort(samples.column.astype(np.int32), kind="stable")
    ends = np.searchsorted(samples.column[by_column], np.arange(integer.size), side="right")
    columns: list[tuple[NDArray[np.generic], Flags]] = []
    misfits, repeated, start = [by_column[:0]], [by_column[:0]], 0
    for number, end in enumerate(ends.tolist()):
        mine = by_column[start:end]
        start = end
        values, valid, clashing, same = _fill(samples, mine[fits[mine]], (key, rows), bool(integer[number]))
        columns.append((values, valid))
        misfits += [mine[~fits[mine]], clashing]
        repeated.append(same)
    labels = _row_labels(samples, key, rows)
    gone = {"misfits": np.sort(np.concatenate(misfits)), "repeated": np.concatenate(repeated)}
    wide = Wide(**labels, **gone, columns=tuple(columns))
    return _without_empty_rows(wide) if wide.misfits.size else wide


def _fits(samples: LongSamples, integer: Flags) -> Flags:
    """Tell which samples their column holds exactly."""
    small = np.abs(samples.value_int) <= _EXACT_TO
    return np.where(integer[samples.column], samples.has_int, ~samples.has_int | small)


def _keys(samples: LongSamples) -> Ints:
    """Number the rows: entity first, then time, then file."""
    if not samples.ts.size:
        return samples.ts
    entities, sources = int(samples.entity.max()) + 1, int(samples.source.max()) + 1
    offset = samples.ts - samples.ts.min()
    times = int(offset.max()) + 1
    if entities * sources * times >= 2**63:  # Python integers: no overflow in the test itself
        _, offset = np.unique(samples.ts, return_inverse=True)
        times = int(offset.max()) + 1
    return np.asarray((samples.entity.astype(np.int64) * times + offset) * sources + samples.source)


def _fill(
    samples: LongSamples, mine: Ints, numbered: tuple[Ints, Ints], whole: bool
) -> tuple[NDArray[np.generic], Flags, Ints, Ints]:
    """Fill one column; give also the samples that clash, and those that only repeat."""
    key, rows = numbered
    values: NDArray[np.generic] = np.zeros(rows.size, np.int64 if whole else np.float64)
    valid = np.zeros(rows.size, bool)
    source = samples.value_int if whole else samples.value
    if mine.size == rows.size and np.array_equal(key[mine], rows):
        values[:] = source[mine]
        valid[:] = True
        return values, valid, mine[:0], mine[:0]
    at = np.searchsorted(rows, key[mine])
    first = np.empty(rows.size, np.int64)
    first[at[::-1]] = mine[::-1]  # the last write wins, so the first sample of each row stays
    later = first[at] != mine
    values[at[~later]] = source[mine[~later]]
    valid[at] = True
    if not later.any():
        return values, valid, mine[:0], mine[:0]
    same = source[mine[later]] == values[at[later]]
    return values, valid, mine[later][~same], mine[later][same]


def _row_labels(samples: LongSamples, key: Ints, rows: Ints) -> dict[str, Any]:
    """Give entity, time and file of each row, from any sample of it."""
    sample = np.empty(rows.size, np.int64)
    sample[np.searchsorted(rows, key)] = np.arange(key.size)
    return {"entity": samples.entity[sample], "ts": samples.ts[sample], "source": samples.source[sample]}


def _without_empty_rows(wide: Wide) -> Wide:
    """Drop rows whose every value went elsewhere."""
    some = np.zeros(wide.ts.size, bool)
    for _, valid in wide.columns:
        some |= valid
    if some.all():
        return wide
    columns = tuple((values[some], valid[some]) for values, valid in wide.columns)
    return Wide(
        entity=wide.entity[some], ts=wide.ts[some], source=wide.source[some], columns=columns,
        misfits=wide.misfits, repeated=wide.repeated,
    )  # fmt: skip
