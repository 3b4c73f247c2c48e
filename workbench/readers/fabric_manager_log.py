"""The log of NVIDIA Fabric Manager: ``[Feb 25 2025 13:59:45] [INFO] [tid 1803] message``.

Times are local and name no zone. A message may go on over lines that start without a stamp; those
are counted as its continuation.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.model.pci import normal_pci_column
from workbench.readers import stamps
from workbench.readers.base import Match, Reader
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import Lines, json_object, lines_of, matched_share, rejected, skipped
from workbench.timebase import LocalClock

__all__ = ["READER"]

_MONTH = "|".join(stamps.MONTHS)
_PREFIX = (
    rf"^(?P<prefix>\[(?P<month>{_MONTH}) +(?P<day>\d{{1,2}}) (?P<year>\d{{4}}) (?P<clock>\d\d:\d\d:\d\d)\] "
    r"\[(?P<severity>[A-Z]+)\] \[tid (?P<tid>\d+)\] ?)"
)
#: An error of a switch, by its SXid: the same that the switch's driver tells the kernel's log.
_SXID = (
    r"detected NVSwitch (?P<fatality>non-fatal|fatal) error (?P<sxid>[1-9]\d{0,5}) on fid (?P<fid>\d{1,6}) on NVSwitch "
    r"pci bus id (?P<bus>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])"
    r"(?: physical id (?P<physical_id>\d{1,6}))?(?: port (?P<port>\d{1,6}))?"
)
_ATTRIBUTES = {
    "fatality": pl.String(),
    "fid": pl.Int64(),
    "pci": pl.String(),
    "physical_id": pl.Int64(),
    "port": pl.Int64(),
}
_NO_STAMP = "no Fabric Manager time stamp"
_SECOND_US = pl.lit(1_000_000, pl.Int64)


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    share = matched_share(head, _PREFIX)
    if share < 0.3:
        return None
    return Match(confidence=0.9, rule=f"{share:.0%} of the first lines carry a Fabric Manager stamp")


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
        self._fold = stamps.FoldWait(self._clock, lambda lines: _walled(lines).select("line", "wall").drop_nulls())
        self._begun = False

    def batch(self, lines: Lines) -> Batch:
        """Read a block."""
        return self._read(self._fold.ready(lines.frame), lines.rejects)

    def end(self) -> Iterator[Batch]:
        """Read the lines that waited for the end of the hour that autumn repeats."""
        if (waiting := self._fold.rest()) is not None:
            yield self._read(waiting, frames.empty(frames.REJECTS))
        yield Batch(records=0, rows=0)  # an empty file is read, too

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
        odd = rejected(plain.filter(~blank & ~after), _NO_STAMP)
        untimed = rejected(bad, pl.col("reason")).with_columns(curable=bad["curable"])
        counts = {"blank": int(blank.sum()), "continuation": int((~blank & after).sum())}
        rejects = pl.concat([refused, odd, untimed]).sort("line")
        return Batch(
            records=lines.height + refused.height,
            rows=int(good.sum()),
            events=self._events(timed.filter(good)),
            skips=skipped(counts),
            rejects=rejects,
        )

    def _events(self, timed: pl.DataFrame) -> pl.DataFrame:
        named = timed.with_columns(pl.col("text").str.extract_groups(_SXID).struct.unnest()).rename({"bus": "pci"})
        whole = [pl.col(name).cast(pl.Int64, strict=False) for name in ("tid", "fid", "physical_id", "port")]
        sxid = pl.col("sxid").is_not_null()
        fatality = pl.when(pl.col("fatality") == "fatal").then(pl.lit("Fatal")).when(sxid).then(pl.lit("Non-fatal"))
        attributes = json_object({"tid": pl.Int64(), **_ATTRIBUTES}).alias("attributes")
        told = named.with_columns(*whole, fatality=fatality).select(
            "ts",
            "ts_low",
            "ts_high",
            host=pl.lit(self._host, pl.String),
            device_kind=pl.when(sxid).then(pl.lit("nvswitch")).otherwise(pl.lit("host")),
            device=normal_pci_column(pl.col("pci")),
            kind=pl.when(sxid).then(pl.lit("sxid")).otherwise(pl.lit("fabric_manager")),
            code=pl.col("sxid"),
            severity=pl.col("severity").str.to_lowercase(),
            message=pl.col("text").str.strip_prefix(pl.col("prefix")).str.strip_chars_end(),
            attributes=attributes,
            line=pl.col("line").cast(pl.Int64),
        )
        ordered = told.select(frames.EVENTS.names())
        return ordered.cast(dict(frames.EVENTS))  # type: ignore[arg-type]  # polars names its own types


def _walled(lines: pl.DataFrame) -> pl.DataFrame:
    """Give the lines that carry a stamp, with ``wall``, ``offset`` and ``resolution``."""
    parts = lines.with_columns(pl.col("text").str.extract_groups(_PREFIX).struct.unnest())
    stamp = pl.concat_str("year", "month", "day", "clock", separator=" ")
    wall = stamp.str.to_datetime("%Y %b %d %H:%M:%S", time_unit="us", strict=False).dt.timestamp("us")
    none = pl.lit(None, pl.Int64)
    return parts.filter(pl.col("prefix").is_not_null()).with_columns(wall=wall, offset=none, resolution=_SECOND_US)


READER = Reader(name="fabric_manager_log", recognise=_recognise, read=_read)
