"""Stamps of kernel lines as ``dmesg`` pads them, ``[12345.123456] ``, read from the bytes of all lines at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["padded_stamps"]

#: Places of the closing bracket: dmesg pads the seconds to five digits, and more follow as they are needed.
_CLOSING = (13, 14, 15)
_SHORTEST = 16  # a stamp with a message
_VIEW = np.dtype([("length", "<i4"), ("prefix", "<u4"), ("buffer", "<i4"), ("start", "<i4")])
_WORD = 8
_BYTES = 24  # that are looked at


def padded_stamps(text: pl.Series) -> pl.DataFrame:
    """Give the time since boot of lines that begin with a padded stamp and nothing else beside it.

    Parameters
    ----------
    text : (line,) String

    Returns
    -------
    polars.DataFrame
        A row a line: ``uptime`` (Int64 microseconds) and ``begin`` (where the message begins). Both are
        null for all other lines, which may hold a stamp of another form, a level or a caller.

    Examples
    --------
    >>> lines = ["[    1.000002] usb 1-1: new", "[123456.000001] a", "[    1.0] a", "[    2.000000] [    T1] a"]
    >>> padded_stamps(pl.Series(lines)).rows()
    [(1000002, 15), (123456000001, 16), (None, None), (None, None)]
    """
    views, buffers = _views(text)
    uptime = np.full(text.len(), -1, dtype=np.int64)
    begin = np.zeros(text.len(), dtype=np.int64)
    for number, data in enumerate(buffers):
        rows = np.flatnonzero(
            (views["length"] >= _SHORTEST) & (views["buffer"] == number) & (views["start"] + _BYTES <= data.size)
        )
        for place in _CLOSING:
            if not rows.size:
                break
            heads = _heads(data, views["start"][rows], place + 3)
            seconds, fits = _fitting(heads, place)
            # What stands behind a line is of the next one: a closing bracket there is none of this line.
            fits &= views["length"][rows] > place + 2
            all_fit = bool(fits.all())
            found = rows if all_fit else rows[fits]
            uptime[found] = _microseconds(heads if all_fit else heads[:, fits], seconds, place)
            begin[found] = place + 2
            rows = rows[~fits]
    told = pl.DataFrame({"uptime": uptime, "begin": begin})
    return told.with_columns(pl.when(pl.col("uptime") >= 0).then(name).alias(name) for name in told.columns)


def _views(text: pl.Series) -> tuple[NDArray[Any], list[pa.Buffer]]:
    """Give where the texts lie in memory, and that memory: Arrow holds views, and short texts in the views themselves."""
    array = text.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
    _, views, *buffers = array.buffers()
    return np.frombuffer(views, _VIEW)[array.offset : array.offset + len(array)], buffers


def _heads(data: pa.Buffer, starts: NDArray[np.int32], count: int) -> NDArray[np.uint8]:
    """Give the first ``count`` bytes of each line and some more, a row for all first ones, one for all second ones."""
    # Words at any place, which are taken at once.
    words = np.ndarray(shape=(data.size - _WORD + 1,), dtype=np.uint64, buffer=data, strides=(1,))
    taken = np.empty((starts.size, -(-count // _WORD)), dtype=np.uint64)
    for word in range(taken.shape[1]):
        taken[:, word] = words[starts + _WORD * word]
    return np.ascontiguousarray(taken.view(np.uint8).T)


def _fitting(heads: NDArray[np.uint8], place: int) -> tuple[range, NDArray[np.bool_]]:
    """Tell which lines have a stamp that closes at ``place``, and where its seconds are."""
    marks = {0: b"[", place - 7: b".", place: b"]", place + 1: b" "}
    fits = heads[place + 2] != ord("[")  # a caller
    for at, mark in marks.items():
        fits &= heads[at] == ord(mark)
    seconds = range(1, place - 7)
    begun = np.zeros(heads.shape[1], dtype=bool)
    for at in seconds:
        digit = heads[at] - np.uint8(48) <= 9
        begun |= digit
        fits &= digit | ((heads[at] == ord(" ")) & ~begun)
    fits &= begun
    for at in range(place - 6, place):
        fits &= heads[at] - np.uint8(48) <= 9
    return seconds, fits


def _microseconds(heads: NDArray[np.uint8], seconds: range, place: int) -> NDArray[np.int64]:
    """Add up the digits of stamps; a space counts nothing."""
    total = np.zeros(heads.shape[1], dtype=np.int64)
    for at in (*seconds, *range(place - 6, place)):
        total *= 10
        total += heads[at] & np.uint8(15)  # a space has none of these bits, a digit its value
    return total
