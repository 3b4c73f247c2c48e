"""Parquet files of samples, events or jobs: read row group by row group, typed values as they are.

Labels may be a MAP, a list of pairs, a struct or JSON text; times typed, zoned, naive or numbers.
The magic bytes at both ends are looked at first: without the last four the file was cut, and none
of it can be found.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from workbench.errors import DataError
from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.columns import Problem, layout_of
from workbench.readers.shapes import convert, habits_of
from workbench.readers.source import Source, damage_batches
from workbench.readers.tablestate import Part, TableState, batch_of, refused, told_at_the_end

__all__ = ["READER"]

_MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
_LIMIT = 1 << 30
_ROWS_A_BATCH = 131_072


def _recognise(head: bytes, context: Context) -> Match | None:  # noqa: ARG001 - every reader has this shape
    if head[:4] in {_MAGIC, _ENCRYPTED}:
        return Match(confidence=0.9, rule="first four bytes are PAR1")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    yield Batch(records=0, rows=0)  # so that a file without rows gives something, too
    try:
        file, why = _opened(source)
    except DataError as error:
        file, why = None, str(error)
    if file is None:
        if source.damage is None:
            yield _one_reject(1, why)
        yield from damage_batches(source)
        return
    layout = layout_of(file.schema_arrow.names, context)
    state = layout if isinstance(layout, Problem) else TableState(context=context, layout=layout)
    row, notes = 0, () if isinstance(layout, Problem) else layout.notes
    for group in range(file.metadata.num_row_groups):
        count = file.metadata.row_group(group).num_rows
        done = 0
        for frame in _frames(file, group):
            if isinstance(frame, str):
                # What of this group could not be read is one record: its rows are unknown.
                yield _one_reject(row + done + 1, f"row group {group + 1} of {count} rows cannot be read: {frame}")
                break
            lines = _lines(frame, row + done)
            done += frame.height
            yield from _batches(frame, lines, state, notes)
            notes = ()
        row += count
    if isinstance(state, TableState):
        yield from told_at_the_end(state)


def _opened(source: Source) -> tuple[Any, str]:
    """Open with pyarrow; None and the reason where that cannot be."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if source.path is not None:
        with source.path.open("rb") as file:
            size = file.seek(0, io.SEEK_END)
            file.seek(max(0, size - 4))
            tail = file.read(4)
        where: Any = source.path
    else:
        data = source.read_all(_LIMIT)
        size, tail, where = len(data), data[-4:], pa.BufferReader(data)
    if size < 12 or tail not in {_MAGIC, _ENCRYPTED}:
        return None, f"file of {size} bytes does not end in PAR1: it was cut, and its index with it"
    if tail == _ENCRYPTED:
        return None, "file has an encrypted footer"
    try:
        return pq.ParquetFile(where, page_checksum_verification=True), ""
    except (pa.ArrowException, OSError) as error:
        return None, f"footer cannot be read: {_first_line(error)}"


def _frames(file: Any, group: int) -> Iterator[pl.DataFrame | str]:
    """Give a row group in parts; a text where the rest of it cannot be read."""
    import pyarrow as pa

    try:
        for batch in file.iter_batches(batch_size=_ROWS_A_BATCH, row_groups=[group], use_threads=False):
            yield _polars(pa.Table.from_batches([batch]))
    except (pa.ArrowException, OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        yield _first_line(error)


def _polars(table: Any) -> pl.DataFrame:
    """Take arrow columns over; nanoseconds lose their last three digits, as everywhere here."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    dictionaries = [name for name, dtype in frame.schema.items() if dtype in {pl.Categorical, pl.Enum}]
    return frame.with_columns(pl.col(dictionaries).cast(pl.String)) if dictionaries else frame


def _lines(frame: pl.DataFrame, before: int) -> pl.DataFrame:
    """Number rows; only those that are rejected get a text, by :func:`_named`."""
    numbers = pl.int_range(before + 1, before + frame.height + 1, dtype=pl.Int64, eager=True)
    return pl.DataFrame({"line": numbers}).with_columns(text=pl.lit(""))


def _named(part: Part) -> Part:
    if not part.rejects.height:
        return part
    text = pl.concat_str(pl.lit("row "), pl.col("line").cast(pl.String))
    return replace(part, rejects=part.rejects.with_columns(text=text))


def _batches(
    frame: pl.DataFrame, lines: pl.DataFrame, state: TableState | Problem, notes: tuple[str, ...]
) -> Iterator[Batch]:
    none = frames.empty(frames.REJECTS)
    if isinstance(state, Problem):
        reason = pl.repeat(state.reason, lines.height, dtype=pl.String, eager=True)
        curable = pl.repeat(state.curable, lines.height, dtype=pl.String, eager=True)
        yield batch_of(_named(Part(rows=0, rejects=refused(lines, reason, curable))), {}, none)
        return
    if lines["line"].len() and lines["line"][0] == 1:
        state.habits = habits_of(frame.head(1000), state)
    for part in convert(frame, lines, state):
        yield batch_of(_named(part), {}, none, notes)
        notes = ()


def _one_reject(line: int, reason: str) -> Batch:
    reject = {"line": [line], "reason": [reason], "text": [""], "curable": [None]}
    return Batch(records=1, rows=0, rejects=pl.DataFrame(reject, schema=frames.REJECTS))


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__


READER = Reader(name="parquet", recognise=_recognise, read=_read)
