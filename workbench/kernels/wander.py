"""What else explains a series that seems to change: autocorrelated noise, slow drift, a random walk.

Each explanation is scored by the Bayesian information criterion with autoregressive noise (Schwarz
1978), so that a step has to explain more than memory alone does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["NoiseModel", "drift_score", "noise_model", "rhythm_score", "walk_score"]

Floats = NDArray[np.float64]

LARGEST_ORDER = 12
LARGEST_WAVES = 24
RHYTHMS = 4
_NOTHING = 1e-12  # share of the variance that is rounding


@dataclass(frozen=True, kw_only=True)
class NoiseModel:
    """Autoregressive noise.

    Attributes
    ----------
    score : float
        Bayesian information criterion; smaller is better. -inf where nothing is left.
    variance : float
        Of the values.
    long_run : float
        Variance of the mean of many values, times their number: ``variance`` without autocorrelation.
    order : int
    """

    score: float
    variance: float
    long_run: float
    order: int


def noise_model(rest: Floats, parameters: int = 0) -> NoiseModel:
    """Fit an autoregression to what is left of a series, its order chosen by BIC.

    Parameters
    ----------
    rest : (cell,) float64
        Finite.
    parameters : int
        Of the explanation that was taken out.

    Returns
    -------
    NoiseModel

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> walk = np.zeros(4000)
    >>> for t in range(1, 4000):
    ...     walk[t] = 0.8 * walk[t - 1] + rng.normal()
    >>> found = noise_model(walk)
    >>> found.order, bool(20 < found.long_run < 30), bool(2.5 < found.variance < 3.1)
    (1, True, True)
    """
    size = rest.size
    centred = rest - rest.mean()
    largest = min(LARGEST_ORDER, max(1, size // 10))
    products = np.array([centred[: size - lag] @ centred[lag:] for lag in range(largest + 1)]) / size
    variance = float(products[0])
    if not variance > _NOTHING:
        return NoiseModel(score=-np.inf, variance=variance, long_run=variance, order=0)
    weights: Floats = np.empty(0)
    left = variance
    best = NoiseModel(score=_score(size, left, parameters), variance=variance, long_run=variance, order=0)
    for order in range(1, largest + 1):
        partial = (products[order] - weights @ products[order - 1 : 0 : -1]) / left
        weights = np.append(weights - partial * weights[::-1], partial)
        left *= max(1.0 - partial**2, _NOTHING)
        score = _score(size, left, parameters + order)
        if score < best.score:
            long_run = left / max(1.0 - float(weights.sum()), 1e-6) ** 2
            best = NoiseModel(score=score, variance=variance, long_run=long_run, order=order)
    return best


def _score(size: int, left: float, parameters: int) -> float:
    return float(size * np.log(left) + np.log(size) * parameters)


def drift_score(values: Floats) -> float:
    """Score the best slow drift: a line and up to 23 half waves over the whole series.

    Examples
    --------
    >>> noise = np.random.default_rng(1).normal(size=400)
    >>> rising = noise + np.linspace(0, 5, 400)
    >>> drift_score(rising) < noise_model(rising).score - 100
    True
    """
    time = (np.arange(values.size) + 0.5) / values.size
    rest = values - values.mean()
    scores = [noise_model(rest).score]
    line = time - 0.5
    shapes = [line, *(np.cos(np.pi * wave * time) for wave in range(1, LARGEST_WAVES))]
    for parameters, shape in enumerate(shapes, start=1):
        rest = rest - shape * ((shape @ rest) / (shape @ shape))
        scores.append(noise_model(rest, parameters).score)
    return min(scores)


def rhythm_score(values: Floats) -> float:
    """Score the best rhythm: the strongest one to four waves of the periodogram, one after another.

    Examples
    --------
    >>> noise = np.random.default_rng(1).normal(size=600)
    >>> daily = noise + 2 * np.sin(np.arange(600) / 7)
    >>> rhythm_score(daily) < min(noise_model(daily).score, drift_score(daily)) - 50
    True
    """
    rest = values - values.mean()
    cells = np.arange(values.size)
    scores = []
    for count in range(1, RHYTHMS + 1):
        power = np.abs(np.fft.rfft(rest, 4 * values.size))  # padded, so that a period need not divide the length
        turn = 2.0 * np.pi * (1 + int(np.argmax(power[1:]))) / (4 * values.size)
        waves = np.stack([np.ones(values.size), np.cos(turn * cells), np.sin(turn * cells)], axis=1)
        rest = rest - waves @ np.linalg.solve(waves.T @ waves, waves.T @ rest)
        scores.append(noise_model(rest, 3 * count).score)
    return min(scores)


def walk_score(values: Floats) -> float:
    """Score a random walk: the differences are noise.

    Examples
    --------
    >>> walk = np.cumsum(np.random.default_rng(1).normal(size=400))
    >>> walk_score(walk) < noise_model(walk).score + 10
    True
    """
    return noise_model(np.diff(values)).score
