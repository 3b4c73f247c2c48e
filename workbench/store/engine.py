"""DuckDB over one snapshot of a store: views by name, nothing else within reach."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from workbench.errors import ResourceError, StoreError, UsageError
from workbench.store.layout import FIXED, LEDGER, SAMPLES_LONG, is_wide, table_folder
from workbench.store.manifest import Snapshot
from workbench.store.renames import renames
from workbench.store.samples import identifier, literal, metrics_asked_for, samples_view
from workbench.store.tables import read_fixed

__all__ = ["Engine", "Parameters"]

Parameters = Sequence[Any] | Mapping[str, Any] | None
_SQL_TYPE = {pl.String(): "varchar", pl.Int64(): "bigint", pl.Float64(): "double", pl.Boolean(): "boolean"}


class Engine:
    """Answers SQL on one snapshot.

    The connection sees the files of the store and nothing else: no other file, no network, no
    extension, no Python variable; its settings are locked. Times are UTC whatever the machine's zone.

    Parameters
    ----------
    now : Snapshot
    ledger : sequence of str
        Files of the ledger, which is not part of a snapshot.
    """

    def __init__(self, now: Snapshot, ledger: Sequence[str] = ()) -> None:
        self._now = now
        self._ledger = list(ledger)
        self._lock = threading.Lock()

    @cached_property
    def metrics(self) -> pl.DataFrame:
        """One row per column or long metric."""
        keys = [name for name in FIXED["metrics"] if name != "raw_name"]
        return (
            read_fixed(self._now, "metrics")
            .group_by(keys, maintain_order=True)
            .agg(pl.col("raw_name").unique(maintain_order=True))
        )

    def ask(self, query: str, parameters: Parameters = None) -> pl.DataFrame:
        """Answer one query.

        Raises
        ------
        UsageError
            Where DuckDB cannot make sense of it, in DuckDB's words.
        ResourceError
            Where it needs more memory or disk than there is.
        StoreError
            Where a file of the store is missing or damaged.
        """
        cursor = self.cursor()
        try:
            names = metrics_asked_for(cursor, query, parameters)
            if names:
                cursor.execute(f"create or replace temp view samples as {samples_view(self.metrics, names)}")
            arrow = cursor.sql(query, params=parameters).to_arrow_table()
        except duckdb.OutOfMemoryException as error:
            raise ResourceError(
                f"The query needs more memory than there is: {error}. Narrow it by time, entity or metric."
            ) from None
        except (duckdb.IOException, duckdb.InternalException) as error:
            raise StoreError(
                f"The store {self._now.root} cannot be read: {error}. See workbench store check."
            ) from None
        except duckdb.Error as error:
            raise UsageError(
                f"The query does not work: {error}\nSee store.catalog() for metrics; views: {', '.join(self.views)}."
            ) from None
        finally:
            cursor.close()
        frame = pl.from_arrow(arrow)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Give a connection of its own, for one query or one thread."""
        with self._lock:
            return self._connection.cursor()

    @cached_property
    def views(self) -> tuple[str, ...]:
        """Names of the views."""
        wide = [table for table in self._now.tables if is_wide(table)]
        return ("samples", *FIXED, LEDGER, *wide)

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(config={"python_enable_replacements": False})
        root = self._now.root.resolve()
        spill = tempfile.mkdtemp(prefix="workbench-")
        atexit.register(shutil.rmtree, spill, ignore_errors=True)
        for setting in (
            "set global timezone = 'UTC'",
            f"set temp_directory = {literal(spill)}",
            f"set allowed_directories = [{literal(str(root / 'tables'))}]",
            "set enable_external_access = false",
            "set preserve_insertion_order = true",
            "set lock_configuration = true",
        ):
            connection.execute(setting)
        self._create_views(connection)
        return connection

    def _create_views(self, connection: duckdb.DuckDBPyConnection) -> None:
        moved = renames(self._now)
        if moved.height:
            connection.register("_moved", moved.to_arrow())
            connection.execute("create table renames as from _moved")
            connection.unregister("_moved")
        for table, schema in FIXED.items():
            columns = {name: _sql_type(kind) for name, kind in schema.items()}
            connection.execute(f"create view {_raw(table)} as {self._scan(table, columns)}")
            connection.execute(
                f"create view {identifier(table)} as {_fixed_view(table, columns, renamed=bool(moved.height))}"
            )
        for table in self._now.tables:
            if is_wide(table):
                connection.execute(
                    f"create view {identifier(table)} as {self._wide_view(table, renamed=bool(moved.height))}"
                )
        connection.execute(
            f"create view {LEDGER} as {_files_scan(self._ledger) if self._ledger else 'select 1 as nothing where false'}"
        )
        connection.execute(f"create view samples as {samples_view(self.metrics)}")

    def _wide_view(self, table: str, *, renamed: bool) -> str:
        mine = self.metrics.filter((pl.col("table") == table) & pl.col("column").is_not_null())
        metrics = {
            row["column"]: "bigint" if row["type"] == "int64" else "double" for row in mine.iter_rows(named=True)
        }
        columns = {"ts": "timestamptz", "entity": "varchar", **metrics, "source": "varchar"}
        scan = self._scan(table, columns)
        return _renamed(scan, list(columns), "ts") if renamed else scan

    def _scan(self, table: str, columns: Mapping[str, str]) -> str:
        nothing = ", ".join(f"null::{kind} as {identifier(name)}" for name, kind in columns.items())
        names = ", ".join(identifier(name) for name in columns)
        paths = self._now.paths(table)
        if not paths:
            return f"select {nothing} where false"
        # The empty arm gives columns that no file holds any more.
        return f"select {names} from (from ({_files_scan(paths)}) union all by name select {nothing} where false)"


