"""Make series free of slow parts: differences, and autoregression taken out; gaps stay gaps."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST_ORDER", "autoregression", "difference", "scaled", "whiten"]

Floats = NDArray[np.float64]

#: Longest memory that :func:`whiten` looks for, in cells.
LARGEST_ORDER = 10


def difference(values: Floats) -> Floats:
    """Give each cell minus the one before it; NaN where either was not observed.

    Parameters
    ----------
    values : (entity, time) float64

    Returns
    -------
    (entity, time) float64
        The first cell is NaN.

    Examples
    --------
    >>> difference(np.array([[1.0, 4.0, np.nan, 2.0]]))
    array([[nan,  3., nan, nan]])
    """
    changed = np.full(values.shape, np.nan)
    changed[:, 1:] = values[:, 1:] - values[:, :-1]
    return changed


def autoregression(values: Floats, largest: int = LARGEST_ORDER) -> Floats:
    """Fit one autoregression to all rows by least squares, its order chosen by AIC.

    Rows are brought to mean 0 and sd 1 first and share their coefficients, so that short rows do
    not each fit their own noise. Only stretches of ``largest + 1`` observed cells are used.

    Parameters
    ----------
    values : (entity, time) float64
        NaN: not observed.
    largest : int
        Largest order tried.

    Returns
    -------
    (order,) float64
        Coefficient of the cell one before, two before and so on; empty where nothing is gained or
        fewer than ten stretches per coefficient are there.

    Examples
    --------
    >>> rng = np.random.default_rng(5)
    >>> walk = np.zeros((1, 4000))
    >>> for t in range(1, 4000):
    ...     walk[0, t] = 0.8 * walk[0, t - 1] + rng.normal()
    >>> bool(abs(autoregression(walk)[0] - 0.8) < 0.05)
    True
    """
    moments, count = _lag_moments(scaled(values), largest)
    if count < 10 * (largest + 1) or not moments[0, 0] > 0:
        return np.empty(0)
    chosen: Floats = np.empty(0)
    best = count * np.log(moments[0, 0] / count)
    for order in range(1, largest + 1):
        inner, cross = moments[1 : order + 1, 1 : order + 1], moments[1 : order + 1, 0]
        coefficients = np.asarray(np.linalg.lstsq(inner, cross, rcond=1e-10)[0], dtype=np.float64)
        rest = moments[0, 0] - coefficients @ cross
        score = count * np.log(max(rest, 1e-12 * moments[0, 0]) / count) + 2 * order
        if score < best:
            best, chosen = score, coefficients
    return chosen


def scaled(values: Floats) -> Floats:
    """Bring each row to mean 0 and sd 1 over what is observed; a constant row becomes 0.

    Examples
    --------
    >>> scaled(np.array([[1.0, np.nan, 3.0], [5.0, 5.0, 5.0]]))
    array([[-1., nan,  1.],
           [ 0.,  0.,  0.]])
    """
    seen = np.isfinite(values)
    count = np.maximum(seen.sum(axis=1, keepdims=True), 1)
    centred = np.where(seen, values, 0.0)
    centred = np.where(seen, centred - centred.sum(axis=1, keepdims=True) / count, 0.0)
    largest = np.abs(centred).max(axis=1, keepdims=True, initial=0.0)
    centred = centred / np.where(largest > 0, largest, 1.0)  # squares of huge values would overflow
    spread = np.sqrt((centred**2).sum(axis=1, keepdims=True) / count)
    return np.where(seen, centred / np.where(spread > 0, spread, 1.0), np.nan)


def _lag_moments(values: Floats, largest: int) -> tuple[Floats, int]:
    """Give sums of products of the cells 0 to ``largest`` back, over whole stretches, and their count."""
    width = values.shape[1] - largest
    moments = np.zeros((largest + 1, largest + 1))
    if width <= 0:
        return moments, 0
    lagged = [values[:, largest - back : largest - back + width] for back in range(largest + 1)]
    whole = np.ones(lagged[0].shape, bool)
    for part in lagged:
        whole &= np.isfinite(part)
    filled = [np.where(whole, part, 0.0).ravel() for part in lagged]
    for i, j in combinations_with_replacement(range(largest + 1), 2):
        moments[i, j] = moments[j, i] = filled[i] @ filled[j]
    return moments, int(whole.sum())


def whiten(values: Floats) -> tuple[Floats, Floats]:
    """Take differences, then take the autoregression out of them.

    Differences first: an autoregression fitted to a trend, random walk or counter leaves its drift
    in the rest, and two drifts always correlate.

    Parameters
    ----------
    values : (entity, time) float64

    Returns
    -------
    rest : (entity, time) float64
        What the cells before do not foretell; NaN where one of them was not observed.
    coefficients : (order,) float64
        Of :func:`autoregression` of the differences.

    Examples
    --------
    >>> rest, coefficients = whiten(np.cumsum(np.random.default_rng(2).normal(size=(1, 500)), axis=1))
    >>> rest.shape, bool(np.abs(coefficients).sum() < 0.3)
    ((1, 500), True)
    """
    changed = difference(values)
    coefficients = autoregression(changed)
    rest = changed.copy()
    for back, coefficient in enumerate(coefficients.tolist(), start=1):
        rest[:, back:] -= coefficient * changed[:, :-back]
        rest[:, :back] = np.nan
    return rest, coefficients
