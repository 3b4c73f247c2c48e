"""From single samples to wide rows: one row per entity, time and file, one column per metric."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LongSamples", "Numbers", "Wide", "pivot"]

Ints = NDArray[np.int64]
Numbers = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
#: Doubles hold every integer up to here.
_EXACT_TO = 2**53


@dataclass(frozen=True, eq=False, kw_only=True)
class LongSamples:
    """Samples as arrays of equal length.

    Attributes
    ----------
    entity, source, column : (sample,) int32 or int64
        Small numbers from 0: entity in the order wanted, file, metric column.
    ts : (sample,) int64
        UTC microseconds.
    value : (sample,) float64
    value_int : (sample,) int64
    has_int : (sample,) bool
        Where ``value_int`` holds the exact value.
    """

    entity: Numbers
    source: Numbers
    column: Numbers
    ts: Ints
    value: Floats
    value_int: Ints
    has_int: Flags

    def take(self, rows: Ints) -> LongSamples:
        """Give some of the samples."""
        return LongSamples(**{name: getattr(self, name)[rows] for name in self.__dataclass_fields__})


@dataclass(frozen=True, eq=False, kw_only=True)
class Wide:
    """Wide rows, ordered by entity, time, file.

    Attributes
    ----------
    entity, ts, source : (row,)
    columns : tuple of ((row,) values, (row,) bool)
        One per metric column: int64 or float64 values, and where there is one.
    misfits : (sample,) int64
        Samples that the row cannot hold: a second, different value for the same cell, or a value
        that the type of the column would change.
    repeated : (sample,) int64
        Samples that say again, in the same file, what another one said; they are dropped.
    """

    entity: Numbers
    ts: Ints
    source: Numbers
    columns: tuple[tuple[NDArray[np.generic], Flags], ...]
    misfits: Ints
    repeated: Ints


def pivot(samples: LongSamples, integer: Flags) -> Wide:
    """Put samples into rows.

    Parameters
    ----------
    samples : LongSamples
        In the order of their files, which decides whose value a cell takes.
    integer : (column,) bool
        Which columns are int64; the others are float64.

    Examples
    --------
    >>> whole = np.array([7, 9, 9], dtype=np.int64)
    >>> zero = np.zeros(3, dtype=np.int64)
    >>> long = LongSamples(entity=zero, source=zero, column=zero, ts=np.array([0, 5, 5]), value=whole * 1.0,
    ...                    value_int=whole, has_int=np.ones(3, dtype=bool))
    >>> rows = pivot(long, np.array([True]))
    >>> rows.ts.tolist(), rows.columns[0][0].tolist(), rows.repeated.tolist()
    ([0, 5], [7, 9], [2])
    """
    fits = _fits(samples, integer)
    numbering = _Numbering.of(samples)
    by_column = np.argsort(samples.column, kind="stable")
    bounds = np.searchsorted(samples.column[by_column], np.arange(integer.size + 1), side="left")
    groups = [by_column[start:end] for start, end in itertools.pairwise(bounds.tolist())]
    rows = _distinct(numbering.key, groups)
    columns: list[tuple[NDArray[np.generic], Flags]] = []
    misfits, repeated = [by_column[:0]], [by_column[:0]]
    places = _Places(numbering.key, rows)
    for mine, whole in zip(groups, integer.tolist(), strict=True):
        values, valid, clashing, same = _fill(samples, mine[fits[mine]], places, whole)
        columns.append((values, valid))
        misfits += [mine[~fits[mine]], clashing]
        repeated.append(same)
    gone = {"misfits": np.sort(np.concatenate(misfits)), "repeated": np.concatenate(repeated)}
    wide = Wide(**numbering.labels(rows), **gone, columns=tuple(columns))
    return _without_empty_rows(wide) if wide.misfits.size else wide


def _distinct(key: Ints, groups: Sequence[Ints]) -> Ints:
    """Give the row numbers that occur, in order; metrics scraped together are looked at once."""
    looked: list[Ints] = []
    for mine in groups:
        keys = key[mine]
        if not looked or not np.array_equal(keys, looked[-1]):
            looked.append(keys)
    return np.unique(np.concatenate(looked)) if looked else key


def _fits(samples: LongSamples, integer: Flags) -> Flags:
    """Tell which samples their column holds exactly."""
    small = np.abs(samples.value_int) <= _EXACT_TO
    return np.where(integer[samples.column], samples.has_int, ~samples.has_int | small)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Numbering:
    """Row numbers: entity first, then time, then file."""

    key: Ints
    times: int
    sources: int
    first_us: int
    stamps: Ints | None  # where times are ranks: what they stand for

    @classmethod
    def of(cls, samples: LongSamples) -> _Numbering:
        """Number the row of each sample."""
        if not samples.ts.size:
            return cls(key=samples.ts, times=1, sources=1, first_us=0, stamps=None)
        entities, sources = int(samples.entity.max()) + 1, int(samples.source.max()) + 1
        first = int(samples.ts.min())
        offset, stamps = samples.ts - first, None
        times = int(offset.max()) + 1
        if entities * sources * times >= 2**63:  # Python integers: no overflow in the test itself
            stamps, offset = np.unique(samples.ts, return_inverse=True)
            times = stamps.size
        key = np.asarray((samples.entity.astype(np.int64) * times + offset) * sources + samples.source)
        return cls(key=key, times=times, sources=sources, first_us=first, stamps=stamps)

    def labels(self, rows: Ints) -> dict[str, Any]:
        """Give entity, time and file of rows."""
        rest, source = np.divmod(rows, self.sources)
        entity, offset = np.divmod(rest, self.times)
        ts = offset + self.first_us if self.stamps is None else self.stamps[offset]
        return {"entity": entity, "ts": ts, "source": source}


class _Places:
    """Where samples lie among the rows; samples that lie as those before are not searched again."""

    def __init__(self, key: Ints, rows: Ints) -> None:
        self._key, self.rows = key, rows
        self._last = key[:0]
        self._at = key[:0]

    def of(self, mine: Ints) -> Ints:
        """Give the row of each sample."""
        keys = self._key[mine]
        if not np.array_equal(keys, self._last):
            self._last, self._at = keys, np.searchsorted(self.rows, keys)
        return self._at


def _fill(
    samples: LongSamples, mine: Ints, places: _Places, whole: bool
) -> tuple[NDArray[np.generic], Flags, Ints, Ints]:
    """Fill one column; give also the samples that clash, and those that only repeat."""
    size = places.rows.size
    values: NDArray[np.generic] = np.zeros(size, np.int64 if whole else np.float64)
    valid = np.zeros(size, bool)
    source = samples.value_int if whole else samples.value
    at = places.of(mine)
    first = np.full(size, -1, np.int64)
    first[at[::-1]] = mine[::-1]  # the last write wins, so the first sample of each row stays
    later = first[at] != mine
    if not later.any():
        values[at] = source[mine]
        valid[at] = True
        return values, valid, mine[:0], mine[:0]
    values[at[~later]] = source[mine[~later]]
    valid[at] = True
    same = source[mine[later]] == values[at[later]]
    return values, valid, mine[later][~same], mine[later][same]


def _without_empty_rows(wide: Wide) -> Wide:
    """Drop rows whose every value went elsewhere."""
    some = np.zeros(wide.ts.size, bool)
    for _, valid in wide.columns:
        some |= valid
    if some.all():
        return wide
    columns = tuple((values[some], valid[some]) for values, valid in wide.columns)
    return Wide(
        entity=wide.entity[some], ts=wide.ts[some], source=wide.source[some], columns=columns,
        misfits=wide.misfits, repeated=wide.repeated,
    )  # fmt: skip
