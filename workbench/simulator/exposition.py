"""Appended scrapes in the Prometheus text format, as exporters print them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import zstandard
from numpy.typing import NDArray

__all__ = ["Series", "Writer", "text_file", "write_scrapes"]

_CHUNK = 480  # scrapes held as text at a time


class Writer(Protocol):
    """What bytes are written to."""

    def write(self, data: bytes, /) -> int:
        """Take some bytes."""
        ...


@contextmanager
def text_file(path: Path) -> Iterator[Writer]:
    """Open a file to write; ``.gz`` and ``.zst`` are compressed, with the same bytes every time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw:
        if path.suffix == ".zst":
            with zstandard.ZstdCompressor(level=9).stream_writer(raw, closefd=False) as packed:
                yield packed
            return
        if path.suffix != ".gz":
            yield raw
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as packed:
            yield packed


@dataclass(frozen=True, eq=False, kw_only=True)
class Series:
    """One series of an exposition.

    Attributes
    ----------
    meta : str
        HELP and TYPE lines, on the first series of a family; "" on the others.
    head : str
        Name and labels, as written.
    values : list of str or None
        One a scrape; None: the series is missing from that scrape.
    """

    meta: str
    head: str
    values: list[str | None]


def write_scrapes(out: Writer, stamps_ms: NDArray[np.int64], series: Sequence[Series], *, meta: str) -> int:
    r"""Append one exposition after the other, each sample with its time.

    Parameters
    ----------
    stamps_ms : (scrape,) int64
    series : sequence of Series
        Families together, in the order of the exposition.
    meta : str
        ``every`` scrape has its HELP and TYPE lines, or the ``first`` only.

    Returns
    -------
    int
        Samples written.

    Examples
    --------
    >>> import io
    >>> out = io.BytesIO()
    >>> one = Series(meta="# TYPE up gauge\n", head='up{gpu="0"} ', values=["1", None])
    >>> write_scrapes(out, np.array([1000, 2000]), [one], meta="first"), out.getvalue()
    (1, b'# TYPE up gauge\nup{gpu="0"} 1 1000\n')
    """
    samples = 0
    for first in range(0, stamps_ms.size, _CHUNK):
        last = min(first + _CHUNK, stamps_ms.size)
        columns = [_column(one, first, last, meta) for one in series]
        for stamp, row in zip(stamps_ms[first:last].tolist(), zip(*columns, strict=True), strict=True):
            lines = [line for line in row if line is not None]
            if lines:
                tail = f" {stamp}\n"
                out.write((tail.join(lines) + tail).encode())
                samples += len(lines)
    return samples


def _column(one: Series, first: int, last: int, meta: str) -> list[str | None]:
    values = one.values[first:last]
    head = one.meta + one.head if meta == "every" else one.head
    column = [None if value is None else head + value for value in values]
    if meta == "first" and one.meta:
        begin = next((index for index, value in enumerate(one.values) if value is not None), -1)
        if first <= begin < last:
            column[begin - first] = f"{one.meta}{one.head}{one.values[begin]}"
    return column
