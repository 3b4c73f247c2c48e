"""What stands where: hosts in racks and on switches, feeds and loops; inventories; graphs. CSV or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import polars as pl

from workbench.errors import DataError
from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.columns import Problem, knows_time, normal
from workbench.readers.delimited import Parsed, Splitter
from workbench.readers.dialect import sniff
from workbench.readers.graph import Graph
from workbench.readers.jsonrows import documents, flat, sniff_json
from workbench.readers.source import Source, damage_batches
from workbench.readers.tablestate import Part, batch_of
from workbench.readers.text import lines_of, rejected
from workbench.readers.topologyjson import KEYS, walk
from workbench.readers.topologyrows import PLACES, Plan, plan_of, read_row

__all__ = ["READER"]

_LIMIT = 256 * 1024 * 1024
_FIRST_KEY = re.compile(rb'\s*\{\s*"((?:[^"\\]|\\.){1,64})"\s*:\s*[\[{"]')
#: Keys of documents that look alike and are not ours: Slurm, Kubernetes, Prometheus.
_OTHERS = frozenset({"meta", "apiVersion", "kind", "items", "status", "resourceMetrics", "@odata.id"})
#: What tells a table of places, beside host or parent and child.
_TELLING = (*PLACES, "switch", "pdu", "loop", "gpu_uuid", "gpu_pci", "gpu_serial", "guid", "alias")
#: What tells that a table is of something else.
_FOREIGN = frozenset(
    {
        "value",
        "message",
        "severity",
        "job",
        "job_id",
        "jobid",
        "start",
        "start_time",
        "end",
        "end_time",
        "event",
        "metric",
    }
)


def _recognise(head: bytes, context: Context) -> Match | None:
    stated = context.columns.shape == "topology"
    if stated:
        return Match(confidence=0.95, rule="the mapping says that it is a topology")
    if b"\0" in head or context.columns.shape is not None:
        return None
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        keys = _outer_keys(text)
        known = sorted(keys & KEYS)
        return Match(confidence=0.6, rule=f"JSON with {', '.join(known)}") if known and not keys & _OTHERS else None
    names = found.names if (found := sniff_json(head)) else dialect.names if (dialect := sniff(head, context)) else ()
    plan = plan_of(names, context) if names else None
    if not isinstance(plan, Plan) or knows_time(names) or {normal(name) for name in names} & _FOREIGN:
        return None
    telling = [role for role in _TELLING if plan.has(role)]
    if plan.has("parent", "child") or (telling and (plan.has("host") or plan.has("gpu_uuid"))):
        return Match(confidence=0.6, rule=f"columns that say what stands where: {', '.join(plan.columns)}")
    return None


def _outer_keys(text: bytes) -> set[str]:
    """Give the keys of the outermost level, the first one where the head is cut."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        key = _FIRST_KEY.match(text)
        return {key[1].decode(errors="replace")} if key else set()
    return set(found) if isinstance(found, dict) else set()


def _read(source: Source, context: Context) -> Iterator[Batch]:
    yield Batch(records=0, rows=0)  # so that an empty file gives something, too
    text = source.head().removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"{", b"[")):
        yield from _read_json(source, context)
    else:
        yield from _read_text(source, context)
    yield from damage_batches(source)


def _read_text(source: Source, context: Context) -> Iterator[Batch]:
    dialect = sniff(source.head(), context)
    none = Problem(reason="no line is a header: a table needs one that names its columns", curable=None)
    plan = none if dialect is None else plan_of(dialect.names, context)
    if dialect is None or isinstance(plan, Problem):
        assert isinstance(plan, Problem)
        for block in source.blocks():
            found = lines_of(replace(block, unterminated=False))
            told = pl.concat([found.rejects, rejected(found.frame, plan.reason, curable=plan.curable)])
            yield Batch(records=found.records, rows=0, rejects=told.sort("line"))
        return
    splitter, plotter = Splitter(dialect), _Plotter(plan, context)
    for block in source.blocks():
        yield plotter.batch(splitter.take(block))
    yield plotter.batch(splitter.finish())
    # One graph for the file: what several rows say of a thing is said once.
    yield batch_of(
        Part(rows=0, rejects=frames.empty(frames.REJECTS), tables=plotter.graph.tables()),
        {},
        frames.empty(frames.REJECTS),
    )


class _Plotter:
    """Rows of one file, added to one graph."""

    def __init__(self, plan: Plan, context: Context) -> None:
        self._plan, self._context = plan, context
        self.graph = Graph()

    def batch(self, parsed: Parsed) -> Batch:
        part = self.part(parsed.cells.to_dicts(), parsed.lines)
        return batch_of(part, parsed.skips, parsed.rejects, tuple(parsed.notes))

    def part(self, rows: list[dict[str, Any]], lines: pl.DataFrame) -> Part:
        wrong = []
        for row, (line, text) in zip(rows, lines.iter_rows(), strict=True):
            problem = read_row(row, self._plan, self._context, self.graph)
            if problem is not None:
                wrong.append((line, problem.reason, text[:2000], problem.curable))
        rejects = pl.DataFrame(wrong, schema=frames.REJECTS, orient="row")
        return Part(rows=len(rows) - len(wrong), rejects=rejects)


def _read_json(source: Source, context: Context) -> Iterator[Batch]:
    try:
        data = source.read_all(_LIMIT).removeprefix(b"\xef\xbb\xbf")
        why = "the document is no whole JSON: it may be cut"
    except DataError as error:
        data, why = b"", str(error)
    if source.damage is not None:
        return
    rows = documents(data)
    if rows is not None:
        yield _array(rows, context)
        return
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict):
        told = rejected(pl.DataFrame({"line": [1], "text": [data[:200].decode(errors="replace")]}), why)
        yield Batch(records=1, rows=0, rejects=told)
        return
    graph = Graph()
    found = list(walk(document, graph))
    wrong = [
        (number, reason, shown, None) for number, (shown, reason) in enumerate(found, start=1) if reason is not None
    ]
    rejects = pl.DataFrame(wrong, schema=frames.REJECTS, orient="row")
    yield batch_of(Part(rows=len(found) - len(wrong), rejects=rejects, tables=graph.tables()), {}, rejects.clear())


def _array(rows: list[dict[str, Any] | None], context: Context) -> Batch:
    """Read an array of flat objects, as rows of a table are read."""
    flats = [(number, flat(row)) for number, row in enumerate(rows, start=1) if row is not None]
    other = [
        (number, "element of the array is no object", "", None)
        for number, row in enumerate(rows, start=1)
        if row is None
    ]
    rejects = pl.DataFrame(other, schema=frames.REJECTS, orient="row")
    names = list(dict.fromkeys(name for _, row in flats for name in row))
    plan = plan_of(names, context)
    lines = pl.DataFrame(
        [(number, str(row)[:2000]) for number, row in flats],
        schema={"line": pl.Int64(), "text": pl.String()},
        orient="row",
    )
    if isinstance(plan, Problem):
        part = Part(rows=0, rejects=rejected(lines, plan.reason, curable=plan.curable))
        return batch_of(part, {}, rejects)
    texts = [{key: None if value is None else str(value) for key, value in row.items()} for _, row in flats]
    plotter = _Plotter(plan, context)
    return batch_of(replace(plotter.part(texts, lines), tables=plotter.graph.tables()), {}, rejects)


READER = Reader(name="topology", recognise=_recognise, read=_read)
