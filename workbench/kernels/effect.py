"""How large an effect is, and before how many episodes (exact.md section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.matched import case_mask, set_of

__all__ = [
    "Share",
    "Shift",
    "affected_share",
    "apart_from_set",
    "conditional_z",
    "effective_features",
    "mean_shift",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

Z_INTERVAL = 2.87  # 5 %, two-sided, over 12 features
TAIL = 0.05  # of the controls beyond the point that counts as moved
LOWER_LEVEL = TAIL / 24
LIKELIHOOD_DROP = 3.0
SMALLEST_SHIFT = 0.5  # an affected case lies at least this many control sd above the controls' mean
SHARES = np.linspace(0.0, 1.0, 51)
ROUNDS = 60


@dataclass(frozen=True, kw_only=True)
class Shift:
    """Mean of case minus controls in sd of the controls, +- 2.87 standard errors."""

    mean: float
    low: float
    high: float
    error: float


@dataclass(frozen=True, kw_only=True)
class Share:
    """Share of episodes affected, with its limits; NaN where it cannot be told."""

    estimate: float
    low: float
    high: float


def mean_shift(differences: Floats, v: float) -> Shift:
    """Average the differences of one feature.

    Parameters
    ----------
    differences : (set,) float64
        Case minus mean of controls, in sd of the controls.
    v : float
        Variance inflation.

    Examples
    --------
    >>> shift = mean_shift(np.array([1.0, 1.2, 0.8, 1.0]), 1.0)
    >>> round(shift.mean, 3), round(shift.low, 3)
    (1.0, 0.766)
    """
    sets = differences.size
    if sets < 2 or not np.isfinite(differences).all():
        return Shift(mean=float("nan"), low=float("nan"), high=float("nan"), error=float("nan"))
    mean = float(differences.mean())
    error = float(differences.std(ddof=1) / np.sqrt(sets) * np.sqrt(max(1.0, v)))
    return Shift(mean=mean, low=mean - Z_INTERVAL * error, high=mean + Z_INTERVAL * error, error=error)


def effective_features(scores: Floats) -> float:
    """Count features that differ: (sum of eigenvalues)^2 / sum of squares, of their correlation.

    Examples
    --------
    >>> x = np.array([[1.0, 1.0], [-1.0, -1.0], [2.0, 2.0]])
    >>> round(effective_features(x), 6)
    1.0
    """
    moved = scores[:, scores.std(axis=0) > 0]
    if moved.shape[1] < 2:
        return 1.0
    correlation = np.corrcoef(moved, rowvar=False)
    return float(moved.shape[1] ** 2 / (correlation * correlation).sum())


def conditional_z(z: float, passing: float) -> float:
    """Correct |z| for having been seen because it passed: maximise phi(|z| - g) / P(|Z| > c | g).

    Parameters
    ----------
    z : float
    passing : float
        c, the |z| that was needed to pass.

    Returns
    -------
    float
        g with the sign of ``z``; ``z`` itself where it did not pass.

    Examples
    --------
    >>> 0 < conditional_z(3.5, 3.3) < 1.5, round(conditional_z(8.0, 3.3), 2), conditional_z(-2.0, 3.3)
    (True, 8.0, -2.0)
    """
    from scipy.optimize import minimize_scalar
    from scipy.stats import norm

    size = abs(z)
    if size < passing or not np.isfinite(size):
        return z

    def loss(g: float) -> float:
        return 0.5 * (size - g) ** 2 + float(np.logaddexp(norm.logsf(passing - g), norm.logcdf(-passing - g)))

    fit = minimize_scalar(loss, bounds=(0.0, size + 1.0), method="bounded", options={"xatol": 1e-6})
    return float(np.sign(z) * fit.x)


def apart_from_set(scores: Floats, offsets: Indices) -> tuple[Floats, Floats]:
    """Cases and controls, each minus the mean of the (other) controls of its set.

    Parameters
    ----------
    scores : (member, feature) float64

    Returns
    -------
    cases : (set, feature) float64
    controls : (control, feature) float64
        Only of sets with two controls or more; scaled so that cases and controls spread alike.
    """
    case = case_mask(offsets)
    owner = set_of(offsets)[~case]
    count = (np.diff(offsets) - 1).astype(np.float64)
    total = np.zeros((count.size, scores.shape[1]))
    np.add.at(total, owner, scores[~case])
    cases = scores[case] - total / np.maximum(count, 1.0)[:, None]
    others = np.maximum(count - 1.0, 1.0)
    apart = scores[~case] - (total[owner] - scores[~case]) / others[owner][:, None]
    alike = np.sqrt((1.0 + 1.0 / np.maximum(count, 1.0)) / (1.0 + 1.0 / others))
    return cases, (apart * alike[owner][:, None])[count[owner] >= 2]


def affected_share(cases: Floats, controls: Floats) -> Share:
    """Estimate the share of episodes before which the signal moved.

    Mixture (1 - s) f0 + s N(mu, sd) with f0 the kernel density of the controls and mu at least
    half a sd above their mean. Lower limit: exact binomial limit (level .05 / 24) of the cases
    above the controls' 95 % point, (P - .05) / .95. Upper limit: where the profile likelihood
    has dropped by 3.

    Parameters
    ----------
    cases : (set,) float64
        Larger is more affected.
    controls : (control,) float64

    Returns
    -------
    Share

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> moved = np.r_[rng.normal(4, 1, 60), rng.normal(0, 1, 40)]
    >>> share = affected_share(moved, rng.normal(0, 1, 1000))
    >>> abs(share.estimate - 0.6) < 0.1, share.low < 0.6 < share.high
    (True, True)
    """
    from scipy.stats import beta

    nothing = Share(estimate=float("nan"), low=float("nan"), high=float("nan"))
    if cases.size < 2 or controls.size < 10 or controls.std() == 0:
        return nothing
    middle, sd = float(controls.mean()), float(controls.std())
    x, background = (cases - middle) / sd, (controls - middle) / sd
    beyond = int((x > np.quantile(background, 1.0 - TAIL)).sum())
    certain = float(beta.ppf(LOWER_LEVEL, beyond, x.size - beyond + 1)) if beyond else 0.0
    low = max(0.0, (certain - TAIL) / (1.0 - TAIL))
    profile = _profile(x, _density(x, background))
    best = int(profile.argmax())
    allowed = np.flatnonzero(profile >= profile[best] - LIKELIHOOD_DROP)
    estimate = float(SHARES[best])
    return Share(estimate=estimate, low=min(low, estimate), high=float(SHARES[allowed[-1]]))


def _density(x: Floats, background: Floats) -> Floats:
    """Kernel density of the controls at ``x`` (Silverman's width), never quite zero."""
    q75, q25 = np.quantile(background, [0.75, 0.25])
    spread = min(1.0, (q75 - q25) / 1.34) or 1.0
    width = 0.9 * spread * background.size**-0.2
    away = (x[:, None] - background) / width
    density = np.exp(-0.5 * away * away).mean(axis=1) / (width * np.sqrt(2.0 * np.pi))
    wide = np.exp(-0.5 * (x / 3.0) ** 2) / (3.0 * np.sqrt(2.0 * np.pi))  # tails that no control showed
    mixed: Floats = 0.99 * density + 0.01 * wide
    return mixed


def _profile(x: Floats, background: Floats) -> Floats:
    """Log likelihood of each share, mu and sd at their best (EM from three starts)."""
    best = np.full(SHARES.size, -np.inf)
    share = SHARES[:, None]
    for start in np.quantile(x, [0.5, 0.75, 0.95]):
        mu = np.full((SHARES.size, 1), max(float(start), SMALLEST_SHIFT))
        sd = np.ones_like(mu)
        for _ in range(ROUNDS):
            moved = share * np.exp(-0.5 * ((x - mu) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi))
            weight = moved / (moved + (1.0 - share) * background + 1e-300)
            total = weight.sum(axis=1, keepdims=True) + 1e-12
            mu = np.maximum((weight * x).sum(axis=1, keepdims=True) / total, SMALLEST_SHIFT)
            sd = np.sqrt((weight * (x - mu) ** 2).sum(axis=1, keepdims=True) / total).clip(0.3, 3.0)
        moved = share * np.exp(-0.5 * ((x - mu) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi))
        best = np.maximum(best, np.log(moved + (1.0 - share) * background + 1e-300).sum(axis=1))
    return best
