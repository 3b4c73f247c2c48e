from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from nullworlds import FAILING, HOUR_US, T0_US, failing
from scipy.stats import binom, chi2

from workbench.analysis.exposure import Exposure
from workbench.analysis.occurrences import Occurrences, Places, Rules
from workbench.analysis.recurrence import recurrence, recurrence_of
from workbench.errors import DataError, NothingToDoError, UsageError
from workbench.timebase import from_us

RULES = Rules(shifts=199)
DAY_US = 24 * HOUR_US


def ask(world, seed=1, **more):
    failures, places, exposure, span_us = world
    return recurrence_of(failures, places, span_us=span_us, seed=seed, exposure=exposure, **({"rules": RULES} | more))


def failed(place, ts_us):
    ts = np.asarray(ts_us, dtype=np.int64)
    return Occurrences(name="xid:79", place=np.asarray(place, dtype=np.int64), ts_us=ts, low_us=ts, high_us=ts)


@pytest.mark.parametrize("kind", FAILING)
def test_false_claims_stay_within_the_exact_bound(kind):
    runs, held, named = 60, 0, 0
    for seed in range(runs):
        found = ask(failing(kind, np.random.default_rng([seed, 120])), seed)
        held, named = held + found.holds, named + (found.standing_out.height > 0)
    assert held <= binom.ppf(0.999, runs, 0.05)
    assert named <= binom.ppf(0.999, runs, 0.05)


@pytest.mark.parametrize("kind", ["unrelated", "few observed", "came late"])
def test_planted_lemons_are_found_and_nothing_else(kind):
    hits, others, held = 0, 0, 0
    for seed in range(6):
        world = failing(kind, np.random.default_rng([seed, 121]), lemons=3, factor=40.0, count=90)
        found = ask(world, seed)
        names = set(found.standing_out["place"].to_list())
        truth = {"c1/node000", "c1/node001", "c1/node002"}
        hits, others, held = hits + len(names & truth), others + len(names - truth), held + found.holds
    assert hits >= 15
    assert others <= 2
    assert held == 6
    assert "comes back to the same host" in found.sentence
    assert "stand out: c1/node00" in found.sentence


def test_short_observation_is_no_sign_of_health_and_long_observation_none_of_a_lemon():
    """Twenty places are observed all the time and collect the failures: too many a place, as many a day."""
    failures, places, exposure, span_us = failing("few observed", np.random.default_rng([1, 122]))
    naive = recurrence_of(failures, places, span_us=span_us, seed=1, rules=RULES)
    assert naive.holds
    assert not ask((failures, places, exposure, span_us)).holds


def test_rates_and_expectations_by_hand():
    places = Places(names=("a", "b", "c"), word="host")
    span_us = (T0_US, T0_US + 100 * DAY_US)
    exposure = Exposure(
        place=np.array([0, 1, 1, 2]),
        start_us=T0_US + np.array([0, 0, 20, 50]) * DAY_US,
        end_us=T0_US + np.array([100, 30, 40, 100]) * DAY_US,
    )
    failures = failed([0, 0, 0, 1, 2], T0_US + np.array([10, 45, 60, 25, 70]) * DAY_US)
    found = ask((failures, places, exposure, span_us))
    row = found.lemons.filter(place="a").row(0, named=True)
    # at risk: a b | a | a c | a b | a c
    assert row["expected"] == pytest.approx(0.5 + 1 + 0.5 + 0.5 + 0.5)
    assert (row["failures"], row["exposure_days"], row["rate_per_day"]) == (3, 100.0, 0.03)
    assert row["rate_low"] == pytest.approx(chi2.ppf(0.025, 6) / 200)
    assert row["rate_high"] == pytest.approx(chi2.ppf(0.975, 8) / 200)
    assert row["ratio"] == 1.0
    # one is sure, so two or more of the four even chances
    assert row["p"] == pytest.approx(binom.sf(1, 4, 0.5))
    assert found.lemons.filter(place="b")["exposure_days"].item() == pytest.approx(40.0)
    assert found.pairs == 3
    assert (found.failures, found.places) == (5, 3)
    week = found.gaps.filter(within_s=30 * 86400.0)
    assert (week["again"].item(), week["of"].item(), week["share"].item()) == (1, 5, 0.2)


