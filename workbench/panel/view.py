"""A table together with the query that gives it: what is seen can be pasted and run again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from workbench.timebase import from_us

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["View", "as_list", "as_moment", "as_name", "as_text", "look"]


@dataclass(frozen=True, eq=False, kw_only=True)
class View:
    """A table and the whole query behind it.

    Attributes
    ----------
    name : str
        What is shown, such as ``events``.
    sql : str
        Complete DuckDB query, literals and all: ``store.sql(view.sql)`` gives ``frame`` again.
    frame : polars.DataFrame
    note : str
        What a reader must know: sampled, cut, empty and why. "" where nothing is to be said.
    """

    name: str
    sql: str
    frame: pl.DataFrame
    note: str = ""

    @property
    def code(self) -> str:
        """Python that gives the same table."""
        return f"store.sql({self.sql!r})"

    def table(self) -> pl.DataFrame:
        """Give the table."""
        return self.frame


def look(store: Store, name: str, sql: str, note: str = "") -> View:
    """Run a query as the user would."""
    return View(name=name, sql=sql, frame=store.sql(sql), note=note)


def as_text(value: str) -> str:
    """Write text as an SQL literal; quotes inside are doubled.

    Examples
    --------
    >>> as_text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def as_name(value: str) -> str:
    """Write a name of a table or column in SQL.

    Examples
    --------
    >>> as_name('odd"name')
    '"odd""name"'
    """
    return '"' + value.replace('"', '""') + '"'


def as_list(values: Iterable[str]) -> str:
    """Write texts as an SQL list.

    Examples
    --------
    >>> as_list(["a", "b"])
    "['a', 'b']"
    """
    return "[" + ", ".join(as_text(value) for value in values) + "]"


def as_moment(ts_us: int) -> str:
    """Write UTC microseconds as an SQL literal that reads as a time.

    Examples
    --------
    >>> as_moment(1_500_000)
    "TIMESTAMPTZ '1970-01-01 00:00:01.500000+00'"
    """
    return f"TIMESTAMPTZ '{from_us(ts_us):%Y-%m-%d %H:%M:%S.%f}+00'"