def _files_scan(paths: Sequence[str]) -> str:
    listed = ", ".join(literal(str(Path(path).resolve())) for path in paths)
    return f"select * from read_parquet([{listed}], union_by_name = true, hive_partitioning = false)"


def _sql_type(kind: pl.DataType) -> str:
    if isinstance(kind, pl.List):
        return f"{_sql_type(kind.inner)}[]"  # type: ignore[arg-type]
    return "timestamptz" if isinstance(kind, pl.Datetime) else _SQL_TYPE[kind]


def _raw(table: str) -> str:
    return f'"_{table}"'


def _renamed(scan: str, columns: Sequence[str], at: str | None) -> str:
    """Let aliases that came later speak: rows kept under an index show the lasting name."""
    moment = f"g.{at}" if at else "null::timestamptz"
    shown = ", ".join(
        "coalesce(r.entity, g.entity) as entity" if name == "entity" else f"g.{identifier(name)}" for name in columns
    )
    when = f"epoch_us({moment}) >= r.start_us and epoch_us({moment}) < r.end_us" if at else "r.always"
    return f"select {shown} from ({scan}) g left join renames r on g.entity = r.old and {when}"


_TIMES = {SAMPLES_LONG: "ts", "events": "ts", "series": "first", "observed": "start"}


def _fixed_view(table: str, columns: Mapping[str, str], *, renamed: bool) -> str:
    scan = f"from {_raw(table)}"
    if renamed and "entity" in columns and table != "jobs":
        at = _TIMES.get(table)
        scan = _renamed(scan, list(columns), identifier(at) if at else None)
    if table == "jobs":
        return _jobs_view()
    if table == "entities":
        # What a reader states of an entity stands in place of the row that only says it exists.
        return (
            f"with told as ({scan}), best as (select *, bool_or(source is not null) over (partition by entity) as stated from told) "
            "select distinct entity, kind, host, name, regexp_extract(entity, '^(.*)/[^/]*$', 1) as parent, attributes, valid_from, valid_to, source "
            "from best where source is not null or not stated"
        )
    return scan


def _jobs_view() -> str:
    """Several dumps tell of the same run of a job: the last one to end it, or the newest, is right."""
    return (
        "with ranked as (select *, row_number() over (partition by job, coalesce(start, submitted) "
        'order by ("end" is not null) desc, batch desc, source desc, line desc) as choice from "_jobs") '
        "select job, row_number() over (partition by job order by coalesce(start, submitted) nulls last, attempt) as attempt, "
        'submitted, start, "end", state, "exit", "user", name, entity, entities, line, source from ranked where choice = 1'
    )


def ledger_paths(root: Path) -> list[str]:
    """Give the files of the ledger as it is now."""
    from workbench.store import delta

    folder = table_folder(root, LEDGER)
    return [str(folder / file.path) for file in delta.files(folder)] if delta.exists(folder) else []
