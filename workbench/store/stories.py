"""What events have to do with one another: told twice, come in bursts, or follow another one."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import polars as pl

from workbench.model.eventcode import event_code
from workbench.model.logtemplates import TEMPLATE
from workbench.model.selector import Selector
from workbench.store.incidents import Jobs
from workbench.timebase import MICROS, to_us

__all__ = ["FOLLOWS", "Told", "bursts", "follows", "told_of", "told_once"]

_KEY = ["entity", "kind", "code"]
#: Faults of programs that are no faults where a peer of the job has just failed.
_OF_PEERS = frozenset({"13", "31", "43"})
_SKEW_S = 1.0  # clocks of hosts that are kept in step differ by less
_NAMED_WITHIN_S = 60.0
#: Shape of what :func:`follows` gives.
FOLLOWS = pl.Schema(
    {
        "ts": pl.Datetime("us", "UTC"),
        "entity": pl.String(),
        "kind": pl.String(),
        "code": pl.String(),
        "after_ts": pl.Datetime("us", "UTC"),
        "after_entity": pl.String(),
        "after_kind": pl.String(),
        "after_code": pl.String(),
        "lag_s": pl.Float64(),
        "rule": pl.String(),
    }
)


class Told(Protocol):
    """What is asked of a store to gather its events."""

    def frame(self, query: str) -> pl.DataFrame:
        """Answer a query on the views."""
        ...

    def events(self, selector: Selector | str | None = None) -> pl.DataFrame:
        """Give the events that a selector means."""
        ...


def told_of(store: Told, selector: Selector | str | None = None) -> pl.DataFrame:
    """Give the events of a store, or those that a selector means: each once, with all files that tell of it."""
    told = store.frame("from events_told")
    if selector is None:
        return told_once(told)
    wanted = store.events(selector)
    if (wanted["kind"] == TEMPLATE).all():  # files tell its lines, under the kind that these have
        lines = wanted.select("ts", "entity", "message", "kind", "code").unique()
        bare = told.filter(pl.col("code").is_null()).drop("kind", "code")
        return told_once(bare.join(lines, on=["ts", "entity", "message"], nulls_equal=True).select(told.columns))
    keys = wanted.select("ts", *_KEY).unique()
    return told_once(told.join(keys, on=["ts", *_KEY], how="semi", nulls_equal=True))


def bursts(events: pl.DataFrame, *, gap_s: float) -> pl.DataFrame:
    """Make one row of events of one entity, kind and code that follow each other closely.

    Parameters
    ----------
    events : polars.DataFrame
        In the shape of the ``events`` view.
    gap_s : float
        A longer silence than this begins a new burst.

    Returns
    -------
    polars.DataFrame
        ``ts`` (of the first), ``last``, ``entity, kind, code, count``, ``sources`` (how many files
        tell of it), ``severity, message, line, source`` of the first; oldest first.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> at = [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in (0, 1, 9)]
    >>> rows = {"ts": at, "entity": "c/n1/gpu:0", "kind": "xid", "code": "95", "severity": "err", "message": "m"}
    >>> bursts(pl.DataFrame(rows | {"line": [1, 2, 3], "source": "f"}), gap_s=5)["count"].to_list()
    [2, 1]
    """
    ordered = events.sort(*_KEY, "ts", "source", "line", nulls_last=True, maintain_order=True)
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in _KEY)
    near = (pl.col("ts") - pl.col("ts").shift(1)).dt.total_microseconds() <= gap_s * MICROS
    numbered = ordered.with_columns(burst=(~(same & near).fill_null(value=False)).cum_sum())
    told = numbered.group_by("burst", maintain_order=True).agg(
        pl.col("ts").first(),
        pl.col("ts").last().alias("last"),
        *(pl.col(name).first() for name in _KEY),
        pl.len().cast(pl.Int64).alias("count"),
        pl.col("source").n_unique().cast(pl.Int64).alias("sources"),
        *(pl.col(name).first() for name in ("severity", "message", "line", "source")),
    )
    return told.drop("burst").sort("ts", *_KEY, nulls_last=True)


def told_once(events: pl.DataFrame, *, within_s: float = 2.0) -> pl.DataFrame:
    """Make one event of those that several files tell: a kernel log, a journal, a syslog.

    Of one entity, kind, code and message (of an SXid the message may differ, because Fabric Manager
    words it in its own way), told by different files within ``within_s`` of each other. What one
    file tells twice happened twice. The ``ts`` is of the file that knows it most exactly.

    Parameters
    ----------
    events : polars.DataFrame
        In the shape of the ``events`` view.
    within_s : float
        Clocks of relays and whole seconds blur by so much.

    Returns
    -------
    polars.DataFrame
        The same columns, and ``sources`` (list of str), oldest first.
    """
    if not within_s >= 0:
        raise ValueError(f"within_s is {within_s}; give seconds, 0 or more")
    words = pl.when(pl.col("kind") == "sxid").then(pl.lit("")).otherwise(pl.col("message").fill_null(""))
    rows = events.with_columns(words=words).with_row_index("row")
    several = pl.col("source").n_unique().over(*_KEY, "words") > 1
    rows = rows.sort(*_KEY, "words", "ts", "source", "line", nulls_last=True)
    some, alone = rows.filter(several), rows.filter(~several)
    groups = _matched(some.select("row", *_KEY, "words", "ts", "source").iter_rows(), round(within_s * MICROS))
    group = pl.DataFrame(list(groups), schema={"row": pl.UInt32, "group": pl.Int64}, orient="row")
    exact = (pl.col("ts_high") - pl.col("ts_low")).dt.total_microseconds().fill_null(2**62)
    kept = some.join(group, on="row", how="left").sort("group", exact, "ts", "source")
    names = [name for name in events.columns if name != "source"]
    merged = kept.group_by("group", maintain_order=True).agg(
        *(pl.col(name).first() for name in names),
        pl.col("source").first(),
        pl.col("source").unique().sort().alias("sources"),
    )
    single = alone.with_columns(sources=pl.concat_list("source"))
    columns = [*events.columns, "sources"]
    return pl.concat([merged.select(columns), single.select(columns)]).sort("ts", *_KEY, "line", nulls_last=True)


def _matched(rows: Iterable[tuple[Any, ...]], within_us: int) -> Iterator[tuple[int, int]]:
    """Pair rows, sorted by what they tell and then by time, each with the first open group it fits."""
    key: tuple[Any, ...] | None = None
    open_groups: list[tuple[int, int, set[str]]] = []
    for row, entity, kind, code, words, ts, source in rows:
        if key != (entity, kind, code, words):
            key, open_groups = (entity, kind, code, words), []
        at = to_us(ts)
        open_groups = [group for group in open_groups if at - group[1] <= within_us]
        home = next((group for group in open_groups if source not in group[2]), None)
        if home is None:
            home = (row, at, set())
            open_groups.append(home)
        home[2].add(source)
        yield row, home[0]


@dataclass(frozen=True)
class _Event:
    us: int
    entity: str
    kind: str
    code: str | None
    job: str | None
    attributes: str

    @property
    def host(self) -> str:
        return "/".join(self.entity.split("/")[:2])


@dataclass
class _Index:
    """Events in order of time, by where they happened."""

    at: dict[str, list[_Event]] = field(default_factory=dict)
    times: dict[str, list[int]] = field(default_factory=dict)

    def add(self, place: str, event: _Event) -> None:
        self.at.setdefault(place, []).append(event)
        self.times.setdefault(place, []).append(event.us)

    def between(self, place: str | None, low: int, high: int) -> list[_Event]:
        if place is None or place not in self.at:
            return []
        times = self.times[place]
        return self.at[place][bisect_left(times, low) : bisect_left(times, high + 1)]


def follows(events: pl.DataFrame, jobs: pl.DataFrame, *, within_s: float = 5.0) -> pl.DataFrame:
    """Say which events are known to follow another one that happened shortly before.

    In this order: what names its cause itself (``caused by previous Xid``); what the catalogue says
    of events of the same device, or of the same host; what it says of peers of the job; and faults
    of programs (Xid 13, 31, 43) on peers of a GPU that failed for reasons of its own. An event that
    follows nothing has no row. This is what usually is so, and a matter of time and place alone.

    Parameters
    ----------
    events, jobs : polars.DataFrame
        In the shape of the views of a store.
    within_s : float
        How long after a failure its consequences may come; 5 s as in Delta (arXiv 2503.11901).

    Returns
    -------
    polars.DataFrame
        In the shape of ``FOLLOWS``: ``lag_s`` is the time from the cause to what follows (below 0
        where clocks of two hosts differ), ``rule`` names why.
    """
    if not 0 <= within_s < float("inf"):
        raise ValueError(f"within_s is {within_s}; give seconds, 0 or more")
    told = list(_events(events, Jobs.of(jobs)))
    index = _Index()
    for event in told:
        index.add(event.host, event)
        if event.job is not None:
            index.add(f"job {event.job}", event)
    rows = []
    for event in told:
        cause = _cause(event, index, round(within_s * MICROS))
        if cause is not None:
            after, rule = cause
            lag_s = (event.us - after.us) / MICROS
            rows.append(
                (
                    event.us,
                    event.entity,
                    event.kind,
                    event.code,
                    after.us,
                    after.entity,
                    after.kind,
                    after.code,
                    lag_s,
                    rule,
                )
            )
    flat = {name: pl.Int64() if name.endswith("ts") else kind for name, kind in FOLLOWS.items()}
    return pl.DataFrame(rows, schema=flat, orient="row").cast(FOLLOWS)


def _events(events: pl.DataFrame, jobs: Jobs) -> Iterator[_Event]:
    kinds = ["xid", "sxid", "aer", "gpu_lost", "pcie"]
    chosen = events.filter(pl.col("kind").is_in(kinds)).sort("ts", "entity", "kind", "code", nulls_last=True)
    for ts, entity, kind, code, attributes in chosen.select("ts", "entity", "kind", "code", "attributes").iter_rows():
        host = "/".join(entity.split("/")[:2])
        yield _Event(to_us(ts), entity, kind, code, jobs.on(host, ts), attributes or "{}")


def _cause(event: _Event, index: _Index, within_us: int) -> tuple[_Event, str] | None:
    known = event_code(event.kind, event.code)
    if known is None:
        return None
    skew = round(_SKEW_S * MICROS)
    named = _named(event)
    if named is not None:
        low = event.us - max(round(_NAMED_WITHIN_S * MICROS), within_us)
        for place in (event.host, _job(event)):
            found = [
                one
                for one in index.between(place, low, event.us + skew)
                if (one.kind, one.code) == ("xid", named) and one is not event
            ]
            if found:
                same = [one for one in found if one.entity == event.entity]
                return (same or found)[-1], "names its cause: caused by previous Xid"
    listed = {tuple(text.split("@")) for text in known.follows}
    own = [one for one in index.between(event.host, event.us - within_us, event.us) if one is not event]
    for one in reversed(own):
        if (_written(one), "same") in listed or (_written(one), "peers") in listed:
            if one.entity == event.entity:
                return one, f"{event.kind} {event.code} follows {_written(one)} on the same device"
        elif (_written(one), "host") in listed:
            return one, f"{event.kind} {event.code} follows {_written(one)} on the same host"
    return _of_peers(event, index, within_us, listed)


def _of_peers(event: _Event, index: _Index, within_us: int, listed: set[tuple[str, ...]]) -> tuple[_Event, str] | None:
    """Give the first failure of another device of the host or the job."""
    for place, where in ((event.host, "of the same host"), (_job(event), "of the same job")):
        skew = 0 if place == event.host else round(_SKEW_S * MICROS)
        for one in index.between(place, event.us - within_us, event.us + skew):
            if one.entity == event.entity or one.job != event.job:
                continue
            if (_written(one), "peers") in listed:
                return one, f"{event.kind} {event.code} follows {_written(one)} on a peer {where}"
            if event.kind == "xid" and event.code in _OF_PEERS and _failed(one):
                return one, f"xid {event.code} of a program after a failure ({_written(one)}) on a peer {where}"
    return None


def _failed(one: _Event) -> bool:
    known = event_code(one.kind, one.code)
    return known is not None and known.role == "root" and known.origin in ("hardware", "link", "driver")


def _written(one: _Event) -> str:
    return f"{one.kind}:{one.code or ''}"


def _job(event: _Event) -> str | None:
    return None if event.job is None else f"job {event.job}"


def _named(event: _Event) -> str | None:
    """Give the Xid that an event names as its cause."""
    if '"caused_by"' not in event.attributes:
        return None
    told = json.loads(event.attributes).get("caused_by")
    return None if told is None else str(told)
