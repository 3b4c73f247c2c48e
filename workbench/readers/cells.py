"""Cells of a column turned into numbers: what is missing and why, units, thousands, exact integers.

Missing is not zero: a cell without a number is null and carries its reason. Sentinels are tested
as integers before anything becomes a float, which could not tell them apart. ``Inf`` is a value, as
in Prometheus, and kept; what is merely too large for a double is not ``Inf``, and is none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from workbench.readers.units import Unit, unit_of

__all__ = [
    "MISSING",
    "NOT_NUMBER",
    "OTHER_UNIT",
    "TOO_LARGE",
    "Numbers",
    "clean_text",
    "parse_numbers",
    "with_whole",
]

NOT_NUMBER = "not a number"
OTHER_UNIT = "unit not known, or of another kind than the column's"
TOO_LARGE = "beyond the range of a double"

#: Marks that stand where a value should be, in lower case.
MISSING = frozenset(
    {"n/a", "n.a.", "#n/a", "na", "ns", "-", "--", "---", "null", "nil", "none", "unknown", "undefined", "missing"}
    | {"[n/a]", "(null)", "<unknown>", "bad input", "not supported", "no data", "unknown error", "gpu is lost"}
    | {"bad quality", "[not supported]", "[no data]", "[unknown error]", "[gpu is lost]"}
    | {"[requested functionality has been deprecated]", "requested functionality has been deprecated"}
)
_INT64_BLANK = (9223372036854775792, 9223372036854775799)
_INT32_BLANK = (2147483632, 2147483635)
_FP64_BLANK = (140737488355328.0, 140737488355335.0)
_NO_READING = -999.0
_MANTISSA = r"^([+-]?(?:\d[\d.,' \u00a0\u202f]*|[.,]\d+)(?:[eE][+-]?\d+)?)"


@dataclass(frozen=True, eq=False, kw_only=True)
class Numbers:
    """A column of numbers, as long as the column of cells.

    Attributes
    ----------
    value : (row,) Float64
        Null where the cell holds no number.
    exact : (row,) Int64
        The integer that was written, exactly; null where it was none, or lies outside 64 bits.
    reason : (row,) String
        Why there is no number; null where there is one.
    unit : (row,) String
        Base unit that a cell with a unit was turned into; null where the cell had none.
    odd : bool
        Whether any cell was more than plain digits or missing.
    """

    value: pl.Series
    exact: pl.Series
    reason: pl.Series
    unit: pl.Series
    odd: bool = False


def clean_text(cells: pl.Series) -> pl.Series:
    """Give cells as trimmed text, null where they are empty or a missing mark.

    Examples
    --------
    >>> clean_text(pl.Series([" a", "", "N/A", None])).to_list()
    ['a', None, None, None]
    """
    if cells.dtype != pl.String:
        if cells.dtype.is_nested() or cells.dtype == pl.Binary:
            return pl.Series(cells.name, [None] * len(cells), dtype=pl.String)
        if cells.dtype.is_float() and bool((cells == cells.floor()).all()):
            cells = cells.cast(pl.Int64, strict=False)  # 3.0 is how an index looks beside a missing one
        return cells.cast(pl.String)
    text = cells.str.strip_chars()
    gone = (text == "") | text.str.to_lowercase().is_in(sorted(MISSING))
    return text.set(gone.fill_null(value=True), None)


def parse_numbers(cells: pl.Series, *, decimal_comma: bool = False, target: Unit | None = None) -> Numbers:
    """Read a column of cells as numbers.

    Parameters
    ----------
    cells : (row,) any type
        Text, or typed values of JSON and Parquet.
    decimal_comma : bool
        ``1.234,5`` is written for 1234.5.
    target : Unit, optional
        Unit of the column: cells with a unit of its dimension are turned into it. None: into the
        base unit of their own dimension.

    Returns
    -------
    Numbers

    Examples
    --------
    >>> found = parse_numbers(pl.Series(["611 W", "1.2 kW", "[N/A]", "1,234", "NaN", "18446744073709551615"]))
    >>> found.value.to_list(), found.unit.to_list()
    ([611.0, 1200.0, None, 1234.0, None, 1.8446744073709552e+19], ['W', 'W', None, None, None, None])
    >>> found.exact.to_list(), found.reason.to_list()
    ([611, None, None, 1234, None, None], [None, None, '[N/A]', None, 'NaN', None])
    """
    if cells.dtype == pl.String:
        text = cells.str.strip_chars()
        value, exact = text.cast(pl.Float64, strict=False), text.cast(pl.Int64, strict=False)
        if decimal_comma and bool(text.str.contains(".", literal=True).any()):
            # 12.345 is 12345 here: the plain reading is taken back and goes the long way.
            dotted = text.str.contains(".", literal=True).fill_null(value=False)
            value, exact = value.set(dotted, None), exact.set(dotted, None)
    else:
        text = pl.Series([None], dtype=pl.String).new_from_index(0, len(cells))
        value, exact = _typed(cells)
        if _is_plain(value):
            return Numbers(value=value, exact=exact, reason=text, unit=text)
    frame = pl.DataFrame({"text": text, "value": value, "exact": exact})
    frame = frame.with_columns(reason=pl.lit(None, pl.String), unit=pl.lit(None, pl.String))
    odd = value.null_count() > cells.null_count() or (cells.dtype == pl.String and value.null_count() > 0)
    if odd:
        frame = _long_way(frame, decimal_comma, target)
    return replace(_told(_without_sentinels(frame, whole=cells.dtype.is_integer()), cells), odd=odd)


def with_whole(numbers: Numbers) -> Numbers:
    """Take whole numbers as integers however they were written: in JSON, 26 and 26.0 are one number.

    Examples
    --------
    >>> with_whole(parse_numbers(pl.Series([26.0, 0.5, 2.0**60]))).exact.to_list()
    [26, None, None]
    """
    value = numbers.value
    whole = numbers.exact.is_null() & (value == value.floor()) & (value.abs() <= 2.0**53)
    if not whole.any():
        return numbers
    exact = pl.select(pl.when(whole).then(value.cast(pl.Int64, strict=False)).otherwise(numbers.exact)).to_series()
    return replace(numbers, exact=exact)


def _typed(cells: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Give value and exact integer of typed cells; both null where the type holds no number."""
    if cells.dtype.is_integer() or cells.dtype == pl.Boolean:
        return cells.cast(pl.Float64), cells.cast(pl.Int64, strict=False)
    if cells.dtype.is_float():
        return cells.cast(pl.Float64), cells.clear(len(cells)).cast(pl.Int64)
    if cells.dtype.is_decimal():
        whole = cells.cast(pl.Int64, strict=False)
        return cells.cast(pl.Float64), whole.set((whole.cast(cells.dtype, strict=False) != cells).fill_null(True), None)
    empty = pl.DataFrame({"v": [None] * len(cells)}, schema={"v": pl.Float64()}).to_series()
    return empty, empty.cast(pl.Int64)


