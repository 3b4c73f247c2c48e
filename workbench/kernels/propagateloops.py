"""Compiled loops of :mod:`workbench.kernels.propagate`; import this module inside of functions only, since numba is heavy.

Every loop walks the effects of one place in order of time, with the causes of that place in a window
that only moves forward; ``active`` lists the kinds of cause in the window, so that each counts once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["count_loop", "expose_loop", "largest_loop", "lead_loop", "room", "shift_loop", "tail_loop"]

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


def _tally(kind: int, active: Any, size: int, counts: Any, cells: Any, touched: int) -> int:  # noqa: PLR0917
    """Count one effect for each kind of cause in the window; list cells that were 0."""
    for i in range(size):
        if counts[active[i], kind] == 0:
            cells[touched] = active[i] * counts.shape[0] + kind
            touched += 1
        counts[active[i], kind] += 1
    return touched


tally = njit(inline="always")(_tally)


def _count(causes: Any, effects: Any, bounds: Any, window: Any, circle: Any, work: Any) -> int:  # noqa: PLR0917
    """Count effects by (kind of cause before it, own kind), all effects moved on a circle; give how many cells are not 0.

    ``causes`` and ``effects`` are (kind, time) ordered by place and time from 0 to the length of the
    circle; ``bounds`` is (place, 4): where the causes and effects of each place begin and end;
    ``circle`` is (length, shift). ``work`` is (counts, cells, many, where, active): counts must be 0,
    the cells that no longer are get listed; the others are 0 before and after.
    """
    span, shift = circle
    counts, cells, many, where, active = work
    touched = 0
    for place in range(bounds.shape[0]):
        c0, c1, e0, e1 = bounds[place]
        first = e0
        while first < e1 and effects[1][first] + shift < span:
            first += 1
        # causes of the lap before, then of this one: (index, what to add to its time)
        size, low, low_lap, high, high_lap = 0, c0, -span, c0, -span
        at, lap = first, shift - span
        for _ in range(e1 - e0):
            if at == e1:
                at, lap = e0, shift
            time = effects[1][at] + lap
            while high_lap <= 0 and causes[1][high] + high_lap <= time - window[0]:
                size = enter(causes[0][high], many, active, where, size)
                high += 1
                if high == c1:
                    high, high_lap = c0, high_lap + span
            while (low_lap < high_lap or low < high) and causes[1][low] + low_lap < time - window[1]:
                size = leave(causes[0][low], many, active, where, size)
                low += 1
                if low == c1:
                    low, low_lap = c0, low_lap + span
            touched = tally(effects[0][at], active, size, counts, cells, touched)
            at += 1
        for i in range(size):  # the next place begins with an empty window
            many[active[i]] = 0
    return touched


count_loop = njit(cache=True, nogil=True)(_count)


def _room(kinds: int) -> Any:
    """Give work space for :func:`_count`."""
    whole = np.zeros(kinds, np.int64)
    return np.zeros((kinds, kinds), np.int64), np.zeros(kinds * kinds, np.int64), whole, whole.copy(), whole.copy()


room = njit(cache=True)(_room)


def _keep(kept: Any, draw: int, cells: Any, counts: Any, touched: int) -> None:  # noqa: PLR0917
    """Write down what one shift counted, if all shifts before it were and there is room."""
    start, kinds = kept[2][draw], counts.shape[0]
    if kept[2][0] < 0 or start + touched > kept[0].size:
        kept[2][0] = -1
        return
    for at in range(touched):
        kept[0][start + at] = cells[at]
        kept[1][start + at] = counts[cells[at] // kinds, cells[at] % kinds]
    kept[2][draw + 1] = start + touched


keep = njit(inline="always")(_keep)


def _largest(kept: Any, centre: Any, spread: Any, least: float) -> Any:
    """Give the largest score of each shift from what was written down; ``centre`` and ``spread`` by cell."""
    cells, counts, ends = kept
    largest = np.full(ends.size - 1, least)
    for draw in range(largest.size):
        for at in range(ends[draw], ends[draw + 1]):
            cell = cells[at]
            if spread[cell] > 0.0:
                score = (np.sqrt(counts[at] + 0.375) - centre[cell]) / spread[cell]
                largest[draw] = max(largest[draw], score)
    return largest


largest_loop = njit(cache=True, nogil=True)(_largest)


def _shift(causes: Any, effects: Any, bounds: Any, window: Any, span: int, shifts: Any, scale: Any, kept: Any) -> Any:  # noqa: PLR0917
    """Sum counts over shifts, roots of them, how many reach the observed, and the largest score of each shift.

    ``scale`` is (observed, mean root, sd of roots), each (kind, kind); with an sd of 0 a pair has no
    score. Cells without a count are not visited: they add the root of 0 in every shift, and the
    largest score is never below the largest that a cell without a count has. ``kept`` is (cells,
    counts, ends): what each shift counted is written there as long as there is room; the first end
    is -1 if there is not, and all other results are the same.
    """
    observed, centre, spread = scale
    kinds = observed.shape[0]
    total, roots, reached = np.zeros((kinds, kinds)), np.zeros((kinds, kinds)), np.zeros((kinds, kinds), np.int64)
    nothing, least = np.sqrt(0.375), -np.inf
    for i in range(kinds):
        for j in range(kinds):
            roots[i, j] = shifts.size * nothing
            reached[i, j] = shifts.size if observed[i, j] == 0 else 0
            if spread[i, j] > 0.0:
                least = max(least, (nothing - centre[i, j]) / spread[i, j])
    largest, work = np.full(shifts.size, least), room(kinds)
    counts, cells = work[0], work[1]
    for draw in range(shifts.size):
        touched = count_loop(causes, effects, bounds, window, (span, shifts[draw]), work)
        keep(kept, draw, cells, counts, touched)
        for at in range(touched):
            i, j = cells[at] // kinds, cells[at] % kinds
            count = counts[i, j]
            counts[i, j] = 0
            if count >= observed[i, j] > 0:
                reached[i, j] += 1
            root = np.sqrt(count + 0.375)
            total[i, j] += count
            roots[i, j] += root - nothing
            if spread[i, j] > 0.0:
                largest[draw] = max(largest[draw], (root - centre[i, j]) / spread[i, j])
    return total, roots, reached, largest


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
