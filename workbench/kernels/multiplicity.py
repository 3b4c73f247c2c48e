"""Corrections for having tested many signals at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["adjusted_p", "bonferroni", "harmonic", "step_down_max"]

Floats = NDArray[np.float64]


def harmonic(count: int) -> float:
    """c(M) = sum of 1/i for i up to M, the price of any dependence (Benjamini and Yekutieli 2001).

    Examples
    --------
    >>> round(harmonic(60), 4)
    4.6799
    """
    return float((1.0 / np.arange(1, count + 1)).sum())


def adjusted_p(p: Floats, *, dependent: bool, tested: int | None = None) -> Floats:
    """Step-up adjusted p-values (q): Benjamini-Hochberg, or Benjamini-Yekutieli if ``dependent``.

    Parameters
    ----------
    p : (hypothesis,) float64
        NaN: no test was possible; such a hypothesis counts neither way and keeps NaN.
    dependent : bool
        True holds under any dependence.
    tested : int, optional
        Hypotheses in the family, where more were tested than are given here.

    Returns
    -------
    (hypothesis,) float64
        Rejected at level a where q <= a.

    Examples
    --------
    >>> adjusted_p(np.array([0.01, 0.04, 0.03, np.nan]), dependent=False).round(4)
    array([0.03, 0.04, 0.04,  nan])
    """
    known = np.isfinite(p)
    values = p[known]
    family = max(tested or 0, values.size)
    q = np.full(p.shape, np.nan)
    if not values.size:
        return q
    factor = family * (harmonic(family) if dependent else 1.0)
    order = np.argsort(values, kind="stable")
    raised = values[order] * factor / np.arange(1, values.size + 1)
    stepped = np.minimum.accumulate(raised[::-1])[::-1].clip(max=1.0)
    back = np.empty_like(stepped)
    back[order] = stepped
    q[known] = back
    return q


def bonferroni(p: Floats) -> Floats:
    """Bonferroni-adjusted p-values.

    Examples
    --------
    >>> bonferroni(np.array([0.01, 0.4])).tolist()
    [0.02, 0.8]
    """
    raised: Floats = np.minimum(p * np.isfinite(p).sum(), 1.0)
    return raised


def step_down_max(observed: Floats, null: Floats) -> Floats:
    """Westfall-Young step-down maxT adjusted p-values from common draws.

    Parameters
    ----------
    observed : (hypothesis,) float64
        Statistics, larger is more extreme.
    null : (draw, hypothesis) float64
        The same statistics under common relabellings. All relabellings give the exact p; for a
        random sample add the observed row to it.

    Returns
    -------
    (hypothesis,) float64

    Examples
    --------
    >>> step_down_max(np.array([3.0, 1.0]), np.array([[3.0, 1.0], [1.0, 2.0], [0.0, 1.0], [2.0, 0.0]])).tolist()
    [0.25, 0.75]
    """
    order = np.argsort(-observed, kind="stable")
    tail = np.maximum.accumulate(null[:, order][:, ::-1], axis=1)[:, ::-1]
    p = (tail >= observed[order] - 1e-12).mean(axis=0)
    adjusted: Floats = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p)
    return adjusted
