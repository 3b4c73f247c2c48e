"""A second header inside a table that names other columns: what stands below is no longer what the first one says."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from workbench.readers.dialect import split_line

__all__ = ["OtherHeader"]

_WORD = re.compile(r"[^\W\d][^\n]{0,99}")


class OtherHeader:
    """Finds the line from which a table has other columns.

    Parameters
    ----------
    text : str
        The header that the table began with.
    delimiter : str
    ts : str or None
        Column of the time.

    Examples
    --------
    >>> other = OtherHeader("ts,host,temp_c,power_w", ",", "ts")
    >>> other.first(pl.Series(["1,a,2,3", "ts,host,temp_c,power_w", "ts,host,power_w,temp_c"]))
    2
    >>> OtherHeader("name,state,note", ",", None).first(pl.Series(["name,failed,x"])) is None
    True
    """

    def __init__(self, text: str, delimiter: str, ts: str | None) -> None:
        self._text = text
        self._delimiter = delimiter
        self._names = split_line(text, delimiter)
        self._ts = ts
        marks = re.escape(delimiter)
        self._start = rf'^[ \t]*"?{re.escape(self._names[0])}"?[ \t]*{marks}'
        self._near = None
        if self._names[0] and len(self._names) > 1:
            self._near = re.compile(f"(?m){self._start}".encode())

    def reason(self, line: int) -> str:
        """Say why what stands from ``line`` on is rejected."""
        return f"another header stands at line {line}, with other columns: split the file there"

    def may_be_in(self, text: bytes) -> bool:
        """Tell whether one of the lines could be such a header; quick."""
        if self._near is None or self._names[0].encode() not in text:
            return False
        for found in self._near.finditer(text):
            stop = text.find(b"\n", found.start())
            line = text[found.start() : len(text) if stop < 0 else stop].decode(errors="replace")
            if self._is_other(line):
                return True
        return False

    def first(self, texts: pl.Series) -> int | None:
        """Give the place of the first line that names other columns."""
        if self._near is None or not texts.len():
            return None
        near = texts.str.contains(self._start).arg_true()
        lines = texts.gather(near).to_list()
        return next((place for place, line in zip(near.to_list(), lines, strict=True) if self._is_other(line)), None)

    def _is_other(self, line: str) -> bool:
        """Tell words that name columns from a row of words whose first one happens to be the name of a column."""
        if line.strip() == self._text:
            return False
        cells = [cell for cell in split_line(line, self._delimiter) if cell]
        if len(cells) < 2 or cells == self._names or not _are_names(cells):
            return False
        known = set(cells) & set(self._names)
        return self._ts in known or 2 * len(known) > len(cells)


def _are_names(cells: Sequence[str]) -> bool:
    return len(set(cells)) == len(cells) and all(_WORD.fullmatch(cell) for cell in cells)
