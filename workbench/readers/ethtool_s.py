"""Statistics of a network interface: ``ethtool -S``, ``NIC statistics:`` and a counter a line.

Neither host nor interface nor time stand inside; loops print them above each block
(``# 2025-11-02T03:14:00+00:00 node-a01 enp94s0np0``). Counters of one ring are ``[0]: rx_packets: 101``.
Names are those of the driver; they are kept, with ``ethtool.`` before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.rounds import Moment, Rounds, dated
from workbench.readers.source import Source
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING, line_batches

__all__ = ["READER"]

_BEGIN = "NIC statistics:"
_COUNTER = re.compile(r"\s+(?:\[(\d{1,5})\]: ?)?([A-Za-z][^\s:]{0,120}(?: [^\s:]{1,60}){0,6}): *(-?\d{1,20})\s*")
_NAME = r"[A-Za-z][\w.@-]{0,63}"
_HEADINGS = (
    re.compile(rf"[#=*>\s$-]*(?:sudo +)?(?:/\S*/)?ethtool +(?:-S|--statistics) +({_NAME})[\s=*-]*"),
    re.compile(rf"[#=*\s-]*(?:[Ii]nterface|[Dd]evice|[Dd]ev|[Nn]ic|NIC)[: ]+({_NAME}):?[\s=*-]*"),
    re.compile(rf"[#=*-]+ *({_NAME}) *[#=*:-]*"),
    re.compile(rf"({_NAME}):\s*"),
)
_ERROR = re.compile(
    r"(?:ethtool: )?(?:no stats available|Cannot get .*|netlink error: .*|.*: (?:No such device|Operation not supported))",
    re.IGNORECASE,
)
_NO_BLOCK = "a counter outside of NIC statistics"
_NO_DEVICE = (
    'the dump does not name its interface: state device as a constant (device = "=ens1f0") in a mapping (--map)'
)
_OTHER = "no line of ethtool -S"
_LONGEST = 1000  # characters of a line


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if matched_share(head, r"^NIC statistics:\s*$") and matched_share(head, r"^\s+\S[^:]*(?:\]: ?[^:]+)?: *-?\d+\s*$"):
        return Match(confidence=0.97, rule="'NIC statistics:', as ethtool -S prints it")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return line_batches(source, _Statistics(context), longest=_LONGEST)


@dataclass(eq=False)
class _Statistics:
    """Whose block it is, and when."""

    context: Context
    _rounds: Rounds = field(init=False)
    _stated: str | None = field(init=False)
    _host: str | None = field(init=False)
    _device: str | None = None
    _open: bool = False
    _moment: Moment = field(default_factory=lambda: Moment(ts_us=None))
    _names: set[tuple[str | None, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._rounds = Rounds(self.context)
        stated = self.context.columns.roles.get("device", "")
        self._stated = stated[1:] if stated.startswith("=") and stated[1:] else None
        self._host, self._device = self.context.host, self._stated

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
        elif text.strip() == _BEGIN:
            told.skip("header")
            self._begin()
        elif found := _COUNTER.fullmatch(text):
            self._counter(number, text, found, told)
        else:
            self._beside(number, text, told)

    def _begin(self) -> None:
        self._open = True
        self._names.clear()
        self._moment = self._rounds.sample((self._host, self._device))

    def _beside(self, number: int, text: str, told: Told) -> None:
        """Take a line between blocks: a time, an interface, an error."""
        was_open, self._open = self._open, False
        if stated := dated(text):
            self._rounds.say(stated[0])
            self._heading(stated[1])
            told.skip("metadata")
        elif _ERROR.fullmatch(text.strip()):
            told.reject(number, "the interface gave an error", text)
            self._device = self._stated
        elif found := next((match for pattern in _HEADINGS if (match := pattern.fullmatch(text))), None):
            self._device = found[1]
            told.skip("metadata")
        else:
            self._open = was_open
            told.reject(number, _OTHER, text)

    def _heading(self, rest: str) -> None:
        """Take host and interface that stand behind a time; the name alone is the interface."""
        words = rest.split()
        if len(words) == 2:
            self._host, self._device = words
        elif len(words) == 1:
            self._device = words[0]

    def _counter(self, number: int, text: str, found: re.Match[str], told: Told) -> None:
        ring, name, value = found.groups()
        if not self._open:
            told.reject(number, _NO_BLOCK, text)
        elif (ring, name) in self._names:
            told.reject(number, "the counter stands there twice", text)
        elif self._device is None:
            told.reject(number, _NO_DEVICE, text, curable="map")
        elif self._host is None:
            told.reject(number, HOST_MISSING, text, curable="host")
        elif self._moment.ts_us is None:
            told.reject(number, self._moment.why, text, curable=self._moment.cure)
        else:
            self._names.add((ring, name))
            told.row()
            labels = {} if ring is None else {"ring": ring}
            who = (self._host, "nic", self._device)
            told.sample(who, f"ethtool.{name}", int(value), ts_us=self._moment.ts_us, kind="counter", labels=labels)

    def end(self, told: Told, *, cut: bool) -> None:
        """Nothing waits."""


READER = Reader(name="ethtool_s", recognise=_recognise, read=_read)
