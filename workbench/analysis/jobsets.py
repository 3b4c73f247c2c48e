"""Jobs before an outcome beside jobs of like size and age without one: who is compared, over which bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.analysis.settings import Settings
from workbench.model.incident import Incident
from workbench.panel.align import Grid
from workbench.panel.jobs import JobRun, by_job, control_runs, run_at
from workbench.timebase import MICROS, to_us

__all__ = ["LEAST_CONTROLS", "JobSet", "JobSets", "Timing", "job_sets"]

LEAST_CONTROLS = 3
_REACH_S = 3600.0  # the measured procedure; a longer question asks no earlier
_BINS = 20  # of one reach


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Bins before the record of an outcome: two reaches of past, one reach that is asked about.

    Attributes
    ----------
    reach_s : float
        One hour, or the length of the question where that is shorter.
    """

    reach_s: float

    @classmethod
    def of(cls, before_s: float) -> Timing:
        """Give the bins of a question.

        Examples
        --------
        >>> timing = Timing.of(7200.0)
        >>> timing.step_s, timing.baseline, timing.window, timing.cells, timing.past_s
        (180.0, 40, 5, 60, 10800.0)
        """
        return cls(reach_s=min(before_s, _REACH_S))

    @property
    def step_s(self) -> float:
        """Width of a bin."""
        return self.reach_s / _BINS

    @property
    def baseline(self) -> int:
        """Bins of the past."""
        return 2 * _BINS

    @property
    def window(self) -> int:
        """Bins of the window: a quarter of the reach."""
        return _BINS // 4

    @property
    def cells(self) -> int:
        """Bins in all."""
        return 3 * _BINS

    @property
    def past_s(self) -> float:
        """Age that a run must have."""
        return 3 * self.reach_s

    def guard(self, guard_s: float) -> int | None:
        """Bins of a guard; None where it leaves no window."""
        bins = int(np.ceil(guard_s / self.step_s - 1e-9))
        return bins if bins + self.window <= _BINS else None

    def grid(self, at_us: int) -> Grid:
        """Give the bins before a moment."""
        step = round(self.step_s * MICROS)
        return Grid(start_us=at_us - self.cells * step, step_us=step, cells=self.cells)


@dataclass(frozen=True, kw_only=True)
class JobSet:
    """One case and its controls, the case first, and the moment of the record."""

    runs: tuple[JobRun, ...]
    at_us: int


@dataclass(frozen=True, kw_only=True)
class JobSets:
    """Sets, and what was left out, in numbers."""

    sets: tuple[JobSet, ...]
    notes: Mapping[str, float]
    incidents: int

    @property
    def cases(self) -> int:
        """Jobs that were old enough."""
        return int(self.notes["jobs"])


def job_sets(runs: Sequence[JobRun], incidents: Sequence[Incident], timing: Timing, settings: Settings) -> JobSets:
    """Take the first incident of each run that is old enough, and choose its controls."""
    past, ahead = round(timing.past_s * MICROS), round(settings.ahead_s * MICROS)
    first: dict[str, tuple[JobRun, int]] = {}
    hits: dict[str, list[int]] = {}
    jobless, known = 0, by_job(runs)
    lasting = [run for run in runs if run.end_us - run.start_us >= past]
    for one in sorted(incidents, key=lambda item: (item.ts, item.id)):
        run = None if one.job is None else run_at(known, one.job, to_us(one.ts))
        if run is None:
            jobless += 1
            continue
        first.setdefault(run.key, (run, to_us(one.ts)))
        hits.setdefault(run.job, []).append(to_us(one.ts))
    old = [(run, at) for run, at in first.values() if at - run.start_us >= past]
    sets: list[JobSet] = []
    served: dict[str, list[int]] = {}
    for run, at in sorted(old, key=lambda item: (item[1], item[0].key)):

        def unfit(other: JobRun, at: int = at) -> bool:
            near = any(at - past < hit < at + ahead for hit in hits.get(other.job, ()))
            return near or sum(abs(at - use) < past for use in served.get(other.key, ())) >= settings.reuse

        controls = control_runs(lasting, run, at, most=settings.controls, least_age_us=past, unfit=unfit)
        if len(controls) >= LEAST_CONTROLS:
            sets.append(JobSet(runs=(run, *controls), at_us=at))
            for other in controls:
                served.setdefault(other.key, []).append(at)
    notes = {
        "jobs": float(len(old)),
        "jobs_too_young": float(len(first) - len(old)),
        "incidents_without_job": float(jobless),
        "incidents_after_the_first_of_a_run": float(len(incidents) - jobless - len(first)),
        "jobs_without_controls": float(len(old) - len(sets)),
        "controls_mean": float(np.mean([len(one.runs) - 1 for one in sets])) if sets else float("nan"),
    }
    return JobSets(sets=tuple(sets), notes=notes, incidents=len(incidents))
