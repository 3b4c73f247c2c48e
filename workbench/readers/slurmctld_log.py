"""Logs of the daemons of Slurm: ``[2025-11-02T03:16:11.377] error: Nodes node-a03 not responding, setting DOWN``.

What is said of nodes and jobs becomes events of these; the rest are lines of kind ``log``. A node
that is set down fell silent earlier: its first "not responding" is the early end of the event.
Times are local and name no zone, unless the daemon was told to write one.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers import stamps
from workbench.readers.base import Match, Reader
from workbench.readers.slurm_messages import LIKELY, Message, SlurmMessages
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import Lines, json_object, lines_of, matched_share, rejected, skipped
from workbench.readers.told import Told
from workbench.timebase import LocalClock

__all__ = ["READER"]

_STAMP = (
    r"\[(?P<date>\d{4}-\d\d-\d\d)T(?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?(?P<offset>Z|[+-]\d\d:?\d\d)?\]"
)
_LEVEL = r"(?:(?P<level>error|fatal|debug\d?|verbose|info|warning): )?"
_PREFIX = rf"^(?P<prefix>{_STAMP} (?:\[(?P<step>[\w.+]{{1,40}})\] )?{_LEVEL})"
_WORDS = (
    r"JobId=|StepId=|slurm|\b[Nn]odes? \S+ (?:not |now )?respond|update_node|_job_complete|"
    r"\] \[\d+\.\w+\] |sched(?:/backfill)?: |backfill: |\] (?:error|debug\d?|fatal): "
)
_NO_STAMP = "no time stamp of a Slurm daemon"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    share = matched_share(head, rf"^{_STAMP} \S")
    named = matched_share(head, rf"^\[\d[^\]]{{18,34}}.*?(?:{_WORDS})") if share else 0.0
    if share < 0.5 or named < 0.1:
        return None
    return Match(confidence=0.85, rule=f"{share:.0%} of the first lines carry a stamp of a Slurm daemon")


def _read(source: Source, context: Context) -> Iterator[Batch]:
    log = _Log(context)
    for block in source.blocks():
        yield log.batch(lines_of(block))
    yield from log.end()
    yield from damage_batches(source)


class _Log:
    """What is known from block to block."""

    def __init__(self, context: Context) -> None:
        self._host = context.host
        self._clock = None if context.zone is None else LocalClock(context.zone)
        self._fold = stamps.FoldWait(self._clock, _local_walls)
        self._messages = SlurmMessages()
        self._begun = False

    def batch(self, lines: Lines) -> Batch:
        """Read a block."""
        return self._read(self._fold.ready(lines.frame), lines.rejects)

    def end(self) -> Iterator[Batch]:
        """Read the lines that waited for the end of the hour that autumn repeats; tell what never ended."""
        if (waiting := self._fold.rest()) is not None:
            yield self._read(waiting, frames.empty(frames.REJECTS))
        told = Told()
        self._messages.rest(told)
        yield told.batch()

    def _read(self, lines: pl.DataFrame, refused: pl.DataFrame) -> Batch:
        walled = _walled(lines)
        plain = lines.join(walled.select("line"), on="line", how="anti", maintain_order="left")
        first = walled["line"].min() if walled.height else None
        blank = plain["text"].str.strip_chars() == ""
        after = pl.repeat(self._begun, plain.height, eager=True)
        if first is not None:
            after |= plain["line"] > first
        self._begun |= first is not None
        timed = stamps.to_utc(walled, self._clock)
        good = timed["reason"].is_null()
        bad = timed.filter(~good)
        untimed = rejected(bad, pl.col("reason")).with_columns(curable=bad["curable"])
        odd = rejected(plain.filter(~blank & ~after), _NO_STAMP)
        told, logs = self._told(timed.filter(good))
        counts = {"blank": int(blank.sum()), "continuation": int((~blank & after).sum())}
        return Batch(
            records=lines.height + refused.height,
            rows=int(good.sum()),
            events=pl.concat([told.events, logs]).sort("line", maintain_order=True),
            jobs=told.jobs,
            skips=skipped(counts),
            rejects=pl.concat([refused, odd, untimed]).sort("line"),
        )

    def _told(self, timed: pl.DataFrame) -> tuple[Batch, pl.DataFrame]:
        """Give the events of nodes and jobs, and those of the other lines."""
        lines = timed.with_columns(
            message=pl.col("text").str.strip_prefix(pl.col("prefix")).str.strip_chars_end(),
            severity=pl.col("level").fill_null("info"),
            step=pl.col("step"),
        )
        likely = lines.filter(pl.col("message").str.contains_any(list(LIKELY)))
        told, known = Told(), []
        columns = likely.select("line", "message", "ts_low", "ts_high", "severity").iter_rows()
        for line, text, low, high, severity in columns:
            message = Message(line=line, text=text, span_us=(low, high), severity=severity, host=self._host)
            if self._messages.take(message, told):
                known.append(line)
        rest = lines.filter(~pl.col("line").is_in(known)) if known else lines
        return told.batch(), self._logs(rest)

    def _logs(self, lines: pl.DataFrame) -> pl.DataFrame:
        told = lines.select(
            "ts",
            "ts_low",
            "ts_high",
            host=pl.lit(self._host, pl.String),
            device_kind=pl.lit("host"),
            device=pl.lit(None, pl.String),
            kind=pl.lit("log"),
            code=pl.lit(None, pl.String),
            severity="severity",
            message="message",
            attributes=json_object({"step": pl.String()}),
            line=pl.col("line").cast(pl.Int64),
        )
        return told.cast(dict(frames.EVENTS))  # type: ignore[arg-type]  # polars names its own types


def _walled(lines: pl.DataFrame) -> pl.DataFrame:
    """Give the lines that carry a stamp, with ``wall``, ``offset`` and ``resolution``."""
    parts = lines.with_columns(pl.col("text").str.extract_groups(_PREFIX).struct.unnest())
    parts = parts.filter(pl.col("prefix").is_not_null())
    return parts.with_columns(
        stamps.iso_wall(*(pl.col(name) for name in ("date", "clock", "fraction", "offset")))
    ).drop("date", "clock", "fraction")


def _local_walls(lines: pl.DataFrame) -> pl.DataFrame:
    return _walled(lines).filter(pl.col("offset").is_null()).select("line", "wall").drop_nulls()


READER = Reader(name="slurmctld_log", recognise=_recognise, read=_read)
