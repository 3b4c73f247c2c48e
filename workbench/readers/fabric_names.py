"""Nodes, ports and cables of an InfiniBand fabric, and the names that they go by.

A port is its node's GUID and its number: ``0xfc6a1c0300a00000/17``. The LID changes with the subnet
manager, the node description may be the same on several nodes (cloned hosts), and a panel label is
no port number. So all of these are other names, never the key.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.readers.graph import Graph, Node

__all__ = ["Fabric", "FabricNode", "described", "lid_port", "normal_guid", "plain_counter", "port_name", "switch_name"]

_GUID = re.compile(r"(?:0x)?([0-9a-f]{1,16})", re.IGNORECASE)
_ADAPTER = re.compile(r"([A-Za-z0-9][\w.-]{0,252})[ /]((?:mlx\d_(?:bond_)?|HCA-|hfi\d_|qib|ib|en|roce|rdma)\w{0,32})")
_SWITCH = re.compile(r"(?:MF0;)?([A-Za-z0-9][\w.-]{0,252})(?::([\w/.-]+))?")
_NOBODY = frozenset({"localhost", "localhost.localdomain", "unknown", "none", "mt"})
#: Of the plain counters those that 32 bits hold: on a fast port they are full within seconds.
_OF_32_BITS = frozenset(
    {"PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts", "PortXmitWait"}
    | {"XmtData", "RcvData", "XmtPkts", "RcvPkts", "XmtWait", "XmtBytes", "RcvBytes"}
)


def normal_guid(text: str) -> str | None:
    """Give a GUID as ``0x`` and 16 digits in lower case; None for what is none, or is zero.

    Examples
    --------
    >>> normal_guid("0xFC6A1C0300A00000"), normal_guid("ff08c43213b3f38"), normal_guid("leaf-01"), normal_guid("0x0")
    ('0xfc6a1c0300a00000', '0x0ff08c43213b3f38', None, None)
    """
    found = _GUID.fullmatch(text.strip())
    return f"0x{found[1].lower():0>16}" if found and int(found[1], 16) else None


def port_name(guid: str, number: int) -> str:
    """Name a port by its node.

    Examples
    --------
    >>> port_name("0xfc6a1c0300a00000", 17)
    '0xfc6a1c0300a00000/17'
    """
    return f"{guid}/{number}"


def lid_port(lid: int, number: int) -> str:
    """Name a port by its LID, which a subnet manager gave.

    Examples
    --------
    >>> lid_port(1719, 2)
    'lid:1719/2'
    """
    return f"lid:{lid}/{number}"


def plain_counter(name: str) -> str:
    """Give the name of a counter of PortCounters, which are 4 to 32 bits wide and stick at their maximum.

    Those of 32 bits are other metrics than the ones of 64 bits that extended counters call the same.

    Examples
    --------
    >>> plain_counter("PortXmitData"), plain_counter("SymbolErrorCounter")
    ('PortCounters.PortXmitData', 'SymbolErrorCounter')
    """
    return f"PortCounters.{name}" if name in _OF_32_BITS else name


def described(text: str) -> tuple[str | None, str | None]:
    """Give host and adapter of the description of a node; None where it is no such description.

    Examples
    --------
    >>> described("node-a01 mlx5_0"), described("o0001 HCA-1"), described("Mellanox Technologies Aggregation Node")
    (('node-a01', 'mlx5_0'), ('o0001', 'HCA-1'), (None, None))
    >>> described("localhost HCA-1")
    (None, None)
    """
    found = _ADAPTER.fullmatch(text.strip())
    if found is None or found[1].lower() in _NOBODY:
        return None, None
    return found[1], found[2]


def switch_name(text: str) -> str | None:
    """Give the short name in the description of a switch.

    Examples
    --------
    >>> switch_name("MF0;leaf-01:MQM9700/U1"), switch_name("ib-i1l1s01"), switch_name("Quantum Mellanox Technologies")
    ('leaf-01', 'ib-i1l1s01', None)
    """
    found = _SWITCH.fullmatch(text.strip())
    return found[1] if found and found[1].lower() not in _NOBODY else None


@dataclass(eq=False, kw_only=True)
class FabricNode:
    """A switch, or a host's adapter (``nic``)."""

    kind: str
    description: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    ports: dict[int, dict[str, str]] = field(default_factory=dict)
    lids: dict[int, int] = field(default_factory=dict)
    guids: dict[int, str] = field(default_factory=dict)


