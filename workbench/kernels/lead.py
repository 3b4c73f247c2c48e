"""How long before the outcome a signal moves, and in what shape (exact.md section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LeadFit", "best_hinge", "best_step", "lead_time", "strongest_stretch"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

HIT = 3.5  # sd of a stretch that counts
SHORT = 5  # bins (25 units): a median stretch up to this long is a burst
NEAREST = 6  # bins (30 units) whose mean ranks the cases
RAMP_VOTE = 0.4  # hinge against step: ramps .42 to .73, steps .06 to .37 (10 to 90 % of simulated worlds)
LEAST_HITS = 3
BOOTSTRAPS = 199


@dataclass(frozen=True, kw_only=True)
class LeadFit:
    """Onset in bins before the near edge of the window; NaN where nothing moved.

    Attributes
    ----------
    bins, low, high : float
        Median or fitted onset, and its bootstrap interval (95 %, and one bin either way).
    quality : str
        ``burst``, ``ramp`` or ``step``.
    """

    bins: float
    low: float
    high: float
    quality: str


def lead_time(profile: Floats, noise: Floats, *, spread: bool, rng: np.random.Generator) -> LeadFit:
    """Tell shape and onset from case-minus-controls profiles.

    Parameters
    ----------
    profile : (set, bin) float64
        Case minus mean of controls in bins of 5 units, oldest first, the direction of the effect
        up. Finite.
    noise : (bin,) float64
        Sd of the same difference among controls.
    spread : bool
        True for profiles of ln sd: these are fitted by a step only.
    rng : numpy.random.Generator
        For the bootstrap over sets.

    Returns
    -------
    LeadFit

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> profile = rng.normal(0, 1, (40, 22)) + 2.0 * (np.arange(22) >= 10)
    >>> fit = lead_time(profile, np.ones(22), spread=False, rng=rng)
    >>> fit.quality, fit.bins
    ('step', 12.0)
    """
    sets, bins = profile.shape
    if sets < 2 or bins < 3:
        return LeadFit(bins=float("nan"), low=float("nan"), high=float("nan"), quality="")
    scaled = profile / np.where(noise > 0, noise, 1.0)
    start, length, size = strongest_stretch(scaled)
    hit = size >= HIT
    quality = _quality(profile, length[hit], spread=spread)
    chosen = rng.integers(0, sets, size=(BOOTSTRAPS, sets))
    if quality == "burst":
        onsets = np.where(hit, bins - start, np.nan).astype(np.float64)
        estimate = float(np.nanmedian(onsets))
        draws = [float(np.median(x)) if (x := onsets[c][hit[c]]).size else np.nan for c in chosen]
    else:
        fit = best_hinge if quality == "ramp" else best_step
        estimate = float(bins - fit(profile.mean(axis=0)))
        draws = [float(bins - fit(profile[c].mean(axis=0))) for c in chosen]
    low, high = np.nanpercentile(draws, [2.5, 97.5])
    return LeadFit(
        bins=estimate,
        low=float(max(0.0, min(low - 1.0, estimate))),
        high=float(max(high + 1.0, estimate)),
        quality=quality,
    )


def strongest_stretch(scaled: Floats) -> tuple[Indices, Indices, Floats]:
    """Find the run of bins with the largest sum over the root of its length, per row.

    Parameters
    ----------
    scaled : (row, bin) float64
        In sd.

    Returns
    -------
    start, length : (row,) int64
    size : (row,) float64

    Examples
    --------
    >>> start, length, size = strongest_stretch(np.array([[0.0, 4.0, 4.0, -1.0]]))
    >>> start.tolist(), length.tolist(), size.round(2).tolist()
    ([1], [2], [5.66])
    """
    rows, bins = scaled.shape
    total = np.concatenate([np.zeros((rows, 1)), np.cumsum(scaled, axis=1)], axis=1)
    first, last = np.triu_indices(bins + 1, 1)
    sums = (total[:, last] - total[:, first]) / np.sqrt(last - first)
    best = sums.argmax(axis=1)
    return first[best], (last - first)[best], sums[np.arange(rows), best]


def best_step(profile: Floats) -> int:
    """Give the bin at which the least-squares step up begins.

    Examples
    --------
    >>> best_step(np.array([0.0, 0.1, 0.0, 2.0, 2.1]))
    3
    """
    return int(_step_losses(profile[None, :])[0].argmin()) + 1


def best_hinge(profile: Floats) -> int:
    """Give the bin at which the least-squares hinge a + b max(0, t - t0) leaves its level.

    Examples
    --------
    >>> best_hinge(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0]))
    3
    """
    return int(_hinge_losses(profile[None, :])[0].argmin())


def _quality(profile: Floats, lengths: Indices, *, spread: bool) -> str:
    if spread:
        return "step"
    if lengths.size >= LEAST_HITS and np.median(lengths) <= SHORT:
        return "burst"
    nearest = profile[:, -NEAREST:].mean(axis=1)
    third = np.argsort(-nearest, kind="stable")[: max(1, profile.shape[0] // 3)]
    ramp, step = _hinge_losses(profile[third]).min(axis=1), _step_losses(profile[third]).min(axis=1)
    return "ramp" if (ramp < step).mean() > RAMP_VOTE else "step"


def _step_losses(profile: Floats) -> Floats:
    """(row, bin - 1): squared error of a step up before bin 1, 2 ...; a step down costs what no step does."""
    bins = profile.shape[1]
    before = np.cumsum(profile, axis=1)[:, :-1]
    size = np.arange(1, bins)
    rise = (profile.sum(axis=1, keepdims=True) - before) / (bins - size) - before / size
    gain = np.maximum(rise, 0.0) ** 2 * size * (bins - size) / bins
    losses: Floats = ((profile - profile.mean(axis=1, keepdims=True)) ** 2).sum(axis=1, keepdims=True) - gain
    return losses


def _hinge_losses(profile: Floats) -> Floats:
    """(row, bin - 1): squared error of a hinge that leaves its level at bin 0, 1 ...; a fall costs as no hinge."""
    bins = profile.shape[1]
    time = np.arange(bins)
    hinge = np.maximum(0.0, time - np.arange(bins - 1)[:, None] + 1.0)
    hinge -= hinge.mean(axis=1, keepdims=True)
    centred = profile - profile.mean(axis=1, keepdims=True)
    rise = np.maximum(centred @ hinge.T, 0.0)
    losses: Floats = (centred**2).sum(axis=1, keepdims=True) - rise**2 / (hinge**2).sum(axis=1)
    return losses
