"""Matched sets: who is compared with whom, and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.confounders import JOB, RACK, Confounders, recorded_roles
from workbench.analysis.episodes import Cases
from workbench.analysis.settings import Settings
from workbench.kernels.matched import set_of
from workbench.kernels.windows import UNITS, Windows, plan_windows
from workbench.panel.fleet import Fleet, SignalInfo
from workbench.timebase import MICROS

__all__ = ["Designer", "MatchedSets"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

LEAST_CONTROLS = 2
SCALING_MOMENTS = 64  # case moments from which the confounders' sd within a moment is taken
CANDIDATE_UNITS = 10  # grid of the own other moments
DAY_S = 86_400.0
HOURS_APART = 6.0 * 3600  # one sd of the clock time, where own other moments are matched on it
PURPOSES = {"matched": 1, "time": 2, "placebo": 3, "crossover": 4}


@dataclass(frozen=True, eq=False, kw_only=True)
class MatchedSets:
    """Cases and their controls, set by set, the case first.

    Attributes
    ----------
    row, end : (member,) int64
        Entity of the fleet, and the grid cell that holds the member's moment.
    offsets : (set + 1,) int64
    episode : (set,) int64
        Which case of ``Cases`` the set belongs to.
    time_us : (set,) int64
        Moment of the case.
    confounders : (member, column) float64
        As recorded; NaN: not observed.
    offered, dropped : int
        Cases there were, and those for which fewer than two controls could be found.
    distance : float
        Mean L1 distance of controls from their case, in sd of the confounders; NaN without any.
    """

    row: Indices
    end: Indices
    offsets: Indices
    episode: Indices
    time_us: Indices
    confounders: Floats
    offered: int
    dropped: int
    distance: float

    @property
    def sets(self) -> int:
        """How many sets."""
        return int(self.offsets.size - 1)

    def keep(self, usable: Mask) -> tuple[MatchedSets, Indices]:
        """Leave out members; a set without its case or with fewer than two controls goes whole.

        Returns
        -------
        MatchedSets
        members : (kept,) int64
            Which members are kept.
        """
        owner = set_of(self.offsets)
        controls = np.bincount(owner, usable, minlength=self.sets) - usable[self.offsets[:-1]]
        good = usable[self.offsets[:-1]] & (controls >= LEAST_CONTROLS)
        if good.all() and usable.all():
            return self, np.arange(self.row.size)
        members = np.flatnonzero(usable & good[owner])
        sizes = np.bincount(owner[members], minlength=self.sets)[good]
        kept = MatchedSets(
            row=self.row[members],
            end=self.end[members],
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            episode=self.episode[good],
            time_us=self.time_us[good],
            confounders=self.confounders[members],
            offered=self.offered,
            dropped=self.dropped,
            distance=self.distance,
        )
        return kept, members


class Designer:
    """Makes matched sets of one fleet, each kind once.

    The same seed gives the same sets, in whatever order they are asked for.

    Parameters
    ----------
    fleet : Fleet
    cases : Cases
    before_s : float
        Window.
    settings : Settings
    seed : int
    """

    def __init__(self, fleet: Fleet, cases: Cases, *, before_s: float, settings: Settings, seed: int) -> None:
        self.fleet, self.cases, self.before_s, self.settings, self.seed = fleet, cases, before_s, settings, seed
        self.recorded = recorded_roles(fleet)
        self._confounders = Confounders(fleet)
        self._made: dict[tuple[str, int, frozenset[str]], MatchedSets] = {}
        self._quiet_us = round(settings.quiet(before_s) * MICROS)
        self._ahead_us = round(settings.ahead(before_s) * MICROS)

    def roles_for(self, info: SignalInfo) -> frozenset[str]:
        """Roles to adjust a signal for: never the signal itself, nor what it drives."""
        wanted = self.recorded
        if self.settings.adjust_for is not None:
            wanted &= frozenset(self.settings.adjust_for)
        return wanted - {info.role, info.name, *info.drives}

    def windows(self, guard_s: float) -> Windows | None:
        """Bins on the grid of this fleet."""
        return plan_windows(self.before_s, guard_s, self.fleet.step_s)

    def cells(self, ts_us: Indices) -> Indices:
        """Grid cell that holds each moment; beyond the grid where the moment is."""
        step_us = round(self.fleet.step_s * MICROS)
        start = int(self.fleet.ts_us[0]) if self.fleet.ts_us.size else 0
        return (ts_us - start) // step_us

    def matched(self, windows: Windows, roles: frozenset[str]) -> MatchedSets:
        """Other entities at the same moment, nearest in what was recorded (METHOD section 4, step 6)."""
        return self._once("matched" if roles else "time", windows, roles, self.cases.ts_us)

    def placebo(self, windows: Windows, roles: frozenset[str]) -> MatchedSets:
        """The same, at a moment before which each case was as quiet, ``settings.quiet`` earlier."""
        return self._once("placebo", windows, roles, self.cases.ts_us - self._quiet_us)

    def crossover(self, windows: Windows, roles: frozenset[str]) -> MatchedSets:
        """The same entity at other moments, nearest in what was recorded and in the hour."""
        key = ("crossover", windows.guard, roles)
        if key not in self._made:
            self._made[key] = _Assembly(self, windows, roles).own_moments()
        return self._made[key]

    def _once(self, purpose: str, windows: Windows, roles: frozenset[str], ts_us: Indices) -> MatchedSets:
        key = (purpose, windows.guard, roles)
        if key not in self._made:
            self._made[key] = _Assembly(self, windows, roles).same_moment(purpose, ts_us)
        return self._made[key]


class _Assembly:
    """One run of set making."""

    def __init__(self, designer: Designer, windows: Windows, roles: frozenset[str]) -> None:
        self.designer, self.windows, self.roles = designer, windows, roles
        self.fleet, self.cases, self.settings = designer.fleet, designer.cases, designer.settings
        self.confounders = designer._confounders  # noqa: SLF001 - one object in two classes
        self.everyone = np.arange(len(self.fleet.entities))
        self.chosen: list[tuple[int, Indices, Indices]] = []
        self.distances: list[Floats] = []

    def same_moment(self, purpose: str, ts_us: Indices) -> MatchedSets:
        """Fill the sets in seeded random order; an entity serves in few that overlap."""
        rng = np.random.default_rng([self.designer.seed, PURPOSES[purpose]])
        order = rng.permutation(ts_us.size)
        end = self.designer.cells(ts_us)
        scale = self._scale(end)
        fit = self._fit_cases(ts_us)
        used_row, used_us = self.cases.row[fit], ts_us[fit]
        reach_us = round(self.windows.far * self.fleet.step_s * MICROS)
        for index in order[fit[order]].tolist():
            near = np.abs(used_us - ts_us[index]) < reach_us
            uses = np.bincount(used_row[near], minlength=self.everyone.size)
            ties = np.random.default_rng([self.designer.seed, PURPOSES[purpose], index]).random(self.everyone.size)
            controls = self._nearest(index, int(ts_us[index]), int(end[index]), (scale, uses, ties))
            if controls.size < LEAST_CONTROLS:
                continue
            used_row = np.append(used_row, controls)
            used_us = np.append(used_us, np.full(controls.size, ts_us[index]))
            row = np.append(self.cases.row[index], controls)
            self.chosen.append((index, row, np.full(row.size, end[index])))
        return self._finish(ts_us)

    def own_moments(self) -> MatchedSets:
        """Own other moments, at least a window apart from each other."""
        ends = self.designer.cells(self.cases.ts_us)
        scale = self._scale(ends)
        for index, (row, end) in enumerate(zip(self.cases.row.tolist(), ends.tolist(), strict=True)):
            moments = self._moments(row, end)
            controls = self._spaced(moments, self._far_from(row, end, moments, scale))
            if controls.size >= LEAST_CONTROLS:
                members = np.append(end, controls)
                self.chosen.append((index, np.full(members.size, row), members))
        return self._finish(self.cases.ts_us)

    def _fit_cases(self, ts_us: Indices) -> Mask:
        """Cases that are quiet before their moment; for the true moments that is all of them."""
        quiet, cases = self.designer._quiet_us, self.cases  # noqa: SLF001
        return np.array(
            [
                not ((cases.hit_row == row) & (cases.hit_us < ts) & (cases.hit_us >= ts - quiet)).any()
                for row, ts in zip(cases.row.tolist(), ts_us.tolist(), strict=True)
            ],
            dtype=np.bool_,
        )

    def _columns(self, row: Indices, end: Indices) -> Floats:
        return self.confounders.columns(row, end, self.windows, self.roles)

    def _scale(self, ends: Indices) -> Floats:
        """Sd of each confounder within a moment, over entities; moments that are spread evenly."""
        if not ends.size:
            return np.ones(self._columns(self.everyone[:0], self.everyone[:0]).shape[1])
        picked = np.sort(ends)[np.linspace(0, ends.size - 1, min(ends.size, SCALING_MOMENTS)).astype(int)]
        squares, counts = 0.0, 0.0
        for end in picked.tolist():
            columns = self._columns(self.everyone, np.full(self.everyone.size, end))
            known = np.isfinite(columns)
            filled = np.where(known, columns, 0.0)
            count = known.sum(axis=0)
            away = np.where(known, filled - filled.sum(axis=0) / np.maximum(count, 1), 0.0)
            squares, counts = squares + (away * away).sum(axis=0), counts + count
        sd = np.sqrt(squares / np.maximum(counts, 1.0))
        return np.where(sd > 0, sd, np.inf)

    def _distance(self, case: Floats, others: Floats, scale: Floats) -> Floats:
        """L1 distance in sd; what only the candidate lacks costs one sd, what the case lacks nothing."""
        away = np.where(np.isfinite(others), np.abs(others - case) / scale, np.where(np.isfinite(scale), 1.0, 0.0))
        return np.asarray(np.where(np.isfinite(case), away, 0.0).sum(axis=1))

    def _nearest(self, index: int, ts_us: int, end: int, aids: tuple[Floats, Indices, Floats]) -> Indices:
        """Rows of the best controls of one case, best first."""
        scale, uses, ties = aids
        case, settings, fleet = int(self.cases.row[index]), self.settings, self.fleet
        ends = np.full(self.everyone.size, end)
        fit = self.cases.fit(
            ts_us,
            self.everyone.size,
            quiet_us=self.designer._quiet_us,  # noqa: SLF001
            ahead_us=self.designer._ahead_us,  # noqa: SLF001
        )
        fit &= uses < settings.reuse
        fit[case] = False
        columns = self._columns(self.everyone, ends)
        distance = self._distance(columns[case], columns, scale)
        penalty = np.zeros(self.everyone.size)
        if JOB in self.roles:
            job = self.confounders.job(self.everyone, ends, self.windows)
            fit &= (job >= 0) == (job[case] >= 0)
            penalty += job != job[case]
        if RACK in self.roles:
            penalty += fleet.rack != fleet.rack[case]
        candidates = np.flatnonzero(fit)
        order: Indices = candidates[np.lexsort((ties[candidates], (distance + penalty)[candidates]))]
        picked = self._few_siblings(order, case)
        self.distances.append(distance[picked])
        return picked

    def _few_siblings(self, order: Indices, case: int) -> Indices:
        """Take the first controls, of the case's own host a limited share."""
        host = self.fleet.host
        if host[case] < 0:
            return order[: self.settings.controls]
        sibling = host[order] == host[case]
        allowed = int(self.settings.siblings * self.settings.controls)
        few: Indices = order[~sibling | (np.cumsum(sibling) <= allowed)][: self.settings.controls]
        return few

    def _moments(self, row: int, end: int) -> Indices:
        """Other moments of an entity at which it is fit as a control, on a grid through its case."""
        step = max(1, round(CANDIDATE_UNITS * self.windows.unit))
        width = self.fleet.ts_us.size
        first = end - ((end - self.windows.far) // step) * step
        moments = np.arange(max(first, 0), width + 1, step)
        at_us = int(self.fleet.ts_us[0]) + moments * round(self.fleet.step_s * MICROS)
        fit = self.cases.fit_times(row, at_us, quiet_us=self.designer._quiet_us, ahead_us=self.designer._ahead_us)  # noqa: SLF001
        others: Indices = moments[fit & (moments != end)]
        return others

    def _far_from(self, row: int, end: int, moments: Indices, scale: Floats) -> Floats:
        """Distance of other moments from the case: what was recorded, the busy state, the hour."""
        rows = np.full(moments.size, row)
        case = self._columns(np.array([row]), np.array([end]))[0]
        distance = self._distance(case, self._columns(rows, moments), scale)
        if JOB in self.roles:
            busy = self.confounders.job(rows, moments, self.windows) >= 0
            wanted = self.confounders.job(np.array([row]), np.array([end]), self.windows)[0] >= 0
            distance = np.where(busy == wanted, distance, np.inf)
        if self.designer.before_s < DAY_S / 2:
            apart = np.abs((moments - end) * self.fleet.step_s) % DAY_S
            distance = distance + np.minimum(apart, DAY_S - apart) / HOURS_APART
        return distance

    def _spaced(self, moments: Indices, distance: Floats) -> Indices:
        """Take the nearest moments that keep a window's distance from each other."""
        apart = round(UNITS * self.windows.unit)
        picked: list[int] = []
        for place in np.argsort(distance, kind="stable").tolist():
            if len(picked) == self.settings.controls or not np.isfinite(distance[place]):
                break
            if all(abs(int(moments[place]) - other) >= apart for other in picked):
                picked.append(int(moments[place]))
        return np.array(picked, dtype=np.int64)

    def _finish(self, ts_us: Indices) -> MatchedSets:
        self.chosen.sort(key=lambda item: item[0])
        episode = np.array([index for index, _, _ in self.chosen], dtype=np.int64)
        row = np.concatenate([self.everyone[:0], *(row for _, row, _ in self.chosen)])
        end = np.concatenate([self.everyone[:0], *(end for _, _, end in self.chosen)])
        sizes = [rows.size for _, rows, _ in self.chosen]
        derived = self.confounders.derived(row, end, self.windows, self.roles)
        distances = np.concatenate([np.empty(0), *self.distances])
        return MatchedSets(
            row=row,
            end=end,
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            episode=episode,
            time_us=ts_us[episode],
            confounders=np.concatenate([self._columns(row, end), derived], axis=1),
            offered=int(self.cases.row.size),
            dropped=int(self.cases.row.size - episode.size),
            distance=float(distances.mean()) if distances.size else float("nan"),
        )
