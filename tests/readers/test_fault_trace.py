"""Traces of faults whose days count from nothing, and drills that are labelled truth."""

import json

import pytest
from readings import read_bytes
from shared import shared_path

from workbench.model.context import Columns, Context
from workbench.readers.fault_trace import READER
from workbench.timebase import parse_time

ORIGIN = parse_time("2025-01-01T00:00:00Z")
STATED = Context(columns=Columns(epoch="d", epoch_origin_us=ORIGIN))
FAULT = {"node_id": "a", "event_time": 1.25, "event_type": "fault_start", "fault_type": {"Class": "GPU", "Desc": "x"}}
DRILL = {"kind": "drill", "fault": "psu", "target": "n1", "time": "2026-01-05T09:00:00Z"}


def reading_of(value, tmp_path, context=STATED):
    return read_bytes(READER, json.dumps(value).encode(), context, tmp_path)


def test_days_count_from_the_stated_moment_only(tmp_path):
    (found,) = reading_of([FAULT], tmp_path).frame("events")["ts"].dt.epoch("us").to_list()
    assert found - ORIGIN == int(1.25 * 86_400e6)
    for other in (Context(), Context(taken_at_us=ORIGIN), Context(boot_at_us=ORIGIN)):
        assert reading_of([FAULT], tmp_path, other).rejects()["curable"].to_list() == ["map"]


@pytest.mark.parametrize("odd", [None, True, [], {}, float("nan"), float("inf"), 10**400, "\ud800", -5, "x"])
@pytest.mark.parametrize("key", ["node_id", "event_time", "event_type", "fault_type"])
def test_any_field_may_be_odd(key, odd, tmp_path):
    reading = reading_of([{**FAULT, key: odd}], tmp_path)
    assert reading.records == reading.rows + reading.rejects().height == 1


@pytest.mark.parametrize("odd", [None, True, [], {}, float("nan"), 10**400, "\ud800", {"a": [1]}])
@pytest.mark.parametrize("key", ["fault", "target", "time", "more"])
def test_any_field_of_a_drill_may_be_odd(key, odd, tmp_path):
    reading = reading_of({**DRILL, key: odd}, tmp_path)
    assert reading.records == reading.rows + reading.rejects().height == 1


def test_the_whole_trace_has_the_faults_that_were_counted(tmp_path):
    """584 faults, 51 % of them of hardware (the study's own statistics); ends without starts are told."""
    path = shared_path("data", "stepfun_faults", "fault_trace.json")
    statistics = json.loads(path.with_name("fault_statistics.json").read_text())
    reading = read_bytes(READER, path.read_bytes(), STATED, tmp_path)
    starts = reading.frame("events").filter(kind="fault")
    assert starts.height == sum(level["LevelTotal"] for level in statistics.values())
    for level, counts in statistics.items():
        assert starts.filter(severity=level).height == counts["LevelTotal"]
    assert reading.rejects().height == 0
