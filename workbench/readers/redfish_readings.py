"""Sensors, Thermal, Power, EnvironmentMetrics and MetricReport of Redfish, as samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import UsageError
from workbench.model.context import Context
from workbench.readers.ipmi_times import FIRST_YEAR
from workbench.readers.jsoncells import number_of, plain_text
from workbench.readers.jsonvalues import dicts
from workbench.readers.redfish_things import Places, kind_of, unit_of_sensor
from workbench.readers.told import TAKEN_AT_MISSING, Told
from workbench.readers.toldlines import HOST_MISSING
from workbench.timebase import from_us, parse_time

__all__ = ["LISTS", "Readings", "reading_time"]

_Cell = tuple[str, str, Any, str | None]  # name, path, value, unit
#: Lists inside of Thermal and Power: what they measure, and its unit.
LISTS: Mapping[str, tuple[tuple[str, str | None], ...]] = {
    "Temperatures": (("ReadingCelsius", "C"),),
    "Fans": (("Reading", None),),
    "Voltages": (("ReadingVolts", "V"),),
    "PowerControl": (("PowerConsumedWatts", "W"),),
    "PowerSupplies": (("PowerInputWatts", "W"), ("PowerOutputWatts", "W"), ("LineInputVoltage", "V")),
}
#: Lists whose members are told apart by the property too.
_BY_PROPERTY = ("PowerSupplies",)
_ENVIRONMENT = {
    "TemperatureCelsius": "C", "PowerWatts": "W", "EnergyJoules": "J", "EnergykWh": "kWh", "HumidityPercent": "%",
    "DewPointCelsius": "C", "AmbientTemperatureCelsius": "C",
}  # fmt: skip
_HEALTHY = ("OK", None)


def reading_time(stamp: Any, taken_at_us: int | None) -> int | None:
    """Give the time of a reading: its own where the BMC had a clock, else that of the dump.

    Examples
    --------
    >>> reading_time("2019-08-13T04:14:33+06:00", None), reading_time("1970-01-01T00:00:09Z", 7)
    (1565648073000000, 7)
    """
    if isinstance(stamp, str):
        try:
            us = parse_time(stamp)
            return us if from_us(us).year >= FIRST_YEAR else taken_at_us
        except (UsageError, OverflowError):
            return taken_at_us
    return taken_at_us


@dataclass(eq=False)
class Readings:
    """Turns resources that measure into samples; each member counts as one record."""

    context: Context
    told: Told
    places: Places = field(init=False)

    def __post_init__(self) -> None:
        self.places = Places(self.context.host, self.told)

    def sensor(self, sensor: Mapping[str, Any], line: int) -> None:
        """Read a Sensor."""
        name = plain_text(sensor.get("Id")) or plain_text(sensor.get("Name")) or ""
        path = plain_text(sensor.get("@odata.id")) or name
        ts_us = reading_time(sensor.get("ReadingTime"), self.context.taken_at_us)
        cell = (name, path, sensor.get("Reading"), unit_of_sensor(sensor))
        self._told(sensor, [cell], line, ts_us)

    def lists(self, resource: Mapping[str, Any], line: int) -> int:
        """Read the lists of a Thermal or Power; give how many members they have."""
        count = 0
        for key, properties in LISTS.items():
            for member in dicts(resource.get(key)):
                count += 1
                self._told(member, list(_cells(key, member, properties)), line, self.context.taken_at_us)
        return count

    def environment(self, resource: Mapping[str, Any], line: int) -> None:
        """Read an EnvironmentMetrics."""
        path = plain_text(resource.get("@odata.id")) or ""
        found = {key: resource[key] for key in _ENVIRONMENT if isinstance(resource.get(key), dict)}
        cells: list[_Cell] = [(key, path, value.get("Reading"), _ENVIRONMENT[key]) for key, value in found.items()]
        self._told(resource, cells, line, self.context.taken_at_us)

    def report(self, report: Mapping[str, Any], line: int) -> int:
        """Read a MetricReport; give how many values it has."""
        count = 0
        for value in dicts(report.get("MetricValues")):
            count += 1
            path = plain_text(value.get("MetricProperty")) or ""
            name = plain_text(value.get("MetricId")) or path.rpartition("/")[2]
            last = path.rpartition("/Sensors/")[2].partition("#")[0].partition("/")[0] if "/Sensors/" in path else name
            stamp = value.get("Timestamp", report.get("Timestamp"))
            ts_us = reading_time(stamp, self.context.taken_at_us)
            self._told({}, [(last, path, value.get("MetricValue"), None)], line, ts_us)
        return count

    def _told(self, member: Mapping[str, Any], cells: list[_Cell], line: int, ts_us: int | None) -> None:
        """Count one member, and tell its cells."""
        text = ", ".join(f"{name}: {value!r}"[:200] for name, _, value, _ in cells)
        if not any(name for name, *_ in cells):
            self.told.reject(line, "nothing that has a name is measured here", text)
        elif self.context.host is None:
            self.told.reject(line, HOST_MISSING, text, curable="host")
        elif ts_us is None:
            self.told.reject(line, TAKEN_AT_MISSING, text, curable="taken_at")
        else:
            self.told.row()
            for cell in cells:
                self._sample(cell, member, ts_us)
            self._health(cells[0], member, (line, ts_us))

    def _sample(self, cell: _Cell, member: Mapping[str, Any], ts_us: int) -> None:
        name, path, value, unit = cell
        who, metric = self.places.of(path, name)
        state = _status(member, "State")
        number = number_of(value)
        if number is None or state == "Absent":
            why = f"state {state}" if state not in ("Enabled", None) else "null"
            self.told.absent(metric, why if value is None or state == "Absent" else "not a number")
            return
        labels = self.places.labels(who, metric, path)
        self.told.sample(who, metric, number, ts_us=ts_us, unit=unit, kind=kind_of(member), labels=labels)

    def _health(self, cell: _Cell, member: Mapping[str, Any], place: tuple[int, int]) -> None:
        name, path, value, unit = cell
        health = _status(member, "Health")
        if health in _HEALTHY:
            return
        line, ts_us = place
        message = f"{name}: {plain_text(value) or 'no reading'} {unit or ''}".rstrip() + f" is {health}"
        self.told.event(
            self.places.of(path, name)[0],
            "sensor",
            message,
            span_us=(ts_us, ts_us),
            line=line,
            code=str(health).lower(),
            severity=health,
            attributes={"sensor": name, "path": path},
        )


def _cells(key: str, member: Mapping[str, Any], properties: tuple[tuple[str, str | None], ...]) -> Iterator[_Cell]:
    named = (
        plain_text(member.get("Name")) or plain_text(member.get("FanName")) or plain_text(member.get("MemberId")) or ""
    )
    path = plain_text(member.get("@odata.id")) or named
    for name, unit in properties:
        if key in _BY_PROPERTY and name not in member:
            continue
        metric = name if key == "PowerControl" else f"{named} {name}" if key in _BY_PROPERTY else named
        yield metric, path, member.get(name), unit or plain_text(member.get("ReadingUnits"))


def _status(member: Mapping[str, Any], key: str) -> str | None:
    status = member.get("Status")
    return plain_text(status.get(key)) if isinstance(status, dict) else None
