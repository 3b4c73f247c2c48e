"""Kernel logs of one host: ``dmesg`` plain, ``-T``, ``--decode`` and ISO, ``/dev/kmsg``, pstore.

Times count from the boot, which the user states, or stand on the wall of a zone, which the user
states too; without them the lines wait as curable rejects. Nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers import stamps
from workbench.readers.base import Match, Reader
from workbench.readers.kernel_lines import program_rows, programs_of
from workbench.readers.kernel_messages import LINE, KernelGrammar, Told
from workbench.readers.kernel_stamps import padded_stamps
from workbench.readers.program_messages import program_events, severity_of, told_with
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import Lines, Seen, lines_of, matched_share, rejected, skipped
from workbench.timebase import LocalClock, format_us

__all__ = ["READER"]

_LEVEL = (
    r"(?:<(?P<pri>\d{1,4})>|(?P<facility>kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|res\d+|local\d) *:"
    r"(?P<level>[a-z]+) *: )?"
)
_CALLER = r"(?: ?\[ *[TC]\d+\])?(?: |$)"
_WALL = (
    r"\[(?P<weekday>Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<month>[A-Z][a-z]{2}) (?P<day>[ \d]\d) (?P<clock>\d\d:\d\d:\d\d) "
    r"(?P<year>\d{4})\]"
)
_ISO = r"(?P<date>\d{4}-\d\d-\d\d)T(?P<time>\d\d:\d\d:\d\d),(?P<fraction>\d{6})(?P<offset>[+-]\d\d:\d\d)"
#: The forms of a stamp; most files hold one of them.
_FORMS = {
    "boot": rf"^(?P<prefix>{_LEVEL}\[ *(?P<boot>\d{{1,10}}\.\d{{6}})\]{_CALLER})",
    "wall": rf"^(?P<prefix>{_LEVEL}{_WALL}{_CALLER})",
    "iso": rf"^(?P<prefix>{_LEVEL}{_ISO}{_CALLER})",
    "kmsg": r"^(?P<prefix>(?P<pri>\d{1,5}),\d+,(?P<boot>\d{1,18}),[-c+][^;]{0,200};)",
}
_PART = r"^(?:Panic|Oops|Emergency|Shutdown|Restart|Halt|Poweroff|Unknown)#\d+ Part\d+ ?$"
_HEADER = rf"{_PART}|^dmesg-[\w-]+-\d+:$"
_ANY_STAMP = (
    r"(?:\[ *\d{1,10}\.\d{6}\]|\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\]|"
    r"(?:kern *:[a-z]+ *: )\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}[+-]\d\d:\d\d)"
)
_GLUED = rf"[^\s\"'`(] ?(?:<\d{{1,3}}>)?{_ANY_STAMP} "
_SPLIT = re.compile(rf"(?<=[^\s\"'`(]) ?(?:<\d{{1,3}}>)?({_ANY_STAMP}) ")
_MCE_TIME = r"\[Hardware Error\]: PROCESSOR \S+ TIME (\d{9,10}) "
_BOOT_MISSING = "time since boot: state when this host booted (boot_at in a mapping file)"
_OTHER_BOOT = "these lines count from another boot than the one before them: split the file at its 'Linux version' line"
_NO_STAMP = "no kernel time stamp"
_OTHER_WEEKDAY = "the day of the week does not fit the date"
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_JOURNAL_NOTE = r"^-- (?:Boot|Reboot|Logs begin|Journal begins|No entries|Journal end)\b"
_JOURNAL = r"^(?P<tag>(?P<own>[A-Za-z0-9][A-Za-z0-9_.-]{0,99}) kernel: )"
_DRIFT = {
    "boot": "times are the stated boot plus uptime: suspends and steps of the clock since boot are not in them",
    "wall": "times are of dmesg -T: whole seconds, off by what suspends and steps of the clock added since boot",
}


_NOTHING = pl.DataFrame(
    schema={
        "order": pl.UInt32,
        "line": pl.Int64,
        "text": pl.String,
        "message": pl.String,
        "prefix": pl.String,
        "pri": pl.String,
        "level": pl.String,
        "facility": pl.String,
        "uptime": pl.Int64,
        "ts": pl.Int64,
        "ts_low": pl.Int64,
        "ts_high": pl.Int64,
        "exact": pl.Boolean,
    }
)


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    named = re.compile(r"\?P<\w+>")  # one name may stand once in a pattern
    share = matched_share(head, "|".join([*(named.sub("", form) for form in _FORMS.values()), _HEADER]))
    if share < 0.6:
        return None
    return Match(confidence=0.5 + 0.4 * share, rule=f"{share:.0%} of the first lines carry a kernel time stamp")


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
        self._fold = stamps.FoldWait(self._clock, _walls)
        self._grammar = KernelGrammar()
        self._seen = Seen()
        self._uptime = -1  # latest microseconds since boot
        self._told_until = -1  # the same, of the lines that were told
        self._other_boot = False
        self._stamped = False
        self._notes: dict[str, None] = {}
        self._open_hour = 0

    def batch(self, lines: Lines) -> Batch:
        """Read a block."""
        return self._read(self._fold.ready(lines.frame), lines.rejects)

    def _read(self, lines: pl.DataFrame, refused: pl.DataFrame) -> Batch:
        rest = _stamped(lines).with_row_index("order")
        parts, rejects = [], [refused]
        for form, pattern in _FORMS.items():
            caught, rest = _caught(rest, form, pattern)
            if caught.height:
                timed, bad = self._timed(caught, form)
                parts.append(timed)
                rejects.append(bad)
            if rest.is_empty():
                break
        timed = pl.concat(parts, how="diagonal").sort("order") if parts else _NOTHING
        counts, odd = self._unstamped(rest, timed)
        fresh = self._fresh(timed)
        counts["duplicate"] = int((~fresh).sum())
        told = self._told(_messages(timed.filter(fresh), self._context.host))
        return told.batch(skipped(counts), pl.concat([*rejects, odd]).sort("line"))

    def _told(self, rows: pl.DataFrame) -> Told:
        """Let the kernel's own lines speak; what programs wrote between them stays what it is."""
        programs = programs_of(rows)
        told = self._grammar.feed(rows.filter(~programs).select(LINE.names()))
        if not programs.any():
            return told
        return told_with(told, program_events(program_rows(rows.filter(programs).drop("priority", "facility"))))

    def end(self) -> Iterator[Batch]:
        """Tell what waited or was held back, and what the user should know."""
        if (waiting := self._fold.rest()) is not None:
            yield self._read(waiting, frames.empty(frames.REJECTS))
        if self._open_hour:
            self._notes[f"{self._open_hour} lines lie in the hour that autumn repeats: either pass is possible"] = None
        yield self._grammar.finish().batch(skipped({}), frames.empty(frames.REJECTS), tuple(self._notes))

    def _unstamped(self, rest: pl.DataFrame, timed: pl.DataFrame) -> tuple[dict[str, int], pl.DataFrame]:
        """Tell blanks, headers and continuations from lines that no kernel wrote."""
        text = pl.col("text")
        first = timed["line"].min() if timed.height else None
        after = pl.lit(self._stamped) | (pl.col("line") > (first if first is not None else 2**62))
        self._stamped |= first is not None
        kind = rest.select(
            pl.when(text.str.strip_chars() == "")
            .then(pl.lit("blank"))
            .when(text.str.contains(_HEADER) | text.str.contains(_JOURNAL_NOTE))
            .then(pl.lit("metadata"))
            .when(text.str.contains(r"^\s") & after)
            .then(pl.lit("continuation"))
        ).to_series()
        return dict(kind.drop_nulls().value_counts().iter_rows()), rejected(rest.filter(kind.is_null()), _NO_STAMP)

    def _timed(self, lines: pl.DataFrame, form: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Give the lines of one form with ``ts``, ``ts_low`` and ``ts_high``, and the rejects of those without."""
        if form in ("boot", "kmsg"):
            timed = self._from_boot(lines)
        elif form == "wall":
            self._notes[_DRIFT["wall"]] = None
            none, second = pl.lit(None, pl.Int64), pl.lit(1_000_000, pl.Int64)
            walled = lines.with_columns(wall=_local_wall(), offset=none, resolution=second)
            timed = _right_weekdays(stamps.to_utc(walled, self._clock), walled)
        else:
            parts = (pl.col(name) for name in ("date", "time", "fraction", "offset"))
            timed = stamps.to_utc(lines.with_columns(stamps.iso_wall(*parts)), self._clock)
        timed = timed.with_columns(exact=pl.lit(form != "wall"))
        self._open_hour += int((timed["ts_high"] - timed["ts_low"] > 999_999).sum())
        good = timed["reason"].is_null()
        bad = timed.filter(~good)
        rejects = rejected(bad, pl.col("reason")).with_columns(curable=bad["curable"])
        names = [name for name in _NOTHING.columns if name in timed.columns]
        return timed.filter(good).select(names), rejects

    def _from_boot(self, lines: pl.DataFrame) -> pl.DataFrame:
        """Add the stated boot to the time since boot."""
        if self._context.boot_at_us is None:
            self._notes |= dict.fromkeys(_boot_hints(lines))
            moment, reason, curable = pl.lit(None, pl.Int64), pl.lit(_BOOT_MISSING), pl.lit("boot_at")
        else:
            self._notes[_DRIFT["boot"]] = None
            other = self._of_other_boot(lines)
            moment = pl.col("uptime") + self._context.boot_at_us
            moment = pl.when(~other & stamps.possible(moment)).then(moment)
            reason = pl.when(other).then(pl.lit(_OTHER_BOOT)).when(moment.is_null()).then(pl.lit(stamps.OUTSIDE))
            curable = pl.lit(None, pl.String)
        return lines.with_columns(ts=moment, ts_low=moment, ts_high=moment, reason=reason, curable=curable)

    def _of_other_boot(self, lines: pl.DataFrame) -> pl.Series:
        """Tell which lines follow a boot banner that comes after lines of an earlier boot."""
        latest = lines["uptime"].cum_max().shift(1, fill_value=self._uptime).clip(lower_bound=self._uptime)
        banner = latest > lines["uptime"] + 1_000_000
        if banner.any():
            banner &= lines["text"].str.contains("Linux version ", literal=True)
            banner &= lines["text"].is_first_distinct() & ~self._seen.is_known(lines["text"])  # the same dump again
        other = banner.cum_max() | self._other_boot
        self._other_boot = bool(other[-1])
        self._uptime = max(self._uptime, int(lines["uptime"].max()))  # type: ignore[arg-type]
        return other

    def _fresh(self, timed: pl.DataFrame) -> pl.Series:
        """Tell which lines were not met before: a dump appended to an older one repeats it."""
        exact = timed["exact"]
        uptime = timed["uptime"] if "uptime" in timed.columns else exact.clear().cast(pl.Int64)
        before = self._told_until
        if uptime.count():
            self._told_until = max(before, int(uptime.max()))  # type: ignore[arg-type]
        if not exact.all():
            fresh = self._seen.is_new(timed["text"].filter(exact))
            return pl.repeat(value=True, n=timed.height, eager=True).scatter(exact.arg_true(), fresh)
        if uptime.len() and not uptime.null_count() and uptime[0] > before and uptime.is_sorted():
            return self._seen.is_new_in_order(timed["text"], uptime)
        return self._seen.is_new(timed["text"])


def _stamped(lines: pl.DataFrame) -> pl.DataFrame:
    """Read the stamps that are as dmesg pads them; put the parts of a pstore dump in order."""
    stamped = lines.hstack(padded_stamps(lines["text"]))
    if not stamped["begin"].null_count():
        return stamped
    return _in_order_of_parts(stamped)


def _caught(lines: pl.DataFrame, form: str, pattern: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Part lines into those of one form, with what its groups caught and their ``message``, and the others."""
    known = lines.filter(pl.col("begin").is_not_null()) if form == "boot" else lines.clear()
    begins = known["begin"].unique()
    begin = begins[0] if begins.len() == 1 else pl.col("begin")
    known = known.with_columns(message=pl.col("text").str.slice(begin))
    if known.height == lines.height:
        return known, lines.clear()
    rest = lines.filter(pl.col("begin").is_null())
    groups = rest.with_columns(pl.col("text").str.extract_groups(pattern).struct.unnest())
    fits = groups["prefix"].is_not_null()
    groups = groups.filter(fits).with_columns(message=pl.col("text").str.strip_prefix(pl.col("prefix")))
    if "boot" in groups.columns:
        digits = pl.col("boot").str.replace(".", "", literal=True)
        groups = groups.with_columns(uptime=digits.cast(pl.Int64, strict=False)).drop("boot")
    caught = pl.concat([known, groups], how="diagonal").sort("order") if known.height else groups
    return caught, rest.filter(~fits)


def _walls(lines: pl.DataFrame) -> pl.DataFrame:
    """Give the wall clocks of the lines of ``dmesg -T``."""
    parts = lines.with_columns(pl.col("text").str.extract_groups(_FORMS["wall"]).struct.unnest())
    return parts.select("line", wall=_local_wall()).drop_nulls()


def _local_wall() -> pl.Expr:
    numbers = {name: f"{number:02d}" for number, name in enumerate(stamps.MONTHS, start=1)}
    month = pl.col("month").replace_strict(numbers, default=None, return_dtype=pl.String)
    day = pl.col("day").str.strip_chars().str.zfill(2)
    written = pl.concat_str("year", pl.lit("-"), month, pl.lit("-"), day, pl.lit("T"), "clock")
    return written.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False).cast(pl.Int64)


