"""A table with one column for each metric, as samples."""

from __future__ import annotations

from dataclasses import replace

import orjson
import polars as pl

from workbench.model import frames
from workbench.readers.cells import Numbers, clean_text, parse_numbers, with_whole
from workbench.readers.habits import Habit, strictly
from workbench.readers.labelcolumn import LEFT
from workbench.readers.metriccolumns import MetricColumn, label_text
from workbench.readers.tablestate import TableState
from workbench.readers.units import Unit, unit_of
from workbench.readers.who import Who

__all__ = ["WITHOUT_UNIT", "Gathered", "column_numbers", "counted", "labelled", "wide_samples", "with_unit"]

#: Base units in which 0 is 0, so that a zero needs no unit.
WITHOUT_UNIT = ("W", "B", "Hz", "V", "A", "J", "s", "%", "B/s", "b/s", "rpm", "Pa", "L/min", "VA")


def wide_samples(frame: pl.DataFrame, ts: pl.Series, who: Who, state: TableState) -> dict[str, pl.DataFrame]:
    """Give ``series``, ``samples`` and ``absent``.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows that have a time and a place.
    ts : (row,) Int64
        UTC microseconds.
    who : Who
    state : TableState
    """
    code, keys = labelled(frame, who, state.layout.rest)
    gathered = Gathered(code, keys, ts, state)
    for column in state.layout.metrics:
        cells = frame[column.column]
        gathered.add(column, column_numbers(cells, column, state), cells)
    return gathered.tables()


class Gathered:
    """Samples of one row range, gathered column by column; series are numbered as they come.

    Parameters
    ----------
    code : (row,) UInt32
        Row of ``keys`` for each row.
    keys : polars.DataFrame
        Of :func:`labelled`; each is that of some row.
    ts : (row,) Int64
        UTC microseconds.
    state : TableState
    """

    def __init__(self, code: pl.Series, keys: pl.DataFrame, ts: pl.Series, state: TableState) -> None:
        self._code, self._keys, self._state = code.cast(pl.UInt32), keys, state
        self._ts = ts.cast(frames.TS)
        self._all = self._code.unique().sort()
        self._samples, self._series = [frames.empty(frames.SAMPLES)], [frames.empty(frames.SERIES)]
        self._absent: list[pl.DataFrame] = []
        self._count = 0

    def add(self, column: MetricColumn, numbers: Numbers, cells: pl.Series | None = None) -> None:
        """Add the numbers of a column; ``cells`` tell which of them stand for a cell (None: all)."""
        value, unit = numbers.value, numbers.unit
        if not value.null_count() and unit.null_count() == unit.len():
            self._put(column, None, (self._code, self._ts, value, numbers.exact), self._all)
            return
        told = pl.DataFrame(
            {"series": self._code, "ts": self._ts, "value": value, "value_int": numbers.exact, "unit": unit}
        )
        if value.null_count():
            sparse = self._state.sparse and cells is not None and cells.null_count()
            reason = numbers.reason.set(cells.is_null(), None) if sparse and cells is not None else numbers.reason
            self._absent.append(counted(pl.repeat(column.metric, value.len(), eager=True), reason))
            told = told.filter(pl.col("value").is_not_null())
        for name, part in _by_unit(told):
            picked = (part["series"], part["ts"], part["value"], part["value_int"])
            self._put(column, name, picked, part["series"].unique().sort())

    def _put(self, column: MetricColumn, unit: str | None, picked: tuple[pl.Series, ...], present: pl.Series) -> None:
        if not present.len():
            return
        code, ts, value, exact = picked
        keys = self._keys
        if present.len() < keys.height:
            keys, code = keys[present], present.search_sorted(code).cast(pl.UInt32)
        numbered = code + self._count if self._count else code
        self._samples.append(
            pl.DataFrame([numbered.alias("series"), ts.alias("ts"), value.alias("value"), exact.alias("value_int")])
        )
        made = _series(keys, column, unit or column.unit, self._count)
        apart = None if column.unit else self._state.habits.get(column.column, Habit()).apart(unit)
        if apart is not None:
            labels = [with_unit(text, apart) for text in made["labels"].to_list()]
            made = made.with_columns(labels=pl.Series(labels, dtype=pl.String))
        self._series.append(made)
        self._count += present.len()

    def tables(self) -> dict[str, pl.DataFrame]:
        """Give ``series``, ``samples`` and ``absent``."""
        return {"series": pl.concat(self._series), "samples": pl.concat(self._samples), "absent": _summed(self._absent)}


