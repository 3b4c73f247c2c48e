from collections import Counter
from dataclasses import replace
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from azurepdm import COMPONENTS, ERRORS, TRUE, _rows
from nullworlds import EVENTS, HOUR_US, SPAN_US, T0_US, events, occurrences, places, preceded
from scipy.stats import beta, binom
from shared import shared_path

from workbench.analysis.coincidence import Occurrences, Places, Rules, coincidence, coincidence_of
from workbench.errors import DataError, NothingToDoError, UsageError
from workbench.model.incident import Incident, Incidents
from workbench.model.provenance import Provenance
from workbench.model.selector import Selector
from workbench.timebase import from_us, parse_time

RULES = Rules(shifts=199)
MINUTE_US = 60_000_000


def ask(a, b, *, seed=1, rules=RULES, within_s=3600.0, where=None):
    span_us = (T0_US, T0_US + SPAN_US)
    return coincidence_of(a, b, where or places(), span_us=span_us, within_s=within_s, seed=seed, rules=rules)


@pytest.mark.parametrize("kind", EVENTS)
def test_false_claims_stay_within_the_exact_bound(kind):
    runs = 40
    held = sum(ask(*events(kind, np.random.default_rng([seed, 40])), seed=seed).holds for seed in range(runs))
    assert held <= binom.ppf(0.999, runs, 0.05)


@pytest.mark.parametrize(("kind", "words"), [("fleet waves", "a moment of the fleet"), ("lemon hosts", "same places")])
def test_each_null_sees_what_the_other_does_not(kind, words):
    found = [ask(*events(kind, np.random.default_rng([seed, 41])), seed=seed) for seed in range(12)]
    shifted, matched = (sum(getattr(one, name) <= 0.05 for one in found) for name in ("p_shift", "p_matched"))
    assert (shifted >= 11 and matched <= 4) if kind == "fleet waves" else (matched >= 7 and shifted <= 4)
    assert sum(words in one.sentence for one in found) >= 6
    assert "Does not hold" in Counter(one.sentence.split(". ")[-1][:13] for one in found).most_common(1)[0][0]


def test_a_precursor_is_found_with_its_rate_and_lead():
    found = ask(*preceded(np.random.default_rng(3), share=0.6))
    assert found.holds
    assert found.sentence.endswith("shifted).")
    assert ". Holds (p = " in found.sentence
    assert found.cases.low <= 0.6 <= found.cases.high
    assert 300 <= found.lead_s[1] <= 3000
    assert found.p == found.p_matched <= 1e-6
    assert found.p_shift == 1 / 200


def test_counts_and_rates_by_hand():
    place = Places(names=("n1", "n2", "n3"), word="host")
    a = occurrences("aer", [0, 0, 1, 2], [0, 10 * MINUTE_US, HOUR_US, HOUR_US * 50])
    b = occurrences("xid", [0, 1, 1], [20 * MINUTE_US, 5 * HOUR_US, HOUR_US + MINUTE_US])
    found = ask(a, b, where=place, rules=Rules(shifts=99, burst_s=0.0))
    assert (found.precursor.count, found.precursor.of) == (2, 3)
    assert (found.trigger.count, found.trigger.of) == (3, 4)
    assert found.precursor.low == pytest.approx(beta.ppf(0.025, 2, 2))
    assert found.precursor.high == pytest.approx(beta.ppf(0.975, 3, 1))
    assert found.lead_s.tolist() == pytest.approx(np.quantile([600, 60], [0.25, 0.5, 0.75]).tolist())
    assert found.by_place.filter(pl.col("place") == "n1").row(0) == ("n1", 2, 1, 1, 2)
    # n1 and the first of n2 fall within an hour of each other, so n3 alone is their control: 1/2 and
    # 1/2, both exposed; the second of n2 is unexposed among three
    assert found.p_matched == pytest.approx(1 / 4)


def test_bursts_count_once():
    a = occurrences("aer", np.zeros(100, int), np.arange(100) * 1_000_000)
    b = occurrences("xid", np.zeros(3, int), [30 * MINUTE_US, 30 * MINUTE_US + 20_000_000, 90 * HOUR_US])
    found = ask(a, b)
    assert found.trigger.of == 1
    assert found.precursor.of == 2


