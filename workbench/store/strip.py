"""Taking the rows of some files out of all tables: their content is read again under another context."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.store.delta import DataFile
from workbench.store.finalise import Output
from workbench.store.layout import FIXED, arrow_schema, table_folder
from workbench.store.manifest import Snapshot

__all__ = ["strip_sources"]


Taken = Callable[[str, pa.Table], None]


def strip_sources(
    output: Output, base: Snapshot, sources: set[str], taken: Taken, *, tables: Sequence[str] | None = None
) -> None:
    """Rewrite every file that holds rows of ``sources`` without them; a file with nothing else goes.

    Parameters
    ----------
    output : Output
        Takes what is to be committed.
    base : Snapshot
    sources : set of str
        Ids of files.
    taken : callable
        ``(table, rows)``: is given what goes.
    tables : sequence of str, optional
        Only these.
    """
    wanted = pa.array(sorted(sources), pa.string())
    for table in base.tables if tables is None else tables:
        folder = table_folder(base.root, table)
        for file in base.files(table):
            path = folder / file.path
            schema = pq.read_schema(path)
            if "source" in schema.names and _holds(path, wanted):
                _rewrite(output, (table, path, file), wanted, taken)


def _holds(path: Path, wanted: pa.Array) -> bool:
    with pq.ParquetFile(path) as file:
        return any(
            pc.any(pc.is_in(file.read_row_group(group, columns=["source"])["source"], value_set=wanted)).as_py()
            for group in range(file.num_row_groups)
        )


def _rewrite(output: Output, old: tuple[str, Path, DataFile], wanted: pa.Array, taken: Taken) -> None:
    """Write one file again, group by group, in its order."""
    table, path, listed = old
    with pq.ParquetFile(path) as file:
        schema = arrow_schema(FIXED[table]) if table in FIXED else file.schema_arrow.remove_metadata()

        def kept() -> Iterator[pa.Table]:
            for group in range(file.num_row_groups):
                rows = _filled(file.read_row_group(group), schema)
                mine = pc.fill_null(pc.is_in(rows["source"], value_set=wanted), False)
                taken(table, rows.filter(mine))
                yield rows.filter(pc.invert(mine))

        output.write(table, schema, kept(), listed.day)
    output.put(table, schema, remove=[listed])


def _filled(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Add the columns that came later than the file."""
    for field in schema:
        if field.name not in rows.schema.names:
            rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows
