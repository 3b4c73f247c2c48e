"""How full the event log of a BMC is: ``ipmitool sel info``. A log that is full records nothing more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.source import Source
from workbench.readers.text import matched_share
from workbench.readers.told import TAKEN_AT_MISSING, Told
from workbench.readers.toldlines import HOST_MISSING, line_batches

__all__ = ["READER"]

_HEADER = "SEL Information"
_FIELD = re.compile(r"([A-Z][A-Za-z ()#]{1,30}?) *: (.*)")
#: Fields that are measured: metric, unit of the cell, kind.
_MEASURED = {
    "Entries": ("SEL Entries", None, "gauge"),
    "Free Space": ("SEL Free Space", "B", "gauge"),
    "Percent Used": ("SEL Percent Used", "%", "gauge"),
    "Overflow": ("SEL Overflow", None, "state"),
}
_CELL = re.compile(r"(\d+)(?: ?(?:bytes|%).*)?")
_FLAGS = {"true": 1, "false": 0}


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if not matched_share(head, rf"^{_HEADER}\s*$") or not matched_share(head, r"^Entries +: \d"):
        return None
    return Match(confidence=0.9, rule="'SEL Information', as ipmitool prints it")


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return line_batches(source, _Info(context))


@dataclass(eq=False)
class _Info:
    """What was told so far; a second dump in one file has the time of none."""

    context: Context
    _dumps: int = 0

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        found = _FIELD.fullmatch(text.rstrip())
        if not text.strip():
            told.skip("blank")
        elif text.strip() == _HEADER:
            self._dumps += 1
            told.skip("header")
        elif found is None or not self._dumps:
            told.reject(number, "no field of 'sel info'", text)
        elif found[1] not in _MEASURED:
            told.skip("metadata")
        else:
            self._measured(number, text, (found[1], found[2].strip()), told)

    def _measured(self, number: int, text: str, named: tuple[str, str], told: Told) -> None:
        (metric, unit, kind), cell = _MEASURED[named[0]], named[1]
        ts_us, host = self.context.taken_at_us, self.context.host
        if self._dumps > 1:
            told.reject(number, "the dump starts again here, and holds no time: split the file, one dump each", text)
        elif host is None:
            told.reject(number, HOST_MISSING, text, curable="host")
        elif ts_us is None:
            told.reject(number, TAKEN_AT_MISSING, text, curable="taken_at")
        else:
            told.row()
            number_of = _CELL.fullmatch(cell)
            value = _FLAGS.get(cell.lower(), number_of[1] if number_of else cell)
            told.sample((host, "host", None), metric, value, ts_us=ts_us, unit=unit, kind=kind)

    def end(self, told: Told, *, cut: bool) -> None:
        """Nothing waits."""


READER = Reader(name="ipmi_sel_info", recognise=_recognise, read=_read)
