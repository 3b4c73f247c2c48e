"""Sensors of a BMC: ``ipmitool sensor``, ``sdr``, ``sdr elist``, and ``-c``.

A sensor is a metric of its host, under its own name. A dump holds no time. What is beyond a
threshold is an event ``sensor`` too, at the time of the dump: seen then, begun before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.source import Source
from workbench.readers.text import matched_share
from workbench.readers.told import TAKEN_AT_MISSING, Told
from workbench.readers.toldlines import HOST_MISSING, line_batches

__all__ = ["READER"]

_STATUS = {
    "ok": "ok", "ns": "", "na": "", "us": "unspecified", "nc": "non_critical", "cr": "critical", "nr": "non_recoverable",
    "lnc": "lower_non_critical", "lcr": "lower_critical", "lnr": "lower_non_recoverable",
    "unc": "upper_non_critical", "ucr": "upper_critical", "unr": "upper_non_recoverable",
}  # fmt: skip
_WORDS = "|".join(_STATUS)
_UNIT = r"(?:degrees [CFK]|Volts|Amps|Watts|Joules|RPM|percent|unspecified|discrete|Hz|CFM|seconds|% ?[A-Za-z ]*)"
_NONE = r"(?:na|no reading|not readable|disabled|no data|)"
_READING = rf"(?:-?\d+(?:\.\d+)? {_UNIT}|-?\d+(?:\.\d+)?|0x[0-9a-fA-F]{{1,4}}|(?i:{_NONE}))"
_COLUMN = r"\s*\|\s*"
_NAME = r"[^|,]{0,64}?\S"
_FORMS = {
    "sensor": rf"({_NAME}){_COLUMN}(na|0x[0-9a-fA-F]+|-?[\d.]+){_COLUMN}({_UNIT}){_COLUMN}({_WORDS}|0x[0-9a-fA-F]{{4}})"
    rf"((?:{_COLUMN}(?:na|-?[\d.]+)){{6}})\s*",
    "sdr": rf"({_NAME}){_COLUMN}({_READING}){_COLUMN}({_WORDS})\s*",
    "elist": rf"({_NAME}){_COLUMN}[0-9A-Fa-f]{{2}}h{_COLUMN}({_WORDS}){_COLUMN}(\d+\.\d+){_COLUMN}(.*?)\s*",
    "csv": rf"({_NAME}),(-?\d+(?:\.\d+)?|(?i:{_NONE})),({_UNIT}|),({_WORDS})(?:,.*)?",
    "csv discrete": rf"({_NAME}),(0x[0-9a-fA-F]{{1,4}}|(?i:{_NONE})),({_WORDS})(?:,.*)?",
}
_COMPILED = {form: re.compile(pattern) for form, pattern in _FORMS.items()}
_HOST = re.compile(r"([A-Za-z][\w.-]*): (?=\S)")
_PART = re.compile(r"(-?\d+(?:\.\d+)?)(?: (.+))?")
_STATE = re.compile(r"0x[0-9a-fA-F]{1,4}")
_AGAIN = "the dump starts again here, and holds no time: split the file, one dump each"
_FEWEST = 2  # sensors of a dump that is known to start again; one name twice is two sensors


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    prefix = r"^(?:[A-Za-z][\w.-]*: )? *"
    shares = {form: matched_share(head, f"{prefix}{pattern}$", at_least=2) for form, pattern in _FORMS.items()}
    share = max(shares["csv"] + shares["csv discrete"], shares["sensor"], shares["sdr"], shares["elist"])
    if share < 0.6:
        return None
    return Match(confidence=0.9, rule=f"{share:.0%} of the first lines are sensors as ipmitool prints them")


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return line_batches(source, _Dump(context))


@dataclass(frozen=True, kw_only=True)
class _Row:
    """One sensor; ``cell`` is its number, its state word, or a mark that it has none."""

    line: int = 0
    text: str = ""
    host: str | None = None
    name: str
    cell: str
    unit: str | None = None
    kind: str | None = None
    why: str = "no reading"
    status: str = ""
    place: str | None = None  # IPMI entity, which tells sensors of one name apart
    limits: str = ""


@dataclass(eq=False)
class _Dump:
    """Sensors so far; told at the end, when it is known whether the dump is there more than once."""

    context: Context
    _rows: list[_Row] = field(default_factory=list)

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
            return
        host = _HOST.match(text) if "|" in text or "," in text else None
        body = text[host.end() :] if host else text
        row = _row_of(body.strip())
        if row is None:
            told.reject(number, "no sensor as ipmitool prints it", text)
            return
        self._rows.append(replace(row, line=number, text=text, host=host[1] if host else self.context.host))

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell all of it."""
        del cut
        for rows in _by_host(self._rows).values():
            length = _period([row.name for row in rows])
            first = {(row.name, row.cell, row.status) for row in rows[:length]}
            for row in rows[length:]:
                if (row.name, row.cell, row.status) in first:
                    told.skip("duplicate")
                else:
                    told.reject(row.line, _AGAIN, row.text)
            self._tell(rows[:length], told)

    def _tell(self, rows: list[_Row], told: Told) -> None:
        count: Counter[tuple[str, str | None]] = Counter()
        ts_us = self.context.taken_at_us
        for row in rows:
            count[row.name, row.place] += 1
            if row.host is None:
                told.reject(row.line, HOST_MISSING, row.text, curable="host")
            elif ts_us is None:
                told.reject(row.line, TAKEN_AT_MISSING, row.text, curable="taken_at")
            else:
                told.row()
                _tell_row(row, count[row.name, row.place], ts_us, told)


