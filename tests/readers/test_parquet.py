import datetime as dt
import decimal
import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from readings import read, read_bytes

from workbench.model.context import Columns, Context
from workbench.readers.parquet import READER

T0 = 1772359200  # 2026-03-01T10:00:00Z


def _write(path, table, **how):
    pq.write_table(table, path, **{"compression": "zstd", "write_page_checksum": True, **how})
    return path


def _labels(kind):
    pairs = [("__name__", "node_load1"), ("node", "n1"), ("cpu", "0")]
    if kind == "map":
        return pa.array([pairs], pa.map_(pa.string(), pa.string()))
    if kind == "pairs":
        return pa.array([[{"name": key, "value": value} for key, value in pairs]])
    if kind == "struct":
        return pa.array([{**dict(pairs), "none": None}])
    text = (
        '{"__name__":"node_load1","node":"n1","cpu":"0"}'
        if kind == "json"
        else '{__name__="node_load1", node="n1", cpu="0"}'
    )
    array = pa.array([text])
    return array.dictionary_encode() if kind == "dictionary" else array


@pytest.mark.parametrize("kind", ["map", "pairs", "struct", "json", "dictionary", "braces"])
def test_labels_in_every_dress_give_one_series(tmp_path, kind):
    table = pa.table({"labels": _labels(kind), "ts": pa.array([T0 * 1000], pa.int64()), "value": [1.5]})
    reading = read(READER, _write(tmp_path / "a.parquet", table), Context())
    row = {
        "metric": "node_load1",
        "host": "n1",
        "device_kind": "host",
        "labels": {"cpu": "0"},
        "value": 1.5,
        "ts": "2026-03-01T10:00:00Z",
    }
    assert reading.has("samples", row)


@pytest.mark.parametrize(
    ("values", "kind", "zone"),
    [
        ([T0], pa.timestamp("s", "UTC"), None),
        ([T0 * 10**9 + 999], pa.timestamp("ns", "America/New_York"), None),
        ([T0 * 10**6], pa.int64(), None),
        ([T0], pa.uint32(), None),
        ([float(T0)], pa.float64(), None),
        (["2026-03-01T11:00:00+0100"], pa.string(), None),
        ([dt.datetime(2026, 3, 1, 11)], pa.timestamp("us"), "Europe/Berlin"),  # noqa: DTZ001 - naive on purpose
        (["2026-03-01 11:00:00"], pa.large_string(), "Europe/Berlin"),
    ],
)
def test_times_in_every_type(tmp_path, values, kind, zone):
    table = pa.table({"time": pa.array(values, kind), "host": ["n1"], "load": [7]})
    reading = read(READER, _write(tmp_path / "a.parquet", table), Context(zone=zone))
    assert reading.has("samples", {"ts": "2026-03-01T10:00:00Z", "value_int": 7})


def test_numbers_in_every_type(tmp_path):
    cells = {
        "u64": pa.array([2**64 - 1], pa.uint64()),
        "u32": pa.array([2**32 - 1], pa.uint32()),
        "i8": pa.array([-128], pa.int8()),
        "f16": pa.array([1.5], pa.float16()),
        "f32": pa.array([0.25], pa.float32()),
        "cents": pa.array([decimal.Decimal("12.34")], pa.decimal128(9, 2)),
        "whole": pa.array([decimal.Decimal("12.00")], pa.decimal128(9, 2)),
        "flag": pa.array([True]),
        "text": pa.array(["1.2 kW"]),
        "bytes": pa.array([b"\xff"]),
        "list": pa.array([[1, 2]]),
        "none": pa.nulls(1),
    }
    table = pa.table({"ts": pa.array([T0]), "host": ["n1"], **cells})
    reading = read(READER, _write(tmp_path / "a.parquet", table), Context())
    found = {row["metric"]: (row["value"], row["value_int"]) for row in reading.frame("samples").iter_rows(named=True)}
    assert found == {
        "u64": (2.0**64, None),
        "u32": (2.0**32 - 1, 2**32 - 1),
        "i8": (-128.0, -128),
        "f16": (1.5, None),
        "f32": (0.25, None),
        "cents": (12.34, None),
        "whole": (12.0, 12),
        "flag": (1.0, 1),
        "text": (1200.0, None),
    }
    assert reading.absent() == {"bytes: not a number": 1, "list: not a number": 1, "none: empty": 1}


