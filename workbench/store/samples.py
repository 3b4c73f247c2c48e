"""The long view ``samples`` over wide tables: only the metrics that a query names are read.

A view that unpivots every column reads every column, and a view with one SELECT a metric takes
milliseconds a metric to bind. So each query gets its own view: what it asks of ``metric`` is read
from its syntax tree, and the view holds those metrics only. The query itself stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb
import polars as pl

from workbench.store.layout import SAMPLES_LONG

__all__ = ["identifier", "literal", "metrics_asked_for", "samples_view"]

#: Up to so many metrics of a table are one SELECT each; beyond, they are unpivoted.
_ARMS = 12
_OUT = "ts, entity, metric, value, value_int, labels, unit, kind, source"
_NO_ROWS = (
    "select null::timestamptz as ts, null::varchar as entity, null::varchar as metric, null::double as value, "
    "null::bigint as value_int, null::varchar as labels, null::varchar as unit, null::varchar as kind, null::varchar as source where false"
)


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


def samples_view(metrics: pl.DataFrame, names: Sequence[str] | None = None) -> str:
    """Write the SELECT behind ``samples``.

    Parameters
    ----------
    metrics : polars.DataFrame
        One row per column: ``table, column, metric, type, unit, kind``.
    names : sequence of str or None
        Metrics to hold; None: all.
    """
    wide = metrics.filter(pl.col("column").is_not_null())
    if names is not None:
        wide = wide.filter(pl.col("metric").is_in(list(names)))
    arms = []
    for (table, kind), rows in wide.group_by("table", "type", maintain_order=True):
        parts = rows.to_dicts()
        make = _selects if len(parts) <= _ARMS else _unpivoted
        arms += make(str(table), parts, integer=kind == "int64")
    where = "" if names is None else f" where metric in ({', '.join(literal(name) for name in names) or 'null'})"
    arms.append(f"select {_OUT} from {SAMPLES_LONG}{where}")
    return "\nunion all ".join(arms) if arms else _NO_ROWS


def _values(column: str, integer: bool) -> str:
    return (
        f"{column}::double as value, {column} as value_int"
        if integer
        else f"{column} as value, null::bigint as value_int"
    )


def _selects(table: str, rows: Sequence[Mapping[str, Any]], *, integer: bool) -> list[str]:
    return [
        f"select ts, entity, {literal(row['metric'])} as metric, {_values(identifier(row['column']), integer)}, '{{}}' as labels, "
        f"{literal(row['unit'])} as unit, {literal(row['kind'])} as kind, source from {identifier(table)} "
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
    turned = f'(unpivot (select ts, entity, source, {columns} from {identifier(table)}) on {columns} into name "column" value value)'
    return [f'{shown} from {turned} u join (values {facts}) m("column", metric, unit, kind) on u."column" = m."column"']


def metrics_asked_for(connection: duckdb.DuckDBPyConnection, query: str, parameters: object) -> tuple[str, ...] | None:
    """Give the metrics that a query can see of ``samples``; () where it does not name it, None for all.

    Only what is AND-ed in the WHERE of the SELECT that names ``samples`` counts: ``metric = x`` and
    ``metric in (...)``.
    """
    if "samples" not in query.lower():
        return ()
    (text,) = connection.execute("select json_serialize_sql(?)", [query]).fetchall()[0]
    tree = json.loads(text)
    if tree.get("error"):
        return None
    asked: set[str] = set()
    for select in _selects_of_samples(tree):
        names = _names(select, parameters)
        if names is None:
            return None
        asked |= names
    return tuple(sorted(asked))


def _walk(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from _walk(value)


def _selects_of_samples(tree: Any) -> Iterator[dict[str, Any]]:
    for node in _walk(tree):
        if node.get("type") == "BASE_TABLE" and _named(node):
            node["_seen"] = False
    selects = [node for node in _walk(tree) if node.get("type") == "SELECT_NODE"]
    for select in selects:
        tables = list(_tables(select.get("from_table")))
        for table in tables:
            table["_seen"] = True
        if tables:
            yield select
    if any(node.get("_seen") is False for node in _walk(tree)):
        yield {}  # named somewhere that is not understood here: no condition is known


def _named(table: Mapping[str, Any]) -> bool:
    return str(table.get("table_name", "")).lower() == "samples" or str(
        table.get("qualified_name", "")
    ).lower().endswith("'samples']}")


def _tables(node: Any) -> Iterator[dict[str, Any]]:
    """Give the mentions of samples in a FROM, through joins but not into sub-queries."""
    if not isinstance(node, dict):
        return
    if node.get("type") == "BASE_TABLE" and _named(node):
        yield node
    elif node.get("type") == "JOIN":
        yield from _tables(node.get("left"))
        yield from _tables(node.get("right"))


def _names(select: Mapping[str, Any], parameters: object) -> set[str] | None:
    found: set[str] | None = None
    for condition in _conjuncts(select.get("where_clause")):
        names = _condition_names(condition, parameters)
        if names is not None:
            found = names if found is None else found & names
    return found


def _conjuncts(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if node.get("type") == "CONJUNCTION_AND":
            for child in node["children"]:
                yield from _conjuncts(child)
        else:
            yield node


def _condition_names(condition: Mapping[str, Any], parameters: object) -> set[str] | None:
    if condition.get("type") == "COMPARE_EQUAL":
        for one, other in (("left", "right"), ("right", "left")):
            if _is_metric(condition.get(one)):
                value = _constant(condition.get(other), parameters)
                return None if value is None else {value}
    if condition.get("type") == "COMPARE_IN":
        first, *rest = condition.get("children") or [None]
        values = [_constant(node, parameters) for node in rest]
        if _is_metric(first) and all(value is not None for value in values):
            return {value for value in values if value is not None}
    return None


def _is_metric(node: Any) -> bool:
    return (
        isinstance(node, dict)
        and node.get("type") == "COLUMN_REF"
        and str(node["column_names"][-1]).lower() == "metric"
    )


def _constant(node: Any, parameters: object) -> str | None:
    if not isinstance(node, dict):
        return None
    if node.get("type") == "VALUE_CONSTANT":
        told = node.get("literal") or node.get("value") or {}
        text = told.get("text", told.get("value"))
        return text if isinstance(text, str) else None
    if node.get("type") == "VALUE_PARAMETER":
        return _parameter(str(node.get("identifier", "")), parameters)
    return None


def _parameter(name: str, parameters: object) -> str | None:
    value: object = None
    if isinstance(parameters, Mapping):
        value = parameters.get(name)
    elif isinstance(parameters, Sequence) and name.isdigit() and 0 < int(name) <= len(parameters):
        value = parameters[int(name) - 1]
    return value if isinstance(value, str) else None
