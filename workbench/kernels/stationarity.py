"""Whether two series stand still enough for shifts of time to tell what chance gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.whiten import scaled

__all__ = ["drift_product", "resolution", "rhythm_product", "slowest_period"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


def drift_product(x: Floats, y: Floats) -> Floats:
    """Give the part of each row's correlation that straight lines in time alone would make.

    The product of the correlations of ``x`` and of ``y`` with time.

    Parameters
    ----------
    x, y : (entity, time) float64

    Returns
    -------
    (entity,) float64
        NaN where one of the two does not vary.

    Examples
    --------
    >>> up = np.array([[1.0, 2, 3, 4]])
    >>> drift_product(up, -up)
    array([-1.])
    """
    return _along_time(x) * _along_time(y)


def _along_time(values: Floats) -> Floats:
    seen = np.isfinite(values)
    time = scaled(np.where(seen, np.arange(values.shape[1], dtype=np.float64)[None, :], np.nan))
    with_time = np.where(seen, scaled(values) * time, 0.0).sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    return np.where(_varies(values), with_time, np.nan)


def _varies(values: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.where(np.isfinite(values), np.abs(scaled(values)), 0.0).sum(axis=1) > 0)


def rhythm_product(x: Floats, y: Floats, period: float) -> Complexes:
    """Give the part of each row's correlation that one common rhythm could make at the best lag.

    Parameters
    ----------
    x, y : (entity, time) float64
    period : float
        Cells; a day, say.

    Returns
    -------
    (entity,) complex128
        The modulus is that part; the angle is the lag of y behind x as a share of the period.
        NaN where one of the two does not vary.

    Examples
    --------
    >>> t = np.arange(400)
    >>> wave = np.cos(2 * np.pi * t / 100)[None, :]
    >>> abs(rhythm_product(wave, wave, 100.0)).round(3), abs(rhythm_product(wave, wave, 37.0)).round(1)
    (array([1.]), array([0.]))
    """
    return np.asarray(_along_wave(x, period) * np.conj(_along_wave(y, period)))


def _along_wave(values: Floats, period: float) -> Complexes:
    seen = np.isfinite(values)
    wave = np.exp(-2j * np.pi * np.arange(values.shape[1]) / period)
    with_wave = (np.where(seen, scaled(values), 0.0) @ wave) * np.sqrt(2) / np.maximum(seen.sum(axis=1), 1)
    return np.where(_varies(values), with_wave, np.nan)


def resolution(far: Floats) -> float:
    """Tell how many independent values a shift null holds.

    The participation ratio of the power spectrum of the correlation at far shifts, (sum P)^2 /
    sum P^2: about one where a trend, a random walk, a level change or a daily rhythm rules every
    shift, large where the series forget themselves within a small part of the span. A rank among
    shifts means little where only a few of them are independent.

    Parameters
    ----------
    far : (shift,) float64
        Correlation at neighbouring shifts, all far from zero. NaN: not known.

    Returns
    -------
    float
        At least 1; NaN where fewer than 8 shifts are known or they do not vary.

    Examples
    --------
    >>> steps = np.arange(512.0)
    >>> round(resolution(np.sin(2 * np.pi * steps / 128)), 2)
    1.0
    >>> resolution(np.random.default_rng(3).normal(size=512)) > 50
    True
    """
    power = _power(far)
    if power.size < 4 or not power.sum() > 0:
        return float("nan")
    return float(power.sum() ** 2 / (power**2).sum())


def slowest_period(far: Floats) -> float:
    """Give the period, in cells, of the component that carries most of a shift null's power.

    Examples
    --------
    >>> slowest_period(np.sin(2 * np.pi * np.arange(512.0) / 128))
    128.0
    """
    power = _power(far)
    return far.size / (1 + int(np.argmax(power))) if power.size else float("nan")


def _power(far: Floats) -> Floats:
    known = np.isfinite(far)
    if known.sum() < 8:
        return np.empty(0)
    filled = np.where(known, far, far[known].mean())
    spectrum: Floats = np.abs(np.fft.rfft(filled - filled.mean()))[1:] ** 2
    return spectrum
