"""Reading the fixed tables of a snapshot into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
import pyarrow.parquet as pq

from workbench.errors import StoreError
from workbench.store.layout import FIXED, empty_fixed
from workbench.store.manifest import Snapshot

__all__ = ["read_fixed", "read_part"]


def read_fixed(now: Snapshot, table: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Give a fixed table, or some of its columns; no rows where the store has none yet.

    Raises
    ------
    StoreError
        Where a file of it is missing or damaged.
    """
    wanted = list(FIXED[table]) if columns is None else list(columns)
    schema = {name: FIXED[table][name] for name in wanted}
    paths = now.paths(table)
    if not paths:
        return empty_fixed(table).select(wanted)
    try:
        parts = [read_part(path, schema) for path in paths]
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            f"Table {table} of {now.root} cannot be read: {error}. Restore the store from a copy."
        ) from None
    return pl.concat(parts).select(wanted)


def read_part(path: str, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Read one file; columns that came later than it are null."""
    there = [name for name in pq.read_schema(path).names if name in schema]
    rows = pl.read_parquet(path, columns=there, glob=False)
    rows = rows.with_columns(pl.lit(None, kind).alias(name) for name, kind in schema.items() if name not in there)
    return rows.select(list(schema)).cast(schema)  # type: ignore[arg-type]
