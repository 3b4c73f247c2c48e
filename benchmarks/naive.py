"""Two recipes in common use, as comparators: what they flag on worlds whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.multiplicity import adjusted_p, bonferroni
from workbench.kernels.windows import cut

__all__ = ["before_after_flags", "best_lag_flags"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

LAGS = 120  # minutes
BEFORE, BASELINE = 120, 360


def best_lag_flags(signals: Sequence[Floats], row: Indices, end: Indices, *, alpha: float = 0.05) -> NDArray[np.bool_]:
    """Largest lagged Pearson r with the failure indicator, Fisher p, Bonferroni over lags and signals.

    Every host is standardised over its own time; all host-minutes are pooled, as if independent.
    """
    from scipy.stats import norm

    p = []
    for values in signals:
        z = _standardised(values)
        before = cut(z, row, end, near=0, far=LAGS)
        count = np.isfinite(before).sum(axis=0)
        size = np.isfinite(z).sum()
        # r of an indicator with F ones among n standardised values is (sum / n) / sqrt(F / n)
        r = np.nansum(before, axis=0) / np.sqrt(np.maximum(count, 1) * size)
        strongest = float(np.abs(np.arctanh(np.clip(r, -0.999999, 0.999999))).max()) * np.sqrt(size - 3)
        p.append(min(1.0, 2.0 * norm.sf(strongest) * LAGS))
    return bonferroni(np.array(p)) <= alpha


def before_after_flags(
    signals: Sequence[Floats], row: Indices, end: Indices, *, alpha: float = 0.05
) -> NDArray[np.bool_]:
    """Kolmogorov-Smirnov: all samples of the two hours before against those of the four before that, BH."""
    from scipy.stats import ks_2samp

    p = []
    for values in signals:
        near = cut(values, row, end, near=0, far=BEFORE).ravel()
        far = cut(values, row, end, near=BEFORE, far=BASELINE).ravel()
        p.append(ks_2samp(near[np.isfinite(near)], far[np.isfinite(far)], method="asymp").pvalue)
    return adjusted_p(np.array(p), dependent=False) <= alpha


def _standardised(values: Floats) -> Floats:
    known = np.isfinite(values)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    mean = np.where(known, values, 0.0).sum(axis=1, keepdims=True) / count
    away = np.where(known, values - mean, 0.0)
    sd = np.sqrt((away * away).sum(axis=1, keepdims=True) / count)
    return np.where(known & (sd > 0), away / np.where(sd > 0, sd, 1.0), np.nan)
