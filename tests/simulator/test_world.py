"""The simulated world keeps what it promises: counts, planted shapes, hazard, gaps."""

import numpy as np
import pytest
from scipy.stats import binom

from workbench.errors import SpecificationError, UnknownNameError, UsageError
from workbench.simulator.layout import Hazard, Site
from workbench.simulator.plants import PRECURSORS, Plant, Role, null_plants
from workbench.simulator.world import make_world

HOUR_US = 3600 * 10**6


@pytest.fixture(scope="module")
def world():
    return make_world(seed=3, failures=50)


@pytest.mark.parametrize("failures", [1, 25, 120])
def test_number_of_failures_is_exact(failures):
    assert len(make_world(seed=1, failures=failures, hosts=64, plants=[]).failures) == failures


def test_episodes_are_at_least_as_many_as_asked_for():
    world = make_world(seed=2, failures=10, episodes=40, plants=[])
    assert world.episodes >= 40
    by_rack: dict[int, list[int]] = {}
    for failure in world.failures:
        by_rack.setdefault(failure.host // 8, []).append(failure.true_us // (60 * 10**6))
    gaps = [np.diff(sorted(times)) for times in by_rack.values()]
    assert world.episodes == sum(1 + int((gap > 60).sum()) for gap in gaps)


def test_failures_are_rested_busy_and_late_by_at_most_ten_minutes(world):
    last: dict[int, int] = {}
    late = [failure.recorded_us - failure.true_us for failure in world.failures]
    for failure in world.failures:
        minute = np.searchsorted(world.ts_us, failure.true_us, side="right") - 1
        assert world.job[failure.entity, minute - 1] >= 0
        assert world.job[failure.entity, minute] == -1
        assert failure.true_us - last.get(failure.host, -(10**18)) >= 8 * HOUR_US - 60 * 10**6
        assert failure.ts_low_us <= failure.true_us <= failure.ts_high_us == failure.recorded_us
        last[failure.host] = failure.true_us
    assert all(delay == 0 or 120e6 <= delay <= 600e6 for delay in late)
    assert binom.ppf(0.001, 50, 0.5) <= sum(delay > 0 for delay in late) <= binom.ppf(0.999, 50, 0.5)


def test_the_whole_job_stops_for_fifteen_minutes(world):
    for failure in world.failures:
        minute = int(np.searchsorted(world.ts_us, failure.true_us, side="right")) - 1
        members = world.course.jobs[failure.job].members
        assert members.size in (16, 32)
        assert (world.job[members, minute : minute + 15] == -1).all()


def test_same_seed_same_world_and_signals_do_not_depend_on_order(world):
    again = make_world(seed=3, failures=50)
    names = ["noise_ar99_1", "burst_60"]
    first = [again.signals[name] for name in names]
    second = [world.signals[name] for name in reversed(names)][::-1]
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, second, strict=True))
    assert world.failures == again.failures
    assert world.failures != make_world(seed=4, failures=50, plants=[]).failures


def test_gaps_are_whole_host_hours_and_nothing_fills_them(world):
    missing = np.isnan(world.load)
    assert missing.reshape(128, -1, 60).all(axis=2).sum() * 60 == missing.sum()
    assert 0.005 < missing.mean() < 0.02
    assert np.array_equal(np.isnan(world.signals["shift_60"]), missing)


