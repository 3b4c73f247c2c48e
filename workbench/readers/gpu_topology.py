"""How the devices of a host hang together: ``nvidia-smi topo -m``, and the topologies and graphs of NCCL.

``topo -m`` is a matrix of paths between GPUs and NICs; NCCL writes a tree of PCI devices with NVLinks.
Neither holds a time nor the host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.errors import DataError
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.graph import Node
from workbench.readers.nccl_topology import tell_graphs, tell_system
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING, line_batches
from workbench.readers.xmldoc import root_of, xml_documents

__all__ = ["READER"]

_LIMIT = 64 * 1024 * 1024
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_DEVICE = r"(?:GPU|NIC)\d{1,3}|mlx\d_(?:bond_)?\d{1,3}|ibp?\d\w*"
_HEADER = re.compile(rf"\s*(?:{_DEVICE})(?:\s+(?:{_DEVICE}))*(?:\s+CPU Affinity.*)?\s*")
_ROW = re.compile(rf"(?P<device>{_DEVICE})\s+(?P<cells>(?:X|SYS|NODE|PHB|PXB|PIX|NV\d{{1,3}}|N/A|OK)(?=\s|$).*)")
_CLASS = re.compile(r"X|SYS|NODE|PHB|PXB|PIX|NV\d{1,3}|N/A|OK")
_NIC = re.compile(r"\s*(NIC\d{1,3}): (\S+)\s*")
_LEGEND = re.compile(r"\s*(?:Legend:|NIC Legend:|(?:X|SYS|NODE|PHB|PXB|PIX|NV#)\s+= .*)\s*")
_OTHER = "no line of nvidia-smi topo -m"
_COUNT = "row has fewer cells than the header has devices"
_ROOTS = {"system": tell_system, "graphs": tell_graphs}
_NO_ROOT = "no topology or graphs of NCCL: <system> or <graphs> was expected"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    root = root_of(head)
    if root == "system" and re.search(rb"<cpu\s[^>]*numaid=|<pci\s[^>]*busid=", head):
        return Match(confidence=0.95, rule="<system> with <cpu numaid> and <pci busid>, as NCCL writes it")
    if root == "graphs" and re.search(rb"<graph\s[^>]*id=", head):
        return Match(confidence=0.95, rule="<graphs>, as NCCL writes them")
    plain = _ANSI.sub("", head[:20_000].decode(errors="replace")).encode()
    if matched_share(plain, rf"^(?:{_DEVICE})\s+(?:X|SYS|NODE|PHB|PXB|PIX|NV\d+)\s") and (
        matched_share(plain, r"^\s+(?:GPU|NIC)\d{1,3}\s") or b"CPU Affinity" in plain
    ):
        return Match(confidence=0.95, rule="a matrix of GPUs and NICs, as nvidia-smi topo -m prints it")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    if root_of(source.head()) in _ROOTS:
        return _read_xml(source, context)
    return line_batches(source, _Matrix(context))


def _read_xml(source: Source, context: Context) -> Iterator[Batch]:
    told = Told()
    try:
        data = source.read_all(_LIMIT)
    except DataError as error:
        told.reject(1, str(error))
        data = b""
    for document in xml_documents(data):
        if document.why is not None or document.root is None:
            told.reject(document.line, document.why or _NO_ROOT)
        elif (tell := _ROOTS.get(document.root.tag)) is None:
            told.reject(document.line, _NO_ROOT)
        elif context.host is None:
            told.reject(document.line, HOST_MISSING, curable="host")
        else:
            told.row()
            tell(document.root, context.host, told)
    yield told.batch()
    yield from damage_batches(source)


@dataclass(eq=False)
class _Matrix:
    """What is known from line to line: told at the end, when the legend has named the NICs."""

    context: Context
    _devices: list[str] = field(default_factory=list)
    _affinities: bool = False
    _rows: list[tuple[int, str, str, list[str], list[str]]] = field(default_factory=list)
    _names: dict[str, str] = field(default_factory=dict)

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        plain = _ANSI.sub("", text)
        if not plain.strip():
            told.skip("blank")
        elif found := _ROW.fullmatch(plain.rstrip()):
            self._row(number, text, found, told)
        elif _HEADER.fullmatch(plain):
            again = bool(self._devices)
            if self._rows:
                self._tell(told)
            self._devices = re.findall(_DEVICE, plain)
            told.skip("repeated header" if again else "header")
        elif found := _NIC.fullmatch(plain):
            self._names[found[1]] = found[2]
            told.skip("legend")
        elif _LEGEND.fullmatch(plain):
            told.skip("legend")
        else:
            told.reject(number, _OTHER, text)

    def _row(self, number: int, text: str, found: re.Match[str], told: Told) -> None:
        cells = found["cells"].split()
        classes = cells[: len(self._devices)]
        if len(classes) < len(self._devices) or not self._devices or not all(map(_CLASS.fullmatch, classes)):
            told.reject(number, _COUNT, text)
            return
        rest = (
            re.split(r"\t+|\s{2,}", found["cells"].strip())[len(classes) :]
            if "\t" in found["cells"]
            else cells[len(classes) :]
        )
        self._rows.append((number, text, found["device"], classes, [part.strip() for part in rest]))

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell the last matrix."""
        del cut
        self._tell(told)

    def _tell(self, told: Told) -> None:
        rows, names, self._rows, self._names = self._rows, self._names, [], {}
        for number, text, device, classes, rest in rows:
            if self.context.host is None:
                told.reject(number, HOST_MISSING, text, curable="host")
                continue
            told.row()
            node = self._node(device, names)
            facts = dict(zip(("cpu_affinity", "numa_affinity", "gpu_numa_id"), rest, strict=False))
            told.graph.entity(node, {name: cell for name, cell in facts.items() if cell not in ("", "N/A")})
            for other, path in zip(self._devices, classes, strict=True):
                if path in ("X", "N/A", "OK"):
                    continue
                told.graph.link(node, _relation(path), self._node(other, names))

    def _node(self, device: str, names: dict[str, str]) -> Node:
        if device.startswith("GPU"):
            return (self.context.host, "gpu", device[3:])
        return (self.context.host, "nic", names.get(device, device))


def _relation(path: str) -> str:
    """Name the relation of two devices: how far apart they are, or over how many NVLinks.

    Examples
    --------
    >>> _relation("PIX"), _relation("NV18")
    ('path:pix', 'path:nv18')
    """
    return f"path:{path.lower()}"


READER = Reader(name="gpu_topology", recognise=_recognise, read=_read)
