"""A file as readers see it: decompressed bytes in blocks of whole lines, never all at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import polars as pl

from workbench.errors import DataError
from workbench.model import frames
from workbench.model.batch import Batch
from workbench.readers.encoding import Decoder, decoder_for
from workbench.readers.members import Member, open_member
from workbench.readers.streams import ByteStream, StreamDamageError, TrustedStream, decompressed

__all__ = [
    "BLOCK_BYTES",
    "BLOCK_LINES",
    "HEAD_BYTES",
    "MAX_LINE_BYTES",
    "Block",
    "Damage",
    "Source",
    "damage_batches",
    "open_source",
]

HEAD_BYTES = 65_536
MAX_LINE_BYTES = 4 * 1024 * 1024
BLOCK_BYTES = 16 * 1024 * 1024
BLOCK_LINES = 400_000
_KEPT_OF_OVERLONG = 200
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True)
class Damage:
    """Where a file stops being readable, and why: a cut or corrupt stream, a disk that fails."""

    line: int
    reason: str
    curable: str | None = None


@dataclass(frozen=True, kw_only=True)
class Block:
    r"""Some whole lines of a file.

    Attributes
    ----------
    first_line : int
        1-based number of the first line here.
    text : bytes
        Whole lines, each with its newline unless ``unterminated``. A line ends at ``\n`` or
        ``\r\n``, which is given as ``\n``. A lone ``\r`` (progress bars) is part of its line, unless
        the file begins without any ``\n``: then lines end at ``\r``, likewise given as ``\n``. UTF-16
        and UTF-32 are given as UTF-8. A byte-order mark at the start of the file is left out.
    unterminated : bool
        The block is the end of the file, one line without a newline: it may be cut.
    overlong : tuple of int
        Numbers of lines over ``MAX_LINE_BYTES``, here cut to their first 200 bytes: reject them,
        one record each.
    """

    first_line: int
    text: bytes
    unterminated: bool
    overlong: tuple[int, ...] = ()


class Source:
    r"""Decompressed content of one file.

    Parameters
    ----------
    stream : ByteStream
        Decompressed bytes, such as a binary file.
    raw_bytes : int
        Size on disk, for progress.
    path : pathlib.Path or None
        Present only where the file is plain: a library that needs a seekable file may open it. It
        holds the bytes as they are, where ``blocks`` may have decoded them.
    container : str
        ``plain``, ``gzip`` or ``zstd``.
    block_bytes : int
        Size of a block. What a reader makes of a file must not depend on it.

    Attributes
    ----------
    damage : Damage or None
        Known once the blocks have been read to their end. Whoever reads counts it as one more
        record, rejected: see :func:`damage_batches`.
    notes : tuple of str
        How the bytes were read, where that is not plain; known once the head is.

    Examples
    --------
    >>> import io
    >>> source = Source(io.BytesIO(b"a\r\nb"), raw_bytes=4)
    >>> [(b.first_line, b.text, b.unterminated) for b in source.blocks()]
    [(1, b'a\n', False), (2, b'b', True)]
    """

    def __init__(
        self,
        stream: ByteStream,
        *,
        raw_bytes: int = 0,
        path: Path | None = None,
        container: str = "plain",
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self._stream = stream
        self._block_bytes = block_bytes
        self._head = b""
        self._ended = False
        self._decoder: Decoder | None = None
        self.notes: tuple[str, ...] = ()
        self.raw_bytes = raw_bytes
        self.path = path
        self.container = container
        self.damage: Damage | None = None
        self._position: Callable[[], int] = lambda: 0

    @property
    def position(self) -> int:
        """Bytes of the file on disk read so far, for progress; 0 where not known."""
        return self._position()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was read stays."""
        self._stream.close()

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """Give the first ``size`` bytes of the content without consuming them; ask before ``blocks``."""
        if len(self._head) < size:
            self._head += self._pull(size - len(self._head))
        return self._head[:size]

    def blocks(self) -> Iterator[Block]:
        """Give the content once, as blocks of whole lines; then ``damage`` is known.

        Memory stays within a few blocks whatever the file holds: of a line over
        ``MAX_LINE_BYTES`` only the first 200 bytes are kept.
        """
        line, overlong, rest = 1, False, b""
        chunk = self._read(self._block_bytes).removeprefix(_MARK)
        while chunk:
            if end := chunk.rfind(b"\n") + 1:
                for text, count in _pieces(b"".join((rest, memoryview(chunk)[:end]))):
                    block = _block(line, text, overlong)
                    line, overlong = line + count, False
                    yield block
                rest = chunk[end:]
            else:
                rest += chunk
            if len(rest) > MAX_LINE_BYTES + 1:  # perhaps with the return of a CRLF
                overlong, rest = True, rest[:_KEPT_OF_OVERLONG]
                chunk = self._skip_line()
            else:
                chunk = self._read(self._block_bytes)
        if self.damage is not None:
            self.damage = replace(self.damage, line=line)
        if rest:
            yield _block(line, rest, overlong, unterminated=True)

    def chunks(self) -> Iterator[bytes]:
        """Give the content once, in pieces that end anywhere, for documents too large to hold; then ``damage`` is known."""
        chunk = self._read(self._block_bytes).removeprefix(_MARK)
        while chunk:
            yield chunk
            chunk = self._read(self._block_bytes)

    def read_all(self, limit: int) -> bytes:
        """Give the whole content, for formats that are one document; then ``damage`` is known.

        Raises
        ------
        DataError
            Where it is larger than ``limit`` bytes once decompressed.
        """
        data = self._read(limit + 1)
        if len(data) > limit:
            raise DataError(f"the document is larger than {limit} bytes; split it or convert it to JSON lines")
        return data

    def _skip_line(self) -> bytes:
        """Read on to the next newline; give what stands from there, or nothing at the end."""
        while chunk := self._read(self._block_bytes):
            if (end := chunk.find(b"\n")) >= 0:
                return chunk[end:]
        return b""

    def _read(self, size: int) -> bytes:
        """Consume ``size`` bytes or a little more, fewer only at the end."""
        have, self._head = self._head[:size], self._head[size:]
        if len(have) < size:
            have += self._pull(size - len(have))
        return have

    def _pull(self, size: int) -> bytes:
        """Take at least ``size`` bytes of text from the file, fewer only at the end."""
        if self._decoder is None:
            return self._first(size)
        parts: list[bytes] = []
        have = 0
        while have < size and not self._ended:
            raw = self._raw(size - have)
            part = raw if self._decoder.plain else self._decoder.feed(raw, final=self._ended)
            parts.append(part)
            have += len(part)
        return b"".join(parts)

    def _first(self, size: int) -> bytes:
        """Look how the file is written, and take its first bytes."""
        parts: list[bytes] = []
        while sum(map(len, parts)) < HEAD_BYTES and not self._ended:
            parts.append(self._raw(HEAD_BYTES))
        raw = b"".join(parts)
        self._decoder, mark = decoder_for(raw[:HEAD_BYTES])
        self.notes = self._decoder.notes
        text = raw if self._decoder.plain else self._decoder.feed(raw[mark:], final=self._ended)
        return text + self._pull(size - len(text)) if len(text) < size else text

    def _raw(self, size: int) -> bytes:
        try:
            part = self._stream.read(size)
        except (StreamDamageError, OSError) as error:
            self._ended = True
            self.damage = Damage(line=0, reason=str(error), curable=getattr(error, "curable", None))
            return b""
        self._ended = not part
        return part


