"""Logs as files hold them: repeats, folds, boots, glued lines, records that are no JSON."""

import json

import orjson
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers import journald_json, kernel_log, syslog
from workbench.timebase import format_us, parse_time, to_us

BOOT = Context(boot_at_us=parse_time("2026-01-01T00:00:00Z"), host="n1")
BERLIN = Context(zone="Europe/Berlin", year=2025, host="n1")


def dmesg(*texts, start=0.0):
    return "".join(f"[{start + number:12.6f}] {text}\n" for number, text in enumerate(texts)).encode()


def minutes(reading):
    return [format_us(to_us(ts))[11:16] for ts in reading.frame("events").sort("line")["ts"]]


def test_a_dump_appended_to_an_older_one_tells_only_what_is_new(tmp_path):
    old = dmesg("Linux version 6.8.0 (a)", "usb 1-1: one", "nfs: server a OK")
    new = old + dmesg("usb 1-1: later", start=90)
    reading = read_bytes(kernel_log.READER, old + new, BOOT, tmp_path, block_bytes=100)
    assert reading.skips() == {"duplicate": 3}
    assert reading.frame("events")["message"].to_list() == [
        "Linux version 6.8.0 (a)",
        "usb 1-1: one",
        "nfs: server a OK",
        "usb 1-1: later",
    ]


def test_equal_lines_of_whole_seconds_may_be_two_messages(tmp_path):
    twice = b"[Sun Feb 23 16:24:18 2025] usb 1-1: reset\n" * 2
    assert read_bytes(kernel_log.READER, twice, BERLIN, tmp_path).rows == 2
    assert read_bytes(syslog.READER, b"Mar  7 04:02:16 a b[1]: c\n" * 2, BERLIN, tmp_path).rows == 2
    assert read_bytes(syslog.READER, b"2025-03-07T04:02:16.123456Z a b[1]: c\n" * 2, BERLIN, tmp_path).skips() == {
        "duplicate": 1
    }


def test_lines_of_another_boot_are_refused_not_shifted(tmp_path):
    data = (
        dmesg("Linux version 6.8.0 (a)", "usb 1-1: a")
        + dmesg("usb 1-1: late", start=500)
        + dmesg("Linux version 6.8.0 (b)", "usb 1-1: b")
    )
    reading = read_bytes(kernel_log.READER, data, BOOT, tmp_path, block_bytes=60)
    assert reading.frame("events")["message"].to_list() == ["Linux version 6.8.0 (a)", "usb 1-1: a", "usb 1-1: late"]
    assert reading.rejects()["line"].to_list() == [4, 5]


def test_messages_that_share_a_line_are_taken_apart_and_counted_once(tmp_path):
    text = b"[    5.000000] one[    5.000003] NVRM: Xid (PCI:0000:18:00): 13, pid=1, name=a, x [    5.000007] three\n"
    reading = read_bytes(kernel_log.READER, text, BOOT, tmp_path)
    events = reading.frame("events")
    assert (reading.records, reading.rows, events.height) == (1, 1, 3)
    assert events.select("line", "kind", "message").rows() == [
        (1, "log", "one"),
        (1, "xid", "NVRM: Xid (PCI:0000:18:00): 13, pid=1, name=a, x"),
        (1, "log", "three"),
    ]
    assert [to_us(ts) - BOOT.boot_at_us for ts in events["ts"]] == [5_000_000, 5_000_003, 5_000_007]


def test_stamps_beyond_all_telemetry_are_no_times(tmp_path):
    lines = b"6,1,999999999999999999,-;far\n[9999999999.000000] nearer\n[9999999.000000] near\n"
    reading = read_bytes(kernel_log.READER, lines, BOOT, tmp_path)
    assert reading.reject_counts() == {"time outside of 2000 to 2100": 2}
    assert reading.rows == 1


@pytest.mark.parametrize("block_bytes", [64, 10_000])
@pytest.mark.parametrize("style", ["dmesg", "syslog"])
def test_the_hour_that_autumn_repeats_is_read_as_a_whole(tmp_path, style, block_bytes):
    clocks = ["01:50", "02:10", "02:40", "02:59", "02:01", "02:30", "03:05"]
    form = "[Sun Oct 26 {}:00 2025] usb 1-1: x\n" if style == "dmesg" else "Oct 26 {}:00 n1 kernel: usb 1-1: x\n"
    reader = kernel_log.READER if style == "dmesg" else syslog.READER
    reading = read_bytes(
        reader, "".join(form.format(clock) for clock in clocks).encode(), BERLIN, tmp_path, block_bytes=block_bytes
    )
    assert minutes(reading) == ["23:50", "00:10", "00:40", "00:59", "01:01", "01:30", "02:05"]
    assert not reading.notes & {note for note in reading.notes if "either pass" in note}