@dataclass(eq=False)
class Fabric:
    """What a dump says of a fabric so far; each cable once, from whichever end it is told.

    Examples
    --------
    >>> fabric, graph = Fabric(), Graph()
    >>> fabric.node("0x2", "switch", "MF0;leaf-01:MQM9700/U1")
    >>> fabric.node("0x1", "nic", "n1 mlx5_0")
    >>> fabric.port("0x1", 1, lid=647)
    >>> fabric.cable(("0x1", 1), ("0x2", 17))
    >>> fabric.cable(("0x2", 17), ("0x1", 1))
    >>> fabric.tell(graph)
    ()
    >>> graph.tables()["links"].filter(relation="connected").select("host", "device", "to_device").rows()
    [('n1', '0x1/1', '0x2/17')]
    >>> graph.tables()["aliases"].filter(device_kind="port").select("host", "device", "same_as").rows()
    [(None, 'leaf-01/17', '0x2/17'), ('n1', 'mlx5_0/1', '0x1/1'), (None, 'lid:647/1', '0x1/1')]
    """

    nodes: dict[str, FabricNode] = field(default_factory=dict)
    _cables: dict[tuple[tuple[str, int], tuple[str, int]], None] = field(default_factory=dict)
    _texts: Counter[str] = field(default_factory=Counter)

    def node(self, guid: str, kind: str, description: str = "", attributes: Mapping[str, str] | None = None) -> None:
        """Add a node; what is said of it later is added."""
        node = self.nodes.setdefault(guid, FabricNode(kind=kind))
        node.description = node.description or description
        node.attributes |= {name: value for name, value in (attributes or {}).items() if value}

    def port(
        self,
        guid: str,
        number: int,
        *,
        lid: int = 0,
        port_guid: str | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """Add a port of a node that was added; LID 0 is none."""
        node = self.nodes[guid]
        node.ports.setdefault(number, {}).update(attributes or {})
        if lid:
            node.lids[number] = lid
        if port_guid is not None and port_guid != guid:
            node.guids[number] = port_guid

    def cable(self, one: tuple[str, int], other: tuple[str, int]) -> None:
        """Connect two ports of nodes that were added."""
        for guid, number in (one, other):
            self.port(guid, number)
        low, high = sorted((one, other), key=lambda end: (self.nodes[end[0]].kind == "switch", *end))
        self._cables[low, high] = None

    def tell(self, graph: Graph, seen_us: int | None = None) -> tuple[str, ...]:
        """Write all of it; what could not be told apart is given as notes.

        Parameters
        ----------
        graph : Graph
        seen_us : int, optional
            When the dump was taken: names that move are seen then.
        """
        texts = self._texts = Counter(node.description for node in self.nodes.values())
        short = Counter(switch_name(node.description) for node in self.nodes.values() if node.kind == "switch")
        notes = []
        for guid, node in self.nodes.items():
            alone = texts[node.description] == 1
            if node.kind == "switch":
                name = switch_name(node.description)
                self._switch(graph, guid, name if name and short[name] == 1 else None)
            else:
                self._adapter(graph, guid, described(node.description) if alone else (None, None), seen_us)
            self._names_of_ports(graph, guid, seen_us)
            if not alone and node.description and node.kind != "switch":
                notes.append(f"{texts[node.description]} adapters are called '{node.description}': no host is told")
        for one, other in self._cables:
            graph.link(self._place(one), "connected", self._place(other))
        return tuple(dict.fromkeys(notes))

    def _place(self, end: tuple[str, int]) -> Node:
        """Give a port as a node of the graph."""
        guid, number = end
        return (self._host(guid), "port", port_name(guid, number))

    def _host(self, guid: str) -> str | None:
        node = self.nodes[guid]
        return described(node.description)[0] if node.kind != "switch" and self._texts[node.description] == 1 else None

    def _switch(self, graph: Graph, guid: str, name: str | None) -> None:
        node, who = self.nodes[guid], (None, "switch", guid)
        graph.entity(who, _attributes(node))
        for other in dict.fromkeys(filter(None, (node.description if name else None, name))):
            graph.alias(who, other, "node description")
        for number, told in node.ports.items():
            port: Node = (None, "port", port_name(guid, number))
            graph.entity(port, told)
            graph.link(port, "in", who)
            if name:
                graph.alias(port, f"{name}/{number}", "node description")

    def _adapter(self, graph: Graph, guid: str, name: tuple[str | None, str | None], seen_us: int | None) -> None:
        node = self.nodes[guid]
        host, device = name
        who: Node = (host, "nic", guid)
        graph.entity(who, _attributes(node))
        if host and device:
            graph.alias(who, device, "node description", seen_us)
            graph.alias(who, node.description, "node description", seen_us)
        for number, told in node.ports.items():
            port: Node = (host, "port", port_name(guid, number))
            graph.entity(port, told)
            graph.link(port, "in", who)
            if host and device:
                graph.alias(port, f"{device}/{number}", "node description", seen_us)

    def _names_of_ports(self, graph: Graph, guid: str, seen_us: int | None) -> None:
        node = self.nodes[guid]
        base = node.lids.get(0, 0)
        for number in node.ports:
            name = port_name(guid, number)
            if lid := node.lids.get(number, base):
                graph.alias((None, "port", name), lid_port(lid, number), "subnet manager", seen_us)
            if number in node.guids:
                graph.alias((None, "port", name), port_name(node.guids[number], number), "port GUID")


def _attributes(node: FabricNode) -> dict[str, str]:
    return {**({"description": node.description} if node.description else {}), **node.attributes}
