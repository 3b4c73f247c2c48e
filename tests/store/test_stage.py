"""What a reader hands over is checked, counted and kept aside; values and integers agree."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import DataError
from workbench.model import frames
from workbench.model.batch import Batch
from workbench.store.spool import DAY_US, HOUR_US, SampleSpool, Spool, read_chunk
from workbench.store.stage import Stage

T0_US = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z


def batch(rows, series=({"series": 0, "metric": "x", "host": "n1", "device_kind": "gpu", "device": "0"},)):
    """Rows are (series, ts, value, value_int)."""
    plain = {**frames.SAMPLES, "ts": pl.Int64()}
    samples = pl.DataFrame(rows, schema=plain, orient="row").with_columns(
        pl.col("ts").cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    )
    told = [{name: one.get(name) for name in frames.SERIES} for one in series]
    return Batch(records=len(rows), rows=len(rows), samples=samples, series=pl.DataFrame(told, schema=frames.SERIES))


def staged(stage):
    return pl.concat([read_chunk(chunk) for chunk in stage.samples_of.chunks])


def test_values_are_filled_from_integers_and_missing_ones_are_counted(tmp_path):
    stage = Stage(tmp_path, 10**9)
    nan = float("nan")
    stage.add(
        batch(
            [
                (0, T0_US, None, 7),
                (0, T0_US + 1, nan, 8),
                (0, T0_US + 2, nan, None),
                (0, T0_US + 3, None, None),
                (0, None, 1.0, 1),
                (0, T0_US + 4, 2.5, None),
            ]
        )
    )
    stage.finish()
    assert staged(stage).select("value", "value_int").rows() == [(7.0, 7), (8.0, 8), (2.5, None)]
    absent = pl.concat(list(stage.rows_of["absent"].frames()))
    assert sorted(absent.rows()) == [("x", "NaN", 1), ("x", "no time", 1), ("x", "no value", 1)]
    assert stage.samples == 3


@pytest.mark.parametrize("bad", ["unknown series", "series of another shape"])
def test_a_reader_that_breaks_its_contract_is_refused(tmp_path, bad):
    stage = Stage(tmp_path, 10**9)
    one = batch([(5 if bad == "unknown series" else 0, T0_US, 1.0, 1)])
    if bad != "unknown series":
        object.__setattr__(one, "series", pl.DataFrame({"series": [0]}))
    with pytest.raises(DataError, match="author"):
        stage.add(one)


@given(
    st.lists(st.tuples(st.integers(-3 * DAY_US, 3 * DAY_US), st.integers(0, 3)), min_size=1, max_size=80),
    st.sampled_from([1, 400, 10**9]),
    st.booleans(),
)
def test_spooled_samples_come_back_whole_and_in_their_hour_or_day(tmp_path_factory, pairs, limit, move):
    spool = SampleSpool(tmp_path_factory.mktemp("spool"), limit)
    for ts, who in pairs:
        spool.add(
            "gpu",
            pl.DataFrame(
                {"who": [who], "ts": [ts], "value": [float(ts)]},
                schema={"who": pl.UInt32, "ts": pl.Int64, "value": pl.Float64},
            ),
        )
    spool.flush(to_disk=False)
    if move:
        spool.move_to_disk()
        assert all(chunk.path is not None for chunk in spool.chunks)
    for chunk in spool.chunks:
        frame = read_chunk(chunk)
        assert frame.height == chunk.rows
        assert chunk.end_us - chunk.start_us in (HOUR_US, DAY_US)
        assert frame["ts"].is_between(chunk.start_us, chunk.end_us, closed="left").all()
    back = sorted(row for chunk in spool.chunks for row in read_chunk(chunk).select("ts", "who").rows())
    assert back == sorted(pairs)


def test_what_readers_repeat_is_squashed_before_it_goes_to_disk(tmp_path):
    spool = Spool(tmp_path / "links", 10**9, lambda rows: rows.unique(maintain_order=True))
    for _ in range(30):
        spool.add(pl.DataFrame({"a": np.arange(5000)}))
    assert spool.rows < 70_000
    assert pl.concat(list(spool.frames()))["a"].to_list() == list(range(5000))


def test_a_chunk_that_is_not_sparse_is_cut_by_the_hour(tmp_path):
    spool = SampleSpool(tmp_path, 10**12)
    ts = np.arange(0, 2 * HOUR_US, 100_000)
    spool.add("gpu", pl.DataFrame({"who": np.zeros(ts.size, np.uint32), "ts": ts, "value": ts.astype(float)}))
    spool.flush(to_disk=True)
    assert [chunk.rows for chunk in spool.chunks] == [36_000, 36_000]