def _pieces(text: bytes) -> Iterator[tuple[bytes, int]]:
    """Cut whole lines into pieces of at most ``BLOCK_LINES``: columns cost memory by the line; count the lines of each."""
    count = _newlines(text)
    if count <= BLOCK_LINES:
        yield text, count
        return
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
    edges = [0, *ends[BLOCK_LINES - 1 : -1 : BLOCK_LINES].tolist(), len(text)]
    for start, end in itertools.pairwise(edges):
        yield text[start:end], min(BLOCK_LINES, count)
        count -= BLOCK_LINES


def _newlines(text: bytes) -> int:
    """Count newlines, in half of the time that ``bytes.count`` takes where there are many."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


def _block(line: int, text: bytes, overlong: bool, *, unterminated: bool = False) -> Block:
    clean = text.replace(b"\r\n", b"\n") if b"\r" in text else text
    marked = [line] if overlong else []
    if _may_hold_overlong(clean):
        clean, found = _shortened(line, clean)
        marked = sorted({*marked, *found})
    return Block(first_line=line, text=clean, unterminated=unterminated, overlong=tuple(marked))


def _may_hold_overlong(text: bytes) -> bool:
    """Tell whether a stretch of half the limit has no newline: a line over the limit covers one."""
    half = MAX_LINE_BYTES // 2
    return len(text) > MAX_LINE_BYTES and any(
        text.find(b"\n", start, start + half) < 0 for start in range(0, len(text) - half, half)
    )


def _shortened(line: int, text: bytes) -> tuple[bytes, list[int]]:
    """Cut the lines that are too long although they fit in memory."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    if not text.endswith(b"\n"):
        ends = np.append(ends, len(text))
    starts = np.concatenate(([0], ends[:-1] + 1))
    found = np.flatnonzero(ends - starts > MAX_LINE_BYTES).tolist()
    parts, position = [], 0
    for index in found:
        parts.append(text[position : int(starts[index]) + _KEPT_OF_OVERLONG])
        position = int(ends[index])
    return b"".join([*parts, text[position:]]), [line + index for index in found]


