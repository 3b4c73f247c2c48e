"""Counters of Lustre that look like YAML and are none."""

import pytest
from readings import read_bytes

from workbench.model.context import Columns, Context
from workbench.readers.lustre_proc import READER

STATED = Context(columns=Columns(roles={"device": "=fs-OST0001"}))


def reading_of(text, tmp_path, context=STATED):
    return read_bytes(READER, text.encode(), context, tmp_path)


@pytest.mark.parametrize(
    ("stamp", "us"),
    [
        ("1438693064.430544 secs.usecs", 1438693064430544),
        ("1438693064.4305 secs.usecs", 1438693064004305),
        ("1438693064.000004305 secs.nsecs", 1438693064000004),
        ("1438693064", 1438693064000000),
    ],
)
def test_fractions_are_numbers_not_decimals_in_old_releases(stamp, us, tmp_path):
    reading = reading_of(f"snapshot_time             {stamp}\nping                      9 samples [reqs]\n", tmp_path)
    assert reading.frame("samples")["ts"].dt.epoch("us").to_list() == [us]


def test_a_clock_that_was_never_set_is_no_time(tmp_path):
    reading = reading_of(
        "snapshot_time             100.5 secs.usecs\nping                      9 samples [reqs]\n", tmp_path
    )
    assert reading.rejects()["curable"].to_list() == ["taken_at"]


def test_numbers_beyond_reason_are_no_counters(tmp_path):
    reading = reading_of(f"snapshot_time  1438693064 secs.usecs\nping  {'9' * 5000} samples [reqs]\n", tmp_path)
    assert reading.reject_counts() == {"no counter of Lustre": 1}


def test_an_operation_before_any_job_is_of_no_job(tmp_path):
    line = (
        "  read_bytes:      { samples:           1, unit: bytes, min:    4096, max:    4096, sum:            4096 }\n"
    )
    assert reading_of(f"job_stats:\n{line}", tmp_path).reject_counts() == {"an operation of no job": 1}
