"""What UFM exports: events as CSV, its event log, and telemetry as JSON.

Event times are those of the server, local, without a zone; telemetry has microseconds since 1970
beside a local text. An event that is told twice in one file is one event.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.fabric_names import normal_guid, port_name
from workbench.readers.graph import Node
from workbench.readers.installed import word
from workbench.readers.jsondoc import Document, documents_of, outer_keys
from workbench.readers.source import Source, damage_batches
from workbench.readers.stamps import EARLIEST_US, LATEST_US
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import line_batches
from workbench.readers.toldtimes import Span, Waiting

__all__ = ["READER"]

_STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?"
_LOG = re.compile(
    rf"(?P<stamp>{_STAMP}) \[(?P<id>\d{{1,12}})\] \[(?P<alarm>\d{{1,6}})\] (?P<severity>[A-Z]{{2,12}}) "
    r"(?:\[(?P<category>[^\]]{1,60})\] )?(?P<rest>.*)"
)
_SOURCE = re.compile(r"(?P<type>[A-Z]\w{1,30}) \[(?P<source>[^\]]{1,200})\](?: ?\[[^\]]*\])*:? ?(?P<message>.*)")
_PORT = re.compile(r"(?:0x)?([0-9a-fA-F]{16})_(\d{1,3})")
_ENDS = re.compile(r"\((switch|computer|host|gateway|router): ?([\w.-]{1,200})\)(?:[\w-]*/)?(\d{1,3})")
_HEADER = ("Event ID", "Timestamp", "Severity", "Event Name")
_TELEMETRY = ("source_id", "node_guid", "port_guid", "port_num", "timestamp")
_UNIT = re.compile(r"_u_([A-Za-z]+)$")
_UNITS = {"Gbps": "Gb/s", "Percent": "%"}
_NO_EVENT = "no event of UFM"
_NO_RECORD = "no telemetry of a port"
_LARGEST = 2**64
_TOGETHER = 100_000  # events whose local times are read together
_REMEMBERED = 4_000_000  # events after which a repetition is not noticed any more


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0].decode(errors="replace")
    if all(name in (_cells(first) or []) for name in _HEADER):
        return Match(confidence=0.97, rule="CSV with 'Event ID', 'Severity' and 'Event Name', as UFM exports it")
    share = matched_share(head, rf"^{_STAMP} \[\d+\] \[\d+\] [A-Z]+ ")
    if share >= 0.5:
        return Match(confidence=0.97, rule=f"{share:.0%} of the first lines are events of UFM")
    if "values" in outer_keys(head) and b'"source_id"' in head and b'"Infiniband_' in head:
        return Match(confidence=0.97, rule="JSON with source_id and Infiniband_ counters: telemetry of UFM")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    if source.head().removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[")):
        return _read_json(source)
    return line_batches(source, _Events(context))


@dataclass(frozen=True, kw_only=True)
class _Event:
    """An event as written."""

    line: int
    name: str
    severity: str
    source: str
    message: str
    attributes: dict[str, Any]


@dataclass(eq=False)
class _Events:
    """The header of the CSV, and the events that wait for their times."""

    context: Context
    _waiting: Waiting = field(init=False)
    _header: list[str] = field(default_factory=list)
    _seen: set[bytes] = field(default_factory=set)
    _told: Told = field(default_factory=Told)
    _count: int = 0

    def __post_init__(self) -> None:
        self._waiting = Waiting(self.context)

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
        elif found := _LOG.fullmatch(text):
            self._take(_of_log(number, found), text, found["stamp"], told)
        else:
            self._row(number, text, told)

    def _row(self, number: int, text: str, told: Told) -> None:
        cells = _cells(text)
        if cells is not None and all(name in cells for name in _HEADER):
            told.skip("repeated header" if self._header else "header")
            self._header = cells
        elif not self._header or cells is None:
            told.reject(number, _NO_EVENT, text)
        elif len(cells) != len(self._header):
            told.reject(number, f"row has {len(cells)} cells, the header {len(self._header)}", text)
        else:
            row = dict(zip(self._header, cells, strict=True))
            self._take(_of_row(number, row), text, row["Timestamp"], told)

    def _take(self, event: _Event, text: str, stamp: str, told: Told) -> None:
        key = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
        if key in self._seen:
            told.skip("duplicate")
            return
        if len(self._seen) < _REMEMBERED:
            self._seen.add(key)

        def tell(span: Span) -> None:
            self._told.row()  # of the block that is open by then
            _tell(event, span, self._told)

        self._told = told
        self._waiting.add(event.line, stamp, text, tell=tell)
        self._count += 1
        if self._count % _TOGETHER == 0:
            self._waiting.tell(told)

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell all of them: local times are read in the order of the file."""
        del cut
        self._told = told
        self._waiting.tell(told)