def _right_weekdays(timed: pl.DataFrame, walled: pl.DataFrame) -> pl.DataFrame:
    """Refuse stamps whose day of the week is of another date: one of the two is damaged."""
    day = pl.from_epoch(walled["wall"], time_unit="us").dt.weekday() - 1
    named = walled["weekday"].replace_strict({name: n for n, name in enumerate(_WEEKDAYS)}, return_dtype=pl.Int8)
    other = (day != named).fill_null(value=False)
    if not other.any():
        return timed
    return timed.with_columns(
        reason=pl.when(other).then(pl.lit(_OTHER_WEEKDAY)).otherwise("reason"),
        curable=pl.when(~other).then("curable"),
    )


def _messages(timed: pl.DataFrame, host: str | None) -> pl.DataFrame:
    """Shape timed lines for the grammar; two messages that share a line are taken apart."""
    missing = [pl.lit(None, kind).alias(name) for name, kind in _NOTHING.schema.items() if name not in timed.columns]
    priority = pl.col("pri").cast(pl.Int64, strict=False)
    lines = timed.with_columns(missing).with_columns(
        text=pl.col("message"),
        priority=priority,
        severity=severity_of(priority).fill_null(pl.col("level")) if "pri" in timed.columns else pl.col("level"),
        host=pl.lit(host, pl.String),
        repeated=pl.lit(None, pl.Int64),
        extra=pl.lit(value=False),
    )
    kern = lines["text"].str.contains("kern", literal=True)
    if kern.any() and lines["text"].str.contains(" kernel: ", literal=True).any():  # journalctl names the host
        own = lines.with_columns(pl.col("text").str.extract_groups(_JOURNAL).struct.unnest())
        message = pl.col("text").str.strip_prefix(pl.col("tag").fill_null(""))
        lines = own.with_columns(text=message, host=pl.coalesce("own", "host")).drop("tag", "own")
    perhaps = (lines["text"].str.contains("[", literal=True) | kern).arg_true()  # all that a stamp can be written with
    stamped = lines["text"].gather(perhaps).str.contains(_GLUED)
    if stamped.any():
        rows = perhaps.filter(stamped)
        glued = pl.repeat(value=False, n=lines.height, eager=True).scatter(rows, True)
        lines = _unglued(lines, glued & ~programs_of(lines))
    return lines.select(*LINE.names(), "priority", "facility").cast(
        LINE | {"priority": pl.Int64(), "facility": pl.String()}
    )


