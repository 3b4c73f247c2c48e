"""Log lines out of Loki: answers of ``query_range``, pushes, and ``logcli -o jsonl``.

Newest comes first as a rule: lines are put in the order of their times. A record is one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.jsondoc import Document, outer_keys, streamed
from workbench.readers.jsonvalues import clean, dig, text_of
from workbench.readers.logrecords import LogRecord, LogRecords
from workbench.readers.source import Source, damage_batches
from workbench.readers.timecells import Clocks, TimeRule, read_times

__all__ = ["READER"]

_LIMITS = (30, 100, 1000, 5000)
_CUT = "{count} lines, which is a common limit of a query: older ones may have been cut without a word"
_NO_ENTRY = "no pair of a time and a line"
_NO_STREAM = "no stream of log lines"
_AT_ONCE = 2_000_000  # lines that are put in order together


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    keys = outer_keys(head)
    if {"status", "data"} <= keys and b'"streams"' in head[:400]:
        return Match(confidence=0.95, rule="JSON with status, data and resultType streams")
    if keys == {"streams"} and b'"values"' in head:
        return Match(confidence=0.9, rule="JSON with streams, as they are pushed")
    if keys == {"labels", "line", "timestamp"}:
        return Match(confidence=0.95, rule="JSON lines with labels, line and timestamp")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    reading = _Reading(context)
    for document in streamed(source):
        reading.add(document)
        if len(reading.records) >= _AT_ONCE:
            yield reading.batch()
    yield reading.batch()
    yield reading.end()
    yield from damage_batches(source)


class _Reading:
    """The lines met so far."""

    def __init__(self, context: Context) -> None:
        self.records: list[LogRecord] = []
        self._logs = LogRecords(host=context.host)
        self._clocks = Clocks(rule=TimeRule.of(context))
        self._refused: list[tuple[int, str, str, str | None]] = []
        self._skips: Counter[str] = Counter()
        self._written: list[tuple[Document, dict[str, str], str, str]] = []  # of logcli: times are text
        self._notes: dict[str, None] = {}

    def add(self, document: Document) -> None:
        """Take the lines of a document."""
        before = len(self.records) + len(self._refused) + len(self._written)
        value = document.value
        streams = dig(value, "data", "result") if dig(value, "data") is not None else dig(value, "streams")
        if document.why is not None:
            self._refuse(document, document.why)
        elif isinstance(streams, list):
            for stream in streams:
                self._stream(stream, document)
            self._limit(len(self.records) + len(self._refused) - before)
            if len(self.records) + len(self._refused) == before:
                self._skips["empty answer"] += 1
        elif isinstance(line := dig(value, "line"), str) and isinstance(stamp := dig(value, "timestamp"), str):
            self._written.append((document, _labels(dig(value, "labels")), clean(line), stamp))
        else:
            self._refuse(document, _NO_STREAM)

    def batch(self) -> Batch:
        """Put the lines in order and read them."""
        self._dated()
        ordered = sorted(self.records, key=lambda record: record.ts_us or 0)
        rejects = pl.DataFrame(self._refused, schema=frames.REJECTS, orient="row").sort("line", maintain_order=True)
        made = self._logs.batch(ordered, self._skips, rejects)
        self.records, self._refused, self._skips = [], [], Counter()
        return made

    def end(self) -> Batch:
        """Tell what was held back, and what the user should know."""
        last = self._logs.finish()
        notes = tuple(self._notes)
        return Batch(
            records=last.records,
            rows=last.rows,
            events=last.events,
            aliases=last.aliases,
            skips=last.skips,
            notes=notes,
        )

    def _stream(self, stream: Any, document: Document) -> None:
        labels = _labels(dig(stream, "stream"))
        values = dig(stream, "values")
        if not isinstance(values, list):
            self._refuse(document, _NO_STREAM)
            return
        found = [record for value in values if (record := self._entry(value, labels, document)) is not None]
        self.records += _oldest_first(found)

    def _entry(self, value: Any, labels: dict[str, str], document: Document) -> LogRecord | None:
        if not isinstance(value, list) or len(value) < 2 or not isinstance(value[1], str):
            self._refuse(document, _NO_ENTRY)
            return None
        stamp = str(value[0]) if isinstance(value[0], (str, int)) else ""
        whole = stamp.isascii() and stamp.isdigit() and len(stamp) <= 19
        more = value[2] if len(value) > 2 else None
        severity = text_of(dig(more, "detected_level")) or text_of(dig(more, "structuredMetadata", "detected_level"))
        return LogRecord(
            line=document.line,
            ts_us=int(stamp) // 1000 if whole and len(stamp) >= 16 else None,
            labels=labels,
            text=clean(value[1]).rstrip("\n"),
            severity=severity,
            stamp=stamp,
        )

    def _dated(self) -> None:
        """Read the times of logcli, which are RFC 3339, together."""
        if not self._written:
            return
        times = read_times(pl.Series([stamp for *_, stamp in self._written]), self._clocks)
        found = []
        for place, (document, labels, line, stamp) in enumerate(self._written):
            if (ts := times["ts"][place]) is None:
                self._refused.append((document.line, times["reason"][place], document.text, times["curable"][place]))
            else:
                text = line.rstrip("\n")
                found.append(LogRecord(line=document.line, ts_us=ts, labels=labels, text=text, stamp=stamp))
        self._limit(len(self._written))
        self.records += _oldest_first(found)
        self._written = []

    def _limit(self, count: int) -> None:
        if count in _LIMITS:
            self._notes[_CUT.format(count=count)] = None

    def _refuse(self, document: Document, why: str) -> None:
        self._refused.append((document.line, why, document.text, None))


def _oldest_first(records: list[LogRecord]) -> list[LogRecord]:
    """Turn around what is written newest first: lines of one time keep their order that way."""
    stamps = [record.ts_us for record in records if record.ts_us is not None]
    return records[::-1] if stamps and stamps[0] > stamps[-1] else records


def _labels(value: Any) -> dict[str, str]:
    told = value if isinstance(value, dict) else {}
    return {clean(name): clean(text) for name, text in told.items() if isinstance(text, str)}


READER = Reader(name="loki_json", recognise=_recognise, read=_read)
