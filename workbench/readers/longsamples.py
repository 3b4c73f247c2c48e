"""A table with one row for each sample."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from workbench.model import frames
from workbench.readers.cells import Numbers, clean_text, parse_numbers, with_whole
from workbench.readers.habits import NOT_STATED, Habit, strictly
from workbench.readers.tablestate import TableState
from workbench.readers.who import Who
from workbench.readers.widesamples import WITHOUT_UNIT, counted, labelled, with_unit

__all__ = ["long_samples"]

_KINDS = ("gauge", "counter", "histogram", "summary", "info")


def long_samples(
    frame: pl.DataFrame, ts: pl.Series, who: Who, state: TableState
) -> tuple[dict[str, pl.DataFrame], pl.Series]:
    """Give ``series``, ``samples`` and ``absent``, and why a row is none (null where it is one).

    Parameters
    ----------
    frame : polars.DataFrame
        The rows that have a time and a place.
    ts : (row,) Int64
        UTC microseconds.
    who : Who
    state : TableState
    """
    layout = state.layout
    code, keys = labelled(frame, who, layout.rest)
    given = {role: frame[name] for role in _NAMED if (name := layout.column(role))}
    raw = pl.DataFrame({"@key": code, **given})
    distinct = raw.unique(maintain_order=True).with_row_index("@raw")
    named = _described(distinct, state)
    code_of = raw.join(distinct, on=raw.columns, how="left", nulls_equal=True, maintain_order="left")["@raw"]
    numbers = _numbers(_cells(frame, layout.roles["value"]), named, code_of, state)
    rows = pl.DataFrame(
        {
            "@raw": code_of,
            "ts": ts.cast(frames.TS),
            "value": numbers.value,
            "value_int": numbers.exact,
            "reason": numbers.reason,
            "cell_unit": numbers.unit,
        }
    )
    return _accounted(rows, named, keys)


def _habits(metrics: pl.Series, state: TableState) -> pl.DataFrame:
    """Give ``decimal``, ``doubtful`` and ``base`` of the habit of each metric."""
    habits = [state.habits.get(name, Habit()) if name is not None else Habit() for name in metrics.to_list()]
    schema = {"decimal": pl.Boolean(), "doubtful": pl.Boolean(), "base": pl.String()}
    return pl.DataFrame([(habit.decimal, habit.doubtful, habit.unit) for habit in habits], schema=schema, orient="row")


def _numbers(cells: pl.Series, named: pl.DataFrame, code: pl.Series, state: TableState) -> Numbers:
    """Read the cells, each by the habit of its metric.

    Parameters
    ----------
    cells : (row,) as written
    named : polars.DataFrame
        Of :func:`_described`.
    code : (row,) UInt32
        Which of them a row has.
    state : TableState
    """
    numbers = parse_numbers(cells, decimal_comma=state.decimal_comma)
    numbers = with_whole(numbers) if state.sparse else numbers
    if numbers.odd:
        numbers, flags = strictly(
            numbers,
            cells,
            decimal=named["decimal"].gather(code),
            doubtful=named["doubtful"].gather(code),
            decimal_comma=state.decimal_comma,
        )
        if flags is not None:
            state.tally.thousands(cells, flags)
    if numbers.value.null_count():
        state.tally.unreadable(cells, numbers.reason)
    zeroed = pl.col("unit").is_null() & pl.col("base").is_in(WITHOUT_UNIT)
    base = named.select(pl.when(zeroed).then("base")).to_series()
    if base.null_count() < base.len():
        zero = ((numbers.value == 0) & numbers.unit.is_null()).fill_null(value=False)
        unit = pl.select(pl.when(zero).then(base.gather(code)).otherwise(numbers.unit)).to_series()
        numbers = replace(numbers, unit=unit)
    _count_units(numbers, named, code, state)
    return numbers


def _count_units(numbers: Numbers, named: pl.DataFrame, code: pl.Series, state: TableState) -> None:
    """Count, by metric, the numbers that state a unit and those that do not."""
    open_ = named["unit"].is_null() & named["metric"].is_not_null()
    rows = pl.DataFrame({"code": code, "unit": numbers.unit}).filter(numbers.value.is_not_null())
    told = rows.group_by("code", maintain_order=True).agg(
        united=pl.col("unit").count(), bare=pl.col("unit").null_count(), unit=pl.col("unit").drop_nulls().first()
    )
    told = told.filter(open_.gather(told["code"]))
    metrics = named["metric"].gather(told["code"]).to_list()
    for metric, united, bare, unit in zip(metrics, told["united"], told["bare"], told["unit"], strict=True):
        state.tally.units(metric, united=united, bare=bare, unit=unit)


def _accounted(
    rows: pl.DataFrame, named: pl.DataFrame, keys: pl.DataFrame
) -> tuple[dict[str, pl.DataFrame], pl.Series]:
    """Part the rows that are samples from those that name no metric, and count the cells without a number."""
    none = pl.repeat(None, rows.height, dtype=pl.String, eager=True)
    if not named["metric"].null_count() and rows["reason"].null_count() == rows.height:
        return {**_tables(rows, named, keys), "absent": frames.empty(frames.ABSENT)}, none
    metric = named["metric"].gather(rows["@raw"])
    kept = metric.is_not_null()
    lost = none.set(~kept, "row names no metric")
    tables = _tables(rows.filter(kept), named, keys)
    return {**tables, "absent": counted(metric.filter(kept), rows["reason"].filter(kept))}, lost


_NAMED = ("metric", "unit", "kind")


def _described(distinct: pl.DataFrame, state: TableState) -> pl.DataFrame:
    """Give metric, unit and kind of each distinct way to name a series, as stated or written."""
    layout, stated = state.layout, state.context.columns
    none = pl.repeat(None, distinct.height, dtype=pl.String, eager=True)
    told = {role: clean_text(distinct[role]) if role in distinct.columns else none for role in _NAMED}
    constant = {role: pl.lit(layout.constant(role), pl.String) for role in _NAMED}
    metric = pl.col("metric")
    named = (
        pl.DataFrame({"@raw": distinct["@raw"], "@key": distinct["@key"], **told})
        .with_columns(pl.coalesce(role, constant[role]).alias(role) for role in _NAMED)
        .with_columns(kind=pl.col("kind").str.to_lowercase())
        .with_columns(
            unit=pl.coalesce("unit", metric.replace_strict(dict(stated.units), default=None, return_dtype=pl.String)),
            kind=pl.coalesce(
                metric.replace_strict(dict(stated.kinds), default=None, return_dtype=pl.String),
                pl.when(pl.col("kind").is_in(_KINDS)).then("kind"),
            ),
        )
    )
    return named.hstack(_habits(named["metric"], state))


def _cells(frame: pl.DataFrame, role: str) -> pl.Series:
    """Give the cells of a column or constant."""
    if role.startswith("="):
        return pl.repeat(role[1:], frame.height, dtype=pl.String, eager=True)
    return frame[role]


def _tables(rows: pl.DataFrame, named: pl.DataFrame, keys: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Number the series: those of one name, place, labels and unit are one, however they were written."""
    present = rows.filter(pl.col("value").is_not_null()) if rows["value"].null_count() else rows
    if present["cell_unit"].null_count() == present.height:
        met = pl.DataFrame({"@raw": present["@raw"].unique(maintain_order=True)}).with_columns(
            cell_unit=pl.lit(None, pl.String)
        )
    else:
        met = present.select("@raw", "cell_unit").unique(maintain_order=True)
    on = ["@key", "metric", "unit", "kind", "apart"]
    full = met.join(named, on="@raw", how="left", maintain_order="left").with_columns(
        unit=pl.coalesce("cell_unit", "unit"), apart=_apart()
    )
    series = full.select(on).unique(maintain_order=True).with_row_index("series")
    codes = full.join(series, on=on, how="left", nulls_equal=True, maintain_order="left").select(
        "@raw", "cell_unit", "series"
    )
    if present["cell_unit"].null_count() == present.height:
        place = pl.Series([0], dtype=pl.UInt32).new_from_index(0, named.height)
        place[codes["@raw"]] = codes["series"]
        numbered = present.with_columns(place.gather(present["@raw"]).alias("series"))
    else:
        numbered = present.join(codes, on=["@raw", "cell_unit"], how="left", nulls_equal=True, maintain_order="left")
    described = series.join(
        keys.with_row_index("@key").drop("bad", "cure"), on="@key", how="left", maintain_order="left"
    )
    if described["apart"].null_count() < described.height:
        pairs = zip(described["labels"].to_list(), described["apart"].to_list(), strict=True)
        labels = [text if unit is None else with_unit(text, unit) for text, unit in pairs]
        described = described.with_columns(labels=pl.Series(labels, dtype=pl.String))
    return {
        "samples": numbered.select(*frames.SAMPLES).cast(frames.SAMPLES),
        "series": described.select(*frames.SERIES).cast(frames.SERIES),
    }


def _apart() -> pl.Expr:
    """Give the label that keeps cells of another unit than most apart; as :meth:`Habit.apart`."""
    united, usual = pl.col("cell_unit").is_not_null(), pl.col("base").is_not_null()
    return (
        pl.when(pl.col("unit").is_not_null())
        .then(pl.lit(None, pl.String))
        .when(~united & usual)
        .then(pl.lit(NOT_STATED))
        .when(united & ~usual & pl.col("decimal"))
        .then("cell_unit")
    )