def _of_row(number: int, row: dict[str, str]) -> _Event:
    attributes = {
        "event_id": row["Event ID"], "category": row.get("Category"), "source_type": row.get("Source Type"),
        "count": row.get("Count"), "name": row["Event Name"],
    }  # fmt: skip
    return _Event(
        line=number, name=row["Event Name"], severity=row["Severity"].lower(), source=row.get("Source", ""),
        message=row.get("Description", "") or row["Event Name"], attributes=attributes,
    )  # fmt: skip


def _of_log(number: int, found: re.Match[str]) -> _Event:
    rest = found["rest"].strip()
    part = _SOURCE.fullmatch(rest)
    message = part["message"] if part else rest
    attributes = {
        "event_id": found["id"], "alarm": found["alarm"], "category": found["category"],
        "source_type": part["type"] if part else None,
    }  # fmt: skip
    return _Event(
        line=number, name=message.split(":")[0].split(",")[0][:80], severity=found["severity"].lower(),
        source=part["source"].strip() if part else "", message=message, attributes=attributes,
    )  # fmt: skip


def _tell(event: _Event, span: Span, told: Told) -> None:
    kind, code = _kind(event)
    who = _who(event)
    ends = {role: (name, int(port)) for role, name, port in _ENDS.findall(event.message)}
    attributes = {name: value for name, value in event.attributes.items() if value}
    for role, (name, port) in ends.items():
        attributes |= {role: name, f"{role}_port": port}
    told.event(
        who, kind, event.message, span_us=span, line=event.line, code=code, severity=event.severity or None,
        attributes=attributes,
    )  # fmt: skip


def _kind(event: _Event) -> tuple[str, str | None]:
    """Say what happened: a link that goes down or up is what every other source calls so."""
    text = f"{event.name} {event.message}".lower()
    if found := re.search(r"\blink (?:is|went) (up|down)\b", text):
        return "link", str(found[1])
    return "ufm", word(event.name)


def _who(event: _Event) -> Node:
    if port := _PORT.fullmatch(event.source):
        return (None, "port", port_name(f"0x{port[1].lower()}", int(port[2])))
    guid = normal_guid(event.source) if len(event.source) >= 16 else None
    kind = str(event.attributes.get("source_type") or "").lower()
    if guid is not None:
        return (None, "nic" if kind in ("computer", "host", "hca") else "switch", guid)
    return (event.source, "host", None) if kind in ("computer", "host") and event.source else (None, "cluster", None)


def _cells(text: str) -> list[str] | None:
    try:
        return [cell.strip() for cell in next(csv.reader([text]), [])]
    except csv.Error:
        return None


def _read_json(source: Source) -> Iterator[Batch]:
    told = Told()
    for document in documents_of(source):
        values = document.value.get("values") if isinstance(document.value, dict) else None
        if document.why is not None or not isinstance(values, list):
            told.reject(document.line, document.why or _NO_RECORD, document.text)
            continue
        for record in values:
            _record(record, document, told)
    yield told.batch()
    yield from damage_batches(source)


def _record(record: Any, document: Document, told: Told) -> None:
    """Take what one port said at one time."""
    guid, port, ts_us = _place(record) if isinstance(record, dict) else (None, None, None)
    if guid is None or port is None:
        told.reject(document.line, _NO_RECORD, str(record))
    elif ts_us is None or not EARLIEST_US <= ts_us < LATEST_US:
        told.reject(document.line, "the record has no time that can be", str(record))
    else:
        told.row()
        who: Node = (None, "port", port_name(guid, port))
        for name, value in record.items():
            if name in _TELEMETRY:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_LARGEST < value < _LARGEST:
                told.absent(name, "not a number")
                continue
            unit = _UNIT.search(name)
            told.sample(who, name, value, ts_us=ts_us, unit=_UNITS.get(unit[1]) if unit else None)


def _place(record: dict[str, Any]) -> tuple[str | None, int | None, int | None]:
    written = record.get("node_guid", record.get("source_id"))
    guid = normal_guid(written) if isinstance(written, str) else None
    port, ts = record.get("port_num"), record.get("timestamp")
    whole = isinstance(port, int) and not isinstance(port, bool) and 0 <= port < 256
    timed = isinstance(ts, int) and not isinstance(ts, bool)
    return guid, port if whole else None, ts if timed else None


READER = Reader(name="ufm", recognise=_recognise, read=_read)
