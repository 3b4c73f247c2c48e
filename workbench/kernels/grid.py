"""Irregular samples onto a grid: means of gauges, rates of counters, gaps as NaN."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["grid_count", "grid_mean", "grid_rate", "hold", "increases"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def grid_mean(row: Ints, cell: Ints, value: Floats, shape: tuple[int, int]) -> Floats:
    """Average the samples that fall in each cell.

    Parameters
    ----------
    row, cell : (sample,) int64
        Entity index and grid index; samples outside the grid are left out.
    value : (sample,) float64
        NaN is no observation.
    shape : (entities, cells)

    Returns
    -------
    (entity, cell) float64
        NaN where nothing was observed.

    Examples
    --------
    >>> grid_mean(np.array([0, 0, 1]), np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0]), (2, 2))
    array([[ 2., nan],
           [nan,  5.]])
    """
    use = np.isfinite(value) & (cell >= 0) & (cell < shape[1])
    flat = row[use] * shape[1] + cell[use]
    size = shape[0] * shape[1]
    total = np.bincount(flat, weights=value[use], minlength=size)
    count = np.bincount(flat, minlength=size)
    mean = np.full(size, np.nan)
    seen = count > 0
    mean[seen] = total[seen] / count[seen]
    return mean.reshape(shape)


def grid_count(row: Ints, cell: Ints, shape: tuple[int, int]) -> Floats:
    """Count events per cell; the caller blanks the cells in which nobody was looking.

    Examples
    --------
    >>> grid_count(np.array([0, 0, 1]), np.array([1, 1, 0]), (2, 2))
    array([[0., 2.],
           [1., 0.]])
    """
    use = (cell >= 0) & (cell < shape[1])
    flat = row[use] * shape[1] + cell[use]
    return np.bincount(flat, minlength=shape[0] * shape[1]).astype(np.float64).reshape(shape)


def hold(values: Floats, cells: int) -> Floats:
    """Carry observations forward into the empty cells between two that are near each other.

    A metric that is sampled every 15 minutes is known on a one-minute grid between two samples,
    and unknown once a sample is missing. After the last observation nothing is filled.

    Parameters
    ----------
    values : (entity, cell) float64
        NaN: not observed.
    cells : int
        Two observations at most this many cells apart are near.

    Returns
    -------
    (entity, cell) float64

    Examples
    --------
    >>> hold(np.array([[1.0, np.nan, 3.0, np.nan, np.nan, 4.0]]), 2)
    array([[ 1.,  1.,  3., nan, nan,  4.]])
    """
    if cells <= 1:
        return values.copy()
    width = values.shape[1]
    position = np.arange(width)
    seen = np.isfinite(values)
    last = np.maximum.accumulate(np.where(seen, position, -1), axis=1)
    coming = np.minimum.accumulate(np.where(seen, position, 2 * width)[:, ::-1], axis=1)[:, ::-1]
    near = seen | ((last >= 0) & (coming < width) & (coming - last <= cells))
    filled = np.take_along_axis(values, np.maximum(last, 0), axis=1)
    return np.where(near, filled, np.nan)


def increases(
    value: Ints | Floats, first: NDArray[np.bool_], *, width_bits: int = 64, saturates: bool = False
) -> Floats:
    """Give the increase since the sample before, of counters that may wrap, stick, or be reset.

    A drop is a wrap where adding 2^width gives an increase below a quarter of the range; any other
    drop is a reset, and the increase unknown. A counter that saturates never wraps: it sticks at
    2^width - 1 until it is cleared, and there it says "at least". A value beyond that shows that
    this source counts wider than the rest, so nothing is stuck.

    Parameters
    ----------
    value : (sample,) int64 or float64
        Sorted by series, then time. Integers stay exact; floats near 2^64 are known to 2,048.
    first : (sample,) bool
        First sample of its series: has no increase.
    width_bits : int
        Width of the counter.
    saturates : bool
        The counter sticks at its maximum.

    Returns
    -------
    (sample,) float64
        NaN: unknown (first of its series, reset, stuck, or a value that is not finite).

    Examples
    --------
    >>> start = np.array([True, False, False, False])
    >>> increases(np.array([10, 12, 3, 4]), start)
    array([nan,  2., nan,  1.])
    >>> increases(np.array([4294967290, 5, 6, 6]), start, width_bits=32)
    array([nan, 11.,  1.,  0.])
    >>> increases(np.array([253, 254, 255, 255]), start, width_bits=8, saturates=True)
    array([nan,  1., nan, nan])
    """
    step = np.empty(value.size)
    step[:1] = np.nan
    step[1:] = np.diff(value)
    unknown = first | ~np.isfinite(step)
    if saturates:
        unknown |= value == 2.0**width_bits - 1
    else:
        wrapped = np.empty(value.size)
        wrapped[:1] = np.nan
        wrapped[1:] = (2.0**width_bits - value[:-1]) + value[1:]  # in this order no digit is lost
        step = np.where((step < 0) & (wrapped < 2.0 ** (width_bits - 2)), wrapped, step)
    return np.where(unknown | (step < 0), np.nan, step)


def grid_rate(
    row: Ints, ts_us: Ints, increase: Floats, grid: tuple[int, int, int], *, entities: int, max_gap_us: int
) -> Floats:
    """Spread each increase evenly over the time since the sample before.

    Parameters
    ----------
    row, ts_us : (sample,) int64
        Entity index and time; sorted by entity, then time.
    increase : (sample,) float64
        From :func:`increases`; NaN where unknown.
    grid : (start_us, step_us, cells)
    entities : int
    max_gap_us : int
        An increase over a longer gap tells nothing of when it happened: the cells stay NaN.

    Returns
    -------
    (entity, cell) float64
        Increase per second, averaged over the part of the cell that is known; NaN where none is.

    Examples
    --------
    >>> row, ts = np.zeros(3, np.int64), np.array([0, 10, 20], np.int64) * 10**6
    >>> grid_rate(row, ts, np.array([np.nan, 5.0, 10.0]), (0, 10 * 10**6, 2), entities=1, max_gap_us=15 * 10**6)
    array([[0.5, 1. ]])
    """
    start_us, step_us, cells = grid
    before = np.concatenate((ts_us[:1], ts_us[:-1]))
    span = ts_us - before
    use = np.isfinite(increase) & (span > 0) & (span <= max_gap_us)
    use &= (ts_us > start_us) & (before < start_us + step_us * cells)
    who, begin, end = row[use], before[use], ts_us[use]
    per_us = increase[use] / span[use]
    low = np.maximum((begin - start_us) // step_us, 0)
    high = np.minimum((end - 1 - start_us) // step_us, cells - 1)
    reach = np.maximum(high - low + 1, 0)
    which = np.repeat(np.arange(who.size), reach)
    cell = np.arange(which.size) - np.repeat(np.cumsum(reach) - reach, reach) + low[which]
    left = start_us + cell * step_us
    overlap = np.minimum(end[which], left + step_us) - np.maximum(begin[which], left)
    flat = who[which] * cells + cell
    size = entities * cells
    known = np.bincount(flat, weights=overlap.astype(np.float64), minlength=size)
    total = np.bincount(flat, weights=per_us[which] * overlap, minlength=size)
    rate = np.full(size, np.nan)
    seen = known > 0
    rate[seen] = total[seen] / known[seen] * 1e6
    return rate.reshape(entities, cells)
