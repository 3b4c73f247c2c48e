"""Sequential permutation p-values (Besag and Clifford 1991), with draws that depend on a key only.

Draw ``b`` gives set ``f`` the member ``floor(u n_f)``, with ``u`` the splitmix64 hash of the key
and of the counter ``b F + f``. So a signal's p depends neither on the order in which signals are
judged nor on how many workers judge them, and the compiled loop and its numpy twin draw alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.matched import TIE

__all__ = [
    "SequentialP",
    "besag_clifford",
    "count_numpy",
    "draw_members",
    "expected_draws",
    "most_draws",
    "permutation_p",
    "upper_p",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

GOLDEN = 0x9E3779B97F4A7C15
MIX1 = 0xBF58476D1CE4E5B9
MIX2 = 0x94D049BB133111EB
LEAST = 1_999  # a lone claim still deserves this many draws
BATCH = 512  # draws of the numpy twin at a time

Counter = Callable[..., tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class SequentialP:
    """A permutation p-value, and what it took.

    Attributes
    ----------
    p : float
        h / L where the h-th exceedance came at draw L, else (1 + exceedances) / (1 + draws).
    draws, exceedances : int
    """

    p: float
    draws: int
    exceedances: int


def besag_clifford(exceedances: int, draws: int, *, stop_at: int) -> float:
    """Give p of a sequence that was stopped at its ``stop_at``-th exceedance, or at its end.

    Examples
    --------
    >>> round(besag_clifford(10, 1798, stop_at=10), 8), besag_clifford(0, 1999, stop_at=10)
    (0.00556174, 0.0005)
    """
    if exceedances >= stop_at:
        return stop_at / draws
    return (1 + exceedances) / (1 + draws)


def most_draws(hypotheses: int, *, alpha: float, dependent: bool, cap: int) -> int:
    """Draws that let one lone signal among ``hypotheses`` pass BY (``dependent``) or BH.

    ceil(M c(M) / alpha), c(M) = sum 1/i (1 for BH), at least 1,999, at most ``cap``.

    Examples
    --------
    >>> most_draws(60, alpha=0.05, dependent=True, cap=10**7)
    5616
    >>> most_draws(1, alpha=0.05, dependent=True, cap=10**7)
    1999
    """
    harmonic = float((1.0 / np.arange(1, hypotheses + 1)).sum()) if dependent else 1.0
    wanted = int(np.ceil(hypotheses * harmonic / alpha - 1e-9))
    return min(max(wanted, LEAST), cap)


def expected_draws(p: float, *, stop_at: int, most: int) -> float:
    """Mean number of draws of a sequence whose exceedance probability is ``p``.

    E min(L, B) for L negative binomial: the mean of L over sequences that stop, and B else.

    Examples
    --------
    >>> round(expected_draws(0.004, stop_at=10, most=5616), 4)
    2499.5702
    """
    from scipy.stats import binom

    if p <= 0:
        return float(most)
    finished = float(binom.sf(stop_at, most + 1, p))  # L + 1st ... : E[L; L <= B] = h/p P(N(B+1) >= h+1)
    return stop_at / p * finished + most * float(binom.cdf(stop_at - 1, most, p))


def draw_members(key: int, start: int, stop: int, offsets: Indices) -> Indices:
    """Give the members that draws ``start ... stop - 1`` choose.

    Returns
    -------
    (draw, set) int64

    Examples
    --------
    >>> a = draw_members(7, 0, 4, np.array([0, 3, 8]))
    >>> b = draw_members(7, 2, 4, np.array([0, 3, 8]))
    >>> bool((a[2:] == b).all()), bool((a[:, 0] < 3).all() and (a[:, 1] >= 3).all())
    (True, True)
    """
    sets = offsets.size - 1
    counter = np.arange(start * sets, stop * sets, dtype=np.uint64).reshape(stop - start, sets)
    with np.errstate(over="ignore"):
        x = np.uint64(key) + (counter + np.uint64(1)) * np.uint64(GOLDEN)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(MIX1)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(MIX2)
    high = (x ^ (x >> np.uint64(31))) >> np.uint64(32)
    member = (high * np.diff(offsets).astype(np.uint64)) >> np.uint64(32)
    return offsets[:-1] + member.astype(np.int64)


def count_numpy(  # noqa: PLR0917 - the signature of the compiled loop
    scores: Floats, offsets: Indices, weight: Floats, bound: float, key: int, most: int, stop_at: int
) -> tuple[int, int]:
    """Count draws with max |weight S*| >= bound; the oracle of the compiled loop.

    Returns
    -------
    exceedances, draws : int
        Stops at the draw of the ``stop_at``-th exceedance.
    """
    found = 0
    for start in range(0, most, BATCH):
        stop = min(start + BATCH, most)
        total = scores[draw_members(key, start, stop, offsets)].sum(axis=1)
        hits = np.flatnonzero((np.abs(total) * weight).max(axis=1) >= bound)
        if found + hits.size >= stop_at:
            return stop_at, start + int(hits[stop_at - found - 1]) + 1
        found += hits.size
    return found, most


def permutation_p(
    scores: Floats, offsets: Indices, bound: float, *, key: int, most: int, stop_at: int, compiled: bool = True
) -> SequentialP:
    """P(max |S*_k| / sqrt(V_k) >= bound) with the case label given to a random member of every set.

    Parameters
    ----------
    scores : (member, feature) float64
        Centred in each set.
    offsets : (set + 1,) int64
    bound : float
        Observed T (deflated, where dependence between sets asks for it).
    key : int
        0 ... 2^64 - 1; all the randomness there is.
    most, stop_at : int
        Largest number of draws, and exceedances after which to stop.
    compiled : bool
        False takes the numpy twin: same draws, same answer, slower.

    Examples
    --------
    >>> s = np.array([[2.0], [-1.0], [-1.0]] * 3)
    >>> permutation_p(s, np.array([0, 3, 6, 9]), 6 / 6**0.5, key=1, most=2000, stop_at=20, compiled=False).p < 0.08
    True
    """
    sizes = np.diff(offsets)[:, None]
    variance = (np.add.reduceat(scores * scores, offsets[:-1], axis=0) / sizes).sum(axis=0)
    weight = np.divide(1.0, np.sqrt(variance), out=np.zeros_like(variance), where=variance > 0)
    if not weight.any() or bound <= 0:
        return SequentialP(p=1.0, draws=0, exceedances=0)
    count: Counter = _compiled() if compiled else count_numpy
    limit = bound - TIE * max(1.0, bound)
    rows, starts = np.ascontiguousarray(scores), offsets.astype(np.int64)
    found, draws = count(rows, starts, weight, limit, np.uint64(key), most, stop_at)
    return SequentialP(p=besag_clifford(found, draws, stop_at=stop_at), draws=int(draws), exceedances=int(found))


def upper_p(scores: Floats, offsets: Indices, bound: float, *, key: int, most: int, stop_at: int) -> SequentialP:
    """P(S* >= bound) with the case label given to a random member of every set: one-sided, of one feature.

    Parameters
    ----------
    scores : (member,) float64
        Centred in each set.
    offsets, bound, key, most, stop_at
        As :func:`permutation_p`; ``bound`` is the observed sum, deflated where sets depend on one another.

    Examples
    --------
    >>> s = np.array([2.0, -1.0, -1.0] * 3)
    >>> round(upper_p(s, np.array([0, 3, 6, 9]), 6.0, key=1, most=20_000, stop_at=400).p, 2)  # 1 of 27
    0.04
    """
    if not scores.any():
        return SequentialP(p=1.0, draws=0, exceedances=0)
    limit, found = bound - TIE * max(1.0, abs(bound)), 0
    for start in range(0, most, BATCH):
        stop = min(start + BATCH, most)
        hits = np.flatnonzero(scores[draw_members(key, start, stop, offsets)].sum(axis=1) >= limit)
        if found + hits.size >= stop_at:
            draws = start + int(hits[stop_at - found - 1]) + 1
            return SequentialP(p=besag_clifford(stop_at, draws, stop_at=stop_at), draws=draws, exceedances=stop_at)
        found += hits.size
    return SequentialP(p=besag_clifford(found, most, stop_at=stop_at), draws=most, exceedances=found)


def _count_loop(  # noqa: PLR0917 - numba takes arrays and numbers, not objects
    scores: Any, offsets: Any, weight: Any, bound: Any, key: Any, most: Any, stop_at: Any
) -> tuple[int, int]:
    """Count as :func:`count_numpy` does, one draw at a time."""
    sets, features = offsets.size - 1, weight.size
    total = np.empty(features)
    counter = np.uint64(0)
    one, s27, s30, s31, s32 = np.uint64(1), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
    golden, mix1, mix2 = np.uint64(GOLDEN), np.uint64(MIX1), np.uint64(MIX2)
    found = 0
    for draw in range(most):
        total[:] = 0.0
        for f in range(sets):
            counter += one
            x = key + counter * golden
            x = (x ^ (x >> s30)) * mix1
            x = (x ^ (x >> s27)) * mix2
            size = np.uint64(offsets[f + 1] - offsets[f])
            member = offsets[f] + np.int64((((x ^ (x >> s31)) >> s32) * size) >> s32)
            for k in range(features):
                total[k] += scores[member, k]
        for k in range(features):
            if abs(total[k]) * weight[k] >= bound:
                found += 1
                break
        if found == stop_at:
            return found, draw + 1
    return found, most


@cache
def _compiled() -> Counter:
    """Compile the loop; the machine code is kept on disk where that is possible."""
    from numba import njit

    try:
        compiled: Counter = njit(cache=True, nogil=True)(_count_loop)
    except RuntimeError:  # no writable place for the cache
        compiled = njit(nogil=True)(_count_loop)
    return compiled
