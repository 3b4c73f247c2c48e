"""From the penalty at which a change is still found to its p-value over all places and sizes of pieces.

The table was simulated by ``benchmarks/change_null.py``: white noise, cheapest partitions with pieces
of at least 30 cells (constant) or 20 (straight). Shorter pieces need a little less, so that p is then
a little too large.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["SHARES", "Model", "p_of_strength", "penalty_at"]

Floats = NDArray[np.float64]
Model = Literal["constant", "straight"]

SHARES = (0.5, 0.1, 0.05, 0.01, 0.001)
_NEEDED: dict[str, dict[float, tuple[float, ...]]] = {
    "constant": {
        2.0: (0.46, 2.79, 4.02, 6.90, 11.12),
        3.0: (1.92, 5.25, 6.61, 9.78, 14.97),
        5.0: (3.19, 6.54, 7.91, 11.01, 16.37),
        10.0: (4.45, 7.64, 8.94, 12.21, 15.51),
        20.0: (5.50, 8.62, 9.96, 12.94, 16.48),
        50.0: (6.70, 9.58, 10.89, 14.05, 17.89),
        100.0: (7.48, 10.24, 11.45, 14.28, 19.22),
        300.0: (8.87, 11.47, 12.58, 15.02, 18.59),
        1000.0: (10.28, 12.67, 13.70, 16.18, 19.40),
    },
    "straight": {
        2.0: (1.41, 4.68, 6.17, 9.84, 14.94),
        3.0: (4.08, 8.02, 9.34, 12.79, 16.32),
        5.0: (5.58, 9.72, 11.18, 14.47, 21.13),
        10.0: (7.12, 11.12, 12.54, 16.16, 21.22),
        20.0: (8.38, 12.09, 13.76, 17.26, 22.90),
        50.0: (9.66, 13.16, 14.65, 17.84, 21.19),
        100.0: (10.60, 13.78, 15.13, 18.49, 23.50),
    },
}


def _quantiles(ratio: float, model: Model) -> Floats:
    """Interpolate the table; beyond its end all grow with the logarithm as the median between the last rows."""
    table = _NEEDED[model]
    place = np.log(np.array(list(table)))
    rows = np.array(list(table.values()))
    wanted = np.log(max(ratio, min(table)))
    told = np.array([np.interp(wanted, place, column) for column in rows.T])
    beyond = max(wanted - place[-1], 0.0)
    return np.asarray(told + beyond * (rows[-1, 0] - rows[-2, 0]) / (place[-1] - place[-2]), dtype=np.float64)


@cache
def penalty_at(alpha: float, ratio: float, model: Model) -> float:
    """Give the penalty that finds a change in a share ``alpha`` of white noise of variance 1.

    Parameters
    ----------
    alpha : float
        0 to 0.5.
    ratio : float
        Cells of the series, by the least cells of a piece.
    model : {"constant", "straight"}

    Examples
    --------
    >>> bool(penalty_at(0.05, 100, "constant") < penalty_at(0.01, 100, "constant"))
    True
    """
    quantiles = _quantiles(ratio, model)
    if alpha < SHARES[-1]:
        return float(quantiles[-1] + 2.0 * np.log(SHARES[-1] / alpha))
    return float(np.interp(-np.log(alpha), -np.log(SHARES), quantiles))


def p_of_strength(strength: Floats, ratio: float, model: Model) -> Floats:
    """Give the chance that white noise has a change that is found at such a penalty.

    Beyond p = 0.001 the tail is that of a chi-square of one degree, ``exp(-strength / 2)``; p above
    one half is given as it is interpolated towards 1.

    Parameters
    ----------
    strength : (change,) float64
        In units of the long-run variance.
    ratio : float
    model : {"constant", "straight"}

    Examples
    --------
    >>> level = penalty_at(0.01, 50, "straight")
    >>> p_of_strength(np.array([0.0, level]), 50, "straight").round(3)
    array([1.  , 0.01])
    """
    quantiles = np.concatenate(([0.0], _quantiles(ratio, model)))
    logs = np.log(np.concatenate(([1.0], SHARES)))
    inside = np.interp(strength, quantiles, logs)
    beyond = np.maximum(strength - quantiles[-1], 0.0) / 2.0
    return np.asarray(np.exp(inside - beyond), dtype=np.float64)
