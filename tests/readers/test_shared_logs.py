"""Every key of what is stated of the reference logs, and every driver log, record by record."""

import json

import polars as pl
import pytest
from readings import read
from shared import shared_exists, shared_path

from workbench.model.context import Context
from workbench.readers.registry import recognise
from workbench.readers.source import open_source
from workbench.timebase import format_us, parse_time, to_us

FOLDERS = {
    "kernel_log": "kernel_log",
    "journald_json": "journald_json",
    "syslog_generic": "syslog",
    "fabric_manager_log": "fabric_manager_log",
}
STATED = Context(zone="UTC", year=2025, host="node-x", boot_at_us=parse_time("2025-10-23T09:00:40Z"))
#: Keys that :mod:`test_shared_formats` and :mod:`test_fabric_manager_log` check beside those here.
ELSEWHERE = {
    "nonempty_lines", "lines_matching", "xid_events", "sxid_events", "link_flap", "root_candidate", "hosts", "repeated",
    "times_utc_where_known", "lost_messages", "first_source_time", "binary_message_index", "multiline_message_index",
}  # fmt: skip
HERE = {
    "bytes", "ends_with_newline", "first_line_head", "last_line_head", "time", "sxid_lines", "records", "lines", "rule",
    "first_time_local", "time_zone",
}  # fmt: skip


def cases():
    if not shared_exists("formats"):
        return [pytest.param("", "", {}, marks=pytest.mark.skip("reference data are not here; set WORKBENCH_SHARED"))]
    return [
        pytest.param(folder, file, expected, id=f"{folder}/{file}")
        for folder in FOLDERS
        for file, expected in json.loads(
            shared_path("formats", folder, "expected.json").read_text(encoding="utf-8")
        ).items()
    ]


def reading_of(path, context=STATED):
    with open_source(path) as source:
        found = recognise(source.head(), context)
    assert found is not None, path
    return found[0].name, read(found[0], path, context)


@pytest.mark.parametrize(("folder", "file", "expected"), cases())
def test_every_stated_key_is_checked(folder, file, expected):
    assert set(expected) <= HERE | ELSEWHERE, "a key that no test knows"
    data = shared_path("formats", folder, file).read_bytes()
    name, reading = reading_of(shared_path("formats", folder, file))
    assert name == FOLDERS[folder]
    assert reading.records == reading.rows + sum(reading.skips().values()) + reading.rejects().height
    assert len(data) == expected["bytes"]
    assert data.endswith(b"\n") == expected.get("ends_with_newline", True)
    assert reading.records == expected.get("records", expected.get("lines", len(data.splitlines())))
    lines = data.decode(errors="replace").rstrip("\n").split("\n")
    told = dict(reading.frame("events").select("line", "message").iter_rows())
    for key, line in (("first_line_head", 1), ("last_line_head", len(lines))):
        if key in expected:
            assert lines[line - 1].startswith(expected[key])
            if line in told:  # what was read of it ends the line, or is more than it
                assert lines[line - 1].split(": ")[-1].strip("[]- ")[:30] in f"{lines[line - 1]} {told[line]}"
    if "sxid_lines" in expected:
        more = reading.skips()["continuation"]
        assert sum("SXid (PCI:" in line for line in lines) == expected["sxid_lines"]
        assert reading.frame("events").filter(kind="sxid").height + 2 <= expected["sxid_lines"] + more


def test_the_stated_time_of_a_machine_check_is_told():
    _, reading = reading_of(shared_path("formats", "kernel_log", "dmesg_boot_relative_mixed.log"))
    (check,) = reading.frame("events").filter(kind="mce")["attributes"].to_list()
    assert json.loads(check)["time"] == 1762053241
    assert format_us(1762053241 * 1_000_000) == "2025-11-02T03:14:01Z"


def test_times_of_a_log_without_a_zone_wait_for_one():
    path = shared_path("formats", "fabric_manager_log", "fabricmanager.log")
    _, without = reading_of(path, Context(host="node-x"))
    assert (without.rows, set(without.rejects()["curable"])) == (0, {"clock"})
    _, stated = reading_of(path)
    assert format_us(to_us(stated.frame("events")["ts"][0])) == "2025-02-25T13:59:45Z"
    switch = stated.frame("events").filter(kind="sxid")
    assert switch.select("code", "device").rows() == [("12028", "0000:86:00")]


def test_kernel_records_of_a_journal_keep_the_time_of_the_journal():
    _, reading = reading_of(shared_path("formats", "journald_json", "journal_o_json.jsonl"))
    told = reading.frame("events").sort("line").select(pl.col("ts").dt.timestamp("us")).to_series().to_list()
    assert told == [1762053241120373, 1762053241120794, 1762053241500000, 1762053242000351, 1762053243000000]


def test_all_driver_logs_load_and_add_up():
    folder = shared_path("data", "driver_logs")
    logs = sorted(path for path in folder.iterdir() if path.suffix in (".log", ".txt"))
    assert len(logs) >= 8
    for path in logs:
        name, reading = reading_of(path)
        assert name in ("kernel_log", "fabric_manager_log"), path.name
        assert reading.records == len(path.read_bytes().splitlines()), path.name
        assert reading.rows + sum(reading.skips().values()) + reading.rejects().height == reading.records
        assert set(reading.reject_counts()) <= {"last line has no newline: it may be cut"}, path.name
        odd = reading.frame("events")["attributes"].str.contains("no event of its own")
        assert not odd.any(), f"{path.name}: an Xid in a spelling that is not known"
