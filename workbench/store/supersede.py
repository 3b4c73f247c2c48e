"""Files whose whole content stands at the beginning of another one: their rows go, and so does their part of the sums.

``series`` and ``observed`` sum up files that are never read again in rows without a source. What a
superseded file added to such a row is taken back by a row of negative count, which sums cancel.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pyarrow as pa

from workbench.store.known import SUPERSEDED
from workbench.store.layout import FIXED, SAMPLES_LONG, WIDE_KEYS, empty_fixed, is_wide
from workbench.store.manifest import Snapshot
from workbench.store.tables import read_fixed

__all__ = ["Superseded"]

_COUNTS = (
    "records", "rows", "skipped", "rejected", "curable", "hostless", "samples", "repeated", "absent", "entities",
)  # fmt: skip
_KEY = ["table", "entity", "metric"]


class Superseded:
    """Takes account of the rows of superseded files as they are stripped.

    Parameters
    ----------
    base : Snapshot
    reasons : mapping of source to reason
    """

    def __init__(self, base: Snapshot, reasons: Mapping[str, str]) -> None:
        self._reasons = reasons
        self._base = base
        self._files = empty_fixed("files")
        self._series: list[pl.DataFrame] = []
        self._observed: list[pl.DataFrame] = []
        if reasons:
            files = read_fixed(base, "files")
            self._files = files.filter(pl.col("source").is_in(list(reasons)))
        # Those that have rows of their own in the sums are stripped with them.
        summed = pl.col("context").fill_null("{}") == "{}"
        plain = self._files.filter(summed & (pl.col("curable") == 0) & (pl.col("hostless") == 0))
        self._readers = dict(plain.select("source", "reader").iter_rows())

    def take(self, table: str, rows: pa.Table) -> None:
        """Note rows that go."""
        if not self._readers or (table not in (SAMPLES_LONG, "events", "jobs") and not is_wide(table)):
            return
        frame = pl.DataFrame(pl.from_arrow(rows)).filter(pl.col("source").is_in(list(self._readers)))
        if frame.is_empty():
            return
        if table == "jobs":
            times = frame.unpivot(["submitted", "start", "end"], index="source", value_name="ts").drop_nulls("ts")
            frame = times.with_columns(entity=pl.lit("cluster"))
            jobs = rows.num_rows
            self._observe("jobs", frame, pl.lit(jobs, pl.Int64))
            return
        self._observe(table, frame, pl.struct("ts").n_unique() if table == SAMPLES_LONG else pl.len())
        if table == "events":
            return
        if table == SAMPLES_LONG:
            self._series.append(
                self._counted(frame.with_columns(table=pl.lit(table)), [*_KEY, "labels", "unit", "kind"])
            )
            return
        metrics = read_fixed(self._base, "metrics").filter(pl.col("table") == table)
        told = metrics.unique("column").select("column", "metric", "unit", "kind")
        values = [name for name in frame.columns if name not in WIDE_KEYS]
        long = frame.select("entity", "ts", *(pl.col(name).is_not_null() for name in values)).unpivot(
            values, index=["entity", "ts"], variable_name="column", value_name="there"
        )
        named = (
            long.filter("there")
            .join(told, on="column")
            .with_columns(table=pl.lit(table), labels=pl.lit(None, pl.String))
        )
        self._series.append(self._counted(named, [*_KEY, "labels", "unit", "kind"]))

    @staticmethod
    def _counted(frame: pl.DataFrame, by: list[str]) -> pl.DataFrame:
        counted = frame.group_by(by).agg(
            pl.col("ts").min().alias("first"),
            pl.col("ts").max().alias("last"),
            (-pl.len().cast(pl.Int64)).alias("count"),
        )
        nothing = {"interval_s": pl.lit(None, pl.Float64), "source": pl.lit(None, pl.String)}
        return counted.with_columns(**nothing).select(list(FIXED["series"])).cast(FIXED["series"])

    def _observe(self, what: str, frame: pl.DataFrame, count: pl.Expr) -> None:
        readers = pl.DataFrame({"source": list(self._readers), "reader": list(self._readers.values())})
        summed = frame.join(readers, on="source").group_by("entity", "reader").agg(
            pl.col("ts").min().alias("start"), pl.col("ts").max().alias("end"), (-count.cast(pl.Int64)).alias("count")
        )  # fmt: skip
        nothing = {"interval_s": pl.lit(None, pl.Float64), "source": pl.lit(None, pl.String), "what": pl.lit(what)}
        self._observed.append(summed.with_columns(**nothing).select(list(FIXED["observed"])).cast(FIXED["observed"]))

    def series(self) -> pl.DataFrame:
        """Give the rows that take back what the files added to series."""
        if not self._series:
            return empty_fixed("series")
        rows = pl.concat(self._series)
        summed = rows.group_by([*_KEY, "labels", "unit", "kind", "interval_s", "source"]).agg(
            pl.col("first").min(), pl.col("last").max(), pl.col("count").sum()
        )
        there = read_fixed(self._base, "series").filter(pl.col("source").is_null()).sort("count", descending=True)
        labels = there.unique(_KEY, keep="first").select(*_KEY, pl.col("labels").alias("told"))
        named = summed.join(labels, on=_KEY, how="left").with_columns(
            pl.coalesce("labels", "told", pl.lit("{}")).alias("labels")
        )
        return named.select(list(FIXED["series"])).sort("table", "metric", "entity", "labels")

    def observed(self) -> pl.DataFrame:
        """Give the rows that take back what the files added to the stretches of observation."""
        return pl.concat([empty_fixed("observed"), *self._observed])

    def files(self, batch: int) -> pl.DataFrame:
        """Give what the store keeps of the files: that it knows them, and why it holds no rows of them."""
        why = pl.col("source").replace_strict(dict(self._reasons), default=None, return_dtype=pl.String)
        return self._files.with_columns(
            why.alias("reason"), pl.lit(SUPERSEDED).alias("status"), pl.lit(batch, pl.Int64).alias("batch"),
            pl.lit("{}").alias("skips"), pl.lit("{}").alias("reasons"),
            *(pl.lit(0, pl.Int64).alias(name) for name in _COUNTS),
        )  # fmt: skip
