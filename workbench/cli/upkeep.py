"""store check, store compact, store vacuum: keep a store sound and small."""

from __future__ import annotations

from typing import Annotated

import polars as pl
import typer

from workbench.cli.common import JsonOption, StoreOption, existing_store, say, show, write_json

__all__ = ["check", "compact", "register", "vacuum"]


def check(store: StoreOption, json: JsonOption = None) -> int:
    """Look whether every file of the store is there and readable; exit code 4 where it is damaged."""
    found = existing_store(store).check()
    if not write_json(found.to_json(), json):
        if found.problems.height:
            show(found.problems)
        say(f"{found.files} files, {'sound' if found.sound else 'damaged'}")
    return 0 if found.sound else 4


def compact(store: StoreOption, json: JsonOption = None) -> None:
    """Make few large files of many small ones; whoever reads meanwhile goes on undisturbed."""
    done = existing_store(store).compact()
    if not write_json(done.to_dicts(), json):
        if done.height:
            show(done)
        saved = _sum(done, "bytes_before") - _sum(done, "bytes_after")
        say(f"{_sum(done, 'files_before')} files became {_sum(done, 'files_after')}; {saved / 1e6:.1f} MB less")
        say("The old files stay for results that name an older version; workbench store vacuum removes them.")


def vacuum(
    store: StoreOption,
    keep: Annotated[int | None, typer.Option(min=1, help="Newest versions to keep; all of them if not given.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would go.")] = False,
    json: JsonOption = None,
) -> None:
    """Remove files that no kept version needs."""
    gone = existing_store(store).vacuum(keep=keep, dry_run=dry_run)
    if not write_json(gone.to_dicts(), json):
        if gone.height:
            show(gone)
        say(f"{gone.height} files, {_sum(gone, 'bytes') / 1e6:.1f} MB {'would go' if dry_run else 'removed'}")


def _sum(frame: pl.DataFrame, column: str) -> int:
    return int(frame[column].sum())


def register(app: typer.Typer) -> None:
    """Add these commands, as ``workbench store ...``."""
    group = typer.Typer(help="Check, compact and clean a store.", no_args_is_help=True, rich_markup_mode=None)
    for command in (check, compact, vacuum):
        group.command()(command)
    app.add_typer(group, name="store")
