"""Columns of cells that nvidia-smi or dcgmi print, turned into samples by the column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from workbench.model import frames
from workbench.model.context import Context
from workbench.readers.cells import parse_numbers, with_whole
from workbench.readers.gpu_cells import reading_of
from workbench.readers.told import TAKEN_AT_MISSING

__all__ = ["INTERVAL_MISSING", "Observed", "Ticks", "observed", "parted"]

INTERVAL_MISSING = (
    "the dump holds several samples and no time: state interval_s, the seconds between them, in a mapping (--map)"
)
_KEY = ("host", "device_kind", "device", "labels")
_PARTED = pl.Schema(
    {"cell": pl.String(), "number": pl.String(), "unit": pl.String(), "why": pl.String(), "state": pl.Boolean(), "lost": pl.Boolean()}
)  # fmt: skip


def parted(name: str, cells: pl.Series) -> pl.DataFrame:
    """Part a column of cells: ``number`` without ``unit``, or ``why`` there is none; each distinct text once.

    Parameters
    ----------
    name : str
        Of the metric; words mean other codes in some.
    cells : (row,) String

    Returns
    -------
    polars.DataFrame
        ``number``, ``unit``, ``why``, ``state``, ``lost``, row by row.

    Examples
    --------
    >>> parted("power.draw", pl.Series(["611 W", "[N/A]", "Not Active"])).select("number", "unit", "why").rows()
    [('611', 'W', None), (None, None, '[N/A]'), ('0', None, None)]
    """
    rows = []
    for cell in cells.unique().drop_nulls().to_list():
        found = reading_of(name, cell)
        number = None if found.number is None else str(found.number)
        why = found.absent if number is None and found.absent else None if number else "not a number"
        rows.append((cell, number, found.unit, why, found.state, found.lost))
    known = pl.DataFrame(rows, schema=_PARTED, orient="row")
    told = pl.DataFrame({"cell": cells}).join(known, on="cell", how="left", maintain_order="left")
    return told.drop("cell").with_columns(
        pl.col("why").fill_null(pl.when(pl.col("number").is_null()).then(pl.lit("empty")))
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Observed:
    """Samples of a table, in the shapes of :mod:`workbench.model.frames`.

    Attributes
    ----------
    series, samples, absent : polars.DataFrame
    lost : polars.DataFrame
        ``row`` and ``text`` of the rows in which some cell says that the GPU does not answer.
    """

    series: pl.DataFrame
    samples: pl.DataFrame
    absent: pl.DataFrame
    lost: pl.DataFrame


def observed(rows: pl.DataFrame, metrics: Mapping[str, str], units: Mapping[str, str] | None = None) -> Observed:
    """Turn columns into samples.

    Parameters
    ----------
    rows : polars.DataFrame
        ``ts`` (Int64, UTC microseconds), ``host``, ``device_kind``, ``device``, ``labels`` and the
        columns of cells.
    metrics : mapping of column to name of the metric
    units : mapping of column to unit, optional
        Of cells that carry none.

    Examples
    --------
    >>> rows = pl.DataFrame({"ts": [0, 1], "host": "n1", "device_kind": "gpu", "device": ["0", "1"], "labels": "{}", "c": ["5 W", "-"]})
    >>> found = observed(rows, {"c": "power.draw"})
    >>> found.series.select("series", "metric", "device", "unit").rows(), found.samples["value"].to_list(), found.absent.rows()
    ([(0, 'power.draw', '0', 'W')], [5.0], [('power.draw', '-', 1)])
    """
    keys = rows.select(_KEY).unique(maintain_order=True)
    numbered = keys.with_row_index("@key")
    key = rows.select(_KEY).join(numbered, on=list(_KEY), how="left", nulls_equal=True, maintain_order="left")["@key"]
    samples: list[pl.DataFrame] = []
    series: list[pl.DataFrame] = []
    absent, lost = [], []
    for column, name in metrics.items():
        cells = _read(name, rows[column], (units or {}).get(column))
        lost.append(cells.with_row_index("row").filter("lost").select("row", text="why"))
        told = cells.select("value", "value_int", "reason", "variant").with_columns(ts=rows["ts"], key=key)
        if told["value"].null_count():
            gone = told.filter(pl.col("value").is_null()).group_by("reason", maintain_order=True)
            counts = gone.agg(count=pl.len().cast(pl.Int64))
            absent.append(counts.select(pl.lit(name).alias("metric"), "reason", "count"))
            told = told.filter(pl.col("value").is_not_null())
        samples.append(told.drop("reason").with_columns(column=pl.lit(len(series), pl.UInt32)))
        met = told.select("key", "variant").unique(maintain_order=True)
        kinds = cells.select("variant", "unit", "kind").unique("variant", maintain_order=True)
        met = met.join(kinds, on="variant", how="left", maintain_order="left")
        series.append(met.with_columns(column=pl.lit(len(series), pl.UInt32), metric=pl.lit(name)))
    found, placed = _series(samples, series, keys)
    return Observed(
        series=found,
        samples=placed,
        absent=pl.concat([frames.empty(frames.ABSENT), *absent]),
        lost=pl.concat([pl.DataFrame(schema={"row": pl.UInt32, "text": pl.String}), *lost]).unique("row", maintain_order=True),
    )  # fmt: skip


def _read(name: str, cells: pl.Series, unit: str | None) -> pl.DataFrame:
    """Give ``value``, ``value_int``, ``reason``, ``unit``, ``kind``, ``why``, ``lost``, and which ``variant`` of unit and kind."""
    distinct = cells.unique(maintain_order=True)
    known = parted(name, distinct)
    numbers = with_whole(parse_numbers(known["number"]))
    known = known.select(
        "why",
        "lost",
        cell=distinct,
        unit=pl.col("unit").fill_null(pl.lit(unit, pl.String)),
        kind=pl.when("state").then(pl.lit("state")),
        value=numbers.value,
        value_int=numbers.exact,
        reason=pl.select(pl.coalesce(known["why"], numbers.reason)).to_series(),
    )
    variants = known.select("unit", "kind").unique(maintain_order=True).with_row_index("variant")
    known = known.join(variants, on=["unit", "kind"], how="left", nulls_equal=True, maintain_order="left")
    rows = pl.DataFrame({"cell": cells})
    return rows.join(known, on="cell", how="left", nulls_equal=True, maintain_order="left").drop("cell")


def _series(
    samples: list[pl.DataFrame], series: list[pl.DataFrame], keys: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Number the series as they are met; two columns may be one."""
    if not sum(part.height for part in samples):
        return frames.empty(frames.SERIES), frames.empty(frames.SAMPLES)
    met = pl.concat(series)
    met = met.hstack(keys[met["key"]])
    key = ["metric", *_KEY, "unit", "kind"]
    distinct = met.select(key).unique(maintain_order=True).with_row_index("series")
    codes = met.join(distinct, on=key, how="left", nulls_equal=True, maintain_order="left")
    parts = []
    for place, part in enumerate(samples):
        mine = codes.filter(pl.col("column") == place).select("key", "variant", "series")
        on = ["key", "variant"] if mine["key"].n_unique() < mine.height else ["key"]
        joined = part.join(
            mine.drop([name for name in ("variant",) if name not in on]), on=on, how="left", maintain_order="left"
        )
        parts.append(joined.select(pl.col(name).cast(kind) for name, kind in frames.SAMPLES.items()))
    return distinct.select(pl.col(name).cast(kind) for name, kind in frames.SERIES.items()), pl.concat(parts)


