"""Jobs before their outcome: rates on worlds with and without a member that departs, readings, order."""

from dataclasses import replace

import numpy as np
import pytest
from jobworlds import HOUR_US, T0_US, incident, world
from scipy.stats import binomtest

from workbench.analysis.jobmembers import measure_jobs
from workbench.analysis.screen import judge_evidence
from workbench.analysis.settings import Settings
from workbench.model.provenance import Provenance
from workbench.model.verdict import Reading
from workbench.panel.jobs import JobRun, control_runs

HERE = Provenance(function="test", inputs="")


def measured(seed, **asked):
    view, hits = world(seed, **asked)
    return measure_jobs(view, hits, before_s=7200.0, seed=seed, hypotheses=1)[0]


@pytest.mark.parametrize("trap", ["none", "size", "phase"])
def test_false_alarms_are_as_many_as_promised(trap):
    runs = 16
    hits = sum(measured(seed, trap=trap, incidents=12, others=24).p <= 0.05 for seed in range(runs))
    assert binomtest(hits, runs, 0.06, alternative="greater").pvalue > 0.01


def test_a_member_that_departs_is_found_and_judged():
    found = [measured(seed, incidents=16, share=1.0, delta=6.0, others=24) for seed in range(4)]
    assert sum(one.p <= 0.01 for one in found) >= 3
    best = min(found, key=lambda one: one.p)
    verdict = judge_evidence([best], "stall", settings=Settings(), provenance=HERE).verdicts[0]
    assert verdict.reading is Reading.PRECURSOR
    assert verdict.scope == "job"
    assert verdict.checks["leave_one_out"] == "passed"
    assert "one member is farther from the other members of its job" in verdict.sentence
    assert "cause" not in verdict.sentence


def test_order_of_jobs_and_incidents_does_not_matter():
    view, hits = world(3, incidents=8, share=1.0, others=12)
    one = measure_jobs(view, hits, before_s=7200.0, seed=5, hypotheses=1)[0]
    mixed = replace(view, runs=view.runs[::-1])
    other = measure_jobs(mixed, hits[::-1], before_s=7200.0, seed=5, hypotheses=1)[0]
    assert (one.p, one.z, one.controls) == (other.p, other.z, other.controls)


def test_young_jobs_are_left_out_and_counted():
    view, hits = world(4, incidents=8, others=12)
    young = {hit.entity for hit in hits[:5]}
    runs = tuple(replace(run, start_us=run.end_us - 2 * HOUR_US) if run.job in young else run for run in view.runs)
    found = measure_jobs(replace(view, runs=runs), hits, before_s=7200.0, seed=1)[0]
    assert found.notes["jobs_too_young"] == 5
    assert found.blocked.reading == "not enough episodes"
    assert "5 too young" in found.blocked.why


def test_without_jobs_of_like_size_nothing_is_said():
    view, hits = world(5, incidents=8, others=2)
    found = measure_jobs(view, hits, before_s=7200.0, seed=1)[0]
    assert found.blocked.reading == "coincidence"
    assert "no unexposed controls" in found.blocked.why


def test_a_run_counts_once_and_incidents_without_job_are_counted():
    view, hits = world(6, incidents=8, others=30)
    more = [*hits, replace(hits[0], id="later", ts=hits[0].ts), replace(hits[0], id="bare", job=None)]
    found = measure_jobs(view, more, before_s=7200.0, seed=1)[0]
    assert found.notes["incidents_after_the_first_of_a_run"] == 1
    assert found.notes["incidents_without_job"] == 1
    assert found.sets == 8


def test_guard_that_leaves_no_window():
    view, hits = world(7, incidents=8, others=12)
    late = [incident(hit.entity, round(hit.ts.timestamp() * 1e6), late_s=3600.0) for hit in hits]
    found = measure_jobs(view, late, before_s=7200.0, seed=1)[0]
    assert found.blocked.reading == "not observed"


def test_controls_share_no_host_and_are_nearest_in_age():
    at = T0_US
    runs = [
        JobRun(job=f"j{k}", start_us=at - (k + 1) * HOUR_US, end_us=at + 1, hosts=tuple(f"n{k}-{m}" for m in range(6)))
        for k in range(12)
    ]
    shares = replace(runs[6], job="shares", hosts=(*runs[5].hosts[:1], "x1", "x2", "x3", "x4"))
    larger = replace(runs[5], job="larger", hosts=tuple(f"y{m}" for m in range(8)))
    chosen = control_runs(
        [*runs, shares, larger], runs[5], at, most=4, least_age_us=3 * HOUR_US, unfit=lambda run: run.job == "j4"
    )
    assert {run.job for run in chosen} == {"j6", "j7", "j3", "j8"}
    assert not np.intersect1d([host for run in chosen for host in run.hosts], runs[5].hosts).size
