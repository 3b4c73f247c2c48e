"""One Xid, told by several sources: who tells of it, who was looking and does not, and how far apart they are."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from workbench.model.frames import TS
from workbench.model.selector import Selector
from workbench.store.stories import told_of
from workbench.timebase import MICROS, to_us

__all__ = ["RECONCILED", "reconciled"]

#: Shape of the answer.
RECONCILED = pl.Schema(
    {
        "ts": TS, "ts_low": TS, "ts_high": TS, "entity": pl.String(), "code": pl.String(),
        "told_by": pl.List(pl.String()), "silent": pl.List(pl.String()), "apart_s": pl.Float64(), "note": pl.String(),
    }
)  # fmt: skip
GAUGE, KERNEL, BMC = "exporter", "log", "bmc"
_METRIC = "gpu.xid_last"
_SLACK_US = 5 * MICROS  # clocks of one host, and what a BMC takes to write
_OVERWRITTEN = "another Xid came before the next sample of the gauge, which holds the last one only"
_STICKY = "the gauge held this code already: it cannot show it again"
_CHANGES = f"""
with told as (
    select entity, ts, value, lag(value) over w as before, lag(ts) over w as since
    from samples where metric = '{_METRIC}' window w as (partition by entity order by ts)
)
select entity, since as low, ts as high, cast(value as bigint) as code, cast(before as bigint) as held
from told where before is not null and value <> before order by entity, ts
"""
_NEXT = f"""
with xid as (select entity, ts_high from events where kind = 'xid'),
told as (select entity, ts, value from samples where metric = '{_METRIC}')
select distinct xid.entity, xid.ts_high, told.ts, cast(told.value as bigint)
from xid asof join told on xid.entity = told.entity and told.ts >= xid.ts_high
"""
_BMC_TELLS = (
    "select ts, ts_low, ts_high, entity, message from events where kind in ('sel', 'bmc') and message ilike '%xid%'"
)
_CODE = re.compile(r"\bxid\D{0,5}(\d{1,4})\b", re.IGNORECASE)


class _Asked(Protocol):
    """What is asked of a store."""

    def frame(self, query: str) -> pl.DataFrame:
        """Answer a query on the views."""
        ...

    def events(self, selector: Selector | str | None = None) -> pl.DataFrame:
        """Give the events that a selector means."""
        ...


@dataclass
class _One:
    """One Xid as it is pieced together; times in UTC microseconds."""

    entity: str
    code: str
    low: int
    high: int
    told: dict[str, int] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class _Step:
    """The gauge went from one code to another between two samples."""

    low: int
    high: int
    code: int
    held: int


def reconciled(store: _Asked) -> pl.DataFrame:
    """Make one row of each Xid that logs, the exporter's gauge of the last Xid, and BMCs tell of.

    The gauge is sticky: it tells of an Xid between two of its samples, and of a second equal one not
    at all. A source is ``silent`` where it was looking and could have told.

    Parameters
    ----------
    store : Store

    Returns
    -------
    polars.DataFrame
        In the shape of ``RECONCILED``, oldest first: ``told_by`` and ``silent`` out of ``log``,
        ``exporter`` and ``bmc``; ``apart_s``: seconds between the earliest and the latest of them
        beyond what their own uncertainty explains (null where one tells alone).

    Examples
    --------
    ``reconciled(store).filter(pl.col("silent").list.len() > 0)``
    """
    steps = _steps(store)
    after = {(who, to_us(at)): (to_us(ts), str(code)) for who, at, ts, code in store.frame(_NEXT).iter_rows()}
    found = [_of_log(row) for row in told_of(store, "xid").iter_rows(named=True)]
    times = _times(found)
    used = _match_gauge(found, steps)
    for entity, changes in steps.items():
        for place, step in enumerate(changes):
            if step.code > 0 and (entity, place) not in used:
                found.append(_One(entity, str(step.code), step.low, step.high, {GAUGE: 0}))
    _match_bmc(found, store.frame(_BMC_TELLS))
    rows = [_row(one, steps, after.get((one.entity, one.high)), times) for one in found]
    told = {name: pl.Int64() if kind == TS else kind for name, kind in RECONCILED.items()}
    frame = pl.DataFrame(rows, schema=told, orient="row")
    return frame.cast(dict(RECONCILED)).sort("ts", "entity", "code")  # type: ignore[arg-type]  # polars names its own types


def _steps(store: _Asked) -> dict[str, list[_Step]]:
    steps: dict[str, list[_Step]] = {}
    for entity, low, high, code, held in store.frame(_CHANGES).iter_rows():
        steps.setdefault(entity, []).append(_Step(to_us(low), to_us(high), int(code), int(held)))
    return steps


def _of_log(row: dict[str, object]) -> _One:
    low, high = (to_us(row[name]) for name in ("ts_low", "ts_high"))  # type: ignore[arg-type]  # datetimes, never null
    return _One(str(row["entity"]), str(row["code"]), low, high, {KERNEL: 0})


def _match_gauge(found: Iterable[_One], steps: dict[str, list[_Step]]) -> set[tuple[str, int]]:
    """Give each Xid of a log the step of the gauge that shows it; the nearest, each step once."""
    used: set[tuple[str, int]] = set()
    for one in sorted(found, key=lambda event: event.low):
        changes = steps.get(one.entity, [])
        first = max(bisect_left([step.high for step in changes], one.low - _SLACK_US), 0)
        for place in range(first, len(changes)):
            step = changes[place]
            if step.low > one.high + _SLACK_US:
                break
            if str(step.code) == one.code and (one.entity, place) not in used:
                used.add((one.entity, place))
                one.told[GAUGE] = _gap((one.low, one.high), (step.low, step.high))
                break
    return used


def _match_bmc(found: list[_One], tells: pl.DataFrame) -> None:
    """Give each Xid that a BMC names to the nearest one of its host and code."""
    for _, low, high, entity, message in tells.iter_rows():
        code = _CODE.search(message)
        if code is None:
            continue
        host, span = "/".join(entity.split("/")[:2]), (to_us(low), to_us(high))
        near = [
            one for one in found
            if one.code == code[1] and one.entity.startswith(host + "/") and abs(_gap((one.low, one.high), span)) <= 12 * _SLACK_US
        ]  # fmt: skip
        if near:
            best = min(near, key=lambda one: abs(_gap((one.low, one.high), span)))
            best.told[BMC] = _gap((best.low, best.high), span)


def _gap(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Microseconds between two spans, with their order as sign; 0 where they meet."""
    if other[0] > one[1]:
        return other[0] - one[1]
    return other[1] - one[0] if other[1] < one[0] else 0


def _times(found: Iterable[_One]) -> dict[str, list[int]]:
    times: dict[str, list[int]] = {}
    for one in sorted(found, key=lambda event: event.low):
        times.setdefault(one.entity, []).append(one.low)
    return times


def _row(
    one: _One, steps: dict[str, list[_Step]], after: tuple[int, str] | None, times: dict[str, list[int]]
) -> tuple[object, ...]:
    silent = [] if KERNEL in one.told else [KERNEL]
    if GAUGE not in one.told and after is not None:
        held = next((step.code for step in reversed(steps.get(one.entity, [])) if step.high <= one.low), None)
        later = times[one.entity]
        if str(held) == one.code:
            one.note = _STICKY
        elif bisect_left(later, after[0]) > bisect_left(later, one.high + 1):
            one.note = _OVERWRITTEN
        elif after[1] != one.code:
            silent.append(GAUGE)
    gaps = [0, *one.told.values()]
    apart = (max(gaps) - min(gaps)) / MICROS if len(one.told) > 1 else None
    return (one.low, one.low, one.high, one.entity, one.code, sorted(one.told), silent, apart, one.note)
