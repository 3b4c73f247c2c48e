"""Does one member of a job depart from the others before the job's outcome (METHOD scopes, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.checks import EPOCH, FAILED, LEFT_P, PASSED, Check
from workbench.analysis.episodes import outcome_uncertainty_s
from workbench.analysis.evidence import Blocked, Evidence
from workbench.analysis.jobsets import LEAST_CONTROLS, JobSet, JobSets, Timing, job_sets
from workbench.analysis.precursor import deflation, draw_key
from workbench.analysis.settings import Settings
from workbench.analysis.wording import span_text
from workbench.kernels.effect import mean_shift
from workbench.kernels.jobmembers import departures, job_statistic
from workbench.kernels.matched import case_mask, centre, inflation, matched_score, overlapping_pairs, winsorise
from workbench.kernels.sequential import most_draws, upper_p
from workbench.kernels.tail import saddle_point_tail
from workbench.model.incident import Incident
from workbench.model.verdict import Reading
from workbench.panel.jobs import JobRun, JobView, Members
from workbench.panel.peers import host_of
from workbench.timebase import MICROS, format_duration, format_us

__all__ = ["NEEDED", "measure_jobs"]

#: Checks that must have passed before SUPPORTED.
NEEDED = ("leave_one_out",)
Floats = NDArray[np.float64]
Progress = Callable[[float, float, str], None]


@dataclass(frozen=True, kw_only=True)
class _Member:
    """What one metric says of one run in one set."""

    job: str
    t: float
    farthest: str
    seen: float


def measure_jobs(
    view: JobView,
    incidents: Sequence[Incident],
    *,
    before_s: float,
    seed: int,
    settings: Settings | None = None,
    hypotheses: int | None = None,
    progress: Progress | None = None,
) -> list[Evidence]:
    """Measure of every metric whether one member departs from its job before the outcome.

    T = 2 ln z(1) - ln z(2) of the two farthest members, z over the peers' spread; controls are jobs
    of the same power-of-two size and like age at that moment, without an outcome near it; T is
    winsorised and the case label given at random, one-sided.

    Parameters
    ----------
    view : JobView
    incidents : sequence of Incident
        Of one outcome; each belongs to a job, and of one run only the first counts.
    before_s : float
        Length of the question, seconds; more than an hour is asked as an hour, as it was measured.
    seed : int
        Of the draws, which also depend on the name of the metric and on nothing else.
    settings : Settings, optional
    hypotheses : int, optional
        Everything that is tested beside; None: the metrics of the view.
    progress : callable, optional
        Called with sets read, sets in all, and the name of the job.

    Returns
    -------
    list of Evidence
        One per metric, by name, of scope ``job``.

    Notes
    -----
    Jobs younger than three hours (three times a shorter question) have no past and are left out and
    counted. The reading is of the job; which member it is, is a ranking: :func:`rank_members`.
    """
    settings = settings or Settings()
    timing = Timing.of(before_s)
    design = job_sets(view.runs, incidents, timing, settings)
    uncertainty = outcome_uncertainty_s(incidents)
    guards = {info.name: uncertainty + info.uncertainty_s + info.interval_s for info in view.signals}
    bins = {name: timing.guard(seconds) for name, seconds in guards.items()}
    told = _read(view, design, timing, bins, progress=progress)
    most = most_draws(
        max(hypotheses or len(view.signals), 1), alpha=settings.alpha, dependent=True, cap=settings.max_draws
    )
    found = []
    for info in sorted(view.signals, key=lambda one: one.name):
        start = Evidence(
            info=info, scope="job", incidents=design.incidents, episodes=design.cases, guard_s=guards[info.name],
            notes=design.notes, needed=NEEDED, least=settings.least_episodes, coverage=0.0,
        )  # fmt: skip
        question = _Question(start, timing, settings, draw_key(seed, "job", info.name), most, _name_of(incidents))
        guard = bins[info.name]
        if guard is None:
            found.append(_blocked(start, Reading.NOT_OBSERVED, "the guard leaves nothing of the window"))
        else:
            found.append(question.answer(told[info.name], guard, design))
    return found


def _name_of(incidents: Sequence[Incident]) -> str:
    kinds = {f"{one.kind}:{one.code}" if one.code else one.kind for one in incidents}
    return kinds.pop() if len(kinds) == 1 else next(iter({one.kind for one in incidents}), "the outcome")


def _read(
    view: JobView, design: JobSets, timing: Timing, bins: Mapping[str, int | None], *, progress: Progress | None
) -> dict[str, list[list[_Member]]]:
    """Read every set once; of each metric keep what it says of each run."""
    told: dict[str, list[list[_Member]]] = {info.name: [] for info in view.signals}
    for number, one in enumerate(design.sets):
        cells = view.read(one.runs, timing.grid(one.at_us))
        for name, answers in told.items():
            guard, members = bins[name], cells.get(name, ())
            pairs = zip(one.runs, members, strict=False)  # nothing of a metric that none of them has
            answers.append([_of_run(run, part, guard, timing) for run, part in pairs] if guard is not None else [])
        if progress is not None:
            progress(number + 1, len(design.sets), one.runs[0].job)
    return told


def _of_run(run: JobRun, part: Members, guard: int, timing: Timing) -> _Member:
    values = part.values[:, : timing.cells - guard]
    edge = values.shape[1] - timing.window
    cells = np.concatenate([values[:, : timing.baseline], values[:, edge:]], axis=1)
    seen = float(np.isfinite(cells).mean()) if cells.size else 0.0
    found = departures(values, baseline=timing.baseline, window=timing.window)
    if found is None:
        return _Member(job=run.job, t=float("nan"), farthest="", seen=seen)
    farthest = part.entities[int(np.nanargmax(found.z_peers))]
    return _Member(job=run.job, t=job_statistic(found.z_peers), farthest=host_of(farthest) or farthest, seen=seen)


def _blocked(start: Evidence, reading: Reading, why: str) -> Evidence:
    return replace(start, blocked=Blocked(reading=reading.value, why=why))


@dataclass(frozen=True)
class _Question:
    """One metric, and how it is asked."""

    start: Evidence
    timing: Timing
    settings: Settings
    key: int
    most: int
    outcome: str

    def answer(self, told: Sequence[Sequence[_Member]], guard: int, design: JobSets) -> Evidence:
        """Test it, or say why it cannot be tested."""
        start = replace(self.start, guard_s=guard * self.timing.step_s)
        obstacle = _obstacle(design, self.settings)
        if obstacle is not None:
            return replace(start, blocked=obstacle)
        chosen = [
            (one, [part[0], *(other for other in part[1:] if np.isfinite(other.t))])
            for one, part in zip(design.sets, told, strict=True)
            if part and np.isfinite(part[0].t)
        ]
        chosen = [(one, part) for one, part in chosen if len(part) > LEAST_CONTROLS]
        start = replace(start, coverage=_coverage(told), sets=len(chosen))
        if len(chosen) < self.settings.least_episodes:
            why = f"{len(chosen)} jobs with {LEAST_CONTROLS} controls have members enough that were observed"
            return _blocked(start, Reading.NOT_OBSERVED, why)
        return self._tested(start, chosen, guard, design)

    def _tested(
        self, start: Evidence, chosen: Sequence[tuple[JobSet, list[_Member]]], guard: int, design: JobSets
    ) -> Evidence:
        offsets = np.cumsum([0, *(len(part) for _, part in chosen)]).astype(np.int64)
        t = np.array([one.t for _, part in chosen for one in part])
        scores = winsorise(t[:, None], ~case_mask(offsets))
        centred = centre(scores, offsets)
        score = matched_score(centred, offsets)
        times = np.array([one.at_us for one, _ in chosen], dtype=np.int64)
        v = inflation(centred, offsets, _again(chosen, times, offsets, self.timing), score.variance)
        column, total = centred[:, 0], float(score.total[0]) / deflation(v)
        p = upper_p(column, offsets, total, key=self.key, most=self.most, stop_at=self.settings.stop_at)
        near_s = guard * self.timing.step_s
        far_s = near_s + self.timing.window * self.timing.step_s
        means = np.add.reduceat(scores[:, 0], offsets[:-1]) - scores[offsets[:-1], 0]
        differences = scores[offsets[:-1], 0] - means / (np.diff(offsets) - 1)
        measured = replace(
            start, controls=int(offsets[-1]) - len(chosen), p=p.p, t=float(score.z[0]), z=float(score.z[0]), v=v,
            draws=p.draws, near_s=near_s, far_s=far_s, up=bool(score.z[0] > 0), shift=mean_shift(differences, v),
            feature=f"one member apart from its job, {span_text(near_s, far_s)}",
            moved=self._words(len(chosen), int(offsets[-1]) - len(chosen), (near_s, far_s), design),
        )  # fmt: skip
        if p.p > self.settings.alpha:
            return measured
        block_us = round(self.settings.block_s * MICROS)
        return replace(measured, checks={"leave_one_out": _left_out(column, offsets, v, _groups(chosen, block_us))})

    def _words(self, sets: int, controls: int, span: tuple[float, float], design: JobSets) -> str:
        young = int(design.notes["jobs_too_young"])
        left = f"; {young} jobs younger than {format_duration(self.timing.past_s)} had no past" if young else ""
        return (
            f"{self.start.info.name}: {span_text(*span)} {self.outcome}, one member is farther from the other members of its "
            f"job, and more alone, than in {controls} control jobs of like size and age at that moment ({sets} jobs{left})."
        )


def _obstacle(design: JobSets, settings: Settings) -> Blocked | None:
    """Tell why no metric can be tested: too few jobs, all too young, nobody to compare with."""
    usable, needed = len(design.sets), settings.least_episodes
    if usable >= needed:
        return None
    told = ", ".join(
        f"{int(design.notes[key])} {words}"
        for key, words in (
            ("jobs_too_young", "too young to have a past"),
            ("jobs_without_controls", "without three control jobs of like size"),
        )
        if design.notes[key]
    )
    if design.cases >= needed:
        return Blocked(reading=Reading.COINCIDENCE.value, why=f"no unexposed controls ({told})")
    why = f"{usable} jobs can be judged, {needed} are the fewest{f' ({told})' if told else ''}"
    return Blocked(reading=Reading.NOT_ENOUGH.value, why=why)


def _coverage(told: Iterable[Sequence[_Member]]) -> float:
    """Share of cells observed, the lower of cases and controls."""
    known = [part for part in told if part]
    cases = [part[0].seen for part in known]
    controls = [one.seen for part in known for one in part[1:]]
    return float(min(np.mean(cases), np.mean(controls))) if controls else 0.0


def _again(
    chosen: Sequence[tuple[JobSet, list[_Member]]], times: NDArray[np.int64], offsets: NDArray[np.int64], timing: Timing
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs that are one job in sets whose bins overlap."""
    names: dict[str, int] = {}
    group = np.array([names.setdefault(one.job, len(names)) for _, part in chosen for one in part], dtype=np.int64)
    return overlapping_pairs(group, times, offsets, round(timing.past_s * MICROS))


