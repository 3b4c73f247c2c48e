"""What a step has written, summed up as it is written: series, stretches of observation, repeats."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.model.frames import TS
from workbench.store.columns import Column
from workbench.store.layout import FIXED
from workbench.store.plan import Plan
from workbench.store.seen import Runs, join_intervals, runs_of, stretches
from workbench.store.wide import LongSamples, Numbers, Wide

__all__ = ["Tally"]

_UTC = pl.Datetime("us")


class Tally:
    """Sums up what is written.

    Parameters
    ----------
    plan : Plan

    Attributes
    ----------
    repeated, strays : counter of source
        Samples that only repeat another one; samples that a wide row could not hold.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.repeated: Counter[str] = Counter()
        self.strays: Counter[str] = Counter()
        self._series: list[pl.DataFrame] = []
        self._names = pl.Series(dtype=pl.String)
        self._observed: list[pl.DataFrame] = []
        origins = [(item.owner, item.reader) for item in plan.items]
        self._origins = list(dict.fromkeys(origins))
        self._origin = np.array([self._origins.index(origin) for origin in origins], np.int64)

    def wide(self, table: str, columns: Sequence[Column], rows: Wide, samples: LongSamples) -> None:
        """Take the rows of one block of a wide table, and the samples that they are made of."""
        self.repeated.update(self._by_source(samples.source[rows.repeated]))
        if not rows.ts.size:
            return
        group = rows.entity.astype(np.int64) * len(self._origins) + self._origin[rows.source]
        order = None if (np.diff(group) >= 0).all() else np.lexsort((rows.ts, group))
        ts = rows.ts if order is None else rows.ts[order]
        group = group if order is None else group[order]
        self._observed.append(self._observation(stretches(group, ts), table))
        every = runs_of(group, ts)
        for column, (_, valid) in zip(columns, rows.columns, strict=True):
            if valid.all():
                runs = every
            elif not valid.any():
                continue
            else:
                mine = valid if order is None else valid[order]
                runs = runs_of(group[mine], ts[mine])
            self._series.append(self._of_runs(runs, table, column))

    def _observation(self, runs: Runs, what: str) -> pl.DataFrame:
        return self._frame(runs).select(
            "entity", pl.lit(what).alias("what"), "reader", pl.col("first").alias("start"), pl.col("last").alias("end"),
            "interval_s", "count", "source",
        )  # fmt: skip

    def _of_runs(self, runs: Runs, table: str, column: Column) -> pl.DataFrame:
        metric = column.metric
        facts = {"table": table, "metric": metric.id, "labels": "{}", "unit": metric.unit, "kind": metric.kind}
        return (
            self._frame(runs)
            .with_columns(pl.lit(text).alias(name) for name, text in facts.items())
            .select(list(FIXED["series"]))
        )

    def _frame(self, runs: Runs) -> pl.DataFrame:
        entity, origin = np.divmod(runs.group, len(self._origins))
        owners = pl.Series([owner for owner, _ in self._origins], dtype=pl.String)
        readers = pl.Series([reader for _, reader in self._origins], dtype=pl.String)
        return pl.DataFrame(
            {
                "entity": self._ids().gather(pl.Series(entity)),
                "first": _stamps(runs.first_us), "last": _stamps(runs.last_us), "count": runs.count,
                "interval_s": pl.Series(runs.interval_s).fill_nan(None),
                "source": owners.gather(pl.Series(origin)), "reader": readers.gather(pl.Series(origin)),
            }
        )  # fmt: skip

    def _ids(self) -> pl.Series:
        _, ids = self._plan.ranked()
        if self._names.len() != len(ids):
            self._names = pl.Series(ids, dtype=pl.String)
        return self._names

    def long(self, frame: pl.DataFrame, source: Numbers, *, stray: bool) -> None:
        """Take rows of the long table."""
        if stray:
            self.strays.update(self._by_source(source))
        owners = pl.Series([self._origins[o][0] for o in self._origin], dtype=pl.String)
        readers = pl.Series([self._origins[o][1] for o in self._origin], dtype=pl.String)
        number = pl.Series(source)
        named = frame.with_columns(owners.gather(number).alias("source"), readers.gather(number).alias("reader"))
        step = pl.col("ts").sort().diff().dt.total_microseconds()
        by = ["entity", "metric", "labels", "unit", "kind", "source"]
        series = named.group_by(by).agg(
            pl.col("ts").min().alias("first"), pl.col("ts").max().alias("last"), pl.len().cast(pl.Int64).alias("count"),
            (step.filter(step > 0).median() / 1e6).alias("interval_s"),
        )  # fmt: skip
        self._series.append(series.with_columns(table=pl.lit("samples_long")).select(list(FIXED["series"])))
        if not stray:
            looked = named.select("entity", "reader", "source", "ts").unique().sort("entity", "reader", "source", "ts")
            runs = looked.group_by("entity", "reader", "source", maintain_order=True).agg(
                pl.col("ts").min().alias("start"), pl.col("ts").max().alias("end"),
                (step.filter(step > 0).median() / 1e6).alias("interval_s"), pl.len().cast(pl.Int64).alias("count"),
            )  # fmt: skip
            self._observed.append(runs.with_columns(what=pl.lit("samples_long")).select(list(FIXED["observed"])))

    def _by_source(self, source: Numbers) -> dict[str, int]:
        numbers, counts = np.unique(source, return_counts=True)
        return {self._plan.items[n].source: c for n, c in zip(numbers.tolist(), counts.tolist(), strict=True)}

    def series(self) -> pl.DataFrame:
        """Give one row per series (and file, where files may be replaced)."""
        schema = FIXED["series"]
        if not self._series:
            return pl.DataFrame(schema=schema)
        by = ["table", "entity", "metric", "labels", "unit", "kind", "source"]
        summed = (
            pl.concat(self._series)
            .group_by(by)
            .agg(pl.col("first").min(), pl.col("last").max(), pl.col("count").sum(), pl.col("interval_s").median())
        )
        told = _extra_labels(self._plan)
        if not told.is_empty():
            by = ["table", "entity", "metric", "source"]
            more = pl.when(pl.col("labels") == "{}").then(pl.col("extra")).otherwise(None)
            summed = summed.join(told, on=by, how="left", nulls_equal=True).with_columns(
                labels=pl.coalesce(more, "labels")
            )
        return summed.select(list(schema)).sort("table", "metric", "entity", "labels", "source", nulls_last=True)

    def observed(self, more: Sequence[pl.DataFrame] = ()) -> pl.DataFrame:
        """Give the stretches of observation, joined across blocks."""
        schema = FIXED["observed"]
        pieces = pl.concat([pl.DataFrame(schema=schema), *self._observed, *more])
        return join_intervals(pieces, ["entity", "what", "reader", "source"])


