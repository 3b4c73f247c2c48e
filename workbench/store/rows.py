"""Events, jobs, entities, links: from the names that readers give to the ids of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from workbench.model.frames import TS
from workbench.store.identity import Resolved, Who
from workbench.store.layout import FIXED, empty_fixed
from workbench.store.plan import Item, Plan

__all__ = ["entity_rows", "events_of", "jobs_of", "links_of", "pooled", "with_entities"]

_WHO = ("host", "device_kind", "device")
# What differs from one event of a kind to the next: addresses, hex and decimal numbers.
_VARIABLE = (
    r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?|\b[0-9a-f]{8}-[0-9a-f-]{20,}|\d+"
)
_LONGEST_TEMPLATE = 300
_POOL_ROWS = 500_000
_POOL_BYTES = 64 * 2**20


def with_entities(
    rows: pl.DataFrame, plan: Plan, item: Item, *, columns: tuple[str, str, str] = _WHO, name: str = "entity"
) -> pl.DataFrame:
    """Put the canonical id in place of host, kind and name of a device; by time where aliases have one."""
    at = "ts" if "ts" in rows.columns else None
    names = rows.select(columns).unique(maintain_order=True)
    found = [plan.resolve(item, who) for who in names.iter_rows()]
    ids = pl.Series(name, [resolved.entity for resolved in found], dtype=pl.String)
    joined = rows.join(names.with_columns(ids), on=list(columns), how="left", nulls_equal=True, maintain_order="left")
    for who, resolved in zip(names.iter_rows(), found, strict=True):
        if resolved.spans and at is not None:
            joined = joined.with_columns(_timed(who, resolved, columns, name))
    return joined.drop(columns)


def _timed(who: Who, resolved: Resolved, columns: tuple[str, str, str], name: str) -> pl.Expr:
    mine = pl.all_horizontal(
        pl.col(column).eq_missing(pl.lit(value)) for column, value in zip(columns, who, strict=True)
    )
    us = pl.col("ts").dt.timestamp("us")
    chosen = pl.col(name)
    for start, end, entity in resolved.spans:
        chosen = pl.when(mine & (us >= start) & (us < end)).then(pl.lit(entity)).otherwise(chosen)
    return chosen.alias(name)


def pooled(items: Sequence[Item], table: str) -> Iterator[tuple[Item, pl.DataFrame]]:
    """Give the rows of one kind, with the ``source`` of each: thousands of small files as few frames.

    Each comes with one of its files, which stands for the others: they are of one cluster and owner.
    """
    groups: dict[tuple[str, str | None], list[Item]] = {}
    for item in items:
        groups.setdefault((item.cluster, item.owner), []).append(item)
    for mine in groups.values():
        held: list[pl.DataFrame] = []
        rows = size = 0
        for item in mine:
            for frame in item.stage.rows_of[table].frames():
                held.append(frame.with_columns(source=pl.lit(item.source)))
                rows, size = rows + frame.height, size + int(frame.estimated_size())
                if rows >= _POOL_ROWS or size >= _POOL_BYTES:
                    yield item, pl.concat(held)
                    held, rows, size = [], 0, 0
        if held:
            yield mine[0], pl.concat(held)


def events_of(items: Sequence[Item], plan: Plan) -> Iterator[pl.DataFrame]:
    """Give the events of files, each piece in order of time."""
    template = pl.col("message").str.slice(0, _LONGEST_TEMPLATE).str.replace_all(_VARIABLE, "#").alias("template")
    for item, rows in pooled(items, "events"):
        bounded = rows.with_columns(
            template, pl.col("ts_low").fill_null(pl.col("ts")), pl.col("ts_high").fill_null(pl.col("ts")),
            pl.col("attributes").fill_null("{}"),
        )  # fmt: skip
        placed = with_entities(bounded, plan, item)
        yield placed.select(list(FIXED["events"])).sort("ts", "entity", "kind", "source", "line", nulls_last=True)


def jobs_of(item: Item, plan: Plan, batch: int) -> Iterator[pl.DataFrame]:
    """Give the jobs of a file, their nodes as ids."""
    for rows in item.stage.rows_of["jobs"].frames():
        hosts = _each(rows["nodes"], lambda node: plan.resolve(item, (node, "host", None)).entity)
        own = [plan.resolve(item, (None, "job", job or "unnamed")).entity for job in rows["job"]]
        placed = rows.drop("nodes").with_columns(
            pl.Series("entities", hosts, dtype=pl.List(pl.String)), pl.Series("entity", own, dtype=pl.String),
            pl.lit(item.source).alias("source"), pl.lit(batch, pl.Int64).alias("batch"),
        )  # fmt: skip
        yield placed.select(list(FIXED["jobs"]))


def _each(lists: pl.Series, one: Callable[[str], str]) -> list[list[str]]:
    return [
        [] if names is None else list(dict.fromkeys(one(name) for name in names if name)) for names in lists.to_list()
    ]


def links_of(items: Sequence[Item], plan: Plan) -> Iterator[pl.DataFrame]:
    """Give the links of files, from id to id; files that stay say each link once."""
    for item, rows in pooled(items, "links"):
        told = rows.with_columns(source=pl.lit(item.owner, pl.String)).unique(maintain_order=True)
        child = with_entities(told, plan, item)
        both = with_entities(child, plan, item, columns=("to_host", "to_kind", "to_device"), name="to_entity")
        yield both.select(list(FIXED["links"])).sort("entity", "relation", "to_entity", nulls_last=True)


def entity_rows(items: Sequence[Item], plan: Plan, there: pl.DataFrame) -> pl.DataFrame:
    """Give rows for the ``entities`` table: what readers state of an entity, and that it exists.

    Parameters
    ----------
    items : sequence of Item
    plan : Plan
    there : polars.DataFrame
        The table as it is; what it says for good is not said again.
    """
    stated = [empty_fixed("entities")]
    for item, rows in pooled(items, "entities"):
        told = rows.with_columns(source=pl.lit(item.owner, pl.String)).unique(maintain_order=True)
        stated.append(_described(with_entities(told, plan, item), plan))
    met = [
        (e.entity, e.kind, e.host, e.name, owner)
        for e in plan.entities
        # One row for good where a file that stays speaks of it; else one for each file that may be replaced.
        for owner in ([None] if None in plan.owners[e.entity] else sorted(plan.owners[e.entity], key=str))
    ]
    schema = {name: FIXED["entities"][name] for name in ("entity", "kind", "host", "name", "source")}
    nothing = [pl.lit(None, TS).alias(n) for n in ("valid_from", "valid_to")]
    bare = pl.DataFrame(met, schema=schema, orient="row").with_columns(*nothing, attributes=pl.lit("{}"))
    every = pl.concat([*stated, bare.select(list(FIXED["entities"]))]).unique(maintain_order=True)
    known = there.filter(pl.col("source").is_null())
    return every.join(known, on=["entity", "attributes", "valid_from", "valid_to"], how="anti", nulls_equal=True).sort(
        "entity", "attributes", "source", nulls_last=True
    )


def _described(placed: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    facts = {e.entity: e for e in plan.entities}
    mine = [facts[entity] for entity in placed["entity"]]
    return placed.with_columns(
        pl.Series("kind", [e.kind for e in mine], dtype=pl.String), pl.Series("host", [e.host for e in mine], dtype=pl.String),
        pl.Series("name", [e.name for e in mine], dtype=pl.String), pl.col("attributes").fill_null("{}"),
    ).select(list(FIXED["entities"]))  # fmt: skip
