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
    samples, absent, lost = [], [], []
    for column, name in metrics.items():
        cells = parted(name, rows[column])
        lost.append(cells.with_row_index("row").filter("lost").select("row", text="why"))
        numbers = with_whole(parse_numbers(cells["number"]))
        told = rows.select("ts", *_KEY).with_columns(
            metric=pl.lit(name),
            unit=cells["unit"].fill_null(pl.lit((units or {}).get(column), pl.String)),
            kind=pl.when(cells["state"]).then(pl.lit("state")),
            value=numbers.value,
            value_int=numbers.exact,
            reason=pl.select(pl.coalesce(cells["why"], numbers.reason)).to_series(),
        )
        good = told["value"].is_not_null()
        samples.append(told.filter(good))
        gone = told.filter(~good).group_by("metric", "reason", maintain_order=True).agg(count=pl.len().cast(pl.Int64))
        absent.append(gone.select("metric", "reason", "count"))
    series, numbered = _series(pl.concat(samples) if samples else None)
    return Observed(
        series=series,
        samples=numbered,
        absent=pl.concat([frames.empty(frames.ABSENT), *absent]),
        lost=pl.concat([pl.DataFrame(schema={"row": pl.UInt32, "text": pl.String}), *lost]).unique("row", maintain_order=True),
    )  # fmt: skip


def _series(told: pl.DataFrame | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    if told is None or told.is_empty():
        return frames.empty(frames.SERIES), frames.empty(frames.SAMPLES)
    key = ["metric", *_KEY, "unit", "kind"]
    series = told.select(key).unique(maintain_order=True).with_row_index("series")
    joined = told.join(series, on=key, how="left", nulls_equal=True, maintain_order="left")
    samples = joined.select(pl.col(name).cast(kind) for name, kind in frames.SAMPLES.items())
    return series.select(pl.col(name).cast(kind) for name, kind in frames.SERIES.items()), samples


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
