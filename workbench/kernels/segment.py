"""The cheapest partition of a series into constant or straight pieces: exact, and fast.

Cost: residual sum of squares, and a penalty for each piece after the first. Constant pieces by
functional pruning (Rigaill 2015; Maidstone, Hocking, Rigaill and Fearnhead 2017), straight ones by
PELT (Killick, Fearnhead and Eckley 2012), both with a least length of a piece.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["constant_pieces", "fitted", "straight_pieces"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def constant_pieces(values: Floats, penalty: float, *, least: int = 1) -> Indices:
    """Part a series into pieces of constant mean.

    Parameters
    ----------
    values : (cell,) float64
        Finite.
    penalty : float
        What one more piece must save, in squared units of the values; above 0.
    least : int
        Cells that a piece has at least.

    Returns
    -------
    (change,) int64
        First cell of each piece but the first, ascending; empty: one piece.

    Examples
    --------
    >>> step = np.repeat([0.0, 5.0, 1.0], 20)
    >>> constant_pieces(step, 3.0), constant_pieces(step, 3.0, least=25)
    (array([20, 40]), array([25]))
    """
    _check(values, penalty, least)
    if values.size < 2 * least:
        return np.empty(0, dtype=np.int64)
    from workbench.kernels.segmentloops import constant_loop

    return np.asarray(constant_loop(_centred(values), float(penalty), int(least)), dtype=np.int64)


def straight_pieces(values: Floats, penalty: float, *, least: int = 2) -> Indices:
    """Part a series into straight pieces, each with a level and a slope of its own.

    Parameters
    ----------
    values : (cell,) float64
        Finite. Time grows with the square of the cells where nothing changes: keep to a few thousand.
    penalty : float
    least : int
        2 or more.

    Returns
    -------
    (change,) int64
        First cell of each piece but the first.

    Examples
    --------
    >>> roof = np.concatenate([np.arange(30.0), np.arange(30.0, 0.0, -1.0)])
    >>> straight_pieces(roof, 1.0, least=5)
    array([30])
    """
    _check(values, penalty, least)
    if values.size < 2 * least:
        return np.empty(0, dtype=np.int64)
    from workbench.kernels.segmentloops import straight_loop

    return np.asarray(straight_loop(_centred(values), float(penalty), max(int(least), 2)), dtype=np.int64)


def fitted(values: Floats, changes: Indices, *, straight: bool = False) -> Floats:
    """Give the pieces as a series: the mean, or the line of least squares, of each.

    Examples
    --------
    >>> fitted(np.array([1.0, 3.0, 7.0, 9.0]), np.array([2]))
    array([2., 2., 8., 8.])
    """
    edges = np.concatenate(([0], changes, [values.size]))
    result = np.empty(values.size)
    for start, end in pairwise(edges):
        part = values[start:end]
        result[start:end] = part.mean()
        if straight and end - start > 1:
            time = np.arange(end - start) - (end - start - 1) / 2
            result[start:end] += time * (time @ part) / (time @ time)
    return result


def _centred(values: Floats) -> Floats:
    """Squares of values far from 0 would drown the differences."""
    return np.ascontiguousarray(values - values.mean())


def _check(values: Floats, penalty: float, least: int) -> None:
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("values must be one series without gaps")
    if not penalty > 0 or least < 1:
        raise ValueError(f"penalty {penalty} must be above 0, and least {least} at least 1")
