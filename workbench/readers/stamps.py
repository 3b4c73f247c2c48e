"""Times as logs write them, turned into UTC microseconds column by column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from workbench.timebase import LocalClock, YearClock

__all__ = [
    "CLOCK_MISSING",
    "EARLIEST_US",
    "FoldWait",
    "IMPOSSIBLE",
    "ISO_PATTERN",
    "LATEST_US",
    "MONTHS",
    "OUTSIDE",
    "fraction_us",
    "iso_wall",
    "month_wall",
    "possible",
    "resolution_us",
    "to_utc",
]

#: Four groups: date, clock, fraction, offset.
ISO_PATTERN = r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
CLOCK_MISSING = "time without a zone: state the zone of this file (--clock GLOB=ZONE)"
IMPOSSIBLE = "impossible time"
OUTSIDE = "time outside of 2000 to 2100"
#: No telemetry is older than its kind or younger than its reader: such a time is that of a clock that
#: was never set, or a number in another unit. UTC microseconds; the first within, the first beyond.
EARLIEST_US, LATEST_US = 946_684_800_000_000, 4_102_444_800_000_000
_FARTHEST_MIN = 14 * 60  # no zone is farther from UTC
_SKIPPED = "this local time does not exist: spring skips it"
_MINUTE_US = 60_000_000


def possible(us: pl.Expr) -> pl.Expr:
    """Tell whether microseconds since 1970 lie in the years 2000 to 2099, as those of all telemetry do.

    One bound for every reader; what lies outside is rejected with the reason ``OUTSIDE``.

    Examples
    --------
    >>> pl.DataFrame({"us": [0, 946_684_800_000_000, 2**62]}).select(possible(pl.col("us"))).to_series().to_list()
    [False, True, False]
    """
    return us.is_between(EARLIEST_US, LATEST_US, closed="left")


def fraction_us(digits: pl.Expr) -> pl.Expr:
    """Give microseconds of the digits after a decimal mark; 0 where there are none.

    Examples
    --------
    >>> pl.DataFrame({"f": ["5", "283302999", None]}).select(fraction_us(pl.col("f")))["f"].to_list()
    [500000, 283302, 0]
    """
    return digits.str.slice(0, 6).str.pad_end(6, "0").cast(pl.Int64).fill_null(0)


def resolution_us(digits: pl.Expr) -> pl.Expr:
    """Give how many microseconds one stamp covers: a million without decimals, 1 with six.

    Examples
    --------
    >>> pl.DataFrame({"f": ["123", None]}).select(resolution_us(pl.col("f")))["f"].to_list()
    [1000, 1000000]
    """
    count = digits.str.len_chars().fill_null(0).clip(0, 6).cast(pl.Int64)
    return count.replace_strict({n: 10 ** (6 - n) for n in range(7)}, return_dtype=pl.Int64)


def iso_wall(date: pl.Expr, clock: pl.Expr, fraction: pl.Expr, offset: pl.Expr) -> list[pl.Expr]:
    """Give ``wall`` (microseconds), ``offset`` (null: local) and ``resolution`` of ISO parts.

    Parameters
    ----------
    date, clock, fraction, offset : expressions
        The groups of ``ISO_PATTERN``.

    Examples
    --------
    >>> frame = pl.DataFrame({"t": ["2025-11-02T03:14:00,5+0100"]})
    >>> parts = [pl.col("t").str.extract(ISO_PATTERN, n) for n in (1, 2, 3, 4)]
    >>> frame.select(iso_wall(*parts)).rows()
    [(1762053240500000, 3600000000, 100000)]
    """
    moment = pl.concat_str(date, pl.lit("T"), clock).str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
    digits = offset.str.replace(":", "", literal=True)
    minutes = digits.str.slice(1, 2).cast(pl.Int64, strict=False) * 60 + digits.str.slice(3, 2).cast(
        pl.Int64, strict=False
    )
    signed = pl.when(digits.str.starts_with("-")).then(-minutes).otherwise(minutes)
    possible_offset = offset.is_null() | (offset == "Z") | (minutes <= _FARTHEST_MIN)
    return [
        pl.when(possible_offset).then(moment.cast(pl.Int64) + fraction_us(fraction)).alias("wall"),
        (pl.when(offset == "Z").then(0).otherwise(signed) * _MINUTE_US).cast(pl.Int64).alias("offset"),
        resolution_us(fraction).alias("resolution"),
    ]


def month_wall(frame: pl.DataFrame, years: YearClock) -> pl.Series:
    """Give the wall-clock microseconds of stamps without a year; null where there is no such date.

    Parameters
    ----------
    frame : polars.DataFrame
        ``month`` (``Nov``), ``day``, ``clock`` and ``fraction``, in the order of the file.
    years : YearClock
        Keeps the year from block to block.

    Examples
    --------
    >>> stamp = {"month": ["Feb"], "day": ["30"], "clock": ["03:14:01"], "fraction": [None]}
    >>> month_wall(pl.DataFrame(stamp, schema_overrides={"fraction": pl.String}), YearClock(2025)).to_list()
    [None]
    """
    numbers = {name: number for number, name in enumerate(MONTHS, start=1)}
    clock = pl.col("clock").str.to_time("%H:%M:%S", strict=False).cast(pl.Int64) // 1000
    parts = frame.select(
        pl.col("month").replace_strict(numbers, default=None, return_dtype=pl.Int64),
        pl.col("day").str.strip_chars().cast(pl.Int64, strict=False),
        time=clock + fraction_us(pl.col("fraction")),
    )
    good = (
        parts.select(pl.all_horizontal(pl.all().is_not_null() & (pl.col("day") <= 31)))
        .to_series()
        .fill_null(value=False)
    )
    known = parts.filter(good)
    wall = np.full(frame.height, np.iinfo(np.int64).min)
    exact, exists = years.wall_us(*(known[name].to_numpy() for name in ("month", "day", "time")))
    wall[good.to_numpy()] = np.where(exists, exact, np.iinfo(np.int64).min)
    told = pl.Series("wall", wall)
    return told.set(told == np.iinfo(np.int64).min, None)


def to_utc(frame: pl.DataFrame, clock: LocalClock | None) -> pl.DataFrame:
    """Turn wall clocks into UTC, or say why not.

    Parameters
    ----------
    frame : polars.DataFrame
        With ``wall`` (null: no such time), ``offset`` (null: local) and ``resolution``, all in
        microseconds, in the order of the file.
    clock : LocalClock or None
        None where the user stated no zone.

    Returns
    -------
    polars.DataFrame
        The same rows, with ``ts``, ``ts_low`` and ``ts_high`` (UTC microseconds: the earliest and
        the latest moment that the stamp can mean), ``reason`` (null where there is a time) and
        ``curable`` in place of the three columns.

    Examples
    --------
    >>> wall = 1_000_000_000_000_000
    >>> stamps = pl.DataFrame({"wall": [wall] * 2, "offset": [None, 3_600_000_000], "resolution": [1, 1_000_000]})
    >>> to_utc(stamps, None).select("ts_low", "ts_high", "curable").rows()
    [(None, None, 'clock'), (999996400000000, 999996400999999, None)]
    """
    wall = pl.col("wall")
    outside = ~possible(wall - pl.col("offset").fill_null(0))
    frame = frame.with_columns(
        wall=pl.when(~outside).then(wall),
        reason=pl.when(wall.is_null()).then(pl.lit(IMPOSSIBLE)).when(outside).then(pl.lit(OUTSIDE)),
    )
    frame = frame.with_columns(
        low=wall - pl.col("offset"),
        high=wall - pl.col("offset"),
        curable=pl.lit(None, pl.String),
    )
    local = (frame["wall"].is_not_null() & frame["offset"].is_null()).fill_null(value=False)
    if local.any():
        frame = _local(frame, local, clock)
    return frame.with_columns(
        ts=pl.col("low"), ts_low=pl.col("low"), ts_high=pl.col("high") + pl.col("resolution") - 1
    ).drop("wall", "offset", "resolution", "low", "high")


class FoldWait:
    """Lets lines wait that end a block in the hour that autumn repeats, until that hour is over.

    Which pass they are of is told by the lines that follow, so they are read with the next block.

    Parameters
    ----------
    clock : LocalClock or None
        None: no line waits.
    walls : callable
        Gives ``line`` and ``wall`` (microseconds) of the lines of a frame whose time is local.
    """

    LIMIT = 2_000_000  # lines; an hour that holds more is read in parts
    _PEEK = 500

    def __init__(self, clock: LocalClock | None, walls: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        self._clock = clock
        self._walls = walls
        self._kept: pl.DataFrame | None = None

    def ready(self, lines: pl.DataFrame) -> pl.DataFrame:
        """Give the lines that can be read now, those that waited first."""
        lines = lines if self._kept is None else pl.concat([self._kept, lines])
        self._kept = None
        if self._clock is None or lines.height > self.LIMIT or not self._trailing(self._walls(lines.tail(self._PEEK))):
            return lines
        local = self._walls(lines)
        first = local["line"][-self._trailing(local)]
        self._kept = lines.filter(pl.col("line") >= first)
        return lines.filter(pl.col("line") < first)

    def rest(self) -> pl.DataFrame | None:
        """Give the lines that still wait at the end of the file."""
        return self._kept

    def _trailing(self, local: pl.DataFrame) -> int:
        return 0 if self._clock is None else self._clock.trailing(local["wall"].to_numpy())


def _local(frame: pl.DataFrame, local: pl.Series, clock: LocalClock | None) -> pl.DataFrame:
    if clock is None:
        reason = pl.when(local).then(pl.lit(CLOCK_MISSING)).otherwise("reason")
        return frame.with_columns(reason=reason, curable=pl.when(local).then(pl.lit("clock")))
    low, high, exists = clock.to_utc(frame["wall"].filter(local).to_numpy())
    rows = pl.Series(np.flatnonzero(local.to_numpy()))
    known = pl.Series(exists)
    gone = pl.Series([_SKIPPED]).new_from_index(0, known.len()).set(known, None)
    lows, highs = pl.Series(low), pl.Series(high)
    return frame.with_columns(
        low=frame["low"].scatter(rows, lows.set(~known, None)),
        high=frame["high"].scatter(rows, highs.set(~known, None)),
        reason=frame["reason"].scatter(rows, gone),
    )
