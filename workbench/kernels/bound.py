"""The largest effect that the data still allow (exact.md section 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.matched import case_mask, set_of

__all__ = ["case_differences", "control_deviation", "episodes_needed", "upper_bound"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

Z_ONE_SIDED = 1.645  # 95 %
Z_POWER = 0.84  # 80 %


def control_deviation(scores: Floats, offsets: Indices) -> Floats:
    """Sd of controls around the mean of their set's controls, pooled, per feature.

    NaN where no set has two controls.

    Examples
    --------
    >>> control_deviation(np.array([[9.0], [1.0], [-1.0]]), np.array([0, 3])).round(4).tolist()
    [1.4142]
    """
    case = case_mask(offsets)
    owner = set_of(offsets)[~case]
    controls = scores[~case]
    count = np.diff(offsets) - 1
    mean = _set_sums(controls, owner, count.size) / np.maximum(count, 1)[:, None]
    squares = ((controls - mean[owner]) ** 2).sum(axis=0)
    freedom = int(np.maximum(count - 1, 0).sum())
    return np.sqrt(squares / freedom) if freedom else np.full(scores.shape[1], np.nan)


def case_differences(scores: Floats, offsets: Indices) -> Floats:
    """Case minus the mean of its controls, in sd of the controls.

    Parameters
    ----------
    scores : (member, feature) float64
        Winsorised scores.

    Returns
    -------
    (set, feature) float64
        Infinite or NaN where the controls never differ.

    Examples
    --------
    >>> case_differences(np.array([[9.0], [1.0], [-1.0]]), np.array([0, 3])).round(4).tolist()
    [[6.364]]
    """
    case = case_mask(offsets)
    count = np.diff(offsets) - 1
    mean = _set_sums(scores[~case], set_of(offsets)[~case], count.size) / np.maximum(count, 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        differences: Floats = (scores[case] - mean) / control_deviation(scores, offsets)
    return differences


def upper_bound(differences: Floats, v: float) -> float:
    """U = max over features of |d| + 1.645 SE, SE = sd(d_f) / sqrt(F) sqrt(max(1, v)).

    Bounding every feature needs no correction for their number (intersection-union).

    Parameters
    ----------
    differences : (set, feature) float64
        As :func:`case_differences` gives them. Columns that are zero throughout bound nothing.
    v : float
        Variance inflation.

    Returns
    -------
    float
        In sd of the controls; infinite with fewer than two sets.

    Examples
    --------
    >>> round(upper_bound(np.array([[0.1], [-0.1], [0.1], [-0.1]]), 1.0), 4)
    0.095
    """
    sets = differences.shape[0]
    if sets < 2:
        return float("inf")
    error = differences.std(axis=0, ddof=1) / np.sqrt(sets) * np.sqrt(max(1.0, v))
    bounds = np.abs(differences.mean(axis=0)) + Z_ONE_SIDED * error
    largest = float(np.nanmax(bounds, initial=0.0))
    return largest if not np.isnan(bounds).any() else float("inf")


def episodes_needed(
    share: float, shift_sd: float, *, alpha: float, controls: float = 10.0, features: int = 12
) -> float:
    """Episodes that find a signal with 80 % power: F = ((z_alpha s0 + .84 s1) / mean)^2.

    For a score of unit sd that moves by ``shift_sd`` before ``share`` of the episodes; s0 and s1
    are its sd per set under the permutation null and in truth (METHOD section 5).

    Parameters
    ----------
    share, shift_sd : float
    alpha : float
        Level after correction for the number of signals; for the features it is corrected here.
    controls : float
        Controls per case.

    Examples
    --------
    >>> [round(episodes_needed(s, d, alpha=0.05)) for s, d in ((1, 2), (0.6, 2), (0.3, 2), (0.3, 4))]
    [5, 14, 53, 21]
    """
    from scipy.special import ndtri

    n = controls + 1.0
    z_alpha = -float(ndtri(alpha / (2 * features)))
    null = np.sqrt(1.0 + share * shift_sd**2 / n)
    true = np.sqrt(1.0 + share * (1.0 - share) * shift_sd**2)
    return float(((z_alpha * null + Z_POWER * true) / (share * shift_sd * np.sqrt(controls / n))) ** 2)


def _set_sums(values: Floats, owner: Indices, sets: int) -> Floats:
    total = np.zeros((sets, values.shape[1]))
    np.add.at(total, owner, values)
    return total
