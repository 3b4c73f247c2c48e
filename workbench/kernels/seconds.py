"""Two kinds of event within seconds at one device: together, and in which order (METHOD scopes, section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ResourceError
from workbench.kernels.propagate import tail

__all__ = ["LEAST_JITTER_S", "Ordered", "Together", "ordered", "sign_p", "together"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
At = tuple[Ints, Ints]  # place and time, microseconds

LEAST_JITTER_S = 60.0  # narrower misses the holes between incidents, wider sees whole incidents
_REACHES = 6  # the jitter is this many reaches wide, at least


@dataclass(frozen=True, eq=False, kw_only=True)
class Together:
    """How many a have a b near them, and what moving each a about by chance gives.

    Attributes
    ----------
    near : (a,) bool
    chance : (a,) float64
        That the same a, moved at random, has one.
    p : float
        Exact chance of so many or more.
    """

    near: Bools
    chance: Floats
    p: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Ordered:
    """Which a have a b after them, and which one before.

    Attributes
    ----------
    forward, backward : (a,) bool
    gap_us : (a,) float64
        From a to the first b after it; NaN: none.
    """

    forward: Bools
    backward: Bools
    gap_us: Floats

    @property
    def p(self) -> float:
        """Exact one-sided chance of so many forward among all in order."""
        return sign_p(int(self.forward.sum()), int(self.backward.sum()))


def together(a: At, b: At, *, reach: int) -> Together:
    """Compare with every a moved by +-U(2 reach, J) at its own device, J = max(60 s, 6 reach).

    Minutes that are rich in both stay rich when an a is moved by a minute; what is lost is that they
    go together within seconds. The chance of each moved a is known exactly, so nothing is drawn: p is
    the tail of a sum of trials of different chances.

    Parameters
    ----------
    a, b : (place, time), each (event,) int64
        First events of bursts; microseconds.
    reach : int
        Longest distance that counts, either way, microseconds: window and what clocks cannot tell.

    Returns
    -------
    Together

    Examples
    --------
    >>> place, ts = np.zeros(6, np.int64), np.arange(6) * 600_000_000
    >>> found = together((place, ts), (place, ts + 1_000_000), reach=5_000_000)
    >>> int(found.near.sum()), float(found.chance.max()), found.p < 0.001
    (6, 0.0, True)
    """
    jitter = max(round(LEAST_JITTER_S * 1e6), _REACHES * reach)
    at, known = _keys(a, b, 2 * jitter)
    known = np.sort(known)
    near = np.searchsorted(known, at + reach, "right") > np.searchsorted(known, at - reach, "left")
    covered = _Covered(known, reach)
    before = covered.up_to(at - 2 * reach) - covered.up_to(at - jitter)
    after = covered.up_to(at + jitter) - covered.up_to(at + 2 * reach)
    chance = np.clip((before + after) / (2.0 * (jitter - 2 * reach)), 0.0, 1.0)
    return Together(near=near, chance=chance, p=tail(chance, int(near.sum())))


def ordered(a: At, b: At, *, unsure: int, window: int) -> Ordered:
    """Tell which a have a b in (unsure, unsure + window] after them, and which before.

    Parameters
    ----------
    a, b : (place, time), each (event,) int64
    unsure : int
        What clocks, resolutions and delays cannot tell, the same both ways, microseconds.
    window : int

    Examples
    --------
    >>> here = np.zeros(2, np.int64)
    >>> found = ordered((here, np.array([0, 100])), (here, np.array([5, 93])), unsure=1, window=10)
    >>> found.forward.tolist(), found.backward.tolist(), found.gap_us.tolist()
    ([True, False], [False, True], [5.0, nan])
    """
    at, known = _keys(a, b, 2 * (unsure + window))
    known = np.sort(known)
    first = np.searchsorted(known, at + unsure, "right")
    last = np.searchsorted(known, at - unsure, "left") - 1
    padded = np.concatenate([known, [np.iinfo(np.int64).max]])
    gap = np.where(first < known.size, padded[np.minimum(first, known.size)] - at, np.iinfo(np.int64).max)
    forward = gap <= unsure + window
    backward = (
        (last >= 0) & (at - known[np.maximum(last, 0)] <= unsure + window) if known.size else np.zeros(at.size, bool)
    )
    return Ordered(forward=forward, backward=backward, gap_us=np.where(forward, gap.astype(np.float64), np.nan))


def sign_p(forward: int, backward: int) -> float:
    """P(Bin(F + R, 1/2) >= F), exact.

    Examples
    --------
    >>> sign_p(5, 1), sign_p(0, 0)
    (0.109375, 1.0)
    """
    from scipy.stats import binom

    return float(binom.sf(forward - 1, forward + backward, 0.5)) if forward + backward else 1.0


class _Covered:
    """Length of time within ``reach`` of any of some sorted times, up to a time."""

    def __init__(self, known: Ints, reach: int) -> None:
        fresh = np.append(True, np.diff(known) > 2 * reach)[: known.size]
        self.start = known[fresh] - reach
        ends = np.append(np.flatnonzero(fresh)[1:], known.size) - 1
        self.length = (known[ends] + reach - self.start) if known.size else known
        self.before = np.concatenate([[0], np.cumsum(self.length)])

    def up_to(self, at: Ints) -> Ints:
        """(time,) int64: microseconds covered before each time."""
        if not self.start.size:
            return np.zeros(at.size, np.int64)
        index = np.searchsorted(self.start, at, "right") - 1
        inside = np.minimum(at - self.start[np.maximum(index, 0)], self.length[np.maximum(index, 0)])
        return np.where(index >= 0, self.before[np.maximum(index, 0)] + inside, 0)


def _keys(a: At, b: At, room: int) -> tuple[Ints, Ints]:
    """Give each event one number by place and time, with room between places."""
    times = np.concatenate([a[1], b[1]])
    if not times.size:
        return a[1], b[1]
    start = int(times.min())
    stride = int(times.max()) - start + room + 1
    names, index = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    if names.size * stride >= 2**62:
        raise ResourceError(
            f"{names.size} places over {stride / 8.64e10:.0f} days are too much at once; take a shorter span."
        )
    keys = index.astype(np.int64) * stride + times - start
    return keys[: a[1].size], keys[a[1].size :]
