"""State of a port, its counters and its module: ``mlxlink``, as text or ``--json``.

Host, device and time stand on the command line, not inside. A cell may hold a list of lanes and a
range behind the value (``54 [-5..75]``). A bit error rate of ``15E-255`` means that no error was seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.graph import Node
from workbench.readers.installed import tell_installed, word
from workbench.readers.jsondoc import documents_of, outer_keys
from workbench.readers.rounds import Moment, Rounds, dated
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING, line_batches

__all__ = ["READER"]

_SECTIONS = (
    r"Operational Info|Supported Info|Troubleshooting Info|Tool Information|Physical Counters and BER Info|Module Info|"
    r"EYE Opening Info|FEC Histogram|Counters and BER Info|PCIe Operational .*|Management PCIe .*|Serdes .*|Error Counters Info"
)
_SECTION = re.compile(rf"(?:{_SECTIONS})(?: \(.*\))?\s*")
_FIELD = re.compile(r"([A-Za-z][^:]{0,80}?)\s*:\s*(.*?)\s*")
_COMMAND = re.compile(r"[#$\s]*(?:sudo +)?mlxlink +(?:.* )?-d +(\S{1,60})(?: .*)?")
_RULE = re.compile(r"-{4,}\s*")
_UNIT = re.compile(r"(.*?) *\[([^\]]{1,12})\]")
_RANGED = re.compile(r"(.*?) *\[(-?[\d.]+) *\.\. *(-?[\d.]+)\]")
_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,3})?")
_SILENT = re.compile(r"15[eE]-255")
_NONE = frozenset({"", "n/a", "na", "-", "--", "none", "not supported", "unknown", "unavailable"})
_UNITS = {"C": "C", "mV": "mV", "V": "V", "mA": "mA", "dBm": "dBm", "Min": "min", "W": "W", "m": "m"}
#: What a module and a link are, told as versions are: two dumps that differ show a change.
_WORDS = frozenset(
    {
        "State",
        "Physical state",
        "Speed",
        "Width",
        "FEC",
        "Loopback Mode",
        "Recommendation",
        "Auto Negotiation",
        "Identifier",
        "Compliance",
    }
    | {
        "Cable Technology",
        "Cable Type",
        "OUI",
        "Vendor Name",
        "Vendor Part Number",
        "Vendor Serial Number",
        "Rev",
        "FW Version",
    }
    | {
        "Firmware Version",
        "amBER Version",
        "MFT Version",
        "Digital Diagnostic Monitoring",
        "Power class",
        "CDR RX",
        "CDR TX",
        "LOS Alarm",
    }
)
_NO_DEVICE = 'the dump does not name its device: state device as a constant (device = "=mlx5_0") in a mapping (--map)'
_OTHER = "no line of mlxlink"
_LONGEST = 1000  # characters of a line


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if matched_share(head, rf"^(?:{_SECTIONS})\s*$") and matched_share(head, r"^[A-Z][^:]+ : "):
        return Match(confidence=0.97, rule="'Operational Info' or 'Module Info' over fields, as mlxlink prints them")
    if {"result", "status"} <= outer_keys(head) and re.search(rf'"(?:{_SECTIONS})"\s*:'.encode(), head):
        return Match(confidence=0.97, rule="JSON with the parts that mlxlink prints")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    if source.head().removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[")):
        return _read_json(source, context)
    return line_batches(source, _Text(context), longest=_LONGEST)


@dataclass(eq=False)
class _Port:
    """Whose fields these are, and when; a field is a record."""

    context: Context
    rounds: Rounds = field(init=False)
    device: str | None = field(init=False)
    moment: Moment = field(default_factory=lambda: Moment(ts_us=None))
    _words: list[tuple[Node, dict[str, str], tuple[int, int | None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rounds = Rounds(self.context)
        stated = self.context.columns.roles.get("device", "")
        self.device = stated[1:] if stated.startswith("=") and stated[1:] else None

    def begin(self) -> None:
        """Begin the next dump."""
        self.moment = self.rounds.sample(self.device)

    def field(self, place: tuple[int, str], name: str, cells: list[str], told: Told) -> None:
        """Tell a field, or reject it; ``cells`` are its lanes, or its one value."""
        line, text = place
        if self.device is None:
            told.reject(line, _NO_DEVICE, text, curable="map")
        elif self.context.host is None:
            told.reject(line, HOST_MISSING, text, curable="host")
        elif self.moment.ts_us is None and name not in _WORDS:
            told.reject(line, self.moment.why, text, curable=self.moment.cure)
        else:
            told.row()
            who: Node = (self.context.host, "nic", self.device)
            if name in _WORDS:
                self._words.append((who, {_attribute(name): ",".join(cells)}, (line, self.moment.ts_us)))
            elif self.moment.ts_us is not None:
                limits = _tell(who, (line, self.moment.ts_us), name, cells, told=told)
                self._words.append((who, limits, (line, None)))

    def end(self, told: Told) -> None:
        """Tell what the port and its module are: one entity, whatever part of the file said it."""
        for who, parts, (line, ts_us) in self._words:
            known = {name: value for name, value in parts.items() if value.lower() not in _NONE}
            tell_installed(told, who, known, line=line, taken_at_us=ts_us)
        self._words.clear()


def _tell(who: Node, place: tuple[int, int], name: str, cells: list[str], *, told: Told) -> dict[str, str]:
    """Tell the readings of a field; give the range that stood behind them."""
    line, ts_us = place
    bare, unit = _named(name)
    metric = f"mlxlink.{word(bare) or bare}"
    if bare == "Status Opcode":
        _opcode(who, (line, ts_us), cells[0], told)
    ranged = _RANGED.fullmatch(",".join(cells))
    lanes = ranged[1].split(",") if ranged else cells
    for lane, cell in enumerate(lanes):
        labels = {"lane": str(lane)} if len(lanes) > 1 else {}
        if _SILENT.fullmatch(cell):
            told.absent(metric, "no error seen")
        elif cell.lower() in _NONE or not _NUMBER.fullmatch(cell):
            told.absent(metric, cell if cell.lower() in _NONE else "not a number")
        else:
            told.sample(who, metric, cell, ts_us=ts_us, unit=unit, kind=_kind(bare), labels=labels)
            if ranged and not float(ranged[2]) <= float(cell) <= float(ranged[3]):
                _beyond(who, (line, ts_us), (bare, cell), ranged, told=told)
    return {f"{bare} low": ranged[2], f"{bare} high": ranged[3]} if ranged else {}


def _attribute(name: str) -> str:
    """Name an attribute as inventories do."""
    known = {"Vendor Part Number": "part number", "Vendor Serial Number": "serial", "Vendor Name": "vendor"}
    return known.get(name, name.lower())


def _named(name: str) -> tuple[str, str | None]:
    """Part the name of a field from its unit; lanes are no part of it."""
    found = _UNIT.fullmatch(name)
    bare = found[1] if found else name
    return bare.removesuffix(" Per Lane"), _UNITS.get(found[2]) if found else None


def _kind(bare: str) -> str:
    counted = re.search(r"Errors$|Counter$|Bits$|Recovery", bare) is not None
    return "counter" if counted else "state" if bare.endswith("Opcode") else "gauge"


def _opcode(who: Node, place: tuple[int, int], cell: str, told: Told) -> None:
    """Tell that the tool found something: opcode 0 is that all is well."""
    if cell.isdecimal() and int(cell[:9]):
        line, ts_us = place
        told.event(
            who, "link", f"mlxlink: status opcode {cell}", span_us=(ts_us, ts_us), line=line,
            code=f"opcode_{cell[:9]}", severity="warning",
        )  # fmt: skip


def _beyond(who: Node, place: tuple[int, int], reading: tuple[str, str], ranged: re.Match[str], *, told: Told) -> None:
    line, ts_us = place
    name, cell = reading
    high = float(cell) > float(ranged[3])
    told.event(
        who, "sensor", f"{name}: {cell} is outside of {ranged[2]} to {ranged[3]}", span_us=(ts_us, ts_us), line=line,
        code="upper_critical" if high else "lower_critical", severity="warning",
        attributes={"sensor": name, "low": ranged[2], "high": ranged[3]},
    )  # fmt: skip


@dataclass(eq=False)
class _Text:
    context: Context
    _port: _Port = field(init=False)
    _sections: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._port = _Port(self.context)
        self._port.begin()

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
        elif _RULE.fullmatch(text):
            told.skip("header")
        elif _SECTION.fullmatch(text):
            told.skip("header")
            if text.strip() in self._sections:
                self._sections.clear()
                self._port.begin()
            self._sections.add(text.strip())
        elif found := _COMMAND.fullmatch(text):
            told.skip("metadata")
            self._port.device = found[1]
            self._anew()
        elif stated := dated(text):
            told.skip("metadata")
            self._port.rounds.say(stated[0])
            self._anew()
        elif found := _FIELD.fullmatch(text):
            self._port.field((number, text), found[1], _cells(found[2]), told)
        else:
            told.reject(number, _OTHER, text)

    def _anew(self) -> None:
        """Begin with what was said: a command or a time stands above its dump."""
        self._sections.clear()
        self._port.begin()

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell what waited."""
        del cut
        self._port.end(told)


