"""One record of an IPMI event log, from a line of ``ipmitool`` or from the fields of ``-v``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from workbench.readers.installed import word
from workbench.readers.told import Told

__all__ = ["Record", "record_of", "verbose_record"]

_PREFIX = re.compile(r"([A-Za-z][\w.-]*): (?= *[0-9a-f]{1,4} *[|,])")
_ID = re.compile(r"[0-9a-fA-F]{1,4}")
_DATE = re.compile(r"\d\d/\d\d/\d{2,4}")
_UPTIME = re.compile(r"\d{1,10}")
_DIRECTIONS = {"asserted": "asserted", "deasserted": "deasserted", "assertion event": "asserted"}
_DIRECTIONS |= {"deassertion event": "deasserted"}
_STAMP = re.compile(r"(\d\d/\d\d/\d{2,4}) (\d\d:\d\d:\d\d(?: \S{1,6})?)")
_TIME_LOST = re.compile(r"(\S+(?: \S+)?) \1")
_LOST = "ipmitool 1.8.19 -v prints the date twice and loses the time of day: dump 'sel elist' or 'sel list' instead"
_NO_UPTIME = "seconds since the BMC started, and the tool lost how many: dump 'sel elist' instead"
_NO_TIME = "an OEM record without a time"
_CUT = "the record is not whole: it has no Description"


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record; its time is a wall clock, seconds since the BMC started, or lost (``why``)."""

    line: int
    text: str
    host: str | None
    number: int
    sensor: str
    what: str
    direction: str | None
    date: str = ""
    clock: str = ""
    uptime_s: int | None = None
    why: str | None = None
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What tells records apart: those of one log never share all of it."""
        return repr((self.number, self.date, self.clock, self.uptime_s, self.sensor, self.what, self.direction))

    def tell(self, told: Told, span_us: tuple[int, int]) -> None:
        """Add it as an event."""
        oem = self.sensor.startswith("OEM record")
        code = word(self.sensor if oem else self.what)
        told.row()
        told.event(
            (self.host, "host", None),
            "sel.cleared" if self.direction == "deasserted" else "sel",
            f"{self.sensor}: {self.what}" if self.what else self.sensor,
            span_us=span_us,
            line=self.line,
            code=code,
            attributes={"record": self.number, "sensor": self.sensor, "direction": self.direction, **self.more},
        )


def record_of(line: int, text: str, host: str | None) -> Record | None:
    """Read a line of ``list``, ``elist`` or ``-c``, with or without a host before it; None: it is none.

    Examples
    --------
    >>> found = record_of(1, "   a | 11/02/25 | 03:18:09 UTC | Fan #0x71 | Lower Critical going low  | Asserted", None)
    >>> found.number, found.date, found.sensor, found.what, found.direction
    (10, '11/02/25', 'Fan #0x71', 'Lower Critical going low', 'asserted')
    >>> record_of(1, "1, Pre-Init ,0000001477,Fan #0x71,Asserted", "n1").uptime_s
    1477
    """
    if prefix := _PREFIX.match(text):
        host, body = prefix[1], text[prefix.end() :]
    else:
        body = text
    parts = [part.strip() for part in body.split("|" if "|" in body else ",")]
    if len(parts) < 3 or not _ID.fullmatch(parts[0]):
        return None
    when, rest = parts[1], parts[2:]
    bare = Record(line=line, text=text, host=host, number=int(parts[0], 16), sensor=when, what="", direction=None)
    if when.startswith("OEM record"):
        return replace(bare, what=" ".join(rest), why=_NO_TIME)
    if when.startswith("Pre-Init"):
        if not _UPTIME.fullmatch(rest[0]):
            return replace(_told(bare, rest), why=_NO_UPTIME)
        return replace(_told(bare, rest[1:]), uptime_s=int(rest[0]))
    if not _DATE.fullmatch(when) or len(rest) < 2:
        return None
    return replace(_told(bare, rest[1:]), date=when, clock=rest[0])


def _told(bare: Record, parts: list[str]) -> Record:
    """Add sensor, what happened, direction, and what elist says behind it."""
    places = [place for place, part in enumerate(parts) if part.lower() in _DIRECTIONS and place]
    end = places[-1] if places else len(parts)
    sensor, *what = parts[:end] or [""]
    behind = ", ".join(part for part in parts[end + 1 :] if part)
    return replace(
        bare,
        sensor=sensor,
        what=" ".join(what).strip(),
        direction=_DIRECTIONS[parts[end].lower()] if places else None,
        more={"reading": behind} if behind else {},
    )


def verbose_record(line: int, text: str, fields: Mapping[str, str], host: str | None) -> Record | str:
    """Read the fields of one record of ``-v``; a text says why it is none.

    What ``list`` does not print (event data, generator) is left out, so that both give one event.

    Examples
    --------
    >>> fields = {"Timestamp": "11/02/2025 03:14:07", "Sensor Type": "Memory", "Sensor Number": "30"}
    >>> fields |= {"Event Direction": "Assertion Event", "Description": "Correctable ECC"}
    >>> found = verbose_record(1, "SEL Record ID          : 0002", fields, None)
    >>> found.number, found.sensor, found.clock
    (2, 'Memory #0x30', '03:14:07')
    >>> verbose_record(1, "SEL Record ID          : 0002", {**fields, "Timestamp": "11/02/25 11/02/25"}, None).why[:16]
    'ipmitool 1.8.19 '
    """
    if "Description" not in fields:
        return _CUT
    stamp = fields.get("Timestamp", "")
    found = _STAMP.fullmatch(stamp)
    why = None
    if found is None:
        early = stamp.startswith(("S+", "Pre-Init"))
        why = _NO_UPTIME if early else _LOST if _TIME_LOST.fullmatch(stamp) else "the record has no time"
    return Record(
        line=line,
        text=f"{text} | {stamp} | {fields.get('Sensor Type', '')} | {fields['Description']}",
        host=host,
        number=int(text.rpartition(":")[2].strip(), 16),
        sensor=f"{fields.get('Sensor Type', '')} #0x{fields.get('Sensor Number', '').lower()}",
        what=fields["Description"].strip(),
        direction=_DIRECTIONS.get(fields.get("Event Direction", "").lower()),
        date=found[1] if found else "",
        clock=found[2] if found else "",
        why=why,
    )
