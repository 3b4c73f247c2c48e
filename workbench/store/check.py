"""Is a store whole, and what can go: files are there, readable, of the size and rows they should have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from workbench.errors import StoreError
from workbench.figures.text import escape
from workbench.store import delta
from workbench.store.delta import DataFile
from workbench.store.layout import BATCHES, LEDGER, lock_file, staging_folder, table_folder
from workbench.store.lock import held
from workbench.store.manifest import Snapshot, recover, snapshot
from workbench.store.report import html_table

__all__ = ["StoreCheck", "check", "vacuum"]

_SCHEMA = pl.Schema({"table": pl.String(), "file": pl.String(), "problem": pl.String(), "next_step": pl.String()})
_ROWS_AT_ONCE = 65_536
_RESTORE = "restore the store from a copy, or ingest the dumps into a new one"
_NO_MANIFEST = "restore tables/batches from a copy; if the very first ingest was killed, ingest again"
_NEXT_WRITE = "nothing to do: the next ingest or compaction takes it back"


@dataclass(frozen=True, eq=False, kw_only=True)
class StoreCheck:
    """What is wrong with a store.

    Attributes
    ----------
    path, version : str
    files : int
        How many files were looked at.
    problems : polars.DataFrame
        ``table, file, problem, next_step``.
    """

    path: str
    version: str
    files: int
    problems: pl.DataFrame

    @property
    def sound(self) -> bool:
        """Whether every file of this version is there and readable."""
        return self.problems.filter(pl.col("next_step").is_in([_RESTORE, _NO_MANIFEST])).is_empty()

    def table(self) -> pl.DataFrame:
        """One row per problem."""
        return self.problems

    def to_json(self) -> dict[str, Any]:
        """Give everything as one JSON object."""
        return {
            "path": self.path,
            "version": self.version,
            "files": self.files,
            "sound": self.sound,
            "problems": self.problems.to_dicts(),
        }

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.path)}: {self.files} files, {'sound' if self.sound else 'damaged'}</p>{html_table(self.problems)}"


def check(root: Path, now: Snapshot) -> StoreCheck:
    """Look at every file of a snapshot, and for what dead writers left; writes nothing."""
    rows: list[dict[str, str]] = []
    count = 0
    for table in now.tables:
        try:
            found, problems = _looked_at(root, now, table)
        except StoreError as error:
            found, problems = 0, [_row(table, "_delta_log", str(error), _RESTORE)]
        count += found
        rows += problems
    if not now.tables and (lost := _without_manifest(root)):
        rows.append(_row(BATCHES, "", f"missing, while {', '.join(lost)} are there", _NO_MANIFEST))
    staged = staging_folder(root)
    for path in sorted(staged.iterdir()) if staged.is_dir() else ():
        rows.append(_row("", str(path.relative_to(root)), "staged by another writer, alive or dead", _NEXT_WRITE))
    return StoreCheck(path=str(root), version=str(now.seq), files=count, problems=pl.DataFrame(rows, schema=_SCHEMA))


def _without_manifest(root: Path) -> list[str]:
    """Name the tables that hold data where no batch was ever committed, or its record is gone."""
    folder = root / "tables"
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [name for name in names if name not in (BATCHES, LEDGER) and delta.exists(folder / name)]


def _looked_at(root: Path, now: Snapshot, table: str) -> tuple[int, list[dict[str, str]]]:
    """Give how many files a table has, and what is wrong with them."""
    folder = table_folder(root, table)
    files = now.files(table)
    told = [(file.path, _problem(folder / file.path, file)) for file in files]
    rows = [_row(table, path, problem, _RESTORE) for path, problem in told if problem]
    if delta.latest_version(folder) != now.versions[table] and now.seq == snapshot(root).seq:
        extra = {file.path for file in delta.files(folder)} ^ {file.path for file in files}
        rows += [_row(table, path, "committed by a writer that died", _NEXT_WRITE) for path in sorted(extra)]
    return len(files), rows


def _row(table: str, file: str, problem: str, next_step: str) -> dict[str, str]:
    return {"table": table, "file": file, "problem": problem, "next_step": next_step}


def _problem(path: Path, file: DataFile) -> str:
    try:
        size = path.stat().st_size
        rows = _rows(path)
    except FileNotFoundError:
        return "missing"
    except (OSError, pa.ArrowException) as error:
        return f"not readable: {error}"
    if size != file.bytes:
        return f"{size} bytes, {file.bytes} expected"
    return "" if rows == file.rows else f"{rows} rows, {file.rows} expected"


def _rows(path: Path) -> int:
    """Count the rows by reading all of them: the index of a file tells nothing of its pages."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return sum(batch.num_rows for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE))


def vacuum(root: Path, *, keep: int | None = None, dry_run: bool = False) -> pl.DataFrame:
    """Remove files that no kept version needs: what compaction replaced, and what dead writers left.

    Parameters
    ----------
    root : pathlib.Path
    keep : int or None
        How many of the newest versions must stay readable; None: all of them. Results that name
        an older version can then no longer be computed again.
    dry_run : bool
        Only list them.

    Returns
    -------
    polars.DataFrame
        ``table, file, bytes`` of what goes.
    """
    gone: list[dict[str, object]] = []
    with held(lock_file(root)):
        last = recover(root)
        first = 1 if keep is None else max(1, last.seq - max(keep, 1) + 1)
        kept = [snapshot(root, seq) for seq in range(first, last.seq + 1)]
        needed: dict[str, set[str]] = {}
        for version in kept:
            for table in version.tables:
                needed.setdefault(table, set()).update(file.path for file in version.files(table))
        folders = (root / "tables").iterdir() if (root / "tables").is_dir() else ()
        for folder in sorted(folders):
            if folder.name in (BATCHES, LEDGER):
                continue
            for path in sorted(folder.rglob("*.parquet")):
                relative = path.relative_to(folder).as_posix()
                if "_delta_log" not in path.parts and relative not in needed.get(folder.name, set()):
                    gone.append({"table": folder.name, "file": relative, "bytes": path.stat().st_size})
                    if not dry_run:
                        path.unlink()
    return pl.DataFrame(gone, schema={"table": pl.String, "file": pl.String, "bytes": pl.Int64})
