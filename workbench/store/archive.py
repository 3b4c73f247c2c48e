"""Archives among the files found: tar (also packed) and zip, taken as the files that they hold."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from workbench.readers.members import Member
from workbench.readers.streams import StreamDamageError, decompressed
from workbench.store.walk import Found, printable

__all__ = ["MOST_MEMBERS", "archive_kind", "with_members"]

#: Members of one archive that are read.
MOST_MEMBERS = 100_000
_HEAD = 512
#: A packed tar is unpacked aside up to so many times its size, and a GiB.
_MOST_TIMES = 200
_ALWAYS = 2**30
_LONGEST_HEADER = 16 * 2**20
_PIECE = 1 << 20
_DRIVE = re.compile(r"[A-Za-z]:[/\\]")
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def archive_kind(head: bytes) -> str:
    r"""Tell by the first 512 bytes of (decompressed) content: ``tar``, ``zip``, or "" for no archive.

    Examples
    --------
    >>> archive_kind(b"PK\3\4..."), archive_kind(b"text")
    ('zip', '')
    """
    if head.startswith((b"PK\3\4", b"PK\5\6")):
        return "zip"
    try:
        tarfile.TarInfo.frombuf(head[:_HEAD], "utf-8", "surrogateescape")
    except tarfile.TarError:
        return ""
    return "tar"


def with_members(found: Sequence[Found], folder: Path, *, salvage: bool = False) -> list[Found]:
    """Put the members of archives in place of the archives.

    Parameters
    ----------
    found : sequence of Found
    folder : pathlib.Path
        Where packed tar files are unpacked (as one file each, under a name of ours).
    salvage : bool
        Take also what a packed tar gives that does not decode or fails its checksum.
    """
    listed: list[Found] = []
    for number, one in enumerate(found):
        kind, packed = ("", False) if one.trouble else _kind_of(one.path)
        if not kind:
            listed.append(one)
            continue
        try:
            held = list(_members(one, kind, folder / f"a{number:06d}.tar" if packed else None, salvage))
            listed += held or [replace(one, trouble="the archive holds no files")]
        except (OSError, tarfile.TarError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            listed.append(replace(one, trouble=f"the archive cannot be read: {error}"))
    return listed


def _kind_of(path: Path) -> tuple[str, bool]:
    """Give the kind of archive, and whether it is packed as a whole."""
    try:
        with path.open("rb") as file:
            stream, container = decompressed(file)
            head = b""
            while len(head) < _HEAD and (piece := stream.read(_HEAD)):
                head += piece
    except (OSError, StreamDamageError):
        return "", False
    kind = archive_kind(head)
    return (kind, container != "plain") if kind == "tar" or container == "plain" else ("", False)


def _members(one: Found, kind: str, unpacked: Path | None, salvage: bool) -> Iterator[Found]:
    if kind == "zip":
        yield from _named(one, one.path, _of_zip(one.path))
        return
    trouble = ""
    if unpacked is not None:
        trouble = _unpack(one, unpacked, salvage)
    yield from _named(one, unpacked or one.path, _of_tar(unpacked or one.path, whole=not trouble))
    if trouble:
        yield replace(one, size=0, trouble=trouble)


def _unpack(one: Found, to: Path, salvage: bool) -> str:
    """Decompress a packed tar; give what was wrong with it, or ""."""
    to.parent.mkdir(parents=True, exist_ok=True)
    room, done = _MOST_TIMES * one.size + _ALWAYS, 0
    with one.path.open("rb") as file, to.open("wb") as out:
        stream, _ = decompressed(file)
        try:
            while piece := stream.read(_PIECE):
                done += out.write(piece)
                if done > room:
                    return f"unpacks to more than {_MOST_TIMES} times its size; unpack it yourself if that is right"
        except StreamDamageError as error:
            if error.cut or salvage:
                return f"{error}; members before that place are read"
            out.truncate(int(getattr(stream, "verified", 0)))
            return f"{error}; nothing of the stream that fails is taken, --salvage takes what it gave"
    return ""


Listed = tuple[str, Member | None, str]


def _named(one: Found, path: Path, members: Iterator[Listed]) -> Iterator[Found]:
    """Give the members as files: named ``archive!member``, for globs as if unpacked where the archive lies."""
    beside = one.relative.rpartition("/")[0]
    seen: dict[str, int] = {}
    for number, (name, member, trouble) in enumerate(members):
        if number >= MOST_MEMBERS:
            yield replace(one, size=0, trouble=f"holds more than {MOST_MEMBERS:,} members; the others are not read")
            return
        clean = printable(PurePosixPath(name)) if name else ""
        seen[clean] = seen.get(clean, 0) + 1
        again = "" if seen[clean] == 1 else f"#{seen[clean]}"
        relative = f"{beside}/{clean}" if beside else clean
        size = member.packed if member is not None and not trouble else 0
        yield Found(
            path=path, shown=f"{one.shown}!{clean}{again}", relative=relative, size=size, trouble=trouble, member=member
        )


class _Careful:
    """A tar file whose headers may not ask for unbounded memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell, self.close = file.seek, file.tell, file.close

    def read(self, size: int = -1) -> bytes:
        """Read, as a header of sane size does."""
        if not 0 <= size <= _LONGEST_HEADER:
            raise tarfile.ReadError("a header of it claims more than 16 MiB")
        return self._file.read(size)


def _of_tar(path: Path, *, whole: bool) -> Iterator[Listed]:
    with path.open("rb") as file:
        try:
            with tarfile.open(fileobj=_Careful(file), mode="r:", errorlevel=0) as tar:  # type: ignore[call-overload]
                for info in tar:
                    tar.members.clear()  # it would remember them all
                    if not info.isdir():
                        member = Member(name=info.name, offset=info.offset_data, size=info.size, packed=info.size)
                        yield info.name, member, _tar_trouble(info)
        except tarfile.ReadError as error:
            if whole:
                yield "", None, f"the archive is damaged: {error}; what follows is lost"


def _tar_trouble(info: tarfile.TarInfo) -> str:
    if info.issym() or info.islnk():
        return "a link inside of an archive is not followed"
    if not info.isreg():
        return "not a regular file (a device or pipe)"
    return "a sparse file; unpack the archive to read it" if info.issparse() else _climbs(info.name)


def _of_zip(path: Path) -> Iterator[Listed]:
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
    if any(info.filename == "[Content_Types].xml" for info in infos):
        yield "", None, "an office document; export its sheets as CSV"
        return
    for info in infos:
        if not info.is_dir():
            member = Member(
                name=info.filename, offset=info.header_offset, size=info.file_size, packed=info.compress_size,
                zipped=True, deflated=info.compress_type == zipfile.ZIP_DEFLATED, crc=info.CRC,
            )  # fmt: skip
            yield info.filename, member, _zip_trouble(info)


def _zip_trouble(info: zipfile.ZipInfo) -> str:
    if info.flag_bits & 1:
        return "encrypted; unpack it with its password"
    if info.compress_type not in _READABLE:
        return "packed by another method than deflate; unpack the archive to read it"
    kind = info.external_attr >> 28
    if info.create_system == 3 and kind not in (0, 8):
        return "a link inside of an archive is not followed" if kind == 10 else "not a regular file (a device or pipe)"
    return _climbs(info.filename)


def _climbs(name: str) -> str:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or _DRIVE.match(name):
        return "its path leads out of the archive"
    return ""
