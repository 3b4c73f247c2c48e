"""Which queries of a user are answered: those that only read."""

from __future__ import annotations

import re

import duckdb

from workbench.errors import UsageError

__all__ = ["require_reading"]

_EXPLAIN = re.compile(r"\s*explain\b(?:\s+analyze\b)?(?:\s*\([^)]*\))?", re.IGNORECASE)
_COMMENT = re.compile(r"\s*(?:--[^\n]*(?:\n|$)|/\*.*?\*/)", re.DOTALL)


def require_reading(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Refuse everything but one SELECT, WITH, FROM, VALUES, DESCRIBE, SHOW, SUMMARIZE or EXPLAIN.

    DuckDB's own parser decides what a text is; words are not searched for.

    Raises
    ------
    UsageError
        Where the text is no SQL, holds no or several statements, or one that does more than read.
    """
    kinds = _kinds(connection, query)
    if len(kinds) != 1:
        raise UsageError(f"Expected one query, found {len(kinds)} statements; ask them one by one.")
    kind = kinds[0]
    if kind == "EXPLAIN":
        inner = _EXPLAIN.sub("", _without_comments(query), count=1)
        kind = next(iter(_kinds(connection, inner)), "EXPLAIN") if inner.strip() else "EXPLAIN"
    if kind == "MULTI":
        raise UsageError("A PIVOT without its values is not supported; name them: PIVOT ... ON column IN (...).")
    if kind != "SELECT":
        raise UsageError(
            f"A store is only read by SQL: SELECT, WITH, DESCRIBE, SHOW or EXPLAIN, not {kind}. Data come in by ingest."
        )


def _without_comments(query: str) -> str:
    while match := _COMMENT.match(query):
        query = query[match.end() :]
    return query


def _kinds(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    try:
        return [statement.type.name for statement in connection.extract_statements(query)]
    except duckdb.Error as error:
        raise UsageError(f"This is no SQL that DuckDB understands: {error}") from None
