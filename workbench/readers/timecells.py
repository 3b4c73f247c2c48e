"""Times in the cells of a column: epoch numbers by magnitude, RFC 3339 in its spellings, stated formats.

Each cell is read by its own form, since one file can hold several. What is local needs a zone that
the user stated; a form with an open order of day and month needs a stated format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from workbench.model.context import Context
from workbench.readers.stamps import iso_wall, to_utc
from workbench.timebase import MICROS, LocalClock, local_to_utc

__all__ = ["LARGE_ROWS", "Clocks", "TimeRule", "epoch_counts", "read_distinct", "read_times", "wall_times"]

_TICKS = {"ns": 0, "us": 1, "ms": 1000, "s": MICROS, "min": 60 * MICROS, "h": 3600 * MICROS, "d": 86_400 * MICROS}
#: Magnitudes of the years 2001 to 2286 in each unit of an epoch number: ten digits, 13, 16, 19.
_SIZES = ((1e9, 1e10, "s"), (1e12, 1e13, "ms"), (1e15, 1e16, "us"), (1e18, 9.3e18, "ns"))
_ISO = r"^(\d{4})[-/](\d\d)[-/](\d\d)(?:[T _](\d\d:\d\d)(:\d\d)?(?:[.,](\d{1,9}))?(?: ?(Z|z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d))?)?$"
_NUMBER = r"^(-?\d{1,19})(?:\.(\d{0,18}))?$"
_FORM = "time is written in a form whose parts are open: state time_format in a mapping (--map)"
_EMPTY = "no time"
_MAGNITUDE = "number is no time of the years 2001 to 2099: state epoch in a mapping (--map)"
_DAY_US = 86_400 * MICROS
_PLAIN = r"^\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d"
#: Fewer times are not worth the compiled loop.
LARGE_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class TimeRule:
    """How the times of a file are to be read, as far as the user stated it.

    Attributes
    ----------
    zone : str or None
    time_format : str or None
        strptime.
    epoch : str or None
        Unit of numbers; None: by magnitude.
    origin_us : int
        What numbers count from.
    """

    zone: str | None = None
    time_format: str | None = None
    epoch: str | None = None
    origin_us: int = 0

    @classmethod
    def of(cls, context: Context) -> TimeRule:
        """Take what a context states."""
        columns = context.columns
        return cls(
            zone=context.zone,
            time_format=columns.time_format,
            epoch=columns.epoch,
            origin_us=columns.epoch_origin_us or 0,
        )


@dataclass(eq=False, kw_only=True)
class Clocks:
    """Wall clocks of one file: one for each host, since hosts lie behind one another in many files.

    Attributes
    ----------
    rule : TimeRule
    """

    rule: TimeRule
    _clocks: dict[str | None, LocalClock] = field(default_factory=dict)

    def to_utc(self, walls: pl.DataFrame, host: pl.Series | None = None) -> pl.DataFrame:
        """Turn ``wall``, ``offset`` and ``resolution`` into UTC; see :func:`workbench.readers.stamps.to_utc`."""
        zone = self.rule.zone
        if zone is None or not self.repeats(walls):
            return to_utc(walls, LocalClock(zone) if zone else None)
        if host is None:
            return to_utc(walls, self._clock(None, zone))
        told = walls.with_columns(host.alias("host"), pl.int_range(pl.len()).alias("row"))
        parts = [
            to_utc(part.drop("host"), self._clock(part["host"][0], zone))
            for part in told.partition_by("host", maintain_order=True)
        ]
        return pl.concat(parts).sort("row").drop("row")

    def repeats(self, walls: pl.DataFrame) -> bool:
        """Tell whether any of these times is local and comes twice."""
        zone = self.rule.zone
        if zone is None:
            return False
        local = walls.filter(pl.col("offset").is_null() & pl.col("wall").is_not_null())["wall"]
        return local.len() > 0 and _repeats(local, zone)

    def _clock(self, host: str | None, zone: str) -> LocalClock:
        return self._clocks.setdefault(host, LocalClock(zone))


def _repeats(local: pl.Series, zone: str) -> bool:
    """Tell whether any of these wall-clock times comes twice."""
    quarters = (local // (900 * MICROS)).unique().sort() * (900 * MICROS)
    low, high, exists = local_to_utc(quarters.to_numpy(), zone)
    return bool(((low < high) & exists).any())


def read_times(cells: pl.Series, clocks: Clocks, host: pl.Series | None = None) -> pl.DataFrame:
    """Read a column of times.

    Parameters
    ----------
    cells : (row,) text, numbers, dates or datetimes
    clocks : Clocks
        Kept from block to block.
    host : (row,) String, optional
        Hosts of the rows, where the file holds several.

    Returns
    -------
    polars.DataFrame
        ``ts``, ``ts_low``, ``ts_high`` (Int64 microseconds, null where there is no time),
        ``reason``, ``curable``, and ``open`` (the hour comes twice, and which is meant stays open).

    Examples
    --------
    >>> cells = pl.Series(["1762053240", "1762053240000", "2025-11-02T03:14:00,5+0100", "2025-11-02 03:14:00"])
    >>> found = read_times(cells, Clocks(rule=TimeRule()))
    >>> found["ts"].to_list(), found["curable"].to_list()
    ([1762053240000000, 1762053240000000, 1762049640500000, None], [None, None, None, 'clock'])
    """
    return _told(wall_times(cells, clocks.rule), clocks, host)


def read_distinct(cells: pl.Series, clocks: Clocks) -> pl.DataFrame | None:
    """Read times of which the order does not matter; None where it does, in an hour that comes twice.

    Examples
    --------
    >>> read_distinct(pl.Series(["2025-11-02 03:14:00Z"]), Clocks(rule=TimeRule()))["ts"].to_list()
    [1762053240000000]
    >>> read_distinct(pl.Series(["2025-11-02 01:14:00"]), Clocks(rule=TimeRule(zone="America/New_York"))) is None
    True
    """
    walls = wall_times(cells, clocks.rule)
    return None if clocks.repeats(walls) else _told(walls, clocks, None)


def _told(walls: pl.DataFrame, clocks: Clocks, host: pl.Series | None) -> pl.DataFrame:
    told = clocks.to_utc(walls.select("wall", "offset", "resolution"), host)
    covers = told["ts_high"] - told["ts_low"] + 1
    return told.with_columns(
        reason=pl.coalesce(walls["why"], told["reason"]),
        curable=pl.coalesce(walls["cure"], told["curable"]),
        open=(covers > walls["resolution"]).fill_null(value=False),
    )


def epoch_counts(cells: pl.Series, count: pl.Series | None = None) -> dict[str, int]:
    """Count the cells that are epoch numbers, by the unit that their size tells; ``count``: each so often.

    Examples
    --------
    >>> epoch_counts(pl.Series(["1762053240", "1762053240000", "2025-11-02", "5"]))
    {'s': 1, 'ms': 1}
    """
    if not (cells.dtype.is_numeric() or cells.dtype == pl.String):
        return {}
    text = cells if cells.dtype.is_numeric() else cells.str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() == numbers.len():
        return {}
    here = {unit: numbers.is_between(low, high, closed="left").fill_null(value=False) for low, high, unit in _SIZES}
    counts = {unit: int(mask.sum() if count is None else count.filter(mask).sum()) for unit, mask in here.items()}
    return {unit: count for unit, count in counts.items() if count}


def wall_times(cells: pl.Series, rule: TimeRule) -> pl.DataFrame:
    """Give ``wall``, ``offset`` (null: local), ``resolution`` in microseconds, ``why`` and ``cure``.

    Examples
    --------
    >>> wall_times(pl.Series(["1762053240.5", "11/2/2025 3:10 AM", ""]), TimeRule()).select("wall", "cure").rows()
    [(1762053240500000, None), (None, 'map'), (None, None)]
    """
    if cells.dtype.is_temporal():
        return _typed(cells)
    if cells.dtype.is_integer() and rule.time_format is None:
        return _epochs(cells, rule)
    if cells.dtype.is_nested() or cells.dtype in {pl.Binary, pl.Object}:
        return _frame(pl.Series([None] * cells.len(), dtype=pl.Int64), why=_FORM, cure="map")
    text = cells.cast(pl.String).str.strip_chars()
    if rule.time_format is None and (plain := _plain_stamps(text)) is not None:
        return plain
    numbers = text.cast(pl.Int64, strict=False)
    if rule.time_format is None and numbers.null_count() == 0:
        return _epochs(numbers, rule)
    distinct = text.unique()
    parsed = _mixed(distinct, rule) if rule.time_format is None else _formatted(distinct, rule.time_format)
    parsed = parsed.with_columns(distinct.alias("text"))
    return (
        pl.DataFrame({"text": text})
        .join(parsed, on="text", how="left", nulls_equal=True, maintain_order="left")
        .drop("text")
    )


def _plain_stamps(text: pl.Series) -> pl.DataFrame | None:
    """Read many texts that are all written as RFC 3339 and its next of kin; None where one is not, or they are few."""
    if text.len() < LARGE_ROWS or text.null_count() or not text.head(1).str.contains(_PLAIN).all():
        return None
    from workbench.kernels.stamploops import stamp_loop

    array = text.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, edges, data = array.buffers()
    count, begin = text.len(), array.offset
    places = np.frombuffer(edges, np.int64)[begin : begin + count + 1]
    wall, minutes, resolution = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    if stamp_loop(np.frombuffer(data, np.uint8), places, wall, minutes, resolution) < count:
        return None
    east = pl.when(pl.col("minutes") < 10_000).then(pl.col("minutes") * (60 * MICROS))
    none = pl.lit(None, pl.String)
    return pl.DataFrame({"wall": wall, "minutes": minutes, "resolution": resolution}).select(
        "wall", offset=east, resolution="resolution", why=none, cure=none
    )


def _frame(
    wall: pl.Series, *, offset: int | None = 0, resolution: int | pl.Series = 1, why: str, cure: str | None
) -> pl.DataFrame:
    """Lay out one answer a row; where there is no wall clock, ``why`` and ``cure`` say so."""
    none = wall.is_null()
    covered = resolution if isinstance(resolution, pl.Series) else pl.lit(resolution, pl.Int64)
    return pl.DataFrame({"wall": wall.cast(pl.Int64)}).with_columns(
        offset=pl.lit(offset, pl.Int64),
        resolution=covered,
        why=pl.when(none).then(pl.lit(why)),
        cure=pl.when(none).then(pl.lit(cure, pl.String)),
    )


def _typed(cells: pl.Series) -> pl.DataFrame:
    """Take dates and datetimes as they are; without a zone they are local."""
    if cells.dtype == pl.Date:
        return _frame(
            cells.cast(pl.Datetime("us")).cast(pl.Int64), offset=None, resolution=_DAY_US, why=_EMPTY, cure=None
        )
    if not isinstance(cells.dtype, pl.Datetime):
        return _frame(pl.Series([None] * cells.len(), dtype=pl.Int64), why=_FORM, cure="map")
    zoned = cells.dtype.time_zone is not None
    resolution = 1000 if cells.dtype.time_unit == "ms" else 1
    wall = cells.cast(pl.Datetime("us", cells.dtype.time_zone)).cast(pl.Int64)
    return _frame(wall, offset=0 if zoned else None, resolution=resolution, why=_EMPTY, cure=None)


def _epochs(numbers: pl.Series, rule: TimeRule) -> pl.DataFrame:
    """Turn numbers into microseconds, by the stated unit or by magnitude."""
    frame = pl.DataFrame({"n": numbers})
    n, size = pl.col("n"), pl.col("n").cast(pl.Float64).abs()
    whole = numbers.dtype.is_integer()

    def ticks(unit: str) -> pl.Expr:
        if unit == "ns":
            return n // 1000
        return n.cast(pl.Int64) * _TICKS[unit] if whole else (n * _TICKS[unit]).round().cast(pl.Int64, strict=False)

    if rule.epoch is not None:
        limit = 9e18 / max(_TICKS[rule.epoch], 1)
        wall: pl.Expr = pl.when(size < limit).then(ticks(rule.epoch) + rule.origin_us)
        covers = pl.lit(max(_TICKS[rule.epoch], 1) if whole else 1, pl.Int64)
    else:
        sizes = [(n.is_between(low, high, closed="left"), unit) for low, high, unit in _SIZES]
        wall = pl.coalesce(pl.when(here).then(ticks(unit).cast(pl.Int64)) for here, unit in sizes)
        covers = pl.coalesce(
            *(pl.when(here).then(max(_TICKS[unit], 1) if whole else 1) for here, unit in sizes), pl.lit(1, pl.Int64)
        )
    told = frame.select(wall=wall.cast(pl.Int64), covers=covers.cast(pl.Int64), none=n.is_null())
    found = _frame(told["wall"], resolution=told["covers"], why=_MAGNITUDE, cure="map")
    return found.with_columns(
        why=pl.when(told["none"]).then(pl.lit(_EMPTY)).otherwise("why"), cure=pl.when(~told["none"]).then("cure")
    )


def _mixed(text: pl.Series, rule: TimeRule) -> pl.DataFrame:
    """Read each text by its own form: a number, or RFC 3339 and its kin."""
    frame = pl.DataFrame({"text": text}).with_columns(
        pl.col("text").str.extract_groups(_ISO).alias("iso"), number=pl.col("text").cast(pl.Float64, strict=False)
    )
    group = [pl.col("iso").struct.field(str(index)) for index in range(1, 8)]
    year, month, day, clock, second, fraction, zone = group
    zone = zone.str.replace("^(?i:z|UTC|GMT)$", "Z").str.replace(r"^([+-]\d\d)$", "${1}00")
    date = pl.concat_str(year, month, day, separator="-")
    clock_full = pl.concat_str(clock.fill_null("00:00"), second.fill_null(":00"))
    covers = pl.when(clock.is_null()).then(_DAY_US).when(second.is_null()).then(60 * MICROS).otherwise("resolution")
    iso = (
        frame.select(*iso_wall(date, clock_full, fraction, zone))
        .with_columns(frame["iso"])
        .with_columns(resolution=covers)
    )
    is_number = frame["number"].is_not_null()
    if is_number.any():
        numbers = _decimal_epochs(text, rule)
    else:
        numbers = iso.select("wall", "resolution", why=pl.lit(None, pl.String), cure=pl.lit(None, pl.String))
    empty = (text.is_null() | (text == "")).fill_null(value=True)
    form = frame["iso"].struct.field("1").is_null() & ~is_number & ~empty
    return iso.select(
        wall=pl.when(is_number).then(numbers["wall"]).otherwise("wall"),
        offset=pl.when(is_number).then(0).otherwise("offset"),
        resolution=pl.when(is_number).then(numbers["resolution"]).otherwise("resolution"),
        why=pl.when(empty).then(pl.lit(_EMPTY)).when(form).then(pl.lit(_FORM)).when(is_number).then(numbers["why"]),
        cure=pl.when(form).then(pl.lit("map")).when(is_number & ~empty).then(numbers["cure"]),
    )


def _decimal_epochs(text: pl.Series, rule: TimeRule) -> pl.DataFrame:
    """Read numbers exactly: whole part as an integer, decimals as a share of its unit."""
    parts = pl.DataFrame({"text": text}).select(
        whole=pl.col("text").str.extract(_NUMBER, 1).cast(pl.Int64, strict=False),
        share=pl.concat_str(pl.lit("0."), pl.col("text").str.extract(_NUMBER, 2)).cast(pl.Float64, strict=False),
        digits=pl.col("text").str.extract(_NUMBER, 2).str.len_chars().fill_null(0),
        other=pl.col("text").cast(pl.Float64, strict=False),
    )
    whole, other = _epochs(parts["whole"], rule), _epochs(parts["other"], rule)
    exact = parts["whole"].is_not_null()
    ticks = pl.col("resolution")
    sign = pl.select(pl.when(text.str.starts_with("-")).then(-1).otherwise(1)).to_series()
    share = (parts["share"].fill_null(0.0) * whole["resolution"]).round().cast(pl.Int64) * sign
    finer = whole.select(
        (ticks / 10 ** parts["digits"].clip(0, 18).cast(pl.Float64)).cast(pl.Int64).clip(1)
    ).to_series()
    return whole.with_columns(wall=pl.col("wall") + share, resolution=finer).select(
        pl.when(exact).then(name).otherwise(other[name]).alias(name) for name in ("wall", "resolution", "why", "cure")
    )


def _formatted(text: pl.Series, written: str) -> pl.DataFrame:
    """Read a stated strptime format; with ``%z`` it is absolute, else local."""
    chrono = written.replace(".%f", "%.f").replace("%f", "%6f")
    none = text.is_null() | (text == "")
    why = f"time does not fit the stated time_format '{written}'"
    try:
        moments = text.str.to_datetime(chrono, time_unit="us", strict=False)
    except pl.exceptions.PolarsError:
        moments = pl.Series([None] * text.len(), dtype=pl.Datetime("us"))
    zoned = isinstance(moments.dtype, pl.Datetime) and moments.dtype.time_zone is not None
    covers = next((size for mark, size in _COVERS if re.search(mark, chrono)), _DAY_US)
    found = _frame(moments.cast(pl.Int64), offset=0 if zoned else None, resolution=covers, why=why, cure="map")
    return found.with_columns(why=pl.when(none).then(pl.lit(_EMPTY)).otherwise("why"), cure=pl.when(~none).then("cure"))


#: What one stamp of a format covers, by its finest part.
_COVERS = (
    (r"%\.?\d?f", 1),
    (r"%[STXsrc+]", MICROS),
    (r"%[MR]", 60 * MICROS),
    (r"%[HIkl]", 3600 * MICROS),
)
