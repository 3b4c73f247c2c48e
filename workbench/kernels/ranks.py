"""Ranks within matched sets: z, and the exact p of a rank sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.matched import set_of

__all__ = ["betting_process", "rank_sum_p", "rank_z", "smallest_p", "within_ranks"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def within_ranks(values: Floats, offsets: Indices) -> Floats:
    """Average ranks (1 ... n) of members within their sets, per feature.

    Examples
    --------
    >>> within_ranks(np.array([[5.0], [1.0], [5.0], [7.0], [9.0]]), np.array([0, 3, 5])).ravel().tolist()
    [2.5, 1.0, 2.5, 1.0, 2.0]
    """
    owner = set_of(offsets)
    ranks = np.empty_like(values)
    for column in range(values.shape[1]):
        x = values[:, column]
        order = np.lexsort((x, owner))
        changed = np.diff(x[order], prepend=np.nan) != 0
        changed[offsets[:-1]] = True
        run = np.cumsum(changed) - 1
        place = np.arange(x.size) - offsets[owner[order]] + 1.0
        mean = np.bincount(run, place) / np.bincount(run)
        ranks[order, column] = mean[run]
    return ranks


def rank_z(values: Floats, offsets: Indices) -> Floats:
    """Z of the sum of case ranks, with the variance that ties leave; 0 where all are tied.

    Examples
    --------
    >>> rank_z(np.array([[9.0], [1.0], [2.0]]), np.array([0, 3])).round(4).tolist()
    [1.2247]
    """
    ranks = within_ranks(values, offsets)
    sizes = np.diff(offsets)[:, None]
    mean = np.add.reduceat(ranks, offsets[:-1], axis=0) / sizes
    square = np.add.reduceat(ranks * ranks, offsets[:-1], axis=0) / sizes
    variance = np.maximum(square - mean * mean, 0.0).sum(axis=0)
    total = (ranks[offsets[:-1]] - mean).sum(axis=0)
    z: Floats = np.divide(total, np.sqrt(variance), out=np.zeros_like(total), where=variance > 1e-12)
    return z


def rank_sum_p(ranks: list[list[float]]) -> float:
    """Exact P(sum of one random member's rank per set >= sum of the case ranks); sets may differ in size.

    Parameters
    ----------
    ranks : list of list of float
        Ranks in each set, the case first. Average ranks (halves) are allowed.

    Examples
    --------
    >>> rank_sum_p([[2, 1], [2, 1]])
    0.25
    """
    weights = np.ones(1)
    base, observed = 0, 0
    for members in ranks:
        doubled = np.rint(2.0 * np.asarray(members)).astype(np.int64)
        low = int(doubled.min())
        weights = np.convolve(weights, np.bincount(doubled - low) / doubled.size)
        base += low
        observed += int(doubled[0])
    return float(min(1.0, weights[observed - base :].sum()))


def smallest_p(sizes: Indices) -> float:
    """Smallest one-sided p that sets of these sizes can reach: the product of 1/n.

    Examples
    --------
    >>> round(smallest_p(np.array([11, 11])), 8)
    0.00826446
    """
    return float(np.exp(-np.log(np.asarray(sizes, dtype=np.float64)).sum()))


def betting_process(ranks: Floats, sizes: Floats, stake: float) -> Floats:
    """E-process of case ranks that arrive one by one: prod(1 + stake (2 r - n - 1) / (n - 1)).

    Valid at any stopping time while failures arrive in order (METHOD section 7); reject at 20.

    Parameters
    ----------
    ranks, sizes : (set,) float64
        Rank of the case among the ``n`` members of its set, and n.
    stake : float
        -1 ... 1; positive bets on high ranks.

    Returns
    -------
    (set,) float64
        The capital after each set; its mean under the null is 1 at every step.

    Examples
    --------
    >>> betting_process(np.array([11.0, 1.0]), np.array([11.0, 11.0]), 0.5).tolist()
    [1.5, 0.75]
    """
    return np.asarray(np.cumprod(1.0 + stake * (2.0 * ranks - sizes - 1.0) / (sizes - 1.0)), dtype=np.float64)
