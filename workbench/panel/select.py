"""From a store to a Panel: one query per wide table, pruned by entity and time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np
import polars as pl

from workbench.errors import NothingToDoError, ResourceError, UnknownNameError, UsageError
from workbench.model.incident import Incident
from workbench.model.panel import Panel
from workbench.model.provenance import Provenance
from workbench.panel.align import Grid, align
from workbench.store.store import Store
from workbench.timebase import MICROS, format_us, parse_duration, to_us

__all__ = ["MAX_PANEL_BYTES", "metric_rows", "metrics_of", "panel", "quoted"]

#: Above this a panel is refused with advice; a screen reads metric by metric instead.
MAX_PANEL_BYTES = 4_000_000_000
Span = tuple[datetime, datetime]


def panel(
    store: Store,
    metrics: str | Sequence[str],
    *,
    around: Incident | Iterable[Incident] | None = None,
    span: Span | None = None,
    entities: Sequence[str] | None = None,
    before: str | float = "2h",
    after: str | float = "30m",
    step: str | float = "60s",
) -> Panel:
    """Align metrics of a store on one grid.

    Parameters
    ----------
    store : Store
    metrics : str or sequence of str
        Metric ids; see ``store.catalog()``. Counters become rates per second.
    around : Incident or several, optional
        Only the time from ``before`` to ``after`` each incident is kept; the rest is NaN.
    span : (datetime, datetime), optional
        Aware start and end. Without ``around`` and ``span``: everything there is.
    entities : sequence of str, optional
        Canonical ids; all that have the metrics if not given.
    before, after, step : duration
        Such as ``2h``.

    Returns
    -------
    Panel
        NaN where not observed; entities of different kinds have NaN for each other's metrics.

    Raises
    ------
    UnknownNameError
        A metric or entity that the store does not hold, with the nearest names.
    NothingToDoError
        Where no sample falls into the time asked for; says what time there is.
    ResourceError
        Where the panel would not fit in memory; says what to narrow.
    """
    names = (metrics,) if isinstance(metrics, str) else tuple(dict.fromkeys(metrics))
    facts = metrics_of(store, names)
    windows = _windows(around, span, parse_duration(before), parse_duration(after))
    low, high = _bounds(facts, windows)
    grid = Grid.covering(low, high, _step(step))
    tables = {
        table: metric_rows(store, group, grid, entities)
        for (table,), group in facts.group_by("table", maintain_order=True)
    }
    ids = _entity_ids(tables.values(), entities)
    _refuse_if_large(len(ids), len(names), grid)
    if not ids:
        raise NothingToDoError(_nothing(names, grid, facts))
    values = np.full((len(ids), len(names), grid.cells), np.nan)
    rows = {name: index for index, name in enumerate(ids)}
    for fact in facts.iter_rows(named=True):
        here = align(
            tables[fact["table"]], fact["column"], grid, entities=rows, kind=fact["kind"] or "gauge",
            interval_s=fact["interval_s"] or 0.0, width_bits=fact["width_bits"] or 64,
            saturates=bool(fact["saturates"]),
        )  # fmt: skip
        at = names.index(fact["metric"])
        values[:, at, :] = np.where(np.isfinite(here), here, values[:, at, :])
    values[:, :, ~_inside(grid, windows)] = np.nan
    return Panel(
        values=values,
        entities=tuple(ids),
        metrics=names,
        ts_us=grid.ts_us,
        step_s=grid.step_us / MICROS,
        units={f["metric"]: _unit(f) for f in facts.iter_rows(named=True)},
        interval_s={f["metric"]: f["interval_s"] or 0.0 for f in facts.iter_rows(named=True)},
        provenance=_provenance(store, names, grid, windows),
    )


def metrics_of(store: Store, names: Sequence[str]) -> pl.DataFrame:
    """Give the catalogue rows of some metrics, in the order asked for; unknown names raise."""
    catalogue = store.catalog()
    known = catalogue["metric"].to_list()
    for name in names:
        if name not in known:
            raise UnknownNameError("metric", name, known, "See store.catalog().")
    order = pl.DataFrame({"metric": list(names), "_order": range(len(names))})
    found = catalogue.join(order, on="metric").sort("_order").drop("_order")
    narrow = found.filter(pl.col("column").is_null())["metric"].unique().to_list()
    if narrow:
        raise UsageError(
            f"{', '.join(narrow)} comes with labels, several series an entity, so there is no one value to align. "
            "Choose with store.sql(\"select ts, entity, labels, value from samples where metric = '...'\")."
        )
    return found


def metric_rows(store: Store, facts: pl.DataFrame, grid: Grid, entities: Sequence[str] | None = None) -> pl.DataFrame:
    """Read the columns of one wide table within the grid, sorted by entity and time.

    Reaches one sampling interval (at least three grid steps) beyond the grid, which rates need.
    """
    margin = max(3 * grid.step_us, *(round(3 * MICROS * (interval or 0.0)) for interval in facts["interval_s"]))
    columns = ", ".join(quoted(column) for column in facts["column"].unique(maintain_order=True))
    where = "ts >= ? and ts < ?"
    parameters: list[object] = [_stamp(grid.start_us - margin), _stamp(grid.end_us + margin)]
    if entities is not None:
        where += " and list_contains(?, entity)"
        parameters.append(list(entities))
    query = f"select entity, ts, {columns} from {quoted(facts['table'][0])} where {where} order by entity, ts"
    return store.frame(query, parameters)


def quoted(name: str) -> str:
    """Quote an identifier for SQL.

    Examples
    --------
    >>> quoted('power "w" x')
    '"power ""w"" x"'
    """
    return '"' + name.replace('"', '""') + '"'


def _stamp(us: int) -> datetime:
    from workbench.timebase import from_us

    return from_us(us)


def _step(step: str | float) -> float:
    seconds = parse_duration(step)
    if seconds <= 0:
        raise UsageError("step must be longer than nothing, such as 60s.")
    return seconds


def _unit(fact: dict[str, object]) -> str:
    unit = str(fact["unit"] or "")
    return f"{unit}/s" if fact["kind"] == "counter" else unit


Windows = list[tuple[int, int]] | None


def _windows(
    around: Incident | Iterable[Incident] | None, span: Span | None, before_s: float, after_s: float
) -> Windows:
    if around is not None and span is not None:
        raise UsageError("Give around= or span=, not both.")
    if span is not None:
        low, high = (to_us(moment) for moment in span)
        if low >= high:
            raise UsageError(f"span ends at {format_us(high)}, before it starts at {format_us(low)}.")
        return [(low, high)]
    if around is None:
        return None
    incidents = [around] if isinstance(around, Incident) else list(around)
    if not incidents:
        raise NothingToDoError("around= holds no incident; see store.incidents(...).")
    before, after = round(before_s * MICROS), round(after_s * MICROS)
    return [(to_us(i.ts) - before, to_us(i.ts) + after) for i in incidents]


def _bounds(facts: pl.DataFrame, windows: Windows) -> tuple[int, int]:
    if windows is not None:
        return min(low for low, _ in windows), max(high for _, high in windows)
    first, last = facts["first"].min(), facts["last"].max()
    if not isinstance(first, datetime) or not isinstance(last, datetime):
        raise NothingToDoError(f"No samples of {', '.join(facts['metric'])} are in this store.")
    return to_us(first), to_us(last) + 1


def _inside(grid: Grid, windows: Windows) -> np.ndarray:
    if windows is None:
        return np.ones(grid.cells, bool)
    left, right = grid.ts_us, grid.ts_us + grid.step_us
    inside = np.zeros(grid.cells, bool)
    for low, high in windows:
        inside |= (left < high) & (right > low)
    return inside


def _entity_ids(tables: Iterable[pl.DataFrame], entities: Sequence[str] | None) -> list[str]:
    found = sorted({name for rows in tables for name in rows["entity"].unique().to_list()})
    if entities is None:
        return found
    return [name for name in dict.fromkeys(entities) if name in set(found)]


def _refuse_if_large(entities: int, metrics: int, grid: Grid) -> None:
    size = entities * metrics * grid.cells * 8
    if size > MAX_PANEL_BYTES:
        raise ResourceError(
            f"This panel would hold {entities} entities x {metrics} metrics x {grid.cells} cells = {size / 1e9:.1f} GB; "
            f"the limit is {MAX_PANEL_BYTES / 1e9:.0f} GB. Name fewer metrics or entities, a shorter span, or a longer step."
        )


def _nothing(names: Sequence[str], grid: Grid, facts: pl.DataFrame) -> str:
    first, last = facts["first"].min(), facts["last"].max()
    return (
        f"No samples of {', '.join(names)} between {format_us(grid.start_us)} and {format_us(grid.end_us)}. "
        f"The store has them from {first!s} to {last!s}."
    )


def _provenance(store: Store, names: Sequence[str], grid: Grid, windows: Windows) -> Provenance:
    from workbench.version import __version__

    parameters = {
        "metrics": list(names),
        "start": format_us(grid.start_us),
        "step_s": grid.step_us / MICROS,
        "cells": grid.cells,
        "windows": None if windows is None else [[format_us(a), format_us(b)] for a, b in windows],
    }
    return Provenance(
        function="wb.panel", inputs=f"{store.path.name}@{store.version}", parameters=parameters, version=__version__
    )
