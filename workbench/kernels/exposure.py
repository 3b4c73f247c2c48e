"""Who had been exposed at the moment of a case: the case against all others at that minute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sets", "binomial_tail", "episode_starts", "matched_sets"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Sets:
    """One set per case: the case and all places that could have been it at that moment.

    Attributes
    ----------
    exposed : (set,) bool
        Whether the case itself had been exposed.
    members, members_exposed : (set,) int64
        Places in the set, the case among them, and how many of them had been exposed.
    """

    exposed: NDArray[np.bool_]
    members: Ints
    members_exposed: Ints

    @property
    def share(self) -> Floats:
        """(set,) float64: chance that a random member is an exposed one."""
        return self.members_exposed / self.members

    @property
    def p(self) -> float:
        """Exact one-sided p: in every set each member is as likely to be the case as any other."""
        return binomial_tail(self.share, int(self.exposed.sum())) if self.members.size else float("nan")


def episode_starts(group: Ints, ts: Ints, gap: int) -> Ints:
    """Give the first event of each episode: events of one group, each within ``gap`` of the one before.

    Examples
    --------
    >>> episode_starts(np.array([0, 0, 1]), np.array([7, 0, 3]), 10)
    array([1, 2])
    """
    order = np.lexsort((ts, group))
    fresh = np.ones(order.size, bool)
    fresh[1:] = (np.diff(group[order]) != 0) | (np.diff(ts[order]) > gap)
    return np.sort(order[fresh])


def matched_sets(
    a: tuple[Ints, Ints], b: tuple[Ints, Ints], *, cases: Ints, places: int, window: tuple[int, int], apart: int
) -> Sets:
    """Form a set for each case: itself and every place without a b of its own near that time.

    Parameters
    ----------
    a : (place, time), each (a,) int64
        Places and latest times of the exposures, microseconds.
    b : (place, time), each (b,) int64
        Places and earliest times of the outcomes.
    cases : (case,) int64
        Indices of the outcomes that are cases.
    places : int
        How many places there are; those without any event count as well.
    window : (least, most)
        A place is exposed at t if an a of its own lies between t - most and t - least.
    apart : int
        A place with an outcome of its own within this time of t, either way, is no control.

    Returns
    -------
    Sets
        Ordered by time; sets without any control are left out.

    Examples
    --------
    >>> a, b = (np.array([0, 1]), np.array([0, 0])), (np.array([0]), np.array([5]))
    >>> sets = matched_sets(a, b, cases=np.array([0]), places=4, window=(1, 10), apart=100)
    >>> sets.members, sets.members_exposed, sets.exposed, sets.p
    (array([4]), array([2]), array([ True]), 0.5)
    """
    cases = cases[np.argsort(b[1][cases], kind="stable")]
    moments = b[1][cases]
    active = _Sliding(a, (moments - window[1], moments - window[0]), places)
    near = _Sliding(b, (moments - apart, moments + apart), places)
    rows = []
    for at, case in enumerate(b[0][cases].tolist()):
        exposed, eligible = active.at(at) > 0, near.at(at) == 0
        eligible[case] = True
        rows.append((bool(exposed[case]), int(eligible.sum()), int((exposed & eligible).sum())))
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    table = table[table[:, 1] >= 2]
    return Sets(exposed=table[:, 0] > 0, members=table[:, 1], members_exposed=table[:, 2])


class _Sliding:
    """Events per place within a window that only moves forward."""

    def __init__(self, events: tuple[Ints, Ints], windows: tuple[Ints, Ints], places: int) -> None:
        order = np.argsort(events[1], kind="stable")
        self._place = events[0][order]
        self._first = np.searchsorted(events[1][order], windows[0], "left")
        self._last = np.maximum(np.searchsorted(events[1][order], windows[1], "right"), self._first)
        self._count = np.zeros(places, np.int64)
        self._at = (0, 0)

    def at(self, index: int) -> Ints:
        """Counts in the ``index``-th window; windows are asked for in order."""
        first, last = int(self._first[index]), int(self._last[index])
        np.add.at(self._count, self._place[self._at[1] : max(last, self._at[1])], 1)
        np.subtract.at(self._count, self._place[self._at[0] : max(first, self._at[0])], 1)
        self._at = (max(first, self._at[0]), max(last, self._at[1]))
        return self._count


def binomial_tail(chance: Floats, found: int) -> float:
    """Give the chance of ``found`` successes or more among trials of different chances.

    Convolution of binomials, one per distinct chance: every term is positive, so that small tails
    keep their digits.

    Parameters
    ----------
    chance : (trial,) float64
    found : int

    Returns
    -------
    float

    Examples
    --------
    >>> binomial_tail(np.array([0.5, 0.5, 0.25]), 3)
    0.0625
    """
    from scipy.stats import binom

    if found <= 0:
        return 1.0
    if found > chance.size:
        return 0.0
    mass = np.ones(1)
    for one, count in zip(*np.unique(chance, return_counts=True), strict=True):
        mass = np.convolve(mass, binom.pmf(np.arange(count + 1), count, one))
    return float(min(1.0, mass[found:].sum()))