def column_numbers(cells: pl.Series, column: MetricColumn, state: TableState) -> Numbers:
    """Read the cells of a column by its unit and its habit, and count what is odd."""
    declared = unit_of(column.unit) if column.unit else None
    if column.unit and declared is None:  # a unit of the user's own: cells with another are not understood
        declared = Unit(name=column.unit, base=column.unit)
    habit = state.habits.get(column.column, Habit())
    base = habit.unit
    target = declared or (Unit(name=base, base=base) if base else None)
    numbers = parse_numbers(cells, decimal_comma=state.decimal_comma, target=target)
    numbers = with_whole(numbers) if state.sparse else numbers
    numbers, flags = strictly(
        numbers,
        cells,
        decimal=pl.Series([habit.decimal]),
        doubtful=pl.Series([habit.doubtful]),
        decimal_comma=state.decimal_comma,
    )
    if flags is not None:
        state.tally.thousands(cells, flags)
    if numbers.value.null_count():
        state.tally.unreadable(cells, numbers.reason)
    if declared is not None:
        return numbers
    if base in WITHOUT_UNIT:
        zero = (numbers.value == 0).fill_null(value=False) & numbers.unit.is_null()
        numbers = replace(numbers, unit=numbers.unit.set(zero, base))
    units = numbers.unit.drop_nulls()
    bare = numbers.value.len() - numbers.value.null_count() - units.len()
    state.tally.units(column.metric, united=units.len(), bare=bare, unit=units[0] if units.len() else None)
    return numbers


def _by_unit(told: pl.DataFrame) -> list[tuple[str | None, pl.DataFrame]]:
    if told["unit"].null_count() == told.height:
        return [(None, told)]
    parts = told.partition_by("unit", as_dict=True, maintain_order=True)
    return [(None if key[0] is None else str(key[0]), part) for key, part in parts.items()]


def _series(keys: pl.DataFrame, column: MetricColumn, unit: str | None, offset: int) -> pl.DataFrame:
    """Describe the series of one column; what the name says of the device stands where the row says nothing."""
    whole = pl.col("device").is_null() & (pl.col("device_kind") == "host")
    named = column.device is not None
    index = pl.lit(label_text({"index": column.device or ""}))
    return keys.select(
        series=pl.int_range(offset, offset + pl.len(), dtype=pl.UInt32),
        metric=pl.lit(column.metric),
        host=pl.lit(None, pl.String) if column.free else pl.coalesce(pl.lit(column.host, pl.String), "host"),
        device_kind=pl.when(whole & pl.lit(named)).then(pl.lit(column.device_kind)).otherwise("device_kind"),
        device=pl.when(whole & pl.lit(named)).then(pl.lit(column.device)).otherwise("device"),
        labels=pl.when(pl.col("labels") != "{}").then("labels").when(~whole & pl.lit(named)).then(index)
        .otherwise(pl.lit(column.labels)),
        unit=pl.lit(unit, pl.String),
        kind=pl.lit(column.kind, pl.String),
    )  # fmt: skip


def with_unit(labels: str, unit: str) -> str:
    """Add the label ``unit``, which keeps numbers of another unit, or of none, a series of their own.

    Examples
    --------
    >>> with_unit("{}", "W"), with_unit('{"z":"1"}', "W")
    ('{"unit":"W"}', '{"unit":"W","z":"1"}')
    """
    return label_text({"unit": unit, **orjson.loads(labels)})


def labelled(frame: pl.DataFrame, who: Who, labels: tuple[str, ...]) -> tuple[pl.Series, pl.DataFrame]:
    """Give a key for each row, and what each key stands for: host, device and labels.

    Parameters
    ----------
    frame : polars.DataFrame
    who : Who
    labels : tuple of str
        Columns that are labels.
    """
    if not labels:
        return who.code, who.table.with_columns(labels=pl.lit("{}"))
    columns = [clean_text(frame[name]).alias(f"@{number}") for number, name in enumerate(labels)]
    rows = pl.DataFrame([who.code.alias("@code"), *columns])
    keys = rows.unique(maintain_order=True).with_row_index("@key")
    on = rows.columns
    code = rows.join(keys, on=on, how="left", nulls_equal=True, maintain_order="left")["@key"]
    texts = [label_text(_named(labels, row)) for row in keys.drop("@key", "@code").iter_rows()]
    return code, who.table[keys["@code"]].with_columns(pl.Series("labels", texts, dtype=pl.String))


def _named(labels: tuple[str, ...], row: tuple[str | None, ...]) -> dict[str, str]:
    told = {name: value for name, value in zip(labels, row, strict=True) if value is not None}
    return {**orjson.loads(told.pop(LEFT, "{}")), **told}


def counted(metric: pl.Series, reason: pl.Series) -> pl.DataFrame:
    """Count the cells without a number by metric and reason.

    Examples
    --------
    >>> counted(pl.Series(["a", "a", "b"]), pl.Series(["NaN", None, "-"])).rows()
    [('a', 'NaN', 1), ('b', '-', 1)]
    """
    told = pl.DataFrame({"metric": metric, "reason": reason}).filter(pl.col("reason").is_not_null())
    return told.group_by("metric", "reason", maintain_order=True).agg(pl.len().cast(pl.Int64).alias("count"))


def _summed(parts: list[pl.DataFrame]) -> pl.DataFrame:
    if not parts:
        return frames.empty(frames.ABSENT)
    return pl.concat(parts).group_by("metric", "reason", maintain_order=True).agg(pl.col("count").sum())
