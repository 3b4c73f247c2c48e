"""Conditional logistic regression of matched sets (one case each)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ConditionalLogit", "conditional_logit", "own_p"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

STEPS = 100
FARTHEST = 12.0  # a log odds ratio per sd beyond this is separation: there is no finite estimate


@dataclass(frozen=True, kw_only=True)
class ConditionalLogit:
    """Estimates of a conditional logit.

    Attributes
    ----------
    beta, se : (covariate,) float64
        Log odds ratios per unit and their standard errors; NaN where the data are separated.
    log_likelihood : float
        At ``beta``; where separated, at the point the climb was stopped (nearly its supremum).
    finite : bool
        False where some covariate separates cases from controls.
    """

    beta: Floats
    se: Floats
    log_likelihood: float
    finite: bool


def conditional_logit(x: Floats, offsets: Indices) -> ConditionalLogit:
    """Maximise the conditional likelihood by Newton steps that are halved until they climb.

    Parameters
    ----------
    x : (member, covariate) float64
        Finite; sets as in :mod:`workbench.kernels.matched`, the case first.
    offsets : (set + 1,) int64

    Returns
    -------
    ConditionalLogit

    Examples
    --------
    >>> pairs = np.array([[1.0], [0.0]] * 17 + [[0.0], [1.0]] * 6)
    >>> fit = conditional_logit(pairs, np.arange(0, 47, 2))
    >>> round(float(fit.beta[0]), 6), round(float(np.log(17 / 6)), 6)
    (1.041454, 1.041454)
    """
    beta = np.zeros(x.shape[1])
    value, gradient, information = _likelihood(x, offsets, beta)
    for _ in range(STEPS):
        step = np.linalg.lstsq(information, gradient, rcond=1e-12)[0]
        size = 1.0
        while size > 1e-8:
            trial = beta + size * step
            following = _likelihood(x, offsets, trial)
            if following[0] >= value:
                break
            size /= 2
        gain = following[0] - value
        beta, (value, gradient, information) = trial, following
        if gain <= 1e-12 * max(1.0, abs(value)) or _separated(x, beta):
            break
    finite = not _separated(x, beta) and bool(np.linalg.matrix_rank(information, hermitian=True) == beta.size)
    se = np.sqrt(np.diag(np.linalg.inv(information))) if finite else np.full(beta.size, np.nan)
    return ConditionalLogit(
        beta=beta if finite else np.full(beta.size, np.nan), se=se, log_likelihood=value, finite=finite
    )


def own_p(own: Floats, others: Floats, offsets: Indices) -> float:
    """P of ``own`` beside ``others``: likelihood ratio, one degree of freedom.

    The likelihood ratio stands where one covariate separates cases from controls, and Wald's
    test does not.

    Parameters
    ----------
    own : (member,) float64
    others : (member, covariate) float64

    Examples
    --------
    >>> x = np.array([1.0, 0.0] * 17 + [0.0, 1.0] * 6)
    >>> offsets = np.arange(0, 47, 2)
    >>> own_p(x, x[:, None], offsets) > 0.99  # a copy adds nothing
    True
    """
    from scipy.special import chdtrc

    alone = conditional_logit(others, offsets).log_likelihood if others.shape[1] else _null_likelihood(offsets)
    both = conditional_logit(np.column_stack([own, others]), offsets).log_likelihood
    return float(chdtrc(1, max(0.0, 2.0 * (both - alone))))


def _likelihood(x: Floats, offsets: Indices, beta: Floats) -> tuple[float, Floats, Floats]:
    """Log likelihood, gradient and information at ``beta``."""
    sizes, starts = np.diff(offsets), offsets[:-1]
    score = x @ beta
    largest = np.maximum.reduceat(score, starts)
    weight = np.exp(score - np.repeat(largest, sizes))
    total = np.add.reduceat(weight, starts)
    weight /= np.repeat(total, sizes)
    mean = np.add.reduceat(weight[:, None] * x, starts, axis=0)
    value = float((score[starts] - largest - np.log(total)).sum())
    away = x - np.repeat(mean, sizes, axis=0)
    return value, (x[starts] - mean).sum(axis=0), (weight[:, None] * away).T @ away


def _null_likelihood(offsets: Indices) -> float:
    return -float(np.log(np.diff(offsets)).sum())


def _separated(x: Floats, beta: Floats) -> bool:
    return bool((np.abs(beta) * x.std(axis=0) > FARTHEST).any())
