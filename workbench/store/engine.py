"""DuckDB over one snapshot of a store: views by name, nothing else within reach."""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from workbench.errors import ResourceError, StoreError, UsageError
from workbench.store import delta
from workbench.store.aligned import aligned_view
from workbench.store.asked import SAMPLES, SAMPLES_OF, Asked, asked_of, words_of
from workbench.store.clocks import clock_shifts, clocks
from workbench.store.layout import FIXED, LEDGER, SAMPLES_LONG, is_wide, table_folder
from workbench.store.manifest import Snapshot
from workbench.store.renames import renames
from workbench.store.samples import identifier, literal, samples_view
from workbench.store.tables import read_fixed

__all__ = ["Engine", "Parameters", "ledger_paths"]

Parameters = Sequence[Any] | Mapping[str, Any] | None
#: All events as told; ``events`` has each once.
EVENTS_TOLD = "events_told"
#: How far clocks are off; and events with what is known of that taken off their times.
CLOCKS, EVENTS_ALIGNED = "clocks", "events_aligned"
#: Below so many files a table is always read through one view.
_FEW_FILES = 8
#: Words of queries about the tables themselves: these see every view.
_ABOUT_TABLES = frozenset(
    {"show", "information_schema", "duckdb_tables", "duckdb_views", "duckdb_columns", "pg_catalog", "sqlite_master"}
)
_SQL_TYPE = {pl.String(): "varchar", pl.Int64(): "bigint", pl.Float64(): "double", pl.Boolean(): "boolean"}

_LAST_US = 253_402_300_799_999_999  # the end of year 9999