def test_row_groups_come_one_by_one_and_rows_keep_their_numbers(tmp_path):
    table = pa.table(
        {"ts": pa.array([T0 + row if row != 7 else None for row in range(10)]), "host": ["n1"] * 10, "a": range(10)}
    )
    reading = read(READER, _write(tmp_path / "a.parquet", table, row_group_size=3), Context())
    assert (reading.records, reading.rows, reading.count("samples")) == (10, 9, 9)
    assert reading.rejects().select("line", "reason", "text").rows() == [(8, "no time", "row 8")]


@pytest.mark.parametrize("keep", [3, 4, 11, 500, -1, -4])
def test_a_cut_file_is_one_record_and_says_so(tmp_path, keep):
    path = _write(tmp_path / "a.parquet", pa.table({"ts": [T0] * 500, "host": ["n1"] * 500, "a": range(500)}))
    reading = read_bytes(READER, path.read_bytes()[:keep], Context(), tmp_path)
    assert (reading.records, reading.rows) == (1, 0)
    assert "does not end in PAR1" in reading.rejects()["reason"][0]


def test_one_spoiled_row_group_does_not_lose_the_others(tmp_path):
    table = pa.table({"ts": range(T0, T0 + 300), "host": ["n1"] * 300, "a": [float(n) * 1.1 for n in range(300)]})
    path = _write(tmp_path / "a.parquet", table, row_group_size=100, use_dictionary=False)
    group = pq.ParquetFile(path).metadata.row_group(1)
    column = group.column(2)
    data = bytearray(path.read_bytes())
    middle = column.data_page_offset + column.total_compressed_size - 20
    data[middle : middle + 10] = bytes(255 - byte for byte in data[middle : middle + 10])
    reading = read_bytes(READER, bytes(data), Context(), tmp_path)
    assert (reading.records, reading.rows) == (201, 200)
    assert reading.rejects()["line"].to_list() == [101]
    assert reading.rejects()["reason"][0].startswith("row group 2 of 100 rows cannot be read")


def test_a_compressed_file_is_read_too(tmp_path):
    path = _write(tmp_path / "a.parquet", pa.table({"ts": [T0], "host": ["n1"], "a": [1]}))
    packed = gzip.compress(path.read_bytes())
    assert read_bytes(READER, packed, Context(), tmp_path).tables() == read(READER, path, Context()).tables()


def test_what_the_schema_leaves_open_is_rejected_row_by_row(tmp_path):
    path = _write(tmp_path / "a.parquet", pa.table({"moment": [T0, T0], "host": ["n1", "n2"], "a": [1, 2]}))
    reading = read(READER, path, Context())
    assert (reading.records, reading.rows) == (2, 0)
    assert set(reading.rejects()["curable"]) == {"map"}
    mapped = read(READER, path, Context(columns=Columns(roles={"ts": "moment"})))
    assert mapped.rows == 2


def test_jobs(tmp_path):
    table = pa.table(
        {
            "job_id": [4411],
            "start": pa.array([T0], pa.timestamp("s", "UTC")),
            "end": pa.array([T0 + 60], pa.timestamp("s", "UTC")),
            "state": ["FAILED"],
            "nodes": [["n1", "n2"]],
        }
    )
    reading = read(READER, _write(tmp_path / "a.parquet", table), Context())
    assert reading.has("jobs", {"job": "4411", "attempt": 1, "end": "2026-03-01T10:01:00Z", "nodes": ["n1", "n2"]})
    assert reading.has("events", {"kind": "job", "code": "FAILED", "device": "4411"})
