"""Generic tables: CSV, TSV and their kin, and JSON objects, as samples, events or jobs.

What the columns mean is told by the header's well-known names or by the user (``--map``), never by
content. A table that leaves it open is rejected record by record with one reason that says what to
state. Rows that are equal letter by letter are kept once: they say nothing new.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.columns import Layout, knows_time, layout_of
from workbench.readers.dialect import sniff
from workbench.readers.jsonrows import sniff_json
from workbench.readers.jsontable import read_json
from workbench.readers.source import Source, damage_batches
from workbench.readers.texttable import read_text

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
        yield from read_text(source, sniff(head, context), context)
    yield from damage_batches(source)


READER = Reader(name="table", recognise=_recognise, read=_read)
