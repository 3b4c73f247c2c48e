"""One GPU as ``nvidia-smi -q`` tells it, in text or XML: a tree of fields whose names move from version to version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from workbench.model.pci import normal_pci
from workbench.readers.gpu_cells import Reading, is_identity, reading_of
from workbench.readers.graph import Node
from workbench.readers.told import Told
from workbench.readers.toldtimes import Span

__all__ = ["WORDS", "Facts", "Leaf", "Tree", "tell_identity"]

WORDS = "a state in words"
#: Path and cell of a field.
Leaf = tuple[str, str]
_UUID = re.compile(r"(?:GPU|MIG)-[0-9A-Fa-f-]{8,40}")
_FACTS = {
    "model": ("product_name", "Product Name", "name", "gpu_name"),
    "serial": ("serial", "Serial Number", "gpu_serial"),
    "uuid": ("uuid", "GPU UUID", "gpu_uuid"),
    "pci": ("pci.pci_bus_id", "PCI/Bus Id", "pci.bus_id", "gpu_bus_id", "gpu_pci_bus_id"),
    "index": ("index",),
    "vbios": ("vbios_version", "VBIOS Version"),
    "board_part": ("board_part_number", "Board Part Number"),
    "module": ("platformInfo.module_id", "Platform Info/Module Id", "platform.module_id", "module_id", "gpu_module_id"),
    "chassis": (
        "platformInfo.chassis_serial_number", "Platform Info/Chassis Serial Number", "platform.chassis_serial_number",
    ),
    "slot": ("platformInfo.slot_number", "Platform Info/Slot Number", "platform.slot_number"),
    "tray": ("platformInfo.tray_index", "Platform Info/Tray Index", "platform.tray_index"),
    "driver_version": ("driver_version", "Driver Version"),
    "fabric_clique": ("fabric.cliqueId", "Fabric/CliqueId"),
    "fabric_cluster": ("fabric.clusterUuid", "Fabric/ClusterUUID"),
}  # fmt: skip
_FACT_OF = {name: fact for fact, names in _FACTS.items() for name in names}
_NOTHING = re.compile(r"[0\s-]*")


@dataclass(eq=False)
class Facts:
    """Who a GPU is, as far as its fields say it.

    Examples
    --------
    >>> facts = Facts()
    >>> facts.take("serial", "165"), facts.take("pci.bus_id", "00000000:3A:00.0"), facts.take("temperature.gpu", "5")
    (True, True, False)
    >>> facts.device
    '0000:3a:00'
    """

    known: dict[str, str] = field(default_factory=dict)

    def take(self, name: str, cell: str) -> bool:
        """Keep a field that says who the GPU is; False where it does not."""
        fact = _FACT_OF.get(name)
        if fact is None:
            return False
        found = reading_of(name, cell)
        if found.absent is None and cell.strip() and fact not in self.known:
            self.known[fact] = cell.strip()
        return True

    @property
    def uuid(self) -> str | None:
        """The UUID, where it is one."""
        told = self.known.get("uuid", "")
        return told if _UUID.fullmatch(told) else None

    @property
    def device(self) -> str | None:
        """The most lasting name: UUID, else PCI address, else index."""
        return self.uuid or normal_pci(self.known.get("pci", "")) or self.known.get("index")


def tell_identity(told: Told, host: str, facts: Facts, seen_us: int | None) -> Node:
    """Tell the GPU and its other names; of where they were seen at a time, the time."""
    node: Node = (host, "gpu", facts.device)
    attributes = {name: cell for name, cell in facts.known.items() if name not in ("uuid", "index")}
    if pci := normal_pci(facts.known.get("pci", "")):
        attributes["pci"] = pci
    told.graph.entity(node, attributes)
    if facts.uuid is None:  # an index that leads to an address here and to a UUID elsewhere would contradict itself
        return node
    serial, module = facts.known.get("serial", ""), facts.known.get("module", "")
    names = {
        "PCI address": pci,
        "index": facts.known.get("index"),
        "serial number": None if _NOTHING.fullmatch(serial) else serial,
        "module id": f"module:{int(module)}" if re.fullmatch(r"\d{1,3}", module) else None,
    }
    for rule, name in names.items():
        if name is not None:
            told.graph.alias(node, name, f"nvidia-smi {rule}", seen_us)
    return node


@dataclass(eq=False, kw_only=True)
class Tree:
    """One GPU of a dump.

    Attributes
    ----------
    line : int
    pci : str
        As the dump heads the GPU.
    leaves : list of (path, cell)
    slices : list of list of (path, cell)
        Of MIG devices, with paths as those of a GPU.
    aside : list of (path, cell)
        Fields that are no measurements: of processes and supported clocks.
    driver : str
    index : int or None
        Its place among all GPUs of the host, where none is missing.
    short : (attached, listed) or None
        Told with the last GPU of a dump that lists fewer GPUs than are attached.
    """

    line: int
    pci: str
    leaves: list[Leaf] = field(default_factory=list)
    slices: list[list[Leaf]] = field(default_factory=list)
    aside: list[Leaf] = field(default_factory=list)
    driver: str = ""
    index: int | None = None
    short: tuple[int, int] | None = None

    def facts(self) -> Facts:
        """Say who it is."""
        facts = Facts()
        for name, cell in [("driver_version", self.driver), *self.leaves]:
            facts.take(name, cell)
        facts.known.setdefault("pci", self.pci)
        if self.index is not None:
            facts.known["index"] = str(self.index)
        return facts

    def tell(self, told: Told, host: str, span: Span) -> None:
        """Tell all of it, as one row."""
        told.row()
        facts = self.facts()
        node = tell_identity(told, host, facts, span[0])
        lost = _tell_leaves(told, node, self.leaves, span[0])
        if lost is not None:
            told.event(
                node, "gpu", lost, span_us=span, line=self.line, code="lost", attributes={"pci": facts.known["pci"]}
            )
        for part in self.slices:
            _tell_slice(told, node, part, span[0])
        for name, cell in self.aside:
            if (why := reading_of(name, cell).absent) not in (None, "empty"):
                told.absent(name, str(why))
        if self.short is not None:
            _tell_missing(told, host, self.short, span, line=self.line)


def _tell_leaves(
    told: Told, node: Node, leaves: Iterable[Leaf], ts_us: int, *, labels: dict[str, str] | None = None
) -> str | None:
    """Tell the fields of a GPU; give what stands in those of one that does not answer."""
    lost = None
    for name, cell in leaves:
        found = reading_of(name, cell)
        if found.lost:
            lost = found.absent
        if found.absent is not None:
            if found.absent != "empty":
                told.absent(name, found.absent)
        elif is_identity(name):
            continue
        elif found == Reading():
            told.absent(name, WORDS)
        else:
            kind = "state" if found.state else None
            told.sample(node, name, found.number, ts_us=ts_us, unit=found.unit, kind=kind, labels=labels)
    return lost


def _tell_slice(told: Told, gpu: Node, leaves: Sequence[Leaf], ts_us: int) -> None:
    own = {re.sub(r"[^a-z]", "", name.lower()): cell.strip() for name, cell in leaves}
    instance, compute = own.get("gpuinstanceid", ""), own.get("computeinstanceid", "0")
    if not instance.isdigit():
        told.note("a MIG device without a GPU instance id is left out")
        return
    node: Node = (gpu[0], "gpu_instance", f"{gpu[2]}:{int(instance)}")
    told.graph.link(node, "in", gpu)
    labels = {} if compute in ("0", "N/A", "") else {"compute_instance": compute}
    _tell_leaves(told, node, leaves, ts_us, labels=labels)


def _tell_missing(told: Told, host: str, counts: tuple[int, int], span: Span, *, line: int) -> None:
    attached, listed = counts
    told.event(
        (host, "host", None),
        "gpu",
        f"{attached} GPUs are attached, {listed} are listed",
        span_us=span,
        line=line,
        code="missing",
        attributes={"attached": attached, "listed": listed},
    )
