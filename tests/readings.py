"""What a reader makes of some bytes, in a shape that tests can compare."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from workbench.model.batch import Batch
from workbench.model.context import Columns, Context
from workbench.readers.base import Reader
from workbench.readers.source import BLOCK_BYTES, open_source
from workbench.timebase import from_us, parse_time

TABLES = ("samples", "events", "jobs", "entities", "links", "aliases")
Row = tuple[tuple[str, Any], ...]


def context_of(stated: dict[str, Any]) -> Context:
    """Fields of Context; times may be written as RFC 3339."""
    told = _timed(stated)
    if "columns" in told:
        told["columns"] = Columns(**{name: _tuple(value) for name, value in _timed(told["columns"]).items()})
    return Context(**told)


def _timed(stated: dict[str, Any]) -> dict[str, Any]:
    return {
        name: parse_time(value) if name.endswith("_us") and isinstance(value, str) else value
        for name, value in stated.items()
    }


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True, eq=False)
class Reading:
    batches: list[Batch]

    @property
    def records(self) -> int:
        return sum(batch.records for batch in self.batches)

    @property
    def rows(self) -> int:
        return sum(batch.rows for batch in self.batches)

    @property
    def notes(self) -> set[str]:
        return {note for batch in self.batches for note in batch.notes}

    def skips(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for batch in self.batches:
            total.update(dict(batch.skips.iter_rows()))
        return dict(total)

    def rejects(self) -> pl.DataFrame:
        return pl.concat([batch.rejects for batch in self.batches])

    def reject_counts(self) -> dict[str, int]:
        return dict(Counter(self.rejects()["reason"].to_list()))

    def absent(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for batch in self.batches:
            total.update({f"{metric}: {reason}": count for metric, reason, count in batch.absent.iter_rows()})
        return dict(total)

    def frame(self, table: str) -> pl.DataFrame:
        if table == "samples":
            parts = [
                batch.samples.join(batch.series, on="series", how="left", maintain_order="left")
                for batch in self.batches
            ]
            return pl.concat(parts).drop("series")
        return pl.concat([getattr(batch, table) for batch in self.batches])

    def count(self, table: str) -> int:
        return sum(getattr(batch, table).height for batch in self.batches)

    def table(self, table: str) -> Counter[Row]:
        """Rows without their place in the file; aliases with the whole span in which they were seen."""
        frame = self.frame(table)
        if table == "aliases":
            key = [name for name in frame.columns if not name.startswith("valid_")]
            frame = frame.group_by(key).agg(pl.col("valid_from").min(), pl.col("valid_to").max())
        if "line" in frame.columns:
            frame = frame.drop("line")
        rows = Counter(tuple(_plain(row).items()) for row in frame.iter_rows(named=True))
        return Counter(dict.fromkeys(rows, 1)) if table in ("entities", "links", "aliases") else rows

    def tables(self) -> dict[str, Counter[Row]]:
        return {table: self.table(table) for table in TABLES}

    def has(self, table: str, wanted: dict[str, Any]) -> bool:
        """Whether a row holds these values; times are written as RFC 3339, attributes may be partial."""
        return any(_fits(row, wanted) for row in self.frame(table).iter_rows(named=True))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else repr(value) if isinstance(value, float) else value
        for name, value in row.items()
    }


def _fits(row: dict[str, Any], wanted: dict[str, Any]) -> bool:
    for name, value in wanted.items():
        found = row[name]
        if name in ("attributes", "labels") and isinstance(value, dict):
            told = json.loads(found)
            if any(told.get(key) != expected for key, expected in value.items()):
                return False
        elif hasattr(found, "isoformat"):
            if value is None or found != from_us(parse_time(value)):
                return False
        elif found != value:
            return False
    return True


def read(reader: Reader, path: Path, context: Context, *, block_bytes: int = BLOCK_BYTES) -> Reading:
    """Read a file; the batches check their own sums, as they are made."""
    with open_source(path, block_bytes=block_bytes) as source:
        source.head()
        return Reading(list(reader.read(source, context)))


def read_bytes(
    reader: Reader, data: bytes, context: Context, folder: Path, *, block_bytes: int = BLOCK_BYTES
) -> Reading:
    path = folder / "content"
    path.write_bytes(data)
    return read(reader, path, context, block_bytes=block_bytes)


def invented(cut: Reading, whole: Reading) -> list[tuple[str, Row]]:
    """Rows of a part of a file that the whole file does not have; a part may know less of a row."""
    found = []
    for table in TABLES:
        full = whole.table(table)
        unknown = [row for row in cut.table(table) if row not in full]
        found += [(table, row) for row in unknown if not any(_knows_less(dict(row), dict(other)) for other in full)]
    return found


def _knows_less(row: dict[str, Any], full: dict[str, Any]) -> bool:
    for name, value in row.items():
        if value is None or value == full[name]:
            continue
        if name in ("attributes", "labels") and full[name] is not None:
            told = json.loads(full[name])
            if any(
                key not in told or not str(told[key]).startswith(str(part)) for key, part in json.loads(value).items()
            ):
                return False
        elif name == "ts_low":
            if value > full[name]:
                return False
        elif name == "ts_high":
            if value < full[name]:
                return False
        elif not (name in ("valid_to", "valid_from") and full[name] is not None):
            return False
    return True
