"""Points of Telegraf and Influx: a measurement, tags, several fields, one time.

A field is a metric, called ``measurement_field`` as Telegraf's own Prometheus output calls it, and
``measurement`` alone where the field is called ``value``, ``gauge`` or ``counter``. One record
holds many samples: it is a row as soon as one of them is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.exposition_lines import Parsed
from workbench.readers.exposition_series import LabelledSeries, with_values
from workbench.readers.text import rejected, skipped
from workbench.readers.timecells import Clocks, TimeRule, read_times
from workbench.readers.told import TAKEN_AT_MISSING

__all__ = ["NO_VALUE", "TEXT", "Point", "Points", "metric_name", "parsed_points"]

#: Stands for a field that holds text: no number.
TEXT = '""'
#: Stands for a field that is said to have no value.
NO_VALUE = "''"
_NO_NUMBER = {TEXT: "text", NO_VALUE: "no recorded value"}
_CONFLICT = "same series and time as an earlier point, with other values"
_MIXED = "{count} fields conflict with an earlier point of the same series and time: the first holds"
_BARE = ("value", "gauge", "counter")
_SEED = 13


def metric_name(measurement: str, field: str) -> str:
    """Give the metric of a field.

    Examples
    --------
    >>> metric_name("nvidia_smi", "power_draw"), metric_name("up", "gauge")
    ('nvidia_smi_power_draw', 'up')
    """
    return measurement if field in _BARE else f"{measurement}_{field}"


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point: fields as text (``TEXT`` for strings), and its time as written (None: no time).

    Several points of one ``line`` are one record. ``kind`` and ``unit`` are those of all fields.
    """

    line: int
    measurement: str
    tags: Mapping[str, str]
    fields: Mapping[str, str]
    stamp: str | None
    text: str
    kind: str | None = None
    unit: str | None = None


def parsed_points(points: Iterable[Point]) -> Parsed:
    """Lay points out as samples, one a field.

    Examples
    --------
    >>> point = Point(line=1, measurement="m", tags={"host": "a"}, fields={"f": "1"}, stamp="5", text="")
    >>> parsed_points([point]).names["metric"].to_list()
    ['m_f']
    """
    samples: list[tuple[int, str, str, str | None, str]] = []
    names: dict[str, tuple[str, str, int, str | None, str | None]] = {}
    labels: list[tuple[str, str, str]] = []
    for point in points:
        head = f"{point.measurement}\0{sorted(point.tags.items())!r}\0"
        for field, value in point.fields.items():
            key = head + field
            if key not in names:
                metric = metric_name(point.measurement, field)
                kind = point.kind or (field if field in _BARE[1:] else None)
                names[key] = (key, metric, point.line, kind, point.unit)
                labels.extend((key, label, told) for label, told in point.tags.items())
            samples.append((point.line, key, value, point.stamp, point.text))
    text = pl.String()
    return Parsed(
        samples=_hashed(samples, {"line": pl.Int64(), "id": text, "value": text, "stamp": text, "text": text}),
        names=_hashed(
            list(names.values()), {"id": text, "metric": text, "first": pl.Int64(), "kind": text, "unit": text}
        ),
        labels=_hashed(labels, {"id": text, "label": text, "value": text}),
        rejects=rejected(pl.DataFrame(schema={"line": pl.Int64, "text": pl.String}), ""),
    )


def _hashed(rows: Sequence[tuple[int | str | None, ...]], schema: dict[str, Any]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(pl.col("id").hash(_SEED))


class Points:
    """What is known of the points of a file from block to block."""

    def __init__(self, context: Context) -> None:
        self.series = LabelledSeries(host=context.host)
        self._taken_at_us = context.taken_at_us
        self._clocks = Clocks(rule=TimeRule.of(context))

    def batch(self, parsed: Parsed, counts: Mapping[str, int], rejects: Iterable[pl.DataFrame] = ()) -> Batch:
        """Make a batch of points, and of the lines that the reader skipped or refused."""
        who = self.series.identified(parsed)
        rows = with_values(parsed.samples, who)
        none = rows["written"].replace_strict(_NO_NUMBER, default=None, return_dtype=pl.String)
        rows = rows.with_columns(absent=none.fill_null(rows["absent"]), wrong=pl.col("wrong") & none.is_null())
        rows, odd = self._timed(rows)
        fresh = self.series.verdict(rows)
        new, kept, again, conflicts = self._fates(rows, fresh)
        skips = skipped({**counts, "duplicate": again})
        refused = pl.concat([parsed.rejects, *rejects, odd, conflicts]).sort("line")
        return Batch(
            records=kept + int(skips["count"].sum()) + refused.height,
            rows=kept,
            skips=skips,
            rejects=refused,
            notes=(),
            **self.series.tables(who, new),
        )

    def _fates(self, rows: pl.DataFrame, fresh: pl.Series) -> tuple[pl.DataFrame, int, int, pl.DataFrame]:
        """Give the new samples, how many records are rows or came before, and the rejects of those that clash."""
        if fresh.null_count() == rows.height:
            return rows, rows["line"].n_unique(), 0, rejected(rows.clear(), "")
        fate = (
            rows.select("line", "text", fresh=fresh)
            .group_by("line", maintain_order=True)
            .agg(
                pl.col("text").first(),
                new=pl.col("fresh").is_null().any(),
                conflict=pl.col("fresh").eq("conflict").any(),
            )
        )
        kept, lost = fate.filter("new"), fate.filter(~pl.col("new"))
        mixed_up = (fresh == "conflict").fill_null(value=False) & rows["line"].is_in(kept["line"].implode())
        self.series.count(_MIXED, mixed_up)
        again = int((~lost["conflict"]).sum())
        return rows.filter(fresh.is_null()), kept.height, again, rejected(lost.filter("conflict"), _CONFLICT)

    def end(self) -> Batch:
        """Tell what the user should know."""
        return Batch(records=0, rows=0, notes=self.series.told())

    def _timed(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Add ``ts``; take out the records that have none, or a field that is no value."""
        if rows["stamp"].null_count() == rows.height:
            none = pl.lit(None, pl.String)
            times = rows.select(ts=pl.lit(None, pl.Int64), reason=none, curable=none)
        else:
            stamps = rows["stamp"].unique()
            told = read_times(stamps, self._clocks).select("ts", "reason", "curable", stamps.alias("stamp"))
            times = rows.select("stamp").join(told, on="stamp", how="left", nulls_equal=True, maintain_order="left")
        bare = rows["stamp"].is_null()
        taken = pl.lit(self._taken_at_us, pl.Int64)
        missing = pl.lit(TAKEN_AT_MISSING if self._taken_at_us is None else None, pl.String)
        value = pl.concat_str(pl.lit("field is no value: "), pl.col("written").str.slice(0, 40))
        told = rows.with_columns(
            ts=pl.when(bare).then(taken).otherwise(times["ts"]),
            reason=pl.when("wrong").then(value).when(bare).then(missing).otherwise(times["reason"]),
            curable=pl.when(bare & ~pl.col("wrong")).then(pl.lit("taken_at")).otherwise(times["curable"]),
        )
        bad = told.filter(pl.col("reason").is_not_null()).unique("line", keep="first", maintain_order=True)
        if bad.is_empty():
            return told, rejected(bad, "")
        odd = rejected(bad, pl.col("reason")).with_columns(curable=bad["curable"])
        return told.filter(~pl.col("line").is_in(bad["line"].implode())), odd
