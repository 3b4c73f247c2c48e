"""Committing one step of an ingest: some files, all at once or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from workbench.model.frames import TS
from workbench.store.finalise import Output, write_samples
from workbench.store.identity import STATED_RULE, merged_aliases
from workbench.store.known import context_json
from workbench.store.layout import FIXED
from workbench.store.manifest import Snapshot, commit, snapshot
from workbench.store.plan import Item, Plan
from workbench.store.rows import entity_rows, events_of, jobs_of, links_of, pooled, with_entities
from workbench.store.strip import strip_sources
from workbench.store.supersede import Superseded
from workbench.store.tables import read_fixed
from workbench.store.tally import Tally

__all__ = ["Committed", "commit_step"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Committed:
    """What a step did.

    ``known`` are files that another ingest committed meanwhile.
    """

    now: Snapshot
    notes: tuple[str, ...]
    known: tuple[Item, ...] = ()


def commit_step(
    root: Path,
    items: Sequence[Item],
    *,
    batch: str,
    folder: Path,
    budget_bytes: int,
    replaced: set[str],
    superseded: Mapping[str, str],
) -> Committed:
    """Write and commit the staged files of a step.

    Parameters
    ----------
    root : pathlib.Path
    items : sequence of Item
    batch : str
        Id of the batch.
    folder : pathlib.Path
        Staging folder of the ingest.
    budget_bytes : int
        Memory that turning samples into rows may take.
    replaced : set of str
        Sources that are in the store and give way to what was read now.
    superseded : mapping of source to reason
        Those of them whose whole content stands at the beginning of a file that was read now.
    """
    known: list[Item] = []
    while True:  # again where another ingest committed meanwhile what this one must know of
        base = snapshot(root)
        there = set(read_fixed(base, "files", ["source"])["source"]) - replaced
        known += [item for item in items if item.source in there]
        items = [item for item in items if item.source not in there]
        out = folder / "out"
        out.mkdir(parents=True, exist_ok=True)
        output = Output(batch, out)
        gone = Superseded(base, superseded)
        if replaced:
            strip_sources(output, base, replaced, gone.take)
        notes = _write(output, base, items, budget_bytes=budget_bytes, replaced=replaced, gone=gone)
        sources = {item.source for item in items}
        done = commit(
            root,
            list(output.changes.values()),
            batch=batch,
            what="ingest",
            still_right=partial(_fits, base=base, sources=sources, replaced=replaced),
        )
        if done is not None:
            return Committed(now=done, notes=notes, known=tuple(known))
        for path in out.iterdir():
            path.unlink()


def _fits(now: Snapshot, *, base: Snapshot, sources: set[str], replaced: set[str]) -> bool:
    """Tell whether what was prepared on ``base`` is still right on ``now``."""
    if now.seq == base.seq:
        return True
    same = all(now.versions.get(table) == base.versions.get(table) for table in ("metrics", "aliases", "entities"))
    return same and not replaced and not sources & set(read_fixed(now, "files", ["source"])["source"])


def _write(
    output: Output, base: Snapshot, items: Sequence[Item], *, budget_bytes: int, replaced: set[str], gone: Superseded
) -> tuple[str, ...]:
    for item in items:
        item.sentinels.clear()
    aliases = read_fixed(base, "aliases").filter(~pl.col("source").is_in(list(replaced)).fill_null(False))
    # What is stated of hosts is for views alone: stated otherwise, it is otherwise.
    aliases = aliases.filter((pl.col("rule") != STATED_RULE) | (pl.col("kind") != "host"))
    plan = Plan(items, aliases=aliases, metrics=read_fixed(base, "metrics"))
    tally = Tally(plan)
    write_samples(output, plan, tally, budget_bytes)
    number = base.seq + 1
    output.write_fixed("events", events_of(items, plan))
    output.write_fixed("jobs", (rows for item in items for rows in jobs_of(item, plan, number)))
    output.write_fixed("links", links_of(items, plan))
    output.write_fixed("rejects", (rows.select(list(FIXED["rejects"])) for _, rows in pooled(items, "rejects")))
    output.write_fixed("absent", [_absent(items)])
    looked = [*_looked(items, plan), *_listed(items)]
    output.write_fixed("entities", [entity_rows(items, plan, read_fixed(base, "entities"))])
    learned = merged_aliases(_frame(plan.learned, "aliases"), by=("cluster", "host", "kind", "name", "source"))
    output.write_fixed("aliases", [learned])
    output.write_fixed("metrics", [_frame(plan.columns.new, "metrics")])
    output.write_fixed("series", [tally.series(), gone.series()])
    output.write_fixed("observed", [tally.observed(looked), gone.observed()])
    for item in items:
        item.repeated, item.misfits = tally.repeated[item.source], tally.strays[item.source]
        if item.misfits:
            item.stage.notes.append(
                f"{item.misfits:,} samples do not fit their wide row (type, or two values at one time) and lie in samples_long"
            )
    output.write_fixed("files", [_files_frame(items, number), gone.files(number)])
    return tuple(plan.notes)


def _absent(items: Sequence[Item]) -> pl.DataFrame:
    own = [
        {"source": i.source, "metric": m, "reason": r, "count": c}
        for i in items
        for (m, r), c in sorted(i.sentinels.items())
    ]
    told = [rows.select(list(FIXED["absent"])) for _, rows in pooled(items, "absent")]
    summed = pl.concat([_frame(own, "absent"), *told]).group_by("source", "metric", "reason").agg(pl.col("count").sum())
    return summed.sort("source", "metric", "reason", nulls_last=True)


def _looked(items: Sequence[Item], plan: Plan) -> Iterator[pl.DataFrame]:
    """Say for which hosts logs were kept: each from its first to its last stamp."""
    facts = {item.source: item for item in items}
    for item, rows in pooled(items, "events"):
        hosts = rows.select(
            "host", pl.lit("host").alias("device_kind"), pl.lit(None, pl.String).alias("device"), "source"
        )
        named = with_entities(hosts, plan, item).group_by("entity", "source").len("count").sort("entity", "source")
        yield _intervals(
            [
                (
                    entity,
                    "events",
                    facts[source].reader,
                    facts[source].stage.first_us,
                    facts[source].stage.last_us,
                    count,
                    facts[source].owner,
                )
                for entity, source, count in named.iter_rows()
            ]
        )


def _listed(items: Sequence[Item]) -> Iterator[pl.DataFrame]:
    """Say for which time jobs were listed."""
    for item in items:
        for rows in item.stage.rows_of["jobs"].frames():
            times = pl.concat([rows[name] for name in ("submitted", "start", "end")]).drop_nulls().dt.timestamp("us")
            if times.len():
                yield _intervals(
                    [(item.cluster, "jobs", item.reader, times.min(), times.max(), rows.height, item.owner)]
                )


def _intervals(rows: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    names = ("entity", "what", "reader", "start", "end", "count", "source")
    # A spacing of 0: two logs are one stretch only where they overlap.
    return _frame([dict(zip(names, row, strict=True)) | {"interval_s": 0.0} for row in rows], "observed")


def _frame(rows: Sequence[dict[str, object]], table: str) -> pl.DataFrame:
    schema = FIXED[table]
    plain = {name: pl.Int64() if kind == TS else kind for name, kind in schema.items()}
    frame = pl.DataFrame(list(rows), schema=plain) if rows else pl.DataFrame(schema=plain)
    moments = [name for name, kind in schema.items() if kind == TS]
    return frame.with_columns(pl.col(name).cast(pl.Datetime("us")).dt.replace_time_zone("UTC") for name in moments)


def _files_frame(items: Sequence[Item], batch: int) -> pl.DataFrame:
    """Give rows for the ``files`` table."""
    return _frame([_file_row(item, batch) for item in items], "files")


def _file_row(item: Item, batch: int) -> dict[str, Any]:
    stage = item.stage
    return {
        "source": item.source, "digest": item.digest, "content_digest": item.look.content if item.look else None,
        "content_bytes": item.look.size if item.look else None, "opening": " ".join(item.look.opening) if item.look else None,
        "path": item.shown, "bytes": item.size, "reader": item.reader or None,
        "rule": item.rule or None, "confidence": item.confidence, "status": item.status, "reason": item.reason or None,
        "records": stage.records, "rows": stage.rows, "skipped": stage.skips.total(), "rejected": stage.rejected,
        "curable": stage.curable, "hostless": item.hostless, "samples": stage.samples, "repeated": item.repeated, "absent": sum(item.absences().values()),
        "entities": item.entities, "skips": stage.skips_json(), "reasons": stage.reasons_json(),
        "context": context_json(item.context), "notes": stage.notes, "first": stage.first_us, "last": stage.last_us,
        "batch": batch, "ingested": int(time.time() * 1e6),
    }  # fmt: skip
