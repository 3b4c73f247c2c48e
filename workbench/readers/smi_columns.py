"""What the columns of an nvidia-smi query mean, and which GPU a row is of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from workbench.model import frames
from workbench.model.metric import find
from workbench.model.pci import normal_pci
from workbench.readers.gpu_cells import is_identity, reading_of
from workbench.readers.gpu_tree import Facts, tell_identity
from workbench.readers.smi_stamp import iso_stamp
from workbench.readers.timecells import Clocks, read_times
from workbench.readers.told import Told

__all__ = ["HEADER", "Columns", "columns_of", "identified", "mended", "page_events"]

_FIELD = r"[a-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*(?: \[[^\],]{1,8}\])?"
#: A header: names of fields, with units.
HEADER = rf"^{_FIELD}(?:, ?{_FIELD})+\s*$"
_UNIT = re.compile(r"(.*?) \[([^\]]+)\]")
_TEXTS = frozenset({"name", "gpu_name", "process_name"})
_LABELS = {"pid": "pid", "process_name": "process"}
_PAGE = "retired_pages."


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns:
    """Columns by what they are; a column is called by its name in the header, which is unique.

    Attributes
    ----------
    names : tuple of str
    separator : str
    time : str or None
    facts : tuple of str
        Say who the GPU is.
    labels : mapping of column to label
    metrics : mapping of column to metric
    units : mapping of column to unit
    pages : bool
        Rows are retired pages.
    clocks : bool
        Rows are clocks that the GPU could run at: nothing that was measured.
    notes : tuple of str
    """

    names: tuple[str, ...]
    separator: str
    time: str | None
    facts: tuple[str, ...]
    labels: dict[str, str]
    metrics: dict[str, str]
    units: dict[str, str]
    pages: bool
    clocks: bool
    notes: tuple[str, ...] = ()
    _told: dict[tuple[str | None, ...], Facts] = field(default_factory=dict)

    def facts_of(self, cells: Sequence[str | None]) -> Facts:
        """Say who a GPU is, by the cells of ``facts``."""
        key = tuple(cells)
        if key not in self._told:
            facts = Facts()
            for name, cell in zip(self.facts, cells, strict=True):
                facts.take(name, cell or "")
            self._told[key] = facts
        return self._told[key]

    def tell_names(self, rows: pl.DataFrame, told: Told) -> None:
        """Tell the GPUs and their names, with the first and the last time that they were seen."""
        key = ["host", *self.facts]
        for host, *cells, low, high in (
            rows.group_by(key, maintain_order=True).agg(low=pl.col("ts").min(), high=pl.col("ts").max()).iter_rows()
        ):
            for seen in {low, high}:
                tell_identity(told, host, self.facts_of(cells), seen)

    def absent(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Count cells without a value among those that are no metrics."""
        found = [frames.empty(frames.ABSENT)]
        for name in self.names:
            if name in self.metrics or name == self.time:
                continue
            counts = rows.group_by(pl.col(name).alias("reason"), maintain_order=True).agg(count=pl.len().cast(pl.Int64))
            for cell, count in counts.iter_rows():
                if (why := reading_of(name, cell or "").absent) is not None:
                    found.append(pl.DataFrame([(name, why, count)], schema=frames.ABSENT, orient="row"))
        return pl.concat(found)


def columns_of(header: str) -> Columns:
    """Tell what the columns of a header are.

    Examples
    --------
    >>> columns = columns_of("timestamp, uuid, power.draw [W], power.draw.average [W]")
    >>> columns.time, columns.facts, columns.metrics, columns.units
    ('timestamp', ('uuid',), {'power.draw': 'power.draw'}, {'power.draw': 'W'})
    """
    separator = ", " if ", " in header else ","
    names: list[str] = []
    units: dict[str, str] = {}
    for part in header.rstrip().split(separator):
        found = _UNIT.fullmatch(part)
        name = found[1] if found else part
        names.append(name if name not in names else f"{name}#{len(names)}")
        if found:
            units[names[-1]] = found[2]
    probe = Facts()
    facts = tuple(name for name in names if probe.take(name, ""))
    pages = any(name.startswith(_PAGE) and name.endswith((".address", ".cause")) for name in names)
    metrics: dict[str, str] = {}
    notes: list[str] = []
    taken: dict[str, str] = {}
    for name in names:
        if name in facts or name in _LABELS or name == "timestamp" or is_identity(name) or (pages and _PAGE in name):
            continue
        known = find(name)
        if known is not None and known.id in taken:
            notes.append(f"{name} says the same as {taken[known.id]}, which is kept")
            continue
        taken[known.id if known is not None else name] = name
        metrics[name] = name
    return Columns(
        names=tuple(names), separator=separator, time="timestamp" if "timestamp" in names else None, facts=facts,
        labels={name: label for name, label in _LABELS.items() if name in names}, metrics=metrics,
        units={name: unit for name, unit in units.items() if name in metrics}, pages=pages,
        clocks={"memory", "graphics"} <= set(names), notes=tuple(notes),
    )  # fmt: skip


def mended(lines: pl.DataFrame, columns: Columns) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split rows into cells; give those that fit the header, and those that do not.

    A name that holds the separator is put together again where the cells around it leave one way.

    Examples
    --------
    >>> columns = columns_of("gpu_name, gpu_bus_id, index")
    >>> lines = pl.DataFrame({"line": [2, 3], "text": ["A, rev B, 00000000:18:00.0, 0", "A"]})
    >>> rows, odd = mended(lines, columns)
    >>> rows["gpu_name"].to_list(), odd["line"].to_list()
    (['A, rev B'], [3])
    """
    width = len(columns.names)
    fits = lines["text"].str.count_matches(columns.separator, literal=True) == width - 1
    if fits.all() and width > 1:
        parts = lines["text"].str.split_exact(columns.separator, width - 1).struct.unnest()
        cells = (parts.to_series(place).str.strip_chars().alias(name) for place, name in enumerate(columns.names))
        return lines.with_columns(*cells), lines.clear()
    split = lines.with_columns(cells=pl.col("text").str.split(columns.separator))
    kept = [split.filter(fits)]
    odd: list[pl.DataFrame] = []
    for line, text, cells_ in split.filter(~fits).iter_rows():
        found = _ways(cells_, columns)
        (kept if len(found) == 1 else odd).append(
            pl.DataFrame([(line, text, found[0] if len(found) == 1 else cells_)], schema=split.schema, orient="row")
        )
    rows = (
        pl.concat(kept)
        .sort("line")
        .with_columns(
            pl.col("cells").list.get(place).str.strip_chars().alias(name) for place, name in enumerate(columns.names)
        )
    )
    return rows.drop("cells"), pl.concat([split.clear(), *odd]).drop("cells")


def _ways(cells: list[str], columns: Columns) -> list[list[str]]:
    """Give the ways to put a name together again that leave every other cell as its column wants it."""
    extra = len(cells) - len(columns.names)
    if not 0 < extra <= 20:
        return []
    found = []
    for place, name in enumerate(columns.names):
        if name in _TEXTS:
            whole = columns.separator.join(cells[place : place + extra + 1])
            way = [*cells[:place], whole, *cells[place + extra + 1 :]]
            if all(_fits(column, cell.strip()) for column, cell in zip(columns.names, way, strict=True)):
                found.append(way)
    return found


def _fits(column: str, cell: str) -> bool:
    if column in _TEXTS or reading_of(column, cell).absent is not None:
        return True
    if column.endswith("bus_id"):
        return normal_pci(cell) is not None
    if column.endswith("uuid"):
        return cell.startswith(("GPU-", "MIG-"))
    if column in ("pid", "index"):
        return cell.isdigit()
    known = find(column)
    return known is None or not known.unit or reading_of(column, cell).number is not None


def identified(rows: pl.DataFrame, columns: Columns, host: str | None) -> pl.DataFrame:
    """Add ``host``, ``device_kind``, ``device`` (null: not named) and ``labels``."""
    if columns.facts:
        distinct = rows.select(columns.facts).unique(maintain_order=True)
        devices = [columns.facts_of(cells).device for cells in distinct.iter_rows()]
        named = distinct.with_columns(device=pl.Series(devices, dtype=pl.String))
        rows = rows.join(named, on=list(columns.facts), how="left", nulls_equal=True, maintain_order="left")
    else:
        rows = rows.with_columns(device=pl.lit(None, pl.String))
    parts = [pl.col(name).alias(label) for name, label in sorted(columns.labels.items())]
    labels = pl.struct(parts).struct.json_encode() if parts else pl.lit("{}")
    return rows.with_columns(host=pl.lit(host, pl.String), device_kind=pl.lit("gpu"), labels=labels)


def page_events(rows: pl.DataFrame, columns: Columns, clocks: Clocks, told: Told) -> None:
    """Tell every retired page as an event, at its own time where it has one, else when it was seen."""
    if not columns.pages or f"{_PAGE}address" not in columns.names:
        return
    own = rows[f"{_PAGE}timestamp"].to_list() if f"{_PAGE}timestamp" in columns.names else [None] * rows.height
    stamps = pl.Series([iso_stamp(stamp or "") for stamp in own], dtype=pl.String)
    times = read_times(stamps, clocks).select("ts_low", "ts_high").rows()
    for row, (low, high) in zip(rows.iter_rows(named=True), times, strict=True):
        address = row[f"{_PAGE}address"]
        if reading_of("address", address).number is None or row["ts"] is None:
            continue
        span = (row["ts"], row["ts"]) if low is None else (low, high)
        cause = row.get(f"{_PAGE}cause") or "page retired"
        told.event(
            (row["host"], "gpu", row["device"]), "ecc", cause, span_us=span, line=row["line"], code="page_retired",
            attributes={"address": address},
        )  # fmt: skip
