"""Correlation of two sets of series at every lag, exact where values are missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["correlate", "effective_pairs", "lag_one", "lagged_correlation", "pool", "ranks", "window_maximum"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_Pair = tuple[Floats, Ints]

_CHUNK_CELLS = 150_000  # cells of one block of transforms: what a processor holds close by (measured)
_LEAST_PAIRS = 3
# Below this share of an entity's own variance the sums of a transform have lost too many digits.
_UNSURE = 1e-6


def lagged_correlation(x: Floats, y: Floats, lags: Ints, *, circular: bool = False) -> _Pair:
    """Correlate ``x[t]`` with ``y[t + lag]``, row by row, one lag after the other.

    The plain definition: :func:`correlate` gives the same and is faster for many lags.

    Parameters
    ----------
    x, y : (entity, time) float64
        On the same grid. NaN or infinite: not observed.
    lags : (lag,) int64
        In grid steps. Positive: ``x`` comes before ``y``.
    circular : bool
        Whether time joins its end to its start, so that every lag has all pairs.

    Returns
    -------
    r : (entity, lag) float64
        Pearson correlation over the cells observed in both; NaN below three of them, and where one
        of the two does not vary over them.
    pairs : (entity, lag) int64
        Cells observed in both.

    Examples
    --------
    >>> x = np.array([[0.0, 1, 0, 0, 2, 0, 0]])
    >>> lagged_correlation(x, np.roll(x, 1, axis=1), np.array([0, 1]))[0].round(2)
    array([[-0.35,  1.  ]])
    """
    width = x.shape[1]
    r = np.full((x.shape[0], lags.size), np.nan)
    pairs = np.zeros(r.shape, dtype=np.int64)
    for at, lag in enumerate(lags.tolist()):
        if circular:
            r[:, at], pairs[:, at] = _row_pearson(x, np.roll(y, -lag, axis=1))
        elif abs(lag) < width:
            before = x[:, max(0, -lag) : width - max(0, lag)]
            r[:, at], pairs[:, at] = _row_pearson(before, y[:, max(0, lag) : width - max(0, -lag)])
    return r, pairs


def _row_pearson(a: Floats, b: Floats) -> _Pair:
    seen = np.isfinite(a) & np.isfinite(b)
    count = seen.sum(axis=1)
    a, b = _centred(a, seen, count), _centred(b, seen, count)
    scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    usable = (count >= _LEAST_PAIRS) & (scale > 0)
    r = np.full(count.size, np.nan)
    r[usable] = np.clip((a * b).sum(axis=1)[usable] / scale[usable], -1, 1)
    return r, count


def _centred(values: Floats, seen: NDArray[np.bool_], count: Ints) -> Floats:
    """Subtract the mean of what is seen; exactly zero where all of it is equal."""
    high = np.where(seen, values, -np.inf).max(axis=1, initial=-np.inf)
    low = np.where(seen, values, np.inf).min(axis=1, initial=np.inf)
    filled = np.where(seen, values, 0.0)
    filled -= (filled.sum(axis=1) / np.maximum(count, 1))[:, None]
    filled *= seen  # what is not seen is 0 again
    filled[~(high > low)] = 0.0
    return filled


def _centred_whole(values: Floats) -> Floats:
    """Do the same where all is seen, in fewer passes."""
    if not values.shape[1]:
        return values.copy()
    equal = values.max(axis=1) == values.min(axis=1)
    centred: Floats = values - (values.sum(axis=1) / values.shape[1])[:, None]
    centred[equal] = 0.0
    return centred


def correlate(x: Floats, y: Floats, lags: Ints, *, circular: bool = False) -> _Pair:
    """Correlate ``x[t]`` with ``y[t + lag]``, row by row, all lags at once by Fourier transform.

    Masked correlation (Padfield 2012): the six sums of Pearson's formula over the cells observed in
    both are six correlations of values, squares and masks. Rows without a gap need one of them.

    Parameters
    ----------
    x, y : (entity, time) float64
        On the same grid. NaN or infinite: not observed. Either may have one row, which then goes
        with every row of the other.
    lags : (lag,) int64
        In grid steps. Positive: ``x`` comes before ``y``.
    circular : bool
        Whether time joins its end to its start.

    Returns
    -------
    r : (entity, lag) float64
        As :func:`lagged_correlation`, to 1e-9. With ``circular``, cells over which a series keeps
        less than a millionth of its variance are NaN.
    pairs : (entity, lag) int64

    Examples
    --------
    >>> x = np.array([[0.0, 1, np.nan, 0, 2, 0, 0]])
    >>> correlate(x, np.roll(x, 1, axis=1), np.array([0, 1]))[0].round(2)
    array([[-0.38,  1.  ]])
    """
    from scipy.fft import next_fast_len

    width, rows = x.shape[1], max(x.shape[0], y.shape[0])
    reach = int(np.abs(lags).max(initial=0))
    size = width if circular else int(next_fast_len(width + min(reach, width), real=True))
    r, pairs = np.full((rows, lags.size), np.nan), np.zeros((rows, lags.size), dtype=np.int64)
    inside = np.flatnonzero(np.ones(lags.size, bool) if circular else np.abs(lags) < width)
    step = max(1, _CHUNK_CELLS // size)
    for start in range(0, rows, step):
        block = slice(start, min(start + step, rows))
        part_x, part_y = _part(x, block), _part(y, block)
        found, count, unsure = _pearson(*_sums(part_x, part_y, lags[inside], size))
        if not circular:
            _repair(found, unsure, (part_x, part_y), lags[inside])
        r[block, inside], pairs[block, inside] = found, count
    return r, pairs


def _part(values: Floats, block: slice) -> Floats:
    return values if values.shape[0] == 1 else values[block]


def _sums(x: Floats, y: Floats, lags: Ints, size: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Give n and the sums of x, y, xx, yy, xy as (6, entity, lag), and whether both vary as (entity,)."""
    (x, seen_x, varies_x), (y, seen_y, varies_y) = _standard(x), _standard(y)
    varies = varies_x & varies_y
    if seen_x.all() and seen_y.all():
        return _complete_sums(x, y, lags, size), varies
    return _masked_sums((x, y), (seen_x, seen_y), lags, size), varies