def _groups(chosen: Sequence[tuple[JobSet, list[_Member]]], block_us: int) -> Iterable[tuple[str, NDArray[np.bool_]]]:
    """What is left out in turn: each job, each member that is the farthest, each block of time."""
    jobs = [one.runs[0].job for one, _ in chosen]
    hosts = [part[0].farthest for _, part in chosen]
    blocks = [f"the block from {format_us(one.at_us // block_us * block_us)}" for one, _ in chosen]
    for labels in (jobs, hosts, blocks):
        for label in sorted(set(labels)):
            yield label, np.array([other == label for other in labels])


def _left_out(
    column: Floats, offsets: NDArray[np.int64], v: float, groups: Iterable[tuple[str, NDArray[np.bool_]]]
) -> Check:
    """Leave each group out; the rest must still have a one-sided p of .025."""
    worst, weakest = -1.0, ""
    sizes = np.diff(offsets)
    for name, out in groups:
        kept = ~out
        if not kept.any():
            p = 1.0
        else:
            members = np.repeat(kept, sizes)
            rest = np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int64)
            left = column[members]
            total = float(left[rest[:-1]].sum()) / deflation(v)
            p = saddle_point_tail(left, rest, total) if left.any() else 1.0
        if p > worst:
            worst, weakest = p, name
    numbers = {"p_weakest": worst}
    if worst <= LEFT_P:
        return Check(state=PASSED, about=f"weakest without {weakest}", numbers=numbers)
    about = EPOCH if weakest.startswith("the block") else f"{weakest} carries it"
    return Check(state=FAILED, about=about, numbers=numbers)
