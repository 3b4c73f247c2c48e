"""``promtool tsdb dump``: ``{__name__="up", job="node"} 1 1796071333600``, series after series.

Times are always milliseconds. Stale markers and real NaN are both printed as ``NaN``.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.exposition_read import Exposition
from workbench.readers.exposition_samples import stamped_ms
from workbench.readers.exposition_series import LabelledSeries
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import lines_of, matched_share

__all__ = ["READER"]

_LINE = r'^\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\.)*", )*__name__="(?:[^"\\]|\\.)+".*\} \S+ -?\d+$'
_NAN = "{count} values are NaN: a stale marker, which ends a series, and a NaN that was measured look the same here"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    share = matched_share(head, _LINE)
    if share < 0.6:
        return None
    return Match(confidence=0.9, rule=f"{share:.0%} of the first lines are samples with their name inside the braces")


def _read(source: Source, context: Context) -> Iterator[Batch]:
    series = LabelledSeries(host=context.host)
    exposition = Exposition(context, series, stamp=stamped_ms)
    for block in source.blocks():
        batch = exposition.batch(lines_of(block))
        nan = batch.absent.filter(pl.col("reason") == "NaN")["count"]
        series.count(_NAN, nan)
        yield batch
    yield exposition.end()
    yield from damage_batches(source)


READER = Reader(name="promtool_tsdb_dump", recognise=_recognise, read=_read)
