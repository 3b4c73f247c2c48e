"""Traps of exports of power and cooling: orders of dates, zones in headers, states, bad quality."""

import polars as pl
import pytest
from readings import read_bytes

from workbench.model.context import Columns, Context
from workbench.readers.dateorder import DateOrder
from workbench.readers.power_cooling_csv import READER
from workbench.readers.registry import recognise
from workbench.timebase import from_us, parse_time

UTC = Context(zone="UTC")
HEAD = "{0},CDU-7 Supply Temp (°C),CDU-7 Flow (L/min),Pump Status\n"


def _read(tmp_path, text, context=UTC, **how):
    assert recognise(text.encode(), context)[0].name == "power_cooling_csv"
    return read_bytes(READER, text.encode(), context, tmp_path, **how)


def _times(reading):
    return reading.frame("samples").filter(metric="Flow")["ts"].to_list()


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("13/2/2026 3:10:00 PM", "2026-02-13 15:10:00"),
        ("2/13/2026 12:10 AM", "2026-02-13 00:10"),
        ("2/13/26 12:10 pm", "2026-02-13 12:10"),
        ("1.2.2026 03:14:00", "2026-02-01 03:14:00"),
        ("13-02-2026 03:14:00,5", "2026-02-13 03:14:00.5"),
        ("5/5/2026 03:14", "2026-05-05 03:14"),
        ("13/2/2026", "2026-02-13"),
        ("2/3/2026 03:14", "2/3/2026 03:14"),
        ("2026-02-03T03:14:00Z", "2026-02-03T03:14:00Z"),
        ("13/2/2026 13:10 PM", "2026-02-13 99:10"),
        ("31/31/2026 03:14", "31/31/2026 03:14"),
    ],
)
def test_dates_that_tell_their_order_and_those_that_do_not(written, iso):
    found = DateOrder().iso(pl.Series([written]), pl.Series([1]))
    assert found[0] == iso or (written.startswith("31/31") and found[0] == "2026-31-31 03:14")


@pytest.mark.parametrize("block_bytes", [80, 10_000])
def test_an_order_that_changes_is_told_and_what_is_open_after_it_is_rejected(tmp_path, block_bytes):
    dates = ["2/3/2026", "2/14/2026", "2/4/2026", "15/2/2026", "2/5/2026", "2/16/2026"]
    rows = "".join(f"{date} 10:00,{n}.5,{n},ON\n" for n, date in enumerate(dates))
    reading = _read(tmp_path, HEAD.format("Timestamp") + rows, block_bytes=block_bytes)
    days = [moment.strftime("%m-%d") for moment in _times(reading)]
    assert days == ["02-03", "02-14", "02-04", "02-15", "02-16"]
    assert reading.rejects().select("line", "curable").rows() == [(6, "map")]
    assert any("changes in this file, at line 5" in note for note in reading.notes)


def test_an_order_that_is_told_or_stated(tmp_path):
    text = HEAD.format("Timestamp") + "2/3/2026 10:00,1,1,ON\n2/14/2026 10:00,2,2,ON\n"
    told = _read(tmp_path, text)
    assert _times(told)[0] == from_us(parse_time("2026-02-03T10:00:00Z"))
    assert any("month first" in note for note in told.notes)
    open_ = HEAD.format("Timestamp") + "2/3/2026 10:00,1,1,ON\n"
    assert _read(tmp_path, open_).rejects()["curable"].to_list() == ["map"]
    stated = _read(tmp_path, open_, Context(zone="UTC", columns=Columns(time_format="%d/%m/%Y %H:%M")))
    assert _times(stated) == [from_us(parse_time("2026-03-02T10:00:00Z"))]


@pytest.mark.parametrize(
    ("header", "utc", "curable"),
    [
        ("Timestamp (UTC)", "10:00", None),
        ("Timestamp [UTC+05:30]", "04:30", None),
        ("Date/Time (GMT-6)", "16:00", None),
        ("Timestamp (Europe/Berlin)", "09:00", None),
        ("Timestamp (CET)", None, "clock"),
        ("Timestamp", None, "clock"),
    ],
)
def test_zones_in_the_header(tmp_path, header, utc, curable):
    reading = _read(tmp_path, HEAD.format(header) + "2026-02-03 10:00:00,1,1,ON\n", Context())
    if utc is None:
        assert reading.rejects()["curable"].to_list() == [curable]
        assert any("names no one offset" in note for note in reading.notes) == ("CET" in header)
    else:
        assert _times(reading) == [from_us(parse_time(f"2026-02-03T{utc}:00Z"))]


@pytest.mark.parametrize("block_bytes", [80, 10_000])
def test_changes_of_a_state_are_events(tmp_path, block_bytes):
    states = ["ON", "ON", "", "OFF", "--", "OFF", "FAULT", "ON"]
    rows = "".join(f"2026-02-03 10:00:0{n},1,{n},{state}\n" for n, state in enumerate(states))
    reading = _read(tmp_path, HEAD.format("Timestamp") + rows, block_bytes=block_bytes)
    events = reading.frame("events")
    assert events.select(pl.col("ts").dt.second(), "code", "kind", "device").rows() == [
        (3, "OFF", "state", "CDU-7"),
        (6, "FAULT", "state", "CDU-7"),
        (7, "ON", "state", "CDU-7"),
    ]
    assert reading.absent() == {}


def test_the_one_device_of_a_preamble_is_what_bare_columns_are_of(tmp_path):
    text = "Report:;CDU-12 trend\n\nTimestamp;Supply Temp [°C];Flow [L/min]\n2026-02-03 10:00:00;31,5;900\n"
    reading = _read(tmp_path, text)
    assert reading.frame("samples").select("device_kind", "device", "value").rows() == [
        ("loop", "CDU-12", 31.5),
        ("loop", "CDU-12", 900.0),
    ]
    bare = text.partition("\n\n")[2]
    assert _read(tmp_path, bare).rejects()["curable"].to_list() == ["host"]


def test_tables_of_hosts_are_left_alone():
    assert recognise(b"time,host,power [W]\n2026-02-03 10:00:00,n1,1\n", UTC)[0].name == "table"
    stated = Context(columns=Columns(roles={"ts": "Timestamp", "pdu": "PDU"}))
    assert recognise(b"Timestamp;PDU;Strom [A]\n02.11.2025 03:14;P1;14,2\n", stated)[0].name == "table"
