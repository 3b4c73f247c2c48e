"""Health data of disks: which numbers count, which are levels, in which unit each tool writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.readers.graph import Node
from workbench.readers.jsoncells import number_of
from workbench.readers.told import Told

__all__ = ["KELVIN_LOWEST", "attribute_number", "nvme_cells", "tell_nvme"]

#: Colder than this is no temperature in kelvin: 0 means that there is no sensor.
KELVIN_LOWEST = 200
_GAUGES = frozenset(
    {"available_spare", "available_spare_threshold", "percentage_used", "avail_spare", "spare_thresh", "percent_used"}
)
_STATES = frozenset({"critical_warning", "endurance_grp_critical_warning_summary"})
_COUNTERS = frozenset(
    {
        "data_units_read", "data_units_written", "host_reads", "host_writes", "host_read_commands", "host_write_commands",
        "controller_busy_time", "power_cycles", "power_on_hours", "unsafe_shutdowns", "media_errors",
        "num_err_log_entries", "warning_temp_time", "critical_comp_time", "thm_temp1_trans_count",
        "thm_temp2_trans_count", "thm_temp1_total_time", "thm_temp2_total_time",
    }
)  # fmt: skip
_UNITS = {
    **dict.fromkeys(_GAUGES, "%"), "power_on_hours": "h", "controller_busy_time": "min", "warning_temp_time": "min",
    "critical_comp_time": "min", "thm_temp1_total_time": "s", "thm_temp2_total_time": "s",
}  # fmt: skip
_SENSOR = re.compile(r"temperature(?:_sensor_(\d{1,2}))?")
_LEADING = re.compile(r"(\d{1,20})(?:$|[ (h/])")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|0[xX][0-9a-fA-F]{1,16}")

Cell = tuple[str, Any]


def attribute_number(raw: Any) -> str | int | None:
    """Give the number of an ATA attribute: the one that smartctl decoded, not the 48 bits of the disk.

    Examples
    --------
    >>> attribute_number({"value": 176094511130, "string": "26 (Min/Max 13/41)"})
    '26'
    >>> attribute_number({"value": 84}), attribute_number({"string": "0x00ff"}), attribute_number(None)
    (84, None, None)
    """
    if not isinstance(raw, dict):
        return None
    text, value = raw.get("string"), raw.get("value")
    if isinstance(text, str):
        found = _LEADING.match(text)
        return found[1] if found else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def nvme_cells(log: Mapping[str, Any]) -> Iterator[Cell]:
    """Give the cells of a log, with lists and objects of newer versions made flat.

    Examples
    --------
    >>> list(nvme_cells({"critical_warning": {"value": 4}, "temperature_sensors": [39], "a": [1]}))
    [('critical_warning', 4), ('temperature_sensor_1', 39)]
    """
    for key, value in log.items():
        if isinstance(value, dict):
            if "value" in value:
                yield key, value["value"]
        elif key == "temperature_sensors" and isinstance(value, list):
            yield from ((f"temperature_sensor_{place}", part) for place, part in enumerate(value, start=1))
        elif not isinstance(value, list):
            yield key, value


def tell_nvme(told: Told, who: Node, cell: Cell, *, ts_us: int, kelvin: bool) -> bool:
    """Tell one cell of an NVMe health log, however its number is written; False where it is no metric.

    Examples
    --------
    >>> told = Told()
    >>> all(tell_nvme(told, ("n1", "disk", "S1"), cell, ts_us=0, kelvin=True)
    ...     for cell in [("temperature", 349), ("percent_used", "103"), ("media_errors", 12.0)])
    True
    >>> told.batch().series.select("metric", "unit", "kind").rows()
    [('temperature_c', 'K', 'gauge'), ('percent_used', '%', 'gauge'), ('media_errors', None, 'counter')]
    """
    name, value = cell
    number = _plain(value)
    if found := _SENSOR.fullmatch(name):
        metric = f"temperature_sensor_{int(found[1])}_c" if found[1] else "temperature_c"
        if kelvin and _below(number, KELVIN_LOWEST):
            told.absent(metric, "no sensor: colder than 200 K")
            return True
        told.sample(who, metric, number, ts_us=ts_us, unit="K" if kelvin else "C", kind="gauge")
        return True
    kind = "gauge" if name in _GAUGES else "state" if name in _STATES else "counter" if name in _COUNTERS else None
    if kind is None and not isinstance(number, (int, float)):
        return False
    told.sample(who, name, number, ts_us=ts_us, unit=_UNITS.get(name), kind=kind)
    return True


def _plain(value: Any) -> str | int | float | None:
    """Take numbers as numbers, texts of numbers likewise; what is a truth value is none."""
    if not isinstance(value, str):
        return number_of(value)
    text = value.strip().replace(",", "").removesuffix("%")
    if not _NUMBER.fullmatch(text):
        return value
    if text[:2].lower() == "0x":
        return int(text, 16)
    return int(text) if re.fullmatch(r"-?\d{1,39}", text) else number_of(float(text))


def _below(number: str | float | None, limit: int) -> bool:
    return isinstance(number, (int, float)) and number < limit