def _cells(value: str) -> list[str]:
    """Part a list of lanes; other text with commas (``RS-FEC - (544,514)``) is one cell."""
    parts = [part.strip() for part in value.split(",")]
    body = [part.split(" [")[0] for part in parts]
    lanes = len(parts) > 1 and all(_NUMBER.fullmatch(part) or part.lower() in _NONE for part in body)
    return parts if lanes else [value]


def _read_json(source: Source, context: Context) -> Iterator[Batch]:
    told, port = Told(), _Port(context)
    for document in documents_of(source):
        found = document.value.get("result") if isinstance(document.value, dict) else None
        output = found.get("output") if isinstance(found, dict) else None
        if document.why is not None or not isinstance(output, dict):
            told.reject(document.line, document.why or "no result of mlxlink", document.text)
            continue
        port.begin()
        for section in output.values():
            if not isinstance(section, dict):
                told.reject(document.line, _OTHER, str(section)[:200])
                continue
            for name, value in section.items():
                _json_field(name, value, (document.line, port), told)
    port.end(told)
    yield told.batch()
    yield from damage_batches(source)


def _json_field(name: str, value: Any, place: tuple[int, _Port], told: Told) -> None:
    line, port = place
    if isinstance(value, Mapping):
        value = value.get("values")
    cells = [str(cell) for cell in value] if isinstance(value, list) else _cells(str(value).strip())
    port.field((line, f"{name}: {','.join(cells)}"), name, cells or [""], told)


READER = Reader(name="mlxlink", recognise=_recognise, read=_read)
