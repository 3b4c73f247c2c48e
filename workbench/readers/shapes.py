"""Rows of a generic table as samples, events or jobs, once it is known what the columns mean.

Works on whole columns, of text (CSV) or of typed values (JSON, Parquet) alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace

import polars as pl

from workbench.readers.cells import clean_text
from workbench.readers.eventrows import event_rows
from workbench.readers.habits import Habit, habit_of
from workbench.readers.jobrows import job_parts
from workbench.readers.labelcolumn import expand_labels
from workbench.readers.longsamples import long_samples
from workbench.readers.tablestate import Part, TableState, refused
from workbench.readers.timecells import epoch_counts, read_times
from workbench.readers.who import Who, identify
from workbench.readers.widesamples import wide_samples

__all__ = ["convert", "habits_of"]

#: Wide tables become many samples: this many at most at a time, so that memory stays flat.
_CELLS_A_PART = 2_000_000
_JOB_ROLES = ("job", "attempt", "submitted", "start", "end", "state", "exit", "user", "name", "nodes")


def convert(frame: pl.DataFrame, lines: pl.DataFrame, state: TableState) -> Iterator[Part]:
    """Turn rows into what the store keeps; every row ends as a row or as a reject.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns of the table, by their names.
    lines : polars.DataFrame
        ``line`` and ``text`` of each row, for rejects.
    state : TableState
        Kept from call to call, in the order of the file.

    Examples
    --------
    >>> from workbench.model.context import Context
    >>> from workbench.readers.columns import layout_of
    >>> frame = pl.DataFrame({"time": ["1762053240", "x"], "host": ["a", "a"], "temp": ["54 C", "55 C"]})
    >>> state = TableState(context=Context(), layout=layout_of(frame.columns, Context()))
    >>> part, = convert(frame, pl.DataFrame({"line": [2, 3], "text": ["...", "x,a,55 C"]}), state)
    >>> part.rows, part.tables["samples"]["value"].to_list(), part.rejects["curable"].to_list()
    (1, [54.0], ['map'])
    """
    if state.layout.shape == "jobs":
        yield from _jobs(frame, lines, state)
        return
    size = max(1024, _CELLS_A_PART // max(1, len(state.layout.metrics)))
    for start in range(0, frame.height, size):
        yield _converted(frame.slice(start, size), lines.slice(start, size), state)


def _converted(frame: pl.DataFrame, lines: pl.DataFrame, state: TableState) -> Part:
    frame, layout, sets = expand_labels(frame, state.layout, state.context.host)
    if sets is not None:
        state = copy(state)  # the clocks stay those of the file
        state.layout = layout
    who = identify(frame, state.layout, state.context, told=state.told)
    times = _times(frame, who, state)
    late = times["reason"].is_not_null()
    reason = pl.select(pl.coalesce(times["reason"], who.of("bad"))).to_series()
    curable = pl.select(pl.when(late).then(times["curable"]).otherwise(who.of("cure"))).to_series()
    rejects, good = refused(lines, reason, curable), reason.is_null()
    if rejects.height:
        frame, times, lines = frame.filter(good), times.filter(good), lines.filter(good)
        who = Who(code=who.code.filter(good), table=who.table, links=who.links, aliases=who.aliases)
    tables, lost = _tables(frame, times.with_columns(lines["line"]), who, state)
    if lost is not None and lost.null_count() < lost.len():
        none = pl.repeat(None, lost.len(), dtype=pl.String, eager=True)
        rejects = pl.concat([rejects, refused(lines, lost, none)])
    tables |= {"links": who.links, "aliases": who.spanned(times["ts"])}
    if sets is not None:
        told = sets.tables(good, times["ts"])
        tables |= {name: pl.concat([tables[name], table]) if name in tables else table for name, table in told.items()}
    return Part(rows=reason.len() - rejects.height, rejects=rejects, tables=tables, notes=_notes(times))


def _tables(
    frame: pl.DataFrame, times: pl.DataFrame, who: Who, state: TableState
) -> tuple[dict[str, pl.DataFrame], pl.Series | None]:
    if state.layout.shape == "events":
        return event_rows(frame, times, who, state)
    if state.layout.shape == "long":
        return long_samples(frame, times["ts"], who, state)
    return wide_samples(frame, times["ts"], who, state), None


def _times(frame: pl.DataFrame, who: Who, state: TableState) -> pl.DataFrame:
    """Give the time of each row: of its cells, else when the dump was taken."""
    column = state.layout.column("ts")
    constant = state.layout.constant("ts")
    if column is None and constant is None:
        taken = pl.repeat(state.context.taken_at_us, frame.height, dtype=pl.Int64, eager=True)
        none = pl.repeat(None, frame.height, dtype=pl.String, eager=True)
        return pl.DataFrame(
            {
                "ts": taken,
                "ts_low": taken,
                "ts_high": taken,
                "reason": none,
                "curable": none,
                "open": none.is_not_null(),
            }
        )
    cells = frame[column] if column else pl.repeat(constant, frame.height, dtype=pl.String, eager=True)
    if date := state.layout.column("date"):
        both = (clean_text(frame[date]), clean_text(cells))
        cells = pl.select(pl.concat_str(*both, separator=" ", ignore_nulls=True)).to_series()
    if state.clocks.rule.epoch is None and state.clocks.rule.time_format is None:
        state.tally.epochs(epoch_counts(cells))
    several = state.layout.column("host") is not None or state.layout.column("entity") is not None
    return read_times(cells, state.clocks, who.of("host") if several else None)


def _notes(times: pl.DataFrame) -> tuple[str, ...]:
    count = int(times["open"].sum())
    return (f"{count} rows lie in the repeated hour of autumn; the earlier pass is taken",) if count else ()


def _jobs(frame: pl.DataFrame, lines: pl.DataFrame, state: TableState) -> Iterator[Part]:
    layout = state.layout
    fields = pl.DataFrame(
        {
            role: frame[name] if not name.startswith("=") else pl.repeat(name[1:], frame.height, eager=True)
            for role in _JOB_ROLES
            if (name := layout.roles.get(role)) is not None
        }
    )
    for tables, told in job_parts(fields, lines, state.clocks.rule, state.attempts):
        rejects = refused(told, told["reason"], told["curable"])
        yield Part(rows=told.height - rejects.height, rejects=rejects, tables=tables)


def habits_of(frame: pl.DataFrame, state: TableState) -> dict[str, Habit]:
    """Tell how the columns (in a long table: metrics) write their numbers, by the first rows of a file.

    Examples
    --------
    >>> from workbench.model.context import Context
    >>> from workbench.readers.columns import layout_of
    >>> frame = pl.DataFrame({"time": ["1"], "host": ["a"], "temp": ["54 C"], "n": ["7"]})
    >>> found = habits_of(frame, TableState(context=Context(), layout=layout_of(frame.columns, Context())))
    >>> found["temp"].unit, found["n"].decimal
    ('C', True)
    """
    layout = state.layout
    value, metric = layout.column("value"), layout.column("metric")
    if layout.shape == "wide":
        columns = {column.column: frame[column.column] for column in layout.metrics if column.column in frame.columns}
    elif layout.shape == "long" and value and metric:
        parts = frame.select(pl.col(value).alias("value"), clean_text(frame[metric]).alias("metric"))
        named = parts.drop_nulls("metric").partition_by("metric", as_dict=True, maintain_order=True)
        columns = {str(key[0]): part["value"] for key, part in named.items()}
    else:
        return {}
    found = {name: habit_of(cells, decimal_comma=state.decimal_comma) for name, cells in columns.items()}
    if state.context.columns.decimal is not None:
        found = {name: replace(habit, doubtful=False) for name, habit in found.items()}
    return found
