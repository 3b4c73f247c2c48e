"""Headers of exports of power and cooling: time and its zone, places, states, and what is measured.

Vendors name columns as they like, in several languages; a name is only taken for what is here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from zoneinfo import available_timezones

from workbench.model.context import Context
from workbench.readers.columns import Layout, Problem, normal
from workbench.readers.metriccolumns import MetricColumn
from workbench.readers.units import split_unit

__all__ = ["PLACED", "Facility", "facility_of", "is_facility", "is_time", "zone_of_header"]

_TIME = [
    "timestamp",
    "date_time",
    "datetime",
    "date",
    "time",
    "zeitstempel",
    "datum_zeit",
    "datum_uhrzeit",
    "zeitpunkt",
    "datum",
    "zeit",
    "time_stamp",
]
_CLOCK = ["time", "uhrzeit", "zeit"]
_DAY = ["date", "datum"]
_ROLES = {
    "pdu": "pdu pdu_name pdu_id",
    "outlet": "outlet outlet_id steckdose abgang ausgang",
    "rack": "rack rack_name schrank cabinet",
    "loop": "loop cdu cooling_loop kreislauf",
    "host": "host hostname server node",
}
_LABELS = ["phase", "line", "breaker", "branch", "circuit", "sicherung", "stromkreis", "zone"]
_QUALITY = ["quality", "qualitaet", "qualit_t", "reliability", "data_quality"]
_STATE = re.compile(r"(?i).*\b(?:status|state|alarm|mode|zustand|betriebsart|st.rung)")
_DEVICE = re.compile(
    r"(?P<device>(?P<type>CDU|PDU|RPP|Rack)[ _-]?[A-Z]{0,3}\d[\w-]*)(?:[ ._/:|-]+(?P<metric>\S.*))?", re.IGNORECASE
)
_KINDS = {"cdu": "loop", "pdu": "pdu", "rpp": "pdu", "rack": "rack"}
_WORDS = re.compile(
    r"(?i)\b(?:pdu|cdu|rpp|ups|crah|crac|chiller|bms|supply|return|inlet|outlet|flow|coolant|pump|phase|dew|"
    r"wirkleistung|strom|energie|spannung|vorlauf|r.cklauf|geh.use|durchfluss|cos phi|pue|breaker)\b"
)
_ZONE = re.compile(r"(?P<name>.*?)\s*[\[(]\s*(?P<zone>[^\[\]()]+?)\s*[\])]\s*")
_OFFSET = re.compile(r"(?:(?:UTC|GMT)\s*)?(?P<sign>[+-])(?P<hour>\d{1,2})(?::?(?P<minute>\d\d))?")
#: A stand-in for the host of rows whose columns name free devices, which lie in none.
PLACED = "-"


@dataclass(frozen=True, kw_only=True)
class Facility:
    """What the columns of an export mean.

    Attributes
    ----------
    times : tuple of str
        Column of the time, or of the date and the clock.
    states : mapping of column to (kind, device, name)
        Columns that could hold words for states, and what they are of.
    quality : str or None
        Column that says whether the values of a row can be trusted.
    layout : Layout or Problem
    """

    times: tuple[str, ...]
    layout: Layout | Problem
    states: dict[str, tuple[str | None, str | None, str]] = field(default_factory=dict)
    quality: str | None = None


def is_time(name: str) -> bool:
    """Tell whether a column holds times.

    Examples
    --------
    >>> is_time("Zeitstempel"), is_time("Date/Time (UTC)"), is_time("Flow")
    (True, True, False)
    """
    return normal(zone_of_header(name)[0]) in _TIME


def is_facility(names: Sequence[str]) -> bool:
    """Tell whether columns are those of power or cooling.

    Examples
    --------
    >>> is_facility(["Timestamp", "CDU-03 Supply Temp (°F)"]), is_facility(["time", "host", "power [W]"])
    (True, False)
    """
    return sum(bool(_WORDS.search(name)) for name in names[1:]) >= max(1, (len(names) - 1) // 3)


def zone_of_header(name: str) -> tuple[str, str | None, str | None]:
    """Part the name of a column from a zone in brackets: name, offset (``+01:00``), IANA zone.

    An abbreviation such as ``CET`` is neither: it names no one offset.

    Examples
    --------
    >>> zone_of_header("Time (UTC-5)"), zone_of_header("Time [Europe/Berlin]"), zone_of_header("Time (CET)")
    (('Time', '-05:00', None), ('Time', None, 'Europe/Berlin'), ('Time', None, None))
    """
    found = _ZONE.fullmatch(name)
    if found is None:
        return name, None, None
    zone = found["zone"]
    if zone.upper() in ("UTC", "GMT", "Z"):
        return found["name"], "Z", None
    offset = _OFFSET.fullmatch(zone)
    if offset is not None and int(offset["hour"]) <= 14:
        return found["name"], f"{offset['sign']}{int(offset['hour']):02}:{offset['minute'] or '00'}", None
    return found["name"], None, zone if "/" in zone and zone in available_timezones() else None


def facility_of(names: Sequence[str], told: str, context: Context) -> tuple[Facility, Context]:
    """Tell what the columns mean.

    Parameters
    ----------
    names : sequence of str
    told : str
        What stands above the header, which may name the one device of the file.
    context : Context

    Returns
    -------
    Facility
    Context
        With a host for rows that need one to stand.
    """
    times = _times(names)
    roles = {role: name for role, name in context.columns.roles.items() if name.startswith("=") or name in names}
    rest = [name for name in names if name and name not in times and name not in roles.values()]
    for role, words in _ROLES.items():
        hits = [name for name in rest if normal(name) in words.split()]
        if role not in roles and len(hits) == 1:
            roles[role] = hits[0]
            rest.remove(hits[0])
    labels = [name for name in rest if normal(name) in _LABELS or name in context.columns.labels]
    quality = next((name for name in rest if normal(name) in _QUALITY), None)
    gone = {*labels, *context.columns.ignore, quality}
    places = [] if roles else [place for text in (told, "\n".join(rest)) if (place := _place(text))[1]]
    place = places[0] if places else (None, None)
    columns = {name: _column(name, place, context) for name in rest if name not in gone}
    states = {
        name: (column.device_kind, column.device, column.metric)
        for name, column in columns.items()
        if _STATE.match(column.metric)
    }
    metrics = tuple(columns.values())
    layout, context = _laid_out(metrics, roles, tuple(labels), context)
    return Facility(times=times, layout=layout, states=states, quality=quality), context


def _times(names: Sequence[str]) -> tuple[str, ...]:
    first = next(name for name in names if is_time(name))
    if normal(first) in _DAY:
        clock = [name for name in names if name != first and normal(zone_of_header(name)[0]) in _CLOCK]
        if clock:
            return first, clock[0]
    return (first,)


def _place(text: str) -> tuple[str | None, str | None]:
    """Give kind and name of the one device that a text names."""
    found = {(hit["type"].lower(), hit["device"]) for hit in re.finditer(rf"\b{_DEVICE.pattern}", text, re.IGNORECASE)}
    if len(found) != 1:
        return None, None
    type_, device = found.pop()
    return _KINDS[type_], device


def _column(name: str, place: tuple[str | None, str | None], context: Context) -> MetricColumn:
    plain, unit = split_unit(name)
    found = _DEVICE.fullmatch(plain)
    kind, device = place
    metric = plain
    if found is not None and found["metric"]:
        kind, device, metric = _KINDS[found["type"].lower()], found["device"], found["metric"]
    stated = context.columns
    return MetricColumn(
        column=name,
        metric=metric,
        device_kind=kind,
        device=device,
        unit=stated.units.get(name) or stated.units.get(metric) or unit,
        kind=stated.kinds.get(name) or stated.kinds.get(metric),
        free=device is not None,
    )


def _laid_out(
    metrics: tuple[MetricColumn, ...], roles: dict[str, str], labels: tuple[str, ...], context: Context
) -> tuple[Layout | Problem, Context]:
    if not metrics:
        return Problem(reason="no column is left that could be a metric", curable="map"), context
    placed = any(role in roles for role in ("pdu", "rack", "loop", "host", "entity"))
    if not placed and all(column.device for column in metrics):
        context = replace(context, host=PLACED)
        placed = True
    if not placed and context.host is None:
        why = "neither a column nor its name says which PDU, rack, loop or host: state one in a mapping (--map)"
        return Problem(reason=why, curable="host"), context
    return Layout(shape="wide", roles={**roles, "ts": "@ts"}, metrics=metrics, rest=labels), context
