"""Do failures gather at one user or one name of job rather than spread over who used the machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from workbench.errors import NothingToDoError, UsageError
from workbench.model.incident import Incident
from workbench.model.provenance import Provenance
from workbench.panel.jobs import JobRun, by_job, run_at, runs_of
from workbench.panel.peers import host_of, kind_of
from workbench.timebase import MICROS, format_us, to_us
from workbench.version import __version__

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from workbench.model.selector import Selector
    from workbench.store.store import Store

__all__ = ["ByUser", "by_user", "by_user_of"]

By = Literal["user", "name"]

SHOWN = 20
_TOLD = 3
_CHAIN_US = 3600 * MICROS
_HOUR_US = 3600 * MICROS


@dataclass(frozen=True, eq=False, kw_only=True)
class ByUser:
    """Share of episodes by user or name of job, beside the share of what they used; a report, never a verdict.

    Attributes
    ----------
    outcome : str
        Written selector.
    by : str
        ``user`` or ``name``.
    unit : str
        Of exposure: ``GPU-hours``, or ``host-hours`` where no GPU is known.
    episodes : int
        In all, of those whose user (name) is known.
    rows : polars.DataFrame
        One row per user (name), the surest to have more than its exposure first: ``who, episodes,
        incidents, share`` with exact 95 % bounds, ``exposure`` (hours), ``share_exposure, ratio``
        with bounds, ``per_1000_h, runs, share_runs, hosts`` (different hosts of what failed) and
        ``top_host_share`` (share of its episodes in which the most frequent host took part). NaN:
        not known.
    notes : tuple of str
    provenance : Provenance
    """

    outcome: str
    by: str
    unit: str
    episodes: int
    rows: pl.DataFrame
    notes: tuple[str, ...]
    provenance: Provenance

    @property
    def gathering(self) -> pl.DataFrame:
        """Those whose whole interval lies above their share of the exposure."""
        return self.rows.filter(pl.col("ratio_low") > 1)

    @property
    def sentence(self) -> str:
        """The result in words."""
        head = f"{self.episodes} episodes of {self.outcome} over {self.rows.height} {self.by}s"
        top = self.gathering
        if top.is_empty():
            return f"{head}: none has surely more than its share of {self.unit}."
        told = "; ".join(_words(row, self.unit) for row in top.head(_TOLD).iter_rows(named=True))
        more = f"; and {top.height - _TOLD} more" if top.height > _TOLD else ""
        return f"{head}. More than their share of {self.unit}: {told}{more}."

    @property
    def caution(self) -> str:
        """What the report cannot say."""
        return (
            f"A report, not a verdict: intervals are 95 % each, so of {self.rows.height} about {0.05 * self.rows.height:.0f} miss by "
            "luck. Failures that gather at one user on many hosts point to code, data or how jobs are started; on one host, to "
            "that host. Many short jobs start more often per hour: compare share_runs."
        )

    def table(self) -> pl.DataFrame:
        """One row per user (name)."""
        return self.rows

    def plot(self) -> go.Figure:
        """Draw the share of episodes of the first twenty, beside their share of exposure."""
        from workbench.figures.ranking import shares_figure

        top = self.rows.head(SHOWN)
        share = (top["share"].to_numpy(), top["share_low"].to_numpy(), top["share_high"].to_numpy())
        return shares_figure(
            top["who"].to_list(), share, expected=top["share_exposure"].to_numpy(),
            title=f"{self.outcome} by {self.by}", axis="share of episodes",
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"{self.sentence} .table() lists all"

    def _repr_html_(self) -> str:
        from workbench.figures.html import card_html, figure_html, table_html

        shown = self.rows.head(SHOWN)
        parts = [figure_html(self.plot()), table_html(shown.columns, shown.rows(), SHOWN)]
        return card_html(f"By {self.by}", self.sentence, notes=[self.caution, *self.notes], parts=parts)


def by_user(store: Store, *, outcome: Selector | str, by: By = "user") -> ByUser:
    """Report how the episodes of an outcome spread over users or names of jobs, against what they used.

    Parameters
    ----------
    store : Store
    outcome : Selector or str
        Of jobs, or of hosts that ran some.
    by : {"user", "name"}

    Returns
    -------
    ByUser

    Raises
    ------
    UnknownNameError, NothingToDoError
        No such events; no jobs; no incident whose job has a user (name).
    UsageError
        ``by`` is neither.
    """
    found = store.incidents(outcome)
    runs = runs_of(store)
    seen = store.observed()
    last = seen["end"].max()
    end_us = to_us(last) if isinstance(last, datetime) else max(run.start_us for run in runs)
    gpus: dict[str, int] = {}
    for name in store.entities()["entity"].unique().to_list():
        host = host_of(name)
        if host is not None and kind_of(name) == "gpu":
            gpus[host] = gpus.get(host, 0) + 1
    told = by_user_of(runs, found.items, outcome=str(found.outcome), by=by, end_us=end_us, gpus=gpus)
    return replace(told, provenance=replace(told.provenance, inputs=f"{store.path.name}@{store.version}"))


def by_user_of(
    runs: Sequence[JobRun],
    incidents: Sequence[Incident],
    *,
    outcome: str,
    by: By = "user",
    end_us: int,
    gpus: Mapping[str, int] | None = None,
) -> ByUser:
    """Report as :func:`by_user` does, of runs and incidents that are in memory.

    Parameters
    ----------
    runs : sequence of JobRun
    incidents : sequence of Incident
    outcome : str
    by : {"user", "name"}
    end_us : int
        Until when runs that were not seen to end count, UTC microseconds.
    gpus : mapping of host to number of GPUs, optional
        A host that is missing counts as the median of the others; none at all: hours of hosts.

    Examples
    --------
    >>> from workbench.timebase import from_us
    >>> runs = [JobRun(job=f"j{k}", start_us=0, end_us=10 * _HOUR_US, hosts=(f"n{k}",), user="ann" if k else "bob")
    ...         for k in range(4)]
    >>> failed = [Incident(id=str(k), kind="job", code="FAILED", entity="j0", host=None, rack=None, job="j0",
    ...           ts=from_us(k * 2 * _HOUR_US), ts_low=from_us(0), ts_high=from_us(0)) for k in range(1, 5)]
    >>> found = by_user_of(runs, failed, outcome="job:FAILED", end_us=10 * _HOUR_US)
    >>> found.rows.select("who", "episodes", "share", "share_exposure", "ratio").rows()
    [('bob', 4, 1.0, 0.25, 4.0), ('ann', 0, 0.0, 0.75, 0.0)]
    """
    if by not in ("user", "name"):
        raise UsageError(f"by={by!r} is not known; take user or name.")
    weight, unit = _weights(gpus or {})
    tally = {who: _Tally() for who in sorted({getattr(run, by) for run in runs})}
    for run in runs:
        hours = max(min(run.end_us, end_us) - run.start_us, 0) / _HOUR_US
        tally[getattr(run, by)].hours += hours * sum(weight(host) for host in run.hosts)
        tally[getattr(run, by)].runs += 1
    jobless, known = 0, by_job(runs)
    for one in sorted(incidents, key=lambda item: (item.ts, item.id)):
        hit = None if one.job is None else run_at(known, one.job, to_us(one.ts))
        if hit is None:
            jobless += 1
        else:
            hosts = (one.host,) if one.host is not None and kind_of(one.entity) != "job" else hit.hosts
            tally[getattr(hit, by)].take(to_us(one.ts), hosts)
    unnamed = tally.pop("", None)
    notes = [f"{jobless} of {len(incidents)} incidents belong to no recorded job: left out."] if jobless else []
    if unnamed is not None and unnamed.incidents:
        notes.append(
            f"{unnamed.incidents} incidents are of jobs without a {by}: left out, and so is what those jobs used."
        )
    if not any(one.episodes for one in tally.values()):
        raise NothingToDoError(
            f"None of the {len(incidents)} incidents of {outcome} is of a job with a {by}; see store.jobs()."
        )
    rows = _rows(tally)
    told = {"outcome": outcome, "by": by, "until": format_us(end_us)}
    return ByUser(
        outcome=outcome, by=by, unit=unit, episodes=int(rows["episodes"].sum()), rows=rows, notes=tuple(notes),
        provenance=Provenance(function="wb.by_user", inputs="", parameters=told, version=__version__),
    )  # fmt: skip


class _Tally:
    """What one user had and used; incidents at gaps of up to an hour are one episode."""

    def __init__(self) -> None:
        self.hours, self.runs, self.incidents, self.last = 0.0, 0, 0, -(2**62)
        self.hosts: list[set[str]] = []

    def take(self, at_us: int, hosts: Sequence[str]) -> None:
        """Count one incident; they come in order of time."""
        if at_us - self.last > _CHAIN_US:
            self.hosts.append(set())
        self.hosts[-1].update(hosts)
        self.incidents += 1
        self.last = at_us

    @property
    def episodes(self) -> int:
        return len(self.hosts)

    @property
    def top_host_share(self) -> float:
        """Share of episodes with the host that took part in most."""
        names = [host for one in self.hosts for host in one]
        return (
            max((names.count(name) for name in set(names)), default=0) / len(self.hosts) if self.hosts else float("nan")
        )


class _Weight:
    """GPUs of a host."""

    def __init__(self, gpus: Mapping[str, int]) -> None:
        self.gpus, self.usual = gpus, float(np.median(list(gpus.values()))) if gpus else 1.0

    def __call__(self, host: str) -> float:
        return float(self.gpus.get(host, self.usual))


def _weights(gpus: Mapping[str, int]) -> tuple[_Weight, str]:
    return _Weight(gpus), "GPU-hours" if gpus else "host-hours"


def _rows(tally: Mapping[str, _Tally]) -> pl.DataFrame:
    from scipy.stats import binomtest

    total = sum(one.episodes for one in tally.values())
    hours, runs = sum(one.hours for one in tally.values()), sum(one.runs for one in tally.values())
    rows = []
    for who, one in tally.items():
        bounds = binomtest(one.episodes, total).proportion_ci(0.95, method="exact")
        share, exposed = one.episodes / total, one.hours / hours if hours else float("nan")
        ratio = [
            value / exposed if exposed > 0 else float("nan") for value in (share, float(bounds.low), float(bounds.high))
        ]
        rows.append(
            (
                who, one.episodes, one.incidents, share, float(bounds.low), float(bounds.high), one.hours, exposed, *ratio,
                1000 * one.episodes / one.hours if one.hours else float("nan"), one.runs, one.runs / runs,
                len(set().union(*one.hosts)), one.top_host_share,
            )
        )  # fmt: skip
    table = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return table.sort(pl.col("ratio_low").fill_nan(-1.0), "episodes", "who", descending=[True, True, False])


_SCHEMA = {
    "who": pl.String(), "episodes": pl.Int64(), "incidents": pl.Int64(), "share": pl.Float64(), "share_low": pl.Float64(),
    "share_high": pl.Float64(), "exposure": pl.Float64(), "share_exposure": pl.Float64(), "ratio": pl.Float64(),
    "ratio_low": pl.Float64(), "ratio_high": pl.Float64(), "per_1000_h": pl.Float64(), "runs": pl.Int64(),
    "share_runs": pl.Float64(), "hosts": pl.Int64(), "top_host_share": pl.Float64(),
}  # fmt: skip


def _words(row: Mapping[str, object], unit: str) -> str:
    return (
        f"{row['who']} has {row['share']:.0%} of the episodes ({row['share_low']:.0%} to {row['share_high']:.0%}) and "
        f"{row['share_exposure']:.1%} of the {unit}, {row['ratio']:.1f} times ({row['ratio_low']:.1f} to {row['ratio_high']:.1f}), "
        f"on {row['hosts']} hosts, the most frequent in {row['top_host_share']:.0%}"
    )
