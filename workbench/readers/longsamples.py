"""A table with one row for each sample."""

from __future__ import annotations

import polars as pl

from workbench.model import frames
from workbench.readers.cells import clean_text, parse_numbers
from workbench.readers.tablestate import TableState
from workbench.readers.who import Who
from workbench.readers.widesamples import BARE, counted, dense, labelled

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
    layout, stated = state.layout, state.context.columns
    code, keys = labelled(frame, who, layout.rest)
    numbers = parse_numbers(_cells(frame, layout.roles["value"]), decimal_comma=state.decimal_comma)
    rows = pl.DataFrame(
        {
            "@key": code,
            "ts": ts.cast(frames.TS),
            "value": numbers.value,
            "value_int": numbers.exact,
            "reason": numbers.reason,
            "cell_unit": numbers.unit,
            "metric": clean_text(_cells(frame, layout.roles["metric"])),
            "unit": clean_text(_cells(frame, layout.roles.get("unit"))),
            "kind": clean_text(_cells(frame, layout.roles.get("kind"))).str.to_lowercase(),
        }
    )
    metric = pl.col("metric")
    united = metric.is_in(list(state.cell_units)) & pl.col("cell_unit").is_null() & pl.col("unit").is_null()
    bare = united & (pl.col("value") != 0)
    rows = rows.with_columns(
        unit=pl.coalesce(
            "cell_unit", "unit", metric.replace_strict(dict(stated.units), default=None, return_dtype=pl.String)
        ),
        kind=pl.coalesce(
            metric.replace_strict(dict(stated.kinds), default=None, return_dtype=pl.String),
            pl.when(pl.col("kind").is_in(_KINDS)).then("kind"),
        ),
        value=pl.when(~bare.fill_null(value=False)).then("value"),
        reason=pl.when(bare).then(pl.lit(BARE)).otherwise("reason"),
    )
    lost = rows.select(pl.when(metric.is_null()).then(pl.lit("row names no metric"))).to_series()
    named = rows.filter(metric.is_not_null())
    return _tables(named, keys), lost


def _cells(frame: pl.DataFrame, role: str | None) -> pl.Series:
    """Give the cells of a column or constant; nulls where there is neither."""
    if role is None or role.startswith("="):
        return pl.repeat(role[1:] if role else None, frame.height, dtype=pl.String, eager=True)
    return frame[role]


def _tables(named: pl.DataFrame, keys: pl.DataFrame) -> dict[str, pl.DataFrame]:
    on = ["@key", "metric", "unit", "kind"]
    present = named.filter(pl.col("value").is_not_null())
    distinct = present.select(on).unique(maintain_order=True).with_row_index("series")
    samples = present.join(distinct, on=on, how="left", nulls_equal=True, maintain_order="left")
    described = keys.with_row_index("@key").drop("bad", "cure")
    series = distinct.join(described, on="@key", how="left", maintain_order="left")
    return {
        **dense(
            series.select(*frames.SERIES).cast(frames.SERIES),
            samples.select(*frames.SAMPLES).cast(frames.SAMPLES),
        ),
        "absent": counted(named["metric"], named["reason"]),
    }
