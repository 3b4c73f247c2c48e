"""Delimited tables as batches: what generic tables and the formats that are tables of one kind share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.columns import Layout, Problem, layout_of
from workbench.readers.delimited import Parsed, Splitter
from workbench.readers.dialect import Dialect, decoded
from workbench.readers.gridsamples import grid_part
from workbench.readers.shapes import convert, habits_of
from workbench.readers.source import Block, Source
from workbench.readers.tablestate import Part, TableState, batch_of, told_at_the_end
from workbench.readers.text import lines_of, rejected, skipped

__all__ = ["Adapted", "read_text"]


def _unchanged(cells: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    del lines
    return cells


def _nothing(cells: pl.DataFrame, lines: pl.DataFrame) -> Iterator[Batch]:
    del cells, lines
    yield from ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Adapted:
    """What a format adds to the reading of a table.

    Attributes
    ----------
    ts : str or None
        Column of the time as the file has it; None: the one that the layout names.
    cells : callable
        Of the cells and the ``line`` and ``text`` of some rows: gives the columns that the layout names
        and the file has not. Called once more, before all, for the first rows of the file.
    beside : callable
        Of the same, adapted: batches without records of what else they say.
    """

    ts: str | None = None
    cells: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame] = _unchanged
    beside: Callable[[pl.DataFrame, pl.DataFrame], Iterator[Batch]] = _nothing


def read_text(
    source: Source,
    dialect: Dialect | None,
    context: Context,
    *,
    layout: Layout | Problem | None = None,
    adapted: Adapted | None = None,
) -> Iterator[Batch]:
    """Read a delimited table block by block; what the stream lost is not counted here.

    Parameters
    ----------
    source : Source
    dialect : Dialect or None
        None: no line is a header, and every record is rejected.
    context : Context
    layout : Layout or Problem, optional
        What the columns mean, where a format says it; None: as their names and the mapping say.
    adapted : Adapted, optional
    """
    if dialect is None:
        problem = Problem(reason="no line is a header: a table needs one that names its columns", curable=None)
        yield from _refused(source, {}, problem)
        return
    if dialect.units:
        columns = replace(context.columns, units={**dialect.units, **context.columns.units})
        context = replace(context, columns=columns)
    layout = layout_of(dialect.names, context) if layout is None else layout
    if isinstance(layout, Problem):
        yield from _refused(source, dialect.prelude, layout)
        return
    state = TableState(context=context, layout=layout, decimal_comma=dialect.decimal_comma)
    adapted = Adapted() if adapted is None else adapted
    ts = adapted.ts or layout.column("ts")
    first = Splitter(dialect, ts=ts).take(_head_block(source.head()))
    state.habits = habits_of(adapted.cells(first.cells, first.lines), state)
    splitter = Splitter(dialect, ts=ts)
    notes = layout.notes
    for found in _parsed(source, splitter):
        if found.grid is not None and adapted.beside is _nothing and adapted.cells is _unchanged:
            part = grid_part(found.grid, state)
            if part is not None:
                yield batch_of(part, found.skips, found.rejects, (*notes, *found.notes))
                notes = ()
                continue
        parsed = found.taken_out()
        cells = adapted.cells(parsed.cells, parsed.lines)
        yield from adapted.beside(cells, parsed.lines)
        yield from _batches(replace(parsed, cells=cells), state, notes)
        notes = ()
    yield from told_at_the_end(state)


def _parsed(source: Source, splitter: Splitter) -> Iterator[Parsed]:
    for block in source.blocks():
        yield from splitter.parts(block)
    yield splitter.finish()


def _head_block(head: bytes) -> Block:
    whole = head[: head.rfind(b"\n") + 1] or head
    text = decoded(whole.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n"))[0].encode()
    return Block(first_line=1, text=text, unterminated=False)


def _batches(parsed: Parsed, state: TableState, notes: tuple[str, ...]) -> Iterator[Batch]:
    """Give the batches of some parsed rows; their skips and rejects ride with the first."""
    skips: dict[str, int] = dict(parsed.skips)
    rejects, told = parsed.rejects, (*notes, *parsed.notes)
    if parsed.cells.height:
        for part in convert(parsed.cells, parsed.lines, state):
            yield batch_of(part, skips, rejects, told)
            skips, rejects, told = {}, rejects.clear(), ()
    elif rejects.height or sum(skips.values()) or told:
        yield batch_of(Part(rows=0, rejects=rejects.clear()), skips, rejects, told)


def _refused(source: Source, known: Mapping[int, str], problem: Problem) -> Iterator[Batch]:
    """Reject every record for one reason; what stands before the first row is skipped as ever."""
    for block in source.blocks():
        found = lines_of(replace(block, unterminated=False))
        frame, skips = found.frame, Counter[str]()
        before = frame.filter(pl.col("line") <= max(known, default=0))
        skips.update(known.get(line, "preamble") for line in before["line"].to_list())
        rest = frame.filter(pl.col("line") > max(known, default=0))
        blank = rest["text"].str.strip_chars() == ""
        skips["blank"] += int(blank.sum())
        told = pl.concat([found.rejects, rejected(rest.filter(~blank), problem.reason, curable=problem.curable)])
        yield Batch(records=found.records, rows=0, skips=skipped(skips), rejects=told.cast(frames.REJECTS))
