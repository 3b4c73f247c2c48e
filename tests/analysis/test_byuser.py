"""Failures by user against what was used: exact bounds, coverage of the intervals, crash loops, a store."""

from datetime import timedelta

import numpy as np
import pytest
from jobstore import job_store
from jobworlds import HOUR_US, T0_US, incident
from scipy.stats import beta, binomtest

import workbench as wb
from workbench.analysis.byuser import by_user_of
from workbench.errors import NothingToDoError, UsageError
from workbench.panel.jobs import JobRun


def made(rng, users=6, jobs=120, failures=40):
    """Failures fall on hours of hosts by chance."""
    runs = [
        JobRun(
            job=f"j{k}", start_us=T0_US + k * 2 * HOUR_US, end_us=T0_US + k * 2 * HOUR_US + int(rng.uniform(1, 30) * HOUR_US),
            hosts=tuple(f"n{k}-{at}" for at in range(int(rng.integers(1, 9)))), user=f"u{rng.integers(users)}",
        )
        for k in range(jobs)
    ]  # fmt: skip
    hours = np.array([(run.end_us - run.start_us) * len(run.hosts) for run in runs], dtype=float)
    hit = rng.choice(jobs, failures, replace=False, p=hours / hours.sum())
    return runs, [incident(runs[k].job, runs[k].end_us) for k in hit.tolist()]


def test_bounds_are_clopper_and_pearson():
    runs, failed = made(np.random.default_rng(1))
    found = by_user_of(runs, failed, outcome="job:FAILED", end_us=T0_US + 10**15)
    row, total = found.rows.row(0, named=True), found.episodes
    assert row["share_low"] == pytest.approx(beta.ppf(0.025, row["episodes"], total - row["episodes"] + 1), rel=1e-6)
    assert row["ratio"] == pytest.approx(row["share"] / row["share_exposure"])
    assert found.rows["share_exposure"].sum() == pytest.approx(1)
    assert found.rows["share"].sum() == pytest.approx(1)


def test_intervals_cover_where_nobody_gathers():
    inside, of = 0, 0
    for seed in range(30):
        runs, failed = made(np.random.default_rng([seed, 3]))
        rows = by_user_of(runs, failed, outcome="job:FAILED", end_us=T0_US + 10**15).rows
        inside += rows.filter((rows["ratio_low"] <= 1) & (rows["ratio_high"] >= 1)).height
        of += rows.height
    assert binomtest(inside, of, 0.95, alternative="less").pvalue > 0.01


def test_a_crash_loop_is_one_episode_and_running_jobs_count_until_now():
    runs = [
        JobRun(job="loop", start_us=T0_US, end_us=2**62, hosts=("n1", "n2"), user="ann"),
        JobRun(job="calm", start_us=T0_US, end_us=T0_US + 8 * HOUR_US, hosts=("n3", "n4"), user="bob"),
    ]
    failed = [incident("loop", T0_US + HOUR_US + k * HOUR_US // 6) for k in range(12)]
    found = by_user_of(runs, failed, outcome="x", end_us=T0_US + 8 * HOUR_US, gpus={"n1": 8, "n3": 8})
    ann = found.rows.row(0, named=True)
    assert (ann["who"], ann["episodes"], ann["incidents"], found.unit) == ("ann", 1, 12, "GPU-hours")
    assert ann["exposure"] == 2 * 8 * 8  # n2 counts as the median of the others
    assert found.gathering.is_empty()  # one episode is no gathering


def test_what_is_not_known_is_counted():
    runs, failed = made(np.random.default_rng(2))
    failed = [*failed, incident("nobody's", T0_US + 9 * HOUR_US)]
    found = by_user_of(runs, failed, outcome="x", end_us=T0_US + 10**15)
    assert found.notes[0].startswith("1 of 41 incidents belong to no recorded job")
    with pytest.raises(UsageError, match="take user or name"):
        by_user_of(runs, failed, outcome="x", by="team", end_us=T0_US)
    with pytest.raises(NothingToDoError, match="of a job with a name"):
        by_user_of(runs, failed, outcome="x", by="name", end_us=T0_US)


def test_a_store(tmp_path):
    store = job_store(tmp_path)
    found = wb.by_user(store, outcome="job:FAILED")
    ann = found.rows.row(0, named=True)
    assert (ann["who"], ann["episodes"], ann["runs"], ann["hosts"]) == ("ann", 6, 6, 6)
    assert ann["exposure"] == pytest.approx(6 * 6.0 * 6)  # six jobs of six hours on six hosts
    assert found.unit == "host-hours"
    assert "cause" not in found.sentence + found.caution
    assert len(found._repr_html_()) < 100_000
    assert wb.by_user(store, outcome="job").episodes >= 6
    first = store.incidents("job:FAILED")[0]
    assert first.ts - store.jobs()["start"][0] == timedelta(hours=6)
