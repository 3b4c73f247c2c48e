"""Where things stand in a store's folder, and the shapes of its fixed tables."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pyarrow as pa

from workbench.model.frames import TS

__all__ = [
    "BATCHES",
    "BY_DAY",
    "FIXED",
    "FORMAT",
    "LEDGER",
    "MARKER",
    "SAMPLES_LONG",
    "WIDE_KEYS",
    "arrow_schema",
    "empty_fixed",
    "is_wide",
    "lock_file",
    "staging_folder",
    "table_folder",
]

#: Version of this layout; a store of a newer one is refused.
FORMAT = 1
MARKER = "workbench.json"
BATCHES = "batches"
LEDGER = "ledger"
SAMPLES_LONG = "samples_long"
#: Columns that every wide table has beside its metrics.
WIDE_KEYS = pl.Schema({"ts": TS, "entity": pl.String(), "source": pl.String()})
_TEXT, _COUNT = pl.String(), pl.Int64()

#: Fixed tables. ``source`` is the id of the file a row came from (``files.source``); in ``series``,
#: ``observed`` and ``entities`` it is null where the row sums up several files of one ingest.
FIXED: dict[str, pl.Schema] = {
    SAMPLES_LONG: pl.Schema(
        {
            "ts": TS, "entity": _TEXT, "metric": _TEXT, "labels": _TEXT, "value": pl.Float64(), "value_int": _COUNT,
            "unit": _TEXT, "kind": _TEXT, "source": _TEXT,
        }
    ),
    "events": pl.Schema(
        {
            "ts": TS, "ts_low": TS, "ts_high": TS, "entity": _TEXT, "kind": _TEXT, "code": _TEXT, "severity": _TEXT,
            "message": _TEXT, "template": _TEXT, "attributes": _TEXT, "line": _COUNT, "source": _TEXT,
        }
    ),
    "jobs": pl.Schema(
        {
            "job": _TEXT, "attempt": _COUNT, "submitted": TS, "start": TS, "end": TS, "state": _TEXT, "exit": _TEXT,
            "user": _TEXT, "name": _TEXT, "entity": _TEXT, "entities": pl.List(_TEXT), "line": _COUNT, "source": _TEXT,
            "batch": _COUNT,
        }
    ),
    "entities": pl.Schema(
        {
            "entity": _TEXT, "kind": _TEXT, "host": _TEXT, "name": _TEXT, "attributes": _TEXT, "valid_from": TS,
            "valid_to": TS, "source": _TEXT,
        }
    ),
    "links": pl.Schema(
        {"entity": _TEXT, "relation": _TEXT, "to_entity": _TEXT, "valid_from": TS, "valid_to": TS, "source": _TEXT}
    ),
    "aliases": pl.Schema(
        {
            "cluster": _TEXT, "host": _TEXT, "kind": _TEXT, "name": _TEXT, "same_as": _TEXT, "rule": _TEXT,
            "valid_from": TS, "valid_to": TS, "source": _TEXT,
        }
    ),
    "observed": pl.Schema(
        {
            "entity": _TEXT, "what": _TEXT, "reader": _TEXT, "start": TS, "end": TS, "interval_s": pl.Float64(),
            "count": _COUNT, "source": _TEXT,
        }
    ),
    "series": pl.Schema(
        {
            "table": _TEXT, "entity": _TEXT, "metric": _TEXT, "labels": _TEXT, "unit": _TEXT, "kind": _TEXT,
            "first": TS, "last": TS, "count": _COUNT, "interval_s": pl.Float64(), "source": _TEXT,
        }
    ),
    "metrics": pl.Schema(
        {
            "table": _TEXT, "column": _TEXT, "metric": _TEXT, "entity_kind": _TEXT, "type": _TEXT, "unit": _TEXT,
            "kind": _TEXT, "role": _TEXT, "drives": pl.List(_TEXT), "bits": _COUNT, "saturates": pl.Boolean(),
            "known_by": _TEXT, "raw_name": _TEXT,
        }
    ),
    "files": pl.Schema(
        {
            "source": _TEXT, "digest": _TEXT, "content_digest": _TEXT, "content_bytes": _COUNT, "opening": _TEXT,
            "path": _TEXT, "bytes": _COUNT, "reader": _TEXT, "rule": _TEXT,
            "confidence": pl.Float64(), "status": _TEXT, "reason": _TEXT, "records": _COUNT, "rows": _COUNT,
            "skipped": _COUNT, "rejected": _COUNT, "curable": _COUNT, "hostless": _COUNT, "samples": _COUNT, "repeated": _COUNT,
            "absent": _COUNT, "entities": _COUNT, "skips": _TEXT, "reasons": _TEXT, "context": _TEXT, "notes": pl.List(_TEXT), "first": TS, "last": TS, "batch": _COUNT,
            "ingested": TS,
        }
    ),
    "rejects": pl.Schema(
        {"source": _TEXT, "line": _COUNT, "reason": _TEXT, "text": _TEXT, "curable": _TEXT}
    ),
    "absent": pl.Schema({"source": _TEXT, "metric": _TEXT, "reason": _TEXT, "count": _COUNT}),
}  # fmt: skip
#: Fixed tables that lie in one file a day, as wide tables do.
BY_DAY = frozenset({SAMPLES_LONG})
_WIDE_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
# Views and tables of ours, and what DuckDB keeps for itself.
_TAKEN = {
    *FIXED,
    BATCHES,
    LEDGER,
    "samples",
    "samples_of",
    "events_told",
    "events_aligned",
    "clocks",
    "clock_shifts",
    "renames",
    "information_schema",
    "pg_catalog",
    "main",
    "temp",
    "system",
}


def is_wide(kind: str) -> bool:
    """Tell whether entities of this kind have a wide table, named as the kind.

    Examples
    --------
    >>> is_wide("gpu"), is_wide("events"), is_wide('x"; drop')
    (True, False, False)
    """
    return _WIDE_NAME.fullmatch(kind) is not None and kind not in _TAKEN


def table_folder(root: Path, name: str) -> Path:
    """Give the folder of one Delta table."""
    return root / "tables" / name


def staging_folder(root: Path) -> Path:
    """Give the folder where ingests prepare files before they are committed."""
    return root / "staging"


def lock_file(root: Path) -> Path:
    """Give the file that writers lock."""
    return root / "lock"


def empty_fixed(name: str) -> pl.DataFrame:
    """Give a fixed table without rows."""
    return pl.DataFrame(schema=FIXED[name])


def arrow_schema(schema: pl.Schema) -> pa.Schema:
    """Give the Arrow schema that the files of a table have (strings plain, not large).

    Examples
    --------
    >>> arrow_schema(WIDE_KEYS).names
    ['ts', 'entity', 'source']
    """
    return pa.schema([pa.field(name, _arrow_type(kind)) for name, kind in schema.items()])


def _arrow_type(kind: pl.DataType) -> pa.DataType:
    if isinstance(kind, pl.List):
        return pa.list_(_arrow_type(kind.inner))  # type: ignore[arg-type]
    if isinstance(kind, pl.Datetime):
        return pa.timestamp("us", "UTC")
    plain = {pl.String(): pa.string(), pl.Int64(): pa.int64(), pl.Float64(): pa.float64(), pl.Boolean(): pa.bool_()}
    return plain[kind]
