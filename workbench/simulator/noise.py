"""Random processes that telemetry looks like, one row per entity."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["PROCESSES", "Floats", "ar1", "process", "scattered_counts", "stream"]

Floats = NDArray[np.float64]


def stream(seed: int, label: str) -> np.random.Generator:
    """Give the generator of one purpose: its draws do not depend on what else is drawn.

    Examples
    --------
    >>> bool(stream(7, "a").random() == stream(7, "a").random() != stream(7, "b").random())
    True
    """
    return np.random.default_rng([seed, zlib.crc32(label.encode())])


def ar1(rng: np.random.Generator, rows: int, width: int, phi: float) -> Floats:
    """Draw stationary first-order autoregressions of unit variance.

    Parameters
    ----------
    phi : float
        Correlation of neighbours, 0 to below 1.

    Returns
    -------
    (rows, width) float64

    Examples
    --------
    >>> x = ar1(np.random.default_rng(1), 200, 500, 0.9)
    >>> x.std().round(1), float(np.round((x[:, 1:] * x[:, :-1]).mean(), 1))
    (np.float64(1.0), 0.9)
    """
    from scipy.signal import lfilter

    shocks = rng.standard_normal((rows, width))
    shocks[:, 1:] *= np.sqrt(1.0 - phi * phi)  # the first draw is the stationary state itself
    return np.asarray(lfilter([1.0], [1.0, -phi], shocks, axis=1), dtype=np.float64)


def scattered_counts(rng: np.random.Generator, rows: int, width: int, rate: NDArray[np.float64] | float) -> Floats:
    """Draw rare events: Poisson counts with ``rate`` per cell, one rate or one a row.

    Examples
    --------
    >>> scattered_counts(np.random.default_rng(1), 2, 50, np.array([0.0, 1.0])).sum(axis=1)[0]
    np.float64(0.0)
    """
    totals = rng.poisson(np.broadcast_to(np.asarray(rate, dtype=np.float64), (rows,)) * width)
    counts = np.zeros((rows, width))
    row = np.repeat(np.arange(rows), totals)
    np.add.at(counts, (row, rng.integers(0, width, size=row.size)), 1.0)
    return counts


def _ar90(rng: np.random.Generator, rack: NDArray[np.int64], width: int) -> Floats:
    return ar1(rng, rack.size, width, 0.9)


def _ar99(rng: np.random.Generator, rack: NDArray[np.int64], width: int) -> Floats:
    return ar1(rng, rack.size, width, 0.99)


def _walk(rng: np.random.Generator, rack: NDArray[np.int64], width: int) -> Floats:
    steps = rng.standard_normal((rack.size, width)) / np.sqrt(1440.0)  # sd 1 after a day
    return np.asarray(np.cumsum(steps, axis=1), dtype=np.float64)


def _trend(rng: np.random.Generator, rack: NDArray[np.int64], width: int) -> Floats:
    slope = rng.normal(1.0, 1.0, size=(rack.size, 1)) / 1440.0  # about 1 sd a day, each its own
    drift: Floats = slope * np.arange(width)
    return drift + ar1(rng, rack.size, width, 0.9)


def _heavy(rng: np.random.Generator, rack: NDArray[np.int64], width: int) -> Floats:
    chi2 = rng.chisquare(2.0, size=(rack.size, width)) / 2.0
    return rng.standard_normal((rack.size, width)) / np.sqrt(chi2)  # Student t with 2 degrees: no variance


def _counter(rng: np.random.Generator, rack: NDArray[np.int64], width: int) -> Floats:
    rate = rng.lognormal(0.0, 1.0, size=rack.size)
    total = np.cumsum(rng.poisson(np.broadcast_to(rate[:, None], (rack.size, width))), axis=1).astype(np.float64)
    for row in range(rack.size):
        for cut in np.sort(rng.integers(1, width, size=rng.poisson(width / 2880.0))):  # one reset in two days
            total[row, cut:] -= total[row, cut]
    return total


def _sparse(rng: np.random.Generator, rack: NDArray[np.int64], width: int) -> Floats:
    counts = scattered_counts(rng, rack.size, width, 0.01)
    starts = np.argwhere(scattered_counts(rng, rack.size, width, 1.0 / 600.0))  # one burst in ten hours
    for row, start in starts:
        length = min(int(rng.integers(5, 21)), width - start)
        counts[row, start : start + length] += rng.poisson(2.0, size=length)
    return counts


def _rack(rng: np.random.Generator, rack: NDArray[np.int64], width: int) -> Floats:
    shared = ar1(rng, int(rack.max()) + 1, width, 0.99)[rack]
    return 0.6 * shared + 0.8 * ar1(rng, rack.size, width, 0.99)  # 36 % of the variance is the rack's


#: Name to ``(rng, rack of each row, width) -> (row, width)``.
PROCESSES: dict[str, Callable[[np.random.Generator, NDArray[np.int64], int], Floats]] = {
    "ar90": _ar90,
    "ar99": _ar99,
    "walk": _walk,
    "trend": _trend,
    "heavy": _heavy,
    "counter": _counter,
    "sparse": _sparse,
    "rack": _rack,
}


def process(name: str, rng: np.random.Generator, rack: NDArray[np.int64], width: int) -> Floats:
    """Draw one of :data:`PROCESSES`; rows of one rack may share a part.

    Returns
    -------
    (row, width) float64
        About unit variance where it has one; ``counter`` is a running total with resets,
        ``sparse`` counts per cell.

    Examples
    --------
    >>> process("counter", np.random.default_rng(1), np.zeros(3, dtype=np.int64), 100).shape
    (3, 100)
    """
    return PROCESSES[name](rng, rack, width)