def _standard(values: Floats) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """Give each row with mean 0 and sd 1 over what is seen, 0 elsewhere: keeps the digits of the sums."""
    seen = np.isfinite(values)
    centred = _centred_whole(values) if seen.all() else _centred(values, seen, seen.sum(axis=1))
    largest = np.maximum(centred.max(axis=1, initial=0.0), -centred.min(axis=1, initial=0.0))
    varies = np.asarray(largest > 0)
    centred /= np.where(varies, largest, 1.0)[:, None]  # squares of huge values would overflow
    scale = np.sqrt(np.einsum("et,et->e", centred, centred) / np.maximum(seen.sum(axis=1), 1))
    centred /= np.where(varies, scale, 1.0)[:, None]
    return centred, seen, varies


def _masked_sums(values: tuple[Floats, ...], masks: tuple[NDArray[np.bool_], ...], lags: Ints, size: int) -> Floats:
    from scipy.fft import irfft, rfft

    (x, mx, xx), (y, my, yy) = (
        tuple(rfft(part, size, axis=1) for part in (one, mask.astype(np.float64), one * one))
        for one, mask in zip(values, masks, strict=True)
    )
    sums, places = np.empty((6, x.shape[0] if my.shape[0] == 1 else my.shape[0], lags.size)), lags % size
    x, mx, xx = np.conj(x), np.conj(mx), np.conj(xx)
    for at, (before, after) in enumerate(((mx, my), (x, my), (mx, y), (xx, my), (mx, yy), (x, y))):
        sums[at] = np.take(irfft(before * after, size, axis=1), places, axis=1)
    np.round(sums[0], out=sums[0])
    return sums


def _complete_sums(x: Floats, y: Floats, lags: Ints, size: int) -> Floats:
    from scipy.fft import irfft, rfft

    width = x.shape[1]
    xy = np.take(irfft(np.conj(rfft(x, size, axis=1)) * rfft(y, size, axis=1), size, axis=1), lags % size, axis=1)
    lost = np.zeros_like(lags) if size == width else lags  # on a circle every lag has all pairs
    sums = np.empty((6, *xy.shape))
    sums[0], sums[5] = width - np.abs(lost), xy
    for at, (values, gone) in enumerate(((x, lost), (y, -lost))):
        sums[at + 1], sums[at + 3] = _kept_sums(values, gone), _kept_sums(values * values, gone)
    return sums


def _kept_sums(values: Floats, lost: Ints) -> Floats:
    """Give the sum of each row without its last so many cells, or without its first where ``lost`` is negative."""
    longest = int(np.abs(lost).max(initial=0))
    edges = np.zeros((values.shape[0], 2 * longest + 2))
    np.cumsum(values[:, :longest], axis=1, out=edges[:, 1 : longest + 1])
    np.cumsum(values[:, ::-1][:, :longest], axis=1, out=edges[:, longest + 2 :])
    kept: Floats = values.sum(axis=1, keepdims=True) - np.take(
        edges, np.where(lost > 0, longest + 1 + lost, -lost), axis=1
    )
    return kept


