"""Health of disks: ``smartctl -j`` (ATA, NVMe, SCSI), one document a disk, or several.

The key of a disk is its serial number: ``/dev/sdX`` moves. ``exit_status`` is a mask of bits, and
most of them speak of the past; a verdict of the disk itself is an event ``smart``, seen at the time
of the dump and begun before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.graph import Node
from workbench.readers.installed import tell_installed, word
from workbench.readers.jsoncells import inside, number_of, plain_text, whole_of
from workbench.readers.jsondoc import Document, documents_of, outer_keys
from workbench.readers.jsonvalues import dicts
from workbench.readers.smart_cells import attribute_number, nvme_cells, tell_nvme
from workbench.readers.source import Source, damage_batches
from workbench.readers.told import TAKEN_AT_MISSING, Told
from workbench.readers.toldlines import HOST_MISSING
from workbench.timebase import MICROS

__all__ = ["READER"]

_KEYS = frozenset({"json_format_version", "smartctl"})
#: Seconds of the years 2001 to 2286.
_EPOCH_S = (978_307_200, 9_999_999_999)
_FAILING, _PREFAIL = 0x08, 0x10
_NO_DEVICE = "no disk that was read: smartctl could not open it"
_NO_OBJECT = "no document of smartctl"
_ERRORS = ("read", "write", "verify")
_PER_BATCH = 20_000


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if not outer_keys(head) >= _KEYS:
        return None
    return Match(confidence=0.95, rule="JSON with json_format_version and smartctl")


def _read(source: Source, context: Context) -> Iterator[Batch]:
    told = Told()
    yield told.batch()
    for document in documents_of(source):
        if document.why is not None:
            told.reject(document.line, document.why, document.text)
            continue
        values = document.value if isinstance(document.value, list) else [document.value]
        for value in values or [None]:
            _tell(value, document, context, told)
        if told.rows > _PER_BATCH:
            yield told.batch()
    yield told.batch()
    yield from damage_batches(source)


def _tell(value: Any, document: Document, context: Context, told: Told) -> None:
    """Tell one disk, or why not."""
    if not isinstance(value, dict) or not isinstance(value.get("smartctl"), dict):
        told.reject(document.line, _NO_OBJECT, document.text)
        return
    disk = _Disk(value, context, document.line)
    if disk.serial is None and disk.name is None:
        status = plain_text(value["smartctl"].get("exit_status"))
        told.reject(document.line, f"{_NO_DEVICE} (exit_status {status})", document.text)
    elif disk.serial is None and context.host is None:
        told.reject(document.line, HOST_MISSING, document.text, curable="host")
    elif disk.ts_us is None:
        told.reject(document.line, TAKEN_AT_MISSING, document.text, curable="taken_at")
    else:
        told.row()
        disk.tell(told, disk.ts_us)


class _Disk:
    """One document."""

    def __init__(self, value: Mapping[str, Any], context: Context, line: int) -> None:
        self._value = value
        self._line = line
        self.serial = plain_text(value.get("serial_number")) or None
        path = plain_text(inside(value, "device").get("name"))
        self.name = path.rpartition("/")[2] or None if path else None
        self._who: Node = (context.host, "disk", self.serial or self.name)
        seconds = whole_of(inside(value, "local_time").get("time_t"))
        known = seconds is not None and _EPOCH_S[0] <= seconds <= _EPOCH_S[1]
        self.ts_us = seconds * MICROS if seconds is not None and known else context.taken_at_us

    def tell(self, told: Told, ts_us: int) -> None:
        """Tell all of it."""
        self._identity(told, ts_us)
        nvme = inside(self._value, "nvme_smart_health_information_log")
        for cell in nvme_cells(nvme):
            if cell[0] != "temperature" or "temperature" not in self._value:
                tell_nvme(told, self._who, cell, ts_us=ts_us, kelvin=False)
        self._common(told, ts_us, nvme)
        self._attributes(told, ts_us)
        self._scsi(told, ts_us)
        self._verdict(told, ts_us)

    def _identity(self, told: Told, ts_us: int) -> None:
        value = self._value
        capacity = inside(value, "user_capacity").get("bytes", value.get("nvme_total_capacity"))
        named = {
            "model": value.get("model_name"),
            "firmware": value.get("firmware_version"),
            "serial": self.serial,
            "protocol": inside(value, "device").get("protocol"),
            "capacity bytes": capacity,
        }
        known = {key: text for key, part in named.items() if (text := plain_text(part))}
        tell_installed(told, self._who, known, line=self._line, taken_at_us=ts_us)
        host, kind, _ = self._who
        if self.serial and self.name and host:
            told.graph.alias((host, kind, self.serial), self.name, "serial_number", ts_us)

    def _common(self, told: Told, ts_us: int, nvme: Mapping[str, Any]) -> None:
        """Tell what every protocol has; NVMe says most of it in its own log."""
        value = self._value
        temperature = inside(value, "temperature").get("current")
        if "temperature" in value:
            told.sample(self._who, "temperature_c", number_of(temperature), ts_us=ts_us, unit="C", kind="gauge")
        hours, cycles = inside(value, "power_on_time").get("hours"), value.get("power_cycle_count")
        for metric, number, unit in (("power_on_hours", hours, "h"), ("power_cycles", cycles, None)):
            if number is not None and metric not in nvme:
                told.sample(self._who, metric, number_of(number), ts_us=ts_us, unit=unit, kind="counter")
        status = number_of(value["smartctl"].get("exit_status"))
        told.sample(self._who, "smartctl_exit_status", status, ts_us=ts_us, kind="state")
        passed = inside(value, "smart_status").get("passed")
        if isinstance(passed, bool):
            told.sample(self._who, "smart_passed", int(passed), ts_us=ts_us, kind="state")

    def _attributes(self, told: Told, ts_us: int) -> None:
        """Tell the ATA attributes: the number as smartctl decoded it."""
        for entry in dicts(inside(self._value, "ata_smart_attributes").get("table")):
            name, number = plain_text(entry.get("name")) or "Unknown_Attribute", plain_text(entry.get("id"))
            unknown = name.lower().startswith("unknown")
            labels = {"id": number or ""} if unknown else {}
            kind = "counter" if inside(entry, "flags").get("event_count") is True else None
            cell = attribute_number(entry.get("raw"))
            told.sample(self._who, name, cell, ts_us=ts_us, kind=kind, labels=labels)
            failed = plain_text(entry.get("when_failed"))
            if failed:
                attributes = {
                    "attribute": name,
                    "value": plain_text(entry.get("value")),
                    "threshold": plain_text(entry.get("thresh")),
                    "raw": plain_text(inside(entry, "raw").get("string")),
                }
                message = f"{name} is at or below its threshold ({failed})"
                self._event(told, ts_us, (word(name), message), attributes)

    def _scsi(self, told: Told, ts_us: int) -> None:
        value = self._value
        if "scsi_grown_defect_list" in value:
            cell = number_of(value["scsi_grown_defect_list"])
            told.sample(self._who, "scsi_grown_defect_list", cell, ts_us=ts_us, kind="counter")
        log = inside(value, "scsi_error_counter_log")
        for operation in _ERRORS:
            if operation in log:
                cell = number_of(inside(log, operation).get("total_uncorrected_errors"))
                metric = f"scsi_{operation}_total_uncorrected_errors"
                told.sample(self._who, metric, cell, ts_us=ts_us, kind="counter")

    def _verdict(self, told: Told, ts_us: int) -> None:
        """Tell what the disk says of itself now; bits that speak of the past stay in the metric."""
        status = whole_of(self._value["smartctl"].get("exit_status")) or 0
        passed = inside(self._value, "smart_status").get("passed")
        told_status = {"exit_status": status}
        if passed is False or status & _FAILING:
            self._event(told, ts_us, ("failing", "SMART overall health: FAILED"), told_status)
        if status & _PREFAIL:
            self._event(told, ts_us, ("prefail", "a prefail attribute is at or below its threshold"), told_status)

    def _event(self, told: Told, ts_us: int, what: tuple[str | None, str], attributes: Mapping[str, Any]) -> None:
        code, message = what
        told.event(
            self._who, "smart", message, span_us=(ts_us, ts_us), line=self._line, code=code, attributes=attributes
        )


READER = Reader(name="smartctl_json", recognise=_recognise, read=_read)
