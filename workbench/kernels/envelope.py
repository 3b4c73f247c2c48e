"""As many numbers as the screen has pixels: smallest, mean and largest value per cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["cell_counts", "envelope", "gaps", "quantiles"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def envelope(ts_us: Ints, values: Floats, *, start_us: int, step_us: int, cells: int) -> tuple[Floats, Floats, Floats]:
    """Give the smallest, mean and largest value per cell; no spike is lost by drawing.

    Parameters
    ----------
    ts_us : (sample,) int64
        UTC microseconds; samples outside of the cells are left out.
    values : (sample,) float64
        NaN is no observation.
    start_us, step_us, cells : int
        ``cells`` cells of ``step_us`` from ``start_us``.

    Returns
    -------
    low, mean, high : (cell,) float64
        NaN where nothing was observed.

    Examples
    --------
    >>> low, mean, high = envelope(np.array([0, 1, 5]), np.array([3.0, 1, 7]), start_us=0, step_us=2, cells=3)
    >>> low, mean, high
    (array([ 1., nan,  7.]), array([ 2., nan,  7.]), array([ 3., nan,  7.]))
    """
    cell = (np.asarray(ts_us, dtype=np.int64) - start_us) // step_us
    use = np.isfinite(values) & (cell >= 0) & (cell < cells)
    cell, values = cell[use], np.asarray(values, dtype=np.float64)[use]
    count = np.bincount(cell, minlength=cells)
    low, high = np.full(cells, np.inf), np.full(cells, -np.inf)
    np.minimum.at(low, cell, values)
    np.maximum.at(high, cell, values)
    mean = np.full(cells, np.nan)
    seen = count > 0
    mean[seen] = np.bincount(cell, weights=values, minlength=cells)[seen] / count[seen]
    low[~seen], high[~seen] = np.nan, np.nan
    return low, mean, high


def cell_counts(ts_us: Ints, *, start_us: int, step_us: int, cells: int) -> Ints:
    """Count times per cell.

    Examples
    --------
    >>> cell_counts(np.array([0, 1, 5, 99]), start_us=0, step_us=2, cells=3)
    array([2, 0, 1])
    """
    cell = (np.asarray(ts_us, dtype=np.int64) - start_us) // step_us
    return np.bincount(cell[(cell >= 0) & (cell < cells)], minlength=cells)


def gaps(ts_us: Ints, *, start_us: int, end_us: int, longest_us: int) -> list[tuple[int, int]]:
    """Give the stretches of ``start_us`` to ``end_us`` without an observation for too long.

    Parameters
    ----------
    ts_us : (sample,) int64
        Times of observations, sorted.
    start_us, end_us : int
    longest_us : int
        Two observations at most this far apart leave no gap.

    Returns
    -------
    list of (low, high) in UTC microseconds

    Examples
    --------
    >>> gaps(np.array([10, 20, 60]), start_us=0, end_us=70, longest_us=15)
    [(20, 60)]
    >>> gaps(np.array([], dtype=np.int64), start_us=0, end_us=70, longest_us=15)
    [(0, 70)]
    """
    inside = ts_us[(ts_us >= start_us) & (ts_us <= end_us)]
    edges = np.concatenate(([start_us], inside, [end_us]))
    wide = np.flatnonzero(np.diff(edges) > longest_us)
    return [(int(edges[at]), int(edges[at + 1])) for at in wide]


def quantiles(values: Floats, shares: tuple[float, ...]) -> Floats:
    """Give quantiles of what is observed down each column, all columns at once.

    The same as ``np.nanquantile(values, shares, axis=0)`` (linear interpolation, definition 7 of
    Hyndman and Fan 1996), without its loop over columns.

    Parameters
    ----------
    values : (row, column) float64
        NaN: not observed.
    shares : of 0 to 1

    Returns
    -------
    (share, column) float64
        NaN where nothing was observed.

    Examples
    --------
    >>> quantiles(np.array([[1.0, np.nan], [3.0, 5.0]]), (0.5,))
    array([[2., 5.]])
    """
    if not values.shape[0]:
        return np.full((len(shares), values.shape[1]), np.nan)
    ordered = np.sort(values, axis=0)  # NaN last
    last = np.isfinite(values).sum(axis=0) - 1
    place = np.multiply.outer(np.asarray(shares), np.maximum(last, 0))
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(last, 0))
    below, above = (np.take_along_axis(ordered, at, axis=0) for at in (low, high))
    return np.where(last >= 0, below + (above - below) * (place - low), np.nan)
