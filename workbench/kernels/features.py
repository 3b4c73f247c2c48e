"""Features of a window, each a difference to the member's own baseline."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.windows import BinStatistics, Windows, bin_statistics

__all__ = ["after_features", "event_families", "event_features", "metric_families", "metric_features"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

LEAST_SEEN = 0.5  # a bin observed for less than this share is not observed
ROUNDING = 1e-9  # a difference below this share of the level is rounding, not change


def metric_families(bins: int) -> tuple[tuple[str, int], ...]:
    """Name the columns of :func:`metric_features`: family, and bin from near to far.

    Examples
    --------
    >>> metric_families(1)
    (('level', 0), ('spread', 0), ('peak', 0))
    """
    return tuple((family, k) for family in ("level", "spread", "peak") for k in range(bins))


def event_families(bins: int) -> tuple[tuple[str, int], ...]:
    """Name the columns of :func:`event_features`; bin -1 means the whole window.

    Examples
    --------
    >>> event_families(1)
    (('level', 0), ('any', 0), ('recency', -1), ('first', -1))
    """
    binned = tuple((family, k) for family in ("level", "any") for k in range(bins))
    return (*binned, ("recency", -1), ("first", -1))


def metric_features(window: Floats, windows: Windows) -> tuple[Floats, Mask]:
    """Level, spread and peak per bin, minus the own baseline (METHOD section 4, step 5).

    Parameters
    ----------
    window : (member, far) float64
        Cells at distances 1 ... ``windows.far``, oldest first.
    windows : Windows

    Returns
    -------
    features : (member, 3 * bin) float64
        level = mean - baseline mean, in the unit of the signal; spread =
        ln((sd + .1 s0) / (baseline sd + .1 s0)) with s0 the median baseline sd of all members;
        peak = maximum - baseline maximum. Columns as :func:`metric_families`.
    usable : (member,) bool
        False where a bin or the baseline was observed for less than half.

    Examples
    --------
    >>> from workbench.kernels.windows import plan_windows
    >>> windows = plan_windows(7200, 0, 7200 / 12)
    >>> window = np.r_[np.tile([-1.0, 1.0], 12), np.tile([2.0, 4.0], 6)][None, :]
    >>> windows.edges, metric_families(4)[4]
    ((0, 1, 2, 5, 12), ('spread', 0))
    >>> features, usable = metric_features(window, windows)
    >>> features[0, :2], usable  # the last cell is 4, the one before it 2
    (array([4., 2.]), array([ True]))
    """
    stats, base = _binned(window, windows)
    usable = _usable(stats, base)
    return _compared(stats, base, usable), usable


def after_features(after: Floats, window: Floats, windows: Windows) -> tuple[Floats, Mask]:
    """Level, spread and peak of the cells after the outcome, minus the baseline before it.

    Parameters
    ----------
    after : (member, cell) float64
        Cells from the outcome on.
    window : (member, far) float64
        Cells before it, oldest first: only the baseline is used.

    Returns
    -------
    features : (member, 3) float64
    usable : (member,) bool
    """
    base = bin_statistics(window, ((0, windows.far - windows.window),))
    stats = bin_statistics(after, ((0, after.shape[1]),))
    usable = _usable(stats, base)
    return _compared(stats, base, usable), usable


def event_features(window: Floats, first_cell: Indices, end: Indices, windows: Windows) -> tuple[Floats, Mask]:
    """Features of counts of events; all bounded but the first, which the score bounds.

    * level: events per cell in the bin minus events per cell in the baseline;
    * any: 1 where the bin holds an event, minus the share of baseline stretches of the same
      length that hold one (-1 ... 1);
    * recency: ln of the time since the last event as it stood a window ago, over the time since
      the last event before the guard, both looking back two windows at most;
    * first: 1 where the entity's first event ever lies in the window.

    Spread and peak are left out: for counts that are nearly all zero they repeat level.

    Parameters
    ----------
    window : (member, far) float64
        Counts at distances 1 ... ``windows.far``, oldest first. NaN: nobody was looking.
    first_cell : (member,) int64
        First cell of the grid in which the member's entity had the event; beyond the grid: none.
    end : (member,) int64
        Cell that holds the member's moment.

    Returns
    -------
    features : (member, 2 * bin + 2) float64
        Columns as :func:`event_families`.
    usable : (member,) bool
    """
    stats, base = _binned(window, windows)
    usable = _usable(stats, base)
    level = _difference(stats.mean, base.mean, np.maximum(np.abs(stats.mean), np.abs(base.mean)))
    columns = [level, _any(window, windows), _recency(window, windows), _first(first_cell, end, windows)]
    features = np.concatenate(columns, axis=1)
    features[~usable] = np.nan
    return features, usable


def _binned(window: Floats, windows: Windows) -> tuple[BinStatistics, BinStatistics]:
    far = windows.far
    spans = tuple((far - b, far - a) for a, b in zip(windows.edges[:-1], windows.edges[1:], strict=True))
    return bin_statistics(window, spans), bin_statistics(window, ((0, far - windows.window),))


def _usable(stats: BinStatistics, base: BinStatistics) -> Mask:
    seen = np.concatenate([stats.seen, base.seen], axis=1)
    return np.asarray((seen >= LEAST_SEEN).all(axis=1))


def _compared(stats: BinStatistics, base: BinStatistics, usable: Mask) -> Floats:
    size = np.maximum(np.abs(stats.mean), np.abs(base.mean))
    known = base.sd[usable, 0]
    s0 = float(np.median(known)) if known.size else 0.0
    s0 = s0 or (float(known.mean()) if known.size else 0.0)  # mostly constant signals
    soft = 0.1 * s0 + np.finfo(float).tiny
    level = _difference(stats.mean, base.mean, size)
    spread = np.log((_settled(stats.sd, size) + soft) / (_settled(base.sd, size) + soft))
    peak = _difference(stats.top, base.top, size)
    features = np.concatenate([level, spread if s0 > 0 else np.zeros_like(level), peak], axis=1)
    features[~usable] = np.nan
    return features


def _difference(value: Floats, base: Floats, size: Floats) -> Floats:
    """Subtract; what rounding alone would leave becomes zero."""
    difference = value - base
    return np.where(np.abs(difference) <= ROUNDING * size, 0.0, difference)


def _settled(sd: Floats, size: Floats) -> Floats:
    return np.where(sd <= ROUNDING * size, 0.0, sd)


def _any(window: Floats, windows: Windows) -> Floats:
    far = windows.far
    happened = np.nan_to_num(window) > 0
    base = happened[:, : far - windows.window]
    columns = []
    for near, edge in zip(windows.edges[:-1], windows.edges[1:], strict=True):
        width = edge - near
        pieces = base.shape[1] // width
        stretches = base[:, base.shape[1] - pieces * width :].reshape(base.shape[0], pieces, width)
        usual = stretches.any(axis=2).mean(axis=1)
        columns.append(happened[:, far - edge : far - near].any(axis=1) - usual)
    return np.stack(columns, axis=1)


def _recency(window: Floats, windows: Windows) -> Floats:
    look = 2 * windows.window
    now = _since_last(window[:, windows.window - windows.guard : windows.far - windows.guard], look)
    then = _since_last(window[:, : windows.far - windows.window], look)
    return np.log((then + windows.unit) / (now + windows.unit))[:, None]


def _since_last(window: Floats, look: int) -> Floats:
    """Cells from the last event to the end of the window; ``look`` where there was none."""
    happened = (np.nan_to_num(window) > 0)[:, ::-1]
    return np.where(happened.any(axis=1), happened.argmax(axis=1), look).astype(np.float64)


def _first(first_cell: Indices, end: Indices, windows: Windows) -> Floats:
    inside = (first_cell >= end - windows.window) & (first_cell < end - windows.guard)
    return inside.astype(np.float64)[:, None]
