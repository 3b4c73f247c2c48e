"""The long view ``samples`` over wide tables: only the metrics that a query names are read.

A view that unpivots every column reads every column, and a view with one SELECT a metric takes
milliseconds a metric to bind. So a query that says which metrics it wants gets a view of its own,
which holds those only; the query itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import polars as pl

from workbench.store.layout import SAMPLES_LONG

__all__ = ["identifier", "literal", "samples_view"]

#: Up to so many metrics of a table are one SELECT each; beyond, they are unpivoted.
_ARMS = 12
_OUT = "ts, entity, metric, value, value_int, labels, unit, kind, source"


def identifier(name: str) -> str:
    """Quote a name for SQL.

    Examples
    --------
    >>> identifier('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str | None) -> str:
    """Write a text as an SQL literal.

    Examples
    --------
    >>> literal("it's"), literal(None)
    ("'it''s'", 'null::varchar')
    """
    return "null::varchar" if text is None else "'" + text.replace("'", "''") + "'"


def samples_view(
    metrics: pl.DataFrame,
    names: Collection[str] | None = None,
    *,
    source: Callable[[str], str] = identifier,
) -> str:
    """Write the SELECT behind ``samples``.

    Parameters
    ----------
    metrics : polars.DataFrame
        One row per column: ``table, column, metric, type, unit, kind``.
    names : collection of str or None
        Metrics to hold; None: all.
    source : callable
        What to read a table from, as SQL.
    """
    wide = metrics.filter(pl.col("column").is_not_null())
    if names is not None:
        wide = wide.filter(pl.col("metric").is_in(list(names)))
    arms = []
    for (table, kind), rows in wide.group_by("table", "type", maintain_order=True):
        parts = rows.to_dicts()
        make = _selects if len(parts) <= _ARMS else _unpivoted
        arms += make(source(str(table)), parts, integer=kind == "int64")
    where = (
        "" if names is None else f" where metric in ({', '.join(literal(name) for name in sorted(names)) or 'null'})"
    )
    arms.append(f"select {_OUT} from {source(SAMPLES_LONG)}{where}")
    return "\nunion all ".join(arms)


def _values(column: str, integer: bool) -> str:
    return (
        f"{column}::double as value, {column} as value_int"
        if integer
        else f"{column} as value, null::bigint as value_int"
    )


def _selects(table: str, rows: Sequence[Mapping[str, Any]], *, integer: bool) -> list[str]:
    return [
        f"select ts, entity, {literal(row['metric'])} as metric, {_values(identifier(row['column']), integer)}, '{{}}' as labels, "
        f"{literal(row['unit'])} as unit, {literal(row['kind'])} as kind, source from {table} "
        f"where {identifier(row['column'])} is not null"
        for row in rows
    ]


def _unpivoted(table: str, rows: Sequence[Mapping[str, Any]], *, integer: bool) -> list[str]:
    columns = ", ".join(identifier(row["column"]) for row in rows)
    facts = ", ".join(
        f"({', '.join(literal(row[name]) for name in ('column', 'metric', 'unit', 'kind'))})" for row in rows
    )
    shown = (
        f"select u.ts, u.entity, m.metric, {_values('u.value', integer)}, '{{}}' as labels, m.unit, m.kind, u.source"
    )
    turned = (
        f'(unpivot (select ts, entity, source, {columns} from {table}) on {columns} into name "column" value value)'
    )
    return [f'{shown} from {turned} u join (values {facts}) m("column", metric, unit, kind) on u."column" = m."column"']
