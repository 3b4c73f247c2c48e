"""Topologies and graphs that NCCL writes as XML: what lies in what, NVLinks, and the rings it searched."""

from __future__ import annotations

from itertools import pairwise

from workbench.model.pci import normal_pci
from workbench.readers.graph import Node
from workbench.readers.told import Told
from workbench.readers.xmldoc import Element

__all__ = ["tell_graphs", "tell_system"]

_GPU_CLASSES = ("0x030200", "0x030000", "0x120000")
_NIC_CLASSES = ("0x020000", "0x020700")
_SWITCH = "0x068000"


def tell_system(system: Element, host: str, told: Told) -> None:
    """Tell GPUs, NICs, PCI switches and NUMA nodes, each in what it hangs on, and NVLinks."""
    pairs: list[tuple[Node, Element]] = []
    for cpu in system.children:
        numa: Node = (host, "numa", cpu.attributes.get("numaid", "?"))
        if cpu.tag != "cpu":
            continue
        told.graph.entity(numa, _known(cpu, "affinity", "arch", "vendor"))
        _inside(cpu, numa, told, pairs)
    known = {str(node[2]): node for node, _ in pairs}
    named = {pci: node for node, element in pairs if (pci := normal_pci(element.attributes.get("busid", "")))}
    for node, element in pairs:
        for nvlink in element.every("nvlink"):
            target = normal_pci(nvlink.attributes.get("target", "")) or ""
            count = nvlink.attributes.get("count", "")
            other = named.get(target) or known.get(target)
            if other is None:
                kind = "nvswitch" if nvlink.attributes.get("tclass") == _SWITCH else "pci"
                other = (host, kind, target or "?")
            told.graph.link(node, f"nvlink:{count}" if count.isdigit() else "nvlink", other)


def _inside(parent: Element, above: Node, told: Told, pairs: list[tuple[Node, Element]]) -> None:
    """Tell what hangs below; the tree is at most as deep as the XML may be."""
    host = above[0]
    for child in parent.children:
        if child.tag == "pci":
            node = _pci(child, host)
            told.graph.entity(node, _known(child, "class", "link_speed", "link_width", "vendor", "device"))
            told.graph.link(node, "in", above)
            pairs.append((node, child))
            _inside(child, node, told, pairs)
        elif child.tag == "gpu":
            told.graph.entity(
                above, _known(child, "dev", "sm", "rank", "gdr")
            )  # dev counts what the job sees: no index
        elif child.tag == "nic":
            _nets(child, above, told)


def _nets(nic: Element, above: Node, told: Told) -> None:
    """Tell the ports that NCCL may use; the name is that of the device, such as mlx5_0."""
    for net in nic.every("net"):
        name = net.attributes.get("name", "")
        if not name:
            continue
        node: Node = (above[0], "nic", name)
        facts = _known(net, "speed", "port", "guid", "gdr")
        told.graph.entity(node, {**facts, "pci": str(above[2])} if above[1] == "nic" else facts)
        told.graph.link(node, "in", above)


def _pci(element: Element, host: str | None) -> Node:
    address = normal_pci(element.attributes.get("busid", "")) or element.attributes.get("busid", "?")
    kind = element.attributes.get("class", "")
    if element.find("gpu") is not None or kind in _GPU_CLASSES:
        return (host, "gpu", address)
    return (host, "nic", address) if kind in _NIC_CLASSES or element.find("nic") is not None else (host, "pci", address)


def _known(element: Element, *names: str) -> dict[str, str]:
    return {name: element.attributes[name] for name in names if element.attributes.get(name)}


def tell_graphs(graphs: Element, host: str, told: Told) -> None:
    """Tell the channels of NCCL's graphs: each GPU leads to the next of its channel, and to a net at its ends."""
    for graph in graphs.children:
        name = graph.attributes.get("id", "?")
        for channel in graph.children:
            stops: list[Node] = []
            for stop in channel.children:
                kind = {"gpu": "gpu", "net": "nic"}.get(stop.tag)
                device = stop.attributes.get("dev", "")
                if kind is not None and device:
                    stops.append((host, kind, device if kind == "gpu" else f"net{device}"))
            for here, there in pairwise(stops):
                told.graph.link(here, f"nccl graph:{name}", there)