def _unglued(lines: pl.DataFrame, glued: pl.Series) -> pl.DataFrame:
    """Take apart lines such as ``[1.000000] one[1.000002] two``: a newline was lost between them."""
    parts = []
    for row in lines.filter(glued).iter_rows(named=True):
        first, *later = _SPLIT.split(row["text"])
        parts.append({**row, "text": first})
        begun = row["uptime"] if row["uptime"] is not None else _stamp_us(row["prefix"])
        for stamp, text in zip(later[::2], later[1::2], strict=True):
            told = _stamp_us(stamp)
            after = 0 if told is None or begun is None else told - begun
            times = {name: row[name] + after for name in ("ts", "ts_low", "ts_high")}
            parts.append({**row, **times, "text": text, "extra": True})
    return pl.concat([lines.filter(~glued), pl.DataFrame(parts, schema=lines.schema)]).sort(
        "order", maintain_order=True
    )


def _stamp_us(text: str) -> int | None:
    """Give the time in a stamp, to be compared with others of its form alone; None where there is none."""
    if found := re.search(r"\[ *(\d{1,10})\.(\d{6})\]", text):
        return int(found[1]) * 1_000_000 + int(found[2])
    pattern = "%b %d %H:%M:%S %Y" if "[" in text else "%Y-%m-%dT%H:%M:%S,%f%z"
    try:
        moment = datetime.strptime(re.sub(r".*\[\w{3} |^.* : (?=\d{4}-)|[\] ]*$", "", text), pattern)  # noqa: DTZ007
    except ValueError:
        return None
    since = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(since.timestamp() * 1_000_000)


