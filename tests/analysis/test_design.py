"""Matched sets: who may serve, who is nearest, how often, and that order does not matter."""

import numpy as np
import pytest
from smallfleet import START_US, incident, small_fleet

from workbench.analysis.design import Designer
from workbench.analysis.episodes import find_cases
from workbench.analysis.settings import Settings
from workbench.kernels.matched import case_mask, set_of
from workbench.panel.fleet import SignalInfo

BEFORE = 480


def designer_of(fleet, incidents, *, seed=1, before_s=7200.0, **settings):
    chosen = Settings(**settings)
    cases = find_cases(fleet, incidents, before_s=before_s, settings=chosen)
    return Designer(fleet, cases, before_s=before_s, settings=chosen, seed=seed)


def windows_of(designer, guard_s=600.0):
    windows = designer.windows(guard_s)
    assert windows is not None
    return windows


def fleet_of(hosts=40, minutes=1500, **more):
    return small_fleet({}, hosts=hosts, minutes=minutes, before=BEFORE, **more)


def test_ten_controls_of_the_same_minute_none_the_case():
    designer = designer_of(fleet_of(), [incident("c/n005", 0), incident("c/n017", 300)])
    sets = designer.matched(windows_of(designer), designer.recorded)
    assert np.diff(sets.offsets).tolist() == [11, 11]
    for f, (case, minute) in enumerate([(5, 0), (17, 300)]):
        members = slice(sets.offsets[f], sets.offsets[f + 1])
        assert sets.row[sets.offsets[f]] == case
        assert case not in sets.row[sets.offsets[f] + 1 : sets.offsets[f + 1]]
        assert set(sets.end[members].tolist()) == {BEFORE + minute}
        assert np.unique(sets.row[members]).size == 11


def test_entities_near_an_own_incident_are_no_controls():
    found = [incident("c/n005", 0), *(incident(f"c/n{h:03d}", 100) for h in range(8, 38))]
    designer = designer_of(fleet_of(), found)
    sets = designer.matched(windows_of(designer), designer.recorded)
    first = sets.row[sets.offsets[0] + 1 : sets.offsets[1]]
    assert set(first.tolist()).isdisjoint(range(8, 38))  # they fail within two hours


@pytest.mark.parametrize(("hosts", "sets", "dropped"), [(2, 0, 1), (3, 1, 0)])
def test_sets_with_fewer_than_two_controls_are_dropped_and_counted(hosts, sets, dropped):
    designer = designer_of(fleet_of(hosts=hosts), [incident("c/n000", 0)])
    made = designer.matched(windows_of(designer), designer.recorded)
    assert (made.sets, made.dropped, made.offered) == (sets, dropped, 1)


def test_an_entity_serves_in_two_overlapping_sets_at_most():
    found = [incident(f"c/n{8 * k:03d}", 20 * k) for k in range(5)]  # five racks within 80 minutes
    designer = designer_of(fleet_of(hosts=40), found)
    sets = designer.matched(windows_of(designer), designer.recorded)
    uses = np.bincount(sets.row, minlength=40)
    assert uses.max() == 2
    assert (np.diff(sets.offsets) <= 11).all()
    far_apart = designer_of(
        fleet_of(hosts=12), [incident("c/n000", 0), incident("c/n008", 400), incident("c/n001", 800)]
    )
    assert far_apart.matched(windows_of(far_apart), far_apart.recorded).dropped == 0


def test_the_nearest_in_load_are_chosen():
    hosts, minutes = 40, 1500
    load = np.tile(np.linspace(0.0, 1.0, hosts)[:, None], (1, minutes))
    fleet = fleet_of(confounders={"load": load}, racks_known=False)
    designer = designer_of(fleet, [incident("c/n020", 0)])
    sets = designer.matched(windows_of(designer), designer.recorded)
    assert sorted(sets.row.tolist()) == list(range(15, 26))
    random = designer.matched(windows_of(designer), frozenset())
    assert sorted(random.row.tolist()) != list(range(15, 26))


