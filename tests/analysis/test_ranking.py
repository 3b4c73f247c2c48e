"""Members of one job in order: how often the sick one is first, from a store, and what cannot be ranked."""

from datetime import timedelta

import numpy as np
import pytest
from jobstore import CULPRIT, job_store
from jobworlds import HOUR_US, T0_US, sick_job
from scipy.stats import binomtest

import workbench as wb
from workbench.analysis.jobmembers import measure_jobs
from workbench.analysis.ranking import EXPECTED, rank_members_of
from workbench.errors import NothingToDoError, UnknownNameError
from workbench.panel.jobs import jobs
from workbench.timebase import to_us


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return job_store(tmp_path_factory.mktemp("jobs"))


@pytest.mark.parametrize(("members", "delta"), [(6, 3.0), (24, 3.0), (24, 6.0)])
def test_the_sick_member_comes_first_as_often_as_promised(members, delta):
    runs, first, three = 24, 0, 0
    for seed in range(runs):
        view, hit, culprit = sick_job(seed, members=members, delta=delta)
        names = rank_members_of(view, view.runs[0], to_us(hit.ts)).members["member"].to_list()
        first, three = first + (names[0] == culprit), three + (culprit in names[:3])
    for hits, promised in zip((first, three), EXPECTED[members, delta], strict=True):
        assert binomtest(hits, runs, min(promised, 0.99)).pvalue > 0.001


def test_ranking_of_a_store(store):
    hit = store.incidents("job:FAILED")[1]
    found = wb.rank_members(hit, store)
    assert found.members["member"][0] == f"cluster/{CULPRIT}"
    assert found.members["most"][0] == "node_power_watts"
    assert found.members["direction"][0] == "up"
    assert found.members["margin"][0] > 2
    assert "not a verdict" in repr(found)
    assert "cause" not in repr(found)
    assert found.expected().height == len(EXPECTED)
    html = found._repr_html_()
    assert CULPRIT in html
    assert len(html) < 100_000
    by_name = wb.rank_members("10", store)
    assert by_name.members.equals(found.members)


def test_only_the_metrics_that_are_named(store):
    found = wb.rank_members("10", store, metrics=["node_temp_celsius"])
    assert found.metrics == 1
    with pytest.raises(UnknownNameError, match="node_temp_celsius"):
        wb.rank_members("10", store, metrics=["node_temp"])


def test_what_cannot_be_ranked(store):
    with pytest.raises(UnknownNameError):
        wb.rank_members("no such job", store)
    hit = store.incidents("job:FAILED")[0]
    with pytest.raises(NothingToDoError, match="younger than 2 h"):
        wb.rank_members(hit, store, at=hit.ts - timedelta(hours=5))
    short = wb.rank_members(hit, store, at=hit.ts - timedelta(hours=3, minutes=30))
    assert "shorter than the 2 h" in short.notes[0]


def test_hosts_never_observed_rank_last_and_are_counted():
    view, _, culprit = sick_job(1, members=8, delta=6.0)
    unseen = next(host for host in view.runs[0].hosts if host != culprit)

    def read(runs, grid):
        found = view.read(runs, grid)
        for (part,) in found.values():
            part.values[part.entities.index(unseen)] = np.nan
        return found

    dark = type(view)(runs=view.runs, signals=view.signals, read=read)
    found = rank_members_of(dark, view.runs[0], T0_US + 12 * HOUR_US)
    assert found.members.row(-1, named=True)["member"] == unseen
    assert found.members.row(-1, named=True)["metrics"] == 0


def test_measure_jobs_of_a_store(store):
    hits = store.incidents("job:FAILED")
    found = {one.info.name: one for one in measure_jobs(jobs(store, hits), hits, before_s=7200.0, seed=1)}
    power, temperature = found["node_power_watts"], found["node_temp_celsius"]
    assert (power.sets, power.controls, power.coverage) == (6, 18, 1.0)
    assert power.p <= 4.0**-6 + 0.005  # three controls each: the smallest that six sets can give, and what draws add
    assert temperature.p > 0.05
    # one host that is the farthest in every case must not carry a claim
    assert power.checks["leave_one_out"].about == f"cluster/{CULPRIT} carries it"
