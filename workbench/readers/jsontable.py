"""JSON objects as a generic table: samples, events or jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from workbench.errors import DataError
from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.cellgrid import Grid, Stretch, objects
from workbench.readers.columns import Layout, Problem, extended, layout_of
from workbench.readers.dialect import decoded
from workbench.readers.gridsamples import grid_part
from workbench.readers.jsonrows import JsonHead, documents, flat, json_frame, rows_frame, written_like
from workbench.readers.jsontwice import said_twice_in
from workbench.readers.shapes import convert, habits_of
from workbench.readers.source import Block, Source
from workbench.readers.tablestate import Part, TableState, batch_of, refused, told_at_the_end
from workbench.readers.text import UNTERMINATED, Seen, lines_of, rejected

__all__ = ["LARGE_BYTES", "read_json"]

_LIMIT = 512 * 1024 * 1024
_ROWS_A_BATCH = 100_000
#: A smaller block is not worth the compiled loops.
LARGE_BYTES = 1 << 20
_NO_OBJECT = "line is no JSON object"


def read_json(source: Source, head: JsonHead, context: Context) -> Iterator[Batch]:
    """Read objects, one a line or in one array; what the stream lost is not counted here."""
    layout = layout_of(head.names, context)
    state = None
    if isinstance(layout, Layout):
        state = TableState(context=context, layout=layout, sparse=True)
        state.habits = habits_of(head.rows, state)
    reader = _read_array if head.array else _read_lines
    yield from reader(source, layout if state is None else state)
    if state is not None:
        yield from told_at_the_end(state)


def _read_lines(source: Source, state: TableState | Layout | Problem) -> Iterator[Batch]:
    seen = Seen()
    for block in source.blocks():
        for stretch in _stretches(block, state):
            if stretch.grid is None:
                part = replace(block, first_line=stretch.first_line, text=stretch.text)
                yield from _careful(part, state, seen)
                continue
            assert isinstance(state, TableState)
            yield from _plain(stretch.grid, state, seen)


def _stretches(block: Block, state: TableState | Layout | Problem) -> list[Stretch]:
    """Part a large block of objects that are all written like the first; others are one stretch without a grid."""
    text, found = block.text, None
    plain = len(text) >= LARGE_BYTES and not (block.unterminated or block.overlong) and text.endswith(b"\n")
    if plain and isinstance(state, TableState) and state.layout.shape == "wide" and b"\0" not in text:
        written = written_like(text[: text.find(b"\n")])
        if written is not None and (text.isascii() or not decoded(text)[1]):
            found = objects(text, block.first_line, *written)
    if found is not None and any(stretch.text.strip() for stretch in found):
        found = None  # the type of a column is that of all its cells in the block
    return [Stretch(grid=None, first_line=block.first_line, text=text)] if found is None else found


def _plain(grid: Grid, state: TableState, seen: Seen) -> Iterator[Batch]:
    new = seen.is_new(grid.line_texts())
    skips = {"duplicate": int((~new).sum())}
    kept = grid if new.all() else grid.filtered(new)
    state.layout = extended(state.layout, list(grid.names), state.context)
    none = frames.empty(frames.REJECTS)
    part = grid_part(kept, state) if kept.height else None
    if part is not None:
        yield batch_of(part, skips, none)
        return
    rows, lines, wrong = json_frame(kept.line_frame())
    yield from _batches(rows, lines, state, (skips, _refused(wrong, _NO_OBJECT)))


def _careful(block: Block, state: TableState | Layout | Problem, seen: Seen) -> Iterator[Batch]:
    found = lines_of(replace(block, unterminated=False))
    text = found.frame["text"].str.strip_chars()
    blank = text == ""
    lines = found.frame.with_columns(text).filter(~blank)
    new = seen.is_new(lines["text"])
    skips = {"blank": int(blank.sum()), "duplicate": int((~new).sum())}
    rows, lines, wrong = json_frame(lines.filter(new))
    reason = UNTERMINATED if block.unterminated else _NO_OBJECT
    rejects = pl.concat([found.rejects, _refused(wrong, reason)])
    yield from _batches(rows, lines, state, (skips, rejects))


def _refused(wrong: pl.DataFrame, reason: str) -> pl.DataFrame:
    return rejected(wrong, pl.coalesce("why", pl.lit(reason)))


def _read_array(source: Source, state: TableState | Layout | Problem) -> Iterator[Batch]:
    nothing = pl.DataFrame(schema={"line": pl.Int64(), "text": pl.String()})
    try:
        data = source.read_all(_LIMIT).removeprefix(b"\xef\xbb\xbf")
        found = documents(data)
        twice = said_twice_in(found, data)
        why = "the document is no whole JSON array: it may be cut"
    except DataError as error:
        found, twice, why = None, {}, str(error)
    if found is None:
        if source.damage is None:
            told = rejected(pl.DataFrame({"line": [1], "text": ["["]}), why)
            yield batch_of(Part(rows=0, rejects=told), {}, told.clear())
        return
    for start in range(0, len(found), _ROWS_A_BATCH):
        part = list(enumerate(found[start : start + _ROWS_A_BATCH], start=start + 1))
        lines = pl.DataFrame(
            {"line": [number for number, _ in part], "text": [_shown(item) for _, item in part]}, schema=nothing.schema
        )
        good = pl.Series([item is not None and number not in twice for number, item in part], dtype=pl.Boolean)
        rows = rows_frame([flat(item) for number, item in part if item is not None and number not in twice])
        lines = lines.with_columns(why=pl.Series([twice.get(number) for number, _ in part], dtype=pl.String))
        rejects = _refused(lines.filter(~good), "element of the array is no object")
        lines = lines.drop("why")
        yield from _batches(rows, lines.filter(good), state, ({}, rejects))


def _shown(item: object) -> str:
    return repr(item)[:2000]


def _batches(
    rows: pl.DataFrame,
    lines: pl.DataFrame,
    state: TableState | Layout | Problem,
    beside: tuple[dict[str, int], pl.DataFrame],
) -> Iterator[Batch]:
    """Give the batches of some objects; skips and rejects of other lines ride with the first."""
    skips, rejects = beside
    if isinstance(state, Problem):
        reason = pl.repeat(state.reason, lines.height, dtype=pl.String, eager=True)
        curable = pl.repeat(state.curable, lines.height, dtype=pl.String, eager=True)
        yield batch_of(Part(rows=0, rejects=refused(lines, reason, curable)), skips, rejects)
        return
    assert isinstance(state, TableState)
    if not lines.height:
        yield batch_of(Part(rows=0, rejects=rejects.clear()), skips, rejects)
        return
    for part in convert(_completed(rows, state), lines, state):
        yield batch_of(part, skips, rejects)
        skips, rejects = {}, rejects.clear()


def _completed(rows: pl.DataFrame, state: TableState) -> pl.DataFrame:
    """Give rows every column of the layout, and the layout every new column of the rows."""
    state.layout = extended(state.layout, rows.columns, state.context)
    wanted = _columns(state.layout)
    missing = [name for name in wanted if name not in rows.columns]
    return rows.with_columns(pl.lit(None, pl.String).alias(name) for name in missing)


def _columns(layout: Layout) -> Sequence[str]:
    roles = [name for name in layout.roles.values() if not name.startswith("=")]
    return [*roles, *(column.column for column in layout.metrics), *layout.rest]
