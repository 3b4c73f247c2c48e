"""One metric of one entity beside its peers, at the resolution of a screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.errors import DataError, UnknownNameError
from workbench.figures.incident import Trace
from workbench.kernels.envelope import envelope, gaps, quantiles
from workbench.kernels.grid import increases
from workbench.model.panel import Panel
from workbench.panel.lanes import Span, nearest_note
from workbench.panel.peers import FEWEST, Peers
from workbench.panel.view import View, as_moment, as_name, as_text, look
from workbench.timebase import MICROS, format_duration

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["Metric", "Traced", "metric_of", "metrics_named", "metrics_of", "trace"]

#: Beyond this many rows of one entity the means of the grid are drawn, and the note says so.
_MOST_ROWS = 400_000


@dataclass(frozen=True, kw_only=True)
class Metric:
    """Where one metric lies and what it means, as the catalog says."""

    name: str
    entity_kind: str
    table: str
    column: str
    unit: str
    kind: str
    interval_s: float
    bits: int
    saturates: bool = False

    @property
    def title(self) -> str:
        """Name with the unit of what is drawn: counters are drawn as rates."""
        unit = self.unit or "unit?"
        return f"{self.name} [{unit}/s]" if self.kind == "counter" else f"{self.name} [{unit}]"


def metrics_of(store: Store, entity_kind: str) -> list[Metric]:
    """Give the metrics of a kind of entity that have one value at a time, by name."""
    wide = pl.col("column").is_not_null()
    rows = store.catalog().filter((pl.col("entity_kind") == entity_kind) & wide).sort("metric")
    return [_metric(row) for row in rows.iter_rows(named=True)]


def metric_of(store: Store, name: str) -> Metric:
    """Give one metric; see :func:`metrics_named`."""
    return metrics_named(store, [name])[0]


def metrics_named(store: Store, names: Sequence[str], kind: str | None = None) -> list[Metric]:
    """Give metrics by name, in that order; of one that several kinds of entity have, that of ``kind``.

    Raises
    ------
    UnknownNameError
        With the nearest names.
    DataError
        Where one has several series per entity, told apart by labels.
    """
    facts = store.catalog().sort(pl.col("entity_kind").eq_missing(kind), pl.col("column").is_not_null())
    rows = {row["metric"]: row for row in facts.iter_rows(named=True)}  # the last of a name counts
    for name in names:
        if name not in rows:
            raise UnknownNameError("metric", name, list(rows), "See store.catalog().")
        if rows[name]["column"] is None:
            raise DataError(
                f"{name} has several series per entity, told apart by labels; look at them with "
                f'store.sql("select * from samples where metric = {as_text(name)}").'
            )
    return [_metric(rows[name]) for name in names]


def _metric(row: dict[str, Any]) -> Metric:
    return Metric(
        name=row["metric"],
        entity_kind=row["entity_kind"],
        table=row["table"],
        column=row["column"],
        unit=row["unit"] or "",
        kind=row["kind"] or "gauge",
        interval_s=float(row["interval_s"] or 0.0),
        bits=int(row["width_bits"] or 64),
        saturates=bool(row["saturates"]),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Traced:
    """A metric drawn: the points, the query, and how many rows became how many points."""

    metric: Metric
    trace: Trace
    view: View
    rows: int
    points: int

    @property
    def subtitle(self) -> str:
        """Interval, rows and points in words."""
        interval_s = self.metric.interval_s
        every = (
            f"every {format_duration(round(interval_s, 0 if interval_s >= 10 else 2))}" if interval_s else "interval?"
        )
        drawn = f" drawn as {self.points:,} points" if self.points < self.rows else ""
        return f"{every}, {self.rows:,} rows{drawn}"


def trace(store: Store, metric: Metric, span: Span, *, peers: Peers, panel: Panel, past: NDArray[np.float64]) -> Traced:
    """Read one metric of an entity and set it beside its peers.

    Parameters
    ----------
    store : Store
    metric : Metric
    span : (low, high)
        UTC microseconds.
    peers : Peers
        Whose ``entity`` is drawn.
    panel : Panel
        Holds the entity and its peers over the span; its grid is the resolution of the picture.
    past : (time,) float64
        The entity's own baseline, on the same scale as the panel.
    """
    step, start = round(panel.step_s * MICROS), int(panel.ts_us[0])
    points = _points(store, metric, peers.entity, span=span, grid=(start, step, panel.ts_us.size))
    (low, mean, high), kept = _between(points, panel, metric.name, peers.entity)
    bands, words = _peer_bands(panel, metric.name, peers)
    drawn = Trace(
        x_us=panel.ts_us[kept] + step // 2,
        low=low,
        mean=mean,
        high=high,
        peer_low=bands[0][kept],
        peer_middle=bands[1][kept],
        peer_high=bands[2][kept],
        past=_past(past),
        gaps=gaps(
            points.ts_us,
            start_us=span[0],
            end_us=span[1],
            longest_us=max(round(2.5 * metric.interval_s * MICROS), step),
        ),
        notes=[*([points.view.note] if points.view.note else []), *words],
    )
    return Traced(metric=metric, trace=drawn, view=points.view, rows=points.rows, points=int(np.isfinite(mean).sum()))


def _between(points: _Points, panel: Panel, name: str, entity: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Leave out the empty cells between two near samples, so that the line joins them; gaps stay."""
    curves = np.stack((points.low, points.mean, points.high))
    if not points.rows or entity not in panel.entities:
        return curves, np.ones(curves.shape[1], dtype=np.bool_)
    held = panel.metric(name)[panel.entities.index(entity)]
    if np.isnan(points.mean).all():  # rates of rows that were taken together
        curves = np.stack((held, held, held))
    kept = np.isfinite(curves[1]) | np.isnan(held)
    return curves[:, kept], kept


