"""Judging: registered first, the first answer counts, tries are paid for, and planted truth is found."""

import json
import math
from dataclasses import replace
from importlib import import_module

import numpy as np
import polars as pl
import pytest
from memorystore import MemoryStore, world_fleet

import workbench as wb
from workbench.errors import NothingToDoError, SpecificationError, UnknownNameError, UsageError
from workbench.hypotheses.judge import judge, judge_each
from workbench.hypotheses.ledger import ledger
from workbench.hypotheses.record import screen
from workbench.hypotheses.spec import Hypothesis
from workbench.model.verdict import Reading, Word
from workbench.simulator.world import make_world

#: The loader's module; as an attribute, workbench.panel may be the function of that name.
LOADER = import_module("workbench.panel.load")
NAMES = (
    "shift_60",
    "var_60",
    "ramp_60",
    "skew_1",
    "load_1",
    "noise_ar99_1",
    "noise_ar99_2",
    "noise_walk_1",
    "noise_heavy_1",
)


@pytest.fixture(scope="module")
def world():
    return make_world(seed=7, failures=36, hosts=56, days=2)


@pytest.fixture
def store(world, monkeypatch):
    """A store of that world, in memory; the loader gives its one fleet."""

    def fleets(store, incidents, *, before_s, signals="*", outcome=None):
        if not incidents:
            raise NothingToDoError("no incident")
        return store.fleets

    monkeypatch.setattr(LOADER, "fleets", fleets)
    return MemoryStore(
        metrics=NAMES, kinds=("failure",), incidents=world.incidents(), fleets=(world_fleet(world, *NAMES),)
    )


def claim(metric, name=None, **more):
    facts = {"name": name or f"{metric} precedes", "when": wb.level(metric), "then": "failure", "within": "2h"}
    return Hypothesis(**{**facts, **more})


def statuses(store):
    return store.ledger_rows()["status"].to_list() if store.commits else []


def test_a_planted_precursor_alone_is_supported(store):
    verdict = judge(claim("shift_60", controls=["time_shift", "healthy_twin"], direction="up"), store, seed=7)
    assert (verdict.word, verdict.reading) == (Word.SUPPORTED, Reading.PRECURSOR)
    assert verdict.q <= 0.05
    assert verdict.tested == 1
    assert verdict.checks["placebo"] == verdict.checks["healthy_twin"] == verdict.checks["direction"] == "passed"
    assert verdict.signal == "shift_60"
    assert verdict.hypothesis == "shift_60 precedes"
    assert verdict.details["controls"] == {"healthy_twin": "passed", "time_shift": "passed"}
    assert "cause" not in verdict.sentence
    (entry,) = ledger(store).entries
    assert entry.id == verdict.ledger_id
    assert entry.rejected is True
    assert entry.alpha_t == pytest.approx(0.5 * 0.4374901658 * 0.025)  # SAFFRON's first level
    assert json.loads(entry.provenance)["seed"] == 7
    assert json.loads(entry.provenance)["parameters"]["hypothesis"]["within_s"] == 7200.0


def test_a_claim_is_registered_before_anything_is_read(store, monkeypatch):
    def refuse(*_, **__):
        assert statuses(store) == ["registered"]
        raise NothingToDoError("nobody to compare")

    monkeypatch.setattr(LOADER, "fleets", refuse)
    with pytest.raises(NothingToDoError, match="nobody"):
        judge(claim("shift_60"), store, seed=7)
    (entry,) = ledger(store).entries
    assert (entry.status, entry.name, entry.seed) == ("registered", "shift_60 precedes", 7)


def test_judging_again_returns_the_first_entry_whatever_the_seed(store):
    first = judge(claim("shift_60"), store, seed=7)
    commits = len(store.commits)
    again = judge(claim("shift_60", name="another name", expect="REFUTED"), store, seed=8)
    assert len(store.commits) == commits
    assert (again.ledger_id, again.p, again.provenance.seed) == (first.ledger_id, first.p, 7)
    assert (again.hypothesis, again.expected) == ("another name", "REFUTED")


def test_a_newer_store_with_the_same_rows_is_no_new_try(store):
    first = judge(claim("noise_ar99_1"), store, seed=7)
    store.version = "2"  # something else was ingested
    again = judge(claim("noise_ar99_1"), store, seed=8)
    assert again.ledger_id == first.ledger_id
    assert len(ledger(store)) == 1
    commits = len(store.commits)
    judge(claim("noise_ar99_1"), store, seed=9)
    assert len(store.commits) == commits  # known at once by its version now