def _stoppable(cursor: duckdb.DuckDBPyConnection, work: Callable[[], pa.Table]) -> pa.Table:
    """Work beside the main thread, which alone hears an interrupt and while DuckDB works does not."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    with ThreadPoolExecutor(max_workers=1) as pool:
        answer = pool.submit(work)
        try:
            while not wait([answer], timeout=0.2).done:
                pass
        except KeyboardInterrupt:
            cursor.interrupt()
            raise
        return answer.result()


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
        self._lock = threading.RLock()
        self._made: set[str] = set()
        self._renamed = False

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
        try:
            cursor = self.cursor()
            try:
                self._prepare(cursor, query, parameters)
                arrow = _stoppable(cursor, lambda: cursor.sql(query, params=parameters).to_arrow_table())
            finally:
                cursor.close()
        except duckdb.OutOfMemoryException as error:
            raise ResourceError(
                f"The query needs more memory than there is: {error}. Narrow it by time, entity or metric."
            ) from None
        except (duckdb.IOException, duckdb.InternalException) as error:
            raise StoreError(
                f"The store {self._now.root} cannot be read: {error}. workbench store check names what is damaged."
            ) from None
        except duckdb.Error as error:
            raise UsageError(
                f"The query does not work: {error}\nSee store.catalog() for metrics; views: {', '.join(self.views)}."
            ) from None
        try:
            frame = pl.from_arrow(arrow)
        except pl.exceptions.PolarsError as error:
            raise UsageError(
                f"The answer cannot be a table: {error}. Give each column a name of its own, and cast intervals to text."
            ) from None
        assert isinstance(frame, pl.DataFrame)
        for name, kind in frame.schema.items():
            if isinstance(kind, pl.Datetime) and (frame[name].to_physical().abs() > _LAST_US).any():
                raise UsageError(f"Column {name} holds times before year 1 or after 9999; leave out infinity.")
        return frame

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Give a connection of its own, for one query or one thread."""
        with self._lock:
            return self._connection.cursor()

    @cached_property
    def views(self) -> tuple[str, ...]:
        """Names of the views."""
        wide = [table for table in self._now.tables if is_wide(table)]
        return (SAMPLES, *FIXED, EVENTS_TOLD, CLOCKS, EVENTS_ALIGNED, LEDGER, *wide)

    def _prepare(self, cursor: duckdb.DuckDBPyConnection, query: str, parameters: Parameters) -> None:
        """Make the views that a query names; those that it asks only a part of, for this query alone."""
        words = words_of(query)
        named = [view for view in self.views if view in words or words & _ABOUT_TABLES]
        long = bool(words & {SAMPLES, SAMPLES_OF})
        asked = asked_of(cursor, query, parameters) if named or long else Asked(metrics=None, spans={})
        for view in named:
            if view != SAMPLES:
                self._make_view(view)
                pruned = self._pruned(view, asked.spans.get(view, (None, None)))
                if pruned is not None:
                    cursor.execute(f"create temp view {identifier(view)} as {self._view(view, pruned)}")
        if long:
            self._make_samples(cursor, asked)

    def _make_samples(self, cursor: duckdb.DuckDBPyConnection, asked: Asked) -> None:
        span = asked.spans.get(SAMPLES, (None, None))
        facts = (
            self.metrics if asked.metrics is None else self.metrics.filter(pl.col("metric").is_in(list(asked.metrics)))
        )

        def source(table: str) -> str:
            pruned = self._pruned(table, span)
            if pruned is not None:
                return f"({self._view(table, pruned)})"
            self._make_view(table)
            return identifier(table)

        cursor.execute(f"create temp view {SAMPLES} as {samples_view(facts, asked.metrics, source=source)}")

    def _pruned(self, table: str, span: tuple[int | None, int | None]) -> list[str] | None:
        """Give the files of a table that a time needs; None where leaving out the others does not pay."""
        if span == (None, None) or len(self._now.files(table)) < _FEW_FILES:
            return None
        return self._now.paths(table, first_us=span[0], last_us=span[1])

    def _make_view(self, view: str) -> None:
        """Make a view for good; not before it is named, because that reads the end of each of its files."""
        with self._lock:
            if view in self._made:
                return
            if view == CLOCKS:
                self._keep(CLOCKS, self.clocks)
            elif view == EVENTS_ALIGNED:
                self._keep("clock_shifts", clock_shifts(self.clocks))
                for needed in ("events", "files"):
                    self._make_view(needed)
                self._connection.execute(f"create view {EVENTS_ALIGNED} as {aligned_view()}")
            else:
                self._connection.execute(f"create view {identifier(view)} as {self._view(view, self._now.paths(view))}")
            self._made.add(view)

    @cached_property
    def clocks(self) -> pl.DataFrame:
        """How far the clocks of hosts are off: :func:`workbench.store.clocks.clocks`."""
        return clocks(self.ask)

    def _keep(self, table: str, rows: pl.DataFrame) -> None:
        """Put rows into a table of the connection."""
        self._connection.register("_kept", rows.to_arrow())
        self._connection.execute(f"create table {identifier(table)} as from _kept")
        self._connection.unregister("_kept")

    def _view(self, view: str, paths: Sequence[str]) -> str:
        if view == LEDGER:
            return _files_scan(self._ledger) if self._ledger else "select null::varchar as nothing where false"
        if view == EVENTS_TOLD:
            return self._told("events", self._now.paths("events"))
        if view == "events":
            return _once(self._told(view, paths))
        if view in FIXED:
            return self._told(view, paths)
        mine = self.metrics.filter((pl.col("table") == view) & pl.col("column").is_not_null())
        metrics = {
            row["column"]: "bigint" if row["type"] == "int64" else "double" for row in mine.iter_rows(named=True)
        }
        columns = {"ts": "timestamptz", "entity": "varchar", **metrics, "source": "varchar"}
        scan = _scan(paths, columns)
        return _with_new_names(scan, list(columns), "ts") if self._renamed else scan

    def _told(self, table: str, paths: Sequence[str]) -> str:
        """Write the view of a fixed table, with all that files told."""
        columns = {name: _sql_type(kind) for name, kind in FIXED[table].items()}
        return _fixed_view(table, columns, _scan(paths, columns), renamed=self._renamed)

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(config={"python_enable_replacements": False})
        tables = str(self._now.root.resolve() / "tables")
        spill = tempfile.mkdtemp(prefix="workbench-")
        weakref.finalize(self, shutil.rmtree, spill, ignore_errors=True)
        for setting in (
            "set global timezone = 'UTC'",
            f"set temp_directory = {literal(spill)}",
            f"set allowed_directories = [{literal(tables)}, {literal(_exactly(tables))}]",
            "set enable_external_access = false",
            "set lock_configuration = true",
            f"create view {SAMPLES} as {samples_view(pl.DataFrame(schema=FIXED['metrics']), source=_no_rows)}",  # stands in for the queries' own
            f"create macro {SAMPLES_OF}(names) as table select * from {SAMPLES} where list_contains(names, metric)",
        ):
            connection.execute(setting)
        moved = renames(self._now)
        self._renamed = moved.height > 0
        if self._renamed:
            connection.register("_moved", moved.to_arrow())
            connection.execute("create table renames as from _moved")
            connection.unregister("_moved")
        return connection


def _no_rows(table: str) -> str:
    return f"({_scan([], {name: _sql_type(kind) for name, kind in FIXED[table].items()})})"


def _scan(paths: Sequence[str], columns: Mapping[str, str]) -> str:
    nothing = ", ".join(f"null::{kind} as {identifier(name)}" for name, kind in columns.items())
    if not paths:
        return f"select {nothing} where false"
    names = ", ".join(identifier(name) for name in columns)
    # The empty arm gives columns that no file holds any more.
    return f"select {names} from (from ({_files_scan(paths)}) union all by name select {nothing} where false)"


