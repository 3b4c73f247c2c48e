"""Compiled loops of :mod:`workbench.kernels.propagate`; import this module inside of functions only, since numba is heavy.

Every loop walks the effects of one place in order of time, with the causes of that place in a window
that only moves forward; ``active`` lists the kinds of cause in the window, so that each counts once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["count_loop", "expose_loop", "lead_loop", "shift_loop", "tail_loop"]

# numba takes arrays and numbers, not objects: hence the long signatures.


def _enter(kind: int, many: Any, active: Any, where: Any, size: int) -> int:  # noqa: PLR0917
    """Take one cause of a kind into the window."""
    if many[kind] == 0:
        active[size], where[kind] = kind, size
        size += 1
    many[kind] += 1
    return size


enter = njit(inline="always")(_enter)


def _leave(kind: int, many: Any, active: Any, where: Any, size: int) -> int:  # noqa: PLR0917
    """Let one cause of a kind out of the window."""
    many[kind] -= 1
    if many[kind] == 0:
        size -= 1
        last = active[size]
        active[where[kind]], where[last] = last, where[kind]
    return size


leave = njit(inline="always")(_leave)


def _count(causes: Any, effects: Any, bounds: Any, window: Any, span: int, shift: int, kinds: int) -> Any:  # noqa: PLR0917
    """Count effects by (kind of cause before it, own kind), all effects moved by ``shift`` on a circle.

    ``causes`` and ``effects`` are (kind, time) ordered by place and time from 0 to ``span``;
    ``bounds`` is (place, 4): where the causes and effects of each place begin and end.
    """
    counts = np.zeros((kinds, kinds), np.int64)
    many, where, active = np.zeros(kinds, np.int64), np.zeros(kinds, np.int64), np.zeros(kinds, np.int64)
    for place in range(bounds.shape[0]):
        c0, c1, e0, e1 = bounds[place]
        n = c1 - c0
        if n == 0 or e1 == e0:
            continue
        first = e0
        while first < e1 and effects[1][first] + shift < span:
            first += 1
        size, low, high = 0, 0, 0  # virtual causes: the lap before, then this one
        for step in range(e1 - e0):
            at = first + step if first + step < e1 else first + step - (e1 - e0)
            time = effects[1][at] + shift
            if time >= span:
                time -= span
            while high < 2 * n and causes[1][c0 + high % n] + (high // n - 1) * span <= time - window[0]:
                size = enter(causes[0][c0 + high % n], many, active, where, size)
                high += 1
            while low < high and causes[1][c0 + low % n] + (low // n - 1) * span < time - window[1]:
                size = leave(causes[0][c0 + low % n], many, active, where, size)
                low += 1
            for i in range(size):
                counts[active[i], effects[0][at]] += 1
        while low < high:
            size = leave(causes[0][c0 + low % n], many, active, where, size)
            low += 1
    return counts


count_loop = njit(cache=True, nogil=True)(_count)


def _shift(causes: Any, effects: Any, bounds: Any, window: Any, span: int, shifts: Any, scale: Any) -> Any:  # noqa: PLR0917
    """Sum counts over shifts, squares of them, how many reach the observed, and the largest score of each shift.

    ``scale`` is (observed, mean root, sd of roots), each (kind, kind); with an sd of 0 a pair has no score.
    """
    observed, centre, spread = scale
    kinds = observed.shape[0]
    total, roots, squares = np.zeros((kinds, kinds)), np.zeros((kinds, kinds)), np.zeros((kinds, kinds))
    reached, largest = np.zeros((kinds, kinds), np.int64), np.full(shifts.size, -np.inf)
    for draw in range(shifts.size):
        counts = count_loop(causes, effects, bounds, window, span, shifts[draw], kinds)
        for i in range(kinds):
            for j in range(kinds):
                count = counts[i, j]
                if count >= observed[i, j]:
                    reached[i, j] += 1
                root = np.sqrt(count + 0.375)
                total[i, j] += count
                roots[i, j] += root
                squares[i, j] += root * root
                if spread[i, j] > 0.0:
                    score = (root - centre[i, j]) / spread[i, j]
                    largest[draw] = max(largest[draw], score)
    return total, roots, squares, reached, largest


shift_loop = njit(cache=True, nogil=True)(_shift)


def _lead(causes: Any, effects: Any, bounds: Any, window: Any, kinds: int, out: Any) -> int:  # noqa: PLR0917
    """Write (kind of cause, row of the effect, time since the last such cause) of every met pair; give how many.

    With an empty ``out`` they are only counted.
    """
    found = 0
    many, where, active = np.zeros(kinds, np.int64), np.zeros(kinds, np.int64), np.zeros(kinds, np.int64)
    latest = np.zeros(kinds, np.int64)
    for place in range(bounds.shape[0]):
        c0, c1, e0, e1 = bounds[place]
        size, low, high = 0, c0, c0
        for at in range(e0, e1):
            time = effects[1][at]
            while high < c1 and causes[1][high] <= time - window[0]:
                size = enter(causes[0][high], many, active, where, size)
                latest[causes[0][high]] = causes[1][high]
                high += 1
            while low < high and causes[1][low] < time - window[1]:
                size = leave(causes[0][low], many, active, where, size)
                low += 1
            if out.shape[0]:
                for i in range(size):
                    out[found + i, 0], out[found + i, 1] = active[i], at
                    out[found + i, 2] = time - latest[active[i]]
            found += size
        while low < high:
            size = leave(causes[0][low], many, active, where, size)
            low += 1
    return found


lead_loop = njit(cache=True, nogil=True)(_lead)


def _slide(causes: Any, span: Any, at: Any, many: Any, exposed: Any, group: Any) -> Any:  # noqa: PLR0917
    """Move the window on to causes between ``span[0]`` and ``span[1]``; give where it now stands."""
    low, high = at
    while high < causes[2].size and causes[2][high] <= span[1]:
        kind, where = causes[0][high], causes[1][high]
        many[kind, where] += 1
        if many[kind, where] == 1:
            exposed[kind, group[where]] += 1
        high += 1
    while low < high and causes[2][low] < span[0]:
        kind, where = causes[0][low], causes[1][low]
        many[kind, where] -= 1
        if many[kind, where] == 0:
            exposed[kind, group[where]] -= 1
        low += 1
    return low, high


slide = njit(inline="always")(_slide)


def _expose(causes: Any, cases: Any, near: Any, window: Any, group: Any, kinds: int) -> Any:  # noqa: PLR0917
    """For each case, how many places of its class could have been it, and how many of those each kind exposed.

    ``causes`` are (kind, place, time) ordered by time; ``cases`` (place, time) ordered by time; ``near``
    is (others, starts): for each case the places that may not be controls; ``group`` the class of a place.
    """
    classes = group.max() + 1
    many = np.zeros((kinds, group.size), np.int32)
    exposed = np.zeros((kinds, classes), np.int64)
    members = np.zeros(classes, np.int64)
    for place in range(group.size):
        members[group[place]] += 1
    size = np.zeros(cases[0].size, np.int64)
    among, own = np.zeros((cases[0].size, kinds), np.int64), np.zeros((cases[0].size, kinds), np.bool_)
    at = (0, 0)
    for case in range(cases[0].size):
        place, time = cases[0][case], cases[1][case]
        at = slide(causes, (time - window[1], time - window[0]), at, many, exposed, group)
        side = group[place]
        size[case] = members[side]
        for kind in range(kinds):
            among[case, kind] = exposed[kind, side]
            own[case, kind] = many[kind, place] > 0
        for index in range(near[1][case], near[1][case + 1]):
            other = near[0][index]
            if other == place or group[other] != side:
                continue
            size[case] -= 1
            for kind in range(kinds):
                if many[kind, other] > 0:
                    among[case, kind] -= 1
    return size, among, own


expose_loop = njit(cache=True, nogil=True)(_expose)


def _tail(chance: Any, found: int) -> Any:
    """Chance of ``found`` successes or more among trials of different chances; every term is positive."""
    mass = np.zeros(found + 1)
    mass[0] = 1.0
    for trial in range(chance.size):
        p = chance[trial]
        top = min(trial + 1, found)
        if top == found:
            mass[found] += mass[found - 1] * p
        for at in range(min(top, found - 1), 0, -1):
            mass[at] = mass[at] * (1.0 - p) + mass[at - 1] * p
        mass[0] *= 1.0 - p
    return mass[found]


tail_loop = njit(cache=True, nogil=True)(_tail)
