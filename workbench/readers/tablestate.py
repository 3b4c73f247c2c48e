"""What is known of a table from block to block, and what became of some of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.columns import Layout
from workbench.readers.habits import Habit
from workbench.readers.jobrows import Attempts
from workbench.readers.tally import Tally
from workbench.readers.text import skipped
from workbench.readers.timecells import Clocks, TimeRule

__all__ = ["Part", "TableState", "batch_of", "refused", "told_at_the_end"]

_SHOWN = 2000


@dataclass(eq=False, kw_only=True)
class TableState:
    """What must be known from block to block of one file.

    Attributes
    ----------
    context : Context
    layout : Layout
    decimal_comma : bool
    habits : mapping of column (long table: metric) to Habit
        How the first cells of the file are written.
    sparse : bool
        JSON: objects have keys of their own, so that what is not there is no cell without a number;
        and 26 and 26.0 are one number.
    clocks : Clocks
    attempts : Attempts
    tally : Tally
        What to tell the user at the end of the file.
    told : dict
        Of the last rows, what the next ones are likely to say again.
    """

    context: Context
    layout: Layout
    decimal_comma: bool = False
    habits: Mapping[str, Habit] = field(default_factory=dict)
    sparse: bool = False
    clocks: Clocks = field(init=False)
    attempts: Attempts = field(default_factory=Attempts)
    tally: Tally = field(default_factory=Tally)
    told: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clocks = Clocks(rule=TimeRule.of(self.context))


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """What became of some rows.

    Attributes
    ----------
    rows : int
    rejects : polars.DataFrame
    tables : mapping of name to polars.DataFrame
        ``series samples events jobs entities links aliases absent``, as far as there are any.
    notes : tuple of str
    """

    rows: int
    rejects: pl.DataFrame
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def refused(lines: pl.DataFrame, reason: pl.Series, curable: pl.Series) -> pl.DataFrame:
    """Make rejects of the rows that have a reason.

    Parameters
    ----------
    lines : polars.DataFrame
        ``line`` and ``text``.
    reason, curable : (row,) String

    Examples
    --------
    >>> lines = pl.DataFrame({"line": [1, 2], "text": ["a", "b"]})
    >>> refused(lines, pl.Series([None, "no time"]), pl.Series([None, None], dtype=pl.String)).rows()
    [(2, 'no time', 'b', None)]
    """
    told = pl.DataFrame({"line": lines["line"], "reason": reason, "text": lines["text"], "curable": curable})
    told = told.filter(pl.col("reason").is_not_null()).with_columns(pl.col("text").str.slice(0, _SHOWN))
    return told.cast(frames.REJECTS)


def batch_of(part: Part, skips: Mapping[str, int], rejects: pl.DataFrame, notes: tuple[str, ...] = ()) -> Batch:
    """Add up what became of a stretch of a file.

    Parameters
    ----------
    part : Part
        Of the rows that had the right number of cells.
    skips : mapping of rule to count
    rejects : polars.DataFrame
        Of the lines that had not.
    """
    told = pl.concat([rejects, part.rejects]).sort("line")
    return Batch(
        records=part.rows + sum(skips.values()) + told.height,
        rows=part.rows,
        skips=skipped(skips),
        rejects=told,
        notes=(*notes, *part.notes),
        **part.tables,
    )


def told_at_the_end(state: TableState) -> Iterator[Batch]:
    """Give what the user should know of the cells of the file, as a batch without records."""
    if notes := state.tally.notes():
        yield Batch(records=0, rows=0, notes=notes)
