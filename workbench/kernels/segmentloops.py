"""Compiled loops of :mod:`workbench.kernels.segment`; import this module inside of functions only, since numba is heavy.

A segment that starts at ``s`` and ends before ``t`` costs ``best(s) + penalty + rss(s, t)``. For
constant pieces the starts that can still win are kept with the intervals of the mean for which
they do (functional pruning); for straight pieces, those that PELT's inequality leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["constant_loop", "straight_loop"]

# numba takes arrays and numbers, not objects: hence the long signatures.


def _put(piece: Any, left: Any, right: Any, count: int, start: int, low: float, high: float) -> int:  # noqa: PLR0917
    """Append an interval of the mean that belongs to a start; one that goes on is made longer."""
    if low >= high:
        return count
    if count > 0 and piece[count - 1] == start:
        right[count - 1] = high
        return count
    piece[count], left[count], right[count] = start, low, high
    return count + 1


put = njit(inline="always")(_put)


def _race(sums: Any, base: Any, old: Any, new: Any, count: int, start: int) -> int:  # noqa: PLR0917
    """Let a new start compete for the mean with those in ``old``; write who wins where to ``new``.

    ``base[s]`` is the cost up to ``s`` without the squares up to there, so that the squares cancel.
    """
    piece, left, right = old
    kept = 0
    for i in range(count):
        rival, low, high = piece[i], left[i], right[i]
        a, b, c = float(start - rival), sums[start] - sums[rival], base[rival] - base[start]
        at_low, at_high = (a * low - 2.0 * b) * low + c, (a * high - 2.0 * b) * high + c
        if at_low <= 0.0 and at_high <= 0.0:  # the rival wins at both ends, so everywhere between
            new[0][kept], new[1][kept], new[2][kept] = rival, low, high
            kept += 1
            continue
        inside, middle = b * b - a * c, b / a
        if inside <= 0.0 or (at_low > 0.0 and at_high > 0.0 and not low < middle < high):
            kept = put(new[0], new[1], new[2], kept, start, low, high)
            continue
        reach = np.sqrt(inside) / a
        first = low if at_low <= 0.0 else middle - reach
        last = high if at_high <= 0.0 else middle + reach
        kept = put(new[0], new[1], new[2], kept, start, low, first)
        kept = put(new[0], new[1], new[2], kept, rival, first, last)
        kept = put(new[0], new[1], new[2], kept, start, last, high)
    return kept


race = njit(inline="always")(_race)


def _cheapest(sums: Any, base: Any, held: Any, count: int, end: int) -> Any:  # noqa: PLR0917
    """Give the lowest cost of a last segment that ends at ``end``, without the squares, and its start."""
    piece, left, right = held
    low, start = np.inf, 0
    for i in range(count):
        rival = piece[i]
        size, total = float(end - rival), sums[end] - sums[rival]
        mean = min(max(total / size, left[i]), right[i])
        cost = base[rival] + (size * mean - 2.0 * total) * mean
        if cost < low:
            low, start = cost, rival
    return low, start


cheapest = njit(inline="always")(_cheapest)


def _trace(last: Any, size: int) -> Any:
    """Follow the last segments back to the start; give the first cell of each segment but the first."""
    found = np.empty(size, np.int64)
    count, end = 0, size
    while end > 0:
        end = last[end]
        if end > 0:
            found[count] = end
            count += 1
    return found[:count][::-1].copy()


trace = njit(cache=True)(_trace)


def _constant(values: Any, penalty: float, least: int) -> Any:
    size = values.size
    sums = np.zeros(size + 1)
    for i in range(size):
        sums[i + 1] = sums[i] + values[i]
    last, base = np.zeros(size + 1, np.int64), np.full(size + 1, np.inf)
    base[0] = 0.0  # the first segment pays no penalty
    room = 2 * size + 3
    old = (np.empty(room, np.int64), np.empty(room), np.empty(room))
    new = (np.empty(room, np.int64), np.empty(room), np.empty(room))
    old[0][0], old[1][0], old[2][0] = 0, values.min(), values.max()
    count = 1
    for end in range(least, size + 1):
        if end - least >= least:
            count = race(sums, base, old, new, count, end - least)
            old, new = new, old
        low, last[end] = cheapest(sums, base, old, count, end)
        base[end] = low + penalty
    return trace(last, size)


constant_loop = njit(cache=True)(_constant)


def _straight_cost(sums: Any, squares: Any, moments: Any, start: int, end: int) -> float:  # noqa: PLR0917
    """Residual sum of squares of a line through the cells from ``start`` to ``end - 1``."""
    size = float(end - start)
    total = sums[end] - sums[start]
    middle = start + (size - 1.0) / 2.0
    across = moments[end] - moments[start] - middle * total
    spread = size * (size * size - 1.0) / 12.0
    cost = squares[end] - squares[start] - total * total / size
    if spread > 0.0:
        cost -= across * across / spread
    return float(max(cost, 0.0))


straight_cost = njit(cache=True)(_straight_cost)


def _straight(values: Any, penalty: float, least: int) -> Any:
    size = values.size
    sums, squares, moments = np.zeros(size + 1), np.zeros(size + 1), np.zeros(size + 1)
    for i in range(size):
        sums[i + 1], squares[i + 1] = sums[i] + values[i], squares[i] + values[i] * values[i]
        moments[i + 1] = moments[i] + i * values[i]
    last, best = np.zeros(size + 1, np.int64), np.full(size + 1, np.inf)
    best[0] = 0.0
    starts, costs = np.zeros(size + 1, np.int64), np.empty(size + 1)
    count = 1
    for end in range(least, size + 1):
        if end - least >= least:
            starts[count] = end - least
            count += 1
        low, chosen = np.inf, 0
        for i in range(count):
            costs[i] = best[starts[i]] + straight_cost(sums, squares, moments, starts[i], end)
            if costs[i] < low:
                low, chosen = costs[i], starts[i]
        best[end], last[end] = low + penalty, chosen
        kept = 0
        for i in range(count):
            # A start that is dearer than a fresh one stays dearer, once that one may be used.
            if costs[i] <= low + penalty or starts[i] > end - 2 * least:
                starts[kept] = starts[i]
                kept += 1
        count = kept
    return trace(last, size)


straight_loop = njit(cache=True)(_straight)
