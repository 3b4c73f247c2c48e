"""What ``ibnetdiscover`` found: nodes, ports and cables; the long form and the one of ``-p``.

A cable between two switches stands there twice and is one link. ``4x ???`` is a port that is down. A
dump is a state, not a history: entities, links and other names, seen at its time where that is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.dumptime import stated_us
from workbench.readers.fabric_names import Fabric, normal_guid
from workbench.readers.source import Source
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import line_batches

__all__ = ["READER"]

_GUID = r"0x[0-9a-fA-F]{1,16}"
_NUMBER = r"\d{1,5}"
_PEER = (
    rf"\s+-\s+(?P<kind2>CA|SW|RT)\s+(?P<lid2>{_NUMBER})\s+(?P<port2>{_NUMBER})\s+(?P<guid2>{_GUID})"
    r"\s+\(\s*'(?P<name>.*)'\s+-\s+'(?P<name2>.*)'\s*\)"
)
_LISTED = re.compile(
    rf"(?P<kind>CA|SW|RT)\s+(?P<lid>{_NUMBER})\s+(?P<port>{_NUMBER})\s+(?P<guid>{_GUID})"
    rf"\s+(?P<width>\d{{1,2}}x|\S{{1,8}})\s+(?P<speed>\S+)(?:{_PEER}|\s+'(?P<alone>.*)')\s*"
)
_NODE = re.compile(
    r"(?P<kind>Switch|Ca|Rt)\s+(?P<ports>\d{1,4})\s+\"(?P<mark>[SHR])-(?P<guid>[0-9a-fA-F]{16})\"\s*#\s*\"(?P<name>.*)\""
    rf"(?:\s+(?P<role>base|enhanced) port 0 lid (?P<lid>{_NUMBER}) lmc \d+)?\s*"
)
_CABLE = re.compile(
    rf"\[(?P<port>{_NUMBER})\](?:\((?P<portguid>[0-9a-fA-F]{{1,16}})\))?\s+\"(?P<mark2>[SHR])-(?P<guid2>[0-9a-fA-F]{{16}})\""
    rf"\[(?P<port2>{_NUMBER})\](?:\((?P<portguid2>[0-9a-fA-F]{{1,16}})\))?\s*#"
    rf"(?:\s*lid (?P<lid>{_NUMBER}) lmc \d+)?\s*\"(?P<name2>.*)\"\s+lid (?P<lid2>{_NUMBER})"
    r"(?:\s+(?P<width>\d{1,2}x)(?P<speed>[A-Za-z0-9]+))?(?:\s.*)?"
)
_FIELD = re.compile(rf"(?:vendid|devid|sysimgguid|switchguid|caguid|rtguid)=({_GUID})(?:\([0-9a-fA-F]+\))?\s*")
_CHASSIS = re.compile(r"Chassis \d+.*|Spine .*|Line .*")
_DATED = re.compile(r"#.*?generated on (.+?)\s*")
_NO_NODE = "a port of no node"
_NO_LINE = "no line of ibnetdiscover"
_DOWN = "???"
_LONGEST = 1000  # characters of a line


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    listed = matched_share(head, rf"^(?:CA|SW|RT)\s+\d+\s+\d+\s+{_GUID}\s+\S+\s+\S")
    if listed >= 0.5:
        return Match(confidence=0.97, rule="ports as ibnetdiscover -p lists them")
    if matched_share(head, r"^vendid=0x") and matched_share(head, r'^(?:Switch|Ca|Rt)\s+\d+\s+"[SHR]-[0-9a-fA-F]{16}"'):
        return Match(confidence=0.97, rule="'vendid=' and nodes, as ibnetdiscover prints them")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return line_batches(source, _Topology(context), longest=_LONGEST)


@dataclass(eq=False)
class _Topology:
    """The fabric so far, and the node that the next ports are of."""

    context: Context
    fabric: Fabric = field(default_factory=Fabric)
    _node: str | None = None
    _seen_us: int | None = field(init=False)

    def __post_init__(self) -> None:
        self._seen_us = self.context.taken_at_us

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
        elif text.startswith("#"):
            self._comment(text, told)
        elif found := _LISTED.fullmatch(text):
            self._listed(found, told)
        elif found := _NODE.fullmatch(text):
            self._headed(found, told)
        elif found := _CABLE.fullmatch(text):
            self._cabled(number, text, found, told)
        elif _FIELD.fullmatch(text) or _CHASSIS.fullmatch(text):
            told.skip("metadata")
            self._node = None
        else:
            told.reject(number, _NO_LINE, text)

    def _comment(self, text: str, told: Told) -> None:
        told.skip("comment")
        if (found := _DATED.fullmatch(text)) and self.context.taken_at_us is None:
            self._seen_us, cure = stated_us(found[1], self.context)
            if cure == "clock":
                told.note(f"taken at {found[1]}, local time: state the zone of this file to date its names")

    def _listed(self, found: re.Match[str], told: Told) -> None:
        told.row()
        part = found.groupdict()
        one = self._end(part["kind"], part["guid"], part["name"] or part["alone"] or "", (part["port"], part["lid"]))
        if one is None:
            return
        speed = {"speed": "down"} if part["speed"] == _DOWN else {"speed": part["speed"], "width": part["width"]}
        self.fabric.port(*one, attributes=speed)
        if part["guid2"] is not None:
            other = self._end(part["kind2"], part["guid2"], part["name2"], (part["port2"], part["lid2"]))
            if other is not None:
                self.fabric.cable(one, other)

    def _headed(self, found: re.Match[str], told: Told) -> None:
        told.row()
        guid = self._node = normal_guid(found["guid"])
        if guid is None:
            return
        self.fabric.node(guid, _kind(found["kind"]), found["name"], {"ports": found["ports"]})
        if found["lid"]:
            self.fabric.nodes[guid].lids[0] = int(found["lid"])

    def _cabled(self, number: int, text: str, found: re.Match[str], told: Told) -> None:
        if self._node is None:
            told.reject(number, _NO_NODE, text)
            return
        told.row()
        part = found.groupdict()
        one = (self._node, int(part["port"]))
        speed = {"speed": part["speed"], "width": part["width"]} if part["speed"] else {}
        self.fabric.port(
            *one, lid=int(part["lid"] or 0), port_guid=normal_guid(part["portguid"] or ""), attributes=speed
        )
        kind = "SW" if part["mark2"] == "S" else "CA"
        other = self._end(kind, part["guid2"], part["name2"], (part["port2"], part["lid2"]))
        if other is not None:
            self.fabric.port(*other, port_guid=normal_guid(part["portguid2"] or ""))
            self.fabric.cable(one, other)

    def _end(self, kind: str, guid: str, name: str, place: tuple[str, str]) -> tuple[str, int] | None:
        """Add one end of a cable; None where its GUID is zero."""
        normal = normal_guid(guid)
        if normal is None:
            return None
        self.fabric.node(normal, _kind(kind), name)
        port, lid = (int(digits) for digits in place)
        self.fabric.port(normal, port, lid=lid)
        return normal, port

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell the fabric."""
        del cut
        for note in self.fabric.tell(told.graph, self._seen_us):
            told.note(note)


def _kind(word: str) -> str:
    return {"sw": "switch", "switch": "switch", "rt": "router"}.get(word.lower(), "nic")


READER = Reader(name="ib_topology", recognise=_recognise, read=_read)
