"""Which files an ingest reads: those named, and those below the folders named, in a fixed order."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from workbench.errors import NothingToDoError, UsageError
from workbench.readers.members import Member
from workbench.store.layout import MARKER

__all__ = ["Found", "clock_for", "find_files", "printable"]


@dataclass(frozen=True, kw_only=True)
class Found:
    """A file to read.

    Attributes
    ----------
    path : pathlib.Path
    shown : str
        As the user gave it: the folder named, and the way from there.
    relative : str
        Relative to the folder that was named, with forward slashes: what globs and mappings see.
    size : int
        Bytes on disk.
    trouble : str
        Why it cannot be read; "" where nothing speaks against it.
    member : Member or None
        Where it lies in the archive ``path``; None: ``path`` is the file itself.
    """

    path: Path
    shown: str
    relative: str
    size: int = 0
    trouble: str = ""
    member: Member | None = None


def find_files(paths: Iterable[Path | str] | Path | str, *, inside: Path | None = None) -> list[Found]:
    """Give the files to read, sorted by path below each folder; no file twice.

    Links that lead out of the folder named, sockets, pipes and devices are listed with the reason
    why they are not read. A store's own folder is left out.

    Parameters
    ----------
    paths : path or several
    inside : pathlib.Path or None
        The store: what lies in it is no input.

    Raises
    ------
    NothingToDoError
        Where a path does not exist, or there is no file at all.
    UsageError
        Where a path is empty: that would be the folder one happens to be in.
    """
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if any(isinstance(path, str) and not path.strip() for path in given):
        raise UsageError("A path is empty; name the files and folders to read (the folder you are in is '.').")
    named = [Path(path) for path in given]
    missing = [str(path) for path in named if not path.exists()]
    if missing:
        raise NothingToDoError(
            f"There is no {', '.join(repr(path) for path in missing)}; check the path, or mount the disk it is on."
        )
    stores = [
        str(path) for path in named if (path / MARKER).is_file() and path.resolve() != (inside or path / "-").resolve()
    ]
    if stores:
        raise UsageError(
            f"{', '.join(stores)} is a store, not a folder of dumps; ask it by workbench sql, or name its dumps."
        )
    found: dict[Path, Found] = {}
    for path in named:
        for one in _below(path) if path.is_dir() else [_one(path, path, path.name, root=None)]:
            real = Path(os.path.realpath(one.path))  # where resolve() raises on a link to itself, this does not
            if inside is None or not real.is_relative_to(inside.resolve()):
                found.setdefault(real, one)
    if not found:
        raise NothingToDoError(
            f"There are no files in {', '.join(str(path) for path in named)}; name the folder that holds the dumps."
        )
    return list(found.values())


def _below(root: Path) -> Iterator[Found]:
    for folder, folders, names in os.walk(root, onerror=None, followlinks=False):
        folders.sort()
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in sorted([*names, *links]):
            path = Path(folder) / name
            yield _one(path, path, path.relative_to(root).as_posix(), root=root)


def _one(path: Path, shown: Path, relative: str, *, root: Path | None) -> Found:
    trouble, size = "", 0
    try:
        facts = path.stat()
        size = facts.st_size
        if root is not None and path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root.resolve()):
            trouble = "a link that leads out of the folder; name its target itself to read it"
        elif stat.S_ISDIR(facts.st_mode):
            trouble = "a link to a folder; name that folder itself to read it"
        elif not stat.S_ISREG(facts.st_mode):
            trouble = "not a regular file (a socket, pipe or device)"
        elif not os.access(path, os.R_OK):
            trouble = "you may not read it"
    except OSError as error:
        trouble = f"cannot be opened: {error.strerror}"
    return Found(
        path=path, shown=printable(shown), relative=printable(relative), size=0 if trouble else size, trouble=trouble
    )


def printable(path: object) -> str:
    """Show bytes of a name that are not UTF-8 instead of failing on them later."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def clock_for(relative: str, clocks: Sequence[tuple[str, str]]) -> str | None:
    """Give the zone of the last glob that fits a path; a glob without a slash speaks of the name.

    Examples
    --------
    >>> clock_for("bmc/n1/sel.txt", [("*", "UTC"), ("bmc/*", "America/Chicago")])
    'America/Chicago'
    """
    fitting = [
        zone for glob, zone in clocks if fnmatchcase(relative if "/" in glob else relative.rpartition("/")[2], glob)
    ]
    return fitting[-1] if fitting else None
