"""Which column of which table a metric lies in, of which type, and what its source's values are multiplied by."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from workbench.model.metric import Metric, describe
from workbench.model.units import Conversion, conversion
from workbench.store.layout import FIXED, SAMPLES_LONG, WIDE_KEYS

__all__ = ["Column", "Columns", "Placement", "RawName", "bare", "route_of"]

_INTEGER_KINDS = frozenset({"counter", "state", "sticky"})
_NOT_IN_A_NAME = re.compile(r"[^\w.:/%+\-]")
_LONGEST = 100
_NAMED = 5  # metrics that a note names
# Names that rows have already, or that queries of ours use.
_TAKEN = {*WIDE_KEYS, "day", "metric", "value", "value_int", "labels", "unit", "kind"}


@dataclass(frozen=True, kw_only=True)
class RawName:
    """A metric as a source states it.

    Attributes
    ----------
    route : str
        Table its samples are meant for.
    entity_kind, name : str
    stated_kind, unit : str or None
    whole : bool
        Every value seen is an integer.
    """

    route: str
    entity_kind: str
    name: str
    stated_kind: str | None
    unit: str | None
    whole: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Column:
    """Where a metric lies.

    ``column`` and ``type`` are "" for metrics of the long table.
    """

    table: str
    column: str
    metric: Metric
    type: str

    @property
    def integer(self) -> bool:
        """Whether the column holds int64."""
        return self.type == "int64"


@dataclass(frozen=True, eq=False, kw_only=True)
class Placement:
    """Where the values of a raw name go, and what happens to them on the way."""

    column: Column
    conversion: Conversion


#: Labels that say who scraped a series, not which series it is.
_TARGET = frozenset(
    {"job", "instance", "service", "endpoint", "prometheus", "prometheus_replica", "monitor", "exported_job"}
)
#: On a GPU also those that say which workload ran on it: one at a time.
_TENANT = _TARGET | {
    "Hostname",
    "pod",
    "namespace",
    "container",
    "exported_pod",
    "exported_namespace",
    "exported_container",
}


def bare(labels: str, entity_kind: str) -> bool:
    """Tell whether the labels left of a series name no dimension, so that an entity has one such series.

    They stand with the series (view ``series``); the values lie in the wide table.

    Examples
    --------
    >>> bare('{"job":"node"}', "host"), bare('{"cpu":"0"}', "host"), bare('{"pod":"llm-0"}', "gpu")
    (True, False, True)
    """
    return labels == "{}" or json.loads(labels).keys() <= (_TENANT if entity_kind == "gpu" else _TARGET)


def route_of(entity_kind: str, labels: str, stated_kind: str | None, wide: bool) -> str:
    """Tell which table a series is meant for: its kind's own, or the long one.

    Examples
    --------
    >>> route_of("gpu", "{}", "gauge", True), route_of("host", '{"cpu":"0"}', "counter", True)
    ('gpu', 'samples_long')
    """
    plain = labels == "{}" and stated_kind not in ("histogram", "summary")
    return entity_kind if wide and plain else SAMPLES_LONG


class Columns:
    """The columns of a store; new metrics get theirs here.

    Parameters
    ----------
    metrics : polars.DataFrame
        The ``metrics`` table.

    Attributes
    ----------
    new : list of dict
        Rows for the ``metrics`` table that were not in it.
    bare_units, own_units : dict of str
        Metrics whose unit some source does not state, with the unit that is taken; and metrics that
        are kept apart because the values known before have no unit.
    """

    def __init__(self, metrics: pl.DataFrame) -> None:
        self.new: list[dict[str, object]] = []
        self.bare_units: dict[str, str] = {}
        self.own_units: dict[str, str] = {}
        self._by_metric: dict[tuple[str, str, str], Column] = {}
        self._used: dict[str, set[str]] = {}
        self._raw: set[tuple[str, str, str, str]] = set()
        for row in metrics.iter_rows(named=True):
            self._remember(_column(row), row["raw_name"])

    def all(self, table: str) -> list[Column]:
        """Give the columns of a table, in the order they came."""
        found = [column for (name, _, _), column in self._by_metric.items() if name == table]
        return list(dict.fromkeys(found))

    def place(self, raws: Iterable[RawName]) -> dict[RawName, Placement]:
        """Give each raw name its column; the same set of names always gets the same columns."""
        ordered = sorted(raws, key=lambda r: (r.route, r.entity_kind, r.name, r.stated_kind or "", r.unit or ""))
        whole: dict[tuple[str, str, str], bool] = {}
        fresh: dict[tuple[str, str, str], Metric] = {}
        meant = {raw: self._meant(raw, fresh) for raw in ordered}
        for raw, (metric, step) in meant.items():
            key = (raw.route, metric.entity_kind, metric.id)
            whole[key] = whole.get(key, True) and raw.whole and step.exact
        return {
            raw: Placement(
                column=self._column_of(raw, metric, whole[raw.route, metric.entity_kind, metric.id]), conversion=step
            )
            for raw, (metric, step) in meant.items()
        }

    def _meant(self, raw: RawName, fresh: dict[tuple[str, str, str], Metric]) -> tuple[Metric, Conversion]:
        """Say what a raw name means here; a unit that cannot be converted makes it another metric.

        Beside values of no unit, those with one are another metric, too. What states no unit is
        taken to be in the one that is known.
        """
        metric = describe(raw.name, raw.entity_kind, stated_kind=raw.stated_kind, stated_unit=raw.unit)
        if metric.known_by == "catalogue":
            return metric, metric.written_as(raw.name, raw.unit) or Conversion()
        there = self._kept(raw.route, metric, fresh)
        if there is None:
            return metric, Conversion()
        if there.unit and not metric.unit:
            self.bare_units[metric.id] = there.unit
        step = conversion(metric.unit, there.unit) if there.unit or not metric.unit else None
        if step is not None:
            return there, step
        if not there.unit:
            self.own_units[metric.id] = metric.unit
        own = replace(metric, id=f"{metric.id} [{metric.unit}]", column=f"{metric.column}_{metric.unit}")
        return self._kept(raw.route, own, fresh) or own, Conversion()

    def _kept(self, route: str, metric: Metric, fresh: dict[tuple[str, str, str], Metric]) -> Metric | None:
        """Give the metric of this id as the store, or a name before this one, has it; else note it."""
        key = (route, metric.entity_kind, metric.id)
        there = self._by_metric.get(key)
        found = there.metric if there is not None else fresh.get(key)
        fresh.setdefault(key, metric)
        return found

    @property
    def notes(self) -> list[str]:
        """What was decided about units, for the user to check."""
        told = [
            (self.bare_units, "some values state no unit, and are taken to be in the one of the others"),
            (self.own_units, "values known before state no unit; those with one are metrics of their own"),
        ]
        return [f"{_few(units)}: {what}" for units, what in told if units]

    def _column_of(self, raw: RawName, metric: Metric, whole: bool) -> Column:
        key = (raw.route, metric.entity_kind, metric.id)
        column = self._by_metric.get(key)
        if column is None:
            column = self._new_column(raw.route, metric, whole)
        if (raw.route, column.metric.entity_kind, column.metric.id, raw.name) not in self._raw:
            self.new.append(_row(column, raw.name))
            self._remember(column, raw.name)
        return column

    def _new_column(self, table: str, metric: Metric, whole: bool) -> Column:
        if table == SAMPLES_LONG:
            return Column(table=table, column="", metric=metric, type="")
        integer = whole and metric.kind in _INTEGER_KINDS
        name = _free_name(metric.column, self._used.setdefault(table, set(_TAKEN)))
        return Column(table=table, column=name, metric=metric, type="int64" if integer else "double")

    def _remember(self, column: Column, raw_name: str) -> None:
        metric = column.metric
        self._by_metric.setdefault((column.table, metric.entity_kind, metric.id), column)
        self._used.setdefault(column.table, set(_TAKEN)).add(column.column.lower())
        self._raw.add((column.table, metric.entity_kind, metric.id, raw_name))


def _few(units: dict[str, str]) -> str:
    names = [f"{name} [{unit}]" for name, unit in sorted(units.items())]
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _free_name(name: str, used: set[str]) -> str:
    """Give a column name that Delta allows and no other column has, in any case of letters."""
    tidy = _NOT_IN_A_NAME.sub("_", name)[:_LONGEST] or "_"
    if tidy.lower() in used or len(name) > _LONGEST:
        tidy = f"{tidy}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return tidy


def _row(column: Column, raw_name: str) -> dict[str, object]:
    metric = column.metric
    return {
        "table": column.table, "column": column.column or None, "metric": metric.id, "entity_kind": metric.entity_kind,
        "type": column.type or None, "unit": metric.unit, "kind": metric.kind, "role": metric.role,
        "drives": list(metric.drives), "bits": metric.bits, "saturates": metric.saturates,
        "known_by": metric.known_by, "raw_name": raw_name,
    }  # fmt: skip


def _column(row: dict[str, object]) -> Column:
    assert set(FIXED["metrics"]) <= set(row)
    text = {
        name: str(row[name] or "")
        for name in ("metric", "entity_kind", "unit", "kind", "role", "known_by", "column", "type", "table")
    }
    metric = Metric(
        id=text["metric"], entity_kind=text["entity_kind"], column=text["column"], unit=text["unit"], kind=text["kind"],
        role=text["role"], drives=tuple(row["drives"] or ()), bits=int(row["bits"] or 64),  # type: ignore[arg-type, call-overload]
        saturates=bool(row["saturates"]), known_by=text["known_by"],
    )  # fmt: skip
    return Column(table=text["table"], column=text["column"], metric=metric, type=text["type"])