def _pearson(sums: Floats, varies: NDArray[np.bool_]) -> tuple[Floats, Ints, NDArray[np.bool_]]:
    n, sx, sy, sxx, syy, sxy = sums
    var_x, var_y = n * sxx - sx * sx, n * syy - sy * sy
    least = _UNSURE * n * n
    sure = (n >= _LEAST_PAIRS) & (var_x > least) & (var_y > least) & varies[:, None]
    r = np.full(n.shape, np.nan)
    np.divide(n * sxy - sx * sy, np.sqrt(np.abs(var_x * var_y)), out=r, where=sure)
    unsure = ~sure & (n >= _LEAST_PAIRS) & varies[:, None]
    return np.clip(r, -1, 1), n.astype(np.int64), unsure


def _repair(r: Floats, unsure: NDArray[np.bool_], both: tuple[Floats, Floats], lags: Ints) -> None:
    """Take the plain sums where a transform has too few digits left."""
    for at in np.flatnonzero(unsure.any(axis=0)).tolist():
        rows = np.flatnonzero(unsure[:, at])
        x, y = (one[rows] if one.shape[0] > 1 else np.repeat(one, rows.size, axis=0) for one in both)
        r[rows, at] = lagged_correlation(x, y, lags[at : at + 1])[0][:, 0]


def ranks(values: Floats) -> Floats:
    """Rank each row over what is observed in it (ties share their mean); NaN stays NaN.

    Ranks are taken once, not anew over the pairs of each lag.

    Examples
    --------
    >>> ranks(np.array([[3.0, np.nan, 1.0, 1.0]]))
    array([[3. , nan, 1.5, 1.5]])
    """
    from scipy.stats import rankdata

    seen = np.where(np.isfinite(values), values, np.nan)
    ranked: Floats = rankdata(seen, axis=1, nan_policy="omit")
    return ranked


def pool(r: Floats, pairs: Ints) -> Floats:
    """Give the mean of r over entities at each lag, weighted by pairs.

    Every entity counts by how long it was observed, not by how wildly it swings, so one loud
    device does not carry the fleet.

    Parameters
    ----------
    r : (entity, lag) float64
        NaN: takes no part.
    pairs : (entity, lag) int64

    Returns
    -------
    (lag,) float64
        NaN where no entity has an r.

    Examples
    --------
    >>> pool(np.array([[1.0, np.nan], [0.0, np.nan]]), np.array([[30, 2], [10, 2]]))
    array([0.75,  nan])
    """
    weight = np.where(np.isfinite(r), pairs, 0).astype(np.float64)
    total = weight.sum(axis=0)
    pooled = np.full(r.shape[1], np.nan)
    np.divide((weight * np.where(np.isfinite(r), r, 0.0)).sum(axis=0), total, out=pooled, where=total > 0)
    return pooled


def window_maximum(circle: Floats, half: int) -> Floats:
    """Give the largest absolute value within ``half`` cells of each cell of a circle.

    With ``circle`` the correlation at every shift of y against x, the entry at ``s`` is the largest
    |r| over lags ``-half`` to ``half`` of the data shifted by ``s``: one transform holds all draws.

    Parameters
    ----------
    circle : (..., shift) float64
        NaN: takes no part.
    half : int

    Returns
    -------
    (..., shift) float64
        NaN where nothing in the window is known.

    Examples
    --------
    >>> window_maximum(np.array([0.0, -3.0, 1.0, 0.0, 2.0]), 1)
    array([3., 3., 3., 2., 2.])
    """
    from scipy.ndimage import maximum_filter1d

    size = min(2 * half + 1, circle.shape[-1])
    known = np.where(np.isfinite(circle), np.abs(circle), -1.0)
    largest: Floats = maximum_filter1d(known, size, axis=-1, mode="wrap")
    return np.where(largest >= 0, largest, np.nan)


def lag_one(values: Floats) -> Floats:
    """Give each row's correlation with itself one cell later; NaN where there is none.

    Examples
    --------
    >>> lag_one(np.array([[1.0, 2, 3, 4, 5], [1.0, 1, 1, 1, 1]]))
    array([ 1., nan])
    """
    return lagged_correlation(values, values, np.array([1]))[0][:, 0]


def effective_pairs(x: Floats, y: Floats, pairs: Ints) -> Floats:
    """Give how many independent pairs two autocorrelated series are worth.

    ``n (1 - a b) / (1 + a b)`` with ``a`` and ``b`` the lag-one autocorrelations (Bartlett 1935;
    Bretherton et al. 1999): right for two first-order series, a rough guide for others.

    Parameters
    ----------
    x, y : (entity, time) float64
    pairs : (entity,) int64
        Cells observed in both.

    Returns
    -------
    (entity,) float64
        At most ``pairs``; NaN where an autocorrelation is not known.

    Examples
    --------
    >>> x = np.array([[1.0, 2, 3, 4, 5]])
    >>> effective_pairs(x, x, np.array([5]))
    array([0.])
    """
    product = np.clip(lag_one(x) * lag_one(y), 0.0, 1.0)
    effective: Floats = pairs * (1 - product) / (1 + product)
    return effective
