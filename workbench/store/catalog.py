"""Which metrics a store holds, where they lie, and what they mean."""

from __future__ import annotations

from fnmatch import fnmatchcase

import polars as pl

from workbench.store.engine import Engine
from workbench.store.layout import SAMPLES_LONG

__all__ = ["catalog"]

_COLUMNS = (
    "metric", "entity_kind", "table", "column", "unit", "kind", "role", "drives", "raw_names", "interval_s", "width_bits",
    "saturates", "known_by", "labels", "series", "first", "last", "rows",
)  # fmt: skip
_BY = ["metric", "entity_kind"]
_SERIES = """
select metric, "table", entity, labels, first, last, count, interval_s,
       case when strpos(regexp_extract(entity, '[^/]*$'), ':') > 0 then split_part(regexp_extract(entity, '[^/]*$'), ':', 1)
            when strpos(entity, '/') > 0 then 'host' else 'cluster' end as entity_kind
from series
"""


def catalog(engine: Engine, pattern: str = "*") -> pl.DataFrame:
    """List metrics; :meth:`workbench.store.store.Store.catalog` says what the columns are."""
    facts = engine.metrics.rename({"raw_name": "raw_names", "bits": "width_bits"}).drop("type")
    # A metric that lies wide and, with labels or where a value did not fit its row, also long is told of once.
    facts = facts.sort(pl.col("column").is_null(), maintain_order=True).unique(_BY, keep="first", maintain_order=True)
    summed = (
        engine.ask(_SERIES)
        .with_columns((pl.col("table") == SAMPLES_LONG).alias("long"))
        .group_by(_BY)
        .agg(
            pl.struct("entity", pl.when("long").then(pl.col("labels"))).n_unique().cast(pl.Int64).alias("series"),
            (pl.col("long") & (pl.col("labels") != "{}")).any().alias("labels"),
            pl.col("first").min(), pl.col("last").max(), pl.col("count").sum().alias("rows"), pl.col("interval_s").median(),
        )
    )  # fmt: skip
    listed = facts.join(summed, on=_BY).with_columns(
        pl.when(pl.col(name) == "").then(None).otherwise(pl.col(name)).alias(name) for name in ("unit", "role")
    )
    ordered = listed.select(_COLUMNS).sort(pl.col("column").is_null(), "metric", "entity_kind")
    return ordered if pattern == "*" else ordered.filter(_fits(ordered, pattern))


def _fits(listed: pl.DataFrame, pattern: str) -> pl.Series:
    glob = pattern.lower()
    names = zip(listed["metric"], listed["raw_names"], strict=True)
    return pl.Series(
        [any(fnmatchcase(name.lower(), glob) for name in (metric, *raw)) for metric, raw in names], dtype=pl.Boolean
    )
