"""Files inside of tar and zip archives, read in place: nothing is ever written under a name that an archive gives."""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from workbench.readers.streams import StreamDamageError

__all__ = ["Member", "MemberStream", "open_member"]

_PIECE = 8192
_LOCAL_HEADER = 30


@dataclass(frozen=True, kw_only=True)
class Member:
    """Where a file lies in an archive.

    Attributes
    ----------
    name : str
        As the archive says.
    offset : int
        Of its content in a tar file; of its local header in a zip file.
    size : int
        Bytes that it has unpacked, as the archive says.
    packed : int
        Bytes that it takes in the archive.
    zipped : bool
    deflated : bool
    crc : int
        Checksum, of a zip member.
    """

    name: str
    offset: int
    size: int
    packed: int
    zipped: bool = False
    deflated: bool = False
    crc: int = 0


class MemberStream(io.RawIOBase):
    """Bytes of one member, as a file that is read from its start; ``verified`` as in other streams."""

    def __init__(self, file: BinaryIO, member: Member) -> None:
        super().__init__()
        self._file, self._member = file, member
        self._begin = member.offset + (_after_header(file, member.offset) if member.zipped else 0)
        self._rewind()

    def _rewind(self) -> None:
        self._file.seek(self._begin)
        self._left = self._member.packed
        self._engine = zlib.decompressobj(wbits=-15) if self._member.deflated else None
        self._given = self._sum = self.verified = 0
        self._over = b""

    def seekable(self) -> bool:
        """Only back to the start."""
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go back to the start; nowhere else."""
        if offset or whence:
            raise OSError("a member of an archive is read from its start")
        self._rewind()
        return 0

    def tell(self) -> int:
        """Bytes of the archive read so far."""
        return self._member.packed - self._left

    def read(self, size: int = -1, /) -> bytes:
        """Give some bytes; none at the end.

        Raises
        ------
        StreamDamageError
            Where the archive breaks off, or the member is not what its checksum says.
        """
        plain = self._next(size if size >= 0 else self._member.size + 1)
        self._given += len(plain)
        self._sum = zlib.crc32(plain, self._sum)
        if plain and self._given <= self._member.size:
            return plain
        if self._given != self._member.size:
            raise StreamDamageError("archive damaged: a member has another size than the archive says")
        if self._member.zipped and self._sum != self._member.crc:
            raise StreamDamageError("archive damaged: the checksum of a member fails")
        self.verified = self._given
        return b""

    def _next(self, size: int) -> bytes:
        while True:
            piece = self._over or self._file.read(min(size if self._engine is None else _PIECE, self._left))
            if not piece and self._left:
                raise StreamDamageError("archive damaged: cut inside a member", cut=True)
            self._left -= 0 if self._over else len(piece)
            if self._engine is None:
                return piece
            try:
                plain = self._engine.decompress(piece, max(size, 1))
            except zlib.error as error:
                raise StreamDamageError(f"archive damaged: {error}") from None
            self._over = self._engine.unconsumed_tail
            if plain or not piece:
                return plain

    def close(self) -> None:
        """Close the archive."""
        self._file.close()
        super().close()


def _after_header(file: BinaryIO, offset: int) -> int:
    """Give how long the local header of a zip member is."""
    file.seek(offset)
    header = file.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or not header.startswith(b"PK\3\4"):
        raise OSError("the archive is damaged: a member does not begin where it should")
    return _LOCAL_HEADER + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")


def open_member(path: Path, member: Member | None) -> BinaryIO:
    """Open a file, or a member of the archive that it is.

    Raises
    ------
    OSError
        Where it cannot be opened, or the archive says wrongly where the member is.
    """
    file = path.open("rb")
    if member is None:
        return file
    try:
        return MemberStream(file, member)  # type: ignore[return-value]
    except OSError:
        file.close()
        raise
