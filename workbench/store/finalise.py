"""From the staged files of one step to the Parquet files and the changes that a commit makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from workbench.store import delta
from workbench.store.blocks import Piece, block_width, load_block
from workbench.store.columns import Column
from workbench.store.layout import FIXED, SAMPLES_LONG, arrow_schema
from workbench.store.long import LongRows, long_frame
from workbench.store.manifest import Change
from workbench.store.parquet import TRIAL_ROWS, Encodings, FileWriter, arrow_numbers, choose_encodings
from workbench.store.plan import Item, Plan
from workbench.store.spool import DAY_US
from workbench.store.tally import Tally
from workbench.store.wide import LongSamples, Wide, pivot
from workbench.timebase import from_us

#: Fewer rows than this take the usual encodings.
_WORTH_A_TRIAL = 1000

__all__ = ["Output", "spans_of_day", "write_samples"]


@dataclass
class _Trial:
    """The encodings of a table, and how many rows they were tried on."""

    encodings: Encodings = field(default_factory=Encodings)
    rows: int = 0


@dataclass
class Output:
    """The files that a batch has written so far, by table.

    Attributes
    ----------
    batch : str
        Id of the batch: begins the name of each of its files.
    folder : pathlib.Path
        Where files stand until they are committed.
    """

    batch: str
    folder: Path
    changes: dict[str, Change] = field(default_factory=dict)
    _count: int = 0
    _trials: dict[str, _Trial] = field(default_factory=dict)

    def write(self, table: str, schema: pa.Schema, pieces: Iterable[pa.Table], day: date | None = None) -> int:
        """Write pieces of rows into one file of a table, each as row groups of its own; give the rows.

        Encodings are tried on the first pieces that make a useful sample together, once a table.
        """
        trial = self._trials.setdefault(table, _Trial())
        waiting: list[pa.Table] = []
        writer: FileWriter | None = None
        rows = 0
        for piece in pieces:
            if not piece.num_rows:
                continue
            rows += piece.num_rows
            waiting.append(piece.select(schema.names).cast(schema))
            if writer is None and max(rows, trial.rows) >= TRIAL_ROWS:
                writer = self._started(table, schema, waiting, trial)
            if writer is not None:
                for held in waiting:
                    writer.write(held)
                waiting = []
        if waiting:
            writer = self._started(table, schema, waiting, trial)
            for held in waiting:
                writer.write(held)
        if writer is not None:
            name = writer.path.name
            file = writer.close(name if day is None else f"day={day.isoformat()}/{name}", day)
            self.put(table, schema, add=[(writer.path, file)])
        return rows

    def _started(self, table: str, schema: pa.Schema, waiting: Sequence[pa.Table], trial: _Trial) -> FileWriter:
        sample = pa.concat_tables(waiting)
        if trial.rows < TRIAL_ROWS and sample.num_rows > max(trial.rows, _WORTH_A_TRIAL):
            trial.encodings, trial.rows = choose_encodings(sample), sample.num_rows
        self._count += 1
        path = self.folder / f"{self.batch}-{self._count:06d}-{table}.parquet"
        return FileWriter(path, schema, trial.encodings)

    def put(
        self,
        table: str,
        schema: pa.Schema,
        *,
        add: Sequence[tuple[Path, delta.DataFile]] = (),
        remove: Sequence[delta.DataFile] = (),
    ) -> None:
        """Note files that come or go."""
        old = self.changes.get(table, Change(table=table, schema=schema))
        wider = pa.unify_schemas([old.schema, schema])
        self.changes[table] = Change(table=table, schema=wider, add=[*old.add, *add], remove=[*old.remove, *remove])

    def write_fixed(self, table: str, frames: Iterable[pl.DataFrame]) -> int:
        """Write rows of a fixed table into one file; give how many there were."""
        return self.write(table, arrow_schema(FIXED[table]), (frame.to_arrow() for frame in frames if frame.height))


def write_samples(output: Output, plan: Plan, tally: Tally, budget_bytes: int) -> None:
    """Write all samples of a step: wide tables first, then what lies long."""
    pieces = _pieces(plan.items)
    strays: dict[date, list[pl.DataFrame]] = {}
    for route in sorted(set(pieces) - {SAMPLES_LONG}):
        for day, misfits in _write_route(output, plan, tally, (route, pieces[route], budget_bytes)).items():
            strays.setdefault(day, []).extend(misfits)
    long = LongRows(plan, tally, budget_bytes)
    by_day = _by_day(pieces.get(SAMPLES_LONG, []))
    schema = arrow_schema(FIXED[SAMPLES_LONG])
    for day in sorted(set(by_day) | set(strays)):
        frames = long.of_day(by_day.get(day, []), day, strays.get(day, []))
        output.write(SAMPLES_LONG, schema, (frame.to_arrow() for frame in frames), day)


def _pieces(items: Sequence[Item]) -> dict[str, list[Piece]]:
    found: dict[str, list[Piece]] = {}
    for number, item in enumerate(items):
        for chunk in item.stage.samples_of.chunks:
            found.setdefault(chunk.route, []).append((number, chunk))
    return found


def _by_day(pieces: Iterable[Piece]) -> dict[date, list[Piece]]:
    days: dict[date, list[Piece]] = {}
    for piece in pieces:
        days.setdefault(from_us(piece[1].start_us).date(), []).append(piece)
    return days


def _write_route(
    output: Output, plan: Plan, tally: Tally, work: tuple[str, list[Piece], int]
) -> dict[date, list[pl.DataFrame]]:
    """Write one wide table; give the samples that its rows cannot hold, as long rows by day."""
    route, pieces, budget = work
    columns = [(n, p.column) for n, p in enumerate(plan.placements) if p.column.table == route]
    unique = list(dict.fromkeys(column for _, column in columns))
    place = np.full(len(plan.placements), -1, np.int32)
    for number, column in columns:
        place[number] = unique.index(column)
    schema = _wide_schema(unique)
    strays: dict[date, list[pl.DataFrame]] = {}

    def blocks(day: date, mine: list[Piece]) -> Iterator[pa.Table]:
        for span in spans_of_day(day, block_width(mine, len(unique), budget)):
            block = load_block(mine, plan.items, plan.lookups, span)
            if not block.samples.ts.size:
                continue
            samples = _ranked(block.samples, plan, place)
            rows = pivot(samples, np.array([column.integer for column in unique], bool))
            tally.wide(route, unique, rows, samples)
            if rows.misfits.size:
                metrics = [column.metric for column in unique]
                strays.setdefault(day, []).append(long_frame(plan, samples.take(rows.misfits), metrics, tally))
            yield _arrow(rows, plan, schema)

    for day, mine in sorted(_by_day(pieces).items()):
        output.write(route, schema, blocks(day, mine), day)
    return strays


def spans_of_day(day: date, width_us: int) -> Iterator[tuple[int, int]]:
    """Cut a day (UTC) into stretches of ``width_us``, microseconds, the end outside."""
    start = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1_000_000
    for at in range(start, start + DAY_US, width_us):
        yield at, min(at + width_us, start + DAY_US)


def _ranked(samples: LongSamples, plan: Plan, place: NDArray[np.int32]) -> LongSamples:
    """Number entities in the order of their ids, and columns as in the table."""
    rank, _ = plan.ranked()
    return LongSamples(
        entity=rank[samples.entity], source=samples.source, column=place[samples.column], ts=samples.ts,
        value=samples.value, value_int=samples.value_int, has_int=samples.has_int,
    )  # fmt: skip


def _wide_schema(columns: Sequence[Column]) -> pa.Schema:
    fields = [pa.field("ts", pa.timestamp("us", "UTC")), pa.field("entity", pa.string())]
    fields += [pa.field(c.column, pa.int64() if c.integer else pa.float64()) for c in columns]
    return pa.schema([*fields, pa.field("source", pa.string())])


def _arrow(rows: Wide, plan: Plan, schema: pa.Schema) -> pa.Table:
    _, ids = plan.ranked()
    sources = [item.source for item in plan.items]
    arrays = [arrow_numbers(rows.ts, pa.timestamp("us", "UTC")), _text(rows.entity, ids)]
    kinds = (field.type for field in list(schema)[2:-1])
    arrays += [arrow_numbers(values, kind, valid) for (values, valid), kind in zip(rows.columns, kinds, strict=True)]
    return pa.Table.from_arrays([*arrays, _text(rows.source, sources)], schema=schema)


def _text(numbers: NDArray[Any], words: Sequence[str]) -> pa.Array:
    index = arrow_numbers(numbers.astype(np.int32), pa.int32())
    return pa.DictionaryArray.from_arrays(index, pl.Series(words, dtype=pl.String).to_arrow().cast(pa.string())).cast(
        pa.string()
    )
