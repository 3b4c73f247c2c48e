"""Take what recorded confounders explain out of features, by pooled least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["confounder_columns", "residualise"]

Floats = NDArray[np.float64]

ROUNDING = 1e-9  # what rounding alone leaves of a feature that is wholly explained
ROWS_PER_COLUMN = 4  # fewer rows than this per column and the fit would eat the signal


def confounder_columns(raw: Floats) -> Floats:
    """Standardise confounders; a gap becomes the mean and is marked in a column of its own.

    Parameters
    ----------
    raw : (member, confounder) float64
        NaN: not observed.

    Returns
    -------
    (member, column) float64
        Columns without spread or without any value are left out.

    Examples
    --------
    >>> confounder_columns(np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])).round(2)
    array([[-1.22, -0.71],
           [ 1.22, -0.71],
           [ 0.  ,  1.41]])

    The second column marks the member whose first confounder was not observed.
    """
    known = np.isfinite(raw)
    some = known.any(axis=0)
    mean = np.where(known, raw, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    columns = np.concatenate([np.where(known, raw - mean, 0.0)[:, some], (~known)[:, some]], axis=1)
    columns = columns - columns.mean(axis=0)
    sd = columns.std(axis=0)
    useful = sd > 1e-9 * np.maximum(1.0, np.abs(columns).max(axis=0, initial=0.0))
    kept: Floats = columns[:, useful] / sd[useful]
    return kept


def residualise(features: Floats, columns: Floats) -> Floats:
    """Give what is left of each feature after a least-squares fit on ``columns`` and a constant.

    Cases and controls are pooled, and the fit does not know which is which, so that a label
    permuted within its set keeps its exact level (METHOD section 4, step 7).

    Parameters
    ----------
    features : (member, feature) float64
        Finite.
    columns : (member, column) float64
        As :func:`confounder_columns` gives them. With fewer than four rows per column the later
        columns are left out.

    Returns
    -------
    (member, feature) float64

    Examples
    --------
    >>> load = np.arange(8.0)[:, None]
    >>> residualise(2.0 * load + 1.0, confounder_columns(load)).round(6).ravel().tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    columns = columns[:, : features.shape[0] // ROWS_PER_COLUMN]
    design = np.column_stack([np.ones(features.shape[0]), columns])
    fit, *_ = np.linalg.lstsq(design, features, rcond=1e-9)
    left = features - design @ fit
    size = np.abs(features).max(axis=0, initial=0.0)
    return np.where(np.abs(left) <= ROUNDING * size, 0.0, left)
