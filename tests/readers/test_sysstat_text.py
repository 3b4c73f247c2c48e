"""Traps of sysstat's reports: clocks of 12 hours, midnight, dates of an open order, averages since boot."""

import polars as pl
import pytest
from readings import read_bytes

from workbench.model.context import Columns, Context
from workbench.readers.registry import recognise
from workbench.readers.sysstat_text import READER
from workbench.timebase import from_us, parse_time

UTC = Context(zone="UTC")
TABLE = "\n\n{0}  CPU    %usr   %idle\n{1}  all    2.50   97.50\n"


def _read(tmp_path, text, context=UTC):
    assert recognise(text.encode(), context)[0].name == "sysstat_text"
    return read_bytes(READER, text.encode(), context, tmp_path)


def _banner(date, host="n1"):
    return f"Linux 6.8.0 ({host}) \t{date} \t_x86_64_\t(2 CPU)"


@pytest.mark.parametrize(
    ("date", "format_", "day"),
    [
        ("2026-03-11", None, "2026-03-11"),
        ("11.03.2026", None, "2026-03-11"),
        ("03/21/2026", None, "2026-03-21"),
        ("21/03/2026", None, "2026-03-21"),
        ("03/21/26", None, "2026-03-21"),
        ("03/11/2026", "%m/%d/%Y", "2026-03-11"),
        ("03/11/2026", "%d/%m/%Y", "2026-11-03"),
        ("03/11/2026", None, None),
        ("31/31/2026", None, None),
        ("2026-02-30", None, None),
    ],
)
def test_dates_of_banners(tmp_path, date, format_, day):
    context = Context(zone="UTC", columns=Columns(time_format=format_))
    reading = _read(tmp_path, _banner(date) + TABLE.format("10:00:00", "10:00:10"), context)
    if day is None:
        assert reading.rows == 0
        assert (reading.rejects()["curable"][0] == "map") == (date == "03/11/2026")
    else:
        assert set(reading.frame("samples")["ts"]) == {from_us(parse_time(f"{day}T10:00:10Z"))}


def test_midnight_is_passed_where_the_clock_falls_and_zones_are_stated(tmp_path):
    rows = "".join(
        f"{clock}  all {n}.0 {n}.0\n" for n, clock in enumerate(["11:59:58 PM", "12:00:08 AM", "12:59:58 PM"])
    )
    text = _banner("2026-03-28") + "\n\n11:59:48 PM  CPU    %usr   %idle\n" + rows
    reading = _read(tmp_path, text, Context(zone="Europe/Berlin"))
    times = reading.frame("samples").filter(metric="mpstat.%usr")["ts"].to_list()
    assert times == [from_us(parse_time(f"2026-03-{rest}Z")) for rest in ("28T22:59:58", "28T23:00:08", "29T10:59:58")]
    assert set(_read(tmp_path, text, Context()).rejects()["curable"]) == {"clock"}


def test_a_banner_begins_another_host_and_day(tmp_path):
    text = "".join(_banner(f"2026-03-0{n}", f"n{n}") + TABLE.format("10:00:00", "10:00:10") for n in (1, 2))
    samples = _read(tmp_path, text).frame("samples").filter(metric="mpstat.%idle")
    assert samples.select("host", pl.col("ts").dt.day()).rows() == [("n1", 1), ("n2", 2)]


def test_what_a_dump_without_times_needs(tmp_path):
    report = "\n\nDevice   tps\nsda      1.00\n"
    text = _banner("2026-03-01") + report * 3
    bare = _read(tmp_path, text)
    assert bare.skips()["since boot"] == 1
    assert set(bare.rejects()["curable"]) == {"taken_at"}
    assert any("average since boot" in note for note in bare.notes)
    at = parse_time("2026-03-01T10:00:00Z")
    told = _read(tmp_path, text, Context(taken_at_us=at, interval_s=30))
    assert told.frame("samples")["ts"].to_list() == [from_us(at + 30_000_000), from_us(at + 60_000_000)]
    twice = _read(tmp_path, text * 2, Context(taken_at_us=at, interval_s=30))
    assert twice.rows == 2
    assert set(twice.rejects()["reason"]) == {
        "another run under one time of the dump: split the file where its banner comes again"
    }


def test_sar_is_read_by_its_headers(tmp_path):
    text = _banner("2026-03-01") + (
        "\n\n00:00:01        LINUX RESTART\t(2 CPU)\n\n10:00:01    kbmemfree  %memused\n10:00:11     1884220     51.20\n\n"
        "10:00:01        IFACE   rxpck/s    rxkB/s\n10:00:11         eth0      2.00      0.50\n"
    )
    samples = _read(tmp_path, text).frame("samples")
    assert samples.select("metric", "device_kind", "device", "value", "unit").rows() == [
        ("sar.kbmemfree", "host", None, 1884220.0, "KiB"),
        ("sar.%memused", "host", None, 51.2, "%"),
        ("sar.rxpck/s", "nic", "eth0", 2.0, "1/s"),
        ("sar.rxkB/s", "nic", "eth0", 0.5, "KiB/s"),
    ]