def _extra_labels(plan: Plan) -> pl.DataFrame:
    """Give the labels of series that lie wide; those that changed in a series as lists."""
    texts: dict[tuple[str, str, str, str | None], set[str]] = {}
    for item, lookup in zip(plan.items, plan.lookups, strict=True):
        words = list(item.stage.labels)
        for (who, name), numbers in item.stage.extra_labels.items():
            column = plan.placements[lookup.column[name]].column
            key = (column.table, plan.entities[lookup.entity[who]].entity, column.metric.id, item.owner)
            texts.setdefault(key, set()).update(words[number] for number in numbers)
    rows = [(*key, _one_object(found)) for key, found in texts.items()]
    schema = dict.fromkeys(("table", "entity", "metric", "source", "extra"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _one_object(texts: set[str]) -> str:
    if len(texts) == 1:
        return next(iter(texts))
    values: dict[str, set[str]] = {}
    for text in texts:
        for name, value in json.loads(text).items():
            values.setdefault(name, set()).add(str(value))
    merged = {name: next(iter(found)) if len(found) == 1 else sorted(found) for name, found in sorted(values.items())}
    return json.dumps(merged, ensure_ascii=False, separators=(",", ":"))


def _stamps(us: NDArray[np.int64]) -> pl.Series:
    return pl.Series(us).cast(_UTC).dt.replace_time_zone("UTC").cast(TS)
