"""Which events become incidents, and what is known of where and in which job."""

import pytest

from workbench.errors import NothingToDoError, SpecificationError, UnknownNameError

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z


@pytest.fixture(scope="module")
def filled(make_store):
    return make_store(
        f"E {T0 + 100} n1 gpu GPU-00000000-aaaa xid 79 fell",
        f"E {T0 + 103} N1.dc gpu GPU-00000000-aaaa xid 79 fell again",
        f"E {T0 + 107} n1 gpu GPU-00000000-aaaa xid 79 and again",
        f"E {T0 + 200} n1 gpu GPU-00000000-aaaa xid 48 dbe",
        f"E {T0 + 300} n2 gpu GPU-00000000-bbbb xid 79 fell",
        f"E {T0 + 400} n3 - - link down link down",
        f"E {T0 + 500} - job 7 job NODE_FAIL job failed",
        f"E {T0 + 900} - job 7 job NODE_FAIL told twice",
        f"E {T0 + 9000} - job 7 job NODE_FAIL second run",
        f"E {T0 + 950} - job 8 job NODE_FAIL single",
        f"J 7 {T0 + 50} {T0 + 500} n1,n2 NODE_FAIL",
        f"J 7 {T0 + 8000} {T0 + 9000} n1 NODE_FAIL",
        f"J 8 {T0 + 250} {T0 + 960} n3 NODE_FAIL",
        "L n1 host - rack r1",
        "L n2 host - rack r2",
        "L - rack r1 hall east",
    )


def test_repeats_within_seconds_are_one_incident(filled):
    found = filled.incidents("xid:79")
    assert [(i.entity.rpartition(":")[2], i.count) for i in found] == [
        ("GPU-00000000-aaaa", 3),
        ("GPU-00000000-bbbb", 1),
    ]
    assert len(filled.incidents("xid:79", collapse_s=0)) == 4
    assert found[0].message == "fell"


def test_an_incident_knows_host_rack_and_job(filled):
    first = filled.incidents("xid:79")[0]
    assert (first.host, first.rack, first.job, first.hosts) == (
        "cluster/n1",
        "cluster/rack:r1",
        "cluster/job:7",
        ("cluster/n1",),
    )
    assert filled.incidents("link")[0].rack is None


def test_a_job_is_one_incident_a_run_with_all_its_hosts(filled):
    found = filled.incidents("job:NODE_FAIL")
    assert [(i.entity, i.count, i.hosts, i.host) for i in found] == [
        ("cluster/job:7", 2, ("cluster/n1", "cluster/n2"), None),
        ("cluster/job:8", 1, ("cluster/n3",), "cluster/n3"),
        ("cluster/job:7", 1, ("cluster/n1",), "cluster/n1"),
    ]


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("rack:r1", 2),
        ("rack:r*", 3),
        ("hall:east", 2),
        ("host:n2", 1),
        ("cluster/n1/*", 2),
        ("cluster/n2", 1),
        ("gpu:GPU-*bbbb", 1),
        ("cluster:cluster", 3),
    ],
)
def test_where_speaks_of_the_entity_and_all_it_lies_in(filled, where, count):
    assert len(filled.incidents(f"xid@{where}")) == count


def test_ids_are_the_same_again_and_tell_incidents_apart(filled):
    again = filled.incidents("xid")
    assert [i.id for i in filled.incidents("xid")] == [i.id for i in again]
    assert len({i.id for i in again}) == len(again)
    assert again.by_id(again[0].id[:8]) is again[0]


def test_an_unknown_kind_names_those_that_are_there(filled):
    with pytest.raises(UnknownNameError, match="Did you mean xid"):
        filled.incidents("xdi")
    with pytest.raises(UnknownNameError):
        filled.events("nothing")


def test_no_match_says_what_is_there(filled):
    with pytest.raises(NothingToDoError, match="79: 4"):
        filled.incidents("xid:94")
    with pytest.raises(NothingToDoError, match="rack:r9"):
        filled.incidents("xid@rack:r9")
    with pytest.raises(SpecificationError):
        filled.incidents("xid:@")


def test_events_are_selected_as_incidents_are(filled):
    assert filled.events("xid:79@rack:r1").height == 3
    assert filled.events().height == 10
    assert filled.event_kinds().filter(kind="xid")["count"].to_list() == [1, 4]


def test_derived_events_become_incidents_too(filled):
    derived = filled.events("link").with_columns(kind=__import__("polars").lit("vanished"))
    assert filled.incidents("vanished", among=derived)[0].entity == "cluster/n3"


def test_a_link_that_ended_no_longer_counts(filled):
    assert filled.incidents("xid@rack:r1")[0].rack == "cluster/rack:r1"


def test_two_dumps_of_one_job_tell_of_one_run(store, write, load):
    write("a", f"J 7 {T0} - n1,n2 RUNNING")
    load()
    write("b", f"J 7 {T0} {T0 + 60} n1,n2 COMPLETED", f"J 7 {T0 + 100} - n2 RUNNING")
    load()
    assert store.jobs().select("job", "attempt", "state").rows() == [("7", 1, "COMPLETED"), ("7", 2, "RUNNING")]


def test_events_that_two_overlapping_dumps_tell_are_there_once(store, write, load):
    lines = [f"E {T0 + n} n1 - - log - line {n // 2 * 2}" for n in range(0, 10, 2)]
    write("day1", *lines[:4], lines[3])  # the last line stands there twice: two events
    write("day2", *lines[2:4], lines[3], lines[4], f"E {T0 + 2} n2 - - log - line 2")
    load()
    assert store.sql("select count(*) as n from events_told")["n"][0] == 10
    counted = store.sql("select entity, ts, count(*) as n from events group by all order by all")["n"].to_list()
    assert counted == [1, 1, 1, 2, 1, 1]
    assert store.event_kinds()["count"].to_list() == [7]
    assert store.info().told_again == 3
