r"""Lines of training logs as columns: progress bars cut at ``\r``, prefixes of launchers taken off, stamps found."""

from __future__ import annotations

import re

import polars as pl

from workbench.readers import stamps
from workbench.timebase import LocalClock, YearClock

__all__ = ["YEAR_MISSING", "first_year", "parted", "timed", "walled"]

YEAR_MISSING = "time without a year: state the year of the first line (--year Y)"
_BOTH_MISSING = "time without year and zone: state both (--year Y, --clock GLOB=ZONE)"
#: What launchers put before each line: torchrun, pdsh and srun, ranks, process ids.
_PREFIX = r"^(?P<prefix>(?:\[default\d{1,5}\]: ?|\[rank\d{1,6}\]: ?|(?P<node>[A-Za-z][\w-]*\d[\w.-]*): |\d{1,6}: |\[\d{1,8}\] )*)"
_RANK = r"(?:^|[^\w])\[rank(?P<rank>\d{1,6})\]:|(?:^|\s)\[Rank (?P<rank2>\d{1,6})\]|Rank (?P<rank3>\d{1,6})\] "
_ISO = (
    r"(?:^ ?\[?(?:NeMo [A-Z] )?|datetime: |\[(?:[IWE] )?)(?P<date>\d{4}-\d\d-\d\d)[ T](?P<clock>\d\d:\d\d:\d\d)"
    r"(?:[.,:](?P<fraction>\d{1,9}))?(?P<offset>Z|[+-]\d\d:?\d\d)?"
)
#: glog: month without a leading zero in old versions (``E626``), no year, no zone.
_GLOG = r"(?:^|\[)[IWEF](?P<month>\d{1,2})(?P<day>\d\d) (?P<hour>\d\d:\d\d:\d\d)\.(?P<decimals>\d{1,9}) "


_PARTS = ("date", "clock", "fraction", "month", "day", "hour", "decimals")
_MONTHS = {str(number).zfill(width): name for number, name in enumerate(stamps.MONTHS, start=1) for width in (1, 2)}


def first_year(head: bytes) -> int | None:
    r"""Give the year of the first full date of a log.

    Examples
    --------
    >>> first_year(b"E1102 04:14:01.5\n[2025-11-02 04:15:00,123] [INFO] x"), first_year(b"nothing")
    (2025, None)
    """
    found = re.search(rb"(?:^|[^\d])(20\d\d)-(?:0[1-9]|1[0-2])-[0-3]\d[ T]\d\d:\d\d:\d\d", head)
    return int(found[1]) if found else None


def parted(lines: pl.DataFrame) -> pl.DataFrame:
    r"""Give ``line, text, node, rank``: every part of a line that ``\r`` parts, without prefixes.

    Examples
    --------
    >>> told = parted(pl.DataFrame({"line": [7], "text": ["vm-07: [default7]: 1%|# |\r[rank3]:[E1102 04:14:01.5 x] y"]}))
    >>> told.select("line", "text", "node", "rank").rows()
    [(7, '1%|# |', 'vm-07', None), (7, '[E1102 04:14:01.5 x] y', None, 3)]
    """
    if lines["text"].str.contains("\r", literal=True).any():
        lines = lines.with_columns(pl.col("text").str.split("\r")).explode("text", empty_as_null=True)
    found = pl.col("text").str.extract_groups(_PREFIX)
    ranks = pl.col("text").str.extract_groups(_RANK)
    return lines.with_columns(
        node=found.struct.field("node"),
        rank=pl.coalesce(ranks.struct.field(name) for name in ("rank", "rank2", "rank3")).cast(pl.Int64),
        text=pl.col("text").str.strip_prefix(found.struct.field("prefix")),
    )


def walled(lines: pl.DataFrame, years: YearClock | None) -> pl.DataFrame:
    """Give the lines that carry a stamp, with ``wall``, ``offset``, ``resolution`` and ``yearless``.

    Parameters
    ----------
    lines : polars.DataFrame
        Of :func:`parted`.
    years : YearClock or None
        None where no year is known: a stamp of glog has no wall then.
    """
    iso, glog = pl.col("text").str.extract_groups(_ISO), pl.col("text").str.extract_groups(_GLOG)
    parts = lines.with_columns(
        *(iso.struct.field(name) for name in ("date", "clock", "fraction", "offset")),
        *(glog.struct.field(name) for name in ("month", "day", "hour", "decimals")),
    ).filter(pl.col("date").is_not_null() | pl.col("month").is_not_null())
    told = parts.with_columns(
        stamps.iso_wall(*(pl.col(name) for name in ("date", "clock", "fraction", "offset"))),
        yearless=pl.col("date").is_null(),
    )
    if not told.height:
        return told.drop(_PARTS)
    # Stamps with a year let the others know how the years go on.
    dated = pl.col("date").is_not_null()
    stamp = told.select(
        month=pl.when(dated).then(pl.col("date").str.slice(5, 2)).otherwise("month").replace_strict(
            _MONTHS, default=None, return_dtype=pl.String
        ),
        day=pl.when(dated).then(pl.col("date").str.slice(8, 2)).otherwise("day"),
        clock=pl.when(dated).then("clock").otherwise("hour"),
        fraction=pl.when(dated).then("fraction").otherwise("decimals"),
    )  # fmt: skip
    walls = (
        pl.Series("found", [None] * told.height, dtype=pl.Int64) if years is None else stamps.month_wall(stamp, years)
    )
    return told.with_columns(
        wall=pl.when("yearless").then(walls).otherwise("wall"),
        resolution=pl.when("yearless").then(stamps.resolution_us(pl.col("decimals"))).otherwise("resolution"),
        offset=pl.when("yearless").then(None).otherwise("offset"),
    ).drop(_PARTS)


def timed(lines: pl.DataFrame, clock: LocalClock | None, years: YearClock | None) -> pl.DataFrame:
    """Turn stamps into UTC; of those without a year or a zone ``reason`` and ``curable`` say what is missing."""
    found = stamps.to_utc(walled(lines, years), clock)
    if years is None and found["yearless"].any():
        reason, cure = (_BOTH_MISSING, "clock") if clock is None else (YEAR_MISSING, "year")
        found = found.with_columns(
            reason=pl.when("yearless").then(pl.lit(reason)).otherwise("reason"),
            curable=pl.when("yearless").then(pl.lit(cure)).otherwise("curable"),
        )
    return found
