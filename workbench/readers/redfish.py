"""Redfish, as saved from a BMC: log entries, sensors, thermal and power, firmware inventories.

One resource, a collection with its members, several one after another, or a map from paths to
resources. A collection of bare links holds nothing: fetch it with ``$expand``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.installed import tell_installed, word
from workbench.readers.ipmi_times import FIRST_YEAR, NO_CLOCK
from workbench.readers.jsoncells import plain_text
from workbench.readers.jsondoc import documents_of, outer_keys
from workbench.readers.redfish_readings import LISTS, Readings
from workbench.readers.source import Source, damage_batches
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING
from workbench.readers.toldtimes import Span, Waiting
from workbench.timebase import parse_time

__all__ = ["READER"]

_KEYS = frozenset({"@odata.id", "@odata.type", "@odata.context"})
_TYPE = re.compile(r"#(\w+)\.")
_PATH = "/redfish/v1"
_UNSET_US = parse_time(f"{FIRST_YEAR}-01-01T00:00:00Z")
_OTHER = "no Redfish resource: an object with '@odata.type' or 'Members' was expected"
_DEEPEST = 8
_PER_BATCH = 50_000
_DIRECTIONS = {"Assert": "sel", "Deassert": "sel.cleared"}


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    keys = outer_keys(head)
    known = sorted(keys & _KEYS)
    if known:
        return Match(confidence=0.95, rule=f"JSON with {', '.join(known)}, as Redfish has")
    if keys and all(key.startswith(_PATH) for key in keys):
        return Match(confidence=0.95, rule="a map from paths of Redfish to resources")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    told = Told()
    yield told.batch()
    for document in documents_of(source):
        if document.why is not None:
            told.reject(document.line, document.why, document.text)
            continue
        walk = _Walk(context, told, document.line)
        walk.value(document.value, 0)
        walk.waiting.tell(told)
        if told.rows > _PER_BATCH:
            yield told.batch()
    yield told.batch()
    yield from damage_batches(source)


@dataclass(eq=False)
class _Walk:
    """One document; all that it holds has the line at which it begins."""

    context: Context
    told: Told
    line: int
    readings: Readings = field(init=False)
    waiting: Waiting = field(init=False)

    def __post_init__(self) -> None:
        self.readings = Readings(self.context, self.told)
        self.waiting = Waiting(self.context, unset_us=_UNSET_US, unset=NO_CLOCK)

    def value(self, value: Any, depth: int) -> None:
        """Read a value of the document, whatever it is."""
        if isinstance(value, list) and depth < _DEEPEST and value:
            for part in value:
                self.value(part, depth + 1)
        elif isinstance(value, dict) and depth < _DEEPEST and value:
            self._resource(value, depth)
        else:
            self.told.reject(self.line, _OTHER, repr(value)[:200])

    def _resource(self, resource: Mapping[str, Any], depth: int) -> None:
        kind = _kind(resource)
        if isinstance(resource.get("Members"), list):
            self._collection(resource, depth)
        elif set(resource) <= {"@odata.id"}:
            self.told.skip("bare link")
            self.told.note("links without content: fetch collections with $expand to have their members")
        elif all(key.startswith(_PATH) and isinstance(part, dict) for key, part in resource.items()):
            for part in resource.values():
                self.value(part, depth + 1)
        elif any(isinstance(resource.get(key), list) for key in LISTS):
            self._counted(self.readings.lists(resource, self.line), kind or "lists")
        else:
            self._plain(resource, kind)

    def _plain(self, resource: Mapping[str, Any], kind: str | None) -> None:
        """Read a resource that holds no others."""
        if kind == "LogEntry":
            self._entry(resource)
        elif kind == "Sensor":
            self.readings.sensor(resource, self.line)
        elif kind == "EnvironmentMetrics":
            self.readings.environment(resource, self.line)
        elif kind == "MetricReport":
            self._counted(self.readings.report(resource, self.line), kind)
        elif kind in ("SoftwareInventory", "ComputerSystem"):
            self._attributes(resource, kind)
        elif kind is not None:
            self.told.skip("resource of another type")
            self.told.note(f"resources of the type {kind[:80]} are not read")
        else:
            self.told.reject(self.line, _OTHER, repr(resource)[:200])

    def _counted(self, count: int, kind: str) -> None:
        if not count:
            self.told.skip("empty")
            self.told.note(f"a resource ({kind[:80]}) without members")

    def _collection(self, resource: Mapping[str, Any], depth: int) -> None:
        members = resource["Members"]
        for member in members:
            self.value(member, depth + 1)
        if not members:
            self.told.skip("empty")
        path = plain_text(resource.get("@odata.id")) or "a collection"
        if "Members@odata.nextLink" in resource or "@odata.nextLink" in resource:
            self.told.note(f"{path} goes on at another page, which is not in this file")
        declared = resource.get("Members@odata.count")
        if isinstance(declared, int) and declared != len(members):
            self.told.note(f"{path} declares {plain_text(declared)} members; {len(members)} are here")

    def _entry(self, entry: Mapping[str, Any]) -> None:
        message = plain_text(entry.get("Message")) or plain_text(entry.get("Name")) or ""
        kind, code = _meaning(entry)
        links = entry.get("Links")
        origin = links.get("OriginOfCondition") if isinstance(links, dict) else None
        path = plain_text(origin.get("@odata.id")) if isinstance(origin, dict) else None
        words = entry.get("MessageArgs")
        arguments = [part for word in words if (part := plain_text(word))] if isinstance(words, list) else []
        who, _ = self.readings.places.of(path or "", "" if path and "GPU_SXM" in path else " ".join(arguments))
        attributes = {
            "record": plain_text(entry.get("Id")),
            "message_id": plain_text(entry.get("MessageId")),
            "sensor": plain_text(entry.get("SensorType")),
            "sensor_number": plain_text(entry.get("SensorNumber")),
            "origin": path,
            "resolved": plain_text(entry.get("Resolved")),
            "arguments": ", ".join(arguments) or None,
        }

        def tell(span: Span) -> None:
            self.told.row()
            severity = plain_text(entry.get("Severity"))
            self.told.event(
                who, kind, message, span_us=span, line=self.line, code=code, severity=severity, attributes=attributes
            )

        stamp = entry.get("Created", entry.get("EventTimestamp"))
        self.waiting.add(self.line, stamp, f"{attributes['record']} | {stamp} | {message}", tell=tell)

    def _attributes(self, resource: Mapping[str, Any], kind: str) -> None:
        """Read what is installed: attributes of the host or of a GPU module."""
        name = plain_text(resource.get("Id")) or plain_text(resource.get("Name")) or ""
        who, part = self.readings.places.of(plain_text(resource.get("@odata.id")) or "", name)
        if kind == "ComputerSystem":
            host = self.context.host or plain_text(resource.get("HostName")) or None
            who = (host, "host", None)
            named = {"model": "Model", "serial": "SerialNumber", "bios": "BiosVersion", "uuid": "UUID", "sku": "SKU"}
            found = {key: plain_text(resource.get(field)) for key, field in named.items()}
        else:
            found = {f"firmware {part}".strip(): plain_text(resource.get("Version"))}
        told = {key: value for key, value in found.items() if value}
        if who[0] is None:
            self.told.reject(self.line, HOST_MISSING, f"{name}: {told}", curable="host")
        else:
            self.told.row()
            tell_installed(self.told, who, told, line=self.line, taken_at_us=self.context.taken_at_us)


def _kind(resource: Mapping[str, Any]) -> str | None:
    found = _TYPE.match(plain_text(resource.get("@odata.type")) or "")
    return found[1] if found else None


def _meaning(entry: Mapping[str, Any]) -> tuple[str, str | None]:
    """Give kind and code of an entry; those of an event log are the words that ipmitool has, too."""
    code, message = plain_text(entry.get("EntryCode")), plain_text(entry.get("MessageId")) or ""
    if entry.get("EntryType") != "SEL":
        return "bmc", message.rpartition(".")[2] or code
    if code in _DIRECTIONS:
        return _DIRECTIONS[code], word(plain_text(entry.get("SensorType")) or "")
    return "sel", word(code or "") or message or None


READER = Reader(name="redfish", recognise=_recognise, read=_read)
