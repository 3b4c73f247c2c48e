"""Cells of plain lines, found in the bytes of a block and not yet taken out of them.

What most lines of a large table need (parting, numbers, which rows name the same thing) is done
by compiled loops on the bytes; only what is asked for becomes text. Whatever is not plain is
left to the readers of single columns and lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from workbench.readers.cells import Numbers

__all__ = ["Grid", "Stretch", "objects", "table"]

#: Columns cost memory by the cell: about this many at most at a time (time and host aside).
MOST_CELLS = 2_000_000
#: Places in a block that are not plain, and their bytes: with more of them, none of it is parted here.
_MOST_ODD, _MOST_TEXT = 20, 20_000
_TOO_LARGE = 9.2e18  # sentinels of 64 bits, and what rounds to them
_BLANK = (140737488355328.0, 140737488355335.0)
_Bytes = NDArray[np.uint8]
#: Where cells begin and end, (column, row), and where lines begin.
_Places = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
_Parter = Callable[[_Bytes, int, _Places], tuple[int, int]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Grid:
    """Cells of some lines.

    Attributes
    ----------
    text : (byte,) uint8
        Of the block; valid UTF-8.
    names : mapping of column name to its place
    starts, ends : (column, row) int32
    begins : (row, 2) int32
        Where the lines begin and end.
    lines : (row,) int64
        Their numbers.
    numeric : frozenset of str
        Columns that hold JSON numbers.
    blank_is_null : bool
        A cell without text is none, as in CSV.
    """

    text: NDArray[np.uint8]
    names: Mapping[str, int]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    begins: NDArray[np.int32]
    lines: NDArray[np.int64]
    numeric: frozenset[str] = frozenset()
    blank_is_null: bool = True
    _told: dict[tuple[str, ...], tuple[NDArray[np.int32], NDArray[np.int32]] | None] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self.lines.size

    @cached_property
    def _buffer(self) -> pa.Buffer:
        return pa.py_buffer(self.text)

    def filtered(self, keep: pl.Series) -> Grid:
        """Give some of the rows."""
        rows = np.flatnonzero(keep.to_numpy())
        return replace(
            self,
            starts=np.ascontiguousarray(self.starts[:, rows]),
            ends=np.ascontiguousarray(self.ends[:, rows]),
            begins=self.begins[rows],
            lines=self.lines[rows],
            _told={},
        )

    def line_texts(self) -> pl.Series:
        """Give the lines as they are."""
        return self._strings(np.ascontiguousarray(self.begins[:, 0]), np.ascontiguousarray(self.begins[:, 1]), "text")

    def line_frame(self) -> pl.DataFrame:
        """Give ``line`` and ``text``."""
        return pl.DataFrame([pl.Series("line", self.lines), self.line_texts()])

    def cells(self, name: str, rows: NDArray[np.int32] | None = None) -> pl.Series:
        """Give a column, or some rows of it, as it is written; JSON numbers that are all integers as such."""
        place = self.names[name]
        starts, ends = self.starts[place], self.ends[place]
        if rows is not None:
            starts, ends = starts[rows], ends[rows]
        told = self._strings(starts, ends, name)
        if name in self.numeric:
            whole = told.cast(pl.Int64, strict=False)
            return whole if not whole.null_count() else told
        return told.set(told == "", None) if self.blank_is_null and bool((starts == ends).any()) else told

    def frame(self, names: Sequence[str], rows: NDArray[np.int32] | None = None) -> pl.DataFrame:
        """Give some columns."""
        return pl.DataFrame([self.cells(name, rows) for name in names])

    def _strings(self, starts: NDArray[np.int32], ends: NDArray[np.int32], name: str) -> pl.Series:
        from workbench.kernels.cellloops import view_loop

        views = np.empty(16 * starts.size, np.uint8)
        view_loop(self.text, starts, ends, views)
        array = pa.Array.from_buffers(pa.string_view(), starts.size, [None, pa.py_buffer(views), self._buffer])
        return pl.Series(name, pl.from_arrow(array), dtype=pl.String)

    def distinct(self, names: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
        """Number the rows by what they hold in some columns; give that and the first row of each number.

        None where the loop gives up (too many hashes meet).
        """
        key = tuple(names)
        if key not in self._told:
            self._told[key] = self._distinct(key)
        return self._told[key]

    def _distinct(self, names: tuple[str, ...]) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
        from workbench.kernels.cellloops import distinct_loop

        places = np.array([self.names[name] for name in names], np.int64)
        code, first = np.empty(self.height, np.int32), np.empty(self.height, np.int32)
        table_ = np.full(1 << (2 * self.height + 1).bit_length(), -1, np.int32)
        found = distinct_loop(self.text, self.starts, self.ends, places, code, first, table_)
        return None if found < 0 else (code, first[:found])

    def numbers(self, name: str, *, whole: bool) -> Numbers | None:
        """Read a column of plain numbers and empty cells; None where any cell is more than that.

        Parameters
        ----------
        name : str
        whole : bool
            26.0 is the integer 26.
        """
        from workbench.kernels.cellloops import EMPTY, LONG, ODD, REAL, number_loop

        place, height = self.names[name], self.height
        starts, ends, strict = self.starts[place], self.ends[place], name in self.numeric
        value, exact, what = np.empty(height), np.empty(height, np.int64), np.empty(height, np.uint8)
        counts = number_loop(self.text, starts, ends, strict, whole, value, exact, what)
        if counts[ODD]:
            return None
        values, integers = pl.Series("value", value), pl.Series("value_int", exact)
        if counts[LONG]:
            rows = np.flatnonzero(what == LONG)
            text = self._strings(starts[rows], ends[rows], name).str.strip_chars()
            read = text.cast(pl.Float64, strict=False)
            if read.null_count() or not _plain(read):
                return None
            values[rows] = read
            large = text.cast(pl.Int64, strict=False)
            if whole:
                near = (read == read.floor()) & (read.abs() <= 2.0**53) & large.is_null()
                large = pl.select(pl.when(near).then(read.cast(pl.Int64, strict=False)).otherwise(large)).to_series()
            integers[rows] = large
        if counts[REAL] == height:
            integers = integers.clear(height)
        elif counts[REAL] or counts[EMPTY]:
            integers = integers.set(pl.Series((what == REAL) | (what == EMPTY)), None)
        none = pl.Series("none", [None], dtype=pl.String).new_from_index(0, height)
        reason = none
        if counts[EMPTY]:
            gone = pl.Series(what == EMPTY)
            values, reason = values.set(gone, None), none.set(gone, "empty")
        return Numbers(value=values, exact=integers, reason=reason, unit=none)


def _plain(read: pl.Series) -> bool:
    """Tell whether none of these numbers could be a sentinel, or too large."""
    odd = (read.abs() >= _TOO_LARGE) | (read == -999.0) | read.is_between(*_BLANK)
    return not odd.any()


@dataclass(frozen=True, eq=False, kw_only=True)
class Stretch:
    """Some lines: parted, or those that need more care.

    Attributes
    ----------
    grid : Grid or None
    first_line : int
    text : bytes
        Where they are not parted.
    """

    grid: Grid | None
    first_line: int
    text: bytes = b""


def table(data: bytes, first_line: int, names: Sequence[str], *, delimiter: str, header: str) -> list[Stretch] | None:
    r"""Part a block of whole lines without quotes; None where too many lines are not plain.

    Examples
    --------
    >>> found = table(b"a,1\n# x\nb,2\n", 5, ["n", "v"], delimiter=",", header="n,v")
    >>> [(part.first_line, part.text, part.grid.cells("v").to_list() if part.grid else None) for part in found]
    [(5, b'', ['1']), (6, b'# x\n', None), (7, b'', ['2'])]
    """
    from workbench.kernels.cellloops import table_loop

    mark, head = ord(delimiter), np.frombuffer(header[:12].encode(), np.uint8)

    def part(text: _Bytes, position: int, places: _Places) -> tuple[int, int]:
        found: tuple[int, int] = table_loop(text, position, mark, head, *places)
        return found

    return _stretches(data, first_line, names, part)


def objects(data: bytes, first_line: int, names: Sequence[str], between: Sequence[str]) -> list[Stretch] | None:
    r"""Part a block of JSON objects, one a line, that are all written like one; None where too many are not.

    Parameters
    ----------
    data : bytes
    first_line : int
    names : sequence of str
        Keys.
    between : sequence of str
        What stands before each value, and after the last.

    Examples
    --------
    >>> found = objects(b'{"a":1,"b":"x"}\n{"a":2}\n', 1, ["a", "b"], ['{"a":', ',"b":', '}\n'])
    >>> [(part.first_line, part.text, part.grid.cells("a").to_list() if part.grid else None) for part in found]
    [(1, b'', [1]), (2, b'{"a":2}\n', None)]
    """
    from workbench.kernels.cellloops import object_loop

    parts = [part.encode() for part in between]
    words = np.frombuffer(b"".join(parts), np.uint8)
    edges = np.concatenate(([0], np.cumsum([len(part) for part in parts]))).astype(np.int64)
    kinds = np.zeros(len(names), np.uint8)

    def part(text: _Bytes, position: int, places: _Places) -> tuple[int, int]:
        found: tuple[int, int] = object_loop(text, position, words, edges, *places, kinds)
        return found

    told = _stretches(data, first_line, names, part)
    if told is None:
        return None
    numeric = frozenset(name for name, kind in zip(names, kinds.tolist(), strict=True) if kind == 2)
    return [
        one if one.grid is None else replace(one, grid=replace(one.grid, numeric=numeric, blank_is_null=False))
        for one in told
    ]


def _stretches(data: bytes, first_line: int, names: Sequence[str], part: _Parter) -> list[Stretch] | None:
    """Part lines as far as they are plain; the others stand between, as text."""
    text = np.frombuffer(data, np.uint8)
    left = data.count(b"\n")
    position, line, odd = 0, first_line, 0
    found: list[Stretch] = []
    places = {name: place for place, name in enumerate(names)}
    while position < text.size:
        most = max(1, min(left, MOST_CELLS // max(1, len(names) - 2)))
        starts, ends = np.empty((len(names), most), np.int32), np.empty((len(names), most), np.int32)
        begins = np.empty(most + 1, np.int32)
        rows, stopped = part(text, position, (starts, ends, begins))
        if rows:
            grid = Grid(
                text=text,
                names=places,
                starts=np.ascontiguousarray(starts[:, :rows]),
                ends=np.ascontiguousarray(ends[:, :rows]),
                begins=np.stack([begins[:rows], begins[1 : rows + 1] - 1], axis=1),
                lines=np.arange(line, line + rows, dtype=np.int64),
            )
            found.append(Stretch(grid=grid, first_line=line))
        if odd > _MOST_ODD:
            return None
        position, line, left = stopped, line + rows, left - rows
        if position < text.size and rows < most:
            end = data.index(b"\n", position) + 1
            before = found.pop() if found and found[-1].grid is None else None
            odd += before is None
            start = line if before is None else before.first_line
            text_ = data[position:end] if before is None else before.text + data[position:end]
            found.append(Stretch(grid=None, first_line=start, text=text_))
            position, line, left = end, line + 1, left - 1
            if len(text_) > _MOST_TEXT:
                return None
    return found if odd <= _MOST_ODD else None
