"""From recorded events to incidents: which, to whom, where, in which job."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from workbench.errors import NothingToDoError, UnknownNameError
from workbench.model.incident import Incident
from workbench.model.selector import Selector
from workbench.store.places import Places, kind_of
from workbench.timebase import to_us

__all__ = ["Jobs", "find_incidents", "select_events"]


def select_events(events: pl.DataFrame, selector: Selector, places: Places) -> pl.DataFrame:
    """Give the events of a kind that a selector means.

    Parameters
    ----------
    events : polars.DataFrame
        In the shape of the ``events`` view, of the selector's kind.
    selector : Selector
    places : Places
    """
    codes = events["code"].unique().to_list()
    right = [code for code in codes if selector.matches_code(code)]
    found = events.filter(
        pl.col("code").is_in([c for c in right if c is not None]) | (pl.lit(None in right) & pl.col("code").is_null())
    )
    if selector.where is None:
        return found
    where, rows = selector.where, found.select("entity", pl.col("ts").dt.timestamp("us")).iter_rows()
    return found.filter(pl.Series([places.matches(entity, ts, where) for entity, ts in rows], dtype=pl.Boolean))


@dataclass(frozen=True, eq=False)
class Jobs:
    """Which job ran where when."""

    by_host: dict[str, list[tuple[datetime, datetime | None, str]]]
    by_job: dict[str, list[tuple[datetime | None, datetime | None, tuple[str, ...]]]]

    @classmethod
    def of(cls, jobs: pl.DataFrame) -> Jobs:
        """Take the ``jobs`` view."""
        by_host: dict[str, list[tuple[datetime, datetime | None, str]]] = {}
        by_job: dict[str, list[tuple[datetime | None, datetime | None, tuple[str, ...]]]] = {}
        for entity, hosts, start, end in jobs.select("entity", "entities", "start", "end").iter_rows():
            by_job.setdefault(entity, []).append((start, end, tuple(hosts or ())))
            for host in hosts or () if start is not None else ():
                by_host.setdefault(host, []).append((start, end, entity))
        for runs in by_host.values():
            runs.sort(key=lambda run: (run[0], run[2]))
        return cls(by_host, by_job)

    def on(self, host: str, at: datetime) -> str | None:
        """Give the job that ran on a host at a time; of several, the last to start."""
        running = [job for start, end, job in self.by_host.get(host, ()) if start <= at and (end is None or at <= end)]
        return running[-1] if running else None

    def run_of(self, job: str, at: datetime) -> tuple[int, tuple[str, ...]]:
        """Give which run of a job a time belongs to, and its hosts: the last to have started by then."""
        runs = sorted(self.by_job.get(job, ()), key=lambda run: (run[0] is not None, run[0]))
        begun = [number for number, (start, _, _) in enumerate(runs) if start is None or start <= at]
        number = begun[-1] if begun else 0
        return number, runs[number][2] if runs else ()


def find_incidents(
    events: pl.DataFrame, selector: Selector, *, places: Places, jobs: Jobs, collapse_s: float, kinds: Sequence[str]
) -> tuple[Incident, ...]:
    """Make incidents of events, oldest first.

    Events of one kind and code on one entity that follow each other within ``collapse_s`` seconds
    are one incident: the first of them, with their number. On a job, all events of one kind and
    code during one run are one incident.

    Parameters
    ----------
    events : polars.DataFrame
        In the shape of the ``events`` view, of the selector's kind.
    kinds : sequence of str
        Kinds that there are, for the message.

    Raises
    ------
    UnknownNameError
        Where there is no event of this kind.
    NothingToDoError
        Where there are some, but none with this code and place.
    """
    if events.is_empty():
        raise UnknownNameError(
            "event kind", selector.kind, sorted(kinds), "See workbench events, or store.event_kinds()."
        )
    chosen = select_events(events, selector, places)
    if chosen.is_empty():
        raise NothingToDoError(_nothing(events, selector))
    rows = chosen.sort("ts", "entity", "code", "message", nulls_last=True).iter_rows(named=True)
    found = [_incident(group, places, jobs) for group in _grouped(rows, jobs, collapse_s)]
    return tuple(sorted(found, key=lambda one: (one.ts, one.entity, one.code or "", one.id)))


def _nothing(events: pl.DataFrame, selector: Selector) -> str:
    counted = events.group_by("code").len().sort("len", "code", descending=[True, False], nulls_last=True).head(8)
    codes = ", ".join(f"{code if code is not None else 'no code'}: {count}" for code, count in counted.iter_rows())
    place = f" at '{selector.where}'" if selector.where else ""
    return f"No event matches {selector}: of kind {selector.kind} there are {events.height:,} (by code: {codes}), none of these codes{place}."


def _grouped(rows: Iterable[dict[str, Any]], jobs: Jobs, collapse_s: float) -> list[list[dict[str, Any]]]:
    last: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    groups: list[list[dict[str, Any]]] = []
    reach = timedelta(seconds=collapse_s)
    for row in rows:
        on_job = kind_of(row["entity"]) == "job"
        run = jobs.run_of(row["entity"], row["ts"])[0] if on_job else 0
        key = (row["entity"], row["kind"], row["code"], run)
        group = last.get(key)
        if group is not None and (on_job or row["ts"] - group[-1]["ts"] <= reach):
            group.append(row)
            continue
        last[key] = [row]
        groups.append(last[key])
    return groups


def _incident(group: Sequence[dict[str, Any]], places: Places, jobs: Jobs) -> Incident:
    row = group[0]
    at, at_us = row["ts"], to_us(row["ts"])
    if kind_of(row["entity"]) == "job":
        _, hosts = jobs.run_of(row["entity"], at)
        host, job = (hosts[0] if len(hosts) == 1 else None), row["entity"]
    else:
        host = places.host(row["entity"], at_us)
        hosts = () if host is None else (host,)
        job = None if host is None else jobs.on(host, at)
    rack = places.rack(host if host is not None else row["entity"], at_us)
    key = "|".join((row["kind"], row["code"] or "", row["entity"], str(at_us)))
    return Incident(
        id=hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()[:12], kind=row["kind"], code=row["code"],
        entity=row["entity"], host=host, rack=rack, job=job, ts=at, ts_low=row["ts_low"], ts_high=row["ts_high"],
        message=row["message"] or "", hosts=hosts, count=len(group),
    )  # fmt: skip
