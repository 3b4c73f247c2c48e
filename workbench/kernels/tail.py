"""Tail probability of one feature's permutation sum, without random numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["lattice_tail", "saddle_point_tail"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def saddle_point_tail(scores: Floats, offsets: Indices, bound: float, *, step: float = 0.0) -> float:
    """P(S* >= bound) for S* the sum of one random member's score per set.

    The cumulant function of S* is exact, K(t) = sum_f ln mean_j e^{t s_fj}; the tail is
    1 - Phi(w + ln(u / w) / w) (Lugannani and Rice 1980 in Barndorff-Nielsen's form).

    Parameters
    ----------
    scores : (member,) float64
    offsets : (set + 1,) int64
    bound : float
    step : float
        Lattice step of the scores, for the continuity correction of half a step; 0: none.

    Returns
    -------
    float
        1 below the smallest sum that can be reached, the chance of the largest at the top.

    Examples
    --------
    >>> s = np.array([2.0, -1.0, -1.0] * 12)
    >>> round(saddle_point_tail(s, np.arange(0, 37, 3), 9.0, step=3.0), 3)  # exact: .066
    0.069
    """
    from scipy.special import ndtr

    centred, mean = _centred_sets(scores, offsets)
    target = bound - step / 2 - mean
    top = np.maximum.reduceat(centred, offsets[:-1]).sum()
    low = np.minimum.reduceat(centred, offsets[:-1]).sum()
    if target <= low:
        return 1.0
    if target >= top * (1 - 1e-12):
        return _chance_of_top(centred, offsets) if target <= top * (1 + 1e-12) else 0.0
    if abs(target) < 1e-9 * (top - low):
        return 0.5
    t = _solve(centred, offsets, target)
    k0, _, k2 = _cumulants(centred, offsets, t)
    w = np.sign(t) * np.sqrt(max(2.0 * (t * target - k0), 1e-300))
    u = t * np.sqrt(k2)
    if abs(w) < 1e-4:
        return float(ndtr(-target / np.sqrt(_cumulants(centred, offsets, 0.0)[2])))
    return float(ndtr(-(w + np.log(u / w) / w)))


def lattice_tail(scores: Indices, offsets: Indices, bound: int) -> float:
    """Exact P(S* >= bound) for whole-number scores, by convolution.

    Examples
    --------
    >>> lattice_tail(np.array([1, 0, 1, 0]), np.array([0, 2, 4]), 2)
    0.25
    """
    weights, base = np.ones(1), 0
    for start, stop in pairwise(offsets.tolist()):
        members = scores[start:stop]
        low = int(members.min())
        weights = np.convolve(weights, np.bincount(members - low) / members.size)
        base += low
    return float(min(1.0, weights[max(bound - base, 0) :].sum()))


def _centred_sets(scores: Floats, offsets: Indices) -> tuple[Floats, float]:
    means = np.add.reduceat(scores, offsets[:-1]) / np.diff(offsets)
    return scores - np.repeat(means, np.diff(offsets)), float(means.sum())


def _chance_of_top(scores: Floats, offsets: Indices) -> float:
    top = np.repeat(np.maximum.reduceat(scores, offsets[:-1]), np.diff(offsets))
    share = np.add.reduceat((scores >= top - 1e-12).astype(np.float64), offsets[:-1]) / np.diff(offsets)
    return float(np.prod(share))


def _cumulants(scores: Floats, offsets: Indices, t: float) -> tuple[float, float, float]:
    """K, K' and K'' at t, shifted by the largest exponent of each set so that nothing overflows."""
    sizes = np.diff(offsets)
    exponent = t * scores
    largest = np.maximum.reduceat(exponent, offsets[:-1])
    weight = np.exp(exponent - np.repeat(largest, sizes))
    total = np.add.reduceat(weight, offsets[:-1])
    first = np.add.reduceat(weight * scores, offsets[:-1]) / total
    second = np.add.reduceat(weight * scores * scores, offsets[:-1]) / total
    k0 = float((largest + np.log(total / sizes)).sum())
    return k0, float(first.sum()), float((second - first * first).sum())


def _solve(scores: Floats, offsets: Indices, target: float) -> float:
    """Find t with K'(t) = target: Newton, kept inside a bracket that each step narrows."""
    spread = np.sqrt(_cumulants(scores, offsets, 0.0)[2])
    low, high = (0.0, 1.0 / spread) if target > 0 else (-1.0 / spread, 0.0)
    while target > 0 and _cumulants(scores, offsets, high)[1] < target and high < 1e6 / spread:
        low, high = high, 2.0 * high
    while target < 0 and _cumulants(scores, offsets, low)[1] > target and low > -1e6 / spread:
        low, high = 2.0 * low, low
    t = 0.5 * (low + high)
    for _ in range(200):
        _, k1, k2 = _cumulants(scores, offsets, t)
        low, high = (t, high) if k1 < target else (low, t)
        step = (target - k1) / k2 if k2 > 0 else np.inf
        following = t + step if low < t + step < high else 0.5 * (low + high)
        if abs(following - t) <= 1e-13 * max(1.0, abs(t)):
            break
        t = following
    return t
