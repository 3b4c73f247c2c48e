"""What was recorded beside a signal, as it stood before the guard: means over windows, job, busy state."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.windows import Windows
from workbench.panel.fleet import Fleet

__all__ = ["JOB", "RACK", "Confounders", "recorded_roles"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

JOB = "job"
RACK = "rack"
LOAD = "load"
LOAD_EDGES = (20, 60, 120, 360)  # units before the outcome
OTHER_EDGES = (60, 120, 360)


def recorded_roles(fleet: Fleet) -> frozenset[str]:
    """Give the roles that a fleet recorded: confounders with values, jobs, racks."""
    roles = {name for name, values in fleet.confounders.items() if np.isfinite(values).any()}
    if (fleet.job >= 0).any():
        roles.add(JOB)
    if (fleet.rack >= 0).any():
        roles.add(RACK)
    return frozenset(roles)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Sums:
    """Running sums of one array along time, so that any window costs two look-ups."""

    total: Floats
    count: NDArray[np.int32]

    @classmethod
    def of(cls, values: Floats) -> _Sums:
        known = np.isfinite(values)
        nothing = np.zeros((values.shape[0], 1))
        total = np.concatenate([nothing, np.cumsum(np.where(known, values, 0.0), axis=1)], axis=1)
        count = np.concatenate([nothing.astype(np.int32), np.cumsum(known, axis=1, dtype=np.int32)], axis=1)
        return cls(total=total, count=count)

    def mean(self, row: Indices, end: Indices, near: int, far: int) -> Floats:
        """Mean over the cells at distances near + 1 ... far; NaN where none was observed."""
        last = self.total.shape[1] - 1
        start, stop = np.clip(end - far, 0, last), np.clip(end - near, 0, last)
        count = self.count[row, stop] - self.count[row, start]
        total = self.total[row, stop] - self.total[row, start]
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)


class Confounders:
    """Confounder columns of any entity at any moment.

    Parameters
    ----------
    fleet : Fleet
    """

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._sums = {name: _Sums.of(values) for name, values in fleet.confounders.items()}
        if (fleet.job >= 0).any():
            self._sums[JOB] = _Sums.of((fleet.job >= 0).astype(np.float64))

    def columns(self, row: Indices, end: Indices, windows: Windows, roles: frozenset[str]) -> Floats:
        """Give the columns that members are matched on.

        All are measured before the guard: mean load over (g, 20], (20, 60], (60, 120], (120, 360]
        units, any other confounder over (g, 60], (60, 120], (120, 360], ln job age in minutes at
        the guard, share of the window in which a job ran.

        Parameters
        ----------
        row, end : (member,) int64
            Entity, and cell of the moment.
        roles : frozenset of str

        Returns
        -------
        (member, column) float64
            NaN: not observed.
        """
        columns = [
            self._sums[role].mean(row, end, near, far)
            for role in sorted(roles & self.fleet.confounders.keys())
            for near, far in _spans(windows, LOAD_EDGES if role == LOAD else OTHER_EDGES)
        ]
        if JOB in roles:
            columns += [np.log1p(self.job_age_s(row, end, windows) / 60.0), self._busy(row, end, windows)]
        return np.stack(columns, axis=1) if columns else np.empty((row.size, 0))

    def derived(self, row: Indices, end: Indices, windows: Windows, roles: frozenset[str]) -> Floats:
        """Give the columns that only the residual uses: load x busy, load - baseline load."""
        if LOAD not in roles or LOAD not in self._sums:
            return np.empty((row.size, 0))
        load = self._sums[LOAD].mean(row, end, windows.guard, windows.window)
        base = self._sums[LOAD].mean(row, end, windows.window, windows.far)
        columns = [load - base]
        if JOB in roles:
            columns.append(load * self._busy(row, end, windows))
        return np.stack(columns, axis=1)

    def job(self, row: Indices, end: Indices, windows: Windows) -> Indices:
        """Job in the last cell before the guard; -1: none, or before the grid."""
        return np.where(self._inside(end, windows), self.fleet.job[row, self._cell(end, windows)], -1).astype(np.int64)

    def job_age_s(self, row: Indices, end: Indices, windows: Windows) -> Floats:
        """Age of that job, seconds; NaN: none."""
        age = self.fleet.job_age_s[row, self._cell(end, windows)].astype(np.float64)
        return np.where(self._inside(end, windows), np.maximum(age, 0.0), np.nan)

    def _busy(self, row: Indices, end: Indices, windows: Windows) -> Floats:
        return self._sums[JOB].mean(row, end, windows.guard, windows.window)

    def _cell(self, end: Indices, windows: Windows) -> Indices:
        return np.clip(end - windows.guard - 1, 0, self.fleet.job.shape[1] - 1)

    def _inside(self, end: Indices, windows: Windows) -> NDArray[np.bool_]:
        cell = end - windows.guard - 1
        return np.asarray((cell >= 0) & (cell < self.fleet.job.shape[1]))


def _spans(windows: Windows, far_edges: tuple[int, ...]) -> list[tuple[int, int]]:
    """Spans from the guard outwards, in cells; a span that the guard swallows is left out."""
    edges = [windows.guard]
    for units in far_edges:
        edge = round(units * windows.unit)
        if edge > edges[-1]:
            edges.append(edge)
    return list(pairwise(edges))
