"""OpenTelemetry (OTLP) as JSON: metrics and logs, one document or one a line, as the file exporter writes.

A record is a data point or a log record. Writers that do not conform (snake_case, names for
numbers of enumerations) are read, too. What counts only since the point before (delta) is a gauge
with the label ``aggregation_temporality="delta"``: sum it, do not difference it. Spans are skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.jsondoc import Document, outer_keys, streamed
from workbench.readers.jsonvalues import dicts
from workbench.readers.logrecords import LogRecord, LogRecords
from workbench.readers.otlp_logs import log_record
from workbench.readers.otlp_points import Place, get, metric_points
from workbench.readers.points import Point, Points, parsed_points
from workbench.readers.source import Source, damage_batches

__all__ = ["READER"]

_KEYS = ("resourceMetrics", "resourceLogs", "resourceSpans", "resource_metrics", "resource_logs", "resource_spans")
_AT_ONCE = 20_000
_DELTA = (
    "values with the label aggregation_temporality=delta count what happened since the point before: "
    "sum them, do not difference them"
)


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    keys = sorted(outer_keys(head) & set(_KEYS))
    return Match(confidence=0.95, rule=f"JSON with {', '.join(keys)}") if keys else None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    reading = _Reading(context)
    for document in streamed(source):
        reading.add(document)
        if reading.waiting >= _AT_ONCE:
            yield from reading.batches()
    yield from reading.batches()
    yield from reading.end()
    yield from damage_batches(source)


class _Reading:
    """The points and log records met so far."""

    def __init__(self, context: Context) -> None:
        self._points = Points(context)
        self._logs = LogRecords(host=context.host)
        self._found: list[Point] = []
        self._lines: list[int] = []  # of the documents, by number of the point
        self._records: list[LogRecord] = []
        self._refused: list[tuple[int, str, str, str | None]] = []
        self._skips: Counter[str] = Counter()
        self._delta = False

    @property
    def waiting(self) -> int:
        """Records that wait to be told."""
        return len(self._lines) + len(self._records)

    def add(self, document: Document) -> None:
        """Take what a document holds."""
        before = self.waiting + len(self._refused) + self._skips.total()
        value = document.value
        if document.why is not None:
            self._refuse(document, document.why)
        elif isinstance(value, dict):
            for resource in dicts(get(value, "resourceMetrics")):
                self._metrics(resource, document)
            for resource in dicts(get(value, "resourceLogs")):
                self._resource_logs(resource, document)
            for resource in dicts(get(value, "resourceSpans")):
                scopes = dicts(get(resource, "scopeSpans")) or dicts(get(resource, "instrumentationLibrarySpans"))
                self._skips["span"] += sum(len(dicts(scope.get("spans"))) for scope in scopes)
        if self.waiting + len(self._refused) + self._skips.total() == before:
            self._refuse(document, "no metrics and no logs of OTLP")

    def _metrics(self, resource: dict[str, object], document: Document) -> None:
        for scope in dicts(get(resource, "scopeMetrics")) or dicts(get(resource, "instrumentationLibraryMetrics")):
            place = Place.of(resource, scope, document)
            for metric in dicts(scope.get("metrics")):
                for points in metric_points(metric, place):
                    if isinstance(points, str):
                        self._refuse(document, points)
                    else:
                        self._keep(points, document)

    def _keep(self, points: list[Point], document: Document) -> None:
        number = len(self._lines)
        self._delta |= any("aggregation_temporality" in point.tags for point in points)
        self._found += [replace(point, line=number) for point in points]
        self._lines.append(document.line)

    def _resource_logs(self, resource: dict[str, object], document: Document) -> None:
        for scope in dicts(get(resource, "scopeLogs")) or dicts(get(resource, "instrumentationLibraryLogs")):
            place = Place.of(resource, scope, document)
            self._records += [log_record(told, place) for told in dicts(get(scope, "logRecords"))]

    def _refuse(self, document: Document, why: str) -> None:
        self._refused.append((document.line, why, document.text, None))

    def batches(self) -> Iterator[Batch]:
        """Tell what waits: points, then log records."""
        batch = self._points.batch(parsed_points(self._found), {})
        lines = pl.Series([self._lines[number] for number in batch.rejects["line"]], dtype=pl.Int64)
        rejects = batch.rejects.with_columns(line=lines).sort("line", maintain_order=True)
        yield replace(batch, rejects=rejects)
        refused = pl.DataFrame(self._refused, schema=frames.REJECTS, orient="row")
        yield self._logs.batch(self._records, self._skips, refused)
        self._found, self._lines, self._records, self._refused, self._skips = [], [], [], [], Counter()

    def end(self) -> Iterator[Batch]:
        """Tell what was held back, and what the user should know."""
        yield self._logs.finish()
        yield self._points.end()
        yield Batch(records=0, rows=0, notes=(_DELTA,) if self._delta else ())


READER = Reader(name="otlp_json", recognise=_recognise, read=_read)
