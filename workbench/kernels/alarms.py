"""What an alarm on a running feature would have done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["AlarmCount", "count_alarms", "running_feature", "upward_crossings"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

LEAST_SEEN = 0.5


@dataclass(frozen=True, kw_only=True)
class AlarmCount:
    """Alarms, how many were right, episodes seen and how many had a right alarm."""

    alarms: int
    right: int
    episodes: int
    warned: int


def running_feature(values: Floats, *, width: int, gap: int, window: int, family: str) -> Floats:
    """Feature of the last ``width`` cells before each cell, against the own baseline.

    Parameters
    ----------
    values : (entity, time) float64
        NaN: not observed.
    width : int
        Cells of the bin.
    gap, window : int
        The baseline lies ``window`` to ``3 window`` cells back; ``gap`` cells nearest to the
        moment are not used (0 for an alarm that has no guard).
    family : str
        ``level``, ``any`` or ``peak`` (mean, any event, maximum), ``spread`` (ln sd).

    Returns
    -------
    (entity, time) float64
        At cell t, of cells before t only; NaN with less than half observed.

    Examples
    --------
    >>> x = np.array([[0.0, 0, 0, 0, 0, 0, 3, 3, 3]])
    >>> running_feature(x, width=1, gap=0, window=2, family="level")[0, 6:].tolist()
    [0.0, 3.0, 3.0]
    """
    if family == "any":
        values = np.where(np.isfinite(values), (values > 0).astype(np.float64), np.nan)
    near = _mean_of(values, gap, gap + width)
    base = _mean_of(values, window, 3 * window)
    if family == "spread":
        square = values * values
        near_sd = np.sqrt(np.maximum(_mean_of(square, gap, gap + width) - near * near, 0.0))
        base_sd = np.sqrt(np.maximum(_mean_of(square, window, 3 * window) - base * base, 0.0))
        known = base_sd[np.isfinite(base_sd)]
        soft = 0.1 * float(np.median(known)) + 1e-12 if known.size else 1e-12
        return np.log((near_sd + soft) / (base_sd + soft))
    if family == "peak":
        return _peak_of(values, gap, gap + width) - base
    return near - base


def upward_crossings(feature: Floats, threshold: float, *, rest: int) -> tuple[Indices, Indices]:
    """Where the feature comes to ``threshold`` or above, once per entity in ``rest`` cells.

    Returns
    -------
    entity, cell : (alarm,) int64

    Examples
    --------
    >>> upward_crossings(np.array([[0.0, 2.0, 2.0, 0.0, 2.0, 0.0, 2.0]]), 1.0, rest=4)
    (array([0, 0]), array([1, 6]))
    """
    above = np.nan_to_num(feature, nan=-np.inf) >= threshold
    rises = above.copy()
    rises[:, 1:] &= ~above[:, :-1]
    entity, cell = np.nonzero(rises)
    keep = np.zeros(entity.size, dtype=np.bool_)
    last_entity, last_cell = -1, 0
    for index, (row, column) in enumerate(zip(entity.tolist(), cell.tolist(), strict=True)):
        if row != last_entity or column - last_cell >= rest:
            keep[index] = True
            last_entity, last_cell = row, column
    return entity[keep], cell[keep]


def count_alarms(
    alarm: tuple[Indices, Indices], event: tuple[Indices, Indices], *, least: int, most: int
) -> AlarmCount:
    """Match alarms with events of the same entity ``least`` to ``most`` cells later.

    Parameters
    ----------
    alarm, event : pair of (n,) int64
        Entity and cell of each.

    Examples
    --------
    >>> one = np.array([1, 1]), np.array([10, 50])
    >>> count_alarms(one, (np.array([1, 2]), np.array([15, 15])), least=1, most=10)
    AlarmCount(alarms=2, right=1, episodes=2, warned=1)
    """
    ahead = event[1][None, :] - alarm[1][:, None]
    match = (alarm[0][:, None] == event[0][None, :]) & (ahead >= least) & (ahead <= most)
    return AlarmCount(
        alarms=int(alarm[0].size),
        right=int(match.any(axis=1).sum()),
        episodes=int(event[0].size),
        warned=int(match.any(axis=0).sum()),
    )


def _mean_of(values: Floats, near: int, far: int) -> Floats:
    """Mean over cells at distances near + 1 ... far before each cell; NaN with less than half of them."""
    known = np.isfinite(values)
    total = _before(np.where(known, values, 0.0), near, far)
    count = _before(known.astype(np.float64), near, far)
    return np.where(count >= max(1.0, LEAST_SEEN * (far - near)), total / np.maximum(count, 1.0), np.nan)


def _before(values: Floats, near: int, far: int) -> Floats:
    """Sum over cells t - far ... t - near - 1 for each cell t; what lies before the grid counts as nothing."""
    width = values.shape[1]
    total = np.zeros((values.shape[0], width + 1))
    np.cumsum(values, axis=1, out=total[:, 1:])
    sums = np.zeros_like(values)
    if near < width:
        sums[:, near:] += total[:, : width - near]
    if far < width:
        sums[:, far:] -= total[:, : width - far]
    return sums


def _peak_of(values: Floats, near: int, far: int) -> Floats:
    """Maximum over cells at distances near + 1 ... far before each cell; NaN where none was observed."""
    filled = np.nan_to_num(values, nan=-np.inf)
    padded = np.concatenate([np.full((values.shape[0], far), -np.inf), filled], axis=1)
    length = far - near
    running = np.lib.stride_tricks.sliding_window_view(padded, length, axis=1).max(axis=2)[:, : values.shape[1]]
    return np.where(np.isfinite(running), running, np.nan)