def test_pairs_within_the_uncertainty_of_their_clocks_are_in_no_order():
    spread = np.arange(8) * 11 * HOUR_US + HOUR_US
    a = occurrences("aer", np.arange(8), spread)
    certain = occurrences("xid", np.arange(8), spread + 5 * MINUTE_US)
    late = occurrences("xid", np.arange(8), spread + 5 * MINUTE_US, uncertain_us=10 * MINUTE_US)
    assert ask(a, certain).precursor.count == 8
    found = ask(a, late)
    assert found.precursor.count == 0
    assert any("clocks cannot tell the order" in note for note in found.notes)
    same = ask(a, replace(a, name="xid"))
    assert same.precursor.count == 0  # one stamp is no order


def test_guard_and_window_bound_the_lead():
    spread = np.arange(8) * 11 * HOUR_US + HOUR_US
    a, b = occurrences("aer", np.arange(8), spread), occurrences("xid", np.arange(8), spread + 5 * MINUTE_US)
    counts = [
        ask(a, b, within_s=within, rules=replace(RULES, guard_s=guard)).precursor.count
        for within, guard in ((299.0, 0.0), (300.0, 0.0), (600.0, 300.0), (600.0, 301.0))
    ]
    assert counts == [0, 8, 8, 0]


def test_notes_tell_of_batches_one_place_the_wrong_way_round_and_a_short_span():
    rng = np.random.default_rng(6)
    batch = np.repeat(rng.integers(0, SPAN_US, 10), 6)
    a = occurrences("aer", np.tile(np.arange(6), 10), batch)
    b = occurrences("xid", np.zeros(10, int), batch[::6] + MINUTE_US)
    notes = " ".join(ask(a, b).notes)
    assert "share their exact stamp" in notes
    assert "one place carries it" in notes
    first, second = events("consequence", rng)
    assert "may be the consequence" in " ".join(ask(first, second).notes)
    short = coincidence_of(
        a, b, places(), span_us=(T0_US, T0_US + 96 * HOUR_US // 8), within_s=600, seed=1, rules=RULES
    )
    assert "shifts of 3h and more" in " ".join(short.notes)


def test_episodes_of_a_rack_are_one_case():
    """A rack falls over after one warning on each of its hosts: one case, not eight."""
    place = np.arange(8)
    a, b = occurrences("aer", place, np.full(8, HOUR_US)), occurrences("xid", place, 2 * HOUR_US - 1 + place)
    found = ask(a, b, within_s=7200.0)
    assert found.cases.of == 1
    # hosts of the rack have a b of their own and are no controls; 56 others and the case, one exposed
    assert found.p_matched == pytest.approx(1 / 57)


def test_a_lone_place_has_nobody_to_be_compared_with():
    a, b = preceded(np.random.default_rng(1), share=0.9)
    here = [replace(one, place=np.zeros_like(one.place)) for one in (a, b)]
    found = ask(*here, where=Places(names=("n1",), word="host"))
    assert np.isnan(found.p)
    assert not found.holds
    assert "no other host to compare with" in found.sentence
    assert found._repr_html_()


def test_wrong_use_says_what_would_be_right():
    a, b = preceded(np.random.default_rng(1), share=0.5)
    with pytest.raises(UsageError, match="no lead lies between"):
        ask(a, b, rules=Rules(guard_s=7200.0))
    with pytest.raises(UsageError, match="shorter window or a longer span"):
        ask(a, b, within_s=3 * 86400.0)
    with pytest.raises(DataError, match="None of the"):
        ask(replace(a, place=np.full_like(a.place, -1)), b)


def test_azure_maintenance_rates_equal_the_published_truth():
    folder = shared_path("data", "azure_pdm")
    errors, failures = (_rows(folder / f"PdM_{name}.csv") for name in ("errors", "failures"))
    machines = Places(names=tuple(f"m{at:03d}" for at in range(100)), word="machine")
    span_us = parse_time("2015-01-01T06:00:00Z"), parse_time("2016-01-01T06:00:00Z")

    def of(rows, name):
        chosen = np.array([row[:2] for row in rows if row[2] == name], dtype=np.int64)
        return Occurrences(name=name, place=chosen[:, 0], ts_us=chosen[:, 1], low_us=chosen[:, 1], high_us=chosen[:, 1])

    rules, recall, precision, decoys = Rules(burst_s=0.0, shifts=99), {}, {}, []
    for error in ERRORS:
        for component in COMPONENTS:
            found = coincidence_of(
                of(errors, error),
                of(failures, component),
                machines,
                span_us=span_us,
                within_s=86400.0,
                seed=1,
                rules=rules,
            )
            if TRUE[error] == component:
                recall[error], precision[error] = found.precursor.share, found.trigger.share
                assert found.holds
            else:
                decoys.append(found.precursor.share)
    # Share of failures with the error in the 24 h before, share of errors with the failure after
    assert [round(recall[error], 3) for error in ERRORS] == [0.958, 0.988, 0.988, 0.977, 0.983]
    assert [precision[error] for error in ERRORS] == pytest.approx([0.187, 0.262, 0.309, 0.179, 0.497], abs=0.002)
    assert max(decoys) <= 0.117 + 5e-4


class StoreOfEvents:
    """What the question asks of a store."""

    path, version = "case-042", "3"

    def __init__(self, incidents):
        self.items = incidents

    def incidents(self, selector, *, collapse_s):
        assert collapse_s == 0.0  # bursts are the analysis' own business
        wanted = Selector.parse(str(selector))
        items = tuple(item for item in self.items if item.kind == wanted.kind)
        return Incidents(outcome=wanted, items=items, provenance=Provenance(function="-", inputs="-"))

    def entities(self):
        hosts = [f"c1/node{at:02d}" for at in range(64)]
        return pl.DataFrame({"entity": [*hosts, "c1/rack:r0"], "kind": ["host"] * 64 + ["rack"]})

    def links(self):
        schema = {"valid_from": pl.Datetime("us", "UTC"), "valid_to": pl.Datetime("us", "UTC")}
        rows = [
            {
                "entity": f"c1/node{at:02d}",
                "relation": "in",
                "to_entity": f"c1/rack:r{at // 8}",
                "valid_from": None,
                "valid_to": None,
            }
            for at in range(64)
        ]
        return pl.DataFrame(rows, schema_overrides=schema)

    def observed(self):
        span = [from_us(T0_US)], [from_us(T0_US + SPAN_US)]
        return pl.DataFrame({"what": ["events"], "start": span[0], "end": span[1]})


def incidents_of(one, kind):
    return [
        Incident(
            id=str(at), kind=kind, code=None, entity=f"c1/node{place:02d}/gpu:{place}", host=f"c1/node{place:02d}",
            rack=None, job=None, ts=from_us(ts), ts_low=from_us(ts), ts_high=from_us(ts),
        )
        for at, (place, ts) in enumerate(zip(one.place.tolist(), one.ts_us.tolist(), strict=True))
    ]  # fmt: skip


def test_the_store_gives_the_same_as_its_events():
    a, b = preceded(np.random.default_rng(3), share=0.5)
    store = StoreOfEvents([*incidents_of(a, "aer"), *incidents_of(b, "xid")])
    found = coincidence(store, a="aer", b=Selector("xid"), within="1h", seed=4, rules=RULES)
    expected = ask(a, b, seed=4)
    for name in ("p_shift", "p_matched", "p_naive", "followed", "precursor", "cases"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.provenance.inputs == "case-042@3"
    assert found.same == "host"
    apart = coincidence(store, a="aer", b="xid", within="1h", seed=4, same="entity", rules=RULES)
    assert apart.precursor.count == found.precursor.count  # one GPU a host in this store
    with pytest.raises(UsageError, match="host or entity"):
        coincidence(store, a="aer", b="xid", within="1h", seed=4, same="rack")


def test_a_store_that_nobody_watched_asks_for_the_span():
    a, b = preceded(np.random.default_rng(3), share=0.5)
    store = StoreOfEvents([*incidents_of(a, "aer"), *incidents_of(b, "xid")])
    store.observed = lambda: pl.DataFrame(
        {"what": [], "start": [], "end": []},
        schema={"what": pl.String, "start": pl.Datetime("us", "UTC"), "end": pl.Datetime("us", "UTC")},
    )
    with pytest.raises(NothingToDoError, match="span="):
        coincidence(store, a="aer", b="xid", within="1h", seed=4)
    span = from_us(T0_US), from_us(T0_US) + timedelta(days=4)
    assert coincidence(store, a="aer", b="xid", within="1h", seed=4, rules=replace(RULES, span=span)).holds
