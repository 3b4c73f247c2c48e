"""A table with one row for each sample."""

from __future__ import annotations

import polars as pl

from workbench.model import frames
from workbench.readers.cells import clean_text, parse_numbers, with_whole
from workbench.readers.tablestate import TableState
from workbench.readers.who import Who
from workbench.readers.widesamples import BARE, counted, labelled

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
    numbers = parse_numbers(_cells(frame, layout.roles["value"]), decimal_comma=state.decimal_comma)
    numbers = with_whole(numbers) if state.sparse else numbers
    given = {role: frame[name] for role in _NAMED if (name := layout.column(role))}
    raw = pl.DataFrame({"@key": code, **given})
    distinct = raw.unique(maintain_order=True).with_row_index("@raw")
    named = _described(distinct, state)
    on = raw.columns
    rows = pl.DataFrame(
        {
            "@raw": raw.join(distinct, on=on, how="left", nulls_equal=True, maintain_order="left")["@raw"],
            "ts": ts.cast(frames.TS),
            "value": numbers.value,
            "value_int": numbers.exact,
            "reason": numbers.reason,
            "cell_unit": numbers.unit,
        }
    )
    return _accounted(rows, named, keys)


def _accounted(
    rows: pl.DataFrame, named: pl.DataFrame, keys: pl.DataFrame
) -> tuple[dict[str, pl.DataFrame], pl.Series]:
    """Part the rows that are samples from those that name no metric, and count the cells without a number."""
    none = pl.repeat(None, rows.height, dtype=pl.String, eager=True)
    united = bool(named["united"].any())
    if not united and not named["metric"].null_count() and rows["reason"].null_count() == rows.height:
        return {**_tables(rows, named, keys), "absent": frames.empty(frames.ABSENT)}, none
    if united:
        bare = (
            named["united"].gather(rows["@raw"])
            & rows["cell_unit"].is_null()
            & (rows["value"] != 0).fill_null(value=False)
        )
        rows = rows.with_columns(
            value=pl.when(~bare).then("value"), reason=pl.when(bare).then(pl.lit(BARE)).otherwise("reason")
        )
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
    return (
        pl.DataFrame({"@raw": distinct["@raw"], "@key": distinct["@key"], **told})
        .with_columns(pl.coalesce(role, constant[role]).alias(role) for role in _NAMED)
        .with_columns(kind=pl.col("kind").str.to_lowercase())
        .with_columns(
            united=(metric.is_in(list(state.cell_units)) & pl.col("unit").is_null()).fill_null(value=False),
            unit=pl.coalesce("unit", metric.replace_strict(dict(stated.units), default=None, return_dtype=pl.String)),
            kind=pl.coalesce(
                metric.replace_strict(dict(stated.kinds), default=None, return_dtype=pl.String),
                pl.when(pl.col("kind").is_in(_KINDS)).then("kind"),
            ),
        )
    )


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
    on = ["@key", "metric", "unit", "kind"]
    full = met.join(named.drop("united"), on="@raw", how="left", maintain_order="left").with_columns(
        unit=pl.coalesce("cell_unit", "unit")
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
    return {
        "samples": numbered.select(*frames.SAMPLES).cast(frames.SAMPLES),
        "series": described.select(*frames.SERIES).cast(frames.SERIES),
    }
