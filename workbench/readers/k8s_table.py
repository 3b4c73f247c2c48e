"""The table of ``kubectl get events``: ages, which mean something only beside the time of the command."""

from __future__ import annotations

import re

from workbench.readers.k8s_objects import who_of
from workbench.readers.told import TAKEN_AT_MISSING, Told
from workbench.timebase import MICROS, format_us

__all__ = ["EventTable", "age_of", "is_header"]

_HEADER = re.compile(r"(?:NAMESPACE +)?LAST SEEN +TYPE +REASON +OBJECT +")
_UNITS = {"y": 365 * 86_400, "d": 86_400, "h": 3600, "m": 60, "s": 1}
_AGE = re.compile(r"(?:\d{1,4}[ydhms])+", re.ASCII)
_REPEATED = re.compile(r"(?P<age>\S+)(?: \(x(?P<count>\d{1,9}) over (?P<over>\S+)\))?")
_OLDEST_S = 10 * 365 * 86_400


def is_header(line: str) -> bool:
    """Tell whether a line is the header of the table.

    Examples
    --------
    >>> is_header("LAST SEEN   TYPE      REASON   OBJECT      MESSAGE"), is_header("LAST SEEN")
    (True, False)
    """
    return _HEADER.match(line) is not None


def age_of(text: str) -> tuple[int, int] | None:
    """Give seconds of an age, and how fine it is told; None where it is none.

    Examples
    --------
    >>> age_of("3m12s"), age_of("5h"), age_of("2d3h"), age_of("<unknown>")
    ((192, 1), (18000, 3600), (183600, 3600), None)
    """
    if not _AGE.fullmatch(text):
        return None
    parts = re.findall(r"(\d+)([ydhms])", text)
    seconds = sum(int(number) * _UNITS[unit] for number, unit in parts)
    return (seconds, _UNITS[parts[-1][1]]) if seconds <= _OLDEST_S else None


class EventTable:
    """Reads rows by the columns of the header.

    Parameters
    ----------
    header : str
    taken_at_us : int or None
        When the command ran, as far as stated.
    """

    def __init__(self, header: str, taken_at_us: int | None) -> None:
        names = list(re.finditer(r"\S+(?: \S+)*", header))
        self._columns = [(name[0], name.start()) for name in names]
        self._taken_us = taken_at_us

    def row(self, number: int, text: str, told: Told) -> None:
        """Tell a row."""
        cells = self._cells(text)
        kind, slash, name = cells.get("OBJECT", "").partition("/")
        seen = _REPEATED.fullmatch(cells.get("LAST SEEN", ""))
        age = None if seen is None else age_of(seen["age"])
        if not slash or not name or not cells.get("REASON"):
            told.reject(number, "row of another table than its header says", text)
        elif seen is None or age is None:
            told.reject(number, f"'{cells['LAST SEEN'][:40]}' is no age", text)
        elif self._taken_us is None:
            told.reject(number, TAKEN_AT_MISSING, text, curable="taken_at")
        else:
            told.row()
            seconds, fine = age
            high = self._taken_us - seconds * MICROS
            over = age_of(seen["over"]) if seen["over"] else None
            attributes = {"count": int(seen["count"] or cells.get("COUNT") or 1) if _counts(seen, cells) else 1}
            first = None if over is None else format_us(self._taken_us - over[0] * MICROS)
            told.event(
                who_of(kind, cells.get("NAMESPACE") if kind.lower() != "node" else None, name), "k8s", cells.get("MESSAGE", ""),
                span_us=(high - fine * MICROS + 1, high), line=number, code=cells["REASON"],
                severity=cells.get("TYPE", "").lower() or None, attributes={**attributes, "first": first},
            )  # fmt: skip

    def _cells(self, text: str) -> dict[str, str]:
        """Cut at the columns of the header, which are as wide as their widest cell."""
        starts = [start for _, start in self._columns]
        ends = [*starts[1:], None]
        return {name: text[start:end].strip() for (name, start), end in zip(self._columns, ends, strict=True)}


def _counts(seen: re.Match[str], cells: dict[str, str]) -> bool:
    return bool(seen["count"]) or cells.get("COUNT", "").isdecimal()
