"""What counts once: chains by component, recurrences, scopes."""

import numpy as np
import pytest
from smallfleet import START_US, incident, small_fleet

from workbench.analysis.episodes import find_cases, outcome_uncertainty_s
from workbench.analysis.settings import Settings

HOUR = 60


def cases_of(fleet, incidents, before_s=7200.0):
    return find_cases(fleet, incidents, before_s=before_s, settings=Settings())


def minutes_of(cases):
    return ((cases.ts_us - START_US) // 60_000_000).tolist()


def test_one_rack_within_an_hour_is_one_episode_and_its_first_incident_the_case():
    fleet = small_fleet({}, hosts=16, minutes=10)
    found = [
        incident("c/n000", 0),
        incident("c/n001", 60),
        incident("c/n002", 119),
        incident("c/n003", 180),
        incident("c/n009", 30),
    ]
    cases = cases_of(fleet, found)
    assert minutes_of(cases) == [0, 30, 180]
    assert cases.row.tolist() == [0, 9, 3]
    assert (cases.incidents, cases.merged, cases.recurrences, cases.elsewhere) == (5, 2, 0, 0)


def test_without_racks_the_job_chains_and_without_jobs_the_host():
    fleet = small_fleet({}, hosts=4, minutes=10, racks_known=False)
    by_job = cases_of(
        fleet, [incident("c/n000", 0, job="j1"), incident("c/n001", 10, job="j1"), incident("c/n002", 20, job="j2")]
    )
    assert minutes_of(by_job) == [0, 20]
    by_host = cases_of(fleet, [incident("c/n000", 0), incident("c/n001", 10), incident("c/n000", 20)])
    assert minutes_of(by_host) == [0, 10]
    assert by_host.merged == 1


def test_an_incident_knows_its_rack_where_the_fleet_does_not():
    fleet = small_fleet({}, hosts=4, minutes=10, racks_known=False)
    cases = cases_of(fleet, [incident("c/n000", 0, rack="r1"), incident("c/n001", 10, rack="r1")])
    assert minutes_of(cases) == [0]


@pytest.mark.parametrize(
    ("before_s", "hours", "kept"), [(7200, 7.9, 1), (7200, 8.1, 2), (86_400, 95, 1), (86_400, 97, 2)]
)
def test_an_entity_is_a_case_once_in_eight_hours_or_four_windows(before_s, hours, kept):
    fleet = small_fleet({}, hosts=4, minutes=10)
    cases = cases_of(fleet, [incident("c/n000", 0), incident("c/n000", hours * HOUR)], before_s)
    assert (cases.row.size, cases.recurrences) == (kept, 2 - kept)


def test_gpu_scope_takes_incidents_on_gpus_and_host_scope_all_with_a_host():
    gpus = small_fleet({}, hosts=2, minutes=10, gpus=4, rack_size=1)
    hosts = small_fleet({}, hosts=2, minutes=10, rack_size=1)
    found = [incident("c/n000/gpu:2", 0), incident("c/n001", 10)]
    at_gpus, at_hosts = cases_of(gpus, found), cases_of(hosts, found)
    assert (at_gpus.row.tolist(), at_gpus.elsewhere) == ([2], 1)
    assert (at_hosts.row.tolist(), at_hosts.elsewhere) == ([0, 1], 0)


def test_who_may_be_a_control():
    """Own incidents spoil both sides; those of a sibling spoil what follows only."""
    fleet = small_fleet({}, hosts=3, minutes=10, gpus=2, rack_size=1)
    cases = cases_of(fleet, [incident("c/n000/gpu:0", 0), incident("c/n001", 60), incident("c/n002/gpu:1", -600)])
    hour_us = 3_600_000_000
    fit = cases.fit(START_US, 6, quiet_us=8 * hour_us, ahead_us=2 * hour_us)
    # the case itself; both GPUs of the host that fails in an hour; the sibling and the host of ten hours ago are fit
    assert fit.tolist() == [False, True, False, False, True, True]
    later = cases.fit(START_US + hour_us // 2, 6, quiet_us=8 * hour_us, ahead_us=2 * hour_us)
    assert later.tolist() == [False, False, False, False, True, True]
    times = START_US + np.array([-3, -1, 0, 1, 7, 9]) * hour_us
    assert cases.fit_times(0, times, quiet_us=8 * hour_us, ahead_us=2 * hour_us).tolist() == [
        True,
        False,
        False,
        False,
        False,
        True,
    ]
    assert cases.fit_times(1, times, quiet_us=8 * hour_us, ahead_us=2 * hour_us).tolist() == [
        True,
        True,
        True,
        False,
        False,
        True,
    ]


def test_the_largest_uncertainty_counts():
    assert outcome_uncertainty_s([incident("c/n000", 0, late_s=30), incident("c/n001", 9, late_s=600)]) == 600
    assert outcome_uncertainty_s([]) == 0
