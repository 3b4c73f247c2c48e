"""What a whole fleet does at a moment, taken out of each of its members."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["without_fleet"]

Floats = NDArray[np.float64]


def without_fleet(values: Floats, least: int) -> Floats:
    """Take from every cell the median over entities at that moment.

    Parameters
    ----------
    values : (entity, time) float64
        NaN or infinite: not observed.
    least : int
        Entities that must be observed at a moment for it to have a median.

    Returns
    -------
    (entity, time) float64
        NaN where the entity, or fewer than ``least`` of them, were observed.

    Examples
    --------
    >>> without_fleet(np.array([[1.0, 5.0], [2.0, np.nan], [4.0, 6.0]]), 3)
    array([[-1., nan],
           [ 0., nan],
           [ 2., nan]])
    """
    seen = np.isfinite(values)
    enough = seen.sum(axis=0) >= max(least, 1)
    out = np.full(values.shape, np.nan)
    part = np.where(seen[:, enough], values[:, enough], np.nan)
    if part.size:
        out[:, enough] = part - np.nanmedian(part, axis=0)
    return out
