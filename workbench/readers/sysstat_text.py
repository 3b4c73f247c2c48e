"""Reports of mpstat, iostat, sar and vmstat as text.

A banner names the host and the day; rows have at most a clock, of 12 or 24 hours, so that midnight
is told by a clock that falls. The first report of iostat and vmstat is the average since boot, and
no sample; ``Average:`` rows repeat what stands above them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from workbench.model.batch import Batch
from workbench.model.context import Columns, Context
from workbench.readers.base import Match, Reader
from workbench.readers.graph import Node
from workbench.readers.rounds import Rounds
from workbench.readers.source import Source
from workbench.readers.sysstat_days import OPEN_ORDER, Days
from workbench.readers.sysstat_tables import Table, table_of
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING, line_batches
from workbench.readers.toldtimes import Span, Waiting

__all__ = ["READER"]

_BANNER = re.compile(
    r"(?:Linux|SunOS|AIX) \S+ \((?P<host>[^()\s]+)\)\s+(?P<date>\d{1,4}[-./]\d{1,2}[-./]\d{2,4})\s+_?\S+_?\s+\(\d+ CPU\)\s*"
)
_CLOCK = re.compile(r"(?P<clock>\d\d:\d\d:\d\d(?: [AP]M)?)\s+(?P<rest>\S.*)")
_STAMP = re.compile(
    r"(?P<date>\d{1,4}[-./]\d{1,2}[-./]\d{2,4})[T ](?P<clock>\d\d:\d\d:\d\d(?: [AP]M)?)(?P<zone>[+-]\d{4})?\s*"
)

_Line = tuple[int, str]  # number and text
_Stamp = tuple[str | None, str]  # a time as written, or why there is none
_Row = tuple[Node, Table, list[str]]
_AT_ONCE = 20_000
_AVERAGE = ("Average:", "Durchschn.:", "Moyenne :", "Media:")
_SINCE_BOOT = "the first report of {} is the average since boot: its rows are no samples"
_AGAIN = "another run under one time of the dump: split the file where its banner comes again"
_NO_TABLE = "row stands below no header of a report"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    lines = [line.strip() for line in head.decode(errors="replace").split("\n")[:50]]
    lines = [line for line in lines if line]
    if any(map(_BANNER.fullmatch, lines[:3])) and any(_opens_table(line) for line in lines[1:8]):
        return Match(confidence=0.95, rule="banner of sysstat with host, day and CPUs")
    if len(lines) > 1 and lines[0].startswith("procs -") and lines[1].startswith("r  b "):
        return Match(confidence=0.95, rule="two lines of headers of vmstat")
    return None


def _opens_table(line: str) -> bool:
    clock = _CLOCK.fullmatch(line)
    return table_of(clock["rest"] if clock else line, timed=clock is not None) is not None or "RESTART" in line


def _read(source: Source, context: Context) -> Iterator[Batch]:
    yield from line_batches(source, _Reports(context))


@dataclass(eq=False)
class _Reports:
    """What is known from line to line."""

    context: Context
    _days: Days = field(init=False)
    _waiting: Waiting = field(init=False)
    _rounds: Rounds = field(init=False)
    _host: str | None = None
    _table: Table | None = None
    _stamp: str | None = None  # of the report, where it has one of its own
    _why: str = ""
    _runs: int = 0
    _first: set[str] = field(default_factory=set)  # headers that came once
    _second: set[str] = field(default_factory=set)  # and again

    def __post_init__(self) -> None:
        plain = replace(self.context, columns=Columns())
        self._days = Days(self.context.columns.time_format)
        self._waiting, self._rounds = Waiting(plain), Rounds(plain)
        self._host = self.context.host

    def line(self, number: int, text: str, told: Told) -> None:
        """Take the next whole line."""
        line = text.strip()
        if not line:
            told.skip("blank")
        elif banner := _BANNER.fullmatch(line):
            self._begin(banner["host"], banner["date"], told)
        elif line.startswith(_AVERAGE):
            told.skip("average")
        elif stamp := _STAMP.fullmatch(line):
            self._stamp, self._why = self._days.stamp(stamp["date"], stamp["clock"], stamp["zone"])
            told.skip("metadata")
        elif clock := _CLOCK.fullmatch(line):
            self._timed(number, line, clock, told)
        else:
            self._untimed(number, line, told)

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell what waited."""
        del cut
        self._waiting.tell(told)

    def _begin(self, host: str, date: str, told: Told) -> None:
        self._waiting.tell(told)
        self._host, self._table, self._stamp = host, None, None
        self._days.begin(date)
        self._runs += 1
        self._first.clear()
        self._second.clear()
        told.skip("metadata")

    def _timed(self, number: int, line: str, clock: re.Match[str], told: Told) -> None:
        if (table := table_of(clock["rest"], timed=True)) is not None:
            self._table = table
            self._days.begins(clock["clock"])
            told.skip("header")
        elif "RESTART" in line:
            told.skip("metadata")
        else:
            self._row((number, line), clock["rest"].split(), self._days.clock(clock["clock"]), told)

    def _untimed(self, number: int, line: str, told: Told) -> None:
        if line.startswith("procs -"):
            told.skip("header")
        elif (table := table_of(line, timed=False)) is not None:
            self._table = table
            if table.header in self._first and table.tool != "vmstat":
                self._second.add(table.header)
            self._first.add(table.header)
            told.skip("header")
        else:
            cells = line.split()
            self._row((number, line), cells, None, told)

    def _row(self, place: _Line, cells: list[str], stamp: _Stamp | None, told: Told) -> None:
        number, line = place
        table = self._table
        if table is None or not table.holds(cells):
            told.reject(number, _NO_TABLE if table is None else table.misfit(cells), line)
            return
        device, values = table.parted(cells)
        who = self._who(table, device)
        if stamp is None:
            stamp = self._own(table, cells)
        if table.averages_first and not self._is_later(table):
            told.note(_SINCE_BOOT.format(table.tool))
            told.skip("since boot")
            self._rounds.sample((table.header, device))
            return
        if who[0] is None:
            told.reject(number, HOST_MISSING, line, curable="host")
        elif stamp is not None:
            self._wait(place, stamp, (who, table, values), told)
        else:
            self._by_rounds(place, (device, who, table, values), told)

    def _is_later(self, table: Table) -> bool:
        """Tell whether this is not the first report; of vmstat, each row is one."""
        if table.tool == "vmstat":
            later = "vmstat" in self._second
            self._second.add("vmstat")
            return later
        return table.header in self._second

    def _own(self, table: Table, cells: list[str]) -> _Stamp | None:
        """Give the time that the row itself, or its report, carries."""
        if table.stamped:
            zone = "Z" if table.zone in ("UTC", "GMT") else ""
            return f"{cells[-2]}T{cells[-1]}{zone}", ""
        return None if self._stamp is None and not self._why else (self._stamp, self._why)

    def _wait(self, place: _Line, stamp: _Stamp, row: _Row, told: Told) -> None:
        (number, line), (written, why) = place, stamp
        if written is None:
            told.reject(number, why, line, curable="map" if why == OPEN_ORDER else None)
            return

        def tell(span: Span) -> None:
            self._tell(span[0], row, told)

        self._waiting.add(number, written, line, tell=tell)
        if self._waiting.count >= _AT_ONCE:
            self._waiting.tell(told)

    def _by_rounds(self, place: _Line, row: tuple[str | None, Node, Table, list[str]], told: Told) -> None:
        number, line = place
        device, who, table, values = row
        moment = self._rounds.sample((table.header, device))
        if self._runs > 1:
            told.reject(number, _AGAIN, line)
        elif moment.ts_us is None:
            told.reject(number, moment.why, line, curable=moment.cure)
        else:
            self._tell(moment.ts_us, (who, table, values), told)

    def _tell(self, ts_us: int, row: _Row, told: Told) -> None:
        who, table, values = row
        for column, cell in zip(table.columns, values, strict=True):
            told.sample(who, column.metric, cell.replace(",", "."), ts_us=ts_us, unit=column.unit, labels=column.labels)
        told.row()

    def _who(self, table: Table, device: str | None) -> Node:
        if device is None or table.kind is None or device == "all":
            return self._host, "host", None
        return self._host, table.kind, device


READER = Reader(name="sysstat_text", recognise=_recognise, read=_read)