def test_bursts_are_one_failure_and_what_a_rack_does_at_once_is_one_witness():
    places = Places(names=tuple(f"n{at}" for at in range(40)), group=np.arange(40) // 10, word="host")
    span_us = (T0_US, T0_US + 90 * DAY_US)
    burst = failed(np.zeros(50), T0_US + DAY_US + np.arange(50) * HOUR_US // 2)
    with pytest.raises(DataError, match="1 failures"):
        recurrence_of(burst, places, span_us=span_us, seed=1)
    rack = failed(
        np.tile(np.arange(10), 4), T0_US + np.repeat([5, 20, 40, 60], 10) * DAY_US + np.tile(np.arange(10), 4)
    )
    found = recurrence_of(rack, places, span_us=span_us, seed=1, rules=RULES)
    assert (found.failures, found.episodes) == (40, 4)
    assert found.pairs <= 6
    assert any("Different places of one rack" in note for note in found.notes)


def test_how_soon_again():
    rng = np.random.default_rng(3)
    first = rng.integers(0, 80 * DAY_US, 40)
    place = rng.permutation(200)[:40]
    places = Places(names=tuple(f"n{at:03d}" for at in range(200)), word="gpu")
    failures = failed(np.tile(place, 2), T0_US + np.r_[first, first + 20 * HOUR_US])
    found = recurrence_of(failures, places, span_us=(T0_US, T0_US + 90 * DAY_US), seed=1, rules=RULES)
    day = found.gaps.filter(within_s=86400.0).row(0, named=True)
    assert (day["again"], day["of"], day["p"]) == (40, 80, 1 / 200)
    assert day["expected_high"] < 10
    assert found.gaps.filter(within_s=3600.0)["again"].item() == 0
    assert "50% of 80 were followed by another there within 1d" in found.sentence
    assert found.gaps["within_s"].max() <= 45 * 86400


def test_what_was_not_observed_is_left_out_and_told():
    failures, places, exposure, span_us = failing("unrelated", np.random.default_rng([4, 123]))
    late = replace(exposure, start_us=exposure.start_us + 30 * DAY_US)
    found = ask((failures, places, late, span_us))
    assert any("nobody is said to have observed" in note for note in found.notes)
    assert found.failures < 60
    unknown = replace(failures, place=np.where(np.arange(60) < 5, -1, failures.place))
    assert any("5 of 60 xid:79" in note for note in ask((unknown, places, exposure, span_us)).notes)


UTC_US = pl.Datetime("us", "UTC")


class StoreOfFailures:
    path, version = "case-042", "3"

    def __init__(self, world, sampled):
        failures, self.places, exposure, self.span = world
        at = [from_us(ts) for ts in failures.ts_us.tolist()]
        entity = [f"{self.places.names[place]}/gpu:G{place}" for place in failures.place.tolist()]
        self.rows = pl.DataFrame({"ts": at, "ts_low": at, "ts_high": at, "entity": entity, "kind": "xid", "code": "79"})
        self.sampled, self.exposure = sampled, exposure

    def events(self, selector=None):
        return self.rows

    def entities(self):
        hosts = list(self.places.names)
        return pl.DataFrame({"entity": hosts + [f"{host}/gpu:G{at}" for at, host in enumerate(hosts)]})

    def links(self):
        rows = [(host, "in", f"c1/rack:r{at // 10}", None, None) for at, host in enumerate(self.places.names)]
        schema = {
            "entity": pl.String,
            "relation": pl.String,
            "to_entity": pl.String,
            "valid_from": UTC_US,
            "valid_to": UTC_US,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")

    def observed(self):
        log = pl.DataFrame(
            {
                "entity": ["c1/node000"],
                "what": ["events"],
                "start": [from_us(self.span[0])],
                "end": [from_us(self.span[1])],
            }
        )
        names = [self.places.names[place] for place in self.exposure.place.tolist()]
        times = {
            name: [from_us(ts) for ts in getattr(self.exposure, f"{name}_us").tolist()] for name in ("start", "end")
        }
        return pl.concat([log, pl.DataFrame({"entity": names, "what": "gpu", **times})]) if self.sampled else log


def test_the_store_gives_the_same_as_its_failures():
    world = failing("few observed", np.random.default_rng([5, 124]), lemons=2, factor=40.0)
    found = recurrence(StoreOfFailures(world, sampled=True), outcome="xid:79", seed=4, rules=RULES)
    expected = ask(world, 4)
    assert (found.pairs, found.failures, found.places) == (expected.pairs, expected.failures, 200)
    assert found.lemons["p"].to_list() == pytest.approx(expected.lemons["p"].to_list(), nan_ok=True)
    assert found.lemons["place"][0] in {"c1/node000/gpu:G0", "c1/node001/gpu:G1"}
    assert found.provenance.inputs == "case-042@3"
    host = recurrence(StoreOfFailures(world, sampled=True), outcome="xid:79", seed=4, same="host", rules=RULES)
    assert host.lemons["place"][0] in {"c1/node000", "c1/node001"}
    rack = recurrence(StoreOfFailures(world, sampled=False), outcome="xid:79", seed=4, same="rack", rules=RULES)
    assert rack.places == 20
    whole = recurrence(StoreOfFailures(world, sampled=False), outcome="xid:79", seed=4, rules=RULES)
    assert set(whole.lemons["exposure_days"].to_list()) == {90.0}


def test_exposure_can_be_stated():
    world = failing("few observed", np.random.default_rng([5, 124]), lemons=2, factor=40.0)
    seen = StoreOfFailures(world, sampled=True).observed().filter(pl.col("what") == "gpu")
    stated = seen.select(place=pl.col("entity"), start="start", end="end")
    found = recurrence(
        StoreOfFailures(world, sampled=False), outcome="xid:79", seed=4, same="host", exposure=stated, rules=RULES
    )
    assert found.pairs == ask(world, 4).pairs
    with pytest.raises(UsageError, match="column end"):
        recurrence(StoreOfFailures(world, sampled=False), outcome="xid", seed=4, exposure=stated.drop("end"))
    with pytest.raises(UsageError, match="take entity, host or rack"):
        recurrence(StoreOfFailures(world, sampled=False), outcome="xid", seed=4, same="room")
    store = StoreOfFailures(world, sampled=False)
    seen = store.observed().clear()
    store.observed = lambda: seen
    with pytest.raises(NothingToDoError, match="span="):
        recurrence(store, outcome="xid", seed=4)


def test_the_notebook():
    found = ask(failing("unrelated", np.random.default_rng([6, 125])))
    assert len(found._repr_html_()) < 100_000
    assert "No sign that xid:79 comes back" in found.sentence or found.holds
