"""Files are lossless whatever the encoding, their row groups even, their sort keys findable."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from workbench.store.parquet import ROW_GROUP, Encodings, FileWriter, choose_encodings


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    count = 200_000
    return pa.table(
        {
            "ts": pa.array((np.arange(count) * 1000).tolist(), pa.timestamp("us", "UTC")),
            "entity": [f"e{n // 10_000}" for n in range(count)],
            "counter": np.cumsum(rng.poisson(9, count)) + 2**60,
            "three_decimals": np.round(400 + 80 * rng.standard_normal(count), 3),
            "mantissa": rng.standard_normal(count),
            "constant": np.full(count, 7, np.int64),
            "holes": pa.array([None if n % 3 else n for n in range(count)], pa.int64()),
        }
    )


def test_the_trial_takes_the_smallest_and_nothing_is_lost(table, tmp_path):
    chosen = choose_encodings(table)
    writer = FileWriter(tmp_path / "a.parquet", table.schema, chosen)
    writer.write(table)
    listed = writer.close("a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").equals(table)
    assert pl.read_parquet(tmp_path / "a.parquet")["counter"].to_list() == table["counter"].to_pylist()
    assert (listed.rows, listed.first_us, listed.last_us) == (200_000, 0, 199_999_000)
    for encoding in ("DICTIONARY", "PLAIN"):
        other = FileWriter(tmp_path / encoding, table.schema, Encodings(dict.fromkeys(chosen.by_column, encoding)))
        other.write(table)
        assert listed.bytes <= other.close(encoding).bytes


def test_row_groups_are_even_and_below_the_cap(table, tmp_path):
    writer = FileWriter(tmp_path / "a.parquet", table.schema, Encodings())
    writer.write(table)
    writer.write(table.slice(0, 10))
    writer.close("a.parquet")
    meta = pq.read_metadata(tmp_path / "a.parquet")
    sizes = [meta.row_group(n).num_rows for n in range(meta.num_row_groups)]
    assert sizes == [100_000, 100_000, 10]
    assert max(sizes) <= ROW_GROUP


def test_statistics_are_written_for_sort_keys_only(table, tmp_path):
    writer = FileWriter(tmp_path / "a.parquet", table.schema, Encodings())
    writer.write(table)
    writer.close("a.parquet")
    group = pq.read_metadata(tmp_path / "a.parquet").row_group(0)
    told = {group.column(n).path_in_schema: group.column(n).is_stats_set for n in range(group.num_columns)}
    assert told == {name: name in ("ts", "entity") for name in table.column_names}