def _is_plain(value: pl.Series) -> bool:
    """Tell whether all are numbers and none is as large as a sentinel."""
    if not value.len() or value.null_count() or value.is_nan().any():
        return False
    low, high = value.min(), value.max()
    return isinstance(low, float) and isinstance(high, float) and low > _NO_READING and high < _INT32_BLANK[0]


def _long_way(frame: pl.DataFrame, decimal_comma: bool, target: Unit | None) -> pl.DataFrame:
    """Read what is no plain number: marks, units, thousands, hexadecimal; each distinct text once."""
    odd = frame.filter(pl.col("value").is_null()).select(pl.col("text").fill_null("").unique())
    if odd.height == 1 and odd.item() == "":
        return frame  # empty cells only, which have their reason in the end
    parsed = _parse_odd(odd, decimal_comma, target)
    rows = frame.with_columns(pl.col("text").fill_null("")).join(
        parsed, on="text", how="left", maintain_order="left", suffix="_odd"
    )
    plain = pl.col("value").is_not_null()
    return rows.select(
        "text",
        pl.col("value").fill_null(pl.col("value_odd")),
        pl.when(plain).then("exact").otherwise("exact_odd").alias("exact"),
        pl.when(plain).then(None).otherwise("reason_odd").alias("reason"),
        pl.when(plain).then(None).otherwise("unit_odd").alias("unit"),
    )


def _parse_odd(odd: pl.DataFrame, decimal_comma: bool, target: Unit | None) -> pl.DataFrame:
    text = pl.col("text")
    low = text.str.to_lowercase()
    parts = odd.with_columns(
        number=_plain_number(text.str.extract(_MANTISSA).str.strip_chars(), decimal_comma),
        suffix=text.str.replace(_MANTISSA, "").str.strip_chars(),
        mark=low.is_in(sorted(MISSING)),
        hexadecimal=low.str.extract(r"^0x([0-9a-f]{1,16})$").str.to_integer(base=16, strict=False, dtype=pl.Int64),
    )
    parts = parts.join(_conversions(parts["suffix"].unique().to_list(), target), on="suffix", how="left")
    number, whole = pl.col("number").cast(pl.Float64, strict=False), pl.col("number").cast(pl.Int64, strict=False)
    scaled = number * pl.col("factor") + pl.col("offset")
    fits = pl.col("whole_factor").is_not_null() & (scaled.abs() < 9e18)
    is_hex, found = pl.col("hexadecimal").is_not_null(), number.is_not_null() & pl.col("factor").is_not_null()
    return parts.select(
        "text",
        value=pl.when("mark")
        .then(None)
        .when(is_hex)
        .then(pl.col("hexadecimal").cast(pl.Float64))
        .when(found)
        .then(scaled),
        exact=pl.when("mark")
        .then(None)
        .when(is_hex)
        .then("hexadecimal")
        .when(found & fits)
        .then(whole * pl.col("whole_factor")),
        unit=pl.when(~pl.col("mark") & found & ~is_hex).then("to"),
        reason=pl.when(text == "")
        .then(pl.lit("empty"))
        .when("mark")
        .then(text)
        .when(is_hex | found)
        .then(None)
        .when(number.is_not_null() & pl.col("suffix").str.contains(r"^[A-Za-zµμ°%Ω/]{1,8}$"))
        .then(pl.lit(OTHER_UNIT))
        .otherwise(pl.lit(NOT_NUMBER)),
    )


