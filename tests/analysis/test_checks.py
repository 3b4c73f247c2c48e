"""Each check on a signal that was made for it."""

import numpy as np
import pytest
from smallfleet import incident, small_fleet

from workbench.analysis.screen import screen
from workbench.model.verdict import Reading, Word
from workbench.panel.fleet import SignalInfo

HOSTS, MINUTES, CASES = 40, 9000, 24


def moments() -> tuple[np.ndarray, np.ndarray]:
    """One failure every six hours, each in another rack than the one before."""
    return (np.arange(CASES) * 9) % HOSTS, 900 + 330 * np.arange(CASES)


def quiet(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(HOSTS, MINUTES))


def judged(values: np.ndarray, *, kind: str = "metric", where=None, first: int = 0, **fleet):
    host, minute = where or moments()
    info = SignalInfo(name="x", kind=kind, scope="host", interval_s=60.0)
    made = small_fleet(
        {"x": values[:, first:]}, hosts=HOSTS, minutes=MINUTES - first, infos=(info,), before=-first, **fleet
    )
    found = [incident(f"c/n{h:03d}", int(m)) for h, m in zip(host, minute, strict=True)]
    return screen([made], found, "xid:79", before_s=7200.0, seed=3).verdicts[0]


def raised(*spans: tuple[int, int, float], seed: int = 1) -> np.ndarray:
    values = quiet(seed)
    for h, m in zip(*moments(), strict=True):
        for first, last, size in spans:
            values[h, m + first : m + last] += size
    return values


def test_all_pass_for_a_plain_precursor():
    verdict = judged(raised((-60, 0, 2.0)))
    assert verdict.reading is Reading.PRECURSOR
    assert set(verdict.checks.values()) == {"passed"}


def test_placebo_fails_where_the_same_is_seen_eight_hours_earlier():
    verdict = judged(raised((-60, 0, 2.0), (-540, -480, 2.0)))
    assert verdict.checks["placebo"] == "failed"
    assert verdict.reading is Reading.UNSTABLE
    assert verdict.about.startswith("placebo")


def test_placebo_that_cannot_be_done_keeps_a_candidate():
    early = (moments()[0], 400 + 18 * np.arange(CASES))  # all within eight hours of data
    values = quiet(2)
    for h, m in zip(*early, strict=True):
        values[h, m - 50 : m] += 2.5
    verdict = judged(values, where=early)
    assert verdict.checks["placebo"] == "not done"
    assert verdict.word is not Word.SUPPORTED


def test_crossover_fails_where_the_entity_always_looks_so():
    """Hosts that fail climb all the time: they stand out beside others, not beside themselves."""
    host = np.tile(np.arange(0, HOSTS, 4), 3)[:CASES]
    values = quiet(3)
    values[np.unique(host)] += 0.01 * np.arange(MINUTES)
    verdict = judged(values, where=(host, moments()[1]))
    assert verdict.p < 0.01
    assert verdict.checks["crossover"] == "failed"
    assert verdict.word is not Word.SUPPORTED


def test_reversed_time_makes_unstable_not_refuted():
    verdict = judged(raised((-60, 0, 0.2), (0, 60, 6.0)))
    assert verdict.checks["reversed_time"] == "failed"
    assert verdict.word is Word.UNDECIDED


def test_a_fall_after_the_outcome_says_nothing():
    verdict = judged(raised((-60, 0, 2.0), (0, 90, -9.0)))
    assert verdict.checks["reversed_time"] == "passed"
    assert verdict.reading is Reading.PRECURSOR


def test_hosts_that_fall_silent_can_still_be_supported():
    values = raised((-60, 0, 2.0))
    for h, m in zip(*moments(), strict=True):
        values[h, m : m + 120] = np.nan
    verdict = judged(values)
    assert verdict.checks["reversed_time"] == "not done"
    assert verdict.reading is Reading.PRECURSOR


def test_a_stray_event_is_no_second_witness():
    """One device makes the events before its eight failures; one other case has a single event."""
    host, minute = moments()
    host = host.copy()
    host[::3] = 5
    host[host != 5] = (host[host != 5] + 8) % HOSTS
    values = np.zeros((HOSTS, MINUTES))
    for k, (h, m) in enumerate(zip(host, minute, strict=True)):
        if h == 5:
            values[h, m - 40 : m - 30] = 1
        elif k == 4:
            values[h, m - 35] = 1
    verdict = judged(values, kind="event", where=(host, minute))
    assert verdict.p <= 0.001
    assert verdict.checks["leave_one_out"] == "failed"
    assert verdict.word is not Word.SUPPORTED
    assert "c/n005" in verdict.details["checks"]["leave_one_out"]["about"] or "rack" in verdict.about


@pytest.mark.parametrize("racks_known", [True, False])
def test_a_fleet_of_one_rack_can_be_judged(racks_known):
    verdict = judged(raised((-60, 0, 2.0)), rack_size=HOSTS, racks_known=racks_known)
    assert verdict.checks["leave_one_out"] == "passed"


def test_the_guard_is_named_where_only_it_removes_a_finding():
    host, minute = moments()
    values = raised((-10, 40, 5.0))
    made = small_fleet({"x": values}, hosts=HOSTS, minutes=MINUTES)
    found = [incident(f"c/n{h:03d}", int(m), late_s=600.0) for h, m in zip(host, minute, strict=True)]
    verdict = screen([made], found, "xid:79", before_s=7200.0, seed=3).verdicts[0]
    assert verdict.checks["guard"] == "failed"
    assert verdict.reading is Reading.CONSEQUENCE


def test_alarms_are_measured_on_the_later_half():
    verdict = judged(raised((-60, 0, 4.0)))
    assert verdict.alarms.recall >= 0.9
    assert verdict.alarms.precision > 0.2
    # 24 cases: with eight fewer the second half holds fewer than ten
    host, minute = moments()
    few = judged(raised((-60, 0, 4.0)), where=(host[:16], minute[:16]))
    assert np.isnan(few.alarms.recall)
