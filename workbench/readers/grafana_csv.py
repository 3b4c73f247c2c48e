"""Data of a panel as Grafana exports them: a column a series, or one row a sample, for people to read.

Times are of the browser's clock and carry no zone. Values may be formatted, each with a unit of its
own. A legend need not name a metric: then the title of the panel does, which only the file's name holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.columns import Layout, Problem
from workbench.readers.dialect import Dialect
from workbench.readers.labelcolumn import parse_labels
from workbench.readers.metriccolumns import label_text
from workbench.readers.seriesnames import SeriesName, columns_of, dialect_with, with_hosts
from workbench.readers.source import Source, damage_batches
from workbench.readers.tellingnames import panel_title
from workbench.readers.texttable import Adapted, read_text

__all__ = ["READER"]

_LONG = ("Series", "Time", "Value")
_LEGEND = re.compile(r"(?P<name>[^{}]*)(?:\{(?P<labels>.*)\})?\s*")
_AGAIN = re.compile(r"(?P<legend>.*)#(?P<number>\d+)'*")  # a column of the same name as an earlier one
_GPU = re.compile(r"(?i)(?:(?P<host>[a-z0-9][\w.-]*)[ /:-]+)?(?:gpu)[ _:#-]?(?P<gpu>\d{1,3})")
_NO_METRIC = "the file does not say what was measured: name it by the panel's title, or as metric in a mapping (--map)"
_TIMES = "times are of the clock of the browser that exported them"


def _recognise(head: bytes, context: Context) -> Match | None:
    if b"\0" in head or not re.match(rb'(?:\xef\xbb\xbf)?(?:"?sep=.|"?Time"?[,;\t]|"?Series"?[,;\t])', head):
        return None
    dialect = dialect_with(head, "Time", context)
    if dialect is None or set(context.columns.roles.values()) & set(dialect.names):
        return None  # a table with columns that the user names is what the user says
    if dialect.names == _LONG:
        return Match(confidence=0.96, rule="columns Series, Time and Value of Grafana")
    ours = dialect.header_text.startswith('"Time"') or "metadata" in dialect.prelude.values()
    if dialect.names[0] == "Time" and ours:
        return Match(confidence=0.96, rule='column "Time" and a column a series, as Grafana writes them')
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    yield Batch(records=0, rows=0)
    dialect = dialect_with(source.head(), "Time", context)
    if dialect is None:
        yield from read_text(source, None, context)
    elif dialect.names == _LONG:
        yield from _read_long(source, dialect, context)
    else:
        yield from _read_wide(source, dialect, context)
    yield from damage_batches(source)


def _read_wide(source: Source, dialect: Dialect, context: Context) -> Iterator[Batch]:
    ts, *others = dialect.names
    names, notes = _named([name for name in others if name], context)
    layout: Layout | Problem
    if names:
        layout, context = with_hosts(columns_of(names, context), ts, context, notes)
    else:
        layout = Problem(reason="no column is a series", curable=None)
    yield from read_text(source, dialect, context, layout=layout)


def _read_long(source: Source, dialect: Dialect, context: Context) -> Iterator[Batch]:
    roles = {"ts": "Time", "value": "Value", "metric": "@name", "labels": "@told"}
    seen: dict[str, tuple[str, str]] = {}

    def adapt(cells: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
        del lines
        written = cells["Series"].fill_null("")
        new, _ = _named([name for name in written.unique(maintain_order=True) if name not in seen], context)
        seen.update({name: (told.metric, label_text(dict(told.labels))) for name, told in new.items()})
        pairs = [seen[name] for name in written.to_list()]
        schema = {"@name": pl.String(), "@told": pl.String()}
        return cells.hstack(pl.DataFrame(pairs, schema=schema, orient="row"))

    yield from read_text(
        source, dialect, context, layout=Layout(shape="long", roles=roles), adapted=Adapted(cells=adapt)
    )


def _named(legends: list[str], context: Context) -> tuple[dict[str, SeriesName], tuple[str, ...]]:
    """Take legends apart; a name that only says which GPU is one of a GPU, not of a metric."""
    stated = context.columns.roles.get("metric", "")
    title = stated[1:] if stated.startswith("=") else panel_title(context.file_name or "")
    names: dict[str, SeriesName] = {}
    missing = False
    for legend in legends:
        again = _AGAIN.fullmatch(legend)
        again = again if again is not None and again["legend"] in names else None
        written = again["legend"] if again is not None else legend
        found = _LEGEND.fullmatch(written)
        labels = parse_labels("{" + (found["labels"] or "") + "}") if found else None
        name = found["name"].strip() if found is not None and labels is not None else written
        labels = dict(labels or {}) | ({"column": again["number"]} if again is not None else {})
        metric = labels.pop("__name__", name)
        if gpu := _GPU.fullmatch(metric):
            labels.setdefault("gpu", gpu["gpu"])
            if gpu["host"]:
                labels.setdefault("host", gpu["host"])
            metric = ""
        missing |= not metric and not title
        names[legend] = SeriesName(metric=metric or title or "value", labels=labels)
    return names, (_NO_METRIC,) if missing else ()


READER = Reader(name="grafana_csv", recognise=_recognise, read=_read)
