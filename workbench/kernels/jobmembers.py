"""How far the members of one job depart from one another, each against its own past (METHOD scopes, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_MEMBERS", "Departures", "departures", "job_statistic", "member_score", "size_class"]

Floats = NDArray[np.float64]

LEAST_MEMBERS = 5  # of fewer no spread can be told
MAD_TO_SD = 1.4826
MEAN_TO_SD = 1.2533  # of mean absolute deviations, where more than half are equal
LEAST_SEEN = 0.5  # share of baseline and of window that must be observed
CAP = 8.0
FLOOR = 0.1  # a z below this says nothing: quantised metrics, of which most members stand still


@dataclass(frozen=True, eq=False, kw_only=True)
class Departures:
    """Of every member. NaN: not observed well enough.

    Attributes
    ----------
    d : (member,) float64
        Mean over the window, against the same over the past, of value minus own earlier mean minus
        the median of the members.
    z_peers : (member,) float64
        ``|d|`` over 1.4826 MAD of the members; infinite where all others moved alike.
    z_own : (member,) float64
        ``|d|`` over the same of the member's own earlier stretches as long as the window.
    """

    d: Floats
    z_peers: Floats
    z_own: Floats

    @property
    def members(self) -> int:
        """How many were observed."""
        return int(np.isfinite(self.d).sum())


def departures(values: Floats, *, baseline: int, window: int) -> Departures | None:
    """Measure how far each member departs from the others, own level first.

    The median of raw levels moves when a member crosses it; that of levels above the own past does not.

    Parameters
    ----------
    values : (member, bin) float64
        One metric of one job, oldest bin first. NaN: not observed.
    baseline, window : int
        The first ``baseline`` bins are the past, the last ``window`` bins are asked about.

    Returns
    -------
    Departures or None
        None: fewer than five members with half of past and window observed.

    Examples
    --------
    >>> job = np.array([[10, 11, 10, 12, 11, 10], [20, 21, 19, 20, 21, 20], [5, 5, 6, 5, 4, 5],
    ...                 [8, 9, 8, 8, 14, 15], [30, 29, 31, 30, 30, 31]], dtype=float)
    >>> found = departures(job, baseline=4, window=2)
    >>> int(np.argmax(found.z_peers)), round(float(found.z_peers.max()), 8)
    (3, 5.45213364)
    """
    width = values.shape[1]
    past, last = np.isfinite(values[:, :baseline]), np.isfinite(values[:, width - window :])
    seen = (past.mean(axis=1) >= LEAST_SEEN) & (last.mean(axis=1) >= LEAST_SEEN) if values.size else np.zeros(0, bool)
    if seen.sum() < LEAST_MEMBERS:
        return None
    level = values[seen] - np.nanmean(values[seen, :baseline], axis=1, keepdims=True)
    known = np.isfinite(level).any(axis=0)
    apart = np.full(level.shape, np.nan)
    apart[:, known] = level[:, known] - np.nanmedian(level[:, known], axis=0)
    apart -= np.nanmean(apart[:, :baseline], axis=1, keepdims=True)  # the median of the members has a past too
    d = np.nanmean(apart[:, width - window :], axis=1)
    distance = np.abs(d)
    answer = np.full((3, seen.size), np.nan)
    answer[0, seen] = d
    answer[1, seen] = _over(distance, _spread(d[None, :])[0])
    answer[2, seen] = _over(distance, _spread(_stretches(apart[:, :baseline], window)))
    return Departures(d=answer[0], z_peers=answer[1], z_own=answer[2])


def job_statistic(z_peers: Floats) -> float:
    """Give T = 2 ln z(1) - ln z(2) of the two largest: how far the first is out, and how alone.

    Load, age and phase move both together, so that T stays (scopes.md, section 3).

    Examples
    --------
    >>> round(job_statistic(np.array([5.0, 1.0, 0.5, np.nan])), 6) == round(2 * float(np.log(5)), 6)
    True
    """
    known = np.sort(z_peers[np.isfinite(z_peers) | np.isposinf(z_peers)])
    if known.size < 2:
        return float("nan")
    second, first = np.log(np.clip(known[-2:], FLOOR, 1.0 / np.finfo(float).eps))
    return float(2.0 * first - second)


def member_score(found: Departures) -> Floats:
    """Give min(z over the peers, z over the own past, 8)^2 of every member; 0 where it was not observed.

    Returns
    -------
    (member,) float64
        Summed over metrics this ranks the members of a job.

    Examples
    --------
    >>> member_score(Departures(d=np.ones(2), z_peers=np.array([9.0, np.nan]), z_own=np.array([20.0, 1.0]))).tolist()
    [64.0, 0.0]
    """
    smaller = np.minimum(np.minimum(found.z_peers, found.z_own), CAP)
    return np.where(np.isnan(smaller), 0.0, smaller) ** 2


def size_class(members: int) -> int:
    """Give the power of two of a size: 4 to 7 members are one class, 8 to 15 the next.

    Examples
    --------
    >>> size_class(4) == size_class(7), size_class(7) == size_class(8)
    (True, False)
    """
    return max(members, 1).bit_length()


def _stretches(apart: Floats, window: int) -> Floats:
    """(member, stretch) means over every stretch of the past as long as the window."""
    if apart.shape[1] < 2 * window:
        return apart
    view = np.lib.stride_tricks.sliding_window_view(apart, window, axis=1)
    count = np.isfinite(view).sum(axis=2)
    total = np.where(np.isfinite(view), view, 0.0).sum(axis=2)
    return np.where(count >= LEAST_SEEN * window, total / np.maximum(count, 1), np.nan)


def _spread(values: Floats) -> Floats:
    """(row,) robust sd of each row; 0 where nothing ever moved."""
    known = np.isfinite(values).any(axis=1)
    spread = np.zeros(values.shape[0])
    rows = values[known]
    distance = np.abs(rows - np.nanmedian(rows, axis=1, keepdims=True))
    mad = MAD_TO_SD * np.nanmedian(distance, axis=1)
    spread[known] = np.where(mad > 0, mad, MEAN_TO_SD * np.nanmean(distance, axis=1))
    return spread


def _over(distance: Floats, spread: Floats | np.float64) -> Floats:
    """Divide; infinite where something departs from what never moved, 0 where nothing moved."""
    scale = np.broadcast_to(spread, distance.shape)
    tiny = 1e-12 * (1.0 + distance.max(initial=0.0))
    moved = distance > tiny
    return np.where(scale > tiny, distance / np.where(scale > tiny, scale, 1.0), np.where(moved, np.inf, 0.0))
