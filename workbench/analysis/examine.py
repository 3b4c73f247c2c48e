"""Measure one signal: the adjusted test, its estimates, and what the tests beside it say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.analysis.checks import Check, crossover_check, leave_one_out, placebo_check, reversed_time
from workbench.analysis.design import Designer, MatchedSets
from workbench.analysis.estimates import alarms_of, bound_of, lead_of, odds_ratio, share_of, shift_of
from workbench.analysis.evidence import Blocked, Evidence, Standing
from workbench.analysis.precursor import Draws, MatchedTest, Source, coverage_of, draw_key, matched_test
from workbench.kernels.effect import effective_features
from workbench.kernels.matched import overlapping_pairs
from workbench.kernels.sequential import most_draws
from workbench.kernels.windows import Windows
from workbench.model.verdict import Reading
from workbench.panel.fleet import SignalInfo
from workbench.timebase import MICROS

__all__ = ["Examiner"]

GONE = 1.96  # |z| below this is nothing


@dataclass(frozen=True, eq=False, kw_only=True)
class _Tests:
    """The tests of one signal on the different sets."""

    source: Source
    windows: Windows
    roles: frozenset[str]
    adjusted: MatchedTest
    time: MatchedTest | None
    unguarded: MatchedTest | None
    crossover: MatchedTest | None


class Examiner:
    """Measures the signals of one fleet; the answer for one does not depend on the others.

    Parameters
    ----------
    designer : Designer
    hypotheses : int
        Everything that is screened beside a signal: it sets how many draws p may need.
    uncertainty_s : float
        Recording uncertainty of the outcome.
    """

    def __init__(self, designer: Designer, *, hypotheses: int, uncertainty_s: float) -> None:
        self.designer, self.fleet, self.cases = designer, designer.fleet, designer.cases
        self.settings, self.uncertainty_s = designer.settings, uncertainty_s
        family = max(hypotheses, self.settings.tested or 0)
        alpha, cap = self.settings.alpha, self.settings.max_draws
        self._most = most_draws(family, alpha=alpha, dependent=True, cap=cap)
        self._most_beside = most_draws(family, alpha=alpha, dependent=False, cap=cap)

    def examine(self, info: SignalInfo) -> Evidence:
        """Measure one signal; its values are loaded once."""
        start = Evidence(
            info=info, scope=self.fleet.scope, incidents=self.cases.incidents, episodes=int(self.cases.row.size)
        )
        guard_s = self.uncertainty_s + info.uncertainty_s + info.interval_s
        windows = self.designer.windows(guard_s)
        start = replace(start, guard_s=guard_s)
        if windows is None:
            return _blocked(start, Reading.NOT_OBSERVED, "the guard leaves nothing of the window")
        roles = self.designer.roles_for(info)
        sets = self.designer.matched(windows, roles)
        start = replace(start, guard_s=windows.guard * windows.step_s, notes=self._notes(sets, windows))
        if not sets.offered:
            return _blocked(start, Reading.NOT_ENOUGH, "no incident lies on an entity of this scope")
        if not sets.sets:
            return _blocked(start, Reading.COINCIDENCE, "no unexposed controls")
        source = Source(info, self.fleet.load(info.name))
        start = replace(start, coverage=coverage_of(source, sets, windows))
        adjusted = self._test(source, sets, windows, purpose="")
        if adjusted is None:
            return _blocked(start, Reading.NOT_OBSERVED, _why_untested(source, sets, windows))
        if adjusted.shared:
            return _blocked(start, Reading.COINCIDENCE, "no unexposed controls")
        return self._measured(start, self._beside(source, windows, roles, adjusted))

    def _notes(self, sets: MatchedSets, windows: Windows) -> dict[str, float]:
        """What was merged, left out and used again, in numbers."""
        reach_us = round(windows.far * windows.step_s * MICROS)
        again, _ = overlapping_pairs(sets.row, sets.time_us, sets.offsets, reach_us)
        return {
            "incidents_elsewhere": float(self.cases.elsewhere),
            "incidents_merged": float(self.cases.merged),
            "episodes_left_out_as_recurrence": float(self.cases.recurrences),
            "sets": float(sets.sets),
            "sets_dropped": float(sets.dropped),
            "members_mean": sets.row.size / sets.sets if sets.sets else float("nan"),
            "matched_distance_sd": sets.distance,
            "overlapping_pairs_per_set": again.size / sets.sets if sets.sets else float("nan"),
        }

    def _test(
        self, source: Source, sets: MatchedSets, windows: Windows, *, purpose: str, adjust: bool = True
    ) -> MatchedTest | None:
        """Run one test; the purpose keeps the draws of tests on other sets apart. "none": z only."""
        key = draw_key(self.designer.seed, self.fleet.scope, source.info.name, purpose)
        most = {"": self._most, "none": 0}.get(purpose, self._most_beside)
        draws = Draws(key=key, stop_at=self.settings.stop_at, most=most)
        return matched_test(source, self.fleet, sets, windows, adjust=adjust, draws=draws)

    def _beside(self, source: Source, windows: Windows, roles: frozenset[str], adjusted: MatchedTest) -> _Tests:
        nothing: frozenset[str] = frozenset()
        near = self.designer.windows(0.0)
        matched, crossed = self.designer.matched(windows, roles), self.designer.crossover(windows, roles)
        return _Tests(
            source=source,
            windows=windows,
            roles=roles,
            adjusted=adjusted,
            time=self._test(source, self.designer.matched(windows, nothing), windows, purpose="time", adjust=False),
            unguarded=self._test(source, matched, near, purpose="unguarded") if near else None,
            crossover=self._test(source, crossed, windows, purpose="crossover") if crossed.sets else None,
        )

    def _measured(self, start: Evidence, tests: _Tests) -> Evidence:
        """Fill in the numbers of the tests, and what is asked only of signals that could be found."""
        adjusted, time = tests.adjusted, tests.time
        best = adjusted.best
        family, place = adjusted.families[best]
        edges = tests.windows.edges
        near, far = (edges[0], edges[-1]) if place < 0 else (edges[place], edges[place + 1])
        step_s = tests.windows.step_s
        measured = replace(
            start,
            sets=adjusted.sets.sets,
            controls=int(adjusted.sets.row.size - adjusted.sets.sets),
            p=adjusted.p.p,
            t=adjusted.t,
            z=adjusted.z(best),
            v=adjusted.v,
            draws=adjusted.p.draws,
            p_time=_p_of(time),
            p_unguarded=_p_of(tests.unguarded),
            p_crossover=_p_of(tests.crossover),
            family=family,
            near_s=near * step_s,
            far_s=far * step_s,
            up=adjusted.up,
            effective=effective_features(adjusted.centred),
            shift=shift_of(adjusted, best),
            shift_time=shift_of(time, time.best) if time else start.shift_time,
            bound_u=bound_of(adjusted),
            odds_ratio=odds_ratio(adjusted, best),
            odds_ratio_time=odds_ratio(time, best) if time else float("nan"),
        )
        return replace(measured, **self._beyond(measured, tests))

    def _beyond(self, measured: Evidence, tests: _Tests) -> dict[str, Any]:
        """What needs more work, and only where the p-values leave room for it."""
        alpha, least = self.settings.alpha, self.settings.least_episodes
        found: dict[str, Any] = {}
        if measured.p <= alpha:
            key = draw_key(self.designer.seed, self.fleet.scope, measured.info.name, "lead")
            cells = self.designer.cells(self.cases.ts_us)
            found["share"] = share_of(tests.adjusted)
            found["lead"] = lead_of(tests.adjusted, tests.source, tests.windows, key=key)
            found["alarms"] = alarms_of(tests.adjusted, tests.source, tests.windows, cases=self.cases, cells=cells)
            found["checks"] = self._checks(tests)
            found["standing"] = self._standing(tests)
        elif measured.p_time <= alpha and tests.time is not None:
            found["explained_by"] = self._explained_by(tests)
        if measured.p > alpha and measured.p_unguarded <= alpha and tests.unguarded is not None:
            found["reversed_unguarded"] = reversed_time(
                tests.unguarded, tests.adjusted, tests.source, tests.windows, least=least
            )
        return found

    def _checks(self, tests: _Tests) -> dict[str, Check]:
        source, windows, adjusted = tests.source, tests.windows, tests.adjusted
        least = self.settings.least_episodes
        key = draw_key(self.designer.seed, self.fleet.scope, source.info.name, "leave out")
        sets = self.designer.placebo(windows, tests.roles)
        placebo = self._test(source, sets, windows, purpose="none") if sets.sets else None
        return {
            "placebo": placebo_check(adjusted, placebo, least=least),
            "leave_one_out": leave_one_out(
                adjusted, self.fleet, before_s=self.designer.before_s, settings=self.settings, key=key
            ),
            "crossover": crossover_check(adjusted, tests.crossover, least=least),
            "reversed_time": reversed_time(adjusted, adjusted, source, windows, least=least),
        }

    def _standing(self, tests: _Tests) -> Standing | None:
        """Scores of the winning feature on the sets that all signals of this fleet share."""
        near = self.designer.windows(self.uncertainty_s)
        if near is None:
            return None
        common = self.designer.matched(near, self.designer.recorded)
        test = self._test(tests.source, common, tests.windows, purpose="none")
        if test is None:
            return None
        scores = test.on_all_members(tests.adjusted.best, common.row.size)
        return Standing(scores=scores, offsets=common.offsets)

    def _explained_by(self, tests: _Tests) -> str:
        """Name what takes a time-matched finding away, by matching on one confounder at a time.

        The adjusted effect must be small, and must exclude the time-matched one: an adjusted test
        that is merely weaker explains nothing away.
        """
        time, adjusted = tests.time, tests.adjusted
        if time is None:
            return ""
        feature = time.best
        before, after = abs(shift_of(time, feature).mean), shift_of(adjusted, feature)
        if not abs(after.mean) + 1.645 * after.error < before or abs(adjusted.z(feature)) >= GONE:
            return ""
        left: dict[str, float] = {}
        for role in sorted(tests.roles - {"rack"}):
            sets = self.designer.matched(tests.windows, frozenset({role}))
            alone = self._test(tests.source, sets, tests.windows, purpose="none") if sets.sets else None
            if alone is not None:
                left[role] = abs(alone.z(feature))
        if not left:
            return ""
        role = min(left, key=lambda name: left[name])
        return role if left[role] < GONE else " and ".join(sorted(left))


def _p_of(test: MatchedTest | None) -> float:
    return test.p.p if test is not None else float("nan")


def _blocked(start: Evidence, reading: Reading, why: str) -> Evidence:
    return replace(start, blocked=Blocked(reading=reading.value, why=why))


def _why_untested(source: Source, sets: MatchedSets, windows: Windows) -> str:
    features, usable = source.features(sets, windows)
    kept, members = sets.keep(usable)
    if not kept.sets:
        return "no case with two controls has enough data"
    if source.is_event and np.ptp(features[members], axis=0).max() == 0:
        return "none happened in these windows, neither before the outcomes nor elsewhere"
    return "it never moved" if np.ptp(features[members], axis=0).max() == 0 else "it hardly moved"
