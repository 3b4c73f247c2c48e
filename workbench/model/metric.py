"""What a metric means: its unit, its kind, what it stands for; known ones from ``catalogue/*.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from workbench.model.units import Conversion, conversion, tidy_unit

__all__ = ["KINDS", "Metric", "SourceName", "by_id", "catalogue", "describe", "find"]

#: gauge: a level. counter: rises, restarts at 0. state: a code or flag, held until it changes.
#: sticky: a code that stays after its cause is gone. histogram: a part of a histogram or summary.
KINDS = ("gauge", "counter", "state", "sticky", "histogram")
_STATED = {"gauge": "gauge", "counter": "counter", "histogram": "histogram", "summary": "histogram", "info": "state"}
_ENDINGS = {
    "seconds": "s", "bytes": "B", "celsius": "C", "hertz": "Hz", "watts": "W", "joules": "J", "volts": "V", "amperes": "A", "ratio": "ratio",
    "percent": "%",
}  # fmt: skip
_FIELD = re.compile(r"(?:DCGM_FI_|dcgm[_:.]?(?:field[_:.]?)?)(\d{1,5})", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class SourceName:
    """A name that some source gives to a metric, with the unit that this source writes.

    ``factor`` multiplies what is written, where a source counts in words or ticks.
    """

    name: str
    unit: str = ""
    factor: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Metric:
    """What a metric means.

    Attributes
    ----------
    id : str
        ``kind.column`` such as ``gpu.power_w``; for a metric that the catalogue does not know, its
        own name.
    entity_kind : str
        What it is measured on.
    column : str
        Its column in the table of that kind, before clashes of names are resolved.
    unit, kind : str
        Unit it is kept in ("" where not known); one of :data:`KINDS`.
    names : tuple of SourceName
    fields : tuple of int
        DCGM field ids.
    role : str
        ``load`` or ``temperature``: the confounder that it stands for; "" for none.
    drives : tuple of str
        Roles that it drives; these are never adjusted for when it is tested.
    bits : int
        Width of a counter.
    saturates : bool
        The counter sticks at its maximum instead of starting again.
    absent : mapping of value to reason
        Values that mean "no value".
    known_by : str
        ``catalogue``, ``type line``, ``suffix``, ``stated`` or ``not known``.
    """

    id: str
    entity_kind: str
    column: str
    unit: str = ""
    kind: str = "gauge"
    names: tuple[SourceName, ...] = ()
    fields: tuple[int, ...] = ()
    role: str = ""
    drives: tuple[str, ...] = ()
    bits: int = 64
    saturates: bool = False
    absent: Mapping[float, str] = field(default_factory=dict)
    known_by: str = "catalogue"
    help: str = ""

    def written_as(self, name: str, unit: str | None) -> Conversion | None:
        """Give the conversion from what a source writes under ``name``; None: no such conversion."""
        own = next((source for source in self.names if source.name == name), None)
        step = conversion(unit or (own.unit if own else ""), self.unit)
        if step is None or own is None or own.factor == 1.0:
            return step
        return Conversion(factor=step.factor * own.factor, offset=step.offset)


@cache
def catalogue() -> tuple[Metric, ...]:
    """Give every metric of the catalogue, by id.

    Examples
    --------
    >>> len(catalogue()) > 60, len({metric.id for metric in catalogue()}) == len(catalogue())
    (True, True)
    """
    folder = resources.files("workbench.model") / "catalogue"
    metrics = []
    for file in sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name):
        entries = tomllib.loads(file.read_text(encoding="utf-8")).get("metric", ())
        metrics += [_metric(entry) for entry in entries]
    return tuple(sorted(metrics, key=lambda metric: metric.id))


def _metric(entry: dict[str, Any]) -> Metric:
    kind, _, column = entry["id"].partition(".")
    unit = entry.get("unit", "")
    names = [{"name": n} if isinstance(n, str) else n for n in entry.get("names", ())]
    return Metric(
        id=entry["id"],
        entity_kind=kind,
        column=column,
        unit=unit,
        kind=entry["kind"],
        names=tuple(SourceName(**{"unit": unit, **name}) for name in names),
        fields=tuple(entry.get("fields", ())),
        role=entry.get("role", ""),
        drives=tuple(entry.get("drives", ())),
        bits=entry.get("bits", 64),
        saturates=entry.get("saturates", False),
        absent={float(value): reason for value, reason in entry.get("absent", {}).items()},
        help=entry.get("help", ""),
    )


@cache
def _by_name() -> dict[str, Metric]:
    return {source.name: metric for metric in catalogue() for source in metric.names}


@cache
def _by_field() -> dict[int, Metric]:
    return {number: metric for metric in catalogue() for number in metric.fields}


@cache
def _by_id() -> dict[str, Metric]:
    return {metric.id: metric for metric in catalogue()}


def by_id(name: str) -> Metric | None:
    """Give the metric of an id such as ``gpu.power_w``.

    Examples
    --------
    >>> by_id("gpu.power_w").unit, by_id("gpu.no_such_thing")
    ('W', None)
    """
    return _by_id().get(name)


def find(source_name: str) -> Metric | None:
    """Give the metric that a source calls ``source_name``; also by DCGM field id (``DCGM_FI_155``).

    Examples
    --------
    >>> find("DCGM_FI_DEV_POWER_USAGE").id, find("DCGM_FI_155").id, find("nothing_known")
    ('gpu.power_w', 'gpu.power_w', None)
    """
    metric = _by_name().get(source_name)
    if metric is None and (number := _FIELD.fullmatch(source_name)):
        metric = _by_field().get(int(number[1]))
    return metric


def describe(name: str, entity_kind: str, *, stated_kind: str | None = None, stated_unit: str | None = None) -> Metric:
    """Say what a series means: by catalogue, else by what its source states, else by its name.

    A catalogue metric measured on another kind of entity (power of a MIG slice) keeps its meaning
    and takes the id ``<that kind>.<column>``. A canonical id or column (``gpu.power_w``, or
    ``power_w`` on a GPU) is accepted as a name.

    Parameters
    ----------
    name : str
        As the source writes it.
    entity_kind : str
        What it is measured on.
    stated_kind : str or None
        ``gauge counter histogram summary info``, from a TYPE line or a mapping.
    stated_unit : str or None

    Examples
    --------
    >>> describe("DCGM_FI_DEV_POWER_USAGE", "gpu").id
    'gpu.power_w'
    >>> own = describe("foo_errors_total", "host")
    >>> own.id, own.kind, own.known_by
    ('foo_errors_total', 'counter', 'suffix')
    >>> describe("node_disk_io_time_seconds_total", "host").unit
    's'
    """
    known = find(name) or by_id(name) or by_id(f"{entity_kind}.{name}")
    if known is not None and known.written_as(name, stated_unit) is not None:
        if known.entity_kind == entity_kind:
            return known
        return replace(known, id=f"{entity_kind}.{known.column}", entity_kind=entity_kind)
    kind, known_by = _kind_of_unknown(name, stated_kind)
    unit = tidy_unit(stated_unit) or _unit_of_name(name)
    return Metric(id=name, entity_kind=entity_kind, column=name, unit=unit, kind=kind, known_by=known_by)


def _unit_of_name(name: str) -> str:
    """Give the unit that a name ends with, as names of Prometheus do."""
    return _ENDINGS.get(name.removesuffix("_total").rpartition("_")[2], "")


def _kind_of_unknown(name: str, stated: str | None) -> tuple[str, str]:
    if stated in _STATED:
        return _STATED[stated], "type line"
    if stated in KINDS:
        return stated, "stated"
    if name.endswith("_total"):
        return "counter", "suffix"
    if name.endswith("_bucket"):
        return "histogram", "suffix"
    return "gauge", "not known"
