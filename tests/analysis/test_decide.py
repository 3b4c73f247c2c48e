"""The reading table, row by row, and the order in which its rows are asked."""

from dataclasses import replace

import pytest

from workbench.analysis.checks import EPOCH, FAILED, NOT_DONE, PASSED, Check
from workbench.analysis.decide import Corrected, check_states, decide
from workbench.analysis.evidence import Blocked, Evidence
from workbench.analysis.settings import Settings
from workbench.model.verdict import Reading, Word
from workbench.panel.fleet import SignalInfo

INFO = SignalInfo(name="gpu.x", kind="metric", scope="gpu")
GOOD = {name: Check(state=PASSED) for name in ("placebo", "leave_one_out", "crossover", "reversed_time")}
FOUND = Evidence(
    info=INFO,
    scope="gpu",
    incidents=60,
    episodes=50,
    sets=50,
    controls=500,
    coverage=0.97,
    p=1e-5,
    bound_u=2.0,
    checks=GOOD,
)
PASSES = Corrected(q=0.01, q_candidate=0.002, q_time=0.002, q_unguarded=0.002, q_crossover=0.01)
QUIET = Evidence(info=INFO, scope="gpu", incidents=60, episodes=50, sets=50, coverage=0.97, p=0.6, bound_u=0.6)
NOTHING = Corrected(q=1.0, q_candidate=0.9, q_time=0.9, q_unguarded=0.9, q_crossover=0.9)


def checks(**states: Check):
    return {**GOOD, **states}


def read(evidence, corrected, settings=None, **more):
    return decide(evidence, corrected, settings or Settings(), **more)


ROWS = [
    ("precursor", FOUND, PASSES, {}, Reading.PRECURSOR, ""),
    ("candidate", FOUND, replace(PASSES, q=0.2), {}, Reading.CANDIDATE, "passes BH, not BY"),
    (
        "a check that could not be done",
        replace(FOUND, checks=checks(placebo=Check(state=NOT_DONE))),
        PASSES,
        {},
        Reading.CANDIDATE,
        "not done: placebo",
    ),
    (
        "hosts that vanish after the outcome",
        replace(FOUND, checks=checks(reversed_time=Check(state=NOT_DONE))),
        PASSES,
        {},
        Reading.PRECURSOR,
        "",
    ),
    (
        "unstable",
        replace(FOUND, checks=checks(placebo=Check(state=FAILED, about="same before"))),
        PASSES,
        {},
        Reading.UNSTABLE,
        "placebo (same before)",
    ),
    (
        "one device",
        replace(FOUND, checks=checks(leave_one_out=Check(state=FAILED, about="node7 carries it"))),
        PASSES,
        {},
        Reading.UNSTABLE,
        "leave_one_out (node7 carries it)",
    ),
    (
        "one epoch",
        replace(FOUND, checks=checks(leave_one_out=Check(state=FAILED, about=EPOCH))),
        PASSES,
        {},
        Reading.COINCIDENCE,
        EPOCH,
    ),
    ("too few", replace(FOUND, sets=4), PASSES, {}, Reading.COINCIDENCE, "too few independent episodes"),
    ("proxy", FOUND, PASSES, {"proxy_of": "gpu.z"}, Reading.PROXY, "gpu.z"),
    (
        "found here",
        FOUND,
        PASSES,
        {"settings": Settings(family_known=False)},
        Reading.FOUND_HERE,
        "the number of signals looked at is not known",
    ),
    (
        "confounded",
        replace(QUIET, explained_by="load"),
        replace(NOTHING, q_time=0.01, q_unguarded=0.01),
        {},
        Reading.CONFOUNDED,
        "load",
    ),
    (
        "consequence",
        replace(QUIET, reversed_unguarded=Check(state=FAILED)),
        replace(NOTHING, q_unguarded=0.01),
        {},
        Reading.CONSEQUENCE,
        "it starts after the outcome, once the guard is honoured",
    ),
    (
        "lost with the guard, but nothing after it",
        replace(QUIET, reversed_unguarded=Check(state=PASSED)),
        replace(NOTHING, q_unguarded=0.01),
        {},
        Reading.NOT_ENOUGH,
        "",
    ),
    (
        "coincidence",
        replace(QUIET, bound_u=0.2),
        replace(NOTHING, q_crossover=0.01),
        {},
        Reading.COINCIDENCE,
        "not seen beside others of the same minute",
    ),
    ("no effect", replace(QUIET, bound_u=0.33), NOTHING, {}, Reading.NO_EFFECT, ""),
    ("bound too large", replace(QUIET, bound_u=0.34), NOTHING, {}, Reading.NOT_ENOUGH, ""),
    ("p too small to refute", replace(QUIET, bound_u=0.2, p=0.1), NOTHING, {}, Reading.NOT_ENOUGH, ""),
    ("coverage too small to refute", replace(QUIET, bound_u=0.2, coverage=0.89), NOTHING, {}, Reading.NOT_ENOUGH, ""),
    (
        "not observed",
        replace(FOUND, coverage=0.49),
        PASSES,
        {},
        Reading.NOT_OBSERVED,
        "49% of the window cells were observed",
    ),
    (
        "blocked",
        replace(QUIET, blocked=Blocked(reading="coincidence", why="no unexposed controls")),
        NOTHING,
        {},
        Reading.COINCIDENCE,
        "no unexposed controls",
    ),
]