def _boot_hints(lines: pl.DataFrame) -> list[str]:
    """Say when the boot was, if a machine check that carries a time of day was logged at once."""
    told = lines.select("line", "uptime", second=pl.col("text").str.extract(_MCE_TIME).cast(pl.Int64)).drop_nulls()
    return [
        f"line {line} was logged {uptime / 1e6:.6f} s after boot and tells of an error at {format_us(second * 1_000_000)}: "
        f"if it was logged at once, the boot was at {format_us(second * 1_000_000 - uptime)}; state boot_at if that is right"
        for line, uptime, second in told.head(1).iter_rows()
    ]


def _in_order_of_parts(lines: pl.DataFrame) -> pl.DataFrame:
    """Put the parts of a pstore dump, which are numbered from the end, in the order of time."""
    part = pl.col("text").str.extract(r"^\w+#\d+ Part(\d+) ?$").cast(pl.Int64, strict=False)
    if not lines["text"].str.contains(_PART).any():
        return lines
    numbered = lines.with_columns(part=part.forward_fill(), dump=pl.col("text").str.extract(r"^(\w+#\d+) Part\d+ ?$"))
    dump = pl.col("dump").forward_fill().rle_id()
    return (
        numbered.with_columns(dump=dump)
        .sort(["dump", "part"], descending=[False, True], maintain_order=True)
        .drop("part", "dump")
    )


READER = Reader(name="kernel_log", recognise=_recognise, read=_read)
