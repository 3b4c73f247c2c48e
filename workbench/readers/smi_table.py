"""The table that ``nvidia-smi`` prints without options: a stamp above it, two lines of cells a GPU, processes below."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial

from workbench.model.context import Context
from workbench.readers.gpu_cells import LOST
from workbench.readers.gpu_tree import Facts, tell_identity
from workbench.readers.smi_stamp import iso_stamp
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING
from workbench.readers.toldtimes import Span, Waiting

__all__ = ["Table"]

_STAMP = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \d{4}\s*")
_FRAME = re.compile(r"[|+](?=[-=+|]*[-=+]{3})[-=+|]*\s*|\|[\s|]*\|\s*")
_FIRST = re.compile(
    r"\|\s+(?P<index>\d{1,3})\s+(?P<model>\S.*?)\s+(?:On|Off|N/A|ERR!)\s*\|\s*"
    r"(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s+\S+\s*\|\s*(?P<ecc>\S+)\s*\|\s*"
)
_SECOND = re.compile(
    r"\|\s*(?P<fan>\d+%|N/A|ERR!)\s+(?P<temperature>-?\d+C|N/A|ERR!)\s+(?P<pstate>P\d+|N/A|ERR!)\s+"
    r"(?P<power>\d+W|N/A|ERR!)\s*/\s*(?P<limit>\d+W|N/A|ERR!)\s*\|"
    r"\s*(?:(?P<used>\d+MiB|N/A|ERR!)\s*/\s*(?P<total>\d+MiB|N/A|ERR!)|[^|]*?)\s*\|\s*(?P<util>\d+%|N/A|ERR!)\s+\S.*\|\s*"
)
_NAMES = {
    "ecc": ("ecc.errors.uncorrected.volatile.total", None), "fan": ("fan.speed", "%"), "temperature": ("temperature.gpu", "C"),
    "pstate": ("pstate", None), "power": ("power.draw", "W"), "limit": ("enforced.power.limit", "W"),
    "used": ("memory.used", "MiB"), "total": ("memory.total", "MiB"), "util": ("utilization.gpu", "%"),
}  # fmt: skip
_DIGITS = re.compile(r"P?(-?\d+)")


@dataclass(eq=False)
class Table:
    """What is known of the table from line to line.

    Parameters
    ----------
    context : Context
    waiting : Waiting
        Where GPUs wait for their time.
    """

    context: Context
    waiting: Waiting
    _stamp: str = ""
    _gpu: tuple[int, str, dict[str, str]] | None = None
    _inside: bool = field(default=False)

    def line(self, number: int, text: str, told: Told) -> bool:
        """Take a line, if it is one of the table."""
        if _STAMP.fullmatch(text):
            self._stamp, self._inside = iso_stamp(text), True
            told.skip("metadata")
        elif not text.startswith(("|", "+")):
            return False
        elif found := _FIRST.fullmatch(text):
            self._drop(told)
            self._gpu = (number, text, found.groupdict())
        elif self._gpu is not None and (found := _SECOND.fullmatch(text)):
            line, first, cells = self._gpu
            self._gpu = None
            told.skip("continuation")
            self._wait(line, first, cells | found.groupdict("N/A"), told)
        else:
            told.skip("frame" if _FRAME.fullmatch(text) else "table text")
        return True

    def end(self, told: Told) -> None:
        """Reject a GPU whose second line is missing."""
        self._drop(told)

    def _drop(self, told: Told) -> None:
        if self._gpu is not None:
            told.reject(self._gpu[0], "the second line of this GPU is missing", self._gpu[1])
            self._gpu = None

    def _wait(self, line: int, text: str, cells: dict[str, str], told: Told) -> None:
        if self.context.host is None:
            told.reject(line, HOST_MISSING, text, curable="host")
            return
        self.waiting.add(line, self._stamp, text, tell=partial(_tell, told, self.context.host, line, cells))


def _tell(told: Told, host: str, line: int, cells: dict[str, str], span: Span) -> None:  # noqa: PLR0917 - bound but for the span
    told.row()
    facts = Facts()
    for name, own in (("pci.bus_id", "pci"), ("index", "index")):
        facts.take(name, cells[own])
    node = tell_identity(told, host, facts, span[0])
    for name, (metric, unit) in _NAMES.items():
        found = _DIGITS.match(cells[name])
        if found is None:
            told.absent(metric, cells[name])
            continue
        told.sample(node, metric, found[1], ts_us=span[0], unit=unit, kind="state" if name == "pstate" else None)
    if any(cells[name].lower() in LOST for name in _NAMES):
        told.event(
            node,
            "gpu",
            "ERR! in place of a value",
            span_us=span,
            line=line,
            code="lost",
            attributes={"pci": cells["pci"]},
        )
