"""Cut windows before (and after) a moment out of an (entity, time) grid, in whole cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BinStatistics", "Windows", "bin_statistics", "cut", "plan_windows"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

UNITS = 120  # units in a window: at 2 hours the unit is the minute of METHOD
INNER = (10, 25, 50)  # far edges of the nearer bins, in units beyond the guard
NARROWEST = 5  # a bin narrower than this many units joins its neighbour


@dataclass(frozen=True, kw_only=True)
class Windows:
    """Where the bins lie, in cells before the cell that holds the outcome's time.

    Attributes
    ----------
    edges : (bin + 1,) tuple of int
        Near to far. ``edges[0]`` is the guard, ``edges[-1]`` the window. Bin ``k`` holds the cells
        at distances ``edges[k] + 1 ... edges[k + 1]``: no cell of it reaches into the guard.
    far : int
        Far end of the baseline; the baseline holds distances ``edges[-1] + 1 ... far``.
    unit : float
        Cells per unit (a 120th of the window).
    step_s : float
        Length of a cell.
    """

    edges: tuple[int, ...]
    far: int
    unit: float
    step_s: float

    @property
    def guard(self) -> int:
        """Cells of the guard."""
        return self.edges[0]

    @property
    def window(self) -> int:
        """Cells from the outcome to the far edge of the last bin."""
        return self.edges[-1]

    @property
    def bins(self) -> int:
        """How many bins are left beyond the guard."""
        return len(self.edges) - 1


def plan_windows(before_s: float, guard_s: float, step_s: float) -> Windows | None:
    """Lay the bins of one test on a grid.

    The bins reach from the guard g to g + 10, 25 and 50 units and to the window W (unit: W / 120);
    the baseline is (W, 3 W]. A guard longer than ten units pushes the bins out; what no longer
    fits before W is left out, and a remainder of less than five units joins the bin before it.
    On a grid coarser than the unit, edges fall on whole cells and bins that would hold no whole
    cell join their neighbour, so fewer and wider bins are left.

    Parameters
    ----------
    before_s, guard_s, step_s : float
        Window, guard and grid step, seconds. The guard is rounded up to whole cells.

    Returns
    -------
    Windows or None
        None where the guard leaves no whole cell of the window, or the grid is coarser than it.

    Examples
    --------
    >>> plan_windows(7200, 660, 60).edges
    (11, 21, 36, 61, 120)
    >>> plan_windows(7200, 6000, 60).edges
    (100, 110, 120)
    >>> plan_windows(7200, 7200, 60) is None
    True
    """
    window = round(before_s / step_s)
    guard = math.ceil(guard_s / step_s - 1e-9)
    if window < 1 or guard >= window:
        return None
    unit = window / UNITS
    narrow = max(1, round(NARROWEST * unit))
    edges = [guard]
    for units in INNER:
        edge = guard + round(units * unit)
        if edge - edges[-1] >= narrow and window - edge >= narrow:
            edges.append(edge)
    edges.append(window)
    return Windows(edges=tuple(edges), far=3 * window, unit=unit, step_s=step_s)


def cut(values: Floats, row: Indices, end: Indices, *, near: int, far: int) -> Floats:
    """Take the cells at distances ``near + 1 ... far`` before each member's moment.

    Parameters
    ----------
    values : (entity, time) float64
    row, end : (member,) int64
        Entity, and the cell that holds the member's moment.
    near, far : int
        Cells before ``end``; negative: after it (``near=-60, far=0`` is ``end`` and 59 cells on).

    Returns
    -------
    (member, far - near) float64
        Oldest cell first; NaN where not observed or outside the grid.

    Examples
    --------
    >>> cut(np.arange(10.0)[None, :], np.array([0, 0]), np.array([5, 1]), near=0, far=2)
    array([[ 3.,  4.],
           [nan,  0.]])
    """
    index = end[:, None] + np.arange(-far, -near)
    inside = (index >= 0) & (index < values.shape[1])
    taken = values[row[:, None], np.where(inside, index, 0)]
    taken[~inside] = np.nan
    return taken


@dataclass(frozen=True, kw_only=True)
class BinStatistics:
    """Mean, sd, maximum and observed share per member and bin; NaN where nothing was observed."""

    mean: Floats
    sd: Floats
    top: Floats
    seen: Floats


def bin_statistics(window: Floats, spans: tuple[tuple[int, int], ...]) -> BinStatistics:
    """Sum up column ranges of cut windows.

    Parameters
    ----------
    window : (member, cell) float64
        NaN: not observed.
    spans : tuple of (start, stop)
        Column ranges.

    Returns
    -------
    BinStatistics
        (member, span) arrays. The sd divides by the number of cells.

    Examples
    --------
    >>> stats = bin_statistics(np.array([[1.0, 3, np.nan, 5]]), ((0, 2), (2, 4)))
    >>> stats.mean, stats.sd, stats.seen
    (array([[2., 5.]]), array([[1., 0.]]), array([[1. , 0.5]]))
    """
    shape = (window.shape[0], len(spans))
    mean, sd, top, seen = (np.full(shape, np.nan) for _ in range(4))
    for column, (start, stop) in enumerate(spans):
        part = window[:, start:stop]
        known = np.isfinite(part)
        count = known.sum(axis=1)
        some = count > 0
        filled = np.where(known, part, 0.0)
        average = filled.sum(axis=1) / np.maximum(count, 1)
        spread = np.where(known, part - average[:, None], 0.0)
        mean[some, column] = average[some]
        sd[some, column] = np.sqrt((spread * spread).sum(axis=1) / np.maximum(count, 1))[some]
        top[some, column] = np.where(known, part, -np.inf).max(axis=1)[some]
        seen[:, column] = count / max(stop - start, 1)
    return BinStatistics(mean=mean, sd=sd, top=top, seen=seen)
