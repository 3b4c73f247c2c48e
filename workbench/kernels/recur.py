"""Whether what failed fails again: failures dealt out by chance to what was at risk, rates, and rates drawn together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ResourceError

__all__ = ["RiskSets", "again_within", "next_gap", "poisson_bounds", "risk_sets", "same_pairs", "shrunken"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_MOST_CELLS = 200_000_000  # places over all sets, 1.6 GB


@dataclass(frozen=True, eq=False, kw_only=True)
class RiskSets:
    """For each failure, the places that could have been the one that failed.

    Attributes
    ----------
    of : (failure,) int64
        Which set.
    starts : (set + 1,) int64
        Where the places of each set begin in ``places``.
    places : (member,) int64
    """

    of: Ints
    starts: Ints
    places: Ints

    @property
    def size(self) -> Ints:
        """(failure,) int64: places at risk at each failure."""
        size: Ints = np.diff(self.starts)[self.of]
        return size

    def deal(self, rng: np.random.Generator) -> Ints:
        """(failure,) int64: a place at risk for each failure, all equally likely."""
        size = self.size
        at = np.minimum((rng.random(self.of.size) * size).astype(np.int64), size - 1)
        dealt: Ints = self.places[self.starts[self.of] + at]
        return dealt

    def expected(self, count: int) -> Floats:
        """(place,) float64: failures that each of ``count`` places gets on average."""
        per_set = np.bincount(self.of, minlength=self.starts.size - 1) / np.maximum(np.diff(self.starts), 1)
        weight = np.repeat(per_set, np.diff(self.starts))
        return np.bincount(self.places, weights=weight, minlength=count).astype(np.float64)

    def chances(self, place: int) -> Floats:
        """(failure,) float64: the chance of each failure at risk with it to be that of one place."""
        inside = np.zeros(self.starts.size - 1, bool)
        members = np.flatnonzero(self.places == place)
        inside[np.searchsorted(self.starts, members, "right") - 1] = True
        chance: Floats = 1.0 / self.size[inside[self.of]]
        return chance


def risk_sets(exposure: tuple[Ints, Ints, Ints], failures: tuple[Ints, Ints], alike: Ints) -> RiskSets:
    """Give for each failure all places of its class that were observed at that moment.

    Parameters
    ----------
    exposure : (place, start, end), each (stretch,) int64
        When each place was observed, both ends included, microseconds. May overlap.
    failures : (place, time), each (failure,) int64
        Each at a place observed at that moment.
    alike : (place,) int64
        Class of each place.

    Returns
    -------
    RiskSets
        Places in ascending order within each set.

    Examples
    --------
    >>> exposure = np.array([0, 1, 2]), np.array([0, 0, 50]), np.array([99, 99, 99])
    >>> sets = risk_sets(exposure, (np.array([0, 2]), np.array([10, 60])), np.zeros(3, np.int64))
    >>> sets.size, sets.expected(3).round(3)
    (array([2, 3]), array([0.833, 0.833, 0.333]))
    """
    place, start, end = exposure
    breaks = np.unique(np.concatenate([start, end + 1]))
    keys = np.stack([alike[failures[0]], np.searchsorted(breaks, failures[1], "right")], axis=1)
    _, first, of = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    if first.size * max(np.unique(place).size, 1) > _MOST_CELLS:
        raise ResourceError(
            f"{first.size} moments by {np.unique(place).size} places are too many to follow; ask about fewer failures, or "
            "leave the exposure out."
        )
    parts = []
    for at in first.tolist():
        seen = (start <= failures[1][at]) & (end >= failures[1][at]) & (alike[place] == alike[failures[0][at]])
        parts.append(np.unique(place[seen]))
    starts = np.cumsum([0, *(part.size for part in parts)]).astype(np.int64)
    return RiskSets(of=of.ravel().astype(np.int64), starts=starts, places=np.concatenate([*parts, place[:0]]))


def same_pairs(place: Ints) -> int:
    """Count the pairs of failures at one place.

    Examples
    --------
    >>> same_pairs(np.array([4, 4, 4, 7]))
    3
    """
    counts = np.bincount(place) if place.size else np.zeros(1, np.int64)
    return int((counts * (counts - 1) // 2).sum())


def next_gap(place: Ints, time: Ints) -> Floats:
    """(failure,) float64: time to the next failure at the same place; infinite where there is none.

    Examples
    --------
    >>> next_gap(np.array([0, 1, 0]), np.array([0, 3, 10]))
    array([10., inf, inf])
    """
    order = np.lexsort((time, place))
    gap = np.full(place.size, np.inf)
    same = place[order][1:] == place[order][:-1]
    gap[order[:-1][same]] = np.diff(time[order])[same]
    return gap


def again_within(place: Ints, time: Ints, horizons: Ints, end: int) -> Ints:
    """Count, for each horizon, the failures that another one at the same place follows so soon.

    Parameters
    ----------
    place, time : (failure,) int64
    horizons : (horizon,) int64
    end : int
        End of observation: a failure counts for the horizons that end before it.

    Returns
    -------
    (horizon,) int64

    Examples
    --------
    >>> again_within(np.array([0, 1, 0]), np.array([0, 3, 10]), np.array([5, 10]), 100)
    array([0, 1])
    """
    gap = next_gap(place, time)
    return np.array([np.count_nonzero((gap <= h) & (time <= end - h)) for h in horizons.tolist()], dtype=np.int64)


def poisson_bounds(count: Ints, exposure: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Give the exact bounds of a rate from a count (Garwood 1936).

    Parameters
    ----------
    count : (place,) int64
    exposure : (place,) float64
        Observed time; NaN bounds where it is 0.

    Returns
    -------
    low, high : (place,) float64
        Per unit of exposure.

    Examples
    --------
    >>> [bound.round(3) for bound in poisson_bounds(np.array([0, 10]), np.array([1.0, 1.0]))]
    [array([0.   , 4.795]), array([ 3.689, 18.39 ])]
    """
    from scipy.stats import chi2

    tail = (1 - level) / 2
    low = np.where(count > 0, chi2.ppf(tail, 2 * np.maximum(count, 1)) / 2, 0.0)
    high = chi2.ppf(1 - tail, 2 * count + 2) / 2
    some = np.where(exposure > 0, exposure, np.nan)
    return low / some, high / some


