"""Which kinds of event come before which others at the same place: all ordered pairs of kinds in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ResourceError

__all__ = [
    "Exposures",
    "Kinded",
    "PairNull",
    "exposures",
    "median_bounds",
    "pair_counts",
    "pair_leads",
    "pair_null",
    "tail",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Counts of all shifts that are written down, 160 MB.
_MOST_KEPT = 20_000_000
_MOST_CELLS = 400_000_000  # kinds x places of the running counts, 1.6 GB at most


@dataclass(frozen=True, eq=False, kw_only=True)
class Kinded:
    """Events of many kinds at places.

    Attributes
    ----------
    kind, place : (event,) int64
    time : (event,) int64
        Microseconds from the start of the circle.
    """

    kind: Ints
    place: Ints
    time: Ints

    def by_place(self, places: int) -> tuple[tuple[Ints, Ints], Ints]:
        """Give (kind, time) ordered by place and time, and where each place begins: (place + 1,)."""
        order = self.order()
        starts = np.searchsorted(self.place[order], np.arange(places + 1))
        return (self.kind[order], self.time[order]), starts

    def order(self) -> Ints:
        """(event,) int64: indices by place and time."""
        if not self.time.size:
            return np.empty(0, np.int64)
        low, reach = int(self.time.min()), int(self.time.max()) - int(self.time.min()) + 1
        if (int(self.place.max()) + 1) * reach >= 2**62:
            return np.lexsort((self.time, self.place))
        return np.argsort(self.place * reach + (self.time - low))  # ties are one moment: any order will do

    def by_time(self) -> tuple[Ints, Ints, Ints]:
        """Give (kind, place, time) ordered by time."""
        order = np.argsort(self.time, kind="stable")
        return self.kind[order], self.place[order], self.time[order]


def _laid(causes: Kinded, effects: Kinded) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints], Ints]:
    """Order both by place and time; leave out places that lack either."""
    places = 1 + int(max(causes.place.max(initial=-1), effects.place.max(initial=-1)))
    (first, at), (second, to) = causes.by_place(places), effects.by_place(places)
    bounds = np.stack([at[:-1], at[1:], to[:-1], to[1:]], axis=1).astype(np.int64)
    both = (bounds[:, 1] > bounds[:, 0]) & (bounds[:, 3] > bounds[:, 2])
    return first, second, bounds[both]


def pair_counts(
    causes: Kinded, effects: Kinded, *, kinds: int, window: tuple[int, int], span: int, shift: int = 0
) -> Ints:
    """Count, for each ordered pair of kinds, the effects that such a cause precedes at their place.

    Parameters
    ----------
    causes, effects : Kinded
        Times from 0 up to, not including, ``span``. May be the same events.
    kinds : int
    window : (least, most)
        Shortest and longest lead that counts, microseconds; ``most`` less than half of ``span``.
    span : int
        Length of the circle of time, microseconds.
    shift : int
        Every effect is moved by this on the circle first.

    Returns
    -------
    (kind of cause, kind of effect) int64
        Each effect counts once for each kind of cause.

    Examples
    --------
    >>> both = Kinded(kind=np.array([0, 1, 1]), place=np.zeros(3, np.int64), time=np.array([0, 5, 50]))
    >>> pair_counts(both, both, kinds=2, window=(1, 10), span=100).tolist()
    [[0, 1], [0, 0]]
    """
    from workbench.kernels.propagateloops import count_loop, room

    first, second, bounds = _laid(causes, effects)
    work = room(kinds)
    count_loop(first, second, bounds, np.array(window, np.int64), (span, shift), work)
    counts: Ints = work[0]
    return counts


@dataclass(frozen=True, eq=False, kw_only=True)
class PairNull:
    """What shifts of all effects against all causes give, pair by pair.

    Attributes
    ----------
    observed : (kind, kind) int64
        Counts on the circle without a shift.
    expected : (kind, kind) float64
        Mean over the shifts.
    p : (kind, kind) float64
        Share of shifts, the observed one among them, that reach the observed count.
    p_family : (kind, kind) float64
        The same for the score of the pair against the largest score of all pairs in each shift.
    """

    observed: Ints
    expected: Floats
    p: Floats
    p_family: Floats


def pair_null(
    causes: Kinded,
    effects: Kinded,
    *,
    kinds: int,
    window: tuple[int, int],
    span: int,
    shifts: Ints,
    tested: Bools,
) -> PairNull:
    """Compare the counts of all pairs with those when all effects are moved by one time on the circle.

    Parameters
    ----------
    causes, effects, kinds, window, span
        As :func:`pair_counts`.
    shifts : (draw,) int64
        Microseconds, 0 to ``span``; one set for all pairs.
    tested : (kind, kind) bool
        Pairs that make up the family.

    Returns
    -------
    PairNull

    Notes
    -----
    The score is the root of the count (+3/8: Anscombe 1948) in sd of its shifts, never less than
    the half that a Poisson count has, so that pairs of rare events, where one chance meeting is
    many times the expected, do not rule the family. Where a shift brings nothing above its mean,
    its largest is taken as that of a pair that never met. What each shift counted is written down where
    that is not too much; else the shifts are walked twice.
    """
    from workbench.kernels.propagateloops import largest_loop, shift_loop

    first, second, bounds = _laid(causes, effects)
    observed = pair_counts(causes, effects, kinds=kinds, window=window, span=span)
    place = (first, second, bounds, np.array(window, np.int64), span, shifts)
    room = min(_MOST_KEPT, shifts.size * (int(observed.sum()) * 2 + 1000))
    kept = np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(shifts.size + 1, np.int64)
    unscaled = np.zeros((kinds, kinds))
    total, roots, reached, _ = shift_loop(*place, (observed, unscaled, unscaled), kept)
    score = np.sqrt(observed + 0.375)
    # the observed arrangement is one of those that could have been drawn
    mean = (roots + score) / (shifts.size + 1)
    variance = (total + observed) / (shifts.size + 1) + 0.375 - mean**2  # the square of a root is its count
    spread = np.where(tested, np.sqrt(np.maximum(variance, 0.25)), 0.0)
    if kept[2][0] < 0:  # too much to write down: walk again
        nothing = np.empty(0, np.int32), np.empty(0, np.int32), np.zeros(shifts.size + 1, np.int64)
        largest = shift_loop(*place, (observed, mean, spread), nothing)[3]
    else:
        never = (np.sqrt(0.375) - mean[tested]) / spread[tested]
        largest = largest_loop(kept, mean.ravel(), spread.ravel(), float(never.max(initial=-np.inf)))
    own = np.where(tested, (score - mean) / np.where(tested, spread, 1.0), np.nan)
    ordered = np.sort(largest)
    above = shifts.size - np.searchsorted(ordered, np.where(tested, own, 0.0) - 1e-9, "left")
    return PairNull(
        observed=observed,
        expected=total / shifts.size,
        p=np.where(tested, (1.0 + reached) / (1 + shifts.size), np.nan),
        p_family=np.where(tested, (1.0 + above) / (1 + shifts.size), np.nan),
    )


def pair_leads(causes: Kinded, effects: Kinded, *, kinds: int, window: tuple[int, int]) -> tuple[Ints, Ints, Ints]:
    """Give, for each effect and each kind of cause before it, the time since the nearest such cause.

    Returns
    -------
    cause, effect, lead : (met pair,) int64
        Kind of the cause, index of the effect, and microseconds. No circle: time does not join its
        end to its start.

    Examples
    --------
    >>> both = Kinded(kind=np.array([0, 0, 1]), place=np.zeros(3, np.int64), time=np.array([0, 4, 9]))
    >>> [part.tolist() for part in pair_leads(both, both, kinds=2, window=(1, 10))]
    [[0, 0], [1, 2], [4, 5]]
    """
    from workbench.kernels.propagateloops import lead_loop

    first, second, bounds = _laid(causes, effects)
    limits = np.array(window, np.int64)
    count = lead_loop(first, second, bounds, limits, kinds, np.empty((0, 3), np.int64))
    out = np.empty((max(count, 1), 3), np.int64)
    lead_loop(first, second, bounds, limits, kinds, out)
    order = effects.order()
    return out[:count, 0], order[out[:count, 1]], out[:count, 2]


@dataclass(frozen=True, eq=False, kw_only=True)
class Exposures:
    """One set per case of one kind: the case and all places of its class that could have been it.

    Attributes
    ----------
    members : (case,) int64
        Places in the set, the case among them.
    exposed : (case, kind) int64
        How many of them had an event of each kind within the window.
    own : (case, kind) bool
        Whether the case itself had.
    """

    members: Ints
    exposed: Ints
    own: Bools

    def p(self, kind: int) -> tuple[int, float, float]:
        """Give exposed cases, how many to expect, and the exact one-sided p; NaN without any control."""
        usable = self.members >= 2
        if not usable.any():
            return 0, float("nan"), float("nan")
        chance = self.exposed[usable, kind] / self.members[usable]
        found = int(self.own[usable, kind].sum())
        return found, float(chance.sum()), tail(chance, found)


def exposures(
    causes: Kinded,
    outcomes: tuple[Ints, Ints],
    *,
    cases: Ints,
    kinds: int,
    window: tuple[int, int],
    apart: int,
    group: Ints,
) -> Exposures:
    """Form a set for each case: itself and every place of its class without an outcome near that time.

    Parameters
    ----------
    causes : Kinded
    outcomes : (place, time), each (outcome,) int64
        Of one kind, microseconds.
    cases : (case,) int64
        Indices of the outcomes that are cases.
    kinds : int
    window : (least, most)
        A place is exposed at t if a cause of its own lies between t - most and t - least.
    apart : int
        A place with an outcome within this time of t, either way, is no control.
    group : (place,) int64
        Class of each place: only places of one class stand in for each other.

    Returns
    -------
    Exposures
        Ordered by the time of the case.

    Examples
    --------
    >>> causes = Kinded(kind=np.zeros(2, np.int64), place=np.array([0, 1]), time=np.array([0, 0]))
    >>> sets = exposures(causes, (np.array([0]), np.array([5])), cases=np.array([0]), kinds=1, window=(1, 10),
    ...                  apart=100, group=np.zeros(4, np.int64))
    >>> sets.members, sets.exposed[:, 0], sets.p(0)
    (array([4]), array([2]), (1, 0.5, 0.5))
    """
    from workbench.kernels.propagateloops import expose_loop

    if kinds * group.size > _MOST_CELLS:
        raise ResourceError(f"{kinds} kinds at {group.size} places are too many to follow at once; name fewer kinds.")
    cases = cases[np.argsort(outcomes[1][cases], kind="stable")]
    moments = outcomes[1][cases]
    order = np.argsort(outcomes[1], kind="stable")
    places, times = outcomes[0][order], outcomes[1][order]
    low, high = np.searchsorted(times, moments - apart, "left"), np.searchsorted(times, moments + apart, "right")
    near = [np.unique(places[start:end]) for start, end in zip(low.tolist(), high.tolist(), strict=True)]
    starts = np.concatenate([[0], np.cumsum([part.size for part in near])]).astype(np.int64)
    others = np.concatenate(near) if near else np.empty(0, np.int64)
    limits = np.array(window, np.int64)
    found = expose_loop(causes.by_time(), (outcomes[0][cases], moments), (others, starts), limits, group, kinds)
    return Exposures(members=found[0], exposed=found[1], own=found[2])


def tail(chance: Floats, found: int) -> float:
    """Give the chance of ``found`` successes or more among trials of different chances.

    Examples
    --------
    >>> tail(np.array([0.5, 0.5, 0.25]), 3)
    0.0625
    """
    from workbench.kernels.propagateloops import tail_loop

    if found <= 0:
        return 1.0
    if found > chance.size:
        return 0.0
    return float(min(1.0, tail_loop(np.asarray(chance, dtype=np.float64), found)))


def median_bounds(values: NDArray[np.number]) -> tuple[float, float, float]:
    """Give the median and its 95 % interval from order statistics, whatever the distribution.

    Parameters
    ----------
    values : (value,)
        In ascending order.

    Returns
    -------
    median, low, high : float
        The bounds are NaN below six values, where no pair of order statistics covers 95 %.

    Examples
    --------
    >>> median_bounds(np.arange(1, 10))
    (5.0, 2.0, 8.0)
    """
    from scipy.stats import binom

    size = values.size
    if not size:
        return float("nan"), float("nan"), float("nan")
    below = int(binom.ppf(0.025, size, 0.5)) - 1  # at most 2.5 % that so few or fewer lie below the median
    if below < 0:
        return float(np.median(values)), float("nan"), float("nan")
    return float(np.median(values)), float(values[below]), float(values[size - 1 - below])
