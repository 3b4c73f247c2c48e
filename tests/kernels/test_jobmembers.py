"""Members of a job against one another: the reference case, missing values, metrics that stand still."""

import json

import numpy as np
import pytest
from shared import shared_path

from workbench.kernels.jobmembers import departures, job_statistic, member_score

JOB = np.array(
    [
        [10, 11, 10, 12, 11, 10],
        [20, 21, 19, 20, 21, 20],
        [5, 5, 6, 5, 4, 5],
        [8, 9, 8, 8, 14, 15],
        [30, 29, 31, 30, 30, 31],
    ],
    dtype=float,
)


def test_reference_case_s3():
    case = json.loads(shared_path("method/refs_scopes.json").read_text())["S3 culprit and job statistic"]["expected"]
    found = departures(JOB, baseline=4, window=2)
    largest, second = np.sort(found.z_peers)[::-1][:2]
    assert int(np.argmax(found.z_peers)) == case[0]
    assert largest == pytest.approx(case[1], abs=1e-9)
    assert np.log(largest / second) == pytest.approx(case[2], abs=1e-9)
    assert job_statistic(found.z_peers) == pytest.approx(np.log(case[1]) + case[2], abs=1e-9)


def test_a_move_that_all_share_and_own_levels_say_nothing():
    rng = np.random.default_rng(1)
    levels = rng.normal(0, 1e6, (8, 1))
    still = departures(levels + np.zeros((8, 60)), baseline=40, window=5)
    stalled = departures(levels + np.where(np.arange(60) > 55, -500.0, 0.0), baseline=40, window=5)
    assert np.allclose(still.z_peers, 0)
    assert np.allclose(stalled.z_peers, 0)


def test_missing_members_and_gaps():
    gaps = JOB.copy()
    gaps[3, 5] = np.nan
    assert int(np.nanargmax(departures(gaps, baseline=4, window=2).z_peers)) == 3
    unseen = np.vstack([JOB, np.full(6, np.nan)])
    found = departures(unseen, baseline=4, window=2)
    assert found.members == 5
    assert np.isnan(found.d[5])
    assert member_score(found)[5] == 0
    assert departures(JOB[:4], baseline=4, window=2) is None
    assert departures(np.empty((0, 6)), baseline=4, window=2) is None


def test_one_member_moves_where_all_others_stand_still():
    cells = np.zeros((8, 60))
    cells[2, 57:] = 1.0
    found = departures(cells, baseline=40, window=5)
    assert int(np.argmax(found.z_peers)) == 2
    assert np.isfinite(found.z_peers).all()
    assert np.isposinf(found.z_own[2])
    assert member_score(found)[2] > 25 * max(member_score(found)[:2])
    assert np.isfinite(job_statistic(found.z_peers))


def test_order_of_members_does_not_matter():
    rng = np.random.default_rng(2)
    cells, order = rng.normal(size=(9, 60)), rng.permutation(9)
    one, other = departures(cells, baseline=40, window=5), departures(cells[order], baseline=40, window=5)
    assert np.allclose(one.z_peers[order], other.z_peers)