def test_busy_cases_have_busy_controls_of_their_job_first():
    job = np.full((40, 1500), -1)
    job[:6], job[6:20] = 1, 2
    designer = designer_of(fleet_of(job=job, racks_known=False), [incident("c/n002", 0)])
    sets = designer.matched(windows_of(designer), designer.recorded)
    assert set(range(6)) <= set(sets.row.tolist())  # another job costs one sd
    assert sets.row.max() < 20
    idle = designer_of(fleet_of(job=job, racks_known=False), [incident("c/n030", 0)])
    assert idle.matched(windows_of(idle), idle.recorded).row.min() >= 20


def test_half_of_the_controls_at_most_stand_in_the_own_host():
    fleet = small_fleet({}, hosts=4, minutes=1500, gpus=8, rack_size=4, before=BEFORE)
    designer = designer_of(fleet, [incident("c/n001/gpu:3", 0)])
    sets = designer.matched(windows_of(designer), designer.recorded)
    siblings = fleet.host[sets.row[1:]] == 1
    assert sets.row.size == 11
    assert siblings.sum() <= 5


def test_what_a_signal_is_or_drives_is_not_adjusted_for():
    values = np.random.default_rng(1).random((40, 1500))
    designer = designer_of(fleet_of(confounders={"load": values, "temperature": values}), [incident("c/n002", 0)])
    power = SignalInfo(name="gpu.power_w", kind="metric", scope="host", role="load", drives=("temperature",))
    other = SignalInfo(name="x", kind="metric", scope="host")
    assert designer.roles_for(power) == {"rack"}
    assert designer.roles_for(other) == {"rack", "load", "temperature"}
    chosen = designer_of(fleet_of(confounders={"load": values}), [incident("c/n002", 0)], adjust_for=("load",))
    assert chosen.roles_for(other) == {"load"}


def test_the_order_of_questions_does_not_matter_and_the_seed_does():
    values = np.random.default_rng(1).random((40, 1500))
    fleet, found = fleet_of(confounders={"load": values}), [incident("c/n002", 0), incident("c/n020", 30)]
    one, two = designer_of(fleet, found), designer_of(fleet, found)
    windows = windows_of(one)
    one.crossover(windows, one.recorded)
    random = one.matched(windows, frozenset()).row
    first = one.matched(windows, one.recorded).row
    assert np.array_equal(first, two.matched(windows, two.recorded).row)
    assert np.array_equal(random, two.matched(windows, frozenset()).row)
    assert not np.array_equal(random, designer_of(fleet, found, seed=2).matched(windows, frozenset()).row)


def test_own_other_moments_are_apart_and_away_from_own_incidents():
    fleet = fleet_of(hosts=4, minutes=6000)
    found = [incident("c/n001", 2000), incident("c/n001", 3500)]
    designer = designer_of(fleet, found)
    windows = windows_of(designer)
    sets = designer.crossover(windows, designer.recorded)
    assert set(sets.row.tolist()) == {1}
    owner = set_of(sets.offsets)
    controls = ~case_mask(sets.offsets)
    for minute in (2000, 3500):
        away = sets.end - BEFORE - minute
        assert ((away[controls] <= -120) | (away[controls] > 480)).all()
    for f in range(sets.sets):
        moments = np.sort(sets.end[(owner == f) & controls])
        assert (np.diff(moments) >= 120).all()
    assert sets.end.min() >= 360


def test_leaving_members_out_keeps_the_case_first():
    designer = designer_of(fleet_of(), [incident("c/n005", 0), incident("c/n017", 300), incident("c/n030", 600)])
    sets = designer.matched(windows_of(designer), designer.recorded)
    usable = np.ones(sets.row.size, dtype=bool)
    usable[sets.offsets[0]] = False  # the first set loses its case
    usable[sets.offsets[1] + 2 : sets.offsets[2]] = False  # the second is left with one control
    usable[sets.offsets[2] + 1] = False
    kept, members = sets.keep(usable)
    assert (kept.sets, kept.row[0], kept.row.size, kept.episode.tolist()) == (1, 30, 10, [2])
    assert np.array_equal(sets.row[members], kept.row)
    assert kept.time_us.tolist() == [START_US + 600 * 60_000_000]
