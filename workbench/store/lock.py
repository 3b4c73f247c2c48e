"""One writer at a time: an advisory lock that the kernel frees when its holder dies."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import StoreError

__all__ = ["held", "try_hold"]

_POLL_S = 0.02


@contextmanager
def held(path: Path, *, wait_s: float = 600.0) -> Iterator[None]:
    """Hold the lock on ``path`` while the block runs.

    Raises
    ------
    StoreError
        Where another process holds it for longer than ``wait_s`` seconds, or the file cannot be
        written or locked.
    """
    end = time.monotonic() + wait_s
    while True:
        if not path.parent.is_dir():
            raise StoreError(f"The store {path.parent} is gone. Restore it from a copy, or name another one.")
        with try_hold(path) as mine:
            if mine:
                yield
                return
        if time.monotonic() > end:
            raise StoreError(
                f"Another process has been writing to {path.parent} for {wait_s:g} s. Wait for it to end, or find it with: fuser {path}"
            )
        time.sleep(_POLL_S)


@contextmanager
def try_hold(path: Path) -> Iterator[bool]:
    """Take the lock if it is free; tell whether it was. False also where its folder has gone meanwhile."""
    import fcntl  # Unix; elsewhere stores are read, not written

    try:
        file = path.open("a")
    except FileNotFoundError:
        yield False
        return
    except OSError as error:
        raise StoreError(
            f"Cannot write to {path.parent}: {error.strerror}. Choose a folder that you may write to."
        ) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                yield False
                return
            raise StoreError(
                f"{path.parent} lies on a file system without locks ({error.strerror}); keep the store on a local disk."
            ) from None
        yield True
