import pytest
from fakestore import FELL_AT, HOSTILE, incident, shared_store

from workbench.panel.lanes import (
    LANES,
    event_counts,
    event_rows,
    folded,
    job_rows,
    lane_of,
    lanes,
    moment_of,
    nearest_note,
)  # fmt: skip
from workbench.timebase import MICROS, to_us

AT = to_us(FELL_AT)
SPAN = (AT - 7200 * MICROS, AT + 1800 * MICROS)


@pytest.fixture(scope="module")
def store():
    return shared_store()


def test_every_event_of_the_span_is_counted_once(store):
    counts = event_counts(store, incident(), SPAN, 240)
    inside = store.events().filter(
        (store.events()["ts"] >= FELL_AT.replace(hour=10))
        & (store.events()["ts"] < FELL_AT.replace(hour=12, minute=30))
    )
    assert counts.frame["events"].sum() == inside.height
    drawn = lanes(counts, job_rows(store, incident(), SPAN), SPAN, 240)
    assert sum(int(lane.own.sum() + lane.other.sum()) for lane in drawn) == inside.height
    assert [lane.name for lane in drawn] == list(LANES)


def test_own_is_the_entity_its_host_and_its_job(store):
    frame = event_rows(store, incident(), SPAN).frame
    own = set(frame.filter(frame["own"])["entity"])
    assert own == {incident().entity, "c1/node03", "c1/job:8841"}


def test_rows_are_cut_nearest_first_and_said(store):
    view = event_rows(store, incident(), SPAN, limit=5)
    assert view.frame.height == 5
    assert "5 of 45 events" in view.note
    assert view.frame["own"].all()
    assert store.sql(view.sql).equals(view.frame)


def test_an_empty_span_names_what_is_nearest(store):
    view = event_rows(store, incident(), (SPAN[0] - 1800 * MICROS, SPAN[0] - 1790 * MICROS))
    assert "last before: 2026-03-01T09:00:00Z" in view.note
    assert "first after: 2026-03-01T10:00:00Z" in view.note
    assert "none at any time" in nearest_note(store, "events", SPAN, "kind = 'nothing'")


def test_runs_of_the_same_event_are_one_row(store):
    view = event_rows(store, incident(), SPAN)
    rows = folded(view)
    assert sum(row["times"] for row in rows) == view.frame.height
    assert max(row["times"] for row in rows if row["message"] == HOSTILE) > 10


def test_the_incident_keeps_the_bounds_of_its_time():
    moment = moment_of(incident())
    assert (moment.ts_us - moment.low_us, moment.high_us - moment.ts_us) == (20 * MICROS, 0)


@pytest.mark.parametrize(
    ("kind", "lane"),
    [("xid", "xid/sxid"), ("sxid", "xid/sxid"), ("aer", "kernel/log"), ("nccl.timeout", "jobs"), ("drain", "jobs"), ("link.flap", "link"), ("nfs", "nfs"), ("checkpoint.stall", "nfs"), ("change:firmware", "other")],
)  # fmt: skip
def test_lanes_by_kind(kind, lane):
    assert lane_of(kind) == lane
