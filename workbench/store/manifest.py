"""The manifest: one row per committed batch, which pins the version of every table.

Many Delta tables cannot be committed at once. So all commits of a store go under one lock, and the
row in ``batches`` comes last: readers open the versions that the last row names, and see a batch
wholly or not at all. What lies beyond the last row belongs to a writer that died, and is taken
back by the next one.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.exceptions import DeltaError

from workbench.errors import ResourceError, StoreError
from workbench.model.frames import TS
from workbench.store import delta
from workbench.store.layout import BATCHES, LEDGER, arrow_schema, lock_file, staging_folder, table_folder
from workbench.store.lock import held, try_hold

__all__ = ["Change", "Snapshot", "commit", "history", "recover", "snapshot", "write_error"]

#: With less free than this a failed write is put down to the disk being full.
_NO_SPACE = 1_000_000

_ROW = pl.Schema({"seq": pl.Int64(), "batch": pl.String(), "at": TS, "what": pl.String(), "versions": pl.String()})


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One version of the whole store: a version of each of its tables.

    Attributes
    ----------
    root : pathlib.Path
    seq : int
        Number of the batch that made it; 0 for an empty store.
    versions : mapping of table to Delta version
    """

    root: Path
    seq: int = 0
    versions: Mapping[str, int] = field(default_factory=dict)
    _listed: dict[str, tuple[delta.DataFile, ...]] = field(default_factory=dict, repr=False)

    def files(self, table: str) -> tuple[delta.DataFile, ...]:
        """List the files of a table; none where the table is not there."""
        if table not in self.versions:
            return ()
        if table not in self._listed:
            self._listed[table] = delta.files(table_folder(self.root, table), self.versions[table])
        return self._listed[table]

    def paths(self, table: str, *, first_us: int | None = None, last_us: int | None = None) -> list[str]:
        """Give the files of a table as absolute paths, only those that overlap the span."""
        folder = table_folder(self.root, table)
        return [str(folder / file.path) for file in self.files(table) if _overlaps(file, first_us, last_us)]

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that are there."""
        return tuple(sorted(self.versions))


def _overlaps(file: delta.DataFile, first_us: int | None, last_us: int | None) -> bool:
    if file.first_us is None or file.last_us is None:
        return True
    return (last_us is None or file.first_us <= last_us) and (first_us is None or file.last_us >= first_us)


@dataclass(frozen=True, eq=False, kw_only=True)
class Change:
    """What one batch does to one table.

    Attributes
    ----------
    table : str
    schema : pyarrow.Schema
        Of the files that are added.
    add : sequence of (pathlib.Path, DataFile)
        Where each file stands now, and what it is to be in the table.
    remove : sequence of DataFile
    """

    table: str
    schema: pa.Schema
    add: Sequence[tuple[Path, delta.DataFile]] = ()
    remove: Sequence[delta.DataFile] = ()


def history(root: Path) -> pl.DataFrame:
    """Give every row of the manifest, oldest first."""
    folder = table_folder(root, BATCHES)
    if not delta.exists(folder):
        return pl.DataFrame(schema=_ROW)
    paths = [folder / file.path for file in delta.files(folder)]
    return pl.concat([pl.read_parquet(path, glob=False) for path in paths]).cast(dict(_ROW)).sort("seq")  # type: ignore[arg-type]


def snapshot(root: Path, seq: int | None = None) -> Snapshot:
    """Give the newest snapshot, or the one of batch ``seq``.

    Raises
    ------
    StoreError
        Where there is no such batch, or the manifest cannot be read.
    """
    folder = table_folder(root, BATCHES)
    listed = delta.files(folder) if delta.exists(folder) else ()
    if not listed or seq == 0:
        if seq in (None, 0):
            return Snapshot(root)
        raise StoreError(f"{root} has no version {seq}: it is empty.")
    named = {int(Path(file.path).name.split("-")[0]): file for file in listed}
    wanted = max(named) if seq is None else seq
    if wanted not in named:
        raise StoreError(f"{root} has no version {seq}; its versions are {min(named)} to {max(named)}.")
    try:
        row = pl.read_parquet(folder / named[wanted].path, glob=False).row(0, named=True)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(f"The manifest of {root} cannot be read: {error}. Restore the store from a copy.") from None
    return Snapshot(root, int(row["seq"]), json.loads(row["versions"]))


def commit(
    root: Path,
    changes: Sequence[Change],
    *,
    batch: str,
    what: str,
    still_right: Callable[[Snapshot], bool] = lambda _: True,
) -> Snapshot | None:
    """Commit a batch to all its tables; visible at once when the manifest's row is written.

    Parameters
    ----------
    root : pathlib.Path
    changes : sequence of Change
    batch : str
        Id of the batch; stands in the names of its files.
    what : str
        ``ingest`` or ``compact``.
    still_right : callable
        Asked under the lock with the newest snapshot; False: somebody else committed meanwhile in
        a way that matters, nothing is written and None is returned.

    Raises
    ------
    StoreError
        Where the store cannot be locked or written.
    """
    with held(lock_file(root)):
        now = recover(root)
        if not still_right(now):
            return None
        try:
            versions = {**now.versions, **{change.table: _apply(root, change) for change in changes}}
            return _append_row(Snapshot(root, now.seq + 1, versions), batch, what)
        except (OSError, DeltaError) as error:
            raise write_error(root, error) from None


def _apply(root: Path, change: Change) -> int:
    """Move the files of a change into its table, and commit them; give the new version."""
    folder = table_folder(root, change.table)
    for staged, file in change.add:
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        staged.replace(target)
    return delta.apply(folder, change.schema, [file for _, file in change.add], change.remove)


def write_error(root: Path, error: Exception) -> ResourceError | StoreError:
    """Say why a commit failed, and what is left."""
    left = "What was committed before stays; nothing half-written is visible."
    if shutil.disk_usage(root).free < _NO_SPACE:
        return ResourceError(f"The disk of {root} is full. {left} Free some space and run it again.")
    return StoreError(f"Cannot write to {root}: {error}. {left}")


def _append_row(new: Snapshot, batch: str, what: str) -> Snapshot:
    root, seq = new.root, new.seq
    folder = table_folder(root, BATCHES)
    folder.mkdir(parents=True, exist_ok=True)
    row = {
        "seq": [seq],
        "batch": [batch],
        "at": [int(time.time() * 1e6)],
        "what": [what],
        "versions": [json.dumps(new.versions, sort_keys=True)],
    }
    table = pa.table(row, schema=arrow_schema(_ROW))
    name = f"{seq:012d}-{uuid4().hex[:12]}.parquet"  # a second name: a dead writer may have left the first
    pq.write_table(table, folder / name, compression="zstd")
    delta.apply(folder, table.schema, [delta.DataFile(path=name, bytes=(folder / name).stat().st_size, rows=1)])
    return new


def recover(root: Path) -> Snapshot:
    """Take back what dead writers left beyond the manifest; call it under the lock.

    Tables that are ahead of the last row are restored to it, tables that no row names are removed,
    and staging folders whose owner is gone are emptied.
    """
    last = snapshot(root)
    folder = root / "tables"
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name in (BATCHES, LEDGER) or not path.is_dir():
            continue
        if path.name not in last.versions:
            shutil.rmtree(path)
        elif delta.latest_version(path) != last.versions[path.name]:
            pinned = {file.path for file in delta.files(path, last.versions[path.name])}
            if pinned != {file.path for file in delta.files(path)}:
                delta.restore(path, last.versions[path.name])
    _sweep_staging(root, last)
    return last


def _sweep_staging(root: Path, last: Snapshot) -> None:
    """Remove what ingests that are no longer alive have staged."""
    folder = staging_folder(root)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.is_dir():
            continue
        with try_hold(path / "alive") as dead:
            if dead:
                _remove_orphans(root, path.name, last)
                shutil.rmtree(path, ignore_errors=True)


def _remove_orphans(root: Path, batch: str, last: Snapshot) -> None:
    """Remove files that a dead batch had moved into tables without committing them."""
    for path in (root / "tables").glob(f"*/**/{batch}-*.parquet"):
        table = path.relative_to(root / "tables").parts[0]
        known = {str(table_folder(root, table) / file.path) for file in last.files(table)}
        if str(path) not in known:
            path.unlink(missing_ok=True)
