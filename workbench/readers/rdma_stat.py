"""Counters of RDMA ports: ``rdma statistic`` as text or JSON, and ``hw_counters`` of sysfs as ``path:value``.

None of them holds a host or a time. ``lifespan`` is the age of the cache in milliseconds, no counter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.graph import Node
from workbench.readers.jsondoc import Document, documents_of, outer_keys
from workbench.readers.rounds import Moment, Rounds, dated
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING, line_batches

__all__ = ["READER"]

_LINK = re.compile(r"link ([A-Za-z][\w-]{0,40})/(\d{1,3})((?: +[A-Za-z]\w{0,80} +\d{1,20})+)\s*")
_SYSFS = re.compile(
    r"(?:.*/)?infiniband/([A-Za-z][\w-]{0,40})/(?:ports/(\d{1,3})/)?(?:hw_)?counters/([A-Za-z]\w{0,80})(?::|\s+|=)\s*(\S{1,40})\s*"
)
_BESIDE = frozenset({"ifindex", "ifname", "port", "lifespan"})
_MOST = 2**64
_MISSING = re.compile(r"(?i:n/a.*|invalid.*|-+)")
_OTHER = "no statistic of an RDMA port"
_LONGEST = 10_000  # characters of a line


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if matched_share(head, r"^link [A-Za-z][\w-]*/\d+(?: +[A-Za-z]\w* +\d+)+\s*$"):
        return Match(confidence=0.97, rule="'link device/port' and counters, as rdma statistic prints it")
    if {"ifindex", "ifname", "port"} <= outer_keys(head):
        return Match(confidence=0.97, rule="JSON with ifindex, ifname and port, as rdma statistic -j prints it")
    if matched_share(head, r"^\S*infiniband/[\w-]+/(?:ports/\d+/)?(?:hw_)?counters/\w+(?::|\s+|=)\s*\S+\s*$") >= 0.5:
        return Match(confidence=0.97, rule="counters of infiniband in sysfs, a path and a value a line")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    start = source.head().removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"[", b"{")):
        return _read_json(source, context)
    return line_batches(source, _Text(context), longest=_LONGEST)


@dataclass(eq=False)
class _Ports:
    """Tells counters of ports; each of its callers counts the record."""

    context: Context
    rounds: Rounds = field(init=False)

    def __post_init__(self) -> None:
        self.rounds = Rounds(self.context)

    def refusal(self, moment: Moment) -> tuple[str, str | None] | None:
        """Say why nothing can be told, and what cures it."""
        if self.context.host is None:
            return HOST_MISSING, "host"
        return (moment.why, moment.cure) if moment.ts_us is None else None

    def tell(self, place: tuple[str, str | None], counters: dict[str, Any], moment: Moment, told: Told) -> None:
        """Tell the counters of a port, or (without a port) of its adapter."""
        device, port = place
        assert moment.ts_us is not None
        nic: Node = (self.context.host, "nic", device)
        who: Node = nic if port is None else (self.context.host, "port", f"{device}/{port}")
        if port is not None:
            told.graph.link(who, "in", nic)
        for name, value in counters.items():
            number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST
            if number:
                told.sample(who, name, value, ts_us=moment.ts_us, kind="counter")
            else:
                told.absent(name, "not a number")


@dataclass(eq=False)
class _Text:
    context: Context
    _ports: _Ports = field(init=False)
    _moments: dict[tuple[str, str | None], Moment] = field(default_factory=dict)
    _names: set[tuple[str, str | None, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._ports = _Ports(self.context)

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
        elif found := _LINK.fullmatch(text):
            words = found[3].split()
            counters = {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}
            moment = self._ports.rounds.sample((found[1], found[2]))
            self._tell((number, text), (found[1], found[2]), counters, told, moment=moment)
        elif found := _SYSFS.fullmatch(text):
            self._file(number, text, found, told)
        elif stated := dated(text):
            self._ports.rounds.say(stated[0])
            self._names.clear()
            self._moments.clear()
            told.skip("metadata")
        else:
            told.reject(number, _OTHER, text)

    def _file(self, number: int, text: str, found: re.Match[str], told: Told) -> None:
        """Take one file of sysfs; the same one again begins the next sample of its port."""
        device, port, name, value = found.groups()
        place = (device, port)
        if (*place, name) in self._names or place not in self._moments:
            self._names = {key for key in self._names if key[:2] != place}
            self._moments[place] = self._ports.rounds.sample(place)
        self._names.add((*place, name))
        if name == "lifespan":
            told.skip("metadata")
        elif _MISSING.fullmatch(value):
            told.row()
            told.absent(name, value)
        elif not re.fullmatch(r"\d{1,20}", value):
            told.reject(number, "the counter holds no number", text)
        else:
            self._tell((number, text), place, {name: int(value)}, told, moment=self._moments[place])

    def _tell(
        self,
        line: tuple[int, str],
        place: tuple[str, str | None],
        counters: dict[str, Any],
        told: Told,
        *,
        moment: Moment,
    ) -> None:
        if refusal := self._ports.refusal(moment):
            told.reject(line[0], refusal[0], line[1], curable=refusal[1])
            return
        told.row()
        self._ports.tell(place, {name: value for name, value in counters.items() if name not in _BESIDE}, moment, told)

    def end(self, told: Told, *, cut: bool) -> None:
        """Nothing waits."""


def _read_json(source: Source, context: Context) -> Iterator[Batch]:
    told, ports = Told(), _Ports(context)
    for document in documents_of(source):
        if document.why is not None:
            told.reject(document.line, document.why, document.text)
            continue
        entries = document.value if isinstance(document.value, list) else [document.value]
        for entry in entries or [None]:
            _entry(entry, document, ports, told)
    yield told.batch()
    yield from damage_batches(source)


def _entry(entry: Any, document: Document, ports: _Ports, told: Told) -> None:
    """Take the object of one port: a record of its own."""
    name = entry.get("ifname") if isinstance(entry, dict) else None
    port = entry.get("port") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not isinstance(port, int) or isinstance(port, bool) or not name:
        told.reject(document.line, _OTHER, document.text)
        return
    moment = ports.rounds.sample((name, port))
    if refusal := ports.refusal(moment):
        told.reject(document.line, refusal[0], document.text, curable=refusal[1])
        return
    told.row()
    counters = {key: value for key, value in entry.items() if key not in _BESIDE}
    ports.tell((name, str(port)), counters, moment, told)


READER = Reader(name="rdma_stat", recognise=_recognise, read=_read)
