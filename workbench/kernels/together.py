"""How many entities change at the same time, beside what chance gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["chance_together", "together"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_ROWS = 512  # of the table of pairs at a time


def together(low: Indices, high: Indices, sign: Indices, entity: Indices) -> Indices:
    """Count, for each change, the entities with a change in the same direction whose interval meets its own.

    Parameters
    ----------
    low, high : (change,) int64
        Cells between which each change lies.
    sign : (change,) int64
        Direction; only equal ones are counted together.
    entity : (change,) int64

    Returns
    -------
    (change,) int64
        At least 1: its own entity.

    Examples
    --------
    >>> low, high = np.array([10, 11, 12, 90]), np.array([12, 13, 14, 91])
    >>> together(low, high, np.array([1, 1, -1, 1]), np.array([0, 1, 2, 1])).tolist()
    [2, 2, 1, 1]
    """
    counts = np.ones(low.size, dtype=np.int64)
    order = np.argsort(entity, kind="stable")
    begins = np.flatnonzero(np.diff(entity[order], prepend=-1)) if low.size else np.empty(0, dtype=np.int64)
    for start in range(0, low.size, _ROWS):
        rows = slice(start, start + _ROWS)
        meets = low[order] <= high[rows, None]
        meets &= (high[order] >= low[rows, None]) & (sign[order] == sign[rows, None])
        counts[rows] = np.logical_or.reduceat(meets, begins, axis=1).sum(axis=1)
    return counts


def _at_most(low: Indices, high: Indices, sign: Indices) -> Indices:
    """Count all changes that meet each one: as many as :func:`together`, or more where an entity has several."""
    counts = np.zeros(low.size, dtype=np.int64)
    for way in (-1, 0, 1):
        same = np.flatnonzero(sign == way)
        begun = np.searchsorted(np.sort(low[same]), high[same], side="right")
        ended = np.searchsorted(np.sort(high[same]), low[same], side="left")
        counts[same] = begun - ended
    return counts


def chance_together(
    spans: tuple[Indices, Indices], sign: Indices, entity: Indices, *, size: int, draws: int, rng: np.random.Generator
) -> Floats:
    """Draw the largest count when each entity's changes are moved around the circle by a time of its own.

    Two changes of one entity that meet another count twice, so that the draws are rather too large.

    Parameters
    ----------
    spans : (low, high)
        As for :func:`together`.
    sign, entity : (change,) int64
    size : int
        Cells of the series.
    draws : int
    rng : numpy.random.Generator

    Returns
    -------
    (draw,) float64

    Examples
    --------
    >>> entity = np.arange(20)
    >>> low = np.full(20, 100)
    >>> drawn = chance_together((low, low + 2), np.ones(20, int), entity, size=1000, draws=99, rng=np.random.default_rng(1))
    >>> int(together(low, low + 2, np.ones(20, int), entity)[0]), bool(drawn.max() < 6)
    (20, True)
    """
    low, high = spans
    width = high - low
    found = np.zeros(draws)
    changed, place = np.unique(entity, return_inverse=True)  # those without changes take no draw
    for draw in range(draws if changed.size > 1 else 0):
        moved = (low + rng.integers(0, size, changed.size)[place]) % size
        found[draw] = _at_most(moved, moved + width, sign).max(initial=0)
    return found
