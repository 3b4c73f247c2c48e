"""Lists that say which names are one device: ``ibdev2netdev``, ``nvidia-smi -L``, members of a BMC.

They hold no time. Where the user states when a list was taken, its names hold as seen then, else always.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.model.pci import normal_pci
from workbench.readers.base import Match, Reader
from workbench.readers.graph import Node
from workbench.readers.jsondoc import documents_of, outer_keys
from workbench.readers.jsonvalues import dicts, text_of
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING, line_batches

__all__ = ["READER"]

_HOST = r"(?:(?P<host>[A-Za-z][\w.-]{0,200}): )?"
_PCI = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
_NETDEV = re.compile(
    rf"{_HOST}(?:(?P<pci>{_PCI}) )?(?P<nic>[a-z][\w-]{{1,30}})(?: \((?P<model>[^)]*)\))?(?: (?P<product>.*?))?"
    r"(?: fw (?P<firmware>\S+))? port (?P<port>\d{1,3})(?: \((?P<state>[A-Z]+) *\))? ==> (?P<netdev>\S+) \((?P<link>\w+)\)\s*"
)
_GPU = re.compile(rf"{_HOST}GPU (?P<index>\d{{1,3}}): (?P<model>.+?) \(UUID: (?P<uuid>GPU-[0-9A-Fa-f-]{{8,40}})\)\s*")
_SLICE = re.compile(
    rf"{_HOST}\s+MIG (?P<profile>\S+)\s+Device\s+(?P<index>\d{{1,3}}): \(UUID: (?P<uuid>MIG-[\w/-]{{8,60}})\)\s*"
)
_MODULE = re.compile(r"(?:HGX_)?GPU_SXM_(\d{1,3})")
_BARE_UUID = re.compile(r"(?:GPU-)?([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})")
_KEYS = frozenset({"Id", "SerialNumber", "UUID"})
_OTHER = "no line that says which names are one device"
_NO_MEMBER = "no member with an Id, SerialNumber or UUID"
_NO_GPU = "no GPU before this slice"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if matched_share(head, r" port \d{1,3}(?: \([A-Z]+ *\))? ==> \S+ \(\w+\)\s*$") >= 0.5:
        return Match(confidence=0.95, rule="'port N ==> netdev', as ibdev2netdev prints it")
    gpus = matched_share(head, r"^(?:[A-Za-z][\w.-]*: )?GPU \d{1,3}: .+ \(UUID: GPU-[0-9A-Fa-f-]+\)\s*$")
    slices = matched_share(head, r"^(?:[A-Za-z][\w.-]*: )?\s+MIG \S+\s+Device\s+\d+: \(UUID: ")
    if gpus and gpus + slices >= 0.8:
        return Match(confidence=0.9, rule="GPUs and their UUIDs, as nvidia-smi -L prints them")
    keys = outer_keys(head)
    if "Members" in keys and not any(key.startswith("@odata") for key in keys) and b"GPU_SXM_" in head:
        return Match(confidence=0.9, rule="members of a BMC with GPU_SXM in their Id")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    start = source.head().removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"{", b"[")):
        return _read_members(source, context)
    return line_batches(source, _Lines(context))


@dataclass(eq=False)
class _Lines:
    """Lines of ibdev2netdev or nvidia-smi -L."""

    context: Context
    _gpu: Node | None = None

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
            return
        found = _NETDEV.fullmatch(text) or _GPU.fullmatch(text) or _SLICE.fullmatch(text)
        if found is None:
            told.reject(number, _OTHER, text)
            return
        host = found["host"] or self.context.host
        if host is None:
            told.reject(number, HOST_MISSING, text, curable="host")
        elif found.re is _NETDEV:
            _tell_netdev(found.groupdict(), host, self.context.taken_at_us, told)
        elif found.re is _GPU:
            self._gpu = (host, "gpu", found["uuid"])
            told.row()
            told.graph.entity(self._gpu, {"model": found["model"]})
            told.graph.alias(self._gpu, found["index"], "nvidia-smi -L", self.context.taken_at_us)
        elif self._gpu is None:
            told.reject(number, _NO_GPU, text)
        else:
            told.row()
            node: Node = (host, "gpu_instance", found["uuid"])
            told.graph.entity(node, {"profile": found["profile"], "index": found["index"], "gpu": str(self._gpu[2])})

    def end(self, told: Told, *, cut: bool) -> None:
        """Nothing waits."""
        del told, cut


def _tell_netdev(parts: Mapping[str, str | None], host: str, seen_us: int | None, told: Told) -> None:
    told.row()
    nic: Node = (host, "nic", parts["nic"])
    port: Node = (host, "port", f"{parts['nic']}/{parts['port']}")
    facts = {"model": parts["model"], "firmware": parts["firmware"], "netdev": parts["netdev"]}
    pci = normal_pci(parts["pci"] or "")
    told.graph.entity(nic, {name: text for name, text in {**facts, "pci": pci}.items() if text})
    told.graph.entity(port, {"state": parts["state"]} if parts["state"] else {})
    told.graph.link(port, "in", nic)
    netdev = parts["netdev"] or ""
    if pci is None:
        told.graph.alias(nic, netdev, "ibdev2netdev", seen_us)
        return
    # By way of the address: the kernel's own lines lead from the netdev there, and two ways would contradict.
    told.graph.alias((host, "nic", pci), netdev, "ibdev2netdev", seen_us)
    told.graph.alias(nic, pci, "ibdev2netdev", seen_us)


def _read_members(source: Source, context: Context) -> Iterator[Batch]:
    told = Told()
    for document in documents_of(source):
        value = document.value
        members = dicts(value.get("Members")) if isinstance(value, dict) else dicts(value)
        if document.why is not None or not members:
            told.reject(document.line, document.why or _NO_MEMBER, document.text)
        for member in members:
            if not _KEYS & set(member):
                told.reject(document.line, _NO_MEMBER, repr(member)[:200])
            elif context.host is None:
                told.reject(document.line, HOST_MISSING, repr(member)[:200], curable="host")
            else:
                _tell_member(member, context, told)
    yield told.batch()
    yield from damage_batches(source)


def _tell_member(member: Mapping[str, Any], context: Context, told: Told) -> None:
    name, serial, uuid = (text_of(member.get(key)) or "" for key in ("Id", "SerialNumber", "UUID"))
    module = _MODULE.fullmatch(name)
    if module is None:
        told.skip("no GPU module")
        return
    told.row()
    by_module: Node = (context.host, "gpu", f"module:{int(module[1])}")
    told.graph.alias(by_module, name, "module id", context.taken_at_us)
    known = _BARE_UUID.fullmatch(uuid)
    node: Node = (context.host, "gpu", f"GPU-{known[1].lower()}") if known else by_module
    told.graph.entity(node, {"serial": serial} if serial else {})
    if known:
        told.graph.alias(node, str(by_module[2]), "member of a BMC", context.taken_at_us)
        if serial:
            told.graph.alias(node, serial, "member of a BMC", context.taken_at_us)


READER = Reader(name="entity_map", recognise=_recognise, read=_read)
