from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from nullworlds import HOUR_US, MIXED, SPAN_US, T0_US, mixed, places
from scipy.stats import beta, binom

from workbench.analysis.coincidence import Occurrences, coincidence_of
from workbench.analysis.mixedevents import MixedEvents, owner
from workbench.analysis.occurrences import Places, Rules
from workbench.analysis.propagation import propagation, propagation_of
from workbench.errors import DataError, NothingToDoError, ResourceError, UsageError
from workbench.timebase import from_us

RULES = Rules(shifts=199)
SPAN = (T0_US, T0_US + SPAN_US)
MINUTE_US = 60_000_000
PLANTED = ((0, 1, 0.5, 120.0), (2, 3, 0.4, 300.0))


def ask(events, *, seed=1, rules=RULES, within_s=1800.0, where=None, **more):
    return propagation_of(events, where or places(), span_us=SPAN, within_s=within_s, seed=seed, rules=rules, **more)


def events_at(rows, names):
    """Rows of (kind, place, minutes)."""
    kind, place, minute = (np.array(column) for column in zip(*rows, strict=True))
    ts = T0_US + np.round(minute * MINUTE_US).astype(np.int64)
    return MixedEvents(
        names=names, kind=kind.astype(np.int64), place=place.astype(np.int64), ts_us=ts, low_us=ts, high_us=ts
    )


@pytest.mark.parametrize("kind", MIXED)
def test_false_claims_over_all_pairs_stay_within_the_exact_bound(kind):
    runs = 40
    held = sum(
        ask(mixed(kind, np.random.default_rng([seed, 90])), seed=seed).holding.height > 0 for seed in range(runs)
    )
    assert held <= binom.ppf(0.999, runs, 0.05)


@pytest.mark.parametrize("kind", ["unrelated", "bursts", "lemon hosts"])
def test_two_planted_pairs_are_found_among_noise(kind):
    found = [ask(mixed(kind, np.random.default_rng([seed, 91]), planted=PLANTED), seed=seed) for seed in range(8)]
    pairs = [set(one.holding.select("a", "b").rows()) for one in found]
    truth = {("kind:0", "kind:1"), ("kind:2", "kind:3")}
    assert sum(truth <= one for one in pairs) >= 7
    assert sum(len(one - truth) for one in pairs) <= 2
    row = found[0].holding.filter(a="kind:0", b="kind:1").row(0, named=True)
    # of the a that bring on a b, in this window, half come within this many seconds
    assert row["delay_low_s"] <= 1 + 120 * np.log(2) <= row["delay_high_s"] * 1.5
    assert "come after kind:0, median" in found[0].sentence
    assert found[0].kinds == 8
    assert found[0].tested == 56


def test_each_pair_equals_the_coincidence_of_the_two_alone():
    events = mixed("lemon hosts", np.random.default_rng([1, 92]), planted=PLANTED)
    found = ask(events)

    def alone(kind):
        chosen = events.kind == kind
        columns = {name: getattr(events, name)[chosen] for name in ("place", "ts_us", "low_us", "high_us")}
        return Occurrences(name=f"kind:{kind}", **columns)

    assert found.pairs.height >= 5
    for a, b in ((int(row[0][-1]), int(row[1][-1])) for row in found.pairs.select("a", "b").rows()):
        one = coincidence_of(alone(a), alone(b), places(), span_us=SPAN, within_s=1800.0, seed=1, rules=RULES)
        row = found.pairs.filter(a=f"kind:{a}", b=f"kind:{b}").row(0, named=True)
        assert (row["preceded"], row["b_count"]) == (one.precursor.count, one.precursor.of)
        assert (row["triggering"], row["a_count"]) == (one.trigger.count, one.trigger.of)
        assert (row["exposed"], row["cases"]) == (one.cases.count, one.cases.of)
        assert row["share_low"] == pytest.approx(one.precursor.low)
        assert row["share_high"] == pytest.approx(one.precursor.high)
        assert row["p_matched"] == pytest.approx(one.p_matched, rel=1e-9)
        assert row["expected_matched"] == pytest.approx(one.matched_expected)
        assert row["p_shift"] == pytest.approx(one.p_shift)
        assert row["expected_shift"] == pytest.approx(np.mean(one.shift_draws))
        assert row["delay_s"] == pytest.approx(one.lead_s[1])
        assert row["reverse"] == one.followed


