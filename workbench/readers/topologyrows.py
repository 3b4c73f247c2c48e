"""Rows of a table that say what stands where: hosts in racks, edges of a graph, inventories of GPUs and NICs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workbench.model.context import Context
from workbench.model.pci import normal_pci
from workbench.readers.cells import MISSING
from workbench.readers.columns import Problem, normal
from workbench.readers.graph import Graph, Node, named
from workbench.readers.who import parse_entity

__all__ = ["PLACES", "Plan", "plan_of", "read_row"]

#: What holds what, from the inside out; hosts lie in the first that a row names of each line.
PLACES = ("rack", "row", "hall", "site")
#: What a host hangs on beside the place it stands in.
_FEEDS = ("switch", "pdu", "loop")
_WORDS = {
    "host": "host hostname host_name node nodename node_name server server_name machine",
    "rack": "rack cabinet",
    "row": "row aisle",
    "hall": "hall room datacenter dc data_center data_hall",
    "site": "site campus",
    "switch": "switch leaf tor leaf_switch tor_switch",
    "pdu": "pdu feed power_feed",
    "loop": "loop cooling cooling_loop cdu",
    "gpu_uuid": "gpu_uuid uuid",
    "gpu": "gpu gpu_id gpu_index index",
    "gpu_pci": "gpu_pci pci_bus_id gpu_pci_bus_id gpu_bus_id pci_busid",
    "gpu_serial": "gpu_serial serial",
    "nic": "nic hca ib_device rdma_device",
    "guid": "guid port_guid node_guid nic_guid",
    "alias": "alias fqdn bmc bmc_name short_name chassis_serial",
    "parent": "parent container member_of upstream",
    "child": "child member downstream",
    "parent_kind": "parent_kind parent_type container_kind",
    "child_kind": "child_kind child_type member_kind",
    "relation": "relation relationship edge_type",
}
_ENDS = {
    "source": "child",
    "from": "child",
    "src": "child",
    "target": "parent",
    "to": "parent",
    "dst": "parent",
    "dest": "parent",
}
_TAIL = r"(?:_(?:name|id))?(?:_?(?:[ab]|\d{1,2}))?"
_SEVERAL = re.compile(r"\s*[;+]\s*")
_GPU_NAMES = ("gpu_uuid", "gpu", "gpu_pci", "gpu_serial")
_NO_KIND = "name does not say its kind: write kind:name, or state parent_kind and child_kind in a mapping (--map)"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Which column says what; a kind of place may have several columns.

    Attributes
    ----------
    columns : mapping of role to column names
    constants : mapping of role to text
    rest : tuple of str
        Attributes of what a row is about.
    relation : str
        Of an edge that does not say.
    """

    columns: Mapping[str, Sequence[str]]
    constants: Mapping[str, str] = field(default_factory=dict)
    rest: tuple[str, ...] = ()
    relation: str = "in"

    def has(self, *roles: str) -> bool:
        """Tell whether each role has a column or a constant."""
        return all(role in self.columns or role in self.constants for role in roles)

    def texts(self, role: str, row: Mapping[str, str | None]) -> list[str]:
        """Give what a row says in a role."""
        if role in self.constants:
            return [self.constants[role]]
        cells = [(row.get(name) or "").strip() for name in self.columns.get(role, ())]
        return [part for cell in cells if cell.lower() not in MISSING for part in _SEVERAL.split(cell) if part]

    def text(self, role: str, row: Mapping[str, str | None]) -> str | None:
        """Give the first of them."""
        return next(iter(self.texts(role, row)), None)


def plan_of(names: Sequence[str], context: Context) -> Plan | Problem:
    """Tell what the columns say of a topology.

    Examples
    --------
    >>> plan = plan_of(["Hostname", "Rack", "pdu_a", "pdu_b", "Model"], Context())
    >>> plan.columns["pdu"], plan.rest
    (['pdu_a', 'pdu_b'], ('Model',))
    >>> plan_of(["a", "b"], Context()).curable
    'map'
    """
    stated = context.columns.roles
    columns: dict[str, list[str]] = {}
    constants = {role: text[1:] for role, text in stated.items() if text.startswith("=")}
    given = {text: role for role, text in stated.items() if not text.startswith("=")}
    rest = []
    for name in names:
        role = given.get(name) or (None if name in context.columns.ignore else _role(normal(name), taken=stated))
        if role is not None:
            columns.setdefault(role, []).append(name)
        elif normal(name) and name not in context.columns.ignore:
            rest.append(name)
    ends = bool({normal(name) for name in names} & set(_ENDS)) and not {"parent", "child"} & set(given.values())
    plan = Plan(columns=columns, constants=constants, rest=tuple(rest), relation="connected" if ends else "in")
    if plan.has("parent", "child") or any(plan.has(role) for role in ("host", "gpu_uuid")):
        return plan
    if context.host is not None and any(plan.has(role) for role in (*_GPU_NAMES, "nic", *PLACES, *_FEEDS)):
        return plan
    shown = ", ".join(name[:40] for name in names[:12])
    return Problem(
        reason=f"no columns are parent and child, or host and its place: state the roles in a mapping (--map); columns found: {shown}"
    )


