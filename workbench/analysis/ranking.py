"""Which member of one job departs most from the others: a ranking, never a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.analysis.jobsets import Timing
from workbench.errors import NothingToDoError, UnknownNameError, UsageError
from workbench.kernels.jobmembers import LEAST_MEMBERS, departures, member_score
from workbench.model.incident import Incident
from workbench.model.provenance import Provenance
from workbench.panel.jobs import STILL_RUNNING, JobRun, JobView, by_job, jobs, run_at
from workbench.panel.peers import host_of
from workbench.timebase import MICROS, format_duration, format_us, to_us
from workbench.version import __version__

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from workbench.store.store import Store

__all__ = ["EXPECTED", "MemberRanking", "rank_members", "rank_members_of"]

SHOWN = 20
_TOP = 3
_HOUR_S = 3600.0
#: (members, sd of the departure) -> (share of jobs whose culprit came first, among the first three), docs/jobs.md.
EXPECTED = {
    (6, 1.5): (0.31, 0.71), (6, 3.0): (0.70, 0.91), (6, 6.0): (0.97, 1.00),
    (24, 1.5): (0.21, 0.41), (24, 3.0): (0.55, 0.81), (24, 6.0): (0.97, 1.00),
    (48, 1.5): (0.15, 0.29), (48, 3.0): (0.56, 0.81), (48, 6.0): (0.97, 0.99),
}  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class MemberRanking:
    """Members of one job by how far they departed from the others before a moment; never a verdict.

    Attributes
    ----------
    job : str
    at_us : int
        Moment of the record, UTC microseconds.
    window_s : float
        What was looked at: so long before the record, up to it.
    members : polars.DataFrame
        One row per host, the farthest first: ``rank, member, score`` (sum over metrics of
        min(z against the peers, z against the own past, 8) squared), ``margin`` (score over that of
        the next), ``metrics`` (how many were observed), ``most`` (what departs most, and of which
        device), ``z`` (of that), ``direction``.
    metrics : int
        Metrics that could be compared.
    left_out : tuple of str
        Metrics of fewer than five observed members.
    notes : tuple of str
    provenance : Provenance
    """

    job: str
    at_us: int
    window_s: float
    members: pl.DataFrame
    metrics: int
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    provenance: Provenance

    @property
    def sentence(self) -> str:
        """The first three in words, with score and margin."""
        top = self.members.head(_TOP)
        told = ", ".join(f"{row['member']} ({row['score']:.0f})" for row in top.iter_rows(named=True))
        first = top.row(0, named=True)
        margin = (
            f"{first['margin']:.1f} times the second" if np.isfinite(first["margin"]) else "the others did not move"
        )
        return (
            f"In the {format_duration(self.window_s)} before {format_us(self.at_us)}, of {self.members.height} members of "
            f"{self.job} these depart most from the others over {self.metrics} metrics: {told}; the first has {margin}, most in "
            f"{first['most']}."
        )

    @property
    def luck(self) -> str:
        """How often such a ranking is right, as measured, and by chance."""
        size = min((known for known, _ in EXPECTED), key=lambda known: abs(np.log(known / self.members.height)))
        told = "; ".join(
            f"{sd:g} sd: {EXPECTED[size, sd][0]:.2f} first, {EXPECTED[size, sd][1]:.2f} among three"
            for sd in (1.5, 3.0, 6.0)
        )
        return (
            f"A ranking, not a verdict. On made-up jobs of {size} members of which one departs in 2 of 12 metrics it put that one: "
            f"{told} (chance: {1 / self.members.height:.2f} and {min(1.0, 3 / self.members.height):.2f}). A job without a "
            "culprit has a first member too."
        )

    def expected(self) -> pl.DataFrame:
        """Measured hit rates: ``members, departure_sd, first, among_three, chance_first``."""
        rows = [(size, sd, *rates, 1 / size) for (size, sd), rates in EXPECTED.items()]
        names = ["members", "departure_sd", "first", "among_three", "chance_first"]
        return pl.DataFrame(rows, schema=names, orient="row")

    def table(self) -> pl.DataFrame:
        """One row per member, the farthest first."""
        return self.members

    def plot(self) -> go.Figure:
        """Draw the score of the first twenty members."""
        from workbench.figures.ranking import ranking_figure

        top = self.members.head(SHOWN)
        names = [f"{row['member']}: {row['most']}" for row in top.iter_rows(named=True)]
        return ranking_figure(names, top["score"].to_numpy(), title=f"Members of {self.job} (a ranking)")

    def __repr__(self) -> str:
        return f"{self.sentence} {self.luck}"

    def _repr_html_(self) -> str:
        from workbench.figures.html import card_html, figure_html, table_html

        shown, rates = self.members.head(SHOWN), self.expected()
        parts = [
            table_html(shown.columns, shown.rows(), SHOWN, caption="Members, the farthest first"),
            figure_html(self.plot()),
            table_html(rates.columns, rates.rows(), caption="How often the member that departed came first, measured"),
        ]
        return card_html("Members of one job", self.sentence, notes=[self.luck, *self.notes], parts=parts)


def rank_members(
    job_or_incident: Incident | str,
    store: Store,
    *,
    at: datetime | None = None,
    metrics: Sequence[str] | None = None,
) -> MemberRanking:
    """Rank the members of one job by how far they departed from the others before a moment.

    Parameters
    ----------
    job_or_incident : Incident or str
        An incident of a job or of a host that ran one; or the id of a job, such as ``1234``.
    store : Store
    at : datetime, optional
        Aware; the moment up to which to look. Not given: the record of the incident, or the end of
        the last run of the job.
    metrics : sequence of str, optional
        Metric ids; every metric of hosts and of what lies in them if not given.

    Returns
    -------
    MemberRanking

    Raises
    ------
    UnknownNameError
        No such job or metric.
    NothingToDoError
        The incident belongs to no job; the job still runs and no moment is given; it is younger than
        two hours (no past to compare with); no metric of five members was observed.

    Notes
    -----
    No guard: up to the record ranked best (docs/jobs.md), so what is listed may have followed the
    outcome. Whether such departures precede outcomes at all is for ``wb.screen`` to say.
    """
    if isinstance(job_or_incident, Incident):
        if job_or_incident.job is None:
            raise NothingToDoError(
                f"No job was recorded on {job_or_incident.entity} at {job_or_incident.ts:%F %T} UTC."
            )
        view = jobs(store, [job_or_incident])
        moment = to_us(job_or_incident.ts) if at is None else to_us(at)
        run = run_at(by_job(view.runs), job_or_incident.job, moment)
    else:
        view = jobs(store)
        moment, run = _run_named(view, job_or_incident, at)
    if run is None:
        raise NothingToDoError(f"No run of {job_or_incident} is recorded at {format_us(moment)}; see store.jobs().")
    told = rank_members_of(view, run, moment, metrics=metrics)
    return replace(told, provenance=replace(told.provenance, inputs=f"{store.path.name}@{store.version}"))


def _run_named(view: JobView, name: str, at: datetime | None) -> tuple[int, JobRun | None]:
    known = {run.job for run in view.runs}
    fits = sorted(job for job in known if name in (job, job.rpartition("/")[2], job.rpartition(":")[2]))
    if not fits:
        raise UnknownNameError("job", name, sorted(known), "See store.jobs().")
    if len(fits) > 1:
        raise UsageError(f"{name} may be {' or '.join(fits)}; write the whole id.")
    last = max((run for run in view.runs if run.job == fits[0]), key=lambda run: run.start_us)
    if at is None and last.end_us == STILL_RUNNING:
        raise NothingToDoError(f"{fits[0]} was not seen to end; give at=, the moment up to which to look.")
    moment = last.end_us if at is None else to_us(at)
    return moment, run_at(by_job(view.runs), fits[0], moment)


def rank_members_of(view: JobView, run: JobRun, at_us: int, *, metrics: Sequence[str] | None = None) -> MemberRanking:
    """Rank the members of one run of a view; see :func:`rank_members`.

    Examples
    --------
    >>> import numpy as np
    >>> from workbench.panel.fleet import SignalInfo
    >>> from workbench.panel.jobs import Members
    >>> cells = np.random.default_rng(1).normal(size=(6, 60))
    >>> cells[4, 50:] += 9
    >>> run = JobRun(job="c/job:1", start_us=0, end_us=5 * 3600 * MICROS, hosts=tuple("abcdef"))
    >>> view = JobView(runs=(run,), signals=(SignalInfo(name="host.load", kind="metric", scope="host"),),
    ...                read=lambda runs, grid: {"host.load": [Members(entities=run.hosts, values=cells)]})
    >>> rank_members_of(view, run, 5 * 3600 * MICROS).members["member"][0]
    'e'
    """
    names = _asked(view, metrics)
    timing = Timing.of(_HOUR_S)
    age_s = _old_enough(run, at_us)
    cells = view.read([run], timing.grid(at_us))
    skip = max(0, int(np.ceil((timing.past_s - age_s) / timing.step_s)))  # bins before the job began
    board = _Board(run.hosts)
    left = []
    for name in names:
        part = cells[name][0] if name in cells else None
        found = (
            None
            if part is None
            else departures(part.values[:, skip:], baseline=timing.baseline - skip, window=timing.window)
        )
        if part is None or found is None:
            left.append(name)
        else:
            board.add(name, part.entities, member_score(found), found.d)
    if not board.metrics:
        raise NothingToDoError(
            f"No metric of {LEAST_MEMBERS} or more members of {run.job} was observed in the three hours before "
            f"{format_us(at_us)}: nobody can be compared."
        )
    notes = (
        [f"The job was {format_duration(round(age_s))} old: its past is shorter than the 2 h that were measured."]
        if skip
        else []
    )
    if left:
        notes.append(f"{len(left)} metrics had fewer than {LEAST_MEMBERS} observed members: left out.")
    return MemberRanking(
        job=run.job, at_us=at_us, window_s=timing.window * timing.step_s, members=board.table(), metrics=board.metrics,
        left_out=tuple(left), notes=tuple(notes),
        provenance=Provenance(
            function="wb.rank_members", inputs=view.inputs, version=__version__,
            parameters={"job": run.job, "at": format_us(at_us), "metrics": None if metrics is None else list(metrics)},
        ),
    )  # fmt: skip


def _asked(view: JobView, metrics: Sequence[str] | None) -> list[str]:
    known = [info.name for info in view.signals]
    for name in metrics or ():
        if name not in known:
            raise UnknownNameError("metric", name, known, "See store.catalog().")
    return sorted(metrics or known)


def _old_enough(run: JobRun, at_us: int) -> float:
    age_s = (at_us - run.start_us) / MICROS
    if age_s < 2 * _HOUR_S:
        raise NothingToDoError(
            f"{run.job} was {format_duration(round(age_s))} old: a job younger than 2 h has no past of its own, and raw levels "
            "against the peers name the wrong member. See wb.explore."
        )
    return age_s


class _Board:
    """Scores by host, metric after metric; of several devices of a host the farthest counts."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self.hosts = sorted(hosts)
        self.metrics = 0
        self._place = {host: at for at, host in enumerate(self.hosts)}
        self._score, self._seen = np.zeros(len(self.hosts)), np.zeros(len(self.hosts), np.int64)
        self._most = [(-1.0, "", "") for _ in self.hosts]

    def add(self, metric: str, entities: Sequence[str], score: NDArray[np.float64], d: NDArray[np.float64]) -> None:
        """Take one metric."""
        best = np.zeros(len(self.hosts))
        seen = np.zeros(len(self.hosts), bool)
        for name, value, moved in zip(entities, score.tolist(), d.tolist(), strict=True):
            at = self._place.get(host_of(name) or name, -1)
            if at < 0 or np.isnan(moved):
                continue
            seen[at] = True
            best[at] = max(best[at], value)
            if value > self._most[at][0]:
                what = metric if name == self.hosts[at] else f"{metric} of {name.rpartition('/')[2]}"
                self._most[at] = value, what, "up" if moved > 0 else "down"
        self._score += best
        self._seen += seen
        self.metrics += 1

    def table(self) -> pl.DataFrame:
        """One row per host, the farthest first; ties by name."""
        order = np.lexsort((np.arange(len(self.hosts)), -self._score))
        score = self._score[order]
        following = np.append(score[1:], np.nan)
        margin = np.divide(score, following, out=np.full(score.size, np.nan), where=following > 0)
        return pl.DataFrame(
            {
                "rank": np.arange(1, score.size + 1),
                "member": [self.hosts[at] for at in order],
                "score": score,
                "margin": margin,
                "metrics": self._seen[order],
                "most": [self._most[at][1] for at in order],
                "z": [max(self._most[at][0], 0.0) ** 0.5 for at in order],
                "direction": [self._most[at][2] for at in order],
            }
        )
