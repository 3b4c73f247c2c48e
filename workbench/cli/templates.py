"""templates: what the log lines say that no rule knows."""

from __future__ import annotations

from typing import Annotated

import polars as pl
import typer

from workbench.cli.common import JsonOption, StoreOption, existing_store, show, write_json

__all__ = ["templates"]

_SHOWN = ["template_id", "count", "hosts", "signal", "first", "last", "path", "line", "template"]


def templates(
    store: StoreOption,
    contains: Annotated[str | None, typer.Option(help="Only templates that hold this text, in any case.")] = None,
    json: JsonOption = None,
) -> None:
    """List the templates of log lines that no rule knows; template:ID is a selector of their events."""
    found = existing_store(store).templates().table()
    if contains is not None:
        words = pl.col("template").str.to_lowercase()
        found = found.filter(words.str.contains(contains.lower(), literal=True))
    if not write_json(found.to_dicts(), json):
        show(found.select(_SHOWN))
