"""A wide table of plain cells as samples, without taking the cells out one by one.

Who the rows are about and when is read once for each distinct text; columns of plain numbers are
read from the bytes. What is not as plain as that is told by None, and read by :mod:`.shapes`.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.model import frames
from workbench.readers.cellgrid import Grid
from workbench.readers.cells import Numbers
from workbench.readers.columns import WHERE, WHO
from workbench.readers.habits import Habit
from workbench.readers.metriccolumns import MetricColumn
from workbench.readers.tablestate import Part, TableState
from workbench.readers.timecells import epoch_counts, read_distinct
from workbench.readers.who import Who, identify
from workbench.readers.widesamples import Gathered, column_numbers, labelled

__all__ = ["grid_part"]

_Codes = NDArray[np.int32]


def grid_part(grid: Grid, state: TableState) -> Part | None:
    """Turn rows into samples; None, with nothing changed, where they need more care.

    Parameters
    ----------
    grid : Grid
    state : TableState
    """
    layout = state.layout
    ts = layout.column("ts")
    if layout.shape != "wide" or ts not in grid.names or layout.column("date") or state.decimal_comma:
        return None
    times, who, read = _times(grid, ts, state), _who(grid, state), _read(grid, state)
    if times is None or who is None or read is None:
        return None
    stamps, told = times
    if state.clocks.rule.epoch is None and state.clocks.rule.time_format is None:
        state.tally.epochs(epoch_counts(stamps["cell"], stamps["count"]))
    placed, code, keys = who
    gathered = Gathered(code, keys, told, state)
    for column, numbers in read:
        if numbers is None:
            cells = grid.cells(column.column)
            gathered.add(column, column_numbers(cells, column, state), cells)
            continue
        if column.unit is None:
            bare = numbers.value.len() - numbers.value.null_count()
            state.tally.units(column.metric, united=0, bare=bare, unit=None)
        gathered.add(column, numbers)
    tables = {**gathered.tables(), "links": placed.links, "aliases": placed.spanned(told)}
    return Part(rows=grid.height, rejects=frames.empty(frames.REJECTS), tables=tables)


def _distinct(grid: Grid, names: list[str]) -> tuple[_Codes, pl.DataFrame] | None:
    """Number the rows by some columns; give the cells of each number, too."""
    found = grid.distinct(names)
    if found is None:
        return None
    code, first = found
    cells = grid.frame(names, first)
    texts = [name for name in names if name in grid.numeric and cells[name].dtype == pl.String]
    return None if texts else (code, cells)  # numbers that are no integers


def _times(grid: Grid, ts: str | None, state: TableState) -> tuple[pl.DataFrame, pl.Series] | None:
    """Give the distinct cells with their count, and the time of each row."""
    found = None if ts is None else _distinct(grid, [ts])
    if found is None or ts is None:
        return None
    code, cells = found
    told = read_distinct(cells[ts], state.clocks)
    if told is None or told["reason"].null_count() < told.height:
        return None
    count = np.bincount(code, minlength=cells.height)
    stamps = cells.select(pl.col(ts).alias("cell")).with_columns(count=pl.Series(count))
    return stamps, pl.Series("ts", told["ts"].to_numpy()[code])


def _who(grid: Grid, state: TableState) -> tuple[Who, pl.Series, pl.DataFrame] | None:
    """Give who each row is about, and as :func:`.labelled` the key of each row and what the keys stand for."""
    layout = state.layout
    wanted = [name for role in (*WHO, *WHERE) if (name := layout.column(role))]
    wanted = list(dict.fromkeys([*wanted, *layout.rest]))
    there = [name for name in wanted if name in grid.names]
    if there:
        found = _distinct(grid, there)
        if found is None:
            return None
        code, cells = found
    else:
        code, cells = np.zeros(grid.height, np.int32), pl.DataFrame({"@": [None]})
    cells = cells.with_columns(pl.lit(None, pl.String).alias(name) for name in wanted if name not in there)
    small = identify(cells, layout, state.context, told=state.told)
    key, keys = labelled(cells, small, layout.rest)
    if small.table["bad"].null_count() < small.table.height:
        return None
    who = Who(code=_gathered(small.code, code), table=small.table, links=small.links, aliases=small.aliases)
    return who, _gathered(key, code), keys


def _gathered(values: pl.Series, code: _Codes) -> pl.Series:
    return pl.Series(values.to_numpy()[code])


def _read(grid: Grid, state: TableState) -> list[tuple[MetricColumn, Numbers | None]] | None:
    """Read the columns of plain numbers; None in place of another, and for all where JSON has a strange number."""
    found: list[tuple[MetricColumn, Numbers | None]] = []
    for column in state.layout.metrics:
        name = column.column
        if name not in grid.names:
            continue  # an object without it says nothing of it
        unit = state.habits.get(name, Habit()).unit
        plain = column.unit is not None or unit is None
        numbers = grid.numbers(name, whole=state.sparse) if plain else None
        if numbers is None and name in grid.numeric:
            return None
        found.append((column, numbers))
    return found
