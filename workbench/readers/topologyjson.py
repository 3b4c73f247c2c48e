"""A topology as one JSON document: nested (racks that hold hosts), or nodes and edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.readers.graph import PLURALS, Graph, Node, named
from workbench.readers.who import parse_entity

__all__ = ["KEYS", "walk"]

#: Keys on the outermost level that tell such a document.
KEYS = frozenset({*PLURALS, "cluster", "topology", "edges", "links", "nodes"})
_NAMES = ("name", "id", "hostname", "host", "uuid", "gpu_uuid", "label", "serial", "index")
_LINKS = ("edges", "links")
_KIND = ("kind", "type", "role")
_ENDS = (("source", "target"), ("from", "to"), ("child", "parent"), ("src", "dst"))
_SINGLE = ("rack", "row", "hall", "site", "switch", "pdu", "loop")
_ALIASES = {
    "gpu": ("index", "pci", "pci_bus_id", "serial"),
    "nic": ("guid", "pci", "pci_bus_id"),
    "host": ("fqdn", "bmc", "alias"),
}
_MOST_DEPTH = 32


def walk(document: Mapping[str, Any], graph: Graph) -> Iterator[tuple[str, str | None]]:
    """Add a document to the graph.

    Parameters
    ----------
    document : mapping
    graph : Graph

    Yields
    ------
    str, str or None
        For each thing or edge: a text that shows it, and why it could not be placed (None: it was).

    Examples
    --------
    >>> graph = Graph()
    >>> list(walk({"racks": [{"name": "r1", "hosts": ["n1", {"name": "n2", "pdu": "p1"}]}]}, graph))
    [('rack r1', None), ('host n1', None), ('host n2', None)]
    >>> graph.tables()["links"].select("host", "to_kind", "to_device").rows()
    [('n1', 'rack', 'r1'), ('n2', 'rack', 'r1'), ('n2', 'pdu', 'p1')]
    """
    inner = document.get("topology")
    if isinstance(inner, Mapping):
        document = inner
    kinds: dict[str, Node] = {}
    if any(isinstance(document.get(key), list) for key in _LINKS) and isinstance(document.get("nodes"), list):
        yield from _nodes(document["nodes"], graph, kinds)
    else:
        yield from _inside(document, None, graph, 0)
    for key in _LINKS:
        edges = document.get(key)
        for edge in edges if isinstance(edges, list) else ():
            yield _edge(edge, graph, kinds)


def _nodes(nodes: list[Any], graph: Graph, kinds: dict[str, Node]) -> Iterator[tuple[str, str | None]]:
    for item in nodes:
        name = _name(item)
        kind = next((str(item[key]).lower() for key in _KIND if isinstance(item, Mapping) and item.get(key)), None)
        node = named(kind, name) if kind and name else parse_entity(name or "")
        if node is None or name is None:
            yield str(item)[:200], "node has no name, or does not say its kind (kind, or kind:name)"
            continue
        kinds[name] = node
        graph.entity(node, _attributes(item))
        _single(item, node, graph)
        yield f"{node[1]} {name}", None


def _edge(edge: Any, graph: Graph, kinds: Mapping[str, Node]) -> tuple[str, str | None]:
    shown = str(edge)[:200]
    pair = list(edge[:2]) if isinstance(edge, list) else []
    relation = "connected"
    if isinstance(edge, Mapping):
        pair = next(([edge[a], edge[b]] for a, b in _ENDS if a in edge and b in edge), [])
        inside = "child" in edge and "parent" in edge
        relation = str(edge.get("relation") or ("in" if inside else "connected")).lower()
    if len(pair) != 2 or not all(isinstance(end, (str, int)) for end in pair):
        return shown, "edge does not name its two ends"
    ends = [kinds.get(str(end)) or parse_entity(str(end)) for end in pair]
    if ends[0] is None or ends[1] is None:
        return (
            shown,
            f"no node '{pair[0] if ends[0] is None else pair[1]}' is described, and the name does not say its kind",
        )
    graph.link(ends[0], relation, ends[1])
    return shown, None


def _inside(item: Mapping[str, Any], parent: Node | None, graph: Graph, depth: int) -> Iterator[tuple[str, str | None]]:
    """Add what lies in one thing: each list or mapping under a plural."""
    if depth > _MOST_DEPTH:
        yield str(item)[:200], f"nested deeper than {_MOST_DEPTH} levels"
        return
    for key, value in item.items():
        kind = PLURALS.get(key.lower()) or ("host" if key == "nodes" else "cluster" if key == "cluster" else None)
        if kind is None or not isinstance(value, (list, Mapping)):
            continue
        for member in _members(key, value):
            yield from _member(member, kind, parent, (graph, depth))


def _members(key: str, value: Any) -> list[Any]:
    if key == "cluster":
        return [value]
    return value if isinstance(value, list) else [_with_name(name, content) for name, content in value.items()]


def _with_name(name: str, content: Any) -> Any:
    """Give the members of ``{"r1": ["n1", "n2"]}`` and ``{"r1": {...}}`` the names of their keys."""
    if isinstance(content, Mapping):
        return {"name": name, **content}
    return {"name": name, "hosts": content} if isinstance(content, list) else {"name": name}


def _member(member: Any, kind: str, parent: Node | None, rest: tuple[Graph, int]) -> Iterator[tuple[str, str | None]]:
    graph, depth = rest
    name = _name(member)
    if name is None:
        if kind != "cluster":
            yield str(member)[:200], f"{kind} has no name"
            return
        yield from _inside(member if isinstance(member, Mapping) else {}, parent, graph, depth + 1)
        return
    if kind == "port" and parent is not None and parent[2] is not None:
        name = f"{parent[2]}/{name}"  # every switch has a port 1
    node = named(kind, name, parent[0] if parent else None)
    if kind != "cluster":
        graph.entity(node, _attributes(member))
        if (parent is not None and node[0] != parent[0]) or (parent is not None and parent[1] != "host"):
            graph.link(node, "in", parent)
        yield f"{kind} {name}", None
    if isinstance(member, Mapping):
        _single(member, node, graph)
        yield from _inside(member, None if kind == "cluster" else node, graph, depth + 1)


def _name(item: Any) -> str | None:
    if isinstance(item, (str, int)) and not isinstance(item, bool):
        return str(item).strip() or None
    if isinstance(item, Mapping):
        found = (item[key] for key in _NAMES if isinstance(item.get(key), (str, int)) and str(item[key]).strip())
        return next((str(name).strip() for name in found), None)
    return None


def _single(item: Any, node: Node, graph: Graph) -> None:
    """Take ``"rack": "r1"`` on a host, and the other names of a device."""
    if not isinstance(item, Mapping):
        return
    for kind in _SINGLE:
        value = item.get(kind)
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, (str, int)) and str(name).strip():
                graph.link(node, "in", named(kind, str(name).strip()))
    for key in _ALIASES.get(node[1], ()):
        if isinstance(item.get(key), (str, int)):
            graph.alias(node, str(item[key]), f"inventory: {key}")


def _attributes(item: Any) -> dict[str, str]:
    if not isinstance(item, Mapping):
        return {}
    used = {*_NAMES[:4], *_KIND, *_SINGLE}
    return {key: str(value) for key, value in item.items() if key not in used and isinstance(value, (str, int, float))}
