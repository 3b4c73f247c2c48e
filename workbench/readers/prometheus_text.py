"""Prometheus text format: one scrape or many appended, ``/federate``, dcgm-exporter, node_exporter.

OpenMetrics differs in three things that matter here: stamps in seconds, ``# EOF``, exemplars. All
are read. What follows ``# EOF`` is another exposition where it begins with metadata (scrapes that
were appended to one file); samples right behind the marker belong to nothing and are rejected.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.exposition_read import EOF, Exposition, nodename
from workbench.readers.exposition_series import LabelledSeries
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import lines_of, matched_share

__all__ = ["READER"]

_META = r"^# (?:HELP|TYPE|UNIT) [a-zA-Z_:\"]"
_SAMPLE = r"^(?:[a-zA-Z_:][a-zA-Z0-9_:]*)?(?:\{[^{}]*\})? [+-]?(?:[0-9.][^ ]*|Inf|NaN)(?: -?[0-9][0-9.]*)?(?: # \{.*)?$"
_LABELLED = r'^(?:[a-zA-Z_:][a-zA-Z0-9_:]*)?\{[a-zA-Z_][a-zA-Z0-9_]*="'
_PEEK_BYTES = 4 * 1024 * 1024  # a scrape of node_exporter is smaller


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    known = matched_share(head, f"{_META}|{_SAMPLE}|^# ?EOF$|^#")
    if known < 0.6:
        return None
    if matched_share(head, _META) > 0:
        return Match(confidence=0.5 + 0.45 * known, rule="HELP and TYPE lines of the Prometheus text format")
    if matched_share(head, _LABELLED) >= 0.5:
        return Match(confidence=0.75, rule='lines such as name{label="value"} number')
    if known > 0.95 and matched_share(head, _SAMPLE) > 0.5:
        return Match(confidence=0.25, rule="lines of a metric name and a number")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    series = LabelledSeries(host=context.host, nodename=nodename(source.head(_PEEK_BYTES)))
    exposition = Exposition(context, series)
    for block in source.blocks():
        yield exposition.batch(lines_of(block, complete=frozenset({EOF})))
    yield exposition.end()
    yield from damage_batches(source)


READER = Reader(name="prometheus_text", recognise=_recognise, read=_read)
