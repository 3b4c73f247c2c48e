"""Counters of Lustre: ``stats`` and ``job_stats``, from ``/proc`` or ``lctl get_param``.

All counts rise from the start of the server or the last clear. Each operation gives how often it
was (``read_bytes_samples_total``) and, where it has a size or a duration, the sum
(``read_bytes_total``); least, most and squares are of all time and left out. ``job_stats`` looks
like YAML and is none (``max:16777216``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.graph import Node
from workbench.readers.source import Source
from workbench.readers.text import matched_share
from workbench.readers.told import TAKEN_AT_MISSING, Told
from workbench.readers.toldlines import HOST_MISSING, line_batches
from workbench.timebase import MICROS

__all__ = ["READER", "snapshot_us"]

_STATS = r"[\w.]+ +\d+ samples \[[\w ]+\](?: +\d+)*"
_LINE = re.compile(r"([\w.]+) +(\d{1,39}) samples \[([\w ]+)\]((?: +\d{1,39})*)\s*")
_SNAPSHOT = re.compile(r"\s*snapshot_time:? +(\d{1,12}(?:\.\d{1,9})?)(?: +secs\.([un])secs)?\s*")
_PARAMETER = re.compile(r"([\w-]+)\.([^=\s]+)\.(?:\w+_)?(?:md_|job_)?stats=")
_JOB = re.compile(r"- job_id:\s+(\S.*?)\s*")
_OPERATION = re.compile(r"\s+(\w+):\s+\{\s*samples:\s*(\d{1,39})\s*,\s*unit:\s*(\w+)(.*)\}\s*,?\s*")
_SUM = re.compile(r"[,{\s]sum:\s*(\d{1,39})")
_BESIDE = re.compile(r"\s*(?:start_time|elapsed_time):? .*")
_POINTER = re.compile(r"-[0-9a-f]{8,16}$")
_CLIENTS = frozenset({"llite", "osc", "mdc", "lov", "lmv", "mgc"})
_UNITS = {"bytes": "B", "usec": "us", "usecs": "us", "reqs": None, "locks": None, "pages": None}
_FIRST_S, _LAST_S = 978_307_200, 9_999_999_999
_NO_TARGET = (
    'the dump does not name its target: state device as a constant (device = "=scratch-OST0001") in a mapping (--map)'
)
_NO_JOB = "an operation of no job"


def snapshot_us(text: str, fraction: str | None) -> int | None:
    """Give UTC microseconds of a snapshot; before 2.9 the microseconds are not filled up with zeros.

    Examples
    --------
    >>> snapshot_us("1438693064.4305", "u"), snapshot_us("1461772761.123456789", "n"), snapshot_us("1461772761", None)
    (1438693064004305, 1461772761123456, 1461772761000000)
    """
    seconds, _, digits = text.partition(".")
    if not _FIRST_S <= int(seconds) <= _LAST_S:
        return None
    part = int(digits or 0) // (1000 if fraction == "n" or len(digits) > 6 else 1)
    return int(seconds) * MICROS + part


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    share = matched_share(head, rf"^{_STATS}\s*$", at_least=2)
    if share >= 0.5 and matched_share(head, r"^snapshot_time +\d"):
        return Match(confidence=0.97, rule=f"{share:.0%} of the first lines are counters of Lustre, with snapshot_time")
    if matched_share(head, r"^- job_id: ") and matched_share(head, r"^\s+\w+:\s+\{ samples: +\d+, unit: +\w+"):
        return Match(confidence=0.97, rule="job_stats of Lustre")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return line_batches(source, _Stats(context))


@dataclass(eq=False)
class _Stats:
    """Whose counters the next lines are, and of when."""

    context: Context
    _who: Node | None = field(init=False)
    _ts_us: int | None = field(init=False)
    _job: str | None = None

    def __post_init__(self) -> None:
        stated = self.context.columns.roles.get("device", "")
        self._who = (None, "target", stated[1:]) if stated.startswith("=") and stated[1:] else None
        self._ts_us = self.context.taken_at_us

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
        elif found := _LINE.fullmatch(text):
            self._job = None
            sums = found[4].split()
            self._operation(number, text, (found[1], found[2], found[3], sums[2] if len(sums) > 2 else None), told)
        elif found := _OPERATION.fullmatch(text):
            if self._job is None:
                told.reject(number, _NO_JOB, text)
                return
            total = _SUM.search(found[4])
            self._operation(number, text, (found[1], found[2], found[3], total[1] if total else None), told)
        else:
            self._beside(number, text, told)

    def _beside(self, number: int, text: str, told: Told) -> None:
        """Take a line that counts nothing."""
        if found := _SNAPSHOT.fullmatch(text):
            self._ts_us = snapshot_us(found[1], found[2])
            told.skip("metadata")
        elif found := _PARAMETER.fullmatch(text.strip()):
            self._named(found[1], found[2])
            told.skip("header")
        elif found := _JOB.fullmatch(text):
            self._job = found[1].strip("\"'")
            self._ts_us = self.context.taken_at_us
            told.skip("metadata")
        elif text.strip() == "job_stats:" or _BESIDE.fullmatch(text):
            told.skip("header" if text.strip() == "job_stats:" else "metadata")
        else:
            told.reject(number, "no counter of Lustre", text)

    def _named(self, parameter: str, name: str) -> None:
        """Take the target that ``lctl get_param`` names; clients carry the address of their mount."""
        self._job, self._ts_us = None, self.context.taken_at_us
        if parameter in _CLIENTS:
            self._who = (self.context.host, "mount", _POINTER.sub("", name))
        else:
            self._who = (None, "target", name)

    def _operation(self, number: int, text: str, parts: tuple[str, str, str, str | None], told: Told) -> None:
        name, count, unit, total = parts
        if self._who is None:
            told.reject(number, _NO_TARGET, text, curable="map")
        elif self._who[1] == "mount" and self._who[0] is None:
            told.reject(number, HOST_MISSING, text, curable="host")
        elif self._ts_us is None:
            told.reject(number, TAKEN_AT_MISSING, text, curable="taken_at")
        else:
            told.row()
            labels = {} if self._job is None else {"job_id": self._job}
            name = name if self._job is None else f"job_{name}"
            told.sample(
                self._who, f"{name}_samples_total", int(count), ts_us=self._ts_us, kind="counter", labels=labels
            )
            if total is not None:
                known = _UNITS.get(unit, unit)
                told.sample(
                    self._who, f"{name}_total", int(total), ts_us=self._ts_us, unit=known, kind="counter", labels=labels
                )

    def end(self, told: Told, *, cut: bool) -> None:
        """Nothing waits."""


READER = Reader(name="lustre_proc", recognise=_recognise, read=_read)