def _plain_number(text: pl.Expr, decimal_comma: bool) -> pl.Expr:
    """Rewrite a number with thousands and decimal marks as a cast reads it; null where it is ambiguous."""
    point, comma = (",", r"\.") if decimal_comma else (r"\.", ",")
    groups = rf"^[+-]?\d{{1,3}}(?:(?:{comma}\d{{3}})+|(?:[' \x{{a0}}\x{{202f}}]\d{{3}})+)(?:{point}\d*)?$"
    bare = rf"^[+-]?(?:\d+(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?$"
    # A point in a table with decimal commas that cannot part thousands is a decimal point after all.
    stray = r"^[+-]?(?:\d+\.\d{0,2}|\d+\.\d{4,}|\d{4,}\.\d+|0\d*\.\d+)$" if decimal_comma else r"^$^"
    mark = "," if decimal_comma else "."
    marks = r"[.' \x{a0}\x{202f}]" if decimal_comma else r"[,' \x{a0}\x{202f}]"
    return (
        pl.when(text.str.contains(groups))
        .then(text.str.replace_all(marks, "").str.replace(mark, ".", literal=True))
        .when(text.str.contains(bare))
        .then(text.str.replace(mark, ".", literal=True))
        .when(text.str.contains(stray))
        .then(text)
        .otherwise(None)
    )


def _conversions(suffixes: list[str], target: Unit | None) -> pl.DataFrame:
    """Give factor and offset from each written unit to the column's; null where there is no way."""
    rows: list[tuple[str, float, float, int | None, str | None]] = []
    for suffix in suffixes:
        unit = unit_of(suffix) if suffix else None
        if not suffix:
            rows.append((suffix, 1.0, 0.0, 1, None))
        elif unit is not None and (target is None or target.base == unit.base):
            goal = target or Unit(name=unit.base, base=unit.base)
            factor, offset = unit.factor / goal.factor, (unit.offset - goal.offset) / goal.factor
            whole = int(factor) if factor == int(factor) and offset == 0 else None
            rows.append((suffix, factor, offset, whole, goal.name))
    schema = {
        "suffix": pl.String(),
        "factor": pl.Float64(),
        "offset": pl.Float64(),
        "whole_factor": pl.Int64(),
        "to": pl.String(),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _without_sentinels(frame: pl.DataFrame, *, whole: bool) -> pl.DataFrame:
    """Null what DCGM and BMCs write for "blank", with the reason; 2^63 written out is a count."""
    value, exact = pl.col("value"), pl.col("exact")
    low, high = frame["value"].min(), frame["value"].max()
    if not isinstance(high, float) or not isinstance(low, float) or (high < _INT32_BLANK[0] and low > _NO_READING):
        return frame
    written = pl.lit(value=whole) | pl.col("text").str.contains(r"^\+?\d+$").fill_null(value=False)
    blank = (
        exact.is_between(*_INT64_BLANK)
        | exact.is_between(*_INT32_BLANK)
        | (exact.is_null() & (value == 2.0**63) & ~written)
        | value.is_between(*_FP64_BLANK)
        | (value == _NO_READING)
    ).fill_null(value=False)
    if not bool(frame.select(blank.any()).item()):
        return frame
    name = pl.lit("sentinel ") + pl.coalesce(exact.cast(pl.String), value.cast(pl.String))
    return frame.with_columns(
        value=pl.when(~blank).then(value),
        exact=pl.when(~blank).then(exact),
        unit=pl.when(~blank).then("unit"),
        reason=pl.when(blank).then(name).otherwise("reason"),
    )


def _told(frame: pl.DataFrame, cells: pl.Series) -> Numbers:
    """Null what is NaN or too large, and give every null a reason."""
    value = pl.col("value")
    overflown = value.is_infinite() & pl.col("text").str.contains(r"\d")
    number = cells.dtype.is_numeric() or cells.dtype in {pl.Boolean, pl.Null}
    otherwise = pl.lit("empty" if number or cells.dtype == pl.String else NOT_NUMBER)
    frame = frame.with_columns(
        reason=pl.when(value.is_nan())
        .then(pl.lit("NaN"))
        .when(overflown)
        .then(pl.lit(TOO_LARGE))
        .when(value.is_null())
        .then(pl.coalesce("reason", otherwise)),
    ).with_columns(value=pl.when(pl.col("reason").is_null()).then(value))
    return Numbers(value=frame["value"], exact=frame["exact"], reason=frame["reason"], unit=frame["unit"])