def test_other_rows_are_a_new_try_of_the_same_family(store):
    first = judge(claim("noise_ar99_1"), store, seed=7)
    fleet = store.fleets[0]
    store.version, store.fleets = "2", (replace(fleet, load=lambda name: fleet.load(name) + 1e-9),)
    again = judge(claim("noise_ar99_1"), store, seed=7)
    assert again.ledger_id != first.ledger_id
    assert again.details["multiplicity"]["tries_of_family"] == 2
    assert again.q_candidate == pytest.approx(min(1.0, 2 * again.p))


def test_variants_of_an_idea_pay_for_each_other_and_other_ideas_do_not(store):
    judge(claim("noise_ar99_1"), store, seed=7)
    variant = judge(claim("noise_ar99_1", within="3h"), store, seed=7)
    other = judge(claim("noise_ar99_2"), store, seed=7)
    declared = judge(claim("noise_walk_1", family="noise"), store, seed=7)
    joined = judge(claim("noise_heavy_1", family="noise"), store, seed=7)
    tries = [v.details["multiplicity"]["tries_of_family"] for v in (variant, other, declared, joined)]
    assert tries == [2, 1, 1, 2]


def test_a_batch_is_corrected_over_its_claims_and_gives_the_same_in_any_order(store, world):
    wanted = [claim(name) for name in ("noise_ar99_1", "shift_60", "noise_walk_1")]
    verdicts = judge(wanted, store, seed=7)
    assert [v.signal for v in verdicts] == ["noise_ar99_1", "shift_60", "noise_walk_1"]
    assert verdicts[1].word == Word.SUPPORTED
    assert all(v.tested == 3 for v in verdicts)
    strong = verdicts[1]
    assert strong.q == pytest.approx(strong.p * 3 * (1 + 1 / 2 + 1 / 3))
    other = MemoryStore(metrics=NAMES, kinds=("failure",), incidents=world.incidents(), fleets=store.fleets)
    turned = judge(wanted[::-1], other, seed=7)[::-1]
    assert [(v.p, v.q, v.reading) for v in turned] == [(v.p, v.q, v.reading) for v in verdicts]
    assert all(entry.rejected is None for entry in ledger(store).entries)  # batches stay out of the online sequence


def test_what_a_screen_found_is_judged_among_everything_screened(store):
    screened = screen(store, outcome="failure", before="2h", seed=3)
    verdict = judge(claim("shift_60"), store, seed=7)
    assert verdict.tested == len(NAMES) + 1
    assert verdict.details["found_here"] is True
    assert "Found here" in verdict.sentence
    p = np.array([v.p for v in screened.verdicts if v.signal != "shift_60"] + [verdict.p])
    size = len(NAMES) + 1
    rank = int((p <= verdict.p).sum())
    assert verdict.q_candidate <= verdict.p * size / rank + 1e-12
    assert verdict.q_candidate > verdict.p
    assert ledger(store).tried() == []  # its p is no fresh evidence for the online rule


def test_screening_records_every_signal_once(store):
    result = screen(store, outcome="failure", before="2h", seed=3)
    commits = len(store.commits)
    assert commits == 1
    assert len(ledger(store)) == len(NAMES) == len(result)
    again = screen(store, outcome=wb.event("failure"), before=7200, seed=4)
    assert len(store.commits) == commits
    assert {v.ledger_id: v.p for v in again.verdicts} == {v.ledger_id: v.p for v in result.verdicts}
    assert all(v.provenance.seed == 3 for v in again.verdicts)
    screen(store, outcome="failure", before="3h", seed=3)
    assert len(ledger(store)) == 2 * len(NAMES)


def test_a_screen_that_is_not_recorded_leaves_no_trace(store):
    result = screen(store, outcome="failure", before="2h", seed=3, record=False)
    assert store.commits == []
    assert all(v.ledger_id is None for v in result.verdicts)


def test_a_screen_of_an_unknown_scope_or_engine_is_refused(store):
    with pytest.raises(UnknownNameError, match="scope"):
        screen(store, outcome="failure", seed=3, scope="rack")
    with pytest.raises(UsageError, match="engine"):
        screen(store, outcome="failure", seed=3, engine="spark")
    with pytest.raises(UsageError, match="engine"):
        judge(claim("shift_60"), store, seed=3, engine="processes:0")
    assert store.commits == []


