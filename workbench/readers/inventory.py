"""What is installed: ``mlxfwmanager``, and ``nvidia-smi --version`` with a list of the GPUs.

Versions are text, never numbers (``96.00.74.00.0b`` is hexadecimal). The module of a GPU is not its
index. Where the time of the dump is stated, each version is a dated event ``inventory`` too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.graph import Node
from workbench.readers.installed import tell_installed
from workbench.readers.source import Source
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING, line_batches

__all__ = ["READER"]

_DEVICE = re.compile(r"Device #(\d{1,4}):\s*")
_RULE = re.compile(r"\s*-{4,}\s*")
_FIELD = re.compile(r"\s+([A-Z][A-Za-z #]{1,40}?):\s*(.*?)\s*")
_VERSION = re.compile(r"\s{3,}([A-Za-z][\w .()-]{0,20}?)\s{2,}(\S+)(?:\s+(\S+))?\s*")
_HOST_FIELD = re.compile(r"(NVIDIA-SMI|NVML|DRIVER|CUDA) [Vv]ersion\s*: (.*?)\s*", re.IGNORECASE)
_NONE = frozenset({"", "--", "n/a", "[n/a]", "na", "none", "unknown", "not found", "[not supported]"})
_ATTRIBUTES = {
    "Device Type": "model", "Part Number": "part number", "Description": "description", "PSID": "psid",
    "Base GUID": "guid", "Base MAC": "mac", "Status": "update status",
}  # fmt: skip
_OF_GPU = {
    "name": "model",
    "serial": "serial",
    "vbios_version": "vbios",
    "inforom.img": "inforom",
    "board_part_number": "part number",
}
_NOT_NAMED = "a device without GUID and MAC address, or one that is cut"
_NO_LINE = "no line of an inventory that is known"
_NO_UUID = "a row without a GPU UUID"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if matched_share(head, r"^Device #\d+:\s*$") and matched_share(head, r"^\s+(?:PSID|PCI Device Name):\s"):
        return Match(confidence=0.9, rule="'Device #1:' with PSID, as mlxfwmanager prints it")
    if matched_share(head, r"^NVIDIA-SMI version\s+: \d") and matched_share(head, r"(?i)^DRIVER version\s+: \d"):
        return Match(confidence=0.9, rule="nvidia-smi --version")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return line_batches(source, _Inventory(context))


@dataclass(eq=False, kw_only=True)
class _Adapter:
    """A block of mlxfwmanager."""

    line: int
    text: str
    fields: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    in_versions: bool = False


@dataclass(eq=False)
class _Inventory:
    """The adapter that is open, and the header of the list of GPUs."""

    context: Context
    _open: _Adapter | None = None
    _header: list[str] | None = None
    _host: dict[str, str] = field(default_factory=dict)
    _first: int = 0

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
        elif _DEVICE.fullmatch(text):
            self._close(told)
            self._open = _Adapter(line=number, text=text)
        elif self._open is not None and self._in_adapter(self._open, text):
            told.skip("continuation")
        else:
            self._other(number, text, told)

    def _in_adapter(self, adapter: _Adapter, text: str) -> bool:
        """Take a line of an adapter; False where it is none."""
        if found := _FIELD.fullmatch(text):
            adapter.in_versions = found[1] == "Versions"
            adapter.fields.setdefault(found[1], found[2])
            return True
        if adapter.in_versions and (found := _VERSION.fullmatch(text)):
            adapter.versions.setdefault(found[1], found[2])
            adapter.versions.setdefault(f"{found[1]} available", found[3] or "")
            return True
        return _RULE.fullmatch(text) is not None

    def _other(self, number: int, text: str, told: Told) -> None:
        if found := _HOST_FIELD.fullmatch(text):
            self._host_line(number, text, (found[1].lower(), found[2]), told)
        elif {"index", "uuid"} <= set(text.split(", ")):
            told.skip("header" if self._header is None else "repeated header")
            self._header = text.rstrip().split(", ")
        elif self._header is not None and ", " in text:
            self._gpu(number, text, self._header, told)
        elif re.match(r"Querying |Restart needed|Found \d|Up to date", text):
            told.skip("metadata")
        else:
            told.reject(number, _NO_LINE, text)

    def _host_line(self, number: int, text: str, part: tuple[str, str], told: Told) -> None:
        """Keep a version of the host: all of them are one entity, told at the end."""
        if self.context.host is None:
            told.reject(number, HOST_MISSING, text, curable="host")
            return
        told.row()
        self._first = self._first or number
        self._host.setdefault(*part)

    def _gpu(self, number: int, text: str, header: list[str], told: Told) -> None:
        cells = [cell.strip() for cell in text.split(", ")]
        if len(cells) != len(header):
            told.reject(number, f"row has {len(cells)} cells, the header {len(header)}", text)
            return
        row = {name: cell for name, cell in zip(header, cells, strict=True) if cell.lower() not in _NONE}
        uuid = row.get("uuid", "")
        if not uuid.startswith("GPU-"):
            told.reject(number, _NO_UUID, text)
            return
        who: Node = (self.context.host, "gpu", uuid)
        attributes = {_OF_GPU[name]: cell for name, cell in row.items() if name in _OF_GPU}
        if self._tell((number, text), who, {**attributes, "module": row.get("module_id", "")}, told):
            for name in ("index", "pci.bus_id", "serial"):
                if name in row:
                    told.graph.alias(who, row[name], f"column {name}", self.context.taken_at_us)
            if "module_id" in row:
                told.graph.alias(who, f"module:{row['module_id']}", "module id", self.context.taken_at_us)

    def _tell(self, place: tuple[int, str], who: Node, attributes: Mapping[str, str], told: Told) -> bool:
        line, text = place
        if who[0] is None:
            told.reject(line, HOST_MISSING, text, curable="host")
            return False
        told.row()
        known = {key: value for key, value in attributes.items() if value.lower() not in _NONE}
        tell_installed(told, who, known, line=line, taken_at_us=self.context.taken_at_us)
        return True

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell the adapter that is open."""
        del cut  # an adapter that is cut before its versions is rejected; after, it lacks some
        self._close(told)
        if self._host:
            who: Node = (self.context.host, "host", None)
            tell_installed(told, who, self._host, line=self._first, taken_at_us=self.context.taken_at_us)

    def _close(self, told: Told) -> None:
        """Tell an adapter; what it is called stands before its versions."""
        adapter, self._open = self._open, None
        if adapter is None:
            return
        fields = {key: value for key, value in adapter.fields.items() if value.lower() not in _NONE}
        name = fields.get("Base GUID") or fields.get("Base MAC")
        if name is None or "Versions" not in adapter.fields:
            told.reject(adapter.line, _NOT_NAMED, adapter.text)
            return
        who: Node = (self.context.host, "nic", name)
        attributes = {_ATTRIBUTES[key]: value for key, value in fields.items() if key in _ATTRIBUTES}
        if self._tell((adapter.line, adapter.text), who, {**attributes, **adapter.versions}, told):
            path = fields.get("PCI Device Name", "").removeprefix("/dev/mst/")
            if path:
                told.graph.alias(who, path, "mlxfwmanager", self.context.taken_at_us)


READER = Reader(name="inventory", recognise=_recognise, read=_read)
