"""What all commands share: where output goes, and how a mistake ends."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from workbench.errors import UsageError
from workbench.store.store import Store
from workbench.store.store import open as open_store

__all__ = [
    "JsonOption",
    "SeedOption",
    "StoreOption",
    "existing_store",
    "progress",
    "say",
    "show",
    "writable",
    "write_json",
]

StoreOption = Annotated[Path, typer.Option("--store", help="Folder of the store.", show_default=False)]
JsonOption = Annotated[str | None, typer.Option("--json", help="Write the answer as JSON to this file; - is stdout.")]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of every random draw; recorded.", show_default=False)
]

_stderr = Console(stderr=True, highlight=False, markup=False, emoji=False)


def say(text: str) -> None:
    """Tell the user something; never on stdout, which is for data."""
    _stderr.print(text, soft_wrap=True)


def existing_store(path: Path) -> Store:
    """Open a store that must be there already."""
    return open_store(path, create=False)


def write_json(value: Any, to: str | None) -> bool:
    """Write ``value`` where ``--json`` says; tell whether it took stdout."""
    if to is None:
        return False
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False, default=str)
    if to == "-":
        sys.stdout.write(text + "\n")
        return True
    try:
        Path(to).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"Cannot write {to}: {error.strerror}. Give --json a file in a folder that exists.") from None
    say(f"written: {to}")
    return False


def writable(path: Path | None, option: str) -> None:
    """Refuse, before any work is done, a file that could not be written in the end."""
    if path is None:
        return
    folder = path.parent
    if path.is_dir():
        raise UsageError(f"Cannot write {path}: it is a folder. Give {option} the name of a file.")
    if not folder.is_dir():
        raise UsageError(
            f"Cannot write {path}: there is no folder {folder}. Give {option} a file in a folder that exists."
        )
    if not os.access(folder, os.W_OK):
        raise UsageError(f"Cannot write {path}: you may not write to {folder}. Give {option} another folder.")


def show(frame: pl.DataFrame, *, title: str = "", limit: int = 60) -> None:
    """Print a table to stdout, cut to ``limit`` rows with a word on what was cut."""
    table = Table(title=title or None, show_edge=False, pad_edge=False, title_justify="left")
    for name, kind in frame.schema.items():
        table.add_column(name, justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in frame.head(limit).iter_rows():
        table.add_row(*(_cell(value) for value in row))
    width = None if sys.stdout.isatty() else 200
    Console(highlight=False, markup=False, emoji=False, width=width).print(table)
    if frame.height > limit:
        say(f"{frame.height - limit} more rows; --json, or of workbench sql --format csv and --out, gives all")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}Z"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return _printable(str(value))


def _printable(text: str) -> str:
    """Show control and direction characters of hostile logs instead of obeying them."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


@contextmanager
def progress(title: str, *, quiet: bool = False, unit_bytes: bool = False) -> Iterator[Any]:
    """Show progress on stderr where it is a terminal; give a ``(done, total, what)`` callback."""
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    ]
    if unit_bytes:
        columns.append(DownloadColumn())
    with Progress(*columns, console=_stderr, transient=True, disable=quiet or not _stderr.is_terminal) as bar:
        task = bar.add_task(title, total=None)

        def tell(done: float, total: float, what: str = "") -> None:
            bar.update(task, completed=done, total=total, description=_printable(f"{title} {what}"[:70]))

        yield tell
