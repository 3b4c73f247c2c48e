"""Jobs as their members: one metric of every member on one grid, and which jobs ran beside one at a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.errors import NothingToDoError
from workbench.kernels.jobmembers import size_class
from workbench.model.incident import Incident
from workbench.panel.align import Grid, align
from workbench.panel.clockdoubt import clock_doubt_s
from workbench.panel.fleet import SignalInfo
from workbench.panel.peers import host_of, kind_of
from workbench.panel.select import metric_rows
from workbench.store.store import Store
from workbench.timebase import to_us

__all__ = ["STILL_RUNNING", "JobRun", "JobView", "Members", "by_job", "control_runs", "jobs", "run_at", "runs_of"]

#: End of a run that was never seen to end.
STILL_RUNNING = 2**62


@dataclass(frozen=True, kw_only=True)
class JobRun:
    """One run of a job; times in UTC microseconds."""

    job: str
    start_us: int
    end_us: int
    hosts: tuple[str, ...]
    user: str = ""
    name: str = ""

    @property
    def key(self) -> str:
        """Tell this run from all others."""
        return f"{self.job}@{self.start_us}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Members:
    """One metric of the members of one run.

    Attributes
    ----------
    entities : tuple of str
        The hosts of the run, or what of the metric's kind (GPUs, ports) lies in them.
    values : (member, bin) float64
        NaN: not observed.
    """

    entities: tuple[str, ...]
    values: NDArray[np.float64]


#: (runs, grid) -> for each signal the members of each run, in the order of the runs.
Reader = Callable[[Sequence[JobRun], Grid], Mapping[str, Sequence[Members]]]


@dataclass(frozen=True, eq=False, kw_only=True)
class JobView:
    """What is asked of jobs.

    Attributes
    ----------
    runs : tuple of JobRun
        Every run that there was, by start and name.
    signals : tuple of SignalInfo
    read : callable
        ``(runs, grid) -> {signal: [Members of each run]}``.
    inputs : str
        Store path and version, or a digest: goes into provenance.
    """

    runs: tuple[JobRun, ...]
    signals: tuple[SignalInfo, ...]
    read: Reader
    inputs: str = ""


def by_job(runs: Iterable[JobRun]) -> dict[str, list[JobRun]]:
    """Give the runs of each job, by start."""
    found: dict[str, list[JobRun]] = {}
    for run in sorted(runs, key=lambda one: one.start_us):
        found.setdefault(run.job, []).append(run)
    return found


def run_at(known: Mapping[str, Sequence[JobRun]], job: str, at_us: int) -> JobRun | None:
    """Give the run of a job that a moment belongs to: the last to have started by then.

    Parameters
    ----------
    known : mapping of job to runs
        As :func:`by_job` gives it.
    job : str
    at_us : int

    Examples
    --------
    >>> known = by_job(JobRun(job="j", start_us=at, end_us=at + 5, hosts=()) for at in (0, 10))
    >>> run_at(known, "j", 12).start_us, run_at(known, "k", 12)
    (10, None)
    """
    begun = [run for run in known.get(job, ()) if run.start_us <= at_us]
    return begun[-1] if begun else None


def control_runs(
    runs: Sequence[JobRun], case: JobRun, at_us: int, *, most: int, least_age_us: int, unfit: Callable[[JobRun], bool]
) -> list[JobRun]:
    """Give runs to compare a run with at a moment: of its power-of-two size, nearest in ln age.

    Parameters
    ----------
    runs : sequence of JobRun
    case : JobRun
    at_us : int
    most : int
        How many at most.
    least_age_us : int
        Younger ones have no past to compare with.
    unfit : callable
        Runs that an outcome hit near that time, or that served too often.

    Returns
    -------
    list of JobRun
        No host of one is a host of another, nor of the case; ties go by name.

    Examples
    --------
    >>> made = [JobRun(job=f"j{k}", start_us=k, end_us=99, hosts=(f"n{k}a", f"n{k}b")) for k in range(4)]
    >>> [run.job for run in control_runs(made, made[0], 50, most=2, least_age_us=10, unfit=lambda run: run.job == "j1")]
    ['j2', 'j3']
    """
    size, age = size_class(len(case.hosts)), np.log(max(at_us - case.start_us, 1))
    fit = [
        run
        for run in runs
        if run.job != case.job
        and run.start_us + least_age_us <= at_us < run.end_us
        and size_class(len(run.hosts)) == size
        and not unfit(run)
    ]
    fit.sort(key=lambda run: (abs(np.log(max(at_us - run.start_us, 1)) - age), run.key))
    taken = set(case.hosts)
    chosen: list[JobRun] = []
    for run in fit:
        if len(chosen) == most:
            break
        if taken.isdisjoint(run.hosts):
            chosen.append(run)
            taken.update(run.hosts)
    return chosen


def jobs(store: Store, incidents: Sequence[Incident] = ()) -> JobView:
    """Give the jobs of a store, and how to read the metrics of their members.

    Parameters
    ----------
    store : Store
    incidents : sequence of Incident
        Of the outcome: what their clocks put in doubt becomes part of the guard.

    Raises
    ------
    NothingToDoError
        The store holds no job with hosts, or no metric of anything in a host.
    """
    runs = runs_of(store)
    inside, facts = _inside(store), _facts(store)
    if facts.is_empty():
        raise NothingToDoError("The store holds no metric of hosts or of anything in them; see store.catalog().")
    doubt = clock_doubt_s(store.clocks(), incidents, "metric")
    signals = tuple(
        SignalInfo(
            name=fact["metric"], kind="metric", scope=fact["entity_kind"], raw_names=tuple(fact["raw_names"] or ()),
            interval_s=fact["interval_s"] or 0.0, uncertainty_s=doubt, role=fact["role"] or "",
            drives=tuple(fact["drives"] or ()),
        )
        for fact in facts.iter_rows(named=True)
    )  # fmt: skip

    def read(asked: Sequence[JobRun], grid: Grid) -> dict[str, list[Members]]:
        return _read(store, facts, inside, (asked, grid))

    return JobView(runs=runs, signals=signals, read=read, inputs=f"{store.path.name}@{store.version}")


def runs_of(store: Store) -> tuple[JobRun, ...]:
    """Give every run of a store that began and has hosts, by start and name.

    Raises
    ------
    NothingToDoError
        There is none.
    """
    table = store.jobs()
    found = [
        JobRun(
            job=row["entity"],
            start_us=to_us(row["start"]),
            end_us=STILL_RUNNING if row["end"] is None else to_us(row["end"]),
            hosts=tuple(sorted({host for one in row["entities"] or () if (host := host_of(one)) is not None})),
            user=row["user"] or "",
            name=row["name"] or "",
        )
        for row in table.filter(pl.col("start").is_not_null()).iter_rows(named=True)
    ]
    if not any(run.hosts for run in found):
        raise NothingToDoError("The store holds no job with hosts and a start; ingest the scheduler's accounting.")
    return tuple(sorted((run for run in found if run.hosts), key=lambda run: (run.start_us, run.job)))


def _facts(store: Store) -> pl.DataFrame:
    """Metrics with one value at a time of what is, or lies in, a host."""
    kinds = {kind_of(name) for name in store.entities()["entity"].unique().to_list() if host_of(name) is not None}
    return (
        store.catalog()
        .filter(
            pl.col("column").is_not_null()
            & pl.col("kind").is_in(["gauge", "counter", "state"])
            & pl.col("entity_kind").is_in(sorted(kinds))
        )
        .unique("metric", keep="first", maintain_order=True)
        .sort("metric")
    )


def _inside(store: Store) -> dict[tuple[str, str], list[str]]:
    """What of each kind is, or lies in, each host."""
    inside: dict[tuple[str, str], list[str]] = {}
    for name in store.entities()["entity"].unique().sort().to_list():
        host = host_of(name)
        if host is not None:
            inside.setdefault((kind_of(name), host), []).append(name)
    return inside


def _read(
    store: Store,
    facts: pl.DataFrame,
    inside: Mapping[tuple[str, str], list[str]],
    asked: tuple[Sequence[JobRun], Grid],
) -> dict[str, list[Members]]:
    """Read each wide table once for all runs, then every metric of it."""
    runs, grid = asked
    found: dict[str, list[Members]] = {}
    for _, group in facts.group_by("table", maintain_order=True):
        kind = group["entity_kind"][0]
        mine = [[name for host in run.hosts for name in inside.get((kind, host), ())] for run in runs]
        names = sorted({name for part in mine for name in part})
        if not names:
            continue
        rows, place = metric_rows(store, group, grid, names), {name: at for at, name in enumerate(names)}
        for fact in group.iter_rows(named=True):
            values = align(
                rows, fact["column"], grid, entities=place, kind=fact["kind"] or "gauge",
                interval_s=fact["interval_s"] or 0.0, width_bits=fact["width_bits"] or 64, saturates=bool(fact["saturates"]),
            )  # fmt: skip
            found[fact["metric"]] = [
                Members(entities=tuple(part), values=values[[place[name] for name in part]]) for part in mine
            ]
    return found
