"""The event log of a BMC: ``ipmitool sel list``, ``elist``, ``-c`` and ``-v``.

An asserted record is an event ``sel``, a deasserted one ``sel.cleared``; the code is what happened,
as one word (``uncorrectable_ecc``). Records from before the BMC had a clock wait for its start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.ipmi_records import Record, record_of, verbose_record
from workbench.readers.ipmi_times import wall_of
from workbench.readers.source import Source
from workbench.readers.text import matched_share
from workbench.readers.timecells import Clocks, TimeRule
from workbench.readers.told import Told
from workbench.readers.toldlines import line_batches
from workbench.timebase import MICROS, format_us

__all__ = ["READER"]

_WHEN = r"(?:\d\d/\d\d/\d{2,4}|Pre-Init(?: Time-stamp)?|OEM record [0-9a-f]{2})"
_LINE = rf"^(?:[A-Za-z][\w.-]*: )? *[0-9a-f]{{1,4}} *(?:\| *{_WHEN} *\||, ?{_WHEN} ?,)"
_BEGINS = re.compile(r"SEL Record ID +: ?[0-9a-fA-F]{1,4}")
_KEY = re.compile(r" ?([A-Z][\w /()-]{1,40}?) *: ?(.*)")
_NOTHING = re.compile(r"SEL has no entries|SEL (?:Information|Entries?)\b.*")
_LIMIT = 500_000  # records that wait for their times to be told
_OTHER_START = "counts from another start of the BMC than the stated one (boot_at)"
_NO_START = "seconds since the BMC started: state when it did (boot_at in a mapping, --map)"
_SECOND_US = 1_000_000


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    share = matched_share(head, _LINE)
    if share >= 0.5:
        return Match(confidence=0.9, rule=f"{share:.0%} of the first lines are records of an IPMI event log")
    if matched_share(head, rf"^{_BEGINS.pattern}") and matched_share(head, _KEY.pattern) > 0.6:
        return Match(confidence=0.9, rule="records of an IPMI event log, one field a line")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return line_batches(source, _Log(context))


@dataclass(eq=False)
class _Log:
    """What is known from line to line."""

    context: Context
    _clocks: Clocks = field(init=False)
    _waiting: list[Record] = field(default_factory=list)
    _seen: set[tuple[str | None, str]] = field(default_factory=set)
    _fields: dict[str, str] | None = None
    _first: tuple[int, str] = (0, "")
    _uptime: int | None = -1
    _latest: dict[str | None, int] = field(default_factory=dict)
    _back: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._clocks = Clocks(rule=TimeRule.of(self.context))

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line: a record of its own, or a field of one."""
        if _BEGINS.fullmatch(text.rstrip()):
            self._close(told)
            self._fields, self._first = {}, (number, text)
        elif self._fields is not None and (found := _KEY.fullmatch(text.rstrip())):
            self._fields.setdefault(found[1], found[2].strip())
            told.skip("continuation")
        elif not text.strip():
            self._close(told)
            told.skip("blank")
        elif (record := record_of(number, text, self.context.host)) is not None:
            self._close(told)
            self._take(record, told)
        elif _NOTHING.fullmatch(text.strip()):
            told.skip("metadata")
        else:
            told.reject(number, "no record of an IPMI event log", text)

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell what waited, and what to know of the clock."""
        del cut  # a record of several lines is whole once its last field stands
        self._close(told)
        self._tell(told)
        if self._back:
            told.note(
                f"the BMC clock was set back, {len(self._back)} times in this file ({self._back[0]}): "
                "stamps before that may be ahead, and the order of records is that of their ids"
            )

    def _close(self, told: Told) -> None:
        """End a record of several lines."""
        fields, self._fields = self._fields, None
        if fields is None:
            return
        record = verbose_record(*self._first, fields, self.context.host)
        if isinstance(record, str):
            told.reject(self._first[0], record, self._first[1])
        else:
            self._take(record, told)

    def _take(self, record: Record, told: Told) -> None:
        key = (record.host, record.key)
        if key in self._seen:
            told.skip("duplicate")
            return
        self._seen.add(key)
        self._waiting.append(record)
        if len(self._waiting) >= _LIMIT:
            self._tell(told)

    def _tell(self, told: Told) -> None:
        """Tell the records that waited, now that the order of their walls is known."""
        records, self._waiting = self._waiting, []
        timed = []
        for record in records:
            if record.why is not None:
                told.reject(record.line, record.why, record.text)
            elif record.uptime_s is not None:
                self._tell_early(record, told)
            else:
                self._uptime = None
                timed.append(record)
        self._tell_timed(timed, told)

    def _tell_early(self, record: Record, told: Told) -> None:
        """Tell a record that counts from the start of the BMC."""
        assert record.uptime_s is not None
        boot = self.context.boot_at_us
        if boot is None:
            told.reject(record.line, _NO_START, record.text, curable="boot_at")
        elif self._uptime is None or record.uptime_s < self._uptime:
            told.reject(record.line, _OTHER_START, record.text)
        else:
            self._uptime = record.uptime_s
            low = boot + record.uptime_s * MICROS
            record.tell(told, (low, low + _SECOND_US - 1))

    def _tell_timed(self, records: list[Record], told: Told) -> None:
        walls = [wall_of(record.date, record.clock, self.context.zone) for record in records]
        if not records:
            return
        frame = pl.DataFrame(
            [(wall.us, wall.offset_us, _SECOND_US) for wall in walls],
            schema={"wall": pl.Int64(), "offset": pl.Int64(), "resolution": pl.Int64()},
            orient="row",
        )
        hosts = pl.Series([record.host for record in records], dtype=pl.String)
        found = self._clocks.to_utc(frame, hosts)
        spans = found.select("ts_low", "ts_high", "reason", "curable").iter_rows()
        for record, wall, (low, high, reason, curable) in zip(records, walls, spans, strict=True):
            if wall.why is not None:
                told.reject(record.line, wall.why, record.text, curable=wall.cure)
            elif low is None:
                told.reject(record.line, reason, record.text, curable=curable)
            else:
                self._in_order(record, low)
                record.tell(told, (low, high))

    def _in_order(self, record: Record, us: int) -> None:
        before = self._latest.get(record.host)
        if before is not None and us < before:
            self._back.append(f"record {record.number:x} says {format_us(us)} after {format_us(before)}")
        self._latest[record.host] = us


READER = Reader(name="ipmi_sel", recognise=_recognise, read=_read)
