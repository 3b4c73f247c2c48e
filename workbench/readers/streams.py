"""Compressed files as plain bytes: piece by piece, and honest about where they break off."""

from __future__ import annotations

import zlib
from typing import BinaryIO, Protocol

import zstandard

__all__ = ["ByteStream", "GzipStream", "StreamDamageError", "TrustedStream", "ZstdStream", "decompressed"]

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_PIECE = 512  # a run of 128 KiB takes 4 bytes
_PIECE = 8192  # compressed bytes at a time: deflate makes at most 1032 times as much of them


class StreamDamageError(Exception):
    """A compressed stream that breaks off or does not decode; all bytes before it were given.

    Attributes
    ----------
    cut : bool
        The file only ends too early: nothing says that the bytes before are wrong.
    curable : str or None
        What the user can state so that more is read.
    """

    def __init__(self, reason: str, *, cut: bool = False, curable: str | None = None) -> None:
        super().__init__(reason)
        self.cut = cut
        self.curable = curable


class ByteStream(Protocol):
    """What a source reads from; compressed ones have ``verified``: bytes of members that ended as their checksums say."""

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

    Attributes
    ----------
    verified : int
        Bytes given so far that belong to members whose checksum holds.

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

    def __init__(self, file: ByteStream) -> None:
        self._file = file
        self._rest = b""
        self._engine = zlib.decompressobj(wbits=31)
        self._inside = False  # a member has begun and not ended
        self._cut = False
        self._damage = ""
        self.verified = 0
        self._given = 0

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
                    self._damage, self._cut = "cut inside a member", True
                    break
                return b""
            if not self._inside and not (piece := self._next_member(piece)):
                continue
            plain = self._decode(piece)
            self._given += len(plain)
            self.verified = self.verified if self._inside else self._given
            if plain:
                return plain
        raise StreamDamageError(f"gzip stream damaged: {self._damage}", cut=self._cut)

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

    Blocks (up to 128 KiB of content) come out as soon as they are whole, also of a file that is
    cut. Memory stays within some tens of MiB.

    Attributes
    ----------
    verified : int
        Bytes given so far that belong to frames that ended as they should.

    Parameters
    ----------
    file : binary file
        At the first byte of the first frame.

    Examples
    --------
    >>> import io
    >>> frames = zstandard.compress(b"one\n") + zstandard.compress(b"two\n")
    >>> stream = ZstdStream(io.BytesIO(frames))
    >>> stream.read(100) + stream.read(100)
    b'one\ntwo\n'
    """

    def __init__(self, file: ByteStream) -> None:
        self._file = file
        self._rest = b""
        self._engine = zstandard.ZstdDecompressor().decompressobj()
        self._inside = False
        self._damage: StreamDamageError | None = None
        self.verified = 0
        self._given = 0

    def read(self, size: int, /) -> bytes:
        """Give some bytes; none at the end.

        Raises
        ------
        StreamDamageError
            Where the stream is cut, corrupt, or followed by what is not zstd.
        """
        del size  # pieces are small enough
        while self._damage is None:
            piece = self._rest or self._file.read(_ZSTD_PIECE)
            self._rest = b""
            if not piece:
                if not self._inside:
                    return b""
                self._damage = StreamDamageError("zstd stream damaged: cut inside a frame", cut=True)
                break
            plain = self._decode(piece)
            self._given += len(plain)
            self.verified = self.verified if self._inside else self._given
            if plain:
                return plain
        raise self._damage

    def close(self) -> None:
        """Close the file below."""
        self._file.close()

    def _decode(self, piece: bytes) -> bytes:
        if not self._inside:
            self._engine, self._inside = zstandard.ZstdDecompressor().decompressobj(), True
        try:
            plain = self._engine.decompress(piece)
        except zstandard.ZstdError as error:
            self._damage = StreamDamageError(f"zstd stream damaged: {error}")
            return b""
        if self._engine.eof:
            self._inside, self._rest = False, self._engine.unused_data
        return plain


class TrustedStream:
    r"""Give the first bytes of a stream, then the damage that makes the others untrustworthy.

    Examples
    --------
    >>> import io
    >>> stream = TrustedStream(io.BytesIO(b"good bad"), 4, "checksum fails")
    >>> stream.read(99)
    b'good'
    """

    def __init__(self, stream: ByteStream, size: int, damage: str) -> None:
        self._stream = stream
        self._left = size
        self._damage = damage

    def read(self, size: int, /) -> bytes:
        """Give some bytes.

        Raises
        ------
        StreamDamageError
            At the end of what can be trusted.
        """
        piece = self._stream.read(min(size, self._left))[: self._left] if self._left else b""
        if not piece:
            told = f"{self._damage}; nothing of the member that fails is taken, --salvage takes what it gave"
            raise StreamDamageError(told, curable="salvage")
        self._left -= len(piece)
        return piece

    def close(self) -> None:
        """Close the stream below."""
        self._stream.close()


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
