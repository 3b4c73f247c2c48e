"""Telegraf's JSON output: ``{"fields": {...}, "name": ..., "tags": {...}, "timestamp": ...}``.

One object a line, or batches of ``{"metrics": [...]}``. The unit of the times is an option of the
writer (seconds by default); each is told by its magnitude.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.jsondoc import Document, outer_keys, streamed
from workbench.readers.jsonvalues import clean, number_text
from workbench.readers.points import TEXT, Point, Points, parsed_points
from workbench.readers.source import Source, damage_batches

__all__ = ["READER"]

_KEYS = frozenset({"fields", "name", "tags"})
_AT_ONCE = 20_000  # points of a batch
_NO_POINT = "no object with name, tags and fields"
_NO_FIELDS = "a metric without fields"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    keys = outer_keys(head)
    if keys >= _KEYS:
        return Match(confidence=0.9, rule="JSON objects with name, tags and fields")
    if keys == {"metrics"} and all(f'"{key}"'.encode() in head for key in _KEYS):
        return Match(confidence=0.85, rule="a batch of metrics with name, tags and fields")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    points = Points(context)
    waiting: list[Point] = []
    refused: list[tuple[int, str, str, str | None]] = []
    for document in streamed(source):
        for found in _points(document):
            if isinstance(found, Point):
                waiting.append(found)
            else:
                refused.append((document.line, found, document.text, None))
        if len(waiting) >= _AT_ONCE:
            yield _batch(points, waiting, refused)
            waiting, refused = [], []
    yield _batch(points, waiting, refused)
    yield points.end()
    yield from damage_batches(source)


def _batch(points: Points, waiting: list[Point], refused: list[tuple[int, str, str, str | None]]) -> Batch:
    """Number the records anew, since one line may hold many; rejects name the line."""
    numbered = parsed_points(replace(point, line=place) for place, point in enumerate(waiting))
    batch = points.batch(numbered, {})
    lines = [waiting[place].line for place in batch.rejects["line"]]
    rejects = batch.rejects.with_columns(line=pl.Series(lines, dtype=pl.Int64))
    more = pl.DataFrame(refused, schema=frames.REJECTS, orient="row")
    told = pl.concat([rejects, more]).sort("line", maintain_order=True)
    return replace(batch, records=batch.records + more.height, rejects=told)


def _points(document: Document) -> Iterator[Point | str]:
    """Give the points of a document, or why there is none."""
    if document.why is not None:
        yield document.why
        return
    value = document.value
    items = value.get("metrics") if isinstance(value, dict) and isinstance(value.get("metrics"), list) else value
    for item in items if isinstance(items, list) else [items]:
        yield _point(item, document)


def _point(item: Any, document: Document) -> Point | str:
    if not isinstance(item, dict):
        return _NO_POINT
    name, tags, fields = item.get("name"), item.get("tags", {}), item.get("fields")
    if not isinstance(name, str) or not isinstance(tags, dict) or not isinstance(fields, dict):
        return _NO_POINT
    told = {clean(key): _cell(value) for key, value in fields.items()}
    if not told:
        return _NO_FIELDS
    stamp = item.get("timestamp")
    return Point(
        line=document.line,
        measurement=clean(name),
        tags={clean(key): clean(value) for key, value in tags.items() if isinstance(value, str)},
        fields=told,
        stamp=None if stamp is None else number_text(stamp) or "no number",
        text=document.text,
    )


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return number_text(value) or TEXT


READER = Reader(name="telegraf_json", recognise=_recognise, read=_read)
