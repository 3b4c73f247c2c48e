"""False discovery rate for claims that come one after another: SAFFRON, LORD++, alpha-spending.

Each rule gives test t a level that depends on the earlier p-values alone, so a decision is final
when it is made. The rules are pure functions of the ordered p-values: nothing is drawn, nothing
is kept between calls, and a longer sequence never changes what was decided in it before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["OnlineDecisions", "alpha_spending", "lord_plus_plus", "saffron"]

Floats = NDArray[np.float64]

#: Makes sum of j^-1.6 one: 1 / zeta(1.6).
_SAFFRON_C = 0.4374901658
#: Javanmard and Montanari 2018, equation 31: makes their sequence sum to one.
_LORD_C = 0.07720838


class OnlineDecisions(NamedTuple):
    """What an online rule decides.

    Attributes
    ----------
    level : (test,) float64
        alpha_t: the level that the p of test t was held against.
    rejected : (test,) bool
        True: p <= level.
    wealth : (test,) float64
        What may still be spent after test t; never below zero.
    """

    level: Floats
    rejected: NDArray[np.bool_]
    wealth: Floats


def saffron(
    p: Floats, *, alpha: float = 0.05, wealth: float = 0.025, candidate: float = 0.5, ceiling: float = 1.0
) -> OnlineDecisions:
    """Decide by SAFFRON: tests with p above ``candidate`` pay, rejections earn.

    Parameters
    ----------
    p : (test,) float64
        In the order in which the tests were made; NaN counts as 1 (no evidence).
    alpha : float
        False discovery rate to keep.
    wealth : float
        What may be spent before the first rejection; between 0 and ``alpha``.
    candidate : float
        lambda: a p at or below it costs nothing.
    ceiling : float
        Levels are never above it, however rich the sequence has grown; lower levels than the
        rule allows keep its guarantee.

    Returns
    -------
    OnlineDecisions

    Raises
    ------
    ValueError
        Where a p-value or a parameter lies outside its range.

    References
    ----------
    Ramdas, Zrnic, Wainwright and Jordan 2018, "SAFFRON", arXiv 1802.09098, with the
    sequence gamma_j proportional to j^-1.6.

    Examples
    --------
    >>> level, rejected, _ = saffron(np.array([0.0004, 0.3, 0.02, 0.0001]))
    >>> level.round(5), rejected
    (array([0.00547, 0.01094, 0.01094, 0.01094]), array([ True, False, False,  True]))
    """
    p = _checked(p, alpha, wealth)
    if not 0 < candidate < 1:
        raise ValueError(f"candidate is {candidate!r}; expected a number between 0 and 1")
    pays = p > candidate
    level = np.zeros(p.size)
    # Rows of the past: how many non-candidates came since the start, and since each rejection.
    since = [0]
    for t in range(p.size):
        share = (1.0 - candidate) * _earned(_power_sequence(np.array(since) + 1), alpha, wealth)
        level[t] = min(candidate, ceiling, share)
        if pays[t]:
            since = [count + 1 for count in since]
        if p[t] <= level[t]:
            since.append(0)
    rejected = p <= level
    spent = np.cumsum(np.where(pays, level, 0.0)) / (1.0 - candidate)
    return OnlineDecisions(level, rejected, _income(rejected, alpha, wealth) - spent)


def lord_plus_plus(p: Floats, *, alpha: float = 0.05, wealth: float = 0.005) -> OnlineDecisions:
    """Decide by LORD++: every test pays, rejections earn; for p-values that may depend.

    Parameters
    ----------
    p : (test,) float64
        In order; NaN counts as 1.
    alpha, wealth : float
        As for :func:`saffron`.

    Returns
    -------
    OnlineDecisions

    Raises
    ------
    ValueError
        Where a p-value or a parameter lies outside its range.

    References
    ----------
    Ramdas, Yang, Wainwright and Jordan 2017, "Online control of the false discovery rate with
    decaying memory", arXiv 1710.00499; the sequence of Javanmard and Montanari 2018, equation 31.

    Examples
    --------
    >>> lord_plus_plus(np.array([0.0002, 0.9])).level.round(6)
    array([0.000268, 0.002466])
    """
    p = _checked(p, alpha, wealth)
    level = np.zeros(p.size)
    starts = [0]
    for t in range(p.size):
        level[t] = _earned(_lord_sequence(t + 1 - np.array(starts)), alpha, wealth)
        if p[t] <= level[t]:
            starts.append(t + 1)
    rejected = p <= level
    return OnlineDecisions(level, rejected, _income(rejected, alpha, wealth) - np.cumsum(level))


def alpha_spending(p: Floats, *, alpha: float = 0.05) -> OnlineDecisions:
    """Decide by levels 6 alpha / (pi^2 t^2): the chance of any false rejection stays below alpha.

    Parameters
    ----------
    p : (test,) float64
        In order; NaN counts as 1.
    alpha : float
        Chance of one false rejection or more, over all tests ever made.

    Returns
    -------
    OnlineDecisions

    Raises
    ------
    ValueError
        Where a p-value or ``alpha`` lies outside its range.

    Examples
    --------
    >>> alpha_spending(np.array([0.01, 0.01])).rejected
    array([ True, False])
    """
    p = _checked(p, alpha, alpha / 2)
    steps = np.arange(1, p.size + 1, dtype=np.float64)
    level = 6.0 * alpha / (np.pi * steps) ** 2
    return OnlineDecisions(level, p <= level, alpha - np.cumsum(level))


def _checked(p: Floats, alpha: float, wealth: float) -> Floats:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha!r}; expected a number between 0 and 1")
    if not 0 < wealth < alpha:
        raise ValueError(f"wealth is {wealth!r}; expected a number between 0 and alpha = {alpha}")
    clean = np.where(np.isnan(p), 1.0, np.asarray(p, dtype=np.float64))
    if clean.ndim != 1 or bool(((clean < 0) | (clean > 1)).any()):
        raise ValueError("p-values are expected as one row of numbers from 0 to 1")
    return clean


def _earned(gamma: Floats, alpha: float, wealth: float) -> float:
    """Weigh the sequence of the start, of the first rejection and of the later ones."""
    first = (alpha - wealth) * float(gamma[1]) if gamma.size > 1 else 0.0
    return wealth * float(gamma[0]) + first + alpha * float(gamma[2:].sum())


def _income(rejected: NDArray[np.bool_], alpha: float, wealth: float) -> Floats:
    count = np.cumsum(rejected)
    return wealth + np.where(count > 0, alpha * count - wealth, 0.0)


def _power_sequence(j: NDArray[np.int64]) -> Floats:
    return np.asarray(_SAFFRON_C / j.astype(np.float64) ** 1.6)


def _lord_sequence(j: NDArray[np.int64]) -> Floats:
    x = j.astype(np.float64)
    return np.asarray(_LORD_C * np.log(np.maximum(x, 2.0)) / (x * np.exp(np.sqrt(np.log(x)))))
