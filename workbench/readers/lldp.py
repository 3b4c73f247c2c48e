"""Neighbours that LLDP found: tables of switches, and ``lldpcli -f json`` of hosts.

Which host's NIC is on which port of which switch: links, no samples. The dump does not name its own
host. The JSON of ``lldpcli`` changes its shape: a neighbour is an object or a list of them, keyed by
the interface or not, the chassis keyed by its name or not, an address text or a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.graph import Node
from workbench.readers.jsondoc import documents_of, outer_keys
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING, line_batches

__all__ = ["READER"]

_ARISTA = re.compile(r"Port\s+Neighbor Device ID\s+Neighbor Port ID\s+TTL\s*")
_CISCO = re.compile(r"Device ID\s+Local Intf\s+Hold-?time\s+Capability\s+Port ID\s*")
_ROW_ARISTA = re.compile(
    r"(?P<local>[A-Za-z][\w./-]*)\s+(?P<device>\S+)\s+(?P<port>\S+(?: \S+)*?)\s+(?P<ttl>\d{1,5})\s*"
)
_ROW_CISCO = re.compile(
    r"(?P<device>\S+)\s+(?P<local>[A-Za-z][\w./-]*)\s+(?P<ttl>\d{1,5})\s+(?:[BCDHPRSTWO](?:,\s*[BCDHPRSTWO])*\s+)?(?P<port>\S+(?: \S+)*?)\s*"
)
_COUNTED = re.compile(
    r"(?:Last table change|Number of table|Total entries|Capability codes|Total neighbou?rs)\b.*", re.IGNORECASE
)
_CODES = re.compile(r"\s*\([A-Z]\) .*|-{3,}[\s-]*")
_OF_HOST = re.compile(
    r"(?:en|eth\d|ib\w*\d|mlx|bond|ens|eno|rdma|roce)\w*|(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}"
)
_NOBODY = frozenset({"localhost", "localhost.localdomain", "(none)", "not advertised", ""})
_NO_ROW = "no row of a table of neighbours"
_NO_NEIGHBOUR = "a neighbour without a name or a port"
_DEPTH = 4
_LONGEST = 1000  # characters of a line


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if matched_share(head, rf"^(?:{_ARISTA.pattern}|{_CISCO.pattern})$"):
        return Match(confidence=0.97, rule="a table of LLDP neighbours")
    if "lldp" in outer_keys(head) and b'"interface"' in head:
        return Match(confidence=0.97, rule="JSON with lldp and interface, as lldpcli writes it")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    if source.head().removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[")):
        return _read_json(source, context)
    return line_batches(source, _Table(context), longest=_LONGEST)


@dataclass(frozen=True, kw_only=True)
class _Neighbour:
    """What one interface sees."""

    local: str
    device: str
    port: str
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class _Table:
    """The form of the table that is open; its neighbours wait for the end, since an entity is told once."""

    context: Context
    _form: re.Pattern[str] | None = None
    _found: list[tuple[int, str, _Neighbour]] = field(default_factory=list)

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
        elif _ARISTA.fullmatch(text) or _CISCO.fullmatch(text):
            told.skip("header" if self._form is None else "repeated header")
            self._form = _ROW_ARISTA if _ARISTA.fullmatch(text) else _ROW_CISCO
        elif _COUNTED.fullmatch(text.strip()) or _CODES.fullmatch(text):
            told.skip("metadata")
        elif self._form is not None and (found := self._form.fullmatch(text)):
            self._found.append(
                (number, text, _Neighbour(local=found["local"], device=found["device"], port=found["port"]))
            )
        else:
            told.reject(number, _NO_ROW, text)

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell the links; the dump is of a switch, whose name the user states as the host."""
        del cut
        for number, text, neighbour in self._found:
            if self.context.host is None:
                told.reject(number, HOST_MISSING, text, curable="host")
                continue
            told.row()
            _tell(_port_of_switch(told, self.context.host, neighbour.local), neighbour, told, from_switch=True)


