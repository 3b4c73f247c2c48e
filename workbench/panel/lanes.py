"""Events around a moment, by lane: counts for drawing, rows for reading, jobs, and the gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.figures.incident import Bar, Lane, Moment
from workbench.model.incident import Incident
from workbench.panel.peers import host_of
from workbench.panel.view import View, as_list, as_moment, as_text, look
from workbench.timebase import MICROS, format_us, to_us

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = [
    "LANES",
    "bars",
    "event_counts",
    "event_rows",
    "folded",
    "job_rows",
    "lane_of",
    "lanes",
    "moment_of",
    "nearest_note",
]

Span = tuple[int, int]

#: Lanes from top to bottom, with the first words of the event kinds that lie in them.
LANES: dict[str, tuple[str, ...]] = {
    "xid/sxid": ("xid", "sxid", "nvlink", "ecc", "gpu", "throttle"),
    "kernel/log": (
        "kernel",
        "log",
        "peermem",
        "mce",
        "aer",
        "oom",
        "edac",
        "pcie",
        "reboot",
        "boot",
        "lockup",
        "hung",
        "panic",
        "segfault",
    ),
    "jobs": ("job", "drain", "resume", "nccl", "straggler", "slowdown", "node", "slurm", "step"),
    "link": ("link", "port", "ib", "switch", "roce", "ethernet", "nic", "optic"),
    "nfs": ("nfs", "storage", "disk", "nvme", "filesystem", "mount", "lustre", "checkpoint"),
    "other": (),
}
_MOST_BARS = 3
_MOST_HOSTS = 64


def lane_of(kind: str) -> str:
    """Tell the lane of an event kind by the first word of it.

    Examples
    --------
    >>> lane_of("sxid"), lane_of("nccl.timeout"), lane_of("link.flap"), lane_of("anything")
    ('xid/sxid', 'jobs', 'link', 'other')
    """
    first = kind.split(".", 1)[0].split(":", 1)[0].split("_", 1)[0]
    return next((lane for lane, starts in LANES.items() if first in starts), "other")


def moment_of(incident: Incident) -> Moment:
    """Give when an incident was recorded, and the bounds within which it happened, for drawing."""
    what = f"{incident.kind} {incident.code}" if incident.code else incident.kind
    return Moment(
        ts_us=to_us(incident.ts),
        low_us=to_us(incident.ts_low),
        high_us=to_us(incident.ts_high),
        label=f"{what} on {incident.entity}",
    )


def _hosts_of(incident: Incident) -> list[str]:
    """Give the hosts concerned; of a very large job the first ones by name."""
    one = incident.host or host_of(incident.entity)
    return sorted({*incident.hosts, *([one] if one else [])})[:_MOST_HOSTS]


def _is_own(incident: Incident) -> str:
    """SQL condition: the event is on the entity, its hosts, anything in those, or its job."""
    hosts = _hosts_of(incident)
    names = sorted({incident.entity, *hosts, *([incident.job] if incident.job else [])})
    terms = [f"list_contains({as_list(names)}, entity)"]
    terms += [f"starts_with(entity, {as_text(host + '/')})" for host in hosts]
    return "(" + " or ".join(terms) + ")"


def event_counts(store: Store, incident: Incident, span: Span, cells: int) -> View:
    """Count events per lane's kind, place and cell of a span.

    Parameters
    ----------
    store : Store
    incident : Incident
        Events on its entity, its hosts, anything in those, and its job count as ``own``.
    span : (low, high)
        UTC microseconds; ``high`` is not within.
    cells : int

    Returns
    -------
    View
        ``kind, own, cell, events, code, first, message``; code and message are those of the first.
    """
    step = max(1, -(-(span[1] - span[0]) // cells))
    sql = (
        f"select kind, {_is_own(incident)} as own, (epoch_us(ts) - {span[0]}) // {step} as cell, count(*) as events,\n"
        "  arg_min(code, ts) as code, min(ts) as first, arg_min(message, ts) as message\n"
        f"from events where ts >= {as_moment(span[0])} and ts < {as_moment(span[1])}\n"
        "group by all order by kind, own, cell"
    )
    return look(store, "timeline", sql)


def lanes(counts: View, jobs: View, span: Span, cells: int) -> list[Lane]:
    """Arrange counted events and jobs as rows of a picture."""
    step = max(1, -(-(span[1] - span[0]) // cells))
    arrays = {(name, mine): np.zeros(cells, dtype=np.int64) for name in LANES for mine in (True, False)}
    told: dict[str, dict[int, list[dict[str, Any]]]] = {name: {} for name in LANES}
    for row in counts.frame.iter_rows(named=True):
        name = lane_of(row["kind"])
        arrays[name, bool(row["own"])][row["cell"]] += row["events"]
        told[name].setdefault(row["cell"], []).append(row)
    return [
        Lane(
            name=name,
            own=arrays[name, True],
            other=arrays[name, False],
            tips={cell: _tip(rows, span[0] + cell * step, step) for cell, rows in told[name].items()},
            bars=bars(jobs) if name == "jobs" else (),
        )
        for name in LANES
    ]


def _tip(rows: list[dict[str, Any]], start_us: int, step_us: int) -> str:
    totals: dict[str, int] = {}
    for row in rows:
        totals[row["kind"]] = totals.get(row["kind"], 0) + row["events"]
    kinds = ", ".join(f"{kind} ×{count}" for kind, count in sorted(totals.items(), key=lambda pair: -pair[1])[:4])
    first = min(rows, key=lambda row: row["first"])
    message = (first["message"] or "")[:120]
    return f"{format_us(start_us)} + {step_us / MICROS:g}s: {kinds}. First: {message}"


def event_rows(store: Store, incident: Incident, span: Span, *, limit: int = 500) -> View:
    """Give the events of a span to read, at most ``limit``: own first, then the nearest to the incident.

    Returns
    -------
    View
        ``ts, ts_low, ts_high, lane kind, code, severity, entity, own, message``, by time; the note
        says what was left out, or what is nearest where there is nothing.
    """
    inside = f"ts >= {as_moment(span[0])} and ts < {as_moment(span[1])}"
    middle = as_moment(min(max(to_us(incident.ts), span[0]), span[1]))
    sql = (
        "select ts, ts_low, ts_high, kind, code, severity, entity, own, message from (\n"
        f"  select *, {_is_own(incident)} as own from events where {inside}\n"
        f"  order by own desc, abs(epoch_us(ts) - epoch_us({middle})), entity, kind, message limit {limit}\n"
        ") order by ts, entity, kind, message"
    )
    view = look(store, "events", sql)
    if view.frame.is_empty():
        return View(name=view.name, sql=sql, frame=view.frame, note=nearest_note(store, "events", span))
    if view.frame.height < limit:
        return view
    total = int(store.sql(f"select count(*) as n from events where {inside}")["n"][0])
    cut = f"{limit:,} of {total:,} events: those on the entity itself, then the nearest to the incident"
    return View(name=view.name, sql=sql, frame=view.frame, note=cut if total > limit else "")


def folded(events: View) -> list[dict[str, Any]]:
    """Take runs of the same event (kind, code, entity and message) together.

    Returns
    -------
    list of dict
        The rows of the view, with ``times`` (how many) and ``until`` (time of the last).
    """
    result: list[dict[str, Any]] = []
    same = ("kind", "code", "entity", "message")
    for row in events.frame.iter_rows(named=True):
        if result and all(result[-1][name] == row[name] for name in same):
            result[-1] |= {"times": result[-1]["times"] + 1, "until": row["ts"]}
        else:
            result.append({**row, "times": 1, "until": row["ts"]})
    return result


def nearest_note(store: Store, source: str, span: Span, where: str = "true") -> str:
    """Say that a span holds no rows of a view, and when the nearest ones are."""
    sql = (
        f"select max(ts) filter (ts < {as_moment(span[0])}) as before, min(ts) filter (ts >= {as_moment(span[1])}) as after\n"
        f"from {source} where {where}"
    )
    before, after = store.sql(sql).row(0)
    near = [
        f"{word} {format_us(to_us(ts))}"
        for word, ts in (("last before:", before), ("first after:", after))
        if ts is not None
    ]
    found = "; ".join(near) if near else "none at any time"
    return f"no rows from {format_us(span[0])} to {format_us(span[1])} ({found})"


def job_rows(store: Store, incident: Incident, span: Span) -> View:
    """Give the jobs that ran on the incident's hosts, and its own job, within a span."""
    hosts = _hosts_of(incident)
    terms = [f"list_has_any(entities, {as_list(hosts)})"] if hosts else []
    if incident.job:
        terms.append(f"entity = {as_text(incident.job)}")
    sql = (
        'select job, attempt, submitted, start, "end", state, exit, "user", len(entities) as entities from jobs\n'
        f'where start < {as_moment(span[1])} and ("end" is null or "end" >= {as_moment(span[0])})\n'
        f"  and ({' or '.join(terms) or 'false'}) order by start, job"
    )
    return look(store, "jobs", sql)


def bars(jobs: View) -> list[Bar]:
    """Give the last few jobs as bars; the row says how many more there are."""
    rows = jobs.frame.tail(_MOST_BARS).to_dicts()
    more = jobs.frame.height - len(rows)
    tail = f" (and {more} earlier)" if more > 0 else ""
    return [
        Bar(
            start_us=to_us(row["start"]),
            end_us=None if row["end"] is None else to_us(row["end"]),
            label=f"job {row['job']} {row['state'] or 'running'}, {row['user'] or 'user not known'}, {row['entities']} hosts"
            + (tail if at == 0 else ""),
        )
        for at, row in enumerate(rows)
    ]
