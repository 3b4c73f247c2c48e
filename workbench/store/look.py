"""A first look at a file: what its content is, whether it can be trusted, and what it begins with."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

from workbench.errors import DataError
from workbench.readers.members import open_member
from workbench.readers.streams import ByteStream, StreamDamageError, decompressed
from workbench.store.archive import archive_kind
from workbench.store.walk import Found

__all__ = ["LEVELS", "Look", "digests_of_first", "look_at", "look_or_reason", "look_through"]

#: A file is compared with those that share its first so many bytes.
LEVELS = (16, 256, 4096)
_PIECE = 1 << 20
_HEAD = 512


@dataclass(frozen=True, kw_only=True)
class Look:
    """What was seen of a file without understanding it.

    Attributes
    ----------
    digest : str
        SHA-256 of the decompressed content: equal whether a file is packed or not. Of a damaged
        file, of that and the damage: it is not the file that it was.
    content : str
        SHA-256 of the bytes that may be read.
    size : int
        How many those are.
    opening : tuple of str
        Digests of the first 16, 256 and 4096 bytes, as far as there are so many.
    damage : str
        Where the stream breaks off, or why it does not decode.
    trusted : bool
        False: a checksum fails, or the stream does not decode. What its member gave may be
        invented, so that only the members before it may be read: the first ``size`` bytes.
    salvaged : bool
        It cannot be trusted, and is to be read all the same.
    """

    digest: str
    content: str
    size: int
    opening: tuple[str, ...] = ()
    damage: str = ""
    trusted: bool = True
    salvaged: bool = False


def look_at(found: Found, *, salvage: bool = False) -> Look:
    """Read a file through once.

    Parameters
    ----------
    found : Found
    salvage : bool
        Take what does not decode or fails its checksum as far as it goes.

    Raises
    ------
    DataError
        Where it cannot be read, with the reason.
    """
    if found.trouble:
        raise DataError(found.trouble)
    try:
        with open_member(found.path, found.member) as file:
            stream, _ = decompressed(file)
            seen = look_through(stream, salvage=salvage)
        if found.member is not None and seen.opening and _is_archive(found):
            raise DataError("an archive inside of an archive; unpack it and ingest what it holds")
        if not seen.trusted:  # what may be read ends in the middle of what was seen
            content = digests_of_first(found, [seen.size])[seen.size]
            return Look(digest=seen.digest, content=content, size=seen.size, damage=seen.damage, trusted=False)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}") from None
    return seen


def _is_archive(found: Found) -> bool:
    with open_member(found.path, found.member) as file:
        stream, _ = decompressed(file)
        head = b""
        try:
            while len(head) < _HEAD and (piece := stream.read(_HEAD)):
                head += piece
        except StreamDamageError:
            pass  # what came out tells
    return archive_kind(head) != ""


def look_or_reason(found: Found, *, salvage: bool = False) -> tuple[Look | None, str]:
    """Look at a file, or say why that cannot be done."""
    try:
        return look_at(found, salvage=salvage), ""
    except DataError as error:
        return None, str(error)


def look_through(stream: ByteStream, *, salvage: bool = False) -> Look:
    """Read a stream of content to its end.

    Examples
    --------
    >>> import io
    >>> seen = look_through(io.BytesIO(b"x" * 300))
    >>> seen.size, len(seen.opening), seen.trusted
    (300, 2, True)
    """
    whole = hashlib.sha256()
    size, head, damage, cut = 0, b"", "", False
    try:
        while piece := stream.read(_PIECE):
            whole.update(piece)
            size += len(piece)
            if len(head) < LEVELS[-1]:
                head += piece[: LEVELS[-1] - len(head)]
    except StreamDamageError as error:
        damage, cut = str(error), error.cut
    content = whole.hexdigest()
    opening = tuple(hashlib.sha256(head[:level]).hexdigest()[:16] for level in LEVELS if len(head) >= level)
    if not damage:
        return Look(digest=content, content=content, size=size, opening=opening)
    verified = int(getattr(stream, "verified", size))
    whole.update(f"\0damaged: {damage}".encode())
    sound = cut or verified == size
    trusted = sound or salvage
    return Look(
        digest=whole.hexdigest(), content=content, size=size if trusted else verified,
        opening=opening if trusted else (), damage=damage, trusted=trusted, salvaged=salvage and not sound,
    )  # fmt: skip


def digests_of_first(found: Found, sizes: Collection[int]) -> dict[int, str]:
    """Give the digests of the first so many bytes of a file's content, for all sizes that it has.

    Raises
    ------
    OSError
        Where it cannot be read.
    """
    with open_member(found.path, found.member) as file:
        stream, _ = decompressed(file)
        return _digests(stream, sorted(set(sizes)))


def _digests(stream: ByteStream, sizes: list[int]) -> dict[int, str]:
    whole, told = hashlib.sha256(), {}
    at, wanted = 0, iter(sizes)
    size = next(wanted, None)
    piece = b""
    while size is not None:
        if at + len(piece) >= size:
            whole.update(piece[: size - at])
            piece, at = piece[size - at :], size
            told[size] = whole.hexdigest()
            size = next(wanted, None)
            continue
        whole.update(piece)
        at += len(piece)
        try:
            piece = stream.read(_PIECE)
        except StreamDamageError:
            break
        if not piece:
            break
    return told
