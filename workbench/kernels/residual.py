"""Take what recorded confounders explain out of features, by least squares within matched sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.matched import centre, set_of

__all__ = ["confounder_columns", "residualise"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

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


def residualise(features: Floats, columns: Floats, offsets: Indices) -> Floats:
    """Take out of each feature what ``columns`` explain, by least squares within the sets.

    Cases and controls are pooled, and the fit does not know which is which, so that a label
    permuted within its set keeps its exact level (METHOD section 4, step 7). Slopes come from
    differences between members of one set alone (an own constant for every set): a slope over all
    moments would take a wave of the whole fleet that happens to run along with the load for an
    effect of load, and bring the load's difference between case and controls into a feature that
    does not differ at all.

    Parameters
    ----------
    features : (member, feature) float64
        Finite.
    columns : (member, column) float64
        As :func:`confounder_columns` gives them. With fewer than four rows per column, set
        constants counted, the later columns are left out.
    offsets : (set + 1,) int64
        Where each set starts.

    Returns
    -------
    (member, feature) float64
        With the mean of each set as it was.

    Examples
    --------
    >>> load = np.arange(8.0)[:, None]
    >>> left = residualise(2.0 * load + 1.0, confounder_columns(load), np.array([0, 4, 8]))
    >>> left.ravel().tolist()
    [4.0, 4.0, 4.0, 4.0, 12.0, 12.0, 12.0, 12.0]
    """
    freedom = features.shape[0] - (offsets.size - 1)
    columns = columns[:, : max(0, freedom // ROWS_PER_COLUMN)]
    inside = centre(columns, offsets)
    mean = np.add.reduceat(features, offsets[:-1], axis=0)[set_of(offsets)] / np.repeat(
        np.diff(offsets), np.diff(offsets)
    ).reshape(-1, 1)
    fit, *_ = np.linalg.lstsq(inside, features - mean, rcond=1e-9)
    left = features - mean - inside @ fit
    size = np.abs(features).max(axis=0, initial=0.0)
    rest: Floats = mean + np.where(np.abs(left) <= ROUNDING * size, 0.0, left)
    return rest
