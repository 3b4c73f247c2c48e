"""How a column writes its numbers, and which of its cells that makes doubtful.

A cell alone does not say whether ``1,234`` has a comma of thousands or of decimals, or whether
``0x1F`` belongs among decimal numbers: the first cells of its column do.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from workbench.readers.cells import Numbers, parse_numbers

__all__ = ["AMBIGUOUS", "HEXADECIMAL", "NOT_STATED", "THOUSANDS", "Habit", "habit_of", "strictly"]

AMBIGUOUS = "ambiguous: thousands or decimal comma"
HEXADECIMAL = "hexadecimal in a column of decimal numbers"
#: Flag of a number whose marks were taken to part thousands, where they could be decimal.
THOUSANDS = "thousands"
#: Value of the label ``unit`` of numbers without a unit, in a column whose cells have one.
NOT_STATED = "not stated"
#: A mark with other than three digits behind it, or more than three before it: it parts decimals.
_DECIMAL_FOR_SURE = r"^[+-]?(?:\d+{0}\d{{1,2}}|\d+{0}\d{{4,}}|\d{{4,}}{0}\d+|0\d*{0}\d+)(?:[^\d.,].*)?$"


@dataclass(frozen=True, kw_only=True)
class Habit:
    """How the first cells of a column are written, which says how to take its later ones.

    Attributes
    ----------
    unit : str or None
        Base unit of the cells that have one.
    decimal : bool
        Some are plain decimal numbers: then ``0x1F`` is not of them.
    doubtful : bool
        Some have the mark of thousands where only decimals can be: then ``1,234`` is open.
    """

    unit: str | None = None
    decimal: bool = False
    doubtful: bool = False

    def apart(self, unit: str | None) -> str | None:
        """Give the label that keeps cells with ``unit`` (None: without one) apart from the others of the column.

        Examples
        --------
        >>> Habit(unit="W").apart(None), Habit(unit="W").apart("W"), Habit(decimal=True).apart("W")
        ('not stated', None, 'W')
        """
        if unit is None:
            return NOT_STATED if self.unit is not None else None
        return unit if self.unit is None and self.decimal else None


def habit_of(cells: pl.Series, *, decimal_comma: bool) -> Habit:
    """Tell how cells are written.

    Examples
    --------
    >>> habit_of(pl.Series(["1,5", "0x1F", "11 W"]), decimal_comma=False)
    Habit(unit='W', decimal=True, doubtful=True)
    """
    numbers = parse_numbers(cells, decimal_comma=decimal_comma)
    units = numbers.unit.drop_nulls()
    unit = str(units[0]) if units.len() else None
    if cells.dtype != pl.String:
        return Habit(unit=unit, decimal=True)
    text = cells.str.strip_chars().drop_nulls()
    decimal = text.str.contains(r"^[+-]?[.,]?\d") & ~text.str.contains(r"^[+-]?0[xX]") & (text != "0")
    return Habit(
        unit=unit,
        decimal=bool(decimal.any()),
        doubtful=bool(text.str.contains(_DECIMAL_FOR_SURE.format(_mark(decimal_comma))).any()),
    )


def strictly(
    numbers: Numbers, cells: pl.Series, *, decimal: pl.Series, doubtful: pl.Series, decimal_comma: bool
) -> tuple[Numbers, pl.Series | None]:
    """Take back what the habit of its column makes doubtful.

    Parameters
    ----------
    numbers : Numbers
        Of :func:`parse_numbers`.
    cells : (row,) as written
    decimal, doubtful : (row,) Boolean
        The :class:`Habit` of the column of each cell; of length 1 where they are of one column.
    decimal_comma : bool

    Returns
    -------
    Numbers
    (row,) String or None
        ``THOUSANDS`` where a number was taken so that could be a decimal; None: there is none.

    Examples
    --------
    >>> cells, yes = pl.Series(["0x1F", "1,234", "7"]), pl.Series([True])
    >>> found, _ = strictly(parse_numbers(cells), cells, decimal=yes, doubtful=yes, decimal_comma=False)
    >>> found.value.to_list(), found.reason[1]
    ([None, None, 7.0], 'ambiguous: thousands or decimal comma')
    """
    if not numbers.odd or cells.dtype != pl.String:
        return numbers, None
    text, mark = cells.str.strip_chars(), _mark(decimal_comma)
    known = numbers.value.is_not_null()
    hexed = text.str.contains(r"^[+-]?0[xX]") & known & decimal
    group = text.str.contains(rf"^[+-]?[1-9]\d{{0,2}}{mark}\d{{3}}(?:[^\d.,].*)?$")
    sure = text.str.contains(_DECIMAL_FOR_SURE.format(mark)) & ~known
    ambiguous = ((group & known) | sure) & doubtful
    bad = pl.DataFrame({"hexed": hexed, "ambiguous": ambiguous, "group": group & known & ~doubtful}).fill_null(False)
    if not bad.select(pl.any_horizontal(pl.all().any())).item():
        return numbers, None
    why = bad.select(pl.when("hexed").then(pl.lit(HEXADECIMAL)).when("ambiguous").then(pl.lit(AMBIGUOUS))).to_series()
    gone = why.is_not_null()
    told = Numbers(
        value=numbers.value.set(gone, None),
        exact=numbers.exact.set(gone, None),
        reason=pl.select(why.fill_null(numbers.reason)).to_series(),
        unit=numbers.unit.set(gone, None),
        odd=True,
    )
    return told, bad.select(pl.when("group").then(pl.lit(THOUSANDS))).to_series()


def _mark(decimal_comma: bool) -> str:
    """Give the mark that parts thousands."""
    return r"\." if decimal_comma else ","