def test_a_failing_claim_is_named_and_the_others_are_done(store):
    fleet = store.fleets[0]

    def load(name):
        if name == "noise_walk_1":
            raise ValueError("a defect inside")
        return fleet.load(name)

    store.fleets = (replace(fleet, load=load),)
    wanted = [claim("shift_60"), claim("noise_walk_1"), claim("unknown_metric"), claim("noise_ar99_1")]
    outcomes = judge_each(wanted, store, seed=7)
    assert [type(o).__name__ for o in outcomes] == ["Verdict", "ValueError", "SpecificationError", "Verdict"]
    assert outcomes[0].tested == 4
    with pytest.raises(ValueError, match="a defect inside"):
        judge(wanted, store, seed=7)
    store.fleets = (fleet,)
    mended = judge_each(wanted[:2] + wanted[3:], store, seed=9)
    assert [o.ledger_id for o in (mended[0], mended[2])] == [outcomes[0].ledger_id, outcomes[3].ledger_id]


def test_an_interrupted_batch_goes_on_where_it_stopped_with_its_first_seed(store):
    """The second claim is interrupted; the first keeps its test, and the whole gives what it would have given."""
    wanted = [claim("shift_60"), claim("noise_ar99_1"), claim("noise_walk_1")]
    whole = MemoryStore(metrics=NAMES, kinds=("failure",), incidents=store.found, fleets=store.fleets)
    expected = judge(wanted, whole, seed=7)

    def stop(done, total, name):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge(wanted, store, seed=7, progress=stop)
    assert statuses(store).count("tested") == 2
    assert "judged" not in statuses(store)
    resumed = judge(wanted, store, seed=7)
    assert [(v.p, v.q, v.sentence) for v in resumed] == [(v.p, v.q, v.sentence) for v in expected]
    assert statuses(store).count("registered") == 3


def test_the_seed_of_an_interrupted_try_counts(store):
    first = MemoryStore(metrics=NAMES, kinds=("failure",), incidents=store.found, fleets=store.fleets)
    expected = judge(claim("noise_ar99_1"), first, seed=7)
    store.commits = first.commits[:2]  # registered and tested; the verdict was lost
    resumed = judge(claim("noise_ar99_1"), store, seed=8)
    assert (resumed.p, resumed.provenance.seed) == (expected.p, 7)


def test_progress_counts_claims(store):
    told = []
    judge([claim("shift_60"), claim("noise_ar99_1")], store, seed=7, progress=lambda *step: told.append(step))
    assert sorted(step[:2] for step in told) == [(1, 2), (2, 2)]


def test_the_same_claim_twice_in_a_batch_is_one_try(store):
    one, two = judge([claim("shift_60", name="a"), claim("shift_60", name="b")], store, seed=7)
    assert one.ledger_id == two.ledger_id
    assert (one.hypothesis, two.hypothesis) == ("a", "b")
    assert one.tested == 1


def test_the_wrong_direction_is_unstable_not_supported(store):
    verdict = judge(claim("shift_60", direction="down"), store, seed=7)
    assert (verdict.word, verdict.reading) == (Word.UNDECIDED, Reading.UNSTABLE)
    assert verdict.checks["direction"] == "failed"
    assert "moves up, not down" in verdict.about


def test_a_threshold_is_judged_as_a_condition(store):
    level = float(np.nanquantile(store.fleets[0].load("shift_60"), 0.9))
    verdict = judge(claim("shift_60", when=wb.level("shift_60") > level), store, seed=7)
    assert verdict.signal == "shift_60"
    assert verdict.details["condition"] == f"shift_60 > {level:g}"
    assert verdict.word == Word.SUPPORTED


def test_a_longer_guard_is_used_and_a_shorter_one_gives_way(store):
    automatic = judge(claim("noise_ar99_1"), store, seed=7).details["guard_s"]
    longer = judge(claim("noise_ar99_1", guard="30m"), store, seed=7).details["guard_s"]
    shorter = judge(claim("noise_ar99_1", guard="1m"), store, seed=7).details["guard_s"]
    assert automatic == shorter < longer == pytest.approx(1800, abs=60)


def test_a_control_that_cannot_be_done_says_so_and_why(store):
    verdict = judge(claim("noise_ar99_1", controls=["time_shift", "healthy_twin"]), store, seed=7)
    assert verdict.checks["placebo"] == verdict.checks["healthy_twin"] == "not done"
    assert verdict.details["controls"]["healthy_twin"] == "not done: nothing was found that it could be asked of"


