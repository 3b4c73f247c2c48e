"""One bound for the times of every reader: telemetry lies in the years 2000 to 2099."""

import json

import polars as pl
import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers import journald_json, kernel_log, prometheus_query_json, prometheus_text, syslog, table
from workbench.readers.promtool_tsdb_dump import READER as DUMP
from workbench.readers.stamps import IMPOSSIBLE, OUTSIDE
from workbench.readers.timecells import Clocks, TimeRule, read_times

STATED = Context(zone="UTC", host="n1", year=2026)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1677-09-21T00:12:43Z", OUTSIDE),
        ("1969-12-31T23:59:59Z", OUTSIDE),
        ("1999-12-31T23:59:59Z", OUTSIDE),
        ("2000-01-01T00:00:00Z", None),
        ("2000-01-01T00:30:00+01:00", OUTSIDE),
        ("2099-12-31T23:59:59Z", None),
        ("2100-01-01T00:00:00Z", OUTSIDE),
        ("9999-12-31T23:59:59Z", OUTSIDE),
        ("5000000000", OUTSIDE),
        ("9999-12-31 23:59:59", OUTSIDE),
        ("2026-02-30T00:00:00Z", IMPOSSIBLE),
    ],
)
def test_cells_of_a_table(text, reason):
    found = read_times(pl.Series([text]), Clocks(rule=TimeRule(zone="UTC")))
    assert found["reason"].to_list() == [reason]
    assert found["curable"].to_list() == [None]
    assert (found["ts"][0] is None) == (reason is not None)


@pytest.mark.parametrize("us", [-1, 0, 946_684_799_999_999, 4_102_444_800_000_000])
@pytest.mark.parametrize("name", ["text", "openmetrics", "dump", "query", "journald", "table", "kernel", "syslog"])
def test_every_reader_rejects_what_lies_outside(tmp_path, name, us):
    ms, year = us // 1000, 1999 if us < 10**15 else 2100
    lines = {
        "text": (prometheus_text.READER, f'up{{instance="n1:9"}} 1 {ms}\n'),
        "openmetrics": (prometheus_text.READER, f'# TYPE up gauge\nup{{instance="n1:9"}} 1 {us / 1e6:.6f}\n# EOF\n'),
        "dump": (DUMP, f'{{__name__="up", instance="n1:9"}} 1 {ms}\n'),
        "query": (
            prometheus_query_json.READER,
            json.dumps({"status": "success", "data": {"resultType": "vector", "result": [
                {"metric": {"__name__": "up", "instance": "n1:9"}, "value": [us / 1e6, "1"]}]}}) + "\n",
        ),
        "journald": (
            journald_json.READER,
            json.dumps({"__REALTIME_TIMESTAMP": str(us), "_HOSTNAME": "n1", "MESSAGE": "x"}) + "\n",
        ),
        "table": (table.READER, f"time,host,a\n{year}-12-31T00:00:00Z,n1,1\n"),
        "kernel": (kernel_log.READER, f"[Fri Dec 31 00:00:00 {year}] usb 1-1: x\n"),
        "syslog": (syslog.READER, f"<4>1 {year}-12-31T00:00:00Z n1 app - - - x\n"),
    }  # fmt: skip
    reader, text = lines[name]
    reading = read_bytes(reader, text.encode(), STATED, tmp_path)
    assert reading.rows == 0
    assert reading.reject_counts() == {OUTSIDE: 1}
    assert reading.rejects()["curable"].to_list() == [None]
    assert not sum(reading.count(kind) for kind in ("samples", "events"))
