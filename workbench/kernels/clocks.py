"""How far a clock is ahead of others, from moments that several of them saw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_HOSTS", "REACHES_S", "Moments", "Offset", "agreed_overlap", "offset_of", "shared_moments"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: So many clocks must agree on a moment before it is one.
LEAST_HOSTS = 3
#: How far a clock is looked for, nearest first: one that is right, drifted, or in another time zone.
REACHES_S = (60.0, 1_800.0, 54_000.0)
_SPREAD_S = 15.0  # hosts that see one moment tell it within so much
_ALPHA = 1e-3


@dataclass(frozen=True, eq=False, kw_only=True)
class Moments:
    """Moments that several hosts saw.

    Attributes
    ----------
    at_s : (moment,) float64
        Median over the hosts that agree.
    hosts : (moment,) int64
        How many agree.
    member, member_of : (member,) int64
        Host, and number of the moment, in order of these; a host stands once in a moment.
    member_s : (member,) float64
        When that host says it was.
    """

    at_s: Floats
    hosts: Ints
    member: Ints
    member_of: Ints
    member_s: Floats

    def without(self, host: int) -> tuple[Floats, Ints]:
        """Give times and numbers of hosts of the moments as the other hosts saw them.

        Moments that fewer than two others saw are left out.
        """
        at, count = self.at_s.copy(), self.hosts.copy()
        mine = np.flatnonzero(self.member == host)
        low = np.searchsorted(self.member_of, self.member_of[mine])
        high = np.searchsorted(self.member_of, self.member_of[mine], side="right")
        for place, start, end in zip(mine.tolist(), low.tolist(), high.tolist(), strict=True):
            moment, others = self.member_of[place], np.delete(self.member_s[start:end], place - start)
            at[moment], count[moment] = np.median(others), others.size
        kept = count >= LEAST_HOSTS - 1
        return at[kept], count[kept]


@dataclass(frozen=True, kw_only=True)
class Offset:
    """How far a clock is ahead (seconds; below 0: behind), and from how many shared moments.

    ``low`` to ``high`` is the interval of the median; ``confidence`` is what order statistics
    give for it (0 where it is no interval of a median).
    """

    offset_s: float
    low_s: float
    high_s: float
    shared: int
    confidence: float


def shared_moments(host: Ints, ts_s: Floats, *, spread_s: float = _SPREAD_S) -> Moments:
    """Find moments that at least three hosts saw together, more than chance gives.

    Parameters
    ----------
    host : (event,) int64
    ts_s : (event,) float64
        Times of events of one kind and code, seconds.
    spread_s : float
        Hosts that see one moment tell it within so much.

    Returns
    -------
    Moments
        A group counts where the Poisson chance of so many events within its width, at the mean
        rate of the fleet, is below 0.001 after the number of groups tried.

    Examples
    --------
    >>> host = np.array([0, 1, 2, 0, 1, 2, 3])
    >>> found = shared_moments(host, np.array([100.0, 101.0, 102.0, 9000.0, 9001.0, 9002.0, 40_000.0]))
    >>> found.at_s.tolist(), found.hosts.tolist()
    ([101.0, 9001.0], [3, 3])
    """
    order = np.argsort(ts_s, kind="stable")
    host, ts_s = np.asarray(host)[order], np.asarray(ts_s, np.float64)[order]
    groups = _groups(host, ts_s, spread_s)
    rate = ts_s.size / max(float(ts_s[-1] - ts_s[0]), 1.0) if ts_s.size else 0.0
    found: list[tuple[float, Ints, Floats]] = []
    for low, high in groups:
        names, first = np.unique(host[low:high], return_index=True)
        times = ts_s[low:high][first]
        width = max(float(times.max() - times.min()), 1.0)
        if names.size >= LEAST_HOSTS and _poisson_tail(names.size - 1, rate * width) * len(groups) < _ALPHA:
            found.append((float(np.median(times)), names, times))
    sizes = [names.size for _, names, _ in found]
    return Moments(
        at_s=np.array([at for at, _, _ in found], np.float64),
        hosts=np.array(sizes, np.int64),
        member=np.concatenate([names for _, names, _ in found]).astype(np.int64) if found else np.zeros(0, np.int64),
        member_of=np.repeat(np.arange(len(found)), sizes).astype(np.int64),
        member_s=np.concatenate([times for _, _, times in found]) if found else np.zeros(0),
    )


def _groups(host: Ints, ts_s: Floats, spread_s: float) -> list[tuple[int, int]]:
    """Cut sorted times where a host would come again, or a group would become wider than ``spread_s``.

    Events of one host within ``spread_s`` of each other (its eight GPUs) are one.
    """
    found: list[tuple[int, int]] = []
    start = 0
    for place in range(1, ts_s.size + 1):
        if place == ts_s.size or ts_s[place] - ts_s[start] > spread_s or ts_s[place] - ts_s[place - 1] > spread_s / 2:
            if np.unique(host[start:place]).size >= LEAST_HOSTS:
                found.append((start, place))
            start = place
    return found


def _poisson_tail(least: int, mean: float) -> float:
    """P(count >= least) for a Poisson count, bounded from above by Chernoff where the mean is small."""
    if least <= mean:
        return 1.0
    return float(np.exp(least - mean + least * np.log(max(mean, 1e-300) / least)))


def offset_of(
    moments: Moments, host: int, low_s: Floats, high_s: Floats, *, hosts: int, width_s: float = 2 * _SPREAD_S
) -> Offset | None:
    """Estimate how far a host's clock is ahead of the other hosts'.

    The time from every moment that the others saw to every event of the host within reach: where
    the clock is ahead by d, d comes again and again, and everything else is spread. The densest
    stretch must be denser than chance gives (Poisson bound, corrected for places, reaches and
    hosts). Moments count by how many hosts saw them: hosts that err together do not make the others
    wrong.

    Parameters
    ----------
    moments : Moments
    host : int
    low_s, high_s : (event,) float64
        Between which times each event of the host lies, by its own clock and as it was recorded.
    hosts : int
        How many are tried.
    width_s : float
        How much answers to one moment differ at most.

    Returns
    -------
    Offset or None
        None: too few shared moments.

    Notes
    -----
    The interval is that of the median by order statistics (Conover, Practical Nonparametric
    Statistics, section 3.2), taken over the bounds of each event.

    Examples
    --------
    >>> at = np.arange(8) * 3600.0
    >>> seen = np.concatenate([at, at + 1, at + 2])
    >>> moments = shared_moments(np.repeat([0, 1, 2], 8), seen)
    >>> late = at + 91
    >>> offset_of(moments, 7, late, late, hosts=4).offset_s
    90.0
    """
    at, weight = moments.without(host)
    best: tuple[float, Offset] | None = None
    for reach in REACHES_S:
        gaps = _gaps(at, (low_s + high_s) / 2, max(reach, REACHES_S[1]))
        found = _densest(gaps, weight, reach, width_s)
        if found is None:
            continue
        inside, pairs, events = found
        score = float(weight[pairs].sum())
        chance = (gaps.gap.size - inside + 0.1) * width_s / (2 * max(reach, REACHES_S[1]))
        tried = 2 * reach / width_s * (1 if reach == REACHES_S[0] else hosts)
        sure = pairs.size >= LEAST_HOSTS and _poisson_tail(pairs.size, chance) * tried < _ALPHA
        if sure and (best is None or score > best[0]):
            best = score, _median_interval(low_s[events] - at[pairs], high_s[events] - at[pairs])
    return None if best is None else best[1]


@dataclass(frozen=True, eq=False)
class _Gaps:
    """(pair,) arrays in order of the gap: seconds from a moment to an event, and the two numbers."""

    gap: Floats
    moment: Ints
    event: Ints


def _gaps(at: Floats, seen: Floats, reach: float) -> _Gaps:
    order = np.argsort(seen)
    low = np.searchsorted(seen[order], at - reach)
    sizes = np.searchsorted(seen[order], at + reach, side="right") - low
    moment = np.repeat(np.arange(at.size), sizes)
    places = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(low, sizes)
    event = order[places]
    gap = seen[event] - at[moment]
    by_gap = np.argsort(gap, kind="stable")
    return _Gaps(gap[by_gap], moment[by_gap], event[by_gap])


def _densest(gaps: _Gaps, weight: Ints, reach: float, width: float) -> tuple[int, Ints, Ints] | None:
    """Find the stretch of ``width`` into which the most moments, by weight, have an event.

    Returns
    -------
    (pairs in it, moments, the event of each) or None
    """
    kept = np.abs(gaps.gap) <= reach
    gap, moment, event = gaps.gap[kept], gaps.moment[kept], gaps.event[kept]
    if not gap.size:
        return None
    score = np.concatenate(([0.0], np.cumsum(weight[moment].astype(np.float64))))
    end = np.searchsorted(gap, gap + width, side="right")
    best = int(np.argmax(score[end] - score[:-1]))
    stretch = slice(best, int(end[best]))
    gap, moment, event = gap[stretch], moment[stretch], event[stretch]
    nearest = np.lexsort((np.abs(gap - np.median(gap)), moment))
    moments, first = np.unique(moment[nearest], return_index=True)
    return gap.size, moments, event[nearest][first]


def _median_interval(low: Floats, high: Floats) -> Offset:
    """Give the median and its interval of 99 % by order statistics; of few values, all of them."""
    count = low.size
    low, high = np.sort(low), np.sort(high)
    tail = np.cumsum(_binomial_half(count))
    cut = int(np.searchsorted(tail, 0.005, side="right"))
    cut = max(min(cut, (count + 1) // 2), 1) - 1
    confidence = 1.0 - 2.0 * float(tail[cut])
    middle = float(np.median((low + high) / 2))
    return Offset(
        offset_s=middle, low_s=float(low[cut]), high_s=float(high[count - 1 - cut]), shared=count,
        confidence=max(confidence, 0.0),
    )  # fmt: skip


def _binomial_half(count: int) -> Floats:
    """P(k of count) for a fair coin, k = 0 .. count."""
    k = np.arange(count)
    ratio = np.concatenate(([0.0], np.cumsum(np.log((count - k) / (k + 1)))))
    return np.asarray(np.exp(ratio - count * np.log(2.0)))


def agreed_overlap(low_s: Floats, high_s: Floats) -> Offset | None:
    """Find the offset that most intervals allow: each says that the clock is ahead by low to high.

    Returns
    -------
    Offset or None
        ``low_s`` to ``high_s`` is the stretch that most intervals share, ``shared`` how many; None
        where there are none.

    Examples
    --------
    >>> found = agreed_overlap(np.array([-30.0, -2.0, 400.0]), np.array([30.0, 58.0, 460.0]))
    >>> found.low_s, found.high_s, found.shared
    (-2.0, 30.0, 2)
    """
    if not low_s.size:
        return None
    edges = np.unique(low_s)
    count = np.array([int(((low_s <= edge) & (high_s >= edge)).sum()) for edge in edges])
    best = np.flatnonzero(count == count.max())
    start = float(edges[best[np.argmin(np.abs(edges[best]))]])
    inside = (low_s <= start) & (high_s >= start)
    end = float(high_s[inside].min())
    return Offset(offset_s=(start + end) / 2, low_s=start, high_s=end, shared=int(inside.sum()), confidence=0.0)
