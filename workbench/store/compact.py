"""Compaction: many small files of a table become few, in the order and encodings of a fresh ingest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from workbench.model.frames import TS
from workbench.store.blocks import even_width
from workbench.store.delta import DataFile
from workbench.store.finalise import Output, spans_of_day
from workbench.store.identity import merged_aliases
from workbench.store.layout import BY_DAY, FIXED, SAMPLES_LONG, WIDE_KEYS, arrow_schema, is_wide, table_folder
from workbench.store.manifest import Snapshot, commit, snapshot
from workbench.store.seen import join_intervals
from workbench.store.staging import staging
from workbench.store.tables import read_part

__all__ = ["MANY_FILES", "compact", "crowded"]

#: A day of a table, or a fixed table, with more files than this is compacted after an ingest.
MANY_FILES = 50
#: Files of so many rows are large enough; they stay as they are.
_LARGE = 1_000_000
_MOST_ROWS = 1_000_000
_ORDER = {SAMPLES_LONG: ["metric", "entity", "labels", "source", "ts"], "events": ["ts", "entity", "kind", "line"]}
#: One group of files that become one: table, day, files.
Group = tuple[str, date | None, tuple[DataFile, ...]]
_REPORT = pl.Schema(
    {
        "table": pl.String(), "day": pl.Date(), "files_before": pl.Int64(), "files_after": pl.Int64(),
        "bytes_before": pl.Int64(), "bytes_after": pl.Int64(),
    }
)  # fmt: skip


def crowded(now: Snapshot, more_than: int = 1) -> list[Group]:
    """Give what has more than so many small files."""
    groups: list[Group] = []
    for table in now.tables:
        days: dict[date | None, list[DataFile]] = {}
        for file in now.files(table):
            if file.rows < _LARGE or is_wide(table) or table in BY_DAY:
                days.setdefault(file.day, []).append(file)
        groups += [(table, day, tuple(files)) for day, files in days.items() if len(files) > more_than]
    return groups


def compact(root: Path, *, more_than: int = 1) -> pl.DataFrame:
    """Rewrite each day of each table that has more than ``more_than`` files into one file.

    Rows, values and ids stay as they are; readers of older versions go on. Old files go with
    :func:`workbench.store.check.vacuum`.

    Returns
    -------
    polars.DataFrame
        What was rewritten; sizes in bytes.
    """
    with staging(root) as (batch, folder):
        while True:
            now = snapshot(root)
            groups = crowded(now, more_than)
            if not groups:
                return pl.DataFrame(schema=_REPORT)
            out = folder / "out"
            out.mkdir(exist_ok=True)
            output = Output(batch, out)
            for table, day, files in groups:
                _rewrite(output, now, (table, day, files))
            if (
                commit(root, list(output.changes.values()), batch=batch, what="compact", still_right=_still(output))
                is not None
            ):
                return _told(output, groups)
            for path in out.iterdir():  # an ingest replaced some of these files meanwhile: look again
                path.unlink()


def _still(output: Output) -> Callable[[Snapshot], bool]:
    """Tell whether every file that is to go is still there."""

    def check(now: Snapshot) -> bool:
        return all({f.path for f in c.remove} <= {f.path for f in now.files(c.table)} for c in output.changes.values())

    return check


def _told(output: Output, groups: Sequence[Group]) -> pl.DataFrame:
    rows = []
    for table, day, files in groups:
        new = [file for _, file in output.changes[table].add if file.day == day]
        rows.append(
            {
                "table": table, "day": day, "files_before": len(files), "files_after": len(new),
                "bytes_before": sum(f.bytes for f in files), "bytes_after": sum(f.bytes for f in new),
            }
        )  # fmt: skip
    return pl.DataFrame(rows, schema=_REPORT)


def _rewrite(output: Output, now: Snapshot, group: Group) -> None:
    table, day, files = group
    paths = [table_folder(now.root, table) / file.path for file in files]
    schema = arrow_schema(FIXED[table]) if table in FIXED else _wide_schema(paths)
    output.write(table, schema, _pieces(group, paths, schema), day)
    output.put(table, schema, remove=files)


def _wide_schema(paths: Sequence[Path]) -> pa.Schema:
    """Give the keys and every metric column of some files."""
    whole = pa.unify_schemas([pq.read_schema(path).remove_metadata() for path in paths])
    metrics = sorted(set(whole.names) - set(WIDE_KEYS))
    return pa.schema([whole.field(name) for name in ("ts", "entity", *metrics, "source")])


def _pieces(group: Group, paths: Sequence[Path], schema: pa.Schema) -> Iterator[pa.Table]:
    table, day, files = group
    if day is None:
        rows = pl.concat([read_part(str(path), FIXED[table]) for path in paths])
        yield _merged(table, rows).to_arrow().cast(schema)
        return
    kinds = pl.Schema(pl.from_arrow(schema.empty_table()).schema)  # type: ignore[union-attr]
    scan = pl.scan_parquet(
        list(paths), glob=False, schema={**kinds, "ts": TS}, missing_columns="insert", hive_partitioning=False
    )
    order = _ORDER.get(table, ["entity", "ts", "source"])
    for start, end in spans_of_day(day, even_width(sum(file.rows for file in files), _MOST_ROWS)):
        inside = (pl.col("ts") >= _moment(start)) & (pl.col("ts") < _moment(end))
        yield scan.filter(inside).sort(order).collect().select(schema.names).to_arrow().cast(schema)


def _moment(us: int) -> pl.Expr:
    return pl.lit(us).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


def _merged(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Say once what several ingests said of the same thing."""
    if table == "aliases":
        merged = merged_aliases(rows, by=("cluster", "host", "kind", "name", "source"))
    elif table == "observed":
        merged = join_intervals(rows, ["entity", "what", "reader", "source"])
    elif table == "series":
        by = ["table", "entity", "metric", "labels", "unit", "kind", "source"]
        merged = rows.group_by(by, maintain_order=True).agg(
            pl.col("first").min(), pl.col("last").max(), pl.col("count").sum(), pl.col("interval_s").median()
        )
    elif table in ("links", "entities"):
        merged = rows.unique(maintain_order=True)
    elif table in _ORDER:
        merged = rows.sort(_ORDER[table], nulls_last=True)
    else:
        merged = rows
    return merged.select(list(FIXED[table]))
