"""Keeping what the user states about names: before the files of an ingest are read, and without any."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa

from workbench.model.alias import Alias
from workbench.model.frames import TS
from workbench.store.finalise import Output
from workbench.store.identity import STATED_RULE, Identity
from workbench.store.layout import FIXED
from workbench.store.manifest import Snapshot, commit, snapshot
from workbench.store.names import device_name, host_name
from workbench.store.strip import strip_sources
from workbench.store.tables import read_fixed

__all__ = ["state_aliases"]


def state_aliases(root: Path, aliases: Sequence[Alias], *, batch: str, folder: Path) -> int:
    """Put stated aliases into the table; give how many are new.

    What was stated of the same name before, and differs, is taken back.
    """
    while aliases:  # again where another ingest committed meanwhile
        base = snapshot(root)
        there = read_fixed(base, "aliases")
        told = _rows(aliases, there)
        new = told.join(there, on=told.columns, how="anti", nulls_equal=True)
        if new.is_empty():
            return 0
        out = folder / "stated"
        out.mkdir(parents=True, exist_ok=True)
        output = Output(f"{batch}stated", out)
        before = set(new["source"]) & set(there["source"].drop_nulls())
        kept = told.filter(pl.col("source").is_in(list(before)) | pl.col("source").is_in(new["source"].to_list()))
        if before:
            strip_sources(output, base, before, _nobody, tables=("aliases",))
        output.write_fixed("aliases", [kept])
        unchanged = partial(_is, base.seq)
        done = commit(root, list(output.changes.values()), batch=output.batch, what="alias", still_right=unchanged)
        if done is not None:
            return new.height
    return 0


def _nobody(table: str, rows: pa.Table) -> None:
    """What was stated before is not told to anybody."""
    del table, rows


def _is(seq: int, now: Snapshot) -> bool:
    return now.seq == seq


def _rows(aliases: Sequence[Alias], there: pl.DataFrame) -> pl.DataFrame:
    """Give rows in the shape of the table; one name is one source, by which it is taken back."""
    identities: dict[str, Identity] = {}
    rows = []
    for alias in aliases:
        if alias.cluster not in identities:
            mine = there.filter(pl.col("cluster") == alias.cluster)
            identities[alias.cluster] = Identity.of(mine, alias.cluster)
        identity = identities[alias.cluster]
        host = identity.host(alias.host) if alias.host else None
        if alias.kind == "host":
            name, same = host_name(alias.name), identity.host(alias.same_as)
        else:
            name, same = device_name(alias.kind, alias.name), device_name(alias.kind, alias.same_as)
        if name == same:
            continue
        whose = f"{alias.cluster}\0{host}\0{alias.kind}\0{name}"
        source = f"stated:{hashlib.sha256(whose.encode()).hexdigest()[:16]}"
        rows.append((alias.cluster, host, alias.kind, name, same, STATED_RULE, alias.from_us, alias.to_us, source))
    schema = {name: pl.Int64() if kind == TS else kind for name, kind in FIXED["aliases"].items()}
    frame = pl.DataFrame(rows, schema=schema, orient="row").unique(maintain_order=True)
    moments = [name for name, kind in FIXED["aliases"].items() if kind == TS]
    return frame.with_columns(pl.col(name).cast(pl.Datetime("us")).dt.replace_time_zone("UTC") for name in moments)
