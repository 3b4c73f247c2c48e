"""Files of collectd's csv plugin: the header names the parts of a value, the path says of what.

Metrics are named as collectd's write_prometheus names them, so that both are one. Whether a value is
a counter or a rate of it depends on StoreRates, which the file does not say: the kind stays open.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.columns import Layout, Problem
from workbench.readers.seriesnames import SeriesName, columns_of, dialect_with, with_hosts
from workbench.readers.source import Source, damage_batches
from workbench.readers.tellingnames import CollectdName, collectd_name
from workbench.readers.texttable import read_text

__all__ = ["READER"]

_NO_NAME = "only the path says what was measured: keep it as collectd has it, HOST/plugin-instance/type-DATE"


def _recognise(head: bytes, context: Context) -> Match | None:
    if not head.removeprefix(b"\xef\xbb\xbf").startswith(b"epoch,") or context.columns.stated:
        return None
    dialect = dialect_with(head, "epoch", context)
    if dialect is None or dialect.delimiter != "," or dialect.header_line != 1 or len(set(dialect.names)) < 2:
        return None
    return Match(confidence=0.8, rule="header begins with epoch, as of collectd's csv plugin")


def _read(source: Source, context: Context) -> Iterator[Batch]:
    yield Batch(records=0, rows=0)
    dialect = dialect_with(source.head(), "epoch", context)
    told = collectd_name(context.file_name or "")
    layout: Layout | Problem = Problem(reason=_NO_NAME, curable=None)
    if dialect is not None and told is not None:
        ts, *parts = dialect.names
        names = {part: _named(part, told) for part in parts if part}
        layout, context = with_hosts(columns_of(names, context), ts, context)
    yield from read_text(source, dialect, context, layout=layout)
    yield from damage_batches(source)


def _named(part: str, told: CollectdName) -> SeriesName:
    """Name a part of a value as write_prometheus does (collectd 5.12, ``metric_family_name``, ``metric_add_labels``)."""
    words = ["collectd", told.plugin]
    words += [told.type_] if told.type_ != told.plugin else []
    words += [part] if part != "value" else []
    labels = {told.plugin: told.plugin_instance} if told.plugin_instance else {}
    if told.type_instance:
        labels["type" if told.plugin_instance else told.plugin] = told.type_instance
    if told.host:
        labels["instance"] = told.host
    return SeriesName(metric="_".join(words), labels=labels)


READER = Reader(name="collectd_csv", recognise=_recognise, read=_read)