@dataclass(frozen=True, eq=False, kw_only=True)
class _Points:
    ts_us: NDArray[np.int64]  # sorted; of the rows, or of the cells that hold rows
    rows: int
    low: NDArray[np.float64]
    mean: NDArray[np.float64]
    high: NDArray[np.float64]
    view: View


def _points(store: Store, metric: Metric, entity: str, *, span: Span, grid: tuple[int, int, int]) -> _Points:
    start, step, cells = grid
    table, column = as_name(metric.table), as_name(metric.column)
    where = f"entity = {as_text(entity)} and {column} is not null"
    inside = f"{where} and ts >= {as_moment(span[0])} and ts < {as_moment(span[1])}"
    if metric.interval_s and (span[1] - span[0]) / (metric.interval_s * MICROS) > _MOST_ROWS:
        return _binned(store, metric, f"from {table} where {inside}", grid)
    sql = f"select ts, {column} as value from {table}\nwhere {inside} order by ts"
    frame = store.sql(sql)
    note = "" if frame.height else nearest_note(store, table, span, where)
    ts, values = _values(frame, metric)
    low, mean, high = envelope(ts, values, start_us=start, step_us=step, cells=cells)
    view = View(name=metric.name, sql=sql, frame=frame, note=note)
    return _Points(ts_us=ts, rows=ts.size, low=low, mean=mean, high=high, view=view)


def _binned(store: Store, metric: Metric, source: str, grid: tuple[int, int, int]) -> _Points:
    """Let the database take the smallest and largest value per cell, where rows are very many."""
    start, step, cells = grid
    value = f"{as_name(metric.column)}::double"
    sql = (
        f"select (epoch_us(ts) - {start}) // {step} as cell, count(*) as rows,\n"
        f"  min({value}) as low, avg({value}) as mean, max({value}) as high {source} group by cell order by cell"
    )
    view = look(store, metric.name, sql, note=f"rows taken together per {format_duration(step / MICROS)}")
    at = view.frame["cell"].to_numpy()
    curves = np.full((3, cells), np.nan)
    if metric.kind != "counter":  # of a counter the rates of the panel are drawn in their place
        curves[:, at] = view.frame.select("low", "mean", "high").to_numpy().T
    rows = int(view.frame["rows"].sum())
    low, mean, high = curves
    return _Points(ts_us=start + at * step + step // 2, rows=rows, low=low, mean=mean, high=high, view=view)


def _values(frame: pl.DataFrame, metric: Metric) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give times and values; of a counter the increase per second since the row before."""
    ts = frame["ts"].dt.timestamp("us").to_numpy()
    raw = frame["value"].to_numpy()
    if metric.kind != "counter" or not ts.size:
        return ts, raw.astype(np.float64)
    first = np.zeros(ts.size, dtype=np.bool_)
    first[0] = True
    passed_s = np.diff(ts, prepend=ts[:1]) / MICROS
    rate = np.full(ts.size, np.nan)
    increase = increases(raw, first, width_bits=metric.bits, saturates=metric.saturates)
    np.divide(increase, passed_s, out=rate, where=passed_s > 0)
    return ts, rate


def _peer_bands(panel: Panel, name: str, peers: Peers) -> tuple[Sequence[NDArray[np.float64]], list[str]]:
    """Give the 5, 50 and 95 % points of the peers per cell, where enough of them were observed."""
    at = [panel.entities.index(other) for other in peers.others if other in panel.entities]
    bands = np.full((3, panel.ts_us.size), np.nan)
    values = panel.metric(name)[at]
    enough = np.isfinite(values).sum(axis=0) >= FEWEST
    if enough.any():
        bands[:, enough] = quantiles(values[:, enough], (0.05, 0.5, 0.95))
        return tuple(bands), []
    return tuple(bands), [f"too few peers ({len(at)})"]


def _past(values: NDArray[np.float64]) -> tuple[float, float, float] | None:
    known = values[np.isfinite(values)]
    if known.size < 3:
        return None
    low, middle, high = np.quantile(known, (0.05, 0.5, 0.95))
    return float(low), float(middle), float(high)
