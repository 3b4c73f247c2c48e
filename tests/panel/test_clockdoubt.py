"""Clocks enter the guard where outcome and signal were told by different ones, and nowhere else."""

from datetime import UTC, datetime

import polars as pl
import pytest

from workbench.model.incident import Incident
from workbench.panel.clockdoubt import clock_doubt_s
from workbench.store.clocks import CLOCKS


def incident(kind, host="c/n1", hosts=()):
    at = datetime(2026, 3, 1, tzinfo=UTC)
    return Incident(
        id="1", kind=kind, code=None, entity=host, host=host, rack=None, job=None, ts=at, ts_low=at, ts_high=at, hosts=hosts
    )  # fmt: skip


def told(*rows):
    blank = dict.fromkeys(CLOCKS.names()) | {"off": True}
    names = ("host", "clock", "against", "low_s", "high_s")
    return pl.DataFrame([blank | dict(zip(names, row, strict=True)) for row in rows], schema=CLOCKS)


FAST = ("c/n1", "os", "other hosts", 85.0, 96.0)


@pytest.mark.parametrize(
    ("kind", "signal", "doubt"),
    [("xid", "metric", 0.0), ("xid", "event", 0.0), ("job", "metric", 96.0), ("job", "event", 96.0), ("sel", "event", 96.0)],
)  # fmt: skip
def test_a_fast_host_matters_only_to_what_another_clock_told(kind, signal, doubt):
    assert clock_doubt_s(told(FAST), [incident(kind)], signal) == doubt


def test_clocks_of_other_hosts_do_not_matter_and_members_of_a_job_do():
    assert clock_doubt_s(told(FAST), [incident("job", host="c/n2")], "metric") == 0.0
    assert clock_doubt_s(told(FAST), [incident("job", host="c/n2", hosts=("c/n2", "c/n1"))], "metric") == 96.0


def test_scrapes_with_another_clock_than_the_kernel_lengthen_the_guard_of_metrics():
    late = told(("c/n1", "metrics", "os", -700.0, -500.0))
    assert clock_doubt_s(late, [incident("xid")], "metric") == 700.0
    assert clock_doubt_s(late, [incident("xid")], "event") == 0.0
