"""What was observed when: series with their spans and spacing, and the times when somebody was looking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.timebase import MICROS

__all__ = ["GAP_FACTOR", "Runs", "join_intervals", "runs_of", "stretches"]

Ints = NDArray[np.int64]
#: A silence longer than this many typical spacings is a gap: nobody was looking.
GAP_FACTOR = 3.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Runs:
    """Observations by group, such as by entity.

    Attributes
    ----------
    group : (run,) int64
    first_us, last_us, count : (run,) int64
    interval_s : (run,) float64
        Median time between neighbours; NaN where there are none.
    """

    group: Ints
    first_us: Ints
    last_us: Ints
    count: Ints
    interval_s: NDArray[np.float64]


def runs_of(group: Ints, ts: Ints) -> Runs:
    """Sum up observations that are sorted by group, then time.

    Examples
    --------
    >>> runs = runs_of(np.array([0, 0, 0, 4]), np.array([0, 10, 20, 5]) * 10**6)
    >>> runs.group.tolist(), runs.count.tolist(), runs.interval_s.tolist()
    ([0, 4], [3, 1], [10.0, nan])
    """
    starts = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1]))) if group.size else np.zeros(0, np.int64)
    ends = np.append(starts[1:], group.size)[: starts.size]
    medians = _medians(group, ts, starts)
    return Runs(group=group[starts], first_us=ts[starts], last_us=ts[ends - 1], count=ends - starts, interval_s=medians)


def _medians(group: Ints, ts: Ints, starts: Ints) -> NDArray[np.float64]:
    """Give the median spacing inside each group; observations at one time count once."""
    step = np.diff(ts)
    inside = (group[1:] == group[:-1]) & (step > 0)
    step, number = step[inside], np.searchsorted(group[starts], group[1:][inside])
    order = np.lexsort((step, number))
    step, sizes = step[order], np.bincount(number, minlength=starts.size)
    begin = np.concatenate(([0], np.cumsum(sizes)[:-1])) if starts.size else np.zeros(0, np.int64)
    medians = np.full(starts.size, np.nan)
    some = sizes > 0
    middle = begin[some] + (sizes[some] - 1) // 2
    medians[some] = step[middle] / MICROS
    return medians


def stretches(group: Ints, ts: Ints) -> Runs:
    """Cut each group where it falls silent; one run for each stretch without a gap.

    Examples
    --------
    >>> cut = stretches(np.zeros(5, np.int64), np.array([0, 1, 2, 60, 61]) * 10**6)
    >>> (cut.first_us // 10**6).tolist(), (cut.last_us // 10**6).tolist(), cut.count.tolist()
    ([0, 60], [2, 61], [3, 2])
    """
    whole = runs_of(group, ts)
    if not group.size:
        return whole
    number = np.searchsorted(whole.group, group)
    interval = whole.interval_s[number]
    silent = np.diff(ts) > np.nan_to_num(GAP_FACTOR * interval[1:] * MICROS, nan=np.inf)
    starts = np.flatnonzero(np.concatenate(([True], (group[1:] != group[:-1]) | silent)))
    ends = np.append(starts[1:], group.size)
    return Runs(
        group=group[starts], first_us=ts[starts], last_us=ts[ends - 1], count=ends - starts, interval_s=interval[starts]
    )


def join_intervals(pieces: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Join intervals of observation that follow each other without a gap.

    Parameters
    ----------
    pieces : polars.DataFrame
        The columns of ``by``, and ``start, end`` (UTC), ``interval_s, count``.
    by : list of str
        What an interval is of; null matches null.

    Examples
    --------
    >>> at = pl.from_epoch(pl.Series([0, 60, 900]), "s").dt.replace_time_zone("UTC")
    >>> pieces = pl.DataFrame({"entity": ["a"] * 3, "start": at, "end": at, "interval_s": [60.0, 60.0, None], "count": [1, 1, 1]})
    >>> join_intervals(pieces, ["entity"])["count"].to_list()
    [2, 1]
    """
    if pieces.is_empty():
        return pieces
    ordered = pieces.sort([*by, "start", "end"])
    key = pl.struct(by)
    reach = pl.col("end").cum_max().shift(1).over(by)
    gap_s = (pl.col("start") - reach).dt.total_microseconds() / MICROS
    usual = pl.coalesce(pl.col("interval_s").median().over(by), pl.when(gap_s > 0).then(gap_s).median().over(by))
    begins = reach.is_null() | (gap_s > GAP_FACTOR * usual.fill_null(0.0))
    numbered = ordered.with_columns(_run=begins.cum_sum().over(by), _usual=usual, _key=key)
    joined = numbered.group_by([*by, "_run"], maintain_order=True).agg(
        pl.col("start").min(),
        pl.col("end").max(),
        pl.col("interval_s").median().fill_null(pl.col("_usual").first()),
        pl.col("count").sum(),
    )
    return joined.drop("_run").select(pieces.columns)
