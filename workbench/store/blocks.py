"""Staged samples of one table and one stretch of time, as arrays; and how long a stretch to take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.store.plan import Item, Lookup
from workbench.store.spool import DAY_US, Chunk, read_chunk
from workbench.store.wide import LongSamples

__all__ = ["Block", "Piece", "block_width", "even_width", "load_block"]

_MINUTE_US = 60_000_000
_WIDTHS = tuple(minutes * _MINUTE_US for minutes in (1, 2, 5, 10, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1440))
#: Rows that a block should hold at least: one row group of useful size.
_ROWS_A_BLOCK = 46_080
#: Memory that a sample takes while its block is turned into rows.
_BYTES_A_SAMPLE = 110
_LARGEST = 2**63 - 1

#: A chunk and the number of the file it is from.
Piece = tuple[int, Chunk]


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """Samples of one table within one stretch of time.

    ``samples.column`` is the number of the placement; ``label`` goes with it.
    """

    samples: LongSamples
    label: NDArray[np.int32]


def block_width(pieces: Sequence[Piece], columns: int, budget_bytes: int) -> int:
    """Choose how long a stretch of time is turned into rows at once, microseconds.

    Long enough for a useful row group, short enough for the memory allowed; a divisor of the day.
    """
    samples = sum(chunk.rows for _, chunk in pieces)
    covered = {(chunk.start_us, chunk.end_us) for _, chunk in pieces}
    span = max(1, sum(end - start for start, end in covered))
    most = max(1, budget_bytes // _BYTES_A_SAMPLE)
    rows = samples / max(1, columns)
    enough = next((w for w in _WIDTHS if rows * w / span >= _ROWS_A_BLOCK), DAY_US)
    fitting = [w for w in _WIDTHS if w <= enough and samples * w / span <= most]
    return fitting[-1] if fitting else _WIDTHS[0]


def even_width(rows_a_day: int, most_rows: int) -> int:
    """Choose how long a stretch of rows that are wide already is to be, microseconds."""
    enough = next((w for w in _WIDTHS if rows_a_day * w / DAY_US >= _ROWS_A_BLOCK), DAY_US)
    fitting = [w for w in _WIDTHS if w <= enough and rows_a_day * w / DAY_US <= most_rows]
    return fitting[-1] if fitting else _WIDTHS[0]


def load_block(
    pieces: Iterable[Piece], items: Sequence[Item], lookups: Sequence[Lookup], span: tuple[int, int]
) -> Block:
    """Give the samples of a stretch of time (microseconds, the end outside) in the numbers of the step."""
    parts = []
    for number, chunk in pieces:
        if chunk.start_us >= span[1] or chunk.end_us <= span[0]:
            continue
        frame = read_chunk(chunk)
        if chunk.start_us < span[0] or chunk.end_us > span[1]:
            frame = frame.filter((pl.col("ts") >= span[0]) & (pl.col("ts") < span[1]))
        if not frame.is_empty():
            parts.append(_translated(frame, number, items[number], lookups[number]))
    if not parts:
        return Block(samples=_none(), label=np.zeros(0, np.int32))
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    label = joined.pop("label")
    return Block(samples=LongSamples(**joined), label=label)


def _translated(frame: pl.DataFrame, number: int, item: Item, lookup: Lookup) -> dict[str, NDArray[np.generic]]:
    """Turn the numbers of a file into those of the step, and its units into those of the columns."""
    who, name, ts = (frame[key].to_numpy() for key in ("who", "name", "ts"))
    value = frame["value"].to_numpy()
    has_int = frame["value_int"].is_not_null().to_numpy()
    value_int = frame["value_int"].fill_null(0).to_numpy()
    keep = np.ones(ts.size, bool)
    for which, absent, reason in lookup.absent:
        gone = (name == which) & (value == absent)
        count = int(gone.sum())
        if count:
            keep &= ~gone
            key = (list(item.stage.names)[which][0], reason)
            item.sentinels[key] = item.sentinels.get(key, 0) + count
    entity = lookup.entity[who]
    for which, start, end, target in lookup.spans:
        entity[(who == which) & (ts >= start) & (ts < end)] = target
    if not ((lookup.factor == 1.0).all() and (lookup.offset == 0.0).all()):
        value = value * lookup.factor[name] + lookup.offset[name]
        factor = lookup.whole[name]
        bound = _LARGEST // np.maximum(np.abs(factor), 1)
        safe = (factor == 1) | ((factor != 0) & (value_int <= bound) & (value_int >= -bound))
        has_int &= safe
        value_int = np.where(has_int, value_int * np.where(safe, factor, 0), 0)
    arrays: dict[str, NDArray[np.generic]] = {
        "entity": entity, "source": np.full(ts.size, number, np.int32), "column": lookup.column[name], "ts": ts,
        "value": value, "value_int": value_int, "has_int": has_int, "label": lookup.label[frame["label"].to_numpy()],
    }  # fmt: skip
    return arrays if keep.all() else {key: array[keep] for key, array in arrays.items()}


def _none() -> LongSamples:
    small, long = np.zeros(0, np.int32), np.zeros(0, np.int64)
    return LongSamples(
        entity=small, source=small, column=small, ts=long, value=np.zeros(0), value_int=long, has_int=np.zeros(0, bool)
    )
