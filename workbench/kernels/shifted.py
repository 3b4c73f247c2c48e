"""What chance gives for the largest correlation over lags: the whole group shifted in time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.lag import correlate, pool, window_maximum
from workbench.kernels.stationarity import drift_product, resolution, rhythm_product, slowest_period
from workbench.kernels.surrogate import add_one_p

__all__ = [
    "LEAST_RESOLUTION",
    "LARGEST_SHARE",
    "ShiftNull",
    "Stillness",
    "kept_cells",
    "lag_bounds",
    "shift_null",
    "stillness",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BLOCK_CELLS = 150_000  # what a processor holds close by (measured)
#: Fewer independent values than this in the shift null, and its p is not to be trusted (measured).
LEAST_RESOLUTION = 4.0
#: Most that a straight drift or a daily rhythm may add to r, in sd of the shift null (measured).
LARGEST_SHARE = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class ShiftNull:
    """Correlation of y against x at every shift of the circle of time.

    Attributes
    ----------
    circle : (shift,) float64
        Pooled r of ``x[t]`` and ``y[t + shift]``, time joined end to start.
    largest : (shift,) float64
        Largest |r| within the lags searched around each shift; entry 0 is the observed one.
    entity_p : (entity,) float64
        Of each entity's own largest |r| over the lags, alone, from the same shifts.
    """

    circle: Floats
    largest: Floats
    entity_p: Floats


def kept_cells(seen: NDArray[np.bool_], longest: int) -> Ints:
    """Choose the cells of a circle of time: stretches in which nobody looked are cut short.

    A panel of windows around incidents is mostly empty, and shifts of it would find few pairs.
    Cut to the largest lag, an empty stretch still keeps the lags searched from joining its two ends.

    Parameters
    ----------
    seen : (time,) bool
        Whether anything at all was observed.
    longest : int
        Cells of an empty stretch that are kept.

    Returns
    -------
    (cell,) int64
        In order.

    Examples
    --------
    >>> kept_cells(np.array([True, False, False, False, True]), 1)
    array([0, 1, 4])
    """
    place = np.arange(seen.size)
    last_seen = np.maximum.accumulate(np.where(seen, place, -1))
    return np.flatnonzero(seen | ((last_seen >= 0) & (place - last_seen <= longest)))


def shift_null(x: Floats, y: Floats, half: int, shifts: Ints) -> ShiftNull:
    """Correlate at every circular shift, pool over entities, and take the largest around each.

    Parameters
    ----------
    x, y : (entity, time) float64
        NaN: not observed; gaps are shifted along with their series.
    half : int
        Largest lag searched, in cells.
    shifts : (draw,) int64
        Shifts that count as draws for ``entity_p``, the same for all entities.

    Returns
    -------
    ShiftNull

    Notes
    -----
    One Fourier transform holds all shifts, and a sliding maximum all searches over lags, so a
    thousand draws cost as much as one. On the circle every lag of every draw has as many pairs as
    there are cells, so observed and drawn values are of one kind.
    """
    rows, width = x.shape
    lags = np.arange(width, dtype=np.int64)
    total, weight = np.zeros(width), np.zeros(width)
    entity_p = np.full(rows, np.nan)
    step = max(1, _BLOCK_CELLS // max(width, 1))
    for start in range(0, rows, step):
        block = slice(start, start + step)
        r, pairs = correlate(x[block], y[block], lags, circular=True)
        counted = np.where(np.isfinite(r), pairs, 0)
        weight += counted.sum(axis=0)
        total += np.nan_to_num(pool(r, pairs)) * counted.sum(axis=0)
        own = window_maximum(r, half)
        entity_p[block] = [add_one_p(float(row[0]), row[shifts]) for row in own]
    circle = np.full(width, np.nan)
    np.divide(total, weight, out=circle, where=weight > 0)
    return ShiftNull(circle=circle, largest=window_maximum(circle, half), entity_p=entity_p)


@dataclass(frozen=True, kw_only=True)
class Stillness:
    """Whether the shift null can be trusted, and what speaks against it.

    Attributes
    ----------
    resolution : float
        Independent values that the null holds.
    drift, rhythm : float
        What straight drifts, and one common daily rhythm, could add to r, in sd of the null.
    period : float
        Cells of the strongest component of the null.
    """

    resolution: float
    drift: float
    rhythm: float
    period: float

    @property
    def holds(self) -> bool:
        """Whether a p from this null may be believed."""
        return self.resolution >= LEAST_RESOLUTION and max(self.drift, self.rhythm) <= LARGEST_SHARE


def stillness(x: Floats, y: Floats, null: ShiftNull, *, half: int, day_cells: float) -> Stillness:
    """Tell whether x and y stand still enough for shifts to be a fair null.

    Parameters
    ----------
    x, y : (entity, time) float64
        What went into ``null``.
    null : ShiftNull
    half : int
        Largest lag searched, in cells.
    day_cells : float
        Cells of a day; spans below one day are not asked for a rhythm.

    Returns
    -------
    Stillness
        ``resolution`` is NaN, and nothing holds, where the null has no spread at all.
    """
    far = null.circle[2 * half + 1 : null.circle.size - 2 * half]
    spread = float(np.nanstd(far)) if np.isfinite(far).any() else 0.0
    drift = _share(drift_product(x, y), x, y, spread)
    daily = x.shape[1] >= day_cells
    rhythm = _share(rhythm_product(x, y, day_cells), x, y, spread) if daily else 0.0
    return Stillness(resolution=resolution(far), drift=drift, rhythm=rhythm, period=slowest_period(far))


def _share(parts: NDArray[np.inexact], x: Floats, y: Floats, spread: float) -> float:
    """Pool the parts over entities as r is pooled, in sd of the null."""
    known = np.isfinite(parts)
    weight = np.where(known, (np.isfinite(x) & np.isfinite(y)).sum(axis=1), 0)
    if not weight.sum() or not spread > 0:
        return 0.0
    return float(abs((weight * np.where(known, parts, 0)).sum() / weight.sum()) / spread)


def lag_bounds(r: Floats, circle: Floats, half: int) -> tuple[int, int, int]:
    """Give the lag of the largest |r| and the lags that cannot be told from it.

    A lag is told from the peak where the drop of r between them is more than 1.645 sd of the same
    difference among far shifts: noise near a peak is as tied together as noise far from it.

    Parameters
    ----------
    r : (lag,) float64
        Pooled r at lags ``-half`` to ``half``.
    circle : (shift,) float64
        Of :class:`ShiftNull`.
    half : int

    Returns
    -------
    peak, low, high : int
        Cells; the lowest and the highest lag not told from the peak.

    Examples
    --------
    >>> circle = np.random.default_rng(4).normal(size=400) * 0.01
    >>> lag_bounds(np.array([0.0, 0.01, 0.6, 0.595, 0.0]), circle, 2)
    (0, 0, 1)
    """
    peak = int(np.nanargmax(np.abs(r)))
    drop = (r[peak] - r) * np.sign(r[peak])
    far = circle[2 * half + 1 : circle.size - 2 * half]
    near = np.flatnonzero(drop <= 1.645 * _difference_sd(far, int(np.ceil(2 * half)))[np.abs(np.arange(r.size) - peak)])
    return peak - half, int(near.min()) - half, int(near.max()) - half


def _difference_sd(far: Floats, longest: int) -> Floats:
    """Give the sd of the difference of two shifts so many cells apart, for 0 to ``longest``."""
    sd = np.zeros(longest + 1)
    for apart in range(1, longest + 1):
        change = far[apart:] - far[:-apart] if apart < far.size else np.empty(0)
        known = change[np.isfinite(change)]
        sd[apart] = np.sqrt(np.mean(known**2)) if known.size >= 8 else sd[apart - 1]
    return sd
