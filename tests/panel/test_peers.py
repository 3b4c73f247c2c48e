from datetime import timedelta

import pytest
from fakestore import FELL_AT, VICTIM, gpus, hosts, shared_store

from workbench.errors import UnknownNameError
from workbench.panel.peers import host_of, kind_of, peers, rack_of
from workbench.timebase import to_us

AT = to_us(FELL_AT)


@pytest.fixture(scope="module")
def store():
    return shared_store()


@pytest.mark.parametrize(
    ("group", "members"),
    [
        ("job", [gpu for gpu in gpus() if host_of(gpu) in hosts()[:8]]),
        ("rack", [gpu for gpu in gpus() if host_of(gpu) in hosts()[:8]]),
        ("host", [gpu for gpu in gpus() if host_of(gpu) == "c1/node03"]),
        ("all", gpus()),
    ],
)
def test_groups_hold_the_others_of_the_same_kind(store, group, members):
    found = peers(store, VICTIM, AT, group)
    assert list(found.others) == sorted(set(members) - {VICTIM})


def test_default_is_the_nearest_group_that_is_large_enough(store):
    assert peers(store, VICTIM, AT).group == "job"
    after_the_job = AT + int(timedelta(hours=2).total_seconds()) * 10**6
    assert peers(store, VICTIM, after_the_job).group == "rack"
    assert peers(store, "c1/rack:r0", AT).others == ("c1/rack:r1",)


def test_too_few_is_said(store):
    few = peers(store, VICTIM, AT, "host")
    assert len(few.others) == 3
    assert not few.enough


def test_no_job_at_that_moment_is_said(store):
    found = peers(store, "c1/node12", AT, "job")
    assert found.others == ()
    assert "no job was recorded" in found.note


def test_unknown_group_names_the_nearest(store):
    with pytest.raises(UnknownNameError, match="Did you mean rack"):
        peers(store, VICTIM, AT, "racks")


def test_ids_tell_kind_and_host():
    assert kind_of("fabric/switch:s1") == "switch"
    assert host_of("c1/node03/port:mlx5_0/1") is None or host_of("c1/node03/port:mlx5_0") == "c1/node03"
    assert host_of("c1/job:8841") is None


def test_rack_by_the_links_of_that_time(store):
    assert rack_of(store, "c1/node03", AT) == "c1/rack:r0"
    assert rack_of(store, "c1/node99", AT) is None