def _port_of_switch(told: Told, switch: str, port: str) -> Node:
    node: Node = (None, "port", f"{switch}/{port}")
    told.graph.link(node, "in", (None, "switch", switch))
    return node


def _tell(here: Node, neighbour: _Neighbour, told: Told, *, from_switch: bool) -> None:
    """Connect two ends; from a switch a neighbour may be a host or another switch."""
    told.graph.entity(here, neighbour.attributes)
    if neighbour.device.lower() in _NOBODY:
        told.graph.entity(here, {"neighbour": f"{neighbour.device} {neighbour.port}"})
        told.note(f"a neighbour calls itself '{neighbour.device}': many do, so no link is told")
    elif from_switch and _OF_HOST.fullmatch(neighbour.port):
        told.graph.link((neighbour.device, "nic", neighbour.port), "connected", here)
    elif from_switch:
        there = _port_of_switch(told, neighbour.device, neighbour.port)
        low, high = sorted((here, there), key=lambda node: node[2] or "")
        told.graph.link(low, "connected", high)
    else:
        told.graph.link(here, "connected", _port_of_switch(told, neighbour.device, neighbour.port))


def _read_json(source: Source, context: Context) -> Iterator[Batch]:
    told = Told()
    for document in documents_of(source):
        root = document.value.get("lldp") if isinstance(document.value, dict) else None
        if document.why is not None or root is None:
            told.reject(document.line, document.why or "no document of lldpcli", document.text)
            continue
        for name, part in _interfaces(root, 0):
            neighbour = _neighbour(name, part)
            if neighbour is None:
                told.reject(document.line, _NO_NEIGHBOUR, f"{name}: {part}")
            elif context.host is None:
                told.reject(document.line, HOST_MISSING, f"{name}: {part}", curable="host")
            else:
                told.row()
                _tell((context.host, "nic", name), neighbour, told, from_switch=False)
    yield told.batch()
    yield from damage_batches(source)


def _interfaces(value: Any, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give interface and neighbour, whatever lists and keys stand around them."""
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        for part in value:
            yield from _interfaces(part, depth + 1)
    elif isinstance(value, dict):
        if isinstance(value.get("name"), str) and "chassis" in value:
            yield value["name"], value
        elif "interface" in value:
            yield from _interfaces(value["interface"], depth + 1)
        else:
            for name, part in value.items():
                for entry in part if isinstance(part, list) else [part]:
                    if isinstance(entry, dict):
                        yield name, entry


def _neighbour(name: str, part: dict[str, Any]) -> _Neighbour | None:
    chassis, device = _chassis(part.get("chassis"))
    port = _first(part.get("port"))
    written = _value(port.get("id")) or _value(port.get("descr"))
    device = device or _value(chassis.get("id"))
    if not device or not written or not name:
        return None
    vlan = _first(part.get("vlan"))
    attributes = {
        "neighbour": f"{device} {written}", "neighbour address": _value(chassis.get("mgmt-ip")),
        "neighbour description": _value(chassis.get("descr")), "vlan": _value(vlan.get("vlan-id")),
    }  # fmt: skip
    return _Neighbour(
        local=name, device=device, port=written, attributes={key: text for key, text in attributes.items() if text}
    )


def _chassis(value: Any) -> tuple[dict[str, Any], str | None]:
    """Give the chassis and its name, which is its key or a field of it."""
    found = _first(value)
    if "id" in found or "name" in found or "mgmt-ip" in found:
        return found, _value(found.get("name"))
    name, inner = next(((name, part) for name, part in found.items() if isinstance(part, dict)), (None, {}))
    return inner, name


def _first(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        value = value[0] if value else None
    return value if isinstance(value, dict) else {}


def _value(value: Any) -> str | None:
    """Give a text that is written as itself, in a list, or as the ``value`` of an object."""
    for _ in range(_DEPTH):
        if isinstance(value, list):
            value = value[0] if value else None
        elif isinstance(value, dict):
            value = value.get("value")
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value).strip() or None


READER = Reader(name="lldp", recognise=_recognise, read=_read)
