"""What is stated about a file, and whether content that is there already must be read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from workbench.model.context import Context

__all__ = ["LOADED", "Known", "context_json", "known_files"]

#: Statuses of files whose rows are in the store.
LOADED = frozenset({"loaded", "loaded with rejects", "no rows", "damaged"})
_NOTHING: dict[str, Any] = json.loads(json.dumps(asdict(Context())))


def context_json(context: Context) -> str:
    """Write what was stated, and nothing of what was not.

    Examples
    --------
    >>> context_json(Context(zone="UTC")), context_json(Context())
    ('{"zone":"UTC"}', '{}')
    """
    return json.dumps(_stated(json.loads(json.dumps(asdict(context)))), sort_keys=True, separators=(",", ":"))


def _stated(facts: Mapping[str, Any]) -> dict[str, Any]:
    columns = facts.get("columns") or {}
    usual = _NOTHING["columns"]
    own = {f"columns.{name}": value for name, value in columns.items() if value != usual.get(name)}
    return {name: value for name, value in facts.items() if name != "columns" and value is not None} | own


@dataclass(frozen=True, kw_only=True)
class Known:
    """A file that the store knows by its content."""

    source: str
    status: str
    curable: int
    hostless: int
    context: str

    def read_again(self, context: Context) -> bool:
        """Tell whether the content is to be read again, replacing its rows.

        It is where nothing of it was loaded; and where something is stated now that was not, or
        otherwise, and records were rejected for want of it, names were left without a host, or
        something was stated already. Stating less than before changes nothing.
        """
        if self.status not in LOADED:
            return True
        before: dict[str, Any] = json.loads(self.context)
        now: dict[str, Any] = json.loads(context_json(context))
        if not (self.curable or self.hostless or before):
            return False
        return any(before.get(name) != value for name, value in now.items())


def known_files(files: pl.DataFrame) -> dict[str, Known]:
    """Give what the ``files`` table knows, by digest."""
    rows = files.filter(pl.col("digest") != "").select("digest", "source", "status", "curable", "hostless", "context")
    return {
        digest: Known(
            source=source, status=status, curable=curable or 0, hostless=hostless or 0, context=context or "{}"
        )
        for digest, source, status, curable, hostless, context in rows.iter_rows()
    }
