"""Health of one NVMe disk: ``nvme smart-log``, as JSON or as text.

Neither holds a time or a host; the JSON does not name its device either. Temperatures are kelvin in
JSON. Counters have 128 bits: beyond 63 they are kept as floats. A data unit is 512,000 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.graph import Node
from workbench.readers.jsoncells import plain_text
from workbench.readers.jsondoc import documents_of, outer_keys
from workbench.readers.smart_cells import Cell, nvme_cells, tell_nvme
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import matched_share
from workbench.readers.told import TAKEN_AT_MISSING, Told
from workbench.readers.toldlines import HOST_MISSING, line_batches

__all__ = ["READER"]

_KEYS = frozenset(
    {"avail_spare", "percent_used", "data_units_read", "critical_warning", "media_errors", "spare_thresh"}
)
_FEWEST = 3
_NAMES = ("device", "DevicePath", "dev", "disk")
_HEADER = re.compile(r"Smart Log for NVME device ?: ?(\S+)\s+namespace-id ?: ?(\S+)\s*")
_FIELD = re.compile(r"([A-Za-z][\w /#-]{1,60}?)\s*: ?(.*?)\s*")
_KELVIN = re.compile(r"\((\d{1,4})\s*K(?:elvin)?\)")
_PLAIN = re.compile(r"(0x[0-9a-fA-F]+|\d[\d,]*(?:\.\d+)?)\s*(?:%|[A-Za-z°]+)?\s*(?:\(.*\))?")
_NO_DEVICE = 'the dump does not name its disk: state device as a constant (device = "=nvme0n1") in a mapping (--map)'
_NO_OBJECT = "no NVMe health log"
_AGAIN = "another log of this disk, and neither holds a time: split the file, one dump each"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if matched_share(head, r"^Smart Log for NVME device ?: ?\S+"):
        return Match(confidence=0.97, rule="'Smart Log for NVME device', as nvme prints it")
    known = sorted(outer_keys(head) & _KEYS)
    if len(known) < _FEWEST:
        return None
    return Match(confidence=0.97, rule=f"JSON with {', '.join(known)}")


def _read(source: Source, context: Context) -> Iterator[Batch]:
    start = source.head().removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"{", b"[")):
        return _read_json(source, context)
    return line_batches(source, _Text(context))


def _read_json(source: Source, context: Context) -> Iterator[Batch]:
    told = Told()
    seen: dict[Node, str] = {}
    for document in documents_of(source):
        if document.why is not None:
            told.reject(document.line, document.why, document.text)
            continue
        values = document.value if isinstance(document.value, list) else [document.value]
        for value in values or [None]:
            _tell_object(value, (document.line, document.text), context, (told, seen))
    yield told.batch()
    yield from damage_batches(source)


def _tell_object(value: Any, place: tuple[int, str], context: Context, so_far: tuple[Told, dict[Node, str]]) -> None:
    told, seen = so_far
    line, text = place
    if not isinstance(value, dict) or len(_KEYS & set(value)) < _FEWEST:
        told.reject(line, _NO_OBJECT, text)
        return
    own = next((name for key in _NAMES if (name := plain_text(value.get(key)))), None)
    cells = [cell for cell in nvme_cells(value) if cell[0] not in _NAMES]
    log = _Log(line=line, text=text, device=own or _stated(context), cells=cells)
    log.tell(told, context, seen)


def _stated(context: Context) -> str | None:
    device = context.columns.roles.get("device", "")
    return device[1:] or None if device.startswith("=") else None


@dataclass(eq=False, kw_only=True)
class _Log:
    """One log of one disk."""

    line: int
    text: str
    device: str | None
    cells: list[Cell] = field(default_factory=list)
    lines: int = 1

    def tell(self, told: Told, context: Context, seen: dict[Node, str]) -> None:
        """Tell it as one record, whose other lines are its continuation; or say what is missing."""
        told.skip("continuation", self.lines - 1)
        device = self.device.rpartition("/")[2] if self.device else None
        who: Node = (context.host, "disk", device)
        cells = repr(self.cells)
        if not device:
            told.reject(self.line, _NO_DEVICE, self.text, curable="map")
        elif context.host is None:
            told.reject(self.line, HOST_MISSING, self.text, curable="host")
        elif context.taken_at_us is None:
            told.reject(self.line, TAKEN_AT_MISSING, self.text, curable="taken_at")
        elif who in seen:
            if seen[who] == cells:
                told.skip("duplicate")
            else:
                told.reject(self.line, _AGAIN, self.text)
        else:
            seen[who] = cells
            told.row()
            for cell in self.cells:
                tell_nvme(told, who, cell, ts_us=context.taken_at_us, kelvin=True)


@dataclass(eq=False)
class _Text:
    """The text form, line by line."""

    context: Context
    _log: _Log | None = None
    _seen: dict[Node, str] = field(default_factory=dict)

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if found := _HEADER.fullmatch(text):
            self.end(told, cut=False)
            self._log = _Log(line=number, text=text, device=found[1])
        elif not text.strip():
            told.skip("blank")
        elif self._log is None or (part := _FIELD.fullmatch(text)) is None:
            told.reject(number, "no line of an NVMe health log", text)
        else:
            self._log.lines += 1
            self._log.cells.append(_cell(part[1], part[2]))

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell the log that is open; a cut one lacks fields and has no wrong ones."""
        del cut
        log, self._log = self._log, None
        if log is not None:
            log.tell(told, self.context, self._seen)


def _cell(name: str, value: str) -> Cell:
    """Give a field under the name that JSON has for it, with the number that comes first."""
    key = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if key.startswith("temperature") and (kelvin := _KELVIN.search(value)):
        return key, int(kelvin[1])
    found = _PLAIN.fullmatch(value)
    if key.startswith("temperature") and found and not re.search(r"\d\s*K", value):
        celsius = not re.search(r"°?\s*F\b", value)
        degrees = float(found[1].replace(",", ""))
        return key, (degrees if celsius else (degrees - 32) / 1.8) + 273.15
    return key, found[1] if found else value


READER = Reader(name="nvme_smart_log_json", recognise=_recognise, read=_read)