def shrunken(count: Ints, expected: Floats, level: float = 0.95) -> tuple[Floats, Floats, Floats, float]:
    """Draw noisy ratios of count to expected towards 1, as far as the spread of all of them says.

    Gamma-Poisson: every place has a ratio of its own, gamma distributed around 1 with a shape that
    is estimated from all counts by maximum likelihood (Robbins 1956; Clayton and Kaldor 1987).

    Parameters
    ----------
    count : (place,) int64
    expected : (place,) float64
        NaN or 0: no exposure; such a place tells nothing.

    Returns
    -------
    ratio, low, high : (place,) float64
        Mean of the posterior and its central interval, given the shape: too narrow where few counts
        say little about it, and drawn in too far for a few places that are far out.
    shape : float
        The larger, the more alike the places are; 1e6: no spread beyond chance.

    Examples
    --------
    >>> ratio, low, high, shape = shrunken(np.array([0, 1, 2, 1]), np.ones(4))
    >>> ratio.round(2), shape
    (array([1., 1., 1., 1.]), 1000000.0)
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln
    from scipy.stats import gamma

    known = np.isfinite(expected) & (expected > 0)
    n, e = count[known], expected[known]

    order = np.lexsort((e, n))  # the last bits of a sum hang on its order, and the optimum is flat
    some, at_risk = n[order], e[order]

    def loss(log_shape: float) -> float:
        a = np.exp(log_shape)
        parts = gammaln(some + a) - gammaln(a) - a * np.log1p(at_risk / a) - some * np.log(a + at_risk)
        return -float(np.sum(parts))

    largest = np.log(1e6)
    best = float(minimize_scalar(loss, bounds=(np.log(1e-3), largest), method="bounded", options={"xatol": 1e-6}).x)
    shape = float(np.exp(best)) if loss(best) < loss(largest) - 1e-3 else 1e6
    tail, ratio, low, high = (1 - level) / 2, *(np.full(count.shape, np.nan) for _ in range(3))
    ratio[known] = (shape + n) / (shape + e)
    low[known], high[known] = (gamma.ppf(at, shape + n, scale=1 / (shape + e)) for at in (tail, 1 - tail))
    return ratio, low, high, shape
