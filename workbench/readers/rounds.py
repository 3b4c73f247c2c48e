"""Times of dumps that hold none, or one in a line above each sample: what comes again is the next sample."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field

import polars as pl

from workbench.errors import UsageError
from workbench.model.context import Context
from workbench.readers.dumptime import iso_of_ctime
from workbench.readers.gpu_table import INTERVAL_MISSING
from workbench.readers.stamps import EARLIEST_US, LATEST_US
from workbench.readers.timecells import Clocks, TimeRule, read_times
from workbench.readers.told import TAKEN_AT_MISSING
from workbench.timebase import parse_time

__all__ = ["Moment", "Rounds", "dated"]

_HEADING = re.compile(
    r"[#=*\s-]*("
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
    r"|(?:[A-Z][a-z]{2} +)?[A-Z][a-z]{2} +\d{1,2} +\d\d:\d\d:\d\d(?: +[A-Z]{1,5})? +\d{4}"
    r"|1\d{9}(?:\.\d{1,6})?"
    r")(?:[\s#=*-]+(.*?))?[\s#=*-]*"
)

_ZONED = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-](?:0\d|1[0-3]):?[0-5]\d)")


def dated(text: str) -> tuple[str, str] | None:
    """Give the time and the rest of a line that begins with one, as loops print it above each sample.

    Examples
    --------
    >>> dated("# 2025-11-02T03:14:00+00:00 node-a01 enp94s0np0")
    ('2025-11-02T03:14:00+00:00', 'node-a01 enp94s0np0')
    >>> dated("Sun Nov  2 03:14:00 UTC 2025"), dated("rx_packets: 7")
    (('2025-11-02 03:14:00Z', ''), None)
    """
    found = _HEADING.fullmatch(text)
    return None if found is None else (iso_of_ctime(found[1]), found[2] or "")


def _absolute(stamp: str) -> int | None:
    """Read a time with a zone at once: a column of one is slow, and loops print thousands."""
    if not _ZONED.fullmatch(stamp):
        return None
    try:
        us = parse_time(stamp)
    except UsageError:
        return None
    return us if EARLIEST_US <= us < LATEST_US else None


@dataclass(frozen=True, kw_only=True)
class Moment:
    """When a sample was taken (UTC microseconds); or why that is not known, and what would cure it."""

    ts_us: int | None
    why: str = ""
    cure: str | None = None


@dataclass(eq=False)
class Rounds:
    """Gives each sample its time.

    Examples
    --------
    >>> rounds = Rounds(Context(taken_at_us=0, interval_s=30))
    >>> [rounds.sample("eth0").ts_us, rounds.sample("eth1").ts_us, rounds.sample("eth0").ts_us]
    [0, 0, 30000000]
    >>> rounds.say("2025-11-02T03:14:00Z")
    >>> rounds.sample("eth0").ts_us
    1762053240000000
    """

    context: Context
    _round: int = 0
    _seen: set[Hashable] = field(default_factory=set)
    _stated: Moment | None = None
    _clocks: Clocks = field(init=False)

    def __post_init__(self) -> None:
        self._clocks = Clocks(rule=TimeRule.of(self.context))

    def say(self, stamp: str) -> None:
        """Take a time that stands above the samples that follow."""
        self._seen.clear()
        if (absolute := _absolute(stamp)) is not None:
            self._stated = Moment(ts_us=absolute)
            return
        times = read_times(pl.Series([stamp]), self._clocks)
        ts_us, why, cure = times.select("ts", "reason", "curable").row(0)
        self._stated = Moment(ts_us=ts_us, why=why or "", cure=cure)

    def sample(self, who: Hashable) -> Moment:
        """Give the time of the next sample of a thing; ask once a sample."""
        if who in self._seen:
            self._round += 1
            self._seen.clear()
            if self._stated is not None:
                self._stated = Moment(ts_us=None, why="a second sample under one time")
        self._seen.add(who)
        if self._stated is not None:
            return self._stated
        start, step_s = self.context.taken_at_us, self.context.interval_s
        if start is None:
            return Moment(ts_us=None, why=TAKEN_AT_MISSING, cure="taken_at")
        if self._round == 0:
            return Moment(ts_us=start)
        if step_s is None:
            return Moment(ts_us=None, why=INTERVAL_MISSING, cure="interval")
        return Moment(ts_us=start + self._round * round(step_s * 1e6))
