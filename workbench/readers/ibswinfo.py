"""What an unmanaged InfiniBand switch says of itself: ``ibswinfo``, a table of names and values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.fabric_names import normal_guid
from workbench.readers.graph import Node
from workbench.readers.installed import tell_installed, word
from workbench.readers.rounds import Moment, Rounds
from workbench.readers.source import Source
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import line_batches

__all__ = ["READER"]

_ROW = re.compile(r"(\s*)([A-Za-z][\w#/. ()-]{0,30}?)\s*(\(.*?\))?\s*\|\s*(.*?)\s*")
_RULE = re.compile(r"={8,}|-{8,}")
_UPTIME = re.compile(r"(?:(\d{1,5})d-)?(\d{1,2}):(\d\d):(\d\d)")
_PART = re.compile(r"(PSU\d+) status")
_FAN = re.compile(r"fan#(\d+)")
_UNITS = {"(W)": "W", "(C)": "C", "(rpm)": "rpm"}
_ATTRIBUTES = {
    "part number": "part number", "serial number": "serial", "product name": "model", "revision": "revision",
    "ports": "ports", "PSID": "psid", "GUID": "guid", "firmware version": "firmware",
}  # fmt: skip
_GOOD = frozenset({"ok", "n/a", "na", ""})
_NO_GUID = "a switch without a GUID"
_NO_ROW = "no row of ibswinfo"
_LONGEST = 1000  # characters of a line


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    share = matched_share(head, r"^\s*[A-Za-z][\w#/. ()-]*\|", at_least=3)
    if (
        share
        and matched_share(head, r"^GUID +\| 0x[0-9a-f]")
        and matched_share(head, r"^(?:uptime|PSID|fan#1|part number)\b.*\|")
    ):
        return Match(confidence=0.97, rule="a table with GUID and uptime or fans, as ibswinfo prints it")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return line_batches(source, _Tables(context), longest=_LONGEST)


@dataclass(frozen=True, kw_only=True)
class _Line:
    number: int
    text: str
    part: str
    name: str
    unit: str
    value: str


@dataclass(eq=False)
class _Tables:
    """The rows of the switch that is open."""

    context: Context
    _rounds: Rounds = field(init=False)
    _rows: list[_Line] = field(default_factory=list)
    _part: str = ""

    def __post_init__(self) -> None:
        self._rounds = Rounds(self.context)

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
        elif _RULE.fullmatch(text.strip()):
            told.skip("header")
            self._part = ""
            if text.startswith("="):
                self._close(told)
        elif found := _ROW.fullmatch(text):
            if not found[1]:
                psu = _PART.fullmatch(found[2])
                self._part = psu[1] if psu else ""
            self._rows.append(
                _Line(number=number, text=text, part=self._part, name=found[2], unit=found[3] or "", value=found[4])
            )
        elif "|" not in text and not self._rows:
            told.skip("header")
        else:
            told.reject(number, _NO_ROW, text)

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell the switch that is open."""
        del cut
        self._close(told)

    def _close(self, told: Told) -> None:
        rows, self._rows = self._rows, []
        guid = next((found for row in rows if row.name == "GUID" and (found := normal_guid(row.value))), None)
        if guid is None:
            for row in rows:
                told.reject(row.number, _NO_GUID, row.text)
            return
        who: Node = (None, "switch", guid)
        moment = self._rounds.sample(guid)
        known = {_ATTRIBUTES[row.name]: row.value for row in rows if not row.part and row.name in _ATTRIBUTES}
        tell_installed(told, who, known, line=rows[0].number, taken_at_us=moment.ts_us)
        for row in rows:
            if row.name in _ATTRIBUTES and not row.part:
                told.row()
            elif row.name in ("P/N", "S/N"):
                told.row()
                told.graph.entity(who, {f"{row.part} {row.name}": row.value})
            elif moment.ts_us is None:
                told.reject(row.number, moment.why, row.text, curable=moment.cure)
            else:
                told.row()
                _measured(row, who, moment, told)


def _measured(row: _Line, who: Node, moment: Moment, told: Told) -> None:
    """Tell a reading, or a state in words that is not good."""
    assert moment.ts_us is not None
    labels = {"psu": row.part.removeprefix("PSU")} if row.part else {}
    if uptime := _UPTIME.fullmatch(row.value):
        days, hours, minutes, seconds = (int(part or 0) for part in uptime.groups())
        cell = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        told.sample(who, "ibswinfo.uptime", cell, ts_us=moment.ts_us, unit="s", kind="gauge")
    elif row.unit in _UNITS:
        fan = _FAN.fullmatch(row.name)
        labels |= {"fan": fan[1]} if fan else {}
        name = "fan" if fan else row.name.replace(" ", "_")
        told.sample(
            who, f"ibswinfo.{name}", row.value, ts_us=moment.ts_us, unit=_UNITS[row.unit], kind="gauge", labels=labels
        )
    elif row.value.lower() not in _GOOD:
        what = f"{row.part} {row.name}".strip() if row.part not in row.name else row.name
        told.event(
            who, "sensor", f"{what}: {row.value}", span_us=(moment.ts_us, moment.ts_us), line=row.number,
            code=word(row.value), severity=row.value.lower(), attributes={"sensor": what},
        )  # fmt: skip


READER = Reader(name="ibswinfo", recognise=_recognise, read=_read)