def _files_scan(paths: Sequence[str]) -> str:
    listed = ", ".join(literal(_exactly(str(Path(path).resolve()))) for path in paths)
    return f"select * from read_parquet([{listed}], union_by_name = true, hive_partitioning = false)"


def _exactly(path: str) -> str:
    """Write a path so that DuckDB takes ``* ? [`` in it for what they are."""
    return re.sub(r"[*?\[]", r"[\g<0>]", path)


def _sql_type(kind: pl.DataType) -> str:
    if isinstance(kind, pl.List):
        return f"{_sql_type(kind.inner)}[]"  # type: ignore[arg-type]
    return "timestamptz" if isinstance(kind, pl.Datetime) else _SQL_TYPE[kind]


def _with_new_names(scan: str, columns: Sequence[str], at: str | None) -> str:
    """Let aliases that came later speak: rows kept under an index show the lasting name."""
    moment = f"g.{at}" if at else "null::timestamptz"
    shown = ", ".join(
        "coalesce(r.entity, g.entity) as entity" if name == "entity" else f"g.{identifier(name)}" for name in columns
    )
    when = f"epoch_us({moment}) >= r.start_us and epoch_us({moment}) < r.end_us" if at else "r.always"
    return f"select {shown} from ({scan}) g left join renames r on g.entity = r.old and {when}"


_TIMES = {SAMPLES_LONG: "ts", "events": "ts", "series": "first", "observed": "start"}


#: Second columns that hold ids.
_ALSO = {"links": "to_entity", "entities": "host"}


def _with_other_end(scan: str, column: str) -> str:
    shown = f"coalesce(o.entity, g.{column}) as {column}"
    return f"select g.* replace ({shown}) from ({scan}) g left join renames o on g.{column} = o.old and o.always"


def _with_new_hosts(jobs: str) -> str:
    names = "(select coalesce(map(list(old), list(entity)), map()) as names from renames where always)"
    shown = "list_distinct(list_transform(entities, lambda x: coalesce(n.names[x], x))) as entities"
    return f"select j.* replace ({shown}) from ({jobs}) j cross join {names} n"


def _fixed_view(table: str, columns: Mapping[str, str], scan: str, *, renamed: bool) -> str:
    if table == "jobs":
        return _jobs_view(_with_new_hosts(scan) if renamed else scan)
    if renamed and table in _ALSO:
        scan = _with_other_end(scan, _ALSO[table])
    if renamed and "entity" in columns:
        at = _TIMES.get(table)
        scan = _with_new_names(scan, list(columns), identifier(at) if at else None)
    if table == "series":
        return _summed_series(scan)
    if table == "links":
        return f"select distinct * from ({scan})"  # every ingest of files that stay tells them again
    if table == "entities":
        # What a reader states of an entity stands in place of the row that only says it exists.
        name = "regexp_replace(regexp_extract(entity, '[^/]*$'), '^[^:]*:', '') as name"
        parent = "nullif(regexp_extract(entity, '^(.*)/[^/]*$', 1), '') as parent"
        bare = "attributes = '{}' and valid_from is null and valid_to is null"
        return (
            f"with told as (select *, bool_and({bare}) over (partition by entity) as only_bare from ({scan})) "
            f"select entity, kind, host, {name}, {parent}, attributes, valid_from, valid_to, min(source) as source "
            f"from told where only_bare or not ({bare}) group by all"
        )
    return scan


def _summed_series(scan: str) -> str:
    """Say once of each series what several ingests told; what a superseded file had told is taken back."""
    return (
        'select "table", entity, metric, labels, unit, kind, min(first) as first, max(last) as last, '
        "sum(count)::bigint as count, median(interval_s) as interval_s, source "
        f"from ({scan}) group by all having sum(count) > 0"
    )


def _once(events: str) -> str:
    """Leave out events that another file tells in the same words: dumps of one log overlap.

    What one file tells several times, it tells of several events.
    """
    first = "min(source) over (partition by ts, entity, kind, code, message)"
    return f"select * from ({events}) qualify source = {first}"


def _jobs_view(scan: str) -> str:
    """Several dumps tell of the same run of a job: the last one to end it, or the newest, is right."""
    return (
        "with ranked as (select *, row_number() over (partition by job, coalesce(start, submitted) "
        f'order by ("end" is not null) desc, batch desc, source desc, line desc) as choice from ({scan})) '
        "select job, row_number() over (partition by job order by coalesce(start, submitted) nulls last, attempt) as attempt, "
        'submitted, start, "end", state, "exit", "user", name, entity, entities, line, source from ranked where choice = 1'
    )


def ledger_paths(root: Path) -> list[str]:
    """Give the files of the ledger as it is now."""
    folder = table_folder(root, LEDGER)
    return [str(folder / file.path) for file in delta.files(folder)] if delta.exists(folder) else []
