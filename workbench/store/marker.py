"""The file that says that a folder is a store, and of which layout."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from workbench.errors import StoreError
from workbench.store.layout import FORMAT, MARKER
from workbench.version import __version__

_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")

__all__ = ["make_store", "require_layout"]


def require_layout(root: Path) -> None:
    """Refuse a store whose layout this version does not know.

    Raises
    ------
    StoreError
        Where the marker cannot be read, or names a newer layout.
    """
    try:
        facts = json.loads((root / MARKER).read_text(encoding="utf-8"))
    except OSError as error:
        raise StoreError(f"Cannot read {root / MARKER}: {error.strerror}. Check the rights of the store.") from None
    except (ValueError, RecursionError):
        facts = None
    number = facts.get("format") if isinstance(facts, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or not isinstance(facts, dict):
        raise StoreError(
            f'{root / MARKER} is damaged: expected {{"format": {FORMAT}, ...}}. Restore it from a copy, or write that into it.'
        )
    if number > FORMAT:
        raise StoreError(
            f"The store {root} has layout {number}; this version of workbench knows {FORMAT}. "
            f"Install the version that wrote it: {facts.get('written_by', 'not known')}."
        )


def make_store(root: Path, *, create: bool) -> None:
    """Make an empty store where there is none.

    Raises
    ------
    StoreError
        Where ``create`` is False, or the folder is something else, or cannot be made.
    """
    try:
        if (root / MARKER).exists():
            return
        there = root.exists()
        if _PERCENT.search(str(root.resolve())):
            raise StoreError(
                f"The path of {root} holds a % before two digits, which Delta Lake takes for another character. Choose another folder."
            )
        if there and not root.is_dir():
            raise StoreError(f"{root} is a file, not a store. Name the folder of a store.")
        if there and any(root.iterdir()):
            raise StoreError(f"{root} is a folder with other things in it, not a store. Name a store, or a new folder.")
        if not create:
            raise StoreError(f"There is no store at {root}. Make one with: workbench ingest PATH... --store {root}")
        _write(root)
    except OSError as error:
        raise StoreError(
            f"Cannot make a store at {root}: {error.strerror}. Choose a folder that you may write to."
        ) from None


def _write(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": FORMAT, "written_by": f"workbench {__version__}"})
    draft = root / f".{MARKER}.{os.getpid()}"
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(root / MARKER)
