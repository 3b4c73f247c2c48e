"""What ``ibdiagnet`` writes: its database (``ibdiagnet2.db_csv``), and the errors and warnings of its log.

The database is dozens of CSV tables between ``START_X`` and ``END_X``. Numbers are hexadecimal and
decimal side by side; ``NA`` and 2^64 - 2 stand where a port has no such counter. The time of the run
is local. A log has no times: errors and warnings were seen at the time of the run.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.fabric_names import Fabric, normal_guid, plain_counter, port_name
from workbench.readers.graph import Node
from workbench.readers.installed import word
from workbench.readers.rounds import Moment, Rounds, dated
from workbench.readers.source import Source
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import line_batches

__all__ = ["READER"]

_START = re.compile(r"START_([A-Z0-9_]{1,60})\s*")
_END = re.compile(r"END_([A-Z0-9_]{1,60})\s*")
_RUN_TIME = re.compile(r"[#\s]*(?:[Rr]un [Tt]ime|[Tt]imestamp)\s*:\s*(\S.*)")
_LOGGED = re.compile(r"-([IWE])-(?: (.*))?")
_TITLE = re.compile(r"[A-Z][\w /()&-]{2,60}")
_PORT_OF_GUIDS = re.compile(r"\bS[0-9a-f]{16}/N([0-9a-f]{16})/P(\d{1,3})\b")
_PORT_OF_NAME = re.compile(r"(?<![\w./-])([A-Za-z][\w.-]{0,60})/(?:[\w-]{1,20}/)*P(\d{1,3})\b")
_LID = re.compile(r"\blid[=: ]+(0x[0-9a-f]{1,4}|\d{1,5})\b", re.IGNORECASE)
_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")
_PLAIN = re.compile(r"-?\d{1,20}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,3})?")
_NONE = frozenset({"", "NA", "N/A", "-1", "NONE"})
_NO_COUNTER = 2**64 - 2  # and 2^64 - 1: the port has no such counter
_LEVEL = re.compile(r"rate|_per_|ratio|BER", re.IGNORECASE)
_KINDS = {"1": "nic", "2": "switch", "3": "router"}
_SEVERITIES = {"E": "error", "W": "warning"}
_GUID_COLUMNS = ("NodeGUID", "NodeGuid")
_PORT_COLUMNS = ("PortNumber", "PortNum")
_RATES = {"LinkSpeedActv": "speed code", "LinkWidthActv": "width code"}
_NOT_LISTED = "a port of a node that is not in NODES"
_NO_GUID = "a row without the GUID of a node"
_OPEN = "a row outside of the tables"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if matched_share(head, r"^START_[A-Z0-9_]+\s*$") and matched_share(
        head, r"^(?:NodeDesc|NodeGUID|NodeGuid1?|Scope|[A-Z]\w+GUID),|IBDIAG"
    ):
        return Match(confidence=0.97, rule="tables between START_ and END_, as ibdiagnet writes them")
    if matched_share(head, r"^-[IWE]- ") >= 0.2 and matched_share(head, r"^-[IWE]- ", at_least=2):
        return Match(confidence=0.8, rule="lines '-I-', '-W-', '-E-', as ibdiagnet logs them")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return line_batches(source, _Dump(context))


@dataclass(eq=False)
class _Dump:
    """The table that is open, or the part of the log; and when it was."""

    context: Context
    fabric: Fabric = field(default_factory=Fabric)
    _rounds: Rounds = field(init=False)
    _moment: Moment | None = None
    _table: str = ""
    _header: list[str] = field(default_factory=list)
    _title: str = ""
    _before: str = ""

    def __post_init__(self) -> None:
        self._rounds = Rounds(self.context)

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        before, self._before = self._before, text.strip()
        if not text.strip():
            told.skip("blank")
        elif found := _START.fullmatch(text):
            self._table, self._header = found[1], []
            told.skip("header")
        elif _END.fullmatch(text):
            self._table = ""
            told.skip("end marker")
        elif self._table:
            self._row(number, text, told)
        else:
            self._outside((number, before), text, told)

    def _outside(self, place: tuple[int, str], text: str, told: Told) -> None:
        """Take a line of no table; ``place`` is its number and the line before."""
        number, before = place
        if found := _RUN_TIME.fullmatch(text):
            self._stated(found[1].strip())
            told.skip("metadata")
        elif found := _LOGGED.fullmatch(text):
            self._logged(number, text, found, told)
        elif text.startswith("#"):
            told.skip("comment")
        elif text.count(",") > 1:
            told.reject(number, _OPEN, text)
        else:
            if set(text.strip()) == {"-"} and _TITLE.fullmatch(before):
                self._title = before
            elif _TITLE.fullmatch(text.strip()):
                self._title = text.strip()
            told.skip("other text")

    def _stated(self, stamp: str) -> None:
        """Take the time of the run; what the user stated of the dump stands in where it says none."""
        found = dated(stamp)
        self._rounds.say(found[0] if found else stamp)
        self._moment = self._rounds.sample("run")

    def _now(self) -> Moment:
        if self._moment is None:
            self._moment = self._rounds.sample("run")
        return self._moment

    def _row(self, number: int, text: str, told: Told) -> None:
        cells = _cells(text)
        if cells is None:
            told.reject(number, "no row of CSV", text)
        elif not self._header:
            self._header = cells
            told.skip("header")
        elif len(cells) != len(self._header):
            told.reject(number, f"row has {len(cells)} cells, the header {len(self._header)}", text)
        else:
            row = dict(zip(self._header, cells, strict=True))
            self._told_row((number, text), row, told)

    def _told_row(self, line: tuple[int, str], row: dict[str, str], told: Told) -> None:
        if self._table == "NODES":
            self._node(line, row, told)
        elif self._table == "PORTS":
            self._port(line, row, told)
        elif self._table == "LINKS":
            self._link(line, row, told)
        elif self._table in ("PM_INFO", "TEMP_SENSING"):
            self._counters(line, row, told)
        elif self._table.startswith(("ERRORS_", "WARNINGS_")):
            self._problem(line, row, told)
        else:
            told.skip("other table")

    def _node(self, line: tuple[int, str], row: dict[str, str], told: Told) -> None:
        guid = _guid(row)
        if guid is None:
            told.reject(line[0], _NO_GUID, line[1])
            return
        told.row()
        told_of = {"ports": row.get("NumPorts", ""), "device id": row.get("DeviceID", "")}
        kind = _KINDS.get(row.get("NodeType", ""), "nic")
        self.fabric.node(guid, kind, row.get("NodeDesc", "").strip(), told_of)

    def _port(self, line: tuple[int, str], row: dict[str, str], told: Told) -> None:
        guid, port = _guid(row), _port(row)
        if guid not in self.fabric.nodes or port is None or guid is None:
            told.reject(line[0], _NOT_LISTED, line[1])
            return
        told.row()
        lid = _number(row.get("LID", row.get("Lid", "")))
        codes = {name: row[column] for column, name in _RATES.items() if row.get(column, "NA") not in _NONE}
        self.fabric.port(
            guid,
            port,
            lid=int(lid or 0),
            port_guid=normal_guid(row.get("PortGUID", row.get("PortGuid", ""))),
            attributes=codes,
        )

    def _link(self, line: tuple[int, str], row: dict[str, str], told: Told) -> None:
        ends = []
        for side in ("1", "2"):
            guid = normal_guid(row.get(f"NodeGuid{side}", row.get(f"NodeGUID{side}", "")))
            port = row.get(f"PortNum{side}", row.get(f"PortNumber{side}", ""))
            if guid in self.fabric.nodes and guid is not None and re.fullmatch(r"\d{1,3}", port):
                ends.append((guid, int(port)))
        if len(ends) < 2:
            told.reject(line[0], _NOT_LISTED, line[1])
            return
        told.row()
        self.fabric.cable(ends[0], ends[1])

    def _counters(self, line: tuple[int, str], row: dict[str, str], told: Told) -> None:
        guid, port, moment = _guid(row), _port(row), self._now()
        if guid is None:
            told.reject(line[0], _NO_GUID, line[1])
        elif moment.ts_us is None:
            told.reject(line[0], moment.why, line[1], curable=moment.cure)
        else:
            told.row()
            who: Node = (None, "switch", guid) if port is None else (None, "port", port_name(guid, port))
            for name, cell in row.items():
                if name in (*_GUID_COLUMNS, *_PORT_COLUMNS) or name.lower() in ("portguid", "lid"):
                    continue
                self._cell(who, (name, cell), moment.ts_us, told)
            if port is not None and guid in self.fabric.nodes:
                self.fabric.port(guid, port)

    def _cell(self, who: Node, named: tuple[str, str], ts_us: int, told: Told) -> None:
        name, cell = named
        metric = plain_counter(name) if self._table == "PM_INFO" else f"ibdiagnet.{name}"
        value = _number(cell)
        if value is None:
            told.absent(metric, cell if cell.upper() in _NONE else "not a number")
        elif value >= _NO_COUNTER:
            told.absent(metric, f"sentinel {cell}")
        else:
            counter = self._table == "PM_INFO" and not _LEVEL.search(name)
            told.sample(who, metric, value, ts_us=ts_us, kind="counter" if counter else "gauge")

    def _problem(self, line: tuple[int, str], row: dict[str, str], told: Told) -> None:
        """Take a row of ERRORS_ or WARNINGS_: scope, node, port, name and summary."""
        moment = self._now()
        if moment.ts_us is None:
            told.reject(line[0], moment.why, line[1], curable=moment.cure)
            return
        told.row()
        guid, port = _guid(row), _port(row)
        who: Node = (None, "cluster", None)
        if guid is not None:
            node = self.fabric.nodes.get(guid)
            who = (None, node.kind if node else "nic", guid) if port is None else (None, "port", port_name(guid, port))
        name = row.get("EventName", row.get("Name", self._table.partition("_")[2]))
        told.event(
            who, "ibdiagnet", row.get("Summary", "") or name, span_us=(moment.ts_us, moment.ts_us), line=line[0],
            code=word(name), severity=self._table.partition("_")[0].lower().removesuffix("s"), attributes={"table": self._table},
        )  # fmt: skip

    def _logged(self, number: int, text: str, found: re.Match[str], told: Told) -> None:
        severity, message = _SEVERITIES.get(found[1]), (found[2] or "").strip()
        if severity is None:
            told.skip("information")
            return
        moment = self._now()
        if moment.ts_us is None:
            told.reject(number, moment.why, text, curable=moment.cure)
            return
        told.row()
        who: Node = (None, "cluster", None)
        if port := _PORT_OF_GUIDS.search(message):
            who = (None, "port", port_name(f"0x{port[1]}", int(port[2])))
        elif port := _PORT_OF_NAME.search(message):
            who = (None, "port", f"{port[1]}/{int(port[2])}")
        lid = _LID.search(message)
        told.event(
            who, "ibdiagnet", message, span_us=(moment.ts_us, moment.ts_us), line=number, severity=severity,
            code=word(self._title) if self._title else None, attributes={"lid": int(lid[1], 0)} if lid else None,
        )  # fmt: skip

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell the fabric, at its time where that is known."""
        del cut
        seen = self._moment.ts_us if self._moment is not None else self.context.taken_at_us
        for note in self.fabric.tell(told.graph, seen):
            told.note(note)


def _cells(text: str) -> list[str] | None:
    try:
        return [cell.strip() for cell in next(csv.reader([text]), [])]
    except csv.Error:
        return None


def _guid(row: dict[str, str]) -> str | None:
    return next((found for name in _GUID_COLUMNS if (found := normal_guid(row.get(name, "")))), None)


def _port(row: dict[str, str]) -> int | None:
    written = next((row[name] for name in _PORT_COLUMNS if name in row), "")
    return int(written) if re.fullmatch(r"\d{1,3}", written) else None


def _number(cell: str) -> int | float | None:
    """Give a number, hexadecimal or decimal; None where the cell holds none."""
    if _HEX.fullmatch(cell):
        return int(cell, 16)
    if cell.upper() in _NONE or not _PLAIN.fullmatch(cell):
        return None
    return int(cell) if cell.lstrip("-").isdigit() else float(cell)


READER = Reader(name="ibdiagnet", recognise=_recognise, read=_read)
