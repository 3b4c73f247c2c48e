"""Dates whose day and month stand in an order that only some of them show: 11/2/2025 and 11/14/2025.

The first dates of a file with a part beyond 12 tell the order of the others. Where a later one says
otherwise the order has changed inside of the file, and what is open from there on stays open.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

__all__ = ["DateOrder", "order_of_format"]

_DATE = r"^(\d{1,2})([./-])(\d{1,2})[./-](\d{2}|\d{4})(?:[ T,]+(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,6}))?)? ?([AaPp]\.?[Mm]\.?)?)?$"


def order_of_format(written: str | None) -> bool | None:
    """Tell whether a strptime format has the day before the month; None where it names not both.

    Examples
    --------
    >>> order_of_format("%d.%m.%Y %H:%M"), order_of_format("%m/%d/%Y"), order_of_format("%Y-%j")
    (True, False, None)
    """
    if written is None or "%d" not in written or "%m" not in written:
        return None
    return written.index("%d") < written.index("%m")


@dataclass(eq=False)
class DateOrder:
    """Rewrites dates as ISO 8601, row after row of one file.

    Parameters
    ----------
    day_first : bool or None
        As stated, or as the first dates of the file tell (see :meth:`look`); None: open.
    stated : bool
        What was stated is not doubted.

    Examples
    --------
    >>> order = DateOrder()
    >>> order.look(pl.Series(["11/2/2025 3:10:00 AM", "11/14/2025 3:10:00 PM"]))
    >>> order.iso(pl.Series(["11/2/2025 3:10:00 PM", "2.11.2025 03:14", "2025-11-02"]), pl.Series([2, 3, 4])).to_list()
    ['2025-11-02 15:10:00', '2025-11-02 03:14', '2025-11-02']
    """

    day_first: bool | None = None
    stated: bool = False
    changed_at: int | None = None

    def look(self, cells: pl.Series) -> None:
        """Take the order from the first of the first dates of a file that shows it."""
        if self.stated:
            return
        day, month = self._shown(_parts(cells))
        first = (day | month).arg_max() if (day | month).any() else None
        self.day_first = None if first is None else bool(day[first])

    def iso(self, cells: pl.Series, lines: pl.Series) -> pl.Series:
        """Give the times as ISO 8601; what is open or no date stays as it is written.

        Parameters
        ----------
        cells : (row,) String
        lines : (row,) Int64
            Their numbers in the file.
        """
        parts = _parts(cells)
        day_shown, month_shown = self._shown(parts)
        open_ = self._open(parts, lines, day_shown, month_shown)
        point = parts["mark"] == "."
        usual = bool(self.day_first)
        day_first = point | day_shown | (pl.Series([usual]).new_from_index(0, cells.len()) & ~month_shown)
        known = parts["a"].is_not_null() & ~open_
        told = parts.with_columns(day_first=day_first, known=known.fill_null(value=False), text=cells)
        a, b = pl.col("a"), pl.col("b")
        return told.select(pl.when("known").then(_iso(a, b)).otherwise("text")).to_series()

    def _open(self, parts: pl.DataFrame, lines: pl.Series, day: pl.Series, month: pl.Series) -> pl.Series:
        """Tell which dates stay open: all undecided ones, and those that follow a change."""
        bare = ~day & ~month & (parts["mark"] != ".").fill_null(value=False) & (parts["a"] != parts["b"])
        if self.day_first is None:
            return bare
        other = (month if self.day_first else day) & ~pl.Series([self.stated]).new_from_index(0, day.len())
        if self.changed_at is None and other.any():
            self.changed_at = int(lines.filter(other)[0])
        if self.changed_at is None:
            return pl.Series([False]).new_from_index(0, day.len())
        return bare & (lines >= self.changed_at)

    @staticmethod
    def _shown(parts: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
        """Tell which dates can only have the day first, and which only the month."""
        slash = (parts["mark"] != ".").fill_null(value=False)
        over_a, over_b = parts["a"] > 12, parts["b"] > 12
        return (slash & over_a & ~over_b).fill_null(value=False), (slash & over_b & ~over_a).fill_null(value=False)


def _parts(cells: pl.Series) -> pl.DataFrame:
    groups = cells.str.strip_chars().str.extract_groups(_DATE).struct.unnest()
    names = ("a", "mark", "b", "year", "hour", "minute", "second", "fraction", "half")
    frame = groups.rename(dict(zip(groups.columns, names, strict=True)))
    return frame.with_columns(pl.col("a", "b", "year", "hour").cast(pl.Int64, strict=False))


def _iso(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Write year, month, day and a clock of 24 hours."""
    day = pl.when("day_first").then(a).otherwise(b).cast(pl.String).str.zfill(2)
    month = pl.when("day_first").then(b).otherwise(a).cast(pl.String).str.zfill(2)
    year = pl.when(pl.col("year") < 100).then(pl.col("year") + 2000).otherwise("year").cast(pl.String)
    half = pl.col("half").str.to_lowercase().str.slice(0, 1)
    hour = (
        pl.when(half.is_null())
        .then("hour")
        .when(pl.col("hour").is_between(1, 12))
        .then(pl.col("hour") % 12 + pl.when(half == "p").then(12).otherwise(0))
        .otherwise(99)  # no such hour: the whole is no time
    )
    second = pl.concat_str(pl.lit(":"), pl.col("second")).fill_null("")
    fraction = pl.concat_str(pl.lit("."), pl.col("fraction")).fill_null("")
    clock = pl.concat_str(pl.lit(" "), hour.cast(pl.String).str.zfill(2), pl.lit(":"), "minute", second, fraction)
    return pl.concat_str(year, pl.lit("-"), month, pl.lit("-"), day, clock.fill_null(""))
