"""The ledger of a store: one table that only grows, beside the versions of the data."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.exceptions import DeltaError

from workbench.store import delta
from workbench.store.layout import LEDGER, lock_file, table_folder
from workbench.store.lock import held
from workbench.store.manifest import write_error

__all__ = ["append_ledger", "read_ledger"]


def append_ledger(root: Path, rows: pl.DataFrame) -> None:
    """Add rows; one commit of one table, so all of them or none."""
    if rows.is_empty():
        return
    folder = table_folder(root, LEDGER)
    arrow = _plain(rows.to_arrow())
    with held(lock_file(root)):
        number = delta.latest_version(folder) + 1 if delta.exists(folder) else 0
        name = f"{number:012d}-{uuid4().hex[:12]}.parquet"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(arrow, folder / name, compression="zstd")
            file = delta.DataFile(path=name, bytes=(folder / name).stat().st_size, rows=arrow.num_rows)
            delta.apply(folder, arrow.schema, [file])
        except (OSError, DeltaError) as error:
            raise write_error(root, error) from None


def _plain(arrow: pa.Table) -> pa.Table:
    """Turn Polars' large and view types into those that every Delta reader knows."""
    fields = [pa.field(field.name, _plain_type(field.type)) for field in arrow.schema]
    return arrow.cast(pa.schema(fields))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _plain_type(field.type)) for field in kind])
    return kind


def read_ledger(root: Path) -> pl.DataFrame:
    """Give all rows, oldest first; columns that came later are null in older rows."""
    folder = table_folder(root, LEDGER)
    if not delta.exists(folder):
        return pl.DataFrame()
    parts = [pl.read_parquet(folder / file.path, glob=False) for file in delta.files(folder)]
    return pl.concat(parts, how="diagonal")