def damage_batches(source: Source) -> Iterator[Batch]:
    r"""Give the one rejected record that stands for what could not be read, if there is any.

    A reader yields from this after the last block, so that a cut or corrupt file is counted:
    its records are the lines that came out, and one more.

    Examples
    --------
    >>> import gzip, io
    >>> from workbench.readers.streams import GzipStream
    >>> cut = Source(GzipStream(io.BytesIO(gzip.compress(b"line\n" * 9)[:-9])), container="gzip")
    >>> sum(len(block.text) for block in cut.blocks())
    45
    >>> [batch.rejects["reason"][0] for batch in damage_batches(cut)]
    ['gzip stream damaged: cut inside a member; what follows line 9 is lost']
    """
    if source.damage is None:
        return
    line = source.damage.line
    reject = {
        "line": [line],
        "reason": [f"{source.damage.reason}; what follows line {max(line - 1, 0)} is lost"],
        "text": [""],
        "curable": [source.damage.curable],
    }
    yield Batch(records=1, rows=0, rejects=pl.DataFrame(reject, schema=frames.REJECTS))


def open_source(
    path: Path,
    *,
    member: Member | None = None,
    block_bytes: int = BLOCK_BYTES,
    trusted: int | None = None,
    damage: str = "",
) -> Source:
    """Open a file, decompressing by what its first bytes say (gzip, zstd), whatever its suffix.

    Several gzip members or zstd frames are read one after another. Reading is a stream, so
    a compression bomb costs time, not memory. Close the source, or use it in ``with``.

    Parameters
    ----------
    path : pathlib.Path
    member : Member or None
        The file in the archive ``path`` to read; None: the file itself.
    block_bytes : int
    trusted : int or None
        Give only so many bytes of content, and then ``damage``: what follows was found to be wrong.

    Raises
    ------
    OSError
        Where the file cannot be opened.
    """
    size = path.stat().st_size if member is None else member.packed
    file = open_member(path, member)
    stream, container = decompressed(file)
    if trusted is not None:
        stream = TrustedStream(stream, trusted, damage)
    plain = path if container == "plain" and member is None else None
    source = Source(stream, raw_bytes=size, path=plain, container=container, block_bytes=block_bytes)
    source._position = file.tell  # noqa: SLF001 -- its own maker
    return source
