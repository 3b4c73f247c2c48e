"""Draws for nulls: independent generators, and shifts of a whole group against itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UsageError

__all__ = ["add_one_p", "far_shifts", "random_shifts", "spawn"]


def spawn(seed: int, count: int) -> list[np.random.Generator]:
    """Give independent generators: the same for one worker or forty.

    Examples
    --------
    >>> [int(rng.integers(100)) for rng in spawn(7, 2)] == [int(rng.integers(100)) for rng in spawn(7, 3)[:2]]
    True
    """
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(count)]


def far_shifts(length: int, reach: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Choose shifts of a circle of cells that carry every near pair beyond reach.

    All entities are shifted by the same amount ("whole group"), so what the entities share at one
    moment stays shared in every draw. Shifts nearer to zero than ``reach`` would keep the very
    pairs that are tested and hide a real effect (measured: they capped p near .03).

    Parameters
    ----------
    length : int
        Cells of the circle.
    reach : int
        Smallest circular distance from zero that is allowed.
    count : int
        How many to draw without replacement; all of them, in order, where fewer exist.
    rng : numpy.random.Generator
        Not used where all shifts are taken.

    Returns
    -------
    (draw,) int64
        Between ``reach`` and ``length - reach``.

    Raises
    ------
    UsageError
        Where fewer than 19 such shifts exist: no p below .05 could come of it.

    Examples
    --------
    >>> far_shifts(25, 3, 99, np.random.default_rng(1)).tolist() == list(range(3, 23))
    True
    """
    least = max(reach, 1)
    known = length - 2 * least + 1
    if known < 19:
        raise UsageError(
            f"{length} cells leave {max(known, 0)} shifts of {least} cells or more, and 19 are the fewest that can "
            f"tell p below .05; take a longer span, or lags and windows within {max((length - 18) // 2, 0)} cells."
        )
    if known <= count:
        return np.arange(least, least + known, dtype=np.int64)
    return np.sort(rng.choice(known, size=count, replace=False)).astype(np.int64) + least


def random_shifts(span: int, reach: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw shifts of a circle of microseconds, none nearer to zero than ``reach``.

    Parameters
    ----------
    span, reach : int
        Microseconds; ``2 * reach`` must be less than ``span``.
    count : int
    rng : numpy.random.Generator

    Returns
    -------
    (count,) int64
        Microseconds, from ``reach`` up to and including ``span - reach``.

    Raises
    ------
    UsageError
        Where no shift is far enough.

    Examples
    --------
    >>> draws = random_shifts(1000, 400, 99, np.random.default_rng(1))
    >>> bool(draws.min() >= 400), bool(draws.max() <= 600)
    (True, True)
    """
    if 2 * reach >= span:
        raise UsageError(
            f"A span of {span / 1e6:g} s has no shift that is at least {reach / 1e6:g} s from zero both ways round; "
            "take a longer span or a shorter window."
        )
    return rng.integers(reach, span - reach, size=count, endpoint=True, dtype=np.int64)


def add_one_p(observed: float, draws: NDArray[np.float64]) -> float:
    """Give the share of draws, the observed one among them, that reach ``observed``.

    Never zero: the observed arrangement is one of those that could have been drawn
    (Phipson and Smyth 2010). Draws that are NaN (nothing to compare) count as reaching it.

    Returns
    -------
    float
        NaN where ``observed`` is NaN.

    Examples
    --------
    >>> add_one_p(3.0, np.array([1.0, 2.0, 3.0]))
    0.5
    """
    if np.isnan(observed):
        return float("nan")
    # Sums in another order differ in the last bits; a tie must count as a tie.
    below = draws < observed - 1e-9 * max(1.0, abs(observed))
    return float((1 + np.count_nonzero(~below)) / (1 + draws.size))
