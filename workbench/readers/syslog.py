"""Syslog as files hold it: RFC 3164, RFC 5424, rsyslog's ISO times, ``journalctl`` short forms.

Lines of many hosts may share a file, and both styles of time may too. A time without a year or a
zone is read with what the user states; without it the line waits as a curable reject.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers import stamps
from workbench.readers.base import Match, Reader
from workbench.readers.kernel_messages import LINE, KernelGrammar
from workbench.readers.program_messages import program_events, severity_of, told_with, unrepeated
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import Lines, Seen, lines_of, matched_share, rejected, skipped
from workbench.timebase import LocalClock, YearClock

__all__ = ["READER"]

_MONTH = "|".join(stamps.MONTHS)
_ISO = r"(?P<date>\d{4}-\d\d-\d\d)T(?P<time>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?(?P<offset>Z|[+-]\d\d:?\d\d)?"
_BSD = rf"(?P<month>{_MONTH}) +(?P<day>\d{{1,2}}) (?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<decimals>\d{{1,9}}))?(?: (?P<year>\d{{4}}))?"
_PREFIX = rf"^(?P<prefix>(?:<(?P<pri>\d{{1,4}})>)?(?P<version>1 )?(?:{_ISO}|{_BSD}) (?P<host>\S+) ?)"
_TAG = r"^(?P<tag>(?P<program>[^\s\[\]:]{1,64})(?:\[(?P<pid>[^\]]{0,64})\])?: ?)"
_STRUCTURED = (
    r"^(?P<tag>(?P<program>\S{1,64}) (?P<pid>\S{1,128}) (?P<msgid>\S{1,64}) "
    r'(?P<sd>-|(?:\[(?:[^\]\\"]|\\.|"(?:[^"\\]|\\.)*")*\])+)(?: \x{FEFF}?|$))'
)
_KERNEL_STAMP = r"^\[ *\d{1,10}\.\d{6}\](?: ?\[ *[TC]\d+\])? ?"
_JOURNAL_NOTE = r"^-- (?:Boot|Reboot|Logs begin|Journal begins|No entries|Journal end)\b.{0,200}$"
_NO_STAMP = "no syslog time stamp"
_YEAR_MISSING = "time without a year: state the year of the first line (--year Y)"
_BOTH_MISSING = "time without year and zone: state both (--year Y, --clock GLOB=ZONE)"
_WORDS = r"INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL|NOTICE"
_LIKELY = (
    rf"^(?:<\d{{1,4}}>)?(?:1 )?(?:{stamps.ISO_PATTERN}|(?:{_MONTH}) +\d{{1,2}} \d\d:\d\d:\d\d(?:\.\d+)?) "
    r"[\w.:%-]+ (?:[^\s\[\]:]{1,64}(?:\[[^\]]*\])?:|\S+ \S+ \S+ (?:-|\[))"
)


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    share = matched_share(head, _LIKELY)
    levels = matched_share(head, rf"^\S+(?: \S+)?[ T]\S+ \[?(?:{_WORDS})\b")
    if matched_share(head, _JOURNAL_NOTE) == 1.0:
        return Match(confidence=0.6, rule="notes of journalctl, and no entries")
    if share < 0.6 or levels > 0.2:
        return None
    return Match(confidence=0.4 + 0.4 * share, rule=f"{share:.0%} of the first lines have a time, a host and a program")


def _read(source: Source, context: Context) -> Iterator[Batch]:
    log = _Log(context)
    for block in source.blocks():
        yield log.batch(lines_of(block))
    yield from log.end()
    yield from damage_batches(source)


class _Log:
    """What is known from block to block."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._clock = None if context.zone is None else LocalClock(context.zone)
        self._fold = stamps.FoldWait(self._clock, self._walls)
        self._years = None if context.year is None else YearClock(context.year)
        self._grammar = KernelGrammar()
        self._seen = Seen()
        self._stamped = False
        self._open_hour = 0

    def batch(self, lines: Lines) -> Batch:
        """Read a block."""
        return self._read(self._fold.ready(lines.frame), lines.rejects)

    def _read(self, lines: pl.DataFrame, refused: pl.DataFrame) -> Batch:
        frame = lines.with_columns(pl.col("text").str.extract_groups(_PREFIX).struct.unnest())
        stamped = frame["prefix"].is_not_null()
        counts, odd = self._unstamped(frame.filter(~stamped), frame.filter(stamped))
        timed, bad = self._timed(frame.filter(stamped))
        fresh = self._fresh(timed)
        counts["duplicate"] = int((~fresh).sum())
        rows = _named(timed.filter(fresh), self._context.host)
        kernel = (rows["program"] == "kernel").fill_null(value=False) & rows["pid"].is_null()  # which has none
        told = self._grammar.feed(rows.filter(kernel).select(LINE.names()).cast(LINE))
        told = told_with(told, program_events(rows.filter(~kernel)))
        return told.batch(skipped(counts), pl.concat([refused, odd, bad]).sort("line"))

    def end(self) -> Iterator[Batch]:
        """Tell what waited or was held back, and what the user should know."""
        if (waiting := self._fold.rest()) is not None:
            yield self._read(waiting, frames.empty(frames.REJECTS))
        hour = f"{self._open_hour} lines lie in the hour that autumn repeats: either pass is possible"
        notes = [hour] if self._open_hour else []
        yield self._grammar.finish().batch(skipped({}), frames.empty(frames.REJECTS), notes)

    def _unstamped(self, rest: pl.DataFrame, stamped: pl.DataFrame) -> tuple[dict[str, int], pl.DataFrame]:
        text = pl.col("text")
        first = stamped["line"].min() if stamped.height else None
        after = pl.lit(self._stamped) | (pl.col("line") > (first if first is not None else 2**62))
        self._stamped |= first is not None
        kind = rest.select(
            pl.when(text.str.strip_chars() == "")
            .then(pl.lit("blank"))
            .when(text.str.contains(_JOURNAL_NOTE))
            .then(pl.lit("metadata"))
            .when(text.str.contains(r"^\s") & after)
            .then(pl.lit("continuation"))
        ).to_series()
        return dict(kind.drop_nulls().value_counts().iter_rows()), rejected(rest.filter(kind.is_null()), _NO_STAMP)

    def _timed(self, lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Give the lines with ``ts``, ``ts_low`` and ``ts_high``, and the rejects of those without."""
        yearless = lines["month"].is_not_null() & lines["year"].is_null()
        timed = stamps.to_utc(_walled(lines, self._years), self._clock)
        if self._years is None and yearless.any():
            missing = _BOTH_MISSING if self._clock is None else _YEAR_MISSING
            timed = timed.with_columns(
                reason=pl.when(yearless).then(pl.lit(missing)).otherwise("reason"),
                curable=pl.when(yearless).then(pl.lit("clock" if self._clock is None else "year")).otherwise("curable"),
            )
        good = timed["reason"].is_null()
        bad = timed.filter(~good)
        self._open_hour += int((timed["ts_high"] - timed["ts_low"] > 999_999).sum())
        return timed.filter(good), rejected(bad, pl.col("reason")).with_columns(curable=bad["curable"])

    def _walls(self, lines: pl.DataFrame) -> pl.DataFrame:
        """Give the wall clocks of the lines without a zone; the years go on as if these were read."""
        parts = lines.with_columns(pl.col("text").str.extract_groups(_PREFIX).struct.unnest())
        walled = _walled(parts.filter(pl.col("prefix").is_not_null()), copy(self._years))
        return walled.filter(pl.col("offset").is_null()).select("line", "wall").drop_nulls()

    def _fresh(self, timed: pl.DataFrame) -> pl.Series:
        """Tell which lines were not met before; to the second, equal lines may be two messages."""
        exact = (timed["ts_high"] == timed["ts_low"]).fill_null(value=False)
        fresh = self._seen.is_new(timed["text"].filter(exact))
        return pl.repeat(value=True, n=timed.height, eager=True).scatter(exact.arg_true(), fresh)


def _walled(lines: pl.DataFrame, years: YearClock | None) -> pl.DataFrame:
    """Add ``wall``, ``offset`` and ``resolution`` to lines of both styles."""
    bsd = lines["month"].is_not_null()
    yearless = bsd & lines["year"].is_null()
    iso = stamps.iso_wall(pl.col("date"), pl.col("time"), pl.col("fraction"), pl.col("offset"))
    digits = pl.coalesce("fraction", "decimals")
    lines = lines.with_columns(*iso).with_columns(resolution=stamps.resolution_us(digits))
    for which in (yearless, bsd & ~yearless):
        if which.any():
            own = _bsd_wall(lines.filter(which), years)
            lines = lines.with_columns(wall=lines["wall"].scatter(which.arg_true(), own))
    return lines


def _bsd_wall(lines: pl.DataFrame, years: YearClock | None) -> pl.Series:
    parts = lines.select("month", "day", "clock", fraction="decimals")
    if lines["year"][0] is None:
        # Without a year the lines are rejected; the place in some year serves until then.
        return stamps.month_wall(parts, YearClock(2000) if years is None else years)
    written = lines["year"].cast(pl.Int64)
    walls = [stamps.month_wall(parts.filter(written == one), YearClock(one)) for one in written.unique()]
    places = [(written == one).arg_true() for one in written.unique()]
    return pl.DataFrame({"at": pl.concat(places), "wall": pl.concat(walls)}).sort("at")["wall"]


def _named(timed: pl.DataFrame, host: str | None) -> pl.DataFrame:
    """Take host, program and message apart."""
    text = pl.col("text").str.strip_prefix(pl.col("prefix"))
    rest = timed.select("line", "ts", "ts_low", "ts_high", "host", "pri", "version", text=text)
    pri = pl.col("pri").cast(pl.Int64, strict=False)
    structured = rest["version"].is_not_null()
    parts = [_tagged(rest.filter(~structured), _TAG), _tagged(rest.filter(structured), _STRUCTURED)]
    rows = _untagged_kernel(pl.concat(parts, how="diagonal").sort("line"), pri)
    colon = pl.col("host").str.ends_with(":") & ~pl.col("text").str.contains(r"^last message repeated ")
    bare = pl.col("host").str.strip_suffix(":")
    rows = rows.with_columns(
        program=pl.when(colon).then(bare.str.extract(r"^([^\[]+)")).otherwise("program"),
        host=pl.when(colon | (bare == "-")).then(pl.lit(host, pl.String)).otherwise(bare),
        severity=severity_of(pri),
        pri=pl.when(pri > 191).then("pri"),
        pid=pl.when(colon).then(bare.str.extract(r"\[(\d+)\]$")).otherwise("pid").cast(pl.Int64, strict=False),
        repeated=pl.lit(None, pl.Int64),
        extra=pl.lit(value=False),
        text=pl.when(pl.col("program") == "kernel")
        .then(pl.col("text").str.replace(_KERNEL_STAMP, ""))
        .otherwise("text"),
    )
    return unrepeated(rows.drop("version", "tag"))


def _untagged_kernel(rows: pl.DataFrame, pri: pl.Expr) -> pl.DataFrame:
    """Take lines of the kernel's facility without its tag for the kernel's: what seems a tag is text."""
    facility = rows.select(
        (pri < 8) & pl.col("version").is_null() & (pl.col("program") != "kernel").fill_null(value=True)
    )
    bare = facility.to_series().fill_null(value=False) & rows["pid"].is_null()
    if not bare.any():
        return rows
    return rows.with_columns(
        text=pl.when(bare).then(pl.concat_str(pl.col("tag").fill_null(""), "text")).otherwise("text"),
        program=pl.when(bare).then(pl.lit("kernel")).otherwise("program"),
    )


def _tagged(rows: pl.DataFrame, pattern: str) -> pl.DataFrame:
    """Split the program and what belongs to it off the message."""
    caught = rows.with_columns(pl.col("text").str.extract_groups(pattern).struct.unnest())
    names = [name for name in ("program", "pid", "msgid", "sd") if name in caught.columns]
    given = [pl.when(pl.col(name) != "-").then(name).alias(name) for name in names]
    message = pl.col("text").str.strip_prefix(pl.col("tag").fill_null(""))
    return caught.with_columns(*given, text=message)


READER = Reader(name="syslog", recognise=_recognise, read=_read)
