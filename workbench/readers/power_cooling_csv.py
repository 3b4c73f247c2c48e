"""Exports of PDUs, cooling units and building management: semicolons, decimal commas, words among numbers.

Rows may stand below a preamble and above totals. Dates may have an order of day and month that only
some of them show, and that may change inside of a file. Columns of states hold words: a change of
one is an event. Values whose row is marked as of bad quality are absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.cells import clean_text, parse_numbers
from workbench.readers.columns import Layout
from workbench.readers.dateorder import DateOrder, order_of_format
from workbench.readers.dialect import Dialect, decoded, split_line
from workbench.readers.eventrows import attribute_text
from workbench.readers.facility_columns import Facility, facility_of, is_facility, is_time, zone_of_header
from workbench.readers.metriccolumns import MetricColumn
from workbench.readers.seriesnames import dialect_with
from workbench.readers.source import Source, damage_batches
from workbench.readers.texttable import Adapted, read_text
from workbench.readers.timecells import Clocks, TimeRule, read_times
from workbench.readers.who import identify

__all__ = ["READER"]

_LOOK_AT = 60
_STATE_ROW = pl.Schema(
    {
        **dict.fromkeys(("ts", "ts_low", "ts_high", "line"), pl.Int64()),
        **dict.fromkeys(("host", "kind", "device", "state", "column"), pl.String()),
    }
)
_GOOD = ("", "good", "ok", "valid", "gut", "normal", "192", "true", "{ok}")
_BAD = "bad quality"
_CHANGES = (
    "the order of day and month changes in this file, at line {}: dates from there on that show no order are rejected"
)
_TOLD = "dates are read {} first, as those of them show that have a part beyond 12"
_NO_ZONE = "the zone in the header of the time names no one offset: state it (--clock GLOB=ZONE)"


def _recognise(head: bytes, context: Context) -> Match | None:
    if b"\0" in head or context.columns.shape not in (None, "wide"):
        return None
    dialect = _dialect(head, context)
    if dialect is None or not is_facility(dialect.names):
        return None
    named = {name for name in context.columns.roles.values() if not name.startswith("=")}
    if "ts" in context.columns.roles or not named <= set(dialect.names):
        return None  # the user says himself what is what
    return Match(confidence=0.96, rule="columns of power or cooling below a column of times")


def _dialect(head: bytes, context: Context) -> Dialect | None:
    """Find the header: the first line whose first cell names the time."""
    for line in decoded(head.removeprefix(b"\xef\xbb\xbf"))[0].splitlines()[:_LOOK_AT]:
        for mark in (";", ",", "\t", "|"):
            cells = split_line(line, mark)
            if len(cells) > 1 and cells[0] and is_time(cells[0]):
                return dialect_with(head, cells[0], context)
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    yield Batch(records=0, rows=0)
    head = source.head()
    dialect = _dialect(head, context)
    if dialect is None:
        yield from read_text(source, None, context)
    else:
        yield from _Export(dialect, head, context).read(source)
    yield from damage_batches(source)


@dataclass(eq=False)
class _Export:
    """One file."""

    dialect: Dialect
    head: bytes
    context: Context
    _facility: Facility = field(init=False)
    _order: DateOrder = field(init=False)
    _clocks: Clocks = field(init=False)
    _states: dict[str, tuple[str | None, str | None, str]] = field(init=False)
    _last: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_STATE_ROW))
    _looked: bool = False

    def __post_init__(self) -> None:
        preamble = decoded(self.head)[0].splitlines()[: self.dialect.header_line - 1]
        stated = order_of_format(self.context.columns.time_format)
        self._order = DateOrder(day_first=stated, stated=stated is not None)
        self._facility, context = facility_of(self.dialect.names, "\n".join(preamble), self.context)
        name, self._offset, zone = zone_of_header(self._facility.times[-1])
        self._odd_zone = name != self._facility.times[-1] and self._offset is None and zone is None
        self.context = replace(context, zone=context.zone or zone, columns=replace(context.columns, time_format=None))
        self._clocks = Clocks(rule=TimeRule.of(self.context))
        self._states = {}

    def read(self, source: Source) -> Iterator[Batch]:
        """Read it, and tell at the end what became of its dates."""
        adapted = Adapted(ts=self._facility.times[0], cells=self._cells, beside=self._changes)
        layout = self._facility.layout
        if isinstance(layout, Layout):
            layout = replace(layout, metrics=tuple(self._numeric(layout)))
        yield from read_text(source, self.dialect, self.context, layout=layout, adapted=adapted)
        notes = [_NO_ZONE] if self._odd_zone else []
        if self._order.changed_at is not None:
            notes.append(_CHANGES.format(self._order.changed_at))
        elif self._order.day_first is not None and not self._order.stated:
            notes.append(_TOLD.format("day" if self._order.day_first else "month"))
        if notes:
            yield Batch(records=0, rows=0, notes=tuple(notes))

    def _numeric(self, layout: Layout) -> Iterator[MetricColumn]:
        """Give the columns that hold numbers; those that hold words are states."""
        rows = [split_line(line, self.dialect.delimiter) for line in decoded(self.head)[0].splitlines()]
        rows = [row for row in rows[self.dialect.header_line :] if len(row) == len(self.dialect.names)]
        for column in layout.metrics:
            place = self.dialect.names.index(column.column)
            cells = clean_text(pl.Series([row[place] for row in rows], dtype=pl.String)).drop_nulls()
            numbers = parse_numbers(cells, decimal_comma=self.dialect.decimal_comma).value
            if column.column in self._facility.states and cells.len() and numbers.null_count() == cells.len():
                self._states[column.column] = self._facility.states[column.column]
            else:
                yield column

    def _cells(self, cells: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
        """Add the time as ISO 8601, and take out the values of rows of bad quality."""
        times = pl.select(
            pl.concat_str(*(cells[name].str.strip_chars() for name in self._facility.times), separator=" ")
        ).to_series()
        if not self._looked:
            self._order.look(times)
            self._looked = True
        iso = self._order.iso(times, lines["line"])
        if self._offset is not None:
            bare = iso.str.contains(r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$")
            iso = pl.select(pl.when(bare).then(iso + self._offset).otherwise(iso)).to_series()
        cells = cells.with_columns(iso.alias("@ts"))
        if self._facility.quality is None or not isinstance(self._facility.layout, Layout):
            return cells
        bad = ~cells[self._facility.quality].str.strip_chars().str.to_lowercase().is_in(_GOOD)
        bad = bad.fill_null(value=False)
        names = [column.column for column in self._facility.layout.metrics]
        return cells.with_columns(pl.when(bad).then(pl.lit(_BAD)).otherwise(name).alias(name) for name in names)

    def _changes(self, cells: pl.DataFrame, lines: pl.DataFrame) -> Iterator[Batch]:
        """Give an event for every change of a state."""
        layout = self._facility.layout
        if not self._states or not cells.height or not isinstance(layout, Layout):
            return
        who = identify(cells, layout, self.context)
        times = (
            read_times(cells["@ts"], self._clocks)
            .select("ts", "ts_low", "ts_high")
            .with_columns(lines["line"], host=who.of("host"), kind=who.of("device_kind"), device=who.of("device"))
        )
        parts = [self._of(column, clean_text(cells[column]), times) for column in self._states]
        events = pl.concat(parts).sort("line", maintain_order=True)
        if events.height:
            yield Batch(records=0, rows=0, events=events)

    def _of(self, column: str, states: pl.Series, times: pl.DataFrame) -> pl.DataFrame:
        """Give the changes of one column, each against the row before of the same place."""
        kind, device, name = self._states[column]
        rows = times.with_columns(state=states).filter(
            pl.col("state").is_not_null() & (pl.col("state") != _BAD) & pl.col("ts").is_not_null()
        )
        rows = pl.concat([self._last.filter(column=column).select(rows.columns), rows])
        self._last = pl.concat([self._last.filter(pl.col("column") != column), _lasts(rows, column)])
        changed = rows.with_columns(before=pl.col("state").shift(1).over("host", "device")).filter(
            pl.col("before") != pl.col("state")
        )
        written = {"from": changed["before"], "name": pl.repeat(name, changed.height, dtype=pl.String, eager=True)}
        none = pl.lit(None, pl.String)
        return changed.select(
            *(pl.col(key).cast(frames.TS) for key in ("ts", "ts_low", "ts_high")),
            host=none if device else pl.col("host"),
            device_kind=pl.lit(kind) if device else pl.col("kind"),
            device=pl.lit(device) if device else pl.col("device"),
            kind=pl.lit("state"),
            code=pl.col("state"),
            severity=none,
            message=pl.concat_str(pl.lit(f"{name}: "), pl.col("state"), pl.lit(", was "), pl.col("before")),
            attributes=attribute_text(written, changed.height),
            line="line",
        ).cast(frames.EVENTS)


def _lasts(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Give the last row of each place."""
    last = rows.unique(["host", "device"], keep="last", maintain_order=True)
    return last.with_columns(column=pl.lit(column)).select(_STATE_ROW.names())


READER = Reader(name="power_cooling_csv", recognise=_recognise, read=_read)