def test_counts_shares_and_delays_by_hand():
    rows = [(0, at, 60.0 * at) for at in range(8)] + [(1, at, 60.0 * at + 1 + at) for at in range(6)]
    rows += [(1, 20, 900.0), (1, 20, 900.5), (1, 21, 1000.0)]  # a burst of two elsewhere, and another
    found = ask(events_at(rows, ("a", "b")), rules=replace(RULES, burst_s=60.0))
    row = found.pairs.row(0, named=True)
    assert (row["a"], row["b"], row["a_count"], row["b_count"], row["preceded"], row["triggering"]) == (
        "a",
        "b",
        8,
        8,
        6,
        6,
    )
    assert (row["share_preceded"], row["share_triggering"], row["reverse"]) == (6 / 8, 6 / 8, 0)
    assert (row["share_low"], row["share_high"]) == pytest.approx((beta.ppf(0.025, 6, 3), beta.ppf(0.975, 7, 2)))
    assert (row["delay_s"], row["delay_low_s"], row["delay_high_s"]) == (210.0, 60.0, 360.0)
    assert found.pairs.height == 1


def test_events_in_no_order_do_not_meet_and_are_told():
    rows = [(kind, at, 60.0 * at) for at in range(10) for kind in (0, 1)] + [(0, 11, 800.0), (1, 11, 805.0)]
    found = ask(events_at(rows, ("a", "b")))
    assert found.pairs.select("a", "b", "preceded").rows() == [("a", "b", 1)]
    assert any("in no order" in note for note in found.notes)
    unsure = events_at([(kind, at, 60.0 * at + 2 * kind) for at in range(10) for kind in (0, 1)], ("a", "b"))
    unsure = replace(unsure, low_us=unsure.low_us - 5 * MINUTE_US)
    assert ask(unsure).pairs.height == 0
    assert ask(unsure).sentence.startswith("No pair holds on the same host among 2 ordered pairs")


def test_a_consequence_is_told_as_the_other_way_round():
    rows = [(kind, at, 90.0 * at + minute) for at in range(40) for kind, minute in ((1, 0), (0, 4), (1, 8))]
    found = ask(events_at(rows, ("a", "b")), within_s=300.0, rules=replace(RULES, episode_s=0.0))
    assert found.holding.select("a", "b", "preceded", "reverse").rows() == [("a", "b", 40, 40), ("b", "a", 40, 40)]
    assert any("other way round" in note for note in found.notes)


def test_places_of_another_class_do_not_thin_out_the_comparison():
    events = mixed("fleet waves", np.random.default_rng([2, 93]), kinds=3)
    base = places()
    more = Places(
        names=(*base.names, *(f"c1/pdu:{at}" for at in range(500))),
        group=np.r_[base.group, np.full(500, -1)],
        word="entity",
        alike=np.r_[np.zeros(64, np.int64), np.ones(500, np.int64)],
    )
    assert ask(events, where=more).pairs["p_matched"].equals(ask(events).pairs["p_matched"])


def test_progress_and_the_notebook():
    told = []
    events = mixed("unrelated", np.random.default_rng([3, 94]), planted=PLANTED)
    found = ask(events, progress=lambda done, total, what: told.append((done, total, what)))
    assert told == [(at + 1, 8, f"kind:{at}") for at in range(8)]
    assert len(found._repr_html_()) < 100_000
    assert found.plot().layout.xaxis.title.text


