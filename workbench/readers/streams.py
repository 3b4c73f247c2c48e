"""Compressed files as plain bytes: piece by piece, and honest about where they break off."""

from __future__ import annotations

import os
import zlib
from typing import BinaryIO, Protocol

import zstandard

__all__ = ["ByteStream", "GzipStream", "StreamDamageError", "ZstdStream", "decompressed"]

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_PIECE = 8192  # compressed bytes at a time: deflate makes at most 1032 times as much of them


class StreamDamageError(Exception):
    """A compressed stream that breaks off or does not decode; all bytes before it were given."""


class ByteStream(Protocol):
    """What a source reads from."""

    def read(self, size: int, /) -> bytes:
        """Give some bytes, about ``size`` of them; none at the end."""
        ...

    def close(self) -> None:
        """Close the file below."""
        ...


class GzipStream:
    r"""Read a gzip file of one or many members.

    Python's ``gzip`` would drop what it had decoded when it meets the damage, and its buffer with
    it; here every byte before the damage comes out first. Memory stays within a few MiB whatever
    the compression ratio.

    Parameters
    ----------
    file : binary file
        At the first byte of the first member.

    Examples
    --------
    >>> import gzip, io
    >>> two = gzip.compress(b"one\n") + gzip.compress(b"two\n")
    >>> stream = GzipStream(io.BytesIO(two))
    >>> stream.read(100) + stream.read(100)
    b'one\ntwo\n'
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._rest = b""
        self._engine = zlib.decompressobj(wbits=31)
        self._inside = False  # a member has begun and not ended
        self._damage = ""

    def read(self, size: int, /) -> bytes:
        """Give some bytes; none at the end.

        Raises
        ------
        StreamDamageError
            Where the stream is cut, corrupt, or followed by what is not gzip.
        """
        del size  # pieces are small enough
        while not self._damage:
            piece = self._rest or self._file.read(_PIECE)
            self._rest = b""
            if not piece:
                if self._inside:
                    self._damage = "cut inside a member"
                    break
                return b""
            if not self._inside and not (piece := self._next_member(piece)):
                continue
            if plain := self._decode(piece):
                return plain
        raise StreamDamageError(f"gzip stream damaged: {self._damage}")

    def close(self) -> None:
        """Close the file below."""
        self._file.close()

    def _next_member(self, piece: bytes) -> bytes:
        piece = piece.lstrip(b"\0")  # tapes and block devices pad with zeros between members
        if not piece:
            return b""
        if len(piece) < 2:
            piece += self._file.read(1)
        if piece[:2] == _GZIP_MAGIC:
            self._engine, self._inside = zlib.decompressobj(wbits=31), True
            return piece
        self._damage = "what follows the last member is no gzip"
        return b""

    def _decode(self, piece: bytes) -> bytes:
        before = self._engine.copy()
        try:
            plain = self._engine.decompress(piece)
        except zlib.error as error:
            self._damage, self._engine = str(error), before
            return self._salvage(piece)
        if self._engine.eof:
            self._inside, self._rest = False, self._engine.unused_data
        return plain

    def _salvage(self, piece: bytes) -> bytes:
        """Decode byte by byte up to the one that fails."""
        plain = bytearray()
        for position in range(len(piece)):
            try:
                plain += self._engine.decompress(piece[position : position + 1])
            except zlib.error:
                break
        return bytes(plain)


class ZstdStream:
    r"""Read a zstd file of one or many frames.

    The library ends in silence where the file is cut, so the frames are walked at the end.

    Parameters
    ----------
    file : binary file
        Seekable, at its start.

    Examples
    --------
    >>> import io
    >>> frames = zstandard.compress(b"one\n") + zstandard.compress(b"two\n")
    >>> stream = ZstdStream(io.BytesIO(frames))
    >>> stream.read(100) + stream.read(100)
    b'one\ntwo\n'
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=False)

    def read(self, size: int, /) -> bytes:
        """Give some bytes; none at the end.

        Raises
        ------
        StreamDamageError
            Where the stream is cut, corrupt, or followed by what is not zstd.
        """
        try:
            plain = self._reader.read(min(size, 4096))  # what an error takes with it stays small
        except zstandard.ZstdError as error:
            raise StreamDamageError(f"zstd stream damaged: {error}") from error
        if not plain and not _frames_complete(self._file):
            raise StreamDamageError("zstd stream damaged: cut inside a frame")
        return plain

    def close(self) -> None:
        """Close the file below."""
        self._file.close()


def _frames_complete(file: BinaryIO) -> bool:
    """Tell whether the last frame reaches its end (RFC 8878, sections 3.1.1 and 3.1.2)."""
    end = file.seek(0, os.SEEK_END)
    position = 0
    while position < end:
        file.seek(position)
        head = file.read(18)
        if 0x184D2A50 <= int.from_bytes(head[:4], "little") <= 0x184D2A5F:
            position += 8 + int.from_bytes(head[4:8], "little")
        elif len(head) < 5:
            return False
        else:
            position = _after_blocks(file, position + _frame_header_bytes(head[4]), end) + 4 * (head[4] >> 2 & 1)
    return position == end


def _frame_header_bytes(descriptor: int) -> int:
    single = descriptor >> 5 & 1
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    content = (single, 2, 4, 8)[descriptor >> 6]
    return 5 + (1 - single) + dictionary + content


def _after_blocks(file: BinaryIO, position: int, end: int) -> int:
    while position < end:
        file.seek(position)
        header = int.from_bytes(file.read(3).ljust(3, b"\0"), "little")
        run_length = header >> 1 & 3 == 1
        position += 3 + (1 if run_length else header >> 3)
        if header & 1:
            return position
    return end + 1


def decompressed(file: BinaryIO) -> tuple[ByteStream, str]:
    """Give the plain bytes of a file, and its container, by what its first bytes say.

    Examples
    --------
    >>> import io
    >>> decompressed(io.BytesIO(b"plain text"))[1]
    'plain'
    """
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(_GZIP_MAGIC):
        return GzipStream(file), "gzip"
    if magic == _ZSTD_MAGIC:
        return ZstdStream(file), "zstd"
    return file, "plain"
