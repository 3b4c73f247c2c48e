"""An account of a store: what it spans, what it holds, what is missing, what can be joined with what."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from workbench.figures.text import escape
from workbench.store.catalog import catalog
from workbench.store.clocks import CLOCKS
from workbench.store.engine import Engine
from workbench.store.joins import join_rates
from workbench.store.names import LOOSE_KINDS, is_stable
from workbench.store.report import html_table
from workbench.timebase import format_us, to_us

__all__ = ["StoreInfo", "gather"]

_SOURCES = """
select coalesce(reader, '') as reader, status, count(*)::bigint as files, sum(bytes)::bigint as bytes, sum(records)::bigint as records,
       sum("rows")::bigint as "rows", sum(skipped)::bigint as skipped, sum(rejected)::bigint as rejected,
       sum(curable)::bigint as curable, sum(samples)::bigint as samples, min(first) as first, max(last) as last
from files group by all order by all
"""
_EVENTS = (
    "select kind, count(*)::bigint as count, min(ts) as first, max(ts) as last from events group by all order by all"
)
_COVERAGE = """
with whole as (select min(start) as first, max("end") as last from observed)
select what, count(distinct entity)::bigint as entities, min(start) as first, max("end") as last,
       (count(*) - count(distinct (entity, reader)))::bigint as gaps
from observed group by what order by what
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class StoreInfo:
    """An account of a store.

    Attributes
    ----------
    path, version : str
    sources : polars.DataFrame
        Files by reader and status, with sizes, records, rows, rejects and span.
    kinds : polars.DataFrame
        Entities by kind; ``unresolved``: known only by a name that may change, such as a GPU index.
    metrics : polars.DataFrame
        The catalog, in short.
    events : polars.DataFrame
        Events by kind.
    coverage : polars.DataFrame
        By table: entities, span, and how often somebody stopped looking.
    told_again : int
        Events that a second file told in the same words; ``events`` has them once.
    joins : polars.DataFrame
        Of the names that one source gives, how many another source knows too; ``missing`` lists some that
        it does not.
    clocks : polars.DataFrame
        Hosts whose clocks are off by more than is uncertain.
    compared : int
        Clocks that had enough in common with others to be compared.
    """

    path: str
    version: str
    sources: pl.DataFrame
    kinds: pl.DataFrame
    metrics: pl.DataFrame
    events: pl.DataFrame
    coverage: pl.DataFrame
    joins: pl.DataFrame
    told_again: int = 0
    clocks: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=CLOCKS))
    compared: int = 0

    @property
    def span(self) -> tuple[str, str] | None:
        """First and last moment of the data, RFC 3339; None where there are none."""
        first, last = self.sources["first"].min(), self.sources["last"].max()
        return None if first is None or last is None else (format_us(to_us(first)), format_us(to_us(last)))  # type: ignore[arg-type]

    def sections(self) -> list[tuple[str, pl.DataFrame]]:
        """Give the parts with their titles."""
        return [
            ("store", self.table()), ("sources", self.sources), ("entities", self.kinds), ("metrics", self.metrics),
            ("events", self.events), ("observation", self.coverage), ("joins", self.joins),
            ("clocks", self.clocks),
        ]  # fmt: skip

    def table(self) -> pl.DataFrame:
        """The main facts, one a row."""
        span = self.span or ("", "")
        total = {
            name: int(self.sources[name].sum())
            for name in ("files", "bytes", "records", "rows", "rejected", "curable", "samples")
        }
        facts = {"path": self.path, "version": self.version, "first": span[0], "last": span[1], **total}
        facts |= {"entities": int(self.kinds["count"].sum()), "unresolved": int(self.kinds["unresolved"].sum())}
        facts |= {
            "metrics": self.metrics.height,
            "events": int(self.events["count"].sum()),
            "events told again": self.told_again,
            "clocks compared": self.compared,
            "clocks off": self.clocks.height,
        }
        return pl.DataFrame({"what": list(facts), "value": [str(value) for value in facts.values()]})

    def to_json(self) -> dict[str, Any]:
        """Give everything as one JSON object."""
        parts = {title: _plain(frame) for title, frame in self.sections() if title != "store"}
        return {"schema": "workbench.info/1", **dict(self.table().iter_rows()), **parts}

    def _repr_html_(self) -> str:
        named = [(title, frame) for title, frame in self.sections() if title != "metrics"]
        return "".join(f"<h4>{escape(title)}</h4>{html_table(frame, 25)}" for title, frame in named)


def _plain(frame: pl.DataFrame) -> list[dict[str, Any]]:
    moments = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
    rows = frame.to_dicts()
    for row in rows:
        for name in moments:
            row[name] = None if row[name] is None else format_us(to_us(row[name]))
    return rows


def gather(engine: Engine, path: Path, version: str) -> StoreInfo:
    """Gather the account of a store."""
    entities = engine.ask("select distinct entity, kind, name from entities")
    loose = pl.Series(
        [not is_stable(kind, name or "") for kind, name in entities.select("kind", "name").iter_rows()],
        dtype=pl.Boolean,
    )
    unresolved = (loose & pl.Series(entities["kind"].is_in(list(LOOSE_KINDS)))).cast(pl.Int64)
    kinds = (
        entities.with_columns(unresolved.alias("unresolved"))
        .group_by("kind")
        .agg(pl.len().cast(pl.Int64).alias("count"), pl.col("unresolved").sum())
    )
    events = engine.ask(_EVENTS)
    told = int(engine.ask("select count(*) as n from events_told")["n"][0])
    short = ("metric", "entity_kind", "unit", "kind", "interval_s", "series", "first", "last", "rows", "raw_names")
    return StoreInfo(
        path=str(path), version=version, sources=engine.ask(_SOURCES), kinds=kinds.sort("kind"), metrics=catalog(engine).select(short),
        events=events,
        told_again=told - int(events["count"].sum()),
        coverage=engine.ask(_COVERAGE),
        joins=join_rates(engine.ask),
        clocks=engine.clocks.filter("off"), compared=engine.clocks.height,
    )  # fmt: skip
