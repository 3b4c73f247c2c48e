"""The folder in which a writer prepares files; it goes when the writer ends, by whatever end."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from workbench.errors import StoreError
from workbench.store.layout import staging_folder
from workbench.store.lock import try_hold

__all__ = ["staging"]


@contextmanager
def staging(root: Path) -> Iterator[tuple[str, Path]]:
    """Give an id and a folder to a writer.

    The file ``alive`` in it is locked as long as the writer lives: the folder of a dead one is
    swept by the next commit.

    Raises
    ------
    StoreError
        Where the store cannot be written.
    """
    parent = staging_folder(root)
    for _ in range(100):
        batch = f"b{time.strftime('%Y%m%d%H%M%S', time.gmtime())}{uuid4().hex[:6]}"
        folder = parent / batch
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise StoreError(
                f"Cannot write to {root}: {error.strerror}. Choose a folder that you may write to."
            ) from None
        with try_hold(folder / "alive") as mine:
            if mine and (folder / "alive").exists():  # else another process has just swept it away
                try:
                    yield batch, folder
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
                return
    raise StoreError(f"Cannot prepare a folder in {parent}; check its rights.")