def test_an_hour_that_stays_open_is_told(tmp_path):
    reading = read_bytes(kernel_log.READER, b"[Sun Oct 26 02:30:00 2025] usb 1-1: x\n", BERLIN, tmp_path)
    row = reading.frame("events").row(0, named=True)
    assert (row["ts_high"] - row["ts_low"]).total_seconds() == pytest.approx(3600.999999)
    assert "1 lines lie in the hour that autumn repeats: either pass is possible" in reading.notes


def test_a_year_goes_on_over_blocks(tmp_path):
    lines = b"".join(
        b"%s %2d 12:00:00 a b: c\n" % (month, day)
        for month, day in ((b"Nov", 30), (b"Dec", 31), (b"Jan", 1), (b"Dec", 31), (b"Mar", 2))
    )
    reading = read_bytes(syslog.READER, lines, Context(zone="UTC", year=2024), tmp_path, block_bytes=30)
    assert [str(ts.date()) for ts in reading.frame("events")["ts"]] == [
        "2024-11-30",
        "2024-12-31",
        "2025-01-01",
        "2024-12-31",
        "2025-03-02",
    ]


def test_stamps_with_a_year_need_none_stated(tmp_path):
    data = b"Mar  8 15:18:40 2021 gw1 ifmgr[7]: link down\nMar  8 15:18:41 2022 gw1 ifmgr[7]: link up\n"
    reading = read_bytes(syslog.READER, data, Context(zone="UTC"), tmp_path)
    assert [ts.year for ts in reading.frame("events")["ts"]] == [2021, 2022]


def test_syslog_of_relays_without_host_or_program(tmp_path):
    data = (
        b"2025-03-07T04:02:16Z sshd[12]: no host here\n2025-03-07T04:02:17Z - just: text\n<13>1 - h a - - - no time\n"
    )
    reading = read_bytes(syslog.READER, data, Context(host="relay"), tmp_path)
    assert reading.frame("events").select("host", "message", "attributes").rows() == [
        ("relay", "no host here", '{"pid":12,"program":"sshd"}'),
        ("relay", "text", '{"program":"just"}'),
    ]
    assert reading.reject_counts() == {"no syslog time stamp": 1}


RECORD = {"__REALTIME_TIMESTAMP": "1762053241120373", "_HOSTNAME": "n1", "_TRANSPORT": "syslog"}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(st.lists(texts, min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_a_spoiled_record_changes_nothing_for_the_others(tmp_path_factory, messages):
    """Read together where all is well, one by one where a record is no JSON: the same events."""
    folder = tmp_path_factory.mktemp("journal")
    lines = [orjson.dumps({**RECORD, "__CURSOR": str(number), "MESSAGE": text}) for number, text in enumerate(messages)]
    good = read_bytes(journald_json.READER, b"\n".join(lines) + b"\n", Context(), folder)
    bad = read_bytes(journald_json.READER, b"\n".join([*lines, b'{"__CURSOR": tru}']) + b"\n", Context(), folder)
    assert good.frame("events")["message"].to_list() == messages
    assert bad.frame("events").equals(good.frame("events"))
    assert bad.rejects()["line"].to_list() == [len(lines) + 1]


def test_kernel_records_that_came_late_say_how_late(tmp_path):
    late = {
        **RECORD,
        "_TRANSPORT": "kernel",
        "__MONOTONIC_TIMESTAMP": "20000000",
        "_SOURCE_MONOTONIC_TIMESTAMP": "1500000",
        "MESSAGE": "usb 1-1: x",
    }
    odd = {**late, "_SOURCE_MONOTONIC_TIMESTAMP": "30000000", "__CURSOR": "2"}
    data = "".join(json.dumps(record) + "\n" for record in (late, odd)).encode()
    events = read_bytes(journald_json.READER, data, Context(), tmp_path).frame("events")
    waits = (events["ts"] - events["ts_low"]).dt.total_microseconds().to_list()
    assert waits == [18_500_000, 0], "a journal cannot be early"
    assert (
        events.select(pl.col("ts").dt.epoch("us"), pl.col("ts_high").dt.epoch("us")).rows()[0]
        == (1762053241120373,) * 2
    )