def _role(name: str, *, taken: Mapping[str, str]) -> str | None:
    if name in _ENDS:
        return _ENDS[name] if _ENDS[name] not in taken else None
    for role, words in _WORDS.items():
        several = role in {*PLACES, *_FEEDS}
        if role not in taken and any(re.fullmatch(word + (_TAIL if several else ""), name) for word in words.split()):
            return role
    return None


def read_row(row: Mapping[str, str | None], plan: Plan, context: Context, graph: Graph) -> Problem | None:
    """Add what one row says to the graph; a problem where it says nothing that can be placed.

    Examples
    --------
    >>> graph = Graph()
    >>> plan = plan_of(["host", "rack", "row"], Context())
    >>> read_row({"host": "n1", "rack": "r1", "row": "A"}, plan, Context(), graph)
    >>> graph.tables()["links"].select("host", "device", "to_kind", "to_device").rows()
    [('n1', None, 'rack', 'r1'), (None, 'r1', 'row', 'A')]
    """
    if plan.has("parent", "child"):
        return _edge(row, plan, graph)
    host = plan.text("host", row) or context.host
    attributes = {
        name: text.strip() for name in plan.rest if (text := row.get(name)) and text.strip().lower() not in MISSING
    }
    nic = plan.text("nic", row)
    names = _GPU_NAMES[:2] if nic else _GPU_NAMES  # beside a NIC, an address is that of the NIC
    gpu = next((name for role in names if (name := plan.text(role, row))), None)
    if host is None:
        if plan.has("host"):
            return Problem(reason="row names no host", curable=None)
        return Problem(reason="no column names the host: state host for the file in a mapping (--map)", curable="host")
    whole = named("host", host)
    about = named("gpu", gpu, host) if gpu else named("nic", nic, host) if nic else whole
    graph.entity(whole)
    graph.entity(about, attributes)
    _where(row, plan, whole, graph)
    _names(row, plan, about, graph)
    return None


def _where(row: Mapping[str, str | None], plan: Plan, host: Node, graph: Graph) -> None:
    """Link a host to where it stands and what it hangs on."""
    inner = host
    for kind in PLACES:
        for name in plan.texts(kind, row)[:1]:
            graph.link(inner, "in", named(kind, name))
            inner = named(kind, name)
    for kind in _FEEDS:
        for name in plan.texts(kind, row):
            graph.link(host, "in", named(kind, name))


def _names(row: Mapping[str, str | None], plan: Plan, about: Node, graph: Graph) -> None:
    """Keep every other name of a GPU, NIC or host."""
    if about[1] == "gpu":
        for role in _GPU_NAMES[1:]:
            for name in plan.texts(role, row):
                plain = (normal_pci(name) or name) if role == "gpu_pci" else name
                graph.alias(about, plain, f"inventory: {role} beside {_first_role(plan, row)}")
    elif about[1] == "nic":
        for name in plan.texts("guid", row):
            graph.alias(about, name, "inventory: guid beside nic")
        for name in plan.texts("gpu_pci", row):
            graph.alias(about, normal_pci(name) or name, "inventory: pci beside nic")
    else:
        for name in plan.texts("alias", row):
            graph.alias(about, name, "inventory: other name of the host")


def _first_role(plan: Plan, row: Mapping[str, str | None]) -> str:
    return next(role for role in _GPU_NAMES if plan.text(role, row))


def _edge(row: Mapping[str, str | None], plan: Plan, graph: Graph) -> Problem | None:
    ends = []
    for end in ("child", "parent"):
        name, kind = plan.text(end, row), plan.text(f"{end}_kind", row)
        if name is None:
            return Problem(reason=f"row names no {end}", curable=None)
        found = named(kind.strip().lower(), name) if kind else _written(name)
        if found is None:
            return Problem(reason=_NO_KIND)
        ends.append(found)
    relation = plan.text("relation", row) or plan.relation
    graph.link(ends[0], relation.strip().lower(), ends[1])
    return None


def _written(name: str) -> Node | None:
    """Read ``rack:r7`` or ``n1/gpu0``."""
    return parse_entity(name)
