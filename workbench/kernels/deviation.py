"""How far a stretch of a series lies from its own past, and from its peers, robustly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["centre_and_scale", "deviation_from_past", "deviation_from_peers", "strongest_run"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A normal variable has a standard deviation of this many median absolute deviations.
_MAD_TO_SD = 1.4826022185056018


def centre_and_scale(values: Floats) -> tuple[Floats, Floats]:
    """Give the median and a robust standard deviation along the last axis.

    The scale is 1.4826 times the median absolute deviation. Where more than half of the values
    are equal that is 0, and the ordinary standard deviation takes its place.

    Parameters
    ----------
    values : (..., time) float64
        NaN: not observed.

    Returns
    -------
    centre, scale : (...) float64
        NaN where fewer than three values are observed; a scale of 0 means constant.

    Examples
    --------
    >>> centre, scale = centre_and_scale(np.array([[1.0, 2, 3, 4, 5], [0, 0, 0, 0, 5]]))
    >>> centre, scale.round(3)
    (array([3., 0.]), array([1.483, 2.   ]))
    """
    values = np.asarray(values, dtype=np.float64)
    enough = np.isfinite(values).sum(axis=-1) >= 3
    centre = np.full(values.shape[:-1], np.nan)
    scale = np.full(values.shape[:-1], np.nan)
    seen = values[enough]
    if seen.size:
        middle = _median(seen, axis=-1)
        mad = _median(np.abs(seen - middle[..., None]), axis=-1)
        centre[enough] = middle
        scale[enough] = np.where(mad > 0, _MAD_TO_SD * mad, np.nanstd(seen, axis=-1))
    return centre, scale


def _median(values: Floats, axis: int) -> Floats:
    """Median of what is observed; three times as fast where everything is."""
    known: Floats = (np.nanmedian if np.isnan(values).any() else np.median)(values, axis=axis)
    return known


def strongest_run(z: Floats, run: int) -> tuple[Floats, Ints]:
    """Give the mean of the run of ``run`` cells that lies farthest from 0, and where it starts.

    Parameters
    ----------
    z : (..., time) float64
        NaN: not observed; a run counts where at least half of its cells are observed.
    run : int
        Length in cells; shortened to what is there.

    Returns
    -------
    mean : (...) float64
        With its sign; infinite where an infinite cell lies in it; NaN where no run is observed.
    start : (...) int64
        First cell of that run; -1 where there is none.

    Examples
    --------
    >>> strongest_run(np.array([0.0, 1, -4, -4, 0]), 2)
    (array(-4.), array(2))
    """
    z = np.asarray(z, dtype=np.float64)
    run = max(1, min(run, z.shape[-1]))
    if z.shape[-1] == 0:
        return np.full(z.shape[:-1], np.nan), np.full(z.shape[:-1], -1)
    windows = np.lib.stride_tricks.sliding_window_view(z, run, axis=-1)
    known = ~np.isnan(windows)
    count = known.sum(axis=-1)
    endless = np.isposinf(windows).sum(axis=-1) - np.isneginf(windows).sum(axis=-1)
    total = np.where(np.isfinite(windows), windows, 0.0).sum(axis=-1)
    mean = np.where(np.isinf(windows).any(axis=-1), np.copysign(np.inf, endless), total / np.maximum(count, 1))
    mean = np.where(2 * count >= run, mean, np.nan)
    size = np.where(np.isnan(mean), -1.0, np.abs(mean))
    start = size.argmax(axis=-1)
    best = np.take_along_axis(mean, start[..., None], axis=-1)[..., 0]
    return best, np.where(np.isnan(best), -1, start)


def deviation_from_past(window: Floats, past: Floats, run: int) -> tuple[Floats, Floats, Ints]:
    """Measure a window against the same entity's own past.

    Parameters
    ----------
    window, past : (..., time) float64
        On one grid; NaN: not observed.
    run : int
        Cells that a deviation must last; see :func:`strongest_run`.

    Returns
    -------
    z : (...) float64
        Mean of ``(value - median(past)) / scale(past)`` over the strongest run of the window.
        Infinite where the past was constant and the window is not at that value; NaN where the
        past or the window is not observed.
    z_past : (...) float64
        The same of the past itself: how far it strayed from its own median.
    start : (...) int64
        First cell of the run; -1 where there is none.

    Examples
    --------
    >>> z, z_past, start = deviation_from_past(np.array([9.0, 9, 9]), np.array([1.0, 2, 3, 4, 5]), 3)
    >>> round(float(z), 2), int(start)
    (4.05, 0)
    """
    centre, scale = centre_and_scale(past)
    z, start = strongest_run(_scaled(window, centre, scale), run)
    z_past, _ = strongest_run(_scaled(past, centre, scale), run)
    return z, z_past, start


def _scaled(values: Floats, centre: Floats, scale: Floats) -> Floats:
    distance = values - centre[..., None]
    wide = np.broadcast_to(scale[..., None], distance.shape)
    result = np.full(distance.shape, np.nan)
    moving = wide > 0
    np.divide(distance, wide, out=result, where=moving)
    still = (wide == 0) & np.isfinite(distance)
    result[still] = np.where(distance[still] == 0, 0.0, np.copysign(np.inf, distance[still]))
    return result


def deviation_from_peers(one: Floats, peers: Floats, run: int) -> Floats:
    """Measure a window of one entity against its peers at the same moments.

    Parameters
    ----------
    one : (..., time) float64
        NaN: not observed.
    peers : (peer, ..., time) float64
        The others, without the one.
    run : int
        Cells that a deviation must last.

    Returns
    -------
    (...) float64
        Mean over the strongest run of ``(value - median of peers then) / scale``; the scale is
        that of all distances of peers from their median of the moment. NaN without three peers.

    Examples
    --------
    >>> peers = np.array([[0.0, 10], [1, 11], [2, 12]])
    >>> round(float(deviation_from_peers(np.array([1.0, 14]), peers, 1)), 2)
    2.02
    """
    present = np.isfinite(peers).sum(axis=0) >= 3
    middle = np.full(peers.shape[1:], np.nan)
    if present.any():
        middle[present] = _median(peers[:, present], axis=0)
    distances = np.moveaxis(peers - middle, 0, -2)
    _, scale = centre_and_scale(distances.reshape(*distances.shape[:-2], -1))
    z = _scaled(one - middle, np.zeros(one.shape[:-1]), scale)
    return strongest_run(z, run)[0]
