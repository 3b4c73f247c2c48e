"""``nvidia-smi --query-gpu=... --format=csv`` and its kin for processes, retired pages and clocks.

Cells are parted by comma and space and never quoted, so a name may hold the separator. Units stand
in the header and, unless ``nounits``, in the cells too. Loops that append write the header again.
Times are local. MIG slices do not appear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.model.metric import find
from workbench.readers.base import Match, Reader
from workbench.readers.gpu_table import Ticks, observed
from workbench.readers.smi_columns import HEADER, Columns, columns_of, identified, mended, page_events
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import lines_of, rejected, skipped
from workbench.readers.timecells import Clocks, TimeRule, read_times
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING

__all__ = ["READER"]

_NO_HEADER = "no header before this line: what its columns mean is not known"
_COUNT = "row has not as many cells as its header"
_NOBODY = "row does not name its GPU: query uuid, pci.bus_id or index too"
_ADDRESS = frozenset({"pci.bus_id", "gpu_bus_id", "gpu_uuid"})
_NAMES = frozenset({"uuid", "index", "timestamp", "name", "serial"})
#: Columns that somebody added: such a table speaks of several hosts.
_ADDED = frozenset({"host", "node", "nodename", "cluster", "rack"})


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = text.split(b"\n", 1)[0].rstrip(b"\r").decode(errors="replace")
    if b"\n" not in text or re.match(HEADER, first) is None:
        return None
    names = {part.split(" [")[0].strip() for part in first.split(",")}
    if names & _ADDED:
        return None
    known = {name for name in names if "." in name and find(name) is not None}
    if (names & _ADDRESS and (names & _NAMES or known)) or (names & _NAMES and known):
        return Match(confidence=0.9, rule="names of fields as nvidia-smi --query prints them")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    table = _Table(context)
    for block in source.blocks():
        lines = lines_of(block)
        yield from table.take(lines.frame, lines.rejects)
    yield Batch(records=0, rows=0)  # an empty file is read, too
    yield from damage_batches(source)


@dataclass(eq=False)
class _Table:
    """What is known from block to block."""

    context: Context
    _header: str | None = None
    _seen: set[str] = field(default_factory=set)
    _ticks: Ticks = field(init=False)
    _clocks: Clocks = field(init=False)

    def __post_init__(self) -> None:
        self._ticks = Ticks(self.context)
        self._clocks = Clocks(rule=TimeRule.of(self.context))

    def take(self, lines: pl.DataFrame, refused: pl.DataFrame) -> Iterator[Batch]:
        """Read the lines of a block."""
        text = pl.col("text")
        told = lines.with_columns(headed=text.str.contains(HEADER), blank=text.str.strip_chars() == "")
        told = told.with_columns(
            header=pl.when("headed").then(text).forward_fill().fill_null(pl.lit(self._header, pl.String))
        )
        if told.height:
            self._header = told["header"][-1]
        heads = told.filter("headed")["text"]
        fresh = {head for head in heads.unique().to_list() if head not in self._seen}
        self._seen |= fresh
        skips = {"blank": int(told["blank"].sum()), "header": len(fresh), "repeated header": heads.len() - len(fresh)}
        idle = told["headed"] | told["blank"]
        rows = told.filter(~idle) if idle.any() else told
        refused = pl.concat([refused, rejected(rows.filter(pl.col("header").is_null()), _NO_HEADER)]).sort("line")
        yield Batch(records=refused.height + sum(skips.values()), rows=0, skips=skipped(skips), rejects=refused)
        if rows["header"].null_count():
            rows = rows.filter(pl.col("header").is_not_null())
        several = rows.height > 0 and (rows["header"] != rows["header"][0]).any()
        for part in rows.partition_by("header", maintain_order=True) if several else [rows] if rows.height else []:
            yield self._part(part.select("line", "text"), columns_of(part["header"][0]))

    def _part(self, part: pl.DataFrame, columns: Columns) -> Batch:
        """Read rows under one header."""
        if columns.clocks:
            return Batch(records=part.height, rows=0, skips=skipped({"supported clocks": part.height}))
        split, odd = mended(part, columns)
        who = identified(split, columns, self.context.host)
        timed = pl.concat([who, self._times(who, columns)], how="horizontal")
        reason = (
            pl.when(pl.col("device").is_null()).then(pl.lit(_NOBODY))
            .when(pl.col("host").is_null()).then(pl.lit(HOST_MISSING)).otherwise("reason")
        )  # fmt: skip
        cure = (
            pl.when(pl.col("device").is_not_null() & pl.col("host").is_null()).then(pl.lit("host")).otherwise("curable")
        )
        timed = timed.with_columns(reason=reason).with_columns(curable=pl.when(pl.col("reason") != _NOBODY).then(cure))
        well = timed["reason"].is_null()
        bad, good = timed.filter(~well), timed if well.all() else timed.filter(well)
        untold = rejected(bad, pl.col("reason")).with_columns(curable=bad["curable"])
        rejects = pl.concat([rejected(odd, _COUNT), untold]).sort("line")
        return self._told(good, columns, rejects, part.height)

    def _times(self, rows: pl.DataFrame, columns: Columns) -> pl.DataFrame:
        if columns.time is not None:
            return read_times(rows[columns.time], self._clocks).select("ts", "reason", "curable")
        if not columns.metrics:  # names alone: they need no time
            stated = pl.lit(self.context.taken_at_us, pl.Int64)
            none = pl.lit(None, pl.String)
            return rows.with_columns(ts=stated, reason=none, curable=none).select("ts", "reason", "curable")
        return self._ticks.times(rows, ["device", "labels"])

    def _told(self, good: pl.DataFrame, columns: Columns, rejects: pl.DataFrame, records: int) -> Batch:
        told = Told()
        columns.tell_names(good, told)
        seen = observed(good, columns.metrics, columns.units)
        for place, text in seen.lost.iter_rows():
            _tell_lost(good.row(place, named=True), text, told)
        page_events(good, columns, self._clocks, told)
        extra = told.batch()
        absent = [seen.absent, columns.absent(good)]
        return Batch(
            records=records, rows=good.height, series=seen.series, samples=seen.samples, events=extra.events,
            entities=extra.entities, aliases=extra.aliases, rejects=rejects, absent=pl.concat(absent).cast(dict(frames.ABSENT)),  # type: ignore[arg-type]  # polars names its own types
            notes=columns.notes,
        )  # fmt: skip


def _tell_lost(row: dict[str, object], text: str, told: Told) -> None:
    who, ts = (str(row["host"]), "gpu", str(row["device"])), row["ts"]
    if isinstance(ts, int):
        line = int(str(row["line"]))
        told.event(who, "gpu", text.strip("[]"), span_us=(ts, ts), line=line, code="lost")


READER = Reader(name="nvidia_smi_query_csv", recognise=_recognise, read=_read)
