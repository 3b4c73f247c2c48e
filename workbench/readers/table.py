"""Generic tables: CSV, TSV and their kin, and JSON objects, as samples, events or jobs.

What the columns mean is told by the header's well-known names or by the user (``--map``), never by
content. A table that leaves it open is rejected record by record with one reason that says what to
state. Rows that are equal letter by letter are kept once: they say nothing new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.columns import Layout, Problem, knows_time, layout_of
from workbench.readers.delimited import Parsed, Splitter
from workbench.readers.dialect import Dialect, decoded, sniff
from workbench.readers.jsonrows import sniff_json
from workbench.readers.jsontable import read_json
from workbench.readers.shapes import convert, habits_of
from workbench.readers.source import Block, Source, damage_batches
from workbench.readers.tablestate import Part, TableState, batch_of, told_at_the_end
from workbench.readers.text import lines_of, rejected, skipped

__all__ = ["READER"]

_SURE, _LIKELY, _OPEN, _FALLBACK = 0.95, 0.5, 0.25, 0.1


def _recognise(head: bytes, context: Context) -> Match | None:
    if b"\0" in head:
        return None
    if found := sniff_json(head):
        return _match(found.names, context, what="JSON objects", share=found.share if found.rows.height > 1 else 0.0)
    dialect = sniff(head, context)
    if dialect is None:
        return None
    mark = {"\t": "tab"}.get(dialect.delimiter, f"'{dialect.delimiter}'")
    return _match(dialect.names, context, what=f"table delimited by {mark}", share=dialect.share)


def _match(names: tuple[str, ...], context: Context, *, what: str, share: float) -> Match | None:
    """Say how sure the names of the columns make us."""
    if context.columns.shape == "topology":
        return None
    layout = layout_of(names, context)
    if isinstance(layout, Layout):
        stated = context.columns.stated
        told = "columns as the mapping says" if stated else f"columns known by their names: {', '.join(layout.roles)}"
        return Match(confidence=_SURE if stated else _LIKELY, rule=f"{what}, {layout.shape}, {told}")
    if knows_time(names) or context.columns.stated:
        return Match(confidence=_OPEN, rule=f"{what}; {layout.reason}")
    return Match(confidence=_FALLBACK, rule=f"{what}; {layout.reason}") if share >= 0.8 else None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    yield Batch(records=0, rows=0)  # so that an empty file gives something, too
    head = source.head()
    if found := sniff_json(head):
        yield from read_json(source, found, context)
    else:
        yield from _read_text(source, sniff(head, context), context)
    yield from damage_batches(source)


def _read_text(source: Source, dialect: Dialect | None, context: Context) -> Iterator[Batch]:
    if dialect is None:
        problem = Problem(reason="no line is a header: a table needs one that names its columns", curable=None)
        yield from _refused(source, {}, problem)
        return
    if dialect.units:
        columns = replace(context.columns, units={**dialect.units, **context.columns.units})
        context = replace(context, columns=columns)
    layout = layout_of(dialect.names, context)
    if isinstance(layout, Problem):
        yield from _refused(source, dialect.prelude, layout)
        return
    state = TableState(context=context, layout=layout, decimal_comma=dialect.decimal_comma)
    first = _splitter(dialect, layout).take(_head_block(source.head()))
    state.habits = habits_of(first.cells, state)
    splitter = _splitter(dialect, layout)
    notes = layout.notes
    for block in source.blocks():
        parsed = splitter.take(block)
        yield from _batches(parsed, state, notes)
        notes = ()
    yield from _batches(splitter.finish(), state, notes)
    yield from told_at_the_end(state)


def _head_block(head: bytes) -> Block:
    whole = head[: head.rfind(b"\n") + 1] or head
    text = decoded(whole.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n"))[0].encode()
    return Block(first_line=1, text=text, unterminated=False)


def _splitter(dialect: Dialect, layout: Layout) -> Splitter:
    return Splitter(dialect, ts=layout.column("ts"))


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


READER = Reader(name="table", recognise=_recognise, read=_read)
