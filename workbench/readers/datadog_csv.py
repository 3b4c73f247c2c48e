"""Time series as Datadog exports them: a column a series, named by the text of the query and its group."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.columns import Layout, Problem
from workbench.readers.dialect import Dialect
from workbench.readers.seriesnames import SeriesName, columns_of, dialect_with, with_hosts
from workbench.readers.source import Source, damage_batches
from workbench.readers.texttable import read_text

__all__ = ["READER"]

_QUERY = re.compile(
    r"(?:[a-z_0-9]+\()*(?P<aggregate>avg|sum|min|max|count|p\d\d?(?:\.\d+)?):(?P<metric>[A-Za-z][\w.]*)"
    r"\{(?P<scope>[^{}]*)\}(?: by \{(?P<by>[^{}]*)\})?(?P<rest>.*?)(?:#\d+'*)?"
)
_TIME = re.compile(rb'^(?:\xef\xbb\xbf)?"?([Tt]ime|[Tt]imestamp|[Dd]ate)"?,"?[a-z_0-9().]+:', re.MULTILINE)
_TAG = re.compile(r"\s*(?P<key>[A-Za-z][\w./-]*):(?P<value>[^,\s]+)\s*")
_AVERAGED = "values are what the query made of them ({}): over the group, and over the time of a point"


def _recognise(head: bytes, context: Context) -> Match | None:
    dialect = _dialect(head, context)
    if dialect is None or set(context.columns.roles.values()) & set(dialect.names):
        return None
    if len(dialect.names) < 2 or not all(map(_QUERY.fullmatch, dialect.names[1:])):
        return None
    return Match(confidence=0.97, rule="queries of Datadog head the columns")


def _dialect(head: bytes, context: Context) -> Dialect | None:
    time = _TIME.search(head)
    return dialect_with(head, time[1].decode(), context) if time else None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    yield Batch(records=0, rows=0)
    dialect = _dialect(source.head(), context)
    layout: Layout | Problem = Problem(reason="no column is headed by a query of Datadog", curable=None)
    if dialect is not None:
        ts, *others = dialect.names
        queries = {name: found for name in others if (found := _QUERY.fullmatch(name))}
        if queries:
            made = sorted({found["aggregate"] for found in queries.values()})
            names = {name: _named(found, several=len(made) > 1) for name, found in queries.items()}
            notes = (_AVERAGED.format(", ".join(made)),)
            layout, context = with_hosts(columns_of(names, context), ts, context, notes)
    yield from read_text(source, dialect, context, layout=layout)
    yield from damage_batches(source)


def _named(query: re.Match[str], *, several: bool) -> SeriesName:
    """Give the metric of a query, and as labels what its scope and its group say."""
    tags = [*query["scope"].split(","), *query["rest"].split(",")]
    found = [tag for text in tags if (tag := _TAG.fullmatch(text)) and "*" not in tag["value"]]
    labels = {tag["key"]: tag["value"] for tag in found}
    if several:
        labels["aggregate"] = query["aggregate"]
    return SeriesName(metric=query["metric"], labels=labels)


READER = Reader(name="datadog_csv", recognise=_recognise, read=_read)
