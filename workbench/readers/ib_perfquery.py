"""Counters of InfiniBand ports as ``perfquery`` prints them: ``PortXmitData:....................37108676853855``.

A port is named by its LID, which a topology turns into its GUID. Without ``-x`` counters have 4 to
32 bits and stick at their maximum; those of 32 bits are metrics of their own
(``PortCounters.PortXmitData``). Data are counted in words of 4 octets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.fabric_names import lid_port, plain_counter
from workbench.readers.graph import Node
from workbench.readers.rounds import Moment, Rounds, dated
from workbench.readers.source import Source
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import line_batches

__all__ = ["READER"]

_HEADER = re.compile(r"#\s*(\w[\w ]{0,40}?) ?counters: Lid (\d{1,5}) port (\d{1,3})(?:\s*\(.*\))?\s*")
_COUNTER = re.compile(r"([A-Za-z]\w{0,60}):\.+(\S{1,40})\s*")
_VALUE = re.compile(r"\d{1,20}|0x[0-9a-fA-F]{1,16}")
_FAILED = re.compile(r"(?:ibwarn|iberror|ibpanic|perfquery|.*\bperfquery): .*|.*\bfailed\b.*")
_SELECT = frozenset({"PortSelect", "CounterSelect", "CounterSelect2"})
_ALL_PORTS = 255
_NO_PORT = "a counter of no port"
_LONGEST = 1000  # characters of a line


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if matched_share(head, r"^#\s*\w[\w ]*counters: Lid \d+ port \d+"):
        return Match(confidence=0.97, rule="'counters: Lid N port N', as perfquery prints it")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return line_batches(source, _Counters(context), longest=_LONGEST)


@dataclass(eq=False)
class _Counters:
    """The port that the next counters are of, and when."""

    context: Context
    _rounds: Rounds = field(init=False)
    _port: Node | None = None
    _plain: bool = False
    _names: set[str] = field(default_factory=set)
    _moment: Moment = field(default_factory=lambda: Moment(ts_us=None))

    def __post_init__(self) -> None:
        self._rounds = Rounds(self.context)

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
        elif found := _HEADER.fullmatch(text):
            self._headed(found[1].strip(), int(found[2]), int(found[3]))
            told.skip("header")
        elif found := _COUNTER.fullmatch(text):
            self._counted(number, text, found, told)
        elif stated := dated(text):
            self._rounds.say(stated[0])
            self._port = None
            told.skip("metadata")
        elif _FAILED.fullmatch(text):
            self._port = None
            told.reject(number, "the query failed", text)
        else:
            told.reject(number, "no counter as perfquery prints it", text)

    def _headed(self, section: str, lid: int, port: int) -> None:
        name = f"lid:{lid}/all" if port == _ALL_PORTS else lid_port(lid, port)
        self._port = (None, "port", name)
        self._names.clear()
        self._plain = section == "Port"
        self._moment = self._rounds.sample((section, lid, port))

    def _counted(self, number: int, text: str, found: re.Match[str], told: Told) -> None:
        name, value = found.groups()
        if self._port is None:
            told.reject(number, _NO_PORT, text)
        elif name in _SELECT:
            told.skip("metadata")
        elif name in self._names:
            told.reject(number, "the counter stands there twice", text)
        elif not _VALUE.fullmatch(value):
            told.reject(number, "the counter holds no number", text)
        elif self._moment.ts_us is None:
            told.reject(number, self._moment.why, text, curable=self._moment.cure)
        else:
            self._names.add(name)
            told.row()
            metric = plain_counter(name) if self._plain else name
            told.sample(self._port, metric, int(value, 0), ts_us=self._moment.ts_us, kind="counter")

    def end(self, told: Told, *, cut: bool) -> None:
        """Nothing waits."""


READER = Reader(name="ib_perfquery", recognise=_recognise, read=_read)
