"""A file as readers see it: decompressed bytes in blocks of whole lines, never all at once."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from workbench.errors import DataError

__all__ = ["HEAD_BYTES", "MAX_LINE_BYTES", "Block", "Damage", "Source", "open_source"]

HEAD_BYTES = 65_536
MAX_LINE_BYTES = 4 * 1024 * 1024
BLOCK_BYTES = 16 * 1024 * 1024
_CUT = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError, OSError)


@dataclass(frozen=True, kw_only=True)
class Damage:
    """Where a file stops being readable, and why: a cut or corrupt stream, a line without end."""

    line: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some whole lines of a file.

    Attributes
    ----------
    first_line : int
        1-based number of the first line here.
    text : bytes
        Whole lines, CRLF made LF, byte-order mark removed; ends with a newline unless
        ``unterminated``.
    unterminated : bool
        The last line is the end of the file and has no newline: it may be cut.
    overlong : tuple of int
        Numbers of lines over ``MAX_LINE_BYTES``, here cut to their first 200 bytes: reject them.
    """

    first_line: int
    text: bytes
    unterminated: bool
    overlong: tuple[int, ...] = ()


class Source:
    """Decompressed content of one file.

    Parameters
    ----------
    stream : binary file
        Decompressed bytes.
    raw_bytes : int
        Size on disk, for progress.
    path : pathlib.Path or None
        Present only where a library needs a seekable file (Parquet).

    Examples
    --------
    >>> source = Source(io.BytesIO(b"a\\r\\nb"), raw_bytes=4)
    >>> [(b.first_line, b.text, b.unterminated) for b in source.blocks()]
    [(1, b'a\\nb', True)]
    """

    def __init__(
        self, stream: BinaryIO, *, raw_bytes: int = 0, path: Path | None = None, container: str = "plain"
    ) -> None:
        self._stream = stream
        self._head = b""
        self.raw_bytes = raw_bytes
        self.path = path
        self.container = container
        self.damage: Damage | None = None
        self._lines = 0

    def head(self) -> bytes:
        """Give the first ``HEAD_BYTES`` of the content without consuming them."""
        if len(self._head) < HEAD_BYTES:
            self._head += self._read(HEAD_BYTES - len(self._head))
        return self._head

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[Block]:
        """Give the content as blocks of whole lines; damage is kept in ``self.damage``."""
        rest, line, first = self._take_head(), 1, True
        overlong: list[int] = []
        skipping = False
        while True:
            chunk = self._read(size)
            if first:
                rest, first = _without_mark(rest + chunk), False
            elif skipping:
                end = chunk.find(b"\n")
                if end < 0 and chunk:
                    continue
                rest, skipping = rest + (chunk[end:] if end >= 0 else b""), False
            else:
                rest += chunk
            if not chunk:
                break
            end = rest.rfind(b"\n") + 1
            if end:
                block, rest = _block(line, rest[:end], False, overlong)
                overlong = []
                line += block.text.count(b"\n")
                yield block
            if len(rest) > MAX_LINE_BYTES:
                overlong, rest, skipping = [line], rest[:200], True
        if rest:
            block, _ = _block(line, rest, True, overlong)
            line += 1
            yield block
        self._lines = line - 1
        if self.damage is not None:
            self.damage = Damage(line=line, reason=self.damage.reason)

    def read_all(self, limit: int) -> bytes:
        """Give the whole content, for formats that are one document.

        Raises
        ------
        DataError
            Where it is larger than ``limit`` bytes once decompressed.
        """
        data = self._take_head() + self._read(limit + 1)
        if len(data) > limit:
            raise DataError(f"the document is larger than {limit} bytes; split it or convert it to JSON lines")
        return data

    def _take_head(self) -> bytes:
        head, self._head = self._head, b""
        return head

    def _read(self, size: int) -> bytes:
        parts: list[bytes] = []
        have = 0
        try:
            while have < size:
                part = self._stream.read(min(size - have, 1 << 20))
                if not part:
                    break
                parts.append(part)
                have += len(part)
        except _CUT as error:
            self.damage = Damage(line=0, reason=f"{self.container} stream cut or damaged: {error}")
        return b"".join(parts)


def _without_mark(text: bytes) -> bytes:
    return text[3:] if text.startswith(b"\xef\xbb\xbf") else text


def _block(line: int, text: bytes, unterminated: bool, overlong: list[int]) -> tuple[Block, bytes]:
    clean = text.replace(b"\r\n", b"\n") if b"\r\n" in text else text
    return Block(first_line=line, text=clean, unterminated=unterminated, overlong=tuple(overlong)), b""


def open_source(path: Path) -> Source:
    """Open a file, decompressing by what its first bytes say (gzip, zstd), whatever its suffix.

    Several gzip members or zstd frames are read one after another. Reading is a stream, so
    a compression bomb costs time, not memory.

    Raises
    ------
    OSError
        Where the file cannot be opened.
    """
    size = path.stat().st_size
    file = path.open("rb")
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return Source(cast(BinaryIO, gzip.GzipFile(fileobj=file)), raw_bytes=size, container="gzip")
    if magic == b"\x28\xb5\x2f\xfd":
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return Source(cast(BinaryIO, stream), raw_bytes=size, container="zstd")
    return Source(cast(BinaryIO, file), raw_bytes=size, path=path)