@dataclass(eq=False)
class Ticks:
    """Times of rows that carry none: a device that comes again begins the next sample, an interval later.

    Examples
    --------
    >>> ticks = Ticks(Context(taken_at_us=0, interval_s=2))
    >>> ticks.times(pl.DataFrame({"device": ["0", "1", "0"]}), ["device"])["ts"].to_list()
    [0, 0, 2000000]
    >>> Ticks(Context(taken_at_us=0)).times(pl.DataFrame({"device": ["0", "0"]}), ["device"])["curable"].to_list()
    [None, 'interval']
    """

    context: Context
    _now: int = 0
    _seen: set[tuple[object, ...]] = field(default_factory=set)

    def times(self, rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
        """Give ``ts`` (Int64; null where not known), ``reason`` and ``curable``, row by row.

        Parameters
        ----------
        rows : polars.DataFrame
            In the order of the file.
        key : sequence of str
            Columns that tell devices apart.
        """
        ticks = []
        for device in rows.select(key).iter_rows():
            if device in self._seen:
                self._now += 1
                self._seen.clear()
            self._seen.add(device)
            ticks.append(self._now)
        start, step = self.context.taken_at_us, self.context.interval_s
        step_us = None if step is None else round(step * 1e6)
        later = pl.when(pl.col("tick") == 0).then(0).otherwise(pl.col("tick") * pl.lit(step_us, pl.Int64))
        why, cure = (TAKEN_AT_MISSING, "taken_at") if start is None else (INTERVAL_MISSING, "interval")
        told = pl.DataFrame({"tick": ticks}, schema={"tick": pl.Int64}).select(ts=pl.lit(start, pl.Int64) + later)
        return told.with_columns(
            reason=pl.when(pl.col("ts").is_null()).then(pl.lit(why)),
            curable=pl.when(pl.col("ts").is_null()).then(pl.lit(cure)),
        )