@pytest.mark.parametrize(
    ("evidence", "corrected", "more", "reading", "about"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS]
)
def test_each_row_of_the_table(evidence, corrected, more, reading, about):
    decision = read(evidence, corrected, **more)
    assert (decision.reading, decision.about) == (reading, about)


def test_words_of_the_table():
    words = {
        Reading.PRECURSOR: Word.SUPPORTED,
        Reading.CONSEQUENCE: Word.REFUTED,
        Reading.CONFOUNDED: Word.REFUTED,
        Reading.NO_EFFECT: Word.REFUTED,
    }
    assert {reading: reading.word for reading in Reading} == {r: words.get(r, Word.UNDECIDED) for r in Reading}


def test_order_of_the_rows():
    """Everything at once: what is asked first answers."""
    worst = replace(
        FOUND,
        explained_by="load",
        reversed_unguarded=Check(state=FAILED),
        bound_u=0.1,
        checks=checks(placebo=Check(state=FAILED, about="x"), leave_one_out=Check(state=FAILED, about=EPOCH)),
    )
    everything = Corrected(q=0.01, q_candidate=0.01, q_time=0.01, q_unguarded=0.01, q_crossover=0.01)
    assert read(worst, everything, proxy_of="z").about == EPOCH
    no_epoch = replace(worst, checks=checks(placebo=Check(state=FAILED, about="x")))
    assert read(no_epoch, everything, proxy_of="z").reading is Reading.UNSTABLE
    assert read(replace(worst, checks=GOOD), everything, proxy_of="z").reading is Reading.PROXY
    gone = replace(worst, p=0.5)
    lost = replace(everything, q=1.0, q_candidate=0.9)
    assert read(gone, lost).reading is Reading.CONFOUNDED
    assert read(replace(gone, explained_by=""), lost).reading is Reading.CONSEQUENCE
    assert read(replace(gone, explained_by="", reversed_unguarded=None), lost).reading is Reading.COINCIDENCE


def test_a_weak_adjusted_finding_is_not_refuted_by_what_stands_beside_it():
    """p above BH and not above .1: neither found nor gone."""
    weak = replace(QUIET, p=0.09, explained_by="load", reversed_unguarded=Check(state=FAILED))
    beside = replace(NOTHING, q_time=0.01, q_unguarded=0.01, q_crossover=0.01)
    assert read(weak, beside).reading is Reading.NOT_ENOUGH


def test_every_check_has_its_own_key():
    keys = {"guard", "placebo", "leave_one_out", "crossover", "reversed_time", "proxy"}
    found = check_states(FOUND, PASSES, Settings(), proxy=PASSED)
    assert set(found) == keys
    assert set(found.values()) == {PASSED}
    lost = replace(QUIET, reversed_unguarded=Check(state=FAILED))
    states = check_states(lost, replace(NOTHING, q_unguarded=0.01), Settings(), proxy=NOT_DONE)
    assert (states["guard"], states["reversed_time"], states["placebo"]) == (FAILED, FAILED, NOT_DONE)
