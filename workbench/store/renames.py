"""Aliases that came after the rows they explain: what to show in place of the name rows were kept under."""

from __future__ import annotations

import polars as pl

from workbench.store.identity import ALWAYS, STATED_RULE, Identity
from workbench.store.manifest import Snapshot
from workbench.store.tables import read_fixed

__all__ = ["renames"]

_SCHEMA = pl.Schema(
    {"old": pl.String(), "start_us": pl.Int64(), "end_us": pl.Int64(), "entity": pl.String(), "always": pl.Boolean()}
)


def renames(now: Snapshot) -> pl.DataFrame:
    """Give the entities whose names lead to other ones today.

    Rows keep the id that was known when they were written. When a later ingest brings the alias
    (GPU 3 is this UUID), views show the lasting id at once; nothing has to be rewritten.

    Returns
    -------
    polars.DataFrame
        ``old`` id, from ``start_us`` up to ``end_us`` (microseconds), is ``entity``; ``always``
        where it holds at all times.
    """
    aliases = read_fixed(now, "aliases")
    if aliases.filter((pl.col("kind") != "host") | (pl.col("rule") == STATED_RULE)).is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    known = read_fixed(now, "entities", ["entity", "kind", "host", "name"]).unique(maintain_order=True)
    rows: list[dict[str, object]] = []
    for cluster in aliases["cluster"].unique(maintain_order=True).to_list():
        identity = Identity.of(aliases.filter(pl.col("cluster") == cluster), cluster)
        mine = known.filter(pl.col("entity").str.starts_with(f"{cluster}/") & (pl.col("kind") != "cluster"))
        for entity, kind, host, name in mine.iter_rows():
            above = entity if kind == "host" else host
            who = (None if above is None else above.removeprefix(f"{cluster}/"), kind, None if kind == "host" else name)
            found = identity.resolve(who)
            if found.entity != entity:
                rows.append(_row(entity, *ALWAYS, found.entity))
            rows += [_row(entity, start, end, target) for start, end, target in found.spans if target != entity]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _row(old: str, start_us: int, end_us: int, entity: str) -> dict[str, object]:
    return {
        "old": old,
        "start_us": start_us,
        "end_us": end_us,
        "entity": entity,
        "always": (start_us, end_us) == ALWAYS,
    }