def test_rare_kinds_are_not_asked_and_wrong_use_is_told():
    events = mixed("unrelated", np.random.default_rng([3, 95]), kinds=3)
    few = events.take((events.kind > 0) | (np.cumsum(events.kind == 0) <= 4))
    found = ask(few)
    assert found.kinds == 2
    assert any("fewer than 5 bursts" in note for note in found.notes)
    with pytest.raises(DataError, match="No two kinds"):
        ask(events.take(events.kind == 1))
    with pytest.raises(UsageError, match="no lead lies between"):
        ask(events, rules=Rules(guard_s=7200.0))
    with pytest.raises(UsageError, match="shorter window"):
        ask(events, within_s=2 * 86400.0)
    with pytest.raises(DataError, match="None of the"):
        ask(replace(events, place=np.full_like(events.place, -1)))
    many = events_at([(at // 5, at % 5, at % 5 * 70.0) for at in range(5 * 2001)], tuple(map(str, range(2001))))
    with pytest.raises(ResourceError, match="2001 kinds"):
        ask(many)


UTC_US = pl.Datetime("us", "UTC")


class StoreOfEvents:
    """What the question asks of a store: hosts in racks, each with a port that is connected to one of its leaf."""

    path, version = "case-042", "3"

    def __init__(self, rows, linked=True):
        self.rows = pl.DataFrame(rows, schema=["kind", "code", "entity", "us"], orient="row").with_columns(
            ts=(T0_US + pl.col("us")).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
        )
        self.linked = linked

    def events(self, selector=None):
        rows = self.rows.with_columns(ts_low="ts", ts_high="ts")
        return rows if selector is None else rows.filter(pl.col("kind") == str(selector).partition(":")[0])

    def entities(self):
        hosts = [f"c1/node{at:02d}" for at in range(64)]
        ports = [f"{host}/port:p0" for host in hosts]
        return pl.DataFrame({"entity": [*hosts, *ports], "kind": ["host"] * 64 + ["port"] * 64})

    def links(self):
        at = range(64)
        rows = [(f"c1/node{n:02d}", "in", f"c1/rack:r{n // 8}") for n in at]
        if self.linked:
            rows += [(f"c1/node{n:02d}/port:p0", "connected", f"c1/switch:leaf{n // 8}/port:{n % 8}") for n in at]
        frame = pl.DataFrame(rows, schema=["entity", "relation", "to_entity"], orient="row")
        return frame.with_columns(valid_from=pl.lit(None, UTC_US), valid_to=pl.lit(None, UTC_US))

    def observed(self):
        return pl.DataFrame({"what": ["events"], "start": [from_us(SPAN[0])], "end": [from_us(SPAN[1])]})


def rows_of(kind, code, entities, us):
    return [(kind, code, entity, int(at)) for entity, at in zip(entities, us, strict=True)]


def fabric(seed, share=0.8):
    """Ports of leaves flap; the host at the other end of that very link loses its GPU; noise beside it."""
    rng = np.random.default_rng([seed, 96])
    node, us = rng.integers(0, 64, 60), rng.integers(0, SPAN_US - HOUR_US, 60)
    rows = rows_of("link", "down", [f"c1/switch:leaf{n // 8}/port:{n % 8}" for n in node], us)
    hit = rng.random(60) < share
    rows += rows_of(
        "xid",
        "79",
        [f"c1/node{n:02d}/gpu:g{n}" for n in node[hit]],
        us[hit] + rng.integers(1, 20, hit.sum()) * 1_000_000,
    )
    for kind in ("aer", "nfs"):
        rows += rows_of(kind, None, [f"c1/node{n:02d}" for n in rng.integers(0, 64, 60)], rng.integers(0, SPAN_US, 60))
    return StoreOfEvents(rows)


def test_along_links_the_other_end_is_found_and_the_same_host_has_none_of_it():
    found = propagation(fabric(1), within="2m", seed=3, same="linked", rules=RULES)
    assert found.holding.select("a", "b").rows() == [("link:down", "xid:79")]
    row = found.holding.row(0, named=True)
    assert row["share_preceded"] == 1.0
    assert 0.65 <= row["share_triggering"] <= 0.95
    assert "along links" in found.sentence
    assert found.provenance.inputs == "case-042@3"
    here = propagation(fabric(1), within="2m", seed=3, same="host", rules=RULES)
    assert here.holding.height == 0
    rack = propagation(fabric(1), within="2m", seed=3, same="rack", kinds=["xid:79", "aer"], rules=RULES)
    assert rack.tested == 2
    with pytest.raises(UsageError, match="take entity, host"):
        propagation(fabric(1), within="2m", seed=3, same="room", rules=RULES)
    with pytest.raises(UsageError, match="take a list"):
        propagation(fabric(1), within="2m", seed=3, kinds="xid", rules=RULES)
    with pytest.raises(NothingToDoError, match="no links"):
        propagation(
            StoreOfEvents(fabric(1).rows.select("kind", "code", "entity", "us").rows(), linked=False),
            within="2m",
            seed=3,
            same="linked",
        )


def test_a_switch_reaches_all_hosts_of_its_ports_and_each_a_counts_once():
    rng = np.random.default_rng(7)
    leaf, us = np.tile(np.arange(8), 5), np.sort(rng.integers(0, SPAN_US - HOUR_US, 40))
    rows = rows_of("reboot", None, [f"c1/switch:leaf{at}" for at in leaf], us)
    for n in range(3):
        rows += rows_of("nccl", None, [f"c1/node{at * 8 + n:02d}" for at in leaf], us + 5_000_000 + n)
    found = propagation(StoreOfEvents(rows), within="1m", seed=3, same="linked", rules=RULES)
    row = found.pairs.row(0, named=True)
    assert (row["a"], row["b"], row["a_count"], row["triggering"], row["b_count"], row["preceded"]) == (
        "reboot",
        "nccl",
        40,
        40,
        120,
        120,
    )
    assert owner("c1/switch:leaf1/port:7") == "c1/switch:leaf1"


def test_a_link_counts_only_while_it_is_there():
    store = fabric(1)
    links = store.links().with_columns(valid_to=pl.lit(from_us(T0_US + 1), UTC_US))
    store.links = lambda: links
    with pytest.raises(DataError, match="No two kinds"):
        propagation(store, within="2m", seed=3, same="linked", rules=RULES)
