"""From rows of one wide table to (entity, time) arrays on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.kernels.grid import grid_mean, grid_rate, hold, increases
from workbench.timebase import MICROS

__all__ = ["Grid", "align", "hold_cells"]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Evenly spaced cells: ``start_us + step_us * [0, cells)``."""

    start_us: int
    step_us: int
    cells: int

    @classmethod
    def covering(cls, low_us: int, high_us: int, step_s: float) -> Grid:
        """Give the grid, aligned on whole steps, that covers the span.

        Examples
        --------
        >>> Grid.covering(61_000_000, 125_000_000, 60.0)
        Grid(start_us=60000000, step_us=60000000, cells=2)
        """
        step = round(step_s * MICROS)
        start = low_us // step * step
        return cls(start_us=start, step_us=step, cells=max(1, -(-(high_us - start) // step)))

    @property
    def ts_us(self) -> NDArray[np.int64]:
        """(cells,) left edges."""
        return self.start_us + np.arange(self.cells, dtype=np.int64) * self.step_us

    @property
    def end_us(self) -> int:
        """Right edge of the last cell."""
        return self.start_us + self.cells * self.step_us


def hold_cells(interval_s: float, step_s: float) -> int:
    """Tell how far apart two observations may lie for the cells between them to count as known.

    One and a half sampling intervals, so that jitter leaves no holes and a missed sample does.

    Examples
    --------
    >>> hold_cells(900.0, 60.0), hold_cells(60.0, 60.0), hold_cells(5.0, 60.0)
    (23, 2, 1)
    """
    return 1 if interval_s < step_s / 2 else max(1, math.ceil(1.5 * interval_s / step_s))


def align(
    rows: pl.DataFrame,
    column: str,
    grid: Grid,
    *,
    entities: dict[str, int],
    kind: str,
    interval_s: float,
    width_bits: int = 64,
    saturates: bool = False,
) -> NDArray[np.float64]:
    """Put one metric on the grid.

    Parameters
    ----------
    rows : polars.DataFrame
        ``entity, ts`` and the column; sorted by entity, then ts.
    column : str
    grid : Grid
    entities : mapping of entity id to row of the answer
    kind : str
        ``counter``: rate per second. ``state`` or ``sticky``: last value in the cell.
        Anything else: mean over the cell.
    interval_s : float
        Sampling interval of the source, seconds.
    width_bits : int
        Width of a counter.
    saturates : bool
        The counter sticks at its maximum: there its rate is not known.

    Returns
    -------
    (entity, cell) float64
        NaN: not observed.
    """
    seen = rows.select("entity", "ts", column).drop_nulls(column)
    known = seen.filter(pl.col("entity").is_in(list(entities)))
    row = known["entity"].replace_strict(entities, return_dtype=pl.Int64).to_numpy()
    ts = known["ts"].dt.timestamp("us").to_numpy()
    value = known[column].to_numpy()
    shape = (len(entities), grid.cells)
    step_s = grid.step_us / MICROS
    if kind == "counter":
        first = np.concatenate(([True], row[1:] != row[:-1]))[: row.size]
        increase = increases(value, first, width_bits=width_bits, saturates=saturates)
        gap_us = round(max(3 * interval_s, 2.5 * step_s if interval_s <= step_s else 0.0) * MICROS)
        span = (grid.start_us, grid.step_us, grid.cells)
        return grid_rate(row, ts, increase, span, entities=len(entities), max_gap_us=gap_us)
    cell = (ts - grid.start_us) // grid.step_us
    if kind in ("state", "sticky"):
        cells = np.full(shape, np.nan)
        inside = (cell >= 0) & (cell < grid.cells)
        cells[row[inside], cell[inside]] = value[inside]
    else:
        cells = grid_mean(row, cell, value.astype(np.float64), shape)
    return hold(cells, hold_cells(interval_s, step_s))
