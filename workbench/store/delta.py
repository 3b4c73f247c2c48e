"""Delta tables of Parquet files that we write ourselves: create, widen, append, list, restore."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Field, Schema
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from workbench.errors import StoreError
from workbench.timebase import format_us, to_us

__all__ = ["DataFile", "apply", "exists", "files", "latest_version", "restore"]

# Pinned versions must outlive log clean-up; a checkpoint every 50 commits keeps opening fast.
_CONFIGURATION: Mapping[str, str | None] = {
    "delta.logRetentionDuration": "interval 36500 days",
    "delta.deletedFileRetentionDuration": "interval 7 days",
    "delta.checkpointInterval": "50",
}


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """One Parquet file of a table.

    Attributes
    ----------
    path : str
        Relative to the table's folder.
    bytes, rows : int
    day : date or None
        Partition; None for tables that are not partitioned.
    first_us, last_us : int or None
        Bounds of ``ts``, UTC microseconds; None where the table has no ``ts``.
    """

    path: str
    bytes: int
    rows: int
    day: date | None = None
    first_us: int | None = None
    last_us: int | None = None


def exists(folder: Path) -> bool:
    """Tell whether a Delta table is there."""
    return (folder / "_delta_log").is_dir() and DeltaTable.is_deltatable(str(folder))


def _open(folder: Path, version: int | None = None) -> DeltaTable:
    try:
        return DeltaTable(str(folder), version=version)
    except (DeltaError, TableNotFoundError, OSError) as error:
        what = f"version {version} of table" if version is not None else "table"
        raise StoreError(
            f"Cannot read {what} {folder.name} in {folder.parent.parent}: {_first_line(error)}. "
            f"Restore {folder.name}/_delta_log from a copy; workbench store check tells what else is damaged."
        ) from None


def _first_line(error: Exception) -> str:
    """Leave out the native backtrace that the library appends."""
    return str(error).split("\n", 1)[0].split("Backtrace", 1)[0].rstrip(" .:")


def latest_version(folder: Path) -> int:
    """Give the newest version of a table, from the names in its log (opening it takes far longer)."""
    return max((int(path.stem) for path in (folder / "_delta_log").glob("[0-9]*.json")), default=-1)


def files(folder: Path, version: int | None = None) -> tuple[DataFile, ...]:
    """List the files of one version of a table, in the order of their names.

    Raises
    ------
    StoreError
        Where the table or that version cannot be read.
    """
    actions = pl.DataFrame(_open(folder, version).get_add_actions(flatten=True))
    listed = [
        DataFile(
            path=row["path"],
            bytes=row["size_bytes"],
            rows=row["num_records"],
            day=row.get("partition.day"),
            first_us=_us(row.get("min.ts")),
            last_us=_us(row.get("max.ts")),
        )
        for row in actions.iter_rows(named=True)
    ]
    return tuple(sorted(listed, key=lambda file: file.path))


def _us(moment: datetime | None) -> int | None:
    return None if moment is None else to_us(moment)


def apply(folder: Path, schema: pa.Schema, add: Sequence[DataFile], remove: Sequence[DataFile] = ()) -> int:
    """Commit files to a table, creating or widening it first; give the new version.

    Parameters
    ----------
    folder : pathlib.Path
    schema : pyarrow.Schema
        Of the files, without ``day``; columns that the table lacks are added to it.
    add, remove : sequence of DataFile
        ``add`` must lie in the folder already.

    Raises
    ------
    StoreError
        Where a column of the table has another type than in ``schema``: nothing else checks this,
        and such a table could not be read any more.
    """
    by_day = any(file.day is not None for file in (*add, *remove))
    full = schema.append(pa.field("day", pa.date32())) if by_day else schema
    partition = ["day"] if by_day else []
    if not exists(folder):
        actions = [_add(file) for file in add]
        create_table_with_add_actions(
            str(folder), Schema.from_arrow(full), actions, partition_by=partition, configuration=_CONFIGURATION
        )
        return latest_version(folder)
    _widen(folder, full)
    table = _open(folder)
    actions_now: list[AddAction | RemoveAction] = [_remove(file) for file in remove]
    actions_now += [_add(file) for file in add]
    if actions_now:
        # Other writers are kept out by the store's lock: a conflict here is a defect, not a reason to try again.
        table.create_write_transaction(
            actions_now, "append", table.schema(), partition, commit_properties=CommitProperties(max_commit_retries=0)
        )
    return latest_version(folder)


def _widen(folder: Path, schema: pa.Schema) -> None:
    table = _open(folder)
    have = {field.name: field.type for field in table.schema().fields}
    wanted = {field.name: field.type for field in Schema.from_arrow(schema).fields}
    wrong = [
        f"{name} is {have[name]}, not {kind}" for name, kind in wanted.items() if name in have and have[name] != kind
    ]
    if wrong:
        raise StoreError(f"Table {folder.name} does not fit what is to be written: {'; '.join(wrong)}.")
    new = [Field(name, kind, nullable=True) for name, kind in wanted.items() if name not in have]
    if new:
        table.alter.add_columns(new)


def restore(folder: Path, version: int) -> None:
    """Make the table what it was at ``version`` (a new version of its own)."""
    _open(folder).restore(version)


def _add(file: DataFile) -> AddAction:
    stats: dict[str, object] = {"numRecords": file.rows}
    if file.first_us is not None and file.last_us is not None:
        # Sort keys only: statistics of every column would make the log grow by 20 kB a file.
        stats |= {
            "minValues": {"ts": format_us(file.first_us)},
            "maxValues": {"ts": format_us(file.last_us)},
            "nullCount": {"ts": 0},
        }
    return AddAction(file.path, file.bytes, _partition(file), int(time.time() * 1000), True, json.dumps(stats))


def _remove(file: DataFile) -> RemoveAction:
    # data_change=True: a second writer that removes the same file is then refused.
    return RemoveAction(file.path, True, int(time.time() * 1000), file.bytes, _partition(file))


def _partition(file: DataFile) -> dict[str, str | None]:
    return {} if file.day is None else {"day": file.day.isoformat()}