def _tell_row(row: _Row, instance: int, ts_us: int, told: Told) -> None:
    who = (row.host, "host", None)
    labels = {"entity": row.place} if row.place else {}
    labels |= {"instance": str(instance)} if instance > 1 else {}
    if row.cell == "":
        told.absent(row.name, row.why)
    else:
        cell = int(row.cell, 16) if row.kind == "state" else row.cell
        told.sample(who, row.name, cell, ts_us=ts_us, unit=row.unit, kind=row.kind, labels=labels)
    if (code := _STATUS.get(row.status, "")) not in ("", "ok", "unspecified"):
        told.event(
            who,
            "sensor",
            f"{row.name}: {row.cell} {row.unit or ''}".rstrip() + f" is {code.replace('_', ' ')}",
            span_us=(ts_us, ts_us),
            line=row.line,
            code=code,
            severity=row.status,
            attributes={"sensor": row.name, "limits": row.limits or None, **labels},
        )


def _by_host(rows: list[_Row]) -> dict[str | None, list[_Row]]:
    found: dict[str | None, list[_Row]] = {}
    for row in rows:
        found.setdefault(row.host, []).append(row)
    return found


def _period(names: list[str]) -> int:
    """Give the number of sensors after which the same ones follow in the same order."""
    again = next((place for place in range(_FEWEST, len(names)) if names[place] == names[0]), len(names))
    same = all(name == names[place % again] for place, name in enumerate(names))
    return again if same else len(names)


def _row_of(text: str) -> _Row | None:
    """Read a line in the form that it has."""
    for form, pattern in _COMPILED.items():
        if found := pattern.fullmatch(text):
            return _shaped(form, [part or "" for part in found.groups()])
    return None


def _shaped(form: str, parts: list[str]) -> _Row:
    if form == "sensor":
        name, cell, unit, status, limits = parts
        if unit == "discrete":
            return _Row(name=name, cell=status if _STATE.fullmatch(status) else "", kind="state")
        told = [part.strip() for part in limits.split("|")[1:]]
        words = ("lnr", "lcr", "lnc", "unc", "ucr", "unr")
        shown = " ".join(f"{word} {limit}" for word, limit in zip(words, told, strict=True) if limit != "na")
        return replace(_measured(name, cell, unit), status=status, limits=shown)
    if form == "sdr":
        name, cell, status = parts
        found = _PART.fullmatch(cell)
        return replace(_measured(name, found[1] if found else cell, found[2] if found else None), status=status)
    if form == "elist":
        name, status, place, cell = parts
        found = _PART.fullmatch(cell)
        row = _measured(name, found[1] if found else "", found[2] if found else None)
        wordy = re.fullmatch(_NONE, cell, re.IGNORECASE) is None
        return replace(row, status=status, place=place, why="a state in words" if wordy else row.why)
    return replace(_measured(parts[0], parts[1], parts[2] if len(parts) == 4 else None), status=parts[-1])


def _measured(name: str, cell: str, unit: str | None) -> _Row:
    if _STATE.fullmatch(cell):
        return _Row(name=name, cell=cell, kind="state")
    number = cell if _PART.fullmatch(cell) else ""
    return _Row(name=name, cell=number, unit=None if unit in ("", "unspecified") else unit, kind="gauge")


READER = Reader(name="ipmi_sensor", recognise=_recognise, read=_read)
