"""Parquet files written so that they are small and fast to read: encodings by trial, even row groups."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from workbench.errors import ResourceError
from workbench.store.delta import DataFile

__all__ = ["ROW_GROUP", "TRIAL_ROWS", "Encodings", "FileWriter", "arrow_numbers", "choose_encodings"]

#: Largest row group. Between 46,000 and 123,000 rows both one entity and one metric read fast.
ROW_GROUP = 122_880
TRIAL_ROWS = 32_768
_ZSTD = 3
_DICTIONARY = "DICTIONARY"
_CANDIDATES = {
    "float": (_DICTIONARY, "PLAIN", "BYTE_STREAM_SPLIT"),
    "int": (_DICTIONARY, "PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"),
}
#: Statistics inside the file help to skip row groups by these columns only.
_SORT_KEYS = ("ts", "entity", "metric", "source", "first", "start")


@dataclass(frozen=True, eq=False)
class Encodings:
    """The encoding of each column; columns that are not named take a dictionary."""

    by_column: Mapping[str, str] = field(default_factory=dict)

    def writer_options(self, schema: pa.Schema) -> dict[str, object]:
        """Give the options of ``pyarrow.parquet.ParquetWriter`` for a schema."""
        plain = {name: kind for name, kind in self.by_column.items() if kind != _DICTIONARY and name in schema.names}
        leaves = [n for n in schema.names if n not in plain and not pa.types.is_nested(schema.field(n).type)]
        return {"column_encoding": plain or None, "use_dictionary": leaves or False}


def choose_encodings(table: pa.Table) -> Encodings:
    """Choose the smallest encoding of each number column by writing a sample of it.

    No rule by type is right: doubles with 3 decimals take 3.1 bytes plain and 6.3 byte-split, full
    mantissas the other way round. The sample is cut from the middle of rows in their final order.

    Parameters
    ----------
    table : pyarrow.Table
        Rows as they will be written.

    Examples
    --------
    >>> ramp = pa.table({"count": pa.array(range(100_000, 140_000), pa.int64())})
    >>> choose_encodings(ramp).by_column
    {'count': 'DELTA_BINARY_PACKED'}
    """
    start = max(0, (table.num_rows - TRIAL_ROWS) // 2)
    sample = table.slice(start, TRIAL_ROWS).combine_chunks()
    chosen = {}
    for name in sample.column_names:
        candidates = _candidates(sample.schema.field(name).type)
        if candidates:
            column = sample.select([name])
            chosen[name] = min(candidates, key=lambda encoding: _written_size(column, name, encoding))
    return Encodings(chosen)


def _candidates(kind: pa.DataType) -> tuple[str, ...]:
    if pa.types.is_floating(kind):
        return _CANDIDATES["float"]
    if pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
        return _CANDIDATES["int"]
    return ()


def _written_size(column: pa.Table, name: str, encoding: str) -> int:
    buffer = io.BytesIO()
    options = Encodings({name: encoding}).writer_options(column.schema)
    pq.write_table(
        column,
        buffer,
        compression="zstd",
        compression_level=_ZSTD,
        write_statistics=False,
        store_schema=False,
        **options,
    )
    return buffer.tell()


def arrow_numbers(values: NDArray[Any], kind: pa.DataType, valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Give numbers as an Arrow array without a copy; not ``valid``: null.

    ``pyarrow.array`` would import pandas to look at them, which takes half a second and may not be there.

    Examples
    --------
    >>> arrow_numbers(np.array([1, 2]), pa.int64(), np.array([True, False])).to_pylist()
    [1, None]
    """
    mask = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, values.size, [mask, pa.py_buffer(np.ascontiguousarray(values))])


class FileWriter:
    """Writes one Parquet file block by block, and tells what it holds.

    Parameters
    ----------
    path : pathlib.Path
        Where to write.
    schema : pyarrow.Schema
    encodings : Encodings
    """

    def __init__(self, path: Path, schema: pa.Schema, encodings: Encodings) -> None:
        self.path = path
        self._schema = schema
        self._rows = 0
        self._first: int | None = None
        self._last: int | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        keys = [name for name in _SORT_KEYS if name in schema.names]
        try:
            self._writer = pq.ParquetWriter(
                path, schema, compression="zstd", compression_level=_ZSTD, write_statistics=keys or False,
                store_schema=False, **encodings.writer_options(schema),
            )  # fmt: skip
        except OSError as error:
            raise _full(path, error) from None

    def write(self, table: pa.Table) -> None:
        """Add rows as row groups of even size.

        Raises
        ------
        ResourceError
            Where the disk is full.
        """
        if not table.num_rows:
            return
        groups = -(-table.num_rows // ROW_GROUP)
        try:
            self._writer.write_table(table.cast(self._schema), row_group_size=-(-table.num_rows // groups))
        except OSError as error:
            raise _full(self.path, error) from None
        self._rows += table.num_rows
        if "ts" in table.column_names:
            bounds = pc.min_max(table["ts"].cast(pa.int64())).as_py()
            self._first = min(x for x in (self._first, bounds["min"]) if x is not None)
            self._last = max(x for x in (self._last, bounds["max"]) if x is not None)

    def close(self, relative: str, day: date | None = None) -> DataFile:
        """Finish the file; give what it will be in its table."""
        try:
            self._writer.close()
        except OSError as error:
            raise _full(self.path, error) from None
        size = self.path.stat().st_size
        return DataFile(path=relative, bytes=size, rows=self._rows, day=day, first_us=self._first, last_us=self._last)


def _full(path: Path, error: OSError) -> ResourceError:
    return ResourceError(
        f"Cannot write {path}: {error.strerror or error}. Free some disk space and run it again; nothing half-written is visible."
    )
