"""How often one kind of event comes before another at the same place; whole-group shifts of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ResourceError

__all__ = ["Meeting", "coalesce", "leads", "meet", "mark_numpy", "naive_p", "shifted_meetings"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Work (events x shifts) above which the loop is compiled; below it numpy is done before the compiler.
_COMPILE_FROM = 20_000_000
_Marker = Callable[[Ints, Ints, int, int, Bools], None]
Places = tuple[Ints, Ints]


@dataclass(frozen=True, eq=False, kw_only=True)
class Meeting:
    """Window of a coincidence, in microseconds: ``least <= lead <= most``.

    A lead is the time from the latest moment at which the first event may have happened to the
    earliest of the second, so events that their clocks cannot put in order do not meet.
    """

    least: int
    most: int


def coalesce(place: Ints, ts: Ints, gap: int) -> Ints:
    """Give the first event of each burst: events at one place, each within ``gap`` of the one before.

    Parameters
    ----------
    place, ts : (event,) int64
        Index of the place; time in microseconds.
    gap : int
        Microseconds.

    Returns
    -------
    (burst,) int64
        Indices of the first events, ordered by place and time.

    Examples
    --------
    >>> coalesce(np.array([0, 0, 1, 0]), np.array([5, 0, 3, 100]), 10)
    array([1, 3, 2])
    """
    order = np.lexsort((ts, place))
    fresh = np.ones(order.size, bool)
    same = place[order][1:] == place[order][:-1]
    fresh[1:] = ~same | (np.diff(ts[order]) > gap)
    return order[fresh]


def meet(a: Places, b: Places, window: Meeting) -> tuple[Bools, Bools]:
    """Tell which events meet one of the other kind at their place.

    Parameters
    ----------
    a : (place, time), each (a,) int64
        Place and latest time of the first kind, microseconds.
    b : (place, time), each (b,) int64
        Place and earliest time of the second kind.
    window : Meeting

    Returns
    -------
    triggering : (a,) bool
        Whether some b comes after it within the window.
    preceded : (b,) bool
        Whether some a comes before it within the window.

    Examples
    --------
    >>> one = np.zeros(1, np.int64)
    >>> meet((one, one), (np.zeros(2, np.int64), np.array([5, 50])), Meeting(least=1, most=10))
    (array([ True]), array([ True, False]))
    """
    key_a, key_b = _keys(a, b, window)
    sorted_a, sorted_b = np.sort(key_a), np.sort(key_b)
    preceded = _any_between(sorted_a, key_b - window.most, key_b - window.least)
    triggering = _any_between(sorted_b, key_a + window.least, key_a + window.most)
    return triggering, preceded


def _any_between(ordered: Ints, low: Ints, high: Ints) -> Bools:
    found: Bools = np.searchsorted(ordered, high, "right") > np.searchsorted(ordered, low, "left")
    return found


def _keys(a: Places, b: Places, window: Meeting) -> Places:
    """Give each event one number by place and time, with room between places for any window."""
    times = np.concatenate([a[1], b[1]])
    if not times.size:
        return a[1], b[1]
    start = int(times.min())
    stride = int(times.max()) - start + 2 * window.most + 2
    known, index = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    _refuse_beyond_integers(known.size, stride)
    keys = index.astype(np.int64) * stride + times - start
    return keys[: a[1].size], keys[a[1].size :]


def leads(a: Places, b: Places, window: Meeting) -> Ints:
    """Give, for each b that an a precedes within the window, the time since the nearest such a.

    Returns
    -------
    (preceded,) int64
        Microseconds.

    Examples
    --------
    >>> here = np.zeros(2, np.int64)
    >>> leads((here, np.array([0, 4])), (here[:1], np.array([9])), Meeting(least=1, most=10))
    array([5])
    """
    key_a, key_b = _keys(a, b, window)
    ordered = np.sort(key_a)
    preceded = _any_between(ordered, key_b - window.most, key_b - window.least)
    last = np.searchsorted(ordered, key_b[preceded] - window.least, "right") - 1
    return key_b[preceded] - ordered[last]


def shifted_meetings(
    a: Places, b: Places, window: Meeting, *, span: int, shifts: Ints, compiled: bool | None = None
) -> tuple[Ints, Ints]:
    """Count meetings when all b are moved by the same time on a circle, for each shift.

    Parameters
    ----------
    a, b : (place, time), each (event,) int64
        Latest times of a and earliest of b, microseconds from the start of the circle.
    window : Meeting
        Shorter than the circle.
    span : int
        Length of the circle, microseconds.
    shifts : (shift,) int64
        Microseconds, 0 to ``span``.
    compiled : bool, optional
        Walk the sorted times in compiled code, or search them with numpy; the counts are the same.
        Chosen by the amount of work if not given.

    Returns
    -------
    triggering, preceded : (shift,) int64
        How many a trigger and how many b are preceded.

    Examples
    --------
    >>> one = np.zeros(1, np.int64), np.zeros(1, np.int64)
    >>> shifted_meetings(one, one, Meeting(least=1, most=10), span=100, shifts=np.array([0, 5, 50]))
    (array([0, 1, 0]), array([0, 1, 0]))
    """
    both = np.intersect1d(a[0], b[0])
    counts = np.zeros((2, shifts.size), np.int64)
    if not both.size:
        return counts[0], counts[1]
    stride = 3 * span  # a copy of the circle fits on either side of each place
    _refuse_beyond_integers(both.size, stride)
    key_a, key_b = (_circle_keys(part, both, span, stride) for part in (a, b))
    if compiled is None:
        compiled = (key_a.size + key_b.size) * shifts.size >= _COMPILE_FROM
    mark: _Marker = _compiled() if compiled else mark_numpy
    time_a, time_b = key_a % stride - span, key_b % stride - span
    around_a = [key_a, key_a[time_a >= span - window.most] - span]
    for at, shift in enumerate(shifts.tolist()):
        over = time_b + shift >= span
        moved = [key_b[~over] + shift, key_b[over] + (shift - span)]
        early = [part[part % stride - span <= window.most] + span for part in moved]
        counts[1, at] = sum(_count(mark, part, around_a, (-window.most, -window.least)) for part in moved)
        counts[0, at] = _count(mark, key_a, [*moved, *early], (window.least, window.most))
    return counts[0], counts[1]


def _refuse_beyond_integers(places: int, stride: int) -> None:
    if places * stride >= 2**62:
        days = stride / 3 / 86_400e6
        raise ResourceError(f"{places} places over {days:.0f} days do not fit one sorted list; take a shorter span.")


def _circle_keys(events: Places, both: Ints, span: int, stride: int) -> Ints:
    kept = np.isin(events[0], both)
    keys = np.searchsorted(both, events[0][kept]) * stride + span + events[1][kept] % span
    return np.sort(keys.astype(np.int64))


def _count(mark: _Marker, times: Ints, around: list[Ints], window: tuple[int, int]) -> int:
    """Count the times that have something in any of the sorted lists within the window from them."""
    hit = np.zeros(times.size, np.bool_)
    for part in around:
        if part.size and times.size:
            mark(times, part, window[0], window[1], hit)
    return int(np.count_nonzero(hit))


def mark_numpy(times: Ints, around: Ints, low: int, high: int, hit: Bools) -> None:  # noqa: PLR0917 - as the loop
    """Set ``hit`` where ``around`` (sorted) has something between ``time + low`` and ``time + high``."""
    hit |= _any_between(around, times + low, times + high)


def _mark_loop(times: Any, around: Any, low: Any, high: Any, hit: Any) -> None:  # noqa: PLR0917 - numba takes no objects
    """Mark as :func:`mark_numpy` does, both lists sorted and walked once."""
    j = 0
    for i in range(times.size):
        while j < around.size and around[j] < times[i] + low:
            j += 1
        if j < around.size and around[j] <= times[i] + high:
            hit[i] = True


@cache
def _compiled() -> _Marker:
    """Compile the walk; the machine code is kept on disk where that is possible."""
    from numba import njit

    try:
        compiled: _Marker = njit(cache=True, nogil=True)(_mark_loop)
    except RuntimeError:  # no writable place for the cache
        compiled = njit(nogil=True)(_mark_loop)
    return compiled


def naive_p(place_a: Ints, place_b: Ints, found: int, window: Meeting, *, span: int) -> float:
    """Give the p of as many preceded b, were all a spread evenly and independently over time.

    Each b is preceded with probability 1 - (1 - w/T)^n, n the number of a at its place and w the
    width of the window (Donges et al. 2016, equation 7). Events come in bursts and waves, so this
    p is far too small more often than not; it is for showing beside an honest one.

    Examples
    --------
    >>> at = np.zeros(20, np.int64), np.zeros(12, np.int64)
    >>> round(naive_p(*at, 5, Meeting(least=0, most=60), span=5760), 5)
    0.05878
    """
    from workbench.kernels.exposure import binomial_tail

    known, causes = np.unique(place_a, return_counts=True)
    number = np.zeros(place_b.size, np.int64)
    if known.size:
        at = np.minimum(np.searchsorted(known, place_b), known.size - 1)
        number = np.where(known[at] == place_b, causes[at], 0)
    width = min(window.most - window.least, span)
    return binomial_tail(np.asarray(1 - (1 - width / span) ** number, dtype=np.float64), found)