@pytest.mark.parametrize(
    ("name", "feature"), [("ramp_60", "level"), ("burst_60", "level"), ("shift_60", "level"), ("var_60", "spread")]
)
def test_shapes_stand_before_the_failures_they_were_planted_for(world, name, feature):
    values, truth = world.signals[name], world.truth[name]
    moved = []
    for failure, lead_s in zip(world.failures, truth.leads_s, strict=True):
        minute = int((failure.true_us - world.ts_us[0]) // (60 * 10**6))
        start = minute - int((lead_s if np.isfinite(lead_s) else 3600) // 60)
        inside, before = values[failure.entity, start:minute], values[failure.entity, start - 200 : start]
        if np.isnan(inside).any() or np.isnan(before).any():
            continue
        change = inside.mean() - before.mean() if feature == "level" else np.log(inside.std() / before.std())
        moved.append((np.isfinite(lead_s), change))
    planted = np.array([change for here, change in moved if here])
    others = np.array([change for here, change in moved if not here])
    assert planted.mean() > others.mean() + 4 * np.sqrt(planted.var() / planted.size + others.var() / others.size)
    assert abs(len(planted) / len(moved) - 0.6) < 3.3 * np.sqrt(0.24 / len(moved))


def test_shapes_without_failure_come_in_three_percent_of_two_hour_windows(world):
    counts = np.nan_to_num(world.signals["burst_60"])
    ends = np.cumsum(np.pad(counts, ((0, 0), (1, 0))), axis=1)
    dense = (ends[:, 20:] - ends[:, :-20]) >= 6  # background: 0.4 in 20 minutes
    starts = np.diff(np.pad(dense, ((0, 0), (1, 0))).astype(int), axis=1) == 1
    planted = int(np.isfinite(world.truth["burst_60"].leads_s).sum())
    windows = 128 * 48
    expected = 0.03 * windows + planted
    assert abs(starts.sum() - expected) < 4 * np.sqrt(0.03 * windows)


def test_a_requeued_job_is_young_again_and_a_stopped_one_is_not():
    for requeue in (False, True):
        world = make_world(seed=8, failures=20, hosts=32, days=2, plants=[], site=Site(requeue=requeue))
        young = []
        for failure in world.failures:
            minute = int((failure.true_us - world.ts_us[0]) // (60 * 10**6))
            again = world.job[failure.entity, minute + 15]
            if again >= 0 and (requeue or again == failure.job):
                young.append(world.job_age_s[failure.entity, minute + 15] < 900)
                assert (again != failure.job) == requeue
        assert np.mean(young) == 1.0 if requeue else np.mean(young) < 0.5


def test_hazard_tilts_the_driver_at_failures_by_its_coefficient():
    # exponential tilting: where the hazard is exp(b z), z ~ N(0, 1), failures have mean z of b
    flat = Hazard(z=0.8, u=0.0, pair=0.0, load=0.0, temperature=0.0, young=0.0, epoch=0.0, cooling=0.0, lemon=0.0)
    values = []
    for seed in range(4):
        course = make_world(seed=seed, failures=100, plants=[], hazard=flat).course
        values += [course.z[hit.entity, hit.minute] for hit in course.hits]
    assert abs(np.mean(values) - 0.8) < 3.3 / np.sqrt(len(values))


def test_consequences_do_not_move_before_the_true_minute(world):
    for name, earliest in (("after_1", -720), ("skew_1", 0)):
        leads = world.truth[name].leads_s
        assert np.isfinite(leads).all()
        assert leads.max() <= earliest
    coarse = world.signals["coarse_1"]
    assert {info.interval_s for info in world.signal_infos() if info.name == "coarse_1"} == {900.0}
    seen = coarse[~np.isnan(coarse).any(axis=1)]
    assert (np.ptp(seen.reshape(seen.shape[0], -1, 15), axis=2) < 1e-9).all()


def test_one_device_makes_nearly_all_events_of_the_lemon(world):
    counts = np.nansum(world.signals["lemon"], axis=1)
    assert counts.max() / counts.sum() > 0.9
    assert int(counts.argmax()) == world.course.lemon


def test_waves_reach_every_host_and_outage_blinds_all(world):
    first, last = world.course.epoch
    wave = world.signals["rollout_1"]
    risen = np.nanmean(wave[:, first:last], axis=1) - np.nanmean(wave[:, first - 400 : first - 40], axis=1)
    assert (risen[np.isfinite(risen)] > 1.0).all()
    assert np.isnan(world.signals["outage_1"][:, first + 30 : first + 75]).all()
    cooled = world.course.cooled[world.rack_of]
    cool = world.signals["cooling_1"]
    risen = np.nanmean(cool[:, first + 20 : last], axis=1) - np.nanmean(cool[:, first - 400 : first - 40], axis=1)
    assert np.nanmin(risen[cooled]) > np.nanmax(risen[~cooled]) - 1.0
    assert np.nanmean(risen[cooled]) > 2.0


def test_null_world_holds_no_precursor():
    world = make_world(seed=5, failures=10, hosts=48, days=2, plants=null_plants())
    assert not any(truth.is_precursor for truth in world.truth.values())
    assert len(world.plants) == 43


def test_gpu_scope_plants_on_the_failing_gpu_only():
    plants = [
        Plant(name="step", role=Role.SHIFT, size=4.0, failure_kind="memory"),
        Plant(name="load", role=Role.LOAD, scope="host"),
    ]
    world = make_world(seed=6, failures=40, hosts=32, days=4, gpus_per_host=4, plants=plants, kinds=("memory", "bus"))
    values, truth = world.signals["step"], world.truth["step"]
    assert values.shape == (128, 5760)
    assert world.signals["load"].shape == (32, 5760)
    for failure, lead_s in zip(world.failures, truth.leads_s, strict=True):
        assert np.isfinite(lead_s) == (failure.kind == "memory")
        if not np.isfinite(lead_s):
            continue
        minute = int((failure.true_us - world.ts_us[0]) // (60 * 10**6))
        span = slice(minute - int(lead_s // 60), minute)
        brothers = np.arange(4 * failure.host, 4 * failure.host + 4)
        level = values[brothers, span].mean(axis=1) - values[brothers, minute - 300 : minute - 120].mean(axis=1)
        if np.isfinite(level).all() and span.stop - span.start > 60:
            assert brothers[level.argmax()] == failure.entity


def test_facts_match_what_a_screen_reads(world):
    infos = {info.name: info for info in world.signal_infos()}
    assert set(infos) == set(world.signals) == set(world.truth)
    assert infos["lemon"].kind == "event"
    assert sum(world.truth[name].role in PRECURSORS for name in infos) == 13
    incidents = world.incidents()
    assert incidents[0].entity == world.entities[world.failures[0].entity]
    assert incidents[0].ts_high == incidents[0].ts


def test_wrong_sizes_and_plants_are_told():
    with pytest.raises(UsageError, match="do not fit"):
        make_world(seed=1, failures=500, hosts=16, days=1)
    with pytest.raises(UsageError, match="No world of 0 hosts"):
        make_world(seed=1, hosts=0)
    with pytest.raises(UsageError, match="is no site"):
        make_world(seed=1, site=Site(job_hosts=(8, 4)))
    with pytest.raises(SpecificationError) as caught:
        make_world(
            seed=1, plants=[Plant(name="a", role=Role.RAMP, share=2.0), Plant(name="a", role=Role.NOISE, base="pink")]
        )
    assert len(caught.value.mistakes) == 3
    world = make_world(seed=1, failures=0, hosts=16, days=1)
    with pytest.raises(UnknownNameError, match="ramp_60"):
        world.signals["ramp60"]
