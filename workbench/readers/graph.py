"""Entities, links and aliases as they are found, each once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from workbench.model import frames
from workbench.readers.metriccolumns import label_text
from workbench.timebase import from_us

__all__ = ["PLURALS", "Graph", "Node", "named"]

#: Host, kind and device, as in :mod:`workbench.model.frames`.
Node = tuple[str | None, str, str | None]
#: Keys and columns that name things of a kind.
PLURALS = {
    "clusters": "cluster", "sites": "site", "halls": "hall", "rooms": "hall", "datacenters": "hall", "rows": "row",
    "aisles": "row", "racks": "rack", "cabinets": "rack", "switches": "switch", "leafs": "switch", "spines": "switch",
    "pdus": "pdu", "feeds": "pdu", "loops": "loop", "cooling_loops": "loop", "cdus": "loop", "hosts": "host",
    "servers": "host", "machines": "host", "gpus": "gpu", "nics": "nic", "hcas": "nic", "ports": "port",
}  # fmt: skip
_INSIDE = ("gpu", "gpu_instance", "nic", "port", "disk", "link")


def named(kind: str, name: str, host: str | None = None) -> Node:
    """Give a node of the graph.

    Examples
    --------
    >>> named("host", "n1"), named("rack", "r1"), named("gpu", "0", "n1")
    (('n1', 'host', None), (None, 'rack', 'r1'), ('n1', 'gpu', '0'))
    """
    return (name, "host", None) if kind == "host" else (host if kind in _INSIDE else None, kind, name)


@dataclass(eq=False)
class Graph:
    """What a description of a cluster says so far.

    Examples
    --------
    >>> graph = Graph()
    >>> graph.link(named("host", "n1"), "in", named("rack", "r1"))
    >>> graph.tables()["links"].select("host", "relation", "to_kind", "to_device").rows()
    [('n1', 'in', 'rack', 'r1')]
    >>> graph.tables()["entities"].height
    2
    """

    _entities: dict[Node, dict[str, str]] = field(default_factory=dict)
    _links: dict[tuple[Node, str, Node], None] = field(default_factory=dict)
    _aliases: dict[tuple[str | None, str, str, str, str], tuple[int, int] | None] = field(default_factory=dict)

    def entity(self, node: Node, attributes: Mapping[str, str] | None = None) -> None:
        """Add an entity; what is said of it later is added."""
        self._entities.setdefault(node, {}).update(attributes or {})

    def link(self, child: Node, relation: str, parent: Node) -> None:
        """Add a link, and both its ends."""
        if child == parent:
            return
        self.entity(child)
        self.entity(parent)
        self._links[child, relation, parent] = None

    def alias(self, node: Node, name: str, rule: str, seen_us: int | None = None) -> None:
        """Say that ``name`` is another name of a node; where names move, as seen at a time."""
        host, kind, device = node
        if kind == "host":
            host, device = None, node[0]
        if device is not None and name != device:
            key = (host, kind, name, device, rule)
            before = self._aliases.get(key)
            if seen_us is None or (key in self._aliases and before is None):
                self._aliases[key] = None
            else:
                low, high = before or (seen_us, seen_us)
                self._aliases[key] = (min(low, seen_us), max(high, seen_us))

    def tables(self) -> dict[str, pl.DataFrame]:
        """Give ``entities``, ``links`` and ``aliases``; of what was not seen at a time the validity is not known."""
        entities = [(*node, label_text(attributes), None, None) for node, attributes in self._entities.items()]
        links = [(*child, relation, *parent, None, None) for child, relation, parent in self._links]
        aliases = [
            (*alias, from_us(span[0]), from_us(span[1])) if span else (*alias, None, None)
            for alias, span in self._aliases.items()
        ]
        return {
            "entities": pl.DataFrame(entities, schema=frames.ENTITIES, orient="row"),
            "links": pl.DataFrame(links, schema=frames.LINKS, orient="row"),
            "aliases": pl.DataFrame(aliases, schema=frames.ALIASES, orient="row"),
        }