def test_confounders_must_exist_and_what_the_signal_drives_is_left_out(store):
    with pytest.raises(SpecificationError, match="no metric 'nowhere'"):
        judge(claim("shift_60", adjust_for=["nowhere"]), store, seed=7)
    fleet = store.fleets[0]
    store.fleets = (replace(fleet, job=np.full_like(fleet.job, -1)),)
    with pytest.raises(UnknownNameError, match=r"job\.age"):
        judge(claim("shift_60", adjust_for=["job.age"]), store, seed=7)
    infos = [
        replace(i, drives=("heat",))
        if i.name == "shift_60"
        else replace(i, role="heat" if i.name == "load_1" else i.role)
        for i in fleet.signals
    ]
    store.fleets = (replace(fleet, signals=tuple(infos)),)
    driven = judge(claim("shift_60", adjust_for=["load_1"]), store, seed=7)
    assert "drives heat" in driven.details["not_adjusted_for"]["load_1"]
    adjusted = judge(claim("ramp_60", adjust_for=["load_1", "job.age"]), store, seed=7)
    assert "not_adjusted_for" not in adjusted.details


def test_a_copy_of_a_supported_signal_is_its_proxy(store):
    """Same values under another name: beside the first, already SUPPORTED, nothing is left of it."""
    judge(claim("shift_60"), store, seed=7)
    fleet = store.fleets[0]
    twin = replace(next(i for i in fleet.signals if i.name == "shift_60"), name="twin")
    store.fleets = (
        replace(fleet, signals=(*fleet.signals, twin), load=lambda n: fleet.load("shift_60" if n == "twin" else n)),
    )
    store.metrics, store.version = [*NAMES, "twin"], "2"
    verdict = judge(claim("twin"), store, seed=7)
    assert (verdict.reading, verdict.about) == (Reading.PROXY, "shift_60")
    assert verdict.checks["proxy"] == "failed"


def test_copies_in_one_batch_are_proxies_of_the_first(store):
    fleet = store.fleets[0]
    twin = replace(next(i for i in fleet.signals if i.name == "shift_60"), name="twin")
    store.fleets = (
        replace(fleet, signals=(*fleet.signals, twin), load=lambda n: fleet.load("shift_60" if n == "twin" else n)),
    )
    store.metrics = [*NAMES, "twin"]
    readings = {v.reading for v in judge([claim("shift_60"), claim("twin")], store, seed=7)}
    assert readings == {Reading.PRECURSOR, Reading.PROXY}


def test_a_consequence_is_refuted(store):
    verdict = judge(claim("skew_1"), store, seed=7)
    assert verdict.word is not Word.SUPPORTED
    assert verdict.reading in (Reading.CONSEQUENCE, Reading.NOT_ENOUGH)


@pytest.mark.parametrize("seed", [-1, 1.5, True, 2**63, "7"])
def test_a_seed_is_a_whole_number(store, seed):
    with pytest.raises(UsageError, match="seed"):
        judge(claim("shift_60"), store, seed=seed)


def test_nothing_and_what_is_no_claim_are_refused(store):
    with pytest.raises(NothingToDoError):
        judge([], store, seed=7)
    with pytest.raises(UsageError, match=r"no wb\.Hypothesis"):
        judge(["shift_60"], store, seed=7)


def test_what_cannot_be_tested_does_not_enter_the_sequence(store):
    fleet = store.fleets[0]
    store.fleets = (replace(fleet, load=lambda name: np.full_like(fleet.load(name), np.nan)),)
    verdict = judge(claim("shift_60"), store, seed=7)
    assert verdict.reading is Reading.NOT_OBSERVED
    assert math.isnan(verdict.p)
    assert ledger(store).entries[0].rejected is None
    assert ledger(store).tried() == []


def test_an_event_may_be_claimed_by_a_selector_that_no_signal_is_named_after(store, monkeypatch):
    fleet, counts = store.fleets[0], np.zeros((len(store.fleets[0].entities), store.fleets[0].ts_us.size))
    counts[5, 100] = 1
    store.fleets = (replace(fleet, load=lambda name: counts if name == "aer:48,50" else fleet.load(name)),)
    store.kinds = ["failure", "aer"]
    store.events = lambda selector: pl.DataFrame(
        {"ts_low": [0], "ts_high": [2_000_000]}, schema=dict.fromkeys(("ts_low", "ts_high"), pl.Datetime("us", "UTC"))
    )
    verdict = judge(claim("aer", name="aer precedes", when=wb.event("aer", codes=[48, 50])), store, seed=7)
    assert (verdict.signal, verdict.kind) == ("aer:48,50", "event")


def test_swapped_arguments_are_named(store):
    with pytest.raises(UsageError, match="takes the claim first"):
        judge(store, claim("shift_60"), seed=7)
