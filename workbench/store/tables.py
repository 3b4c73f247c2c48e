"""Reading the fixed tables of a snapshot into memory."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from workbench.errors import StoreError
from workbench.store.layout import FIXED, empty_fixed
from workbench.store.manifest import Snapshot

__all__ = ["read_fixed"]


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
        parts = [pl.read_parquet(path, columns=wanted, glob=False).cast(schema) for path in paths]  # type: ignore[arg-type]
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            f"Table {table} of {now.root} cannot be read: {error}. Restore the store from a copy."
        ) from None
    return pl.concat(parts).select(wanted)
