"""One file on its way into the store: read to its end, counted, kept aside until it is committed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from workbench.errors import DataError
from workbench.model import frames
from workbench.model.batch import Batch
from workbench.store.columns import bare, route_of
from workbench.store.identity import Who, merged_aliases
from workbench.store.layout import SAMPLES_LONG, is_wide
from workbench.store.spool import SampleSpool, Spool, Squash

__all__ = ["MOST_A_REASON", "MOST_REJECTS", "OTHER_REASONS", "Name", "Stage"]

#: Rejected records of one file that are kept with their text, of one reason and in all; beyond, they are only counted.
MOST_A_REASON = 1000
MOST_REJECTS = 100_000
#: Reasons of one file that are told apart.
_MOST_REASONS = 1000
_REASONS_TOLD = 20
OTHER_REASONS = "other reasons"
_LONGEST_TEXT = 2000
#: A metric as a series states it: name, stated kind, unit, kind of entity, table it is meant for.
Name = tuple[str, str | None, str | None, str, str]
#: Kinds of things that every host has; without its name they cannot be told apart.
_ON_A_HOST = frozenset({None, "gpu", "mig", "nic", "pci", "cpu", "disk"})
_ROWS = {
    "events": frames.EVENTS,
    "jobs": frames.JOBS,
    "entities": frames.ENTITIES,
    "links": frames.LINKS,
    "aliases": frames.ALIASES,
    "rejects": frames.REJECTS,
    "absent": frames.ABSENT,
}


def _merged_aliases(rows: pl.DataFrame) -> pl.DataFrame:
    return merged_aliases(rows, by=("host", "device_kind", "device"))


def _unique(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.unique(maintain_order=True)


def _summed(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("metric", "reason", maintain_order=True).agg(pl.col("count").sum())


#: Readers tell these again with every block.
_SQUASH: dict[str, Squash] = {"aliases": _merged_aliases, "entities": _unique, "links": _unique, "absent": _summed}


@dataclass
class Stage:
    """What was read of one file.

    Attributes
    ----------
    folder : pathlib.Path
        Where rows go that do not fit in memory.
    limit_bytes : int
    records, rows, rejected, curable, samples : int
    skips : counter of rule
    curable_kinds : counter of what the user can state
    notes : list of str
    who : dict of (host, kind, device) to number
    names : dict of Name to number
    labels : dict of canonical JSON to number
    not_whole : set of int
        Numbers of the names that had values which are no integers.
    extra_labels : dict of (who, name) to set of label
        Labels of series that lie wide all the same.
    rows_of : dict of table to Spool
        In the shapes of ``workbench.model.frames``.
    """

    folder: Path
    limit_bytes: int
    records: int = 0
    rows: int = 0
    rejected: int = 0
    curable: int = 0
    samples: int = 0
    skips: Counter[str] = field(default_factory=Counter)
    curable_kinds: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    who: dict[Who, int] = field(default_factory=dict)
    names: dict[Name, int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    not_whole: set[int] = field(default_factory=set)
    extra_labels: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    first_us: int | None = None
    last_us: int | None = None
    _routed: dict[tuple[str, str, str | None], tuple[str, int, bool]] = field(default_factory=dict)
    _routes: dict[str, int] = field(default_factory=lambda: {SAMPLES_LONG: 0})

    def __post_init__(self) -> None:
        self.samples_of = SampleSpool(self.folder, self.limit_bytes)
        self.rows_of = {name: Spool(self.folder / name, self.limit_bytes, _SQUASH.get(name)) for name in _ROWS}

    def named(self) -> tuple[int, int]:
        """Count the names that stand for things on a host but do not say on which; and all names."""
        found = set(self.who)
        for table in ("events", "entities", "links"):
            for rows in self.rows_of[table].frames():
                found |= set(rows.select("host", "device_kind", "device").unique().iter_rows())
        known = {(host, kind or "host", device) for host, kind, device in found}
        for rows in self.rows_of["jobs"].frames():
            known |= {(None, "job", job) for job in rows["job"].unique()}
            known |= {(node, "host", None) for node in rows["nodes"].explode().drop_nulls().unique()}
        events = {who for rows in self.rows_of["events"].frames() for who in _lone(rows)}
        lone = {who for who in self.who if who[0] is None and who[1] in _ON_A_HOST} | events
        return len(lone), len(known)

    def absences(self) -> dict[str, int]:
        """Count cells without a number, by metric and reason."""
        rows = pl.concat([frames.empty(frames.ABSENT), *self.rows_of["absent"].frames()])
        summed = (
            rows.group_by("metric", "reason")
            .agg(pl.col("count").sum())
            .sort("count", "metric", descending=[True, False])
        )
        return {f"{metric}: {reason}": count for metric, reason, count in summed.iter_rows()}

    @property
    def bytes(self) -> int:
        """Size of what is held in memory."""
        return self.samples_of.bytes + sum(spool.bytes for spool in self.rows_of.values())

    @property
    def disk_bytes(self) -> int:
        """Size of the samples that went to disk, before compression."""
        return sum(36 * chunk.rows for chunk in self.samples_of.chunks if chunk.path is not None)

    def add(self, batch: Batch) -> None:
        """Take one batch of the reader.

        Raises
        ------
        DataError
            Where the reader breaks its contract: tables of another shape, a series that is not there.
        """
        self.records += batch.records
        self.rows += batch.rows
        self.skips.update(dict(batch.skips.iter_rows()))
        self.notes += [note for note in batch.notes if note not in self.notes][: max(0, 20 - len(self.notes))]
        for name, schema in _ROWS.items():
            rows = _checked(getattr(batch, name), schema, name)
            self.rows_of[name].add(rows if name != "rejects" else self._kept_rejects(rows))
        self._widen_span(batch.events["ts"])
        self._add_samples(
            _checked(batch.series, frames.SERIES, "series"), _checked(batch.samples, frames.SAMPLES, "samples")
        )

    def finish(self) -> None:
        """Close the books: the file was read to its end."""
        self.samples_of.flush(to_disk=False)
        kept = self.rows_of["rejects"].rows
        if self.rejected > kept:
            self.notes.append(f"{kept:,} of {self.rejected:,} rejected records are kept with their text")

    def to_disk(self) -> None:
        """Write everything that is still in memory, so that little travels between processes."""
        self.samples_of.move_to_disk()
        for spool in self.rows_of.values():
            spool.flush()

    def _kept_rejects(self, rejects: pl.DataFrame) -> pl.DataFrame:
        """Count rejected records by reason, and give those that are kept with their text."""
        if rejects.is_empty():
            return rejects
        self.rejected += rejects.height
        self.curable += rejects.height - rejects["curable"].null_count()
        self.curable_kinds.update(_counted(rejects["curable"].drop_nulls()))
        reasons = _counted(rejects["reason"])
        left = [max(0, MOST_A_REASON - self.reasons[reason]) for reason in reasons]
        room = pl.DataFrame({"reason": list(reasons), "room": left}, schema={"reason": pl.String, "room": pl.Int64})
        for reason, count in reasons.items():
            known = reason in self.reasons or len(self.reasons) < _MOST_REASONS
            self.reasons[reason if known else OTHER_REASONS] += count
        kept = (
            rejects.join(room, on="reason", how="left", maintain_order="left")
            .filter(pl.int_range(pl.len()).over("reason") < pl.col("room"))
            .head(max(0, MOST_REJECTS - self.rows_of["rejects"].rows))
        )
        return kept.drop("room").with_columns(pl.col("text").str.slice(0, _LONGEST_TEXT))

    def _widen_span(self, ts: pl.Series) -> None:
        if ts.len() == ts.null_count():
            return
        low, high = ts.dt.timestamp("us").min(), ts.dt.timestamp("us").max()
        self.first_us = min(x for x in (self.first_us, low) if x is not None)  # type: ignore[assignment]
        self.last_us = max(x for x in (self.last_us, high) if x is not None)  # type: ignore[assignment]

    def _add_samples(self, series: pl.DataFrame, samples: pl.DataFrame) -> None:
        if samples.is_empty():
            return
        kept = self._with_values(samples, series)
        self.samples += kept.height
        self._widen_span(kept["ts"])
        numbers = self._numbers(series)
        at = numbers["place"].to_numpy()
        size = int(at.max()) + 1 if at.size else 0
        described = np.zeros(size, bool)
        described[at] = True
        index = kept["series"].to_numpy()
        if index.size and (int(index.max()) >= size or not described[index].all()):
            raise DataError("the reader gave samples of a series that it did not describe; report this to its author")
        lookup = {}
        for name in ("who", "name", "label", "route"):
            lookup[name] = np.zeros(size, np.uint32)
            lookup[name][at] = numbers[name].to_numpy()
        staged = pl.DataFrame(
            {name: lookup[name][index] for name in ("who", "name", "label")}
            | {"ts": kept["ts"].dt.timestamp("us"), "value": kept["value"], "value_int": kept["value_int"]}
        )
        broken = staged["name"].to_numpy()[kept["value_int"].is_null().to_numpy()]
        self.not_whole.update(np.flatnonzero(np.bincount(broken)).tolist())
        routes = sorted(self._routes, key=lambda route: self._routes[route])
        chosen = lookup["route"][index]
        for number in np.flatnonzero(np.bincount(chosen)).tolist():
            part = staged if (chosen == number).all() else staged.filter(pl.Series(chosen == number))
            self.samples_of.add(routes[number], part)

    def _with_values(self, samples: pl.DataFrame, series: pl.DataFrame) -> pl.DataFrame:
        """Leave out what has no value or no time; it is counted as absent."""
        number = pl.col("value_int").is_not_null() | (pl.col("value").is_not_null() & pl.col("value").is_not_nan())
        good = number & pl.col("ts").is_not_null()
        value = pl.coalesce(pl.col("value").fill_nan(None), pl.col("value_int"))
        if samples.select(good.all()).item():
            whole = samples["value"].null_count() == 0 and not samples["value"].is_nan().any()
            return samples if whole else samples.with_columns(value=value)
        bad = samples.filter(~good).join(series.select("series", "metric"), on="series", how="left")
        reason = (
            pl.when(pl.col("ts").is_null()).then(pl.lit("no time")).when(pl.col("value").is_nan()).then(pl.lit("NaN"))
        )
        counted = bad.group_by("metric", reason.otherwise(pl.lit("no value")).alias("reason")).len("count")
        self.rows_of["absent"].add(
            counted.cast({"count": pl.Int64}).select(list(frames.ABSENT)).sort("metric", "reason")
        )
        return samples.filter(good).with_columns(value=value)

    def _numbers(self, series: pl.DataFrame) -> pl.DataFrame:
        """Number entity, metric, labels and table of each series, the same from batch to batch."""
        rows: list[tuple[int, int, int, int, int]] = []
        columns = ("series", "metric", "host", "device_kind", "device", "labels", "unit", "kind")
        for place, metric, host, device_kind, device, written, unit, kind in series.select(columns).iter_rows():
            of, labels = device_kind or "host", written or "{}"
            route, number, is_bare = self._routed.get((of, labels, kind)) or self._new_route(of, labels, kind)
            who = self.who.setdefault((host, device_kind, device), len(self.who))
            name = self.names.setdefault((metric or "", kind, unit or None, of, route), len(self.names))
            label = self.labels.setdefault(labels, len(self.labels))
            if is_bare and labels != "{}":
                self.extra_labels.setdefault((who, name), set()).add(label)
            rows.append((place, who, name, label, number))
        kinds = dict.fromkeys(("place", "who", "name", "label", "route"), pl.UInt32)
        return pl.DataFrame(rows, schema=kinds, orient="row")

    def _new_route(self, of: str, labels: str, kind: str | None) -> tuple[str, int, bool]:
        is_bare = bare(labels, of)
        route = route_of(of, "{}" if is_bare else labels, kind, is_wide(of))
        found = (route, self._routes.setdefault(route, len(self._routes)), is_bare)
        self._routed[of, labels, kind] = found
        return found

    def skips_json(self) -> str:
        """Write what was passed over, by rule."""
        return json.dumps(dict(sorted(self.skips.items())), ensure_ascii=False)

    def reasons_json(self) -> str:
        """Write why records were rejected, the most frequent reasons first."""
        return json.dumps(dict(self.reasons.most_common(_REASONS_TOLD)), ensure_ascii=False)


def _checked(rows: pl.DataFrame, schema: pl.Schema, what: str) -> pl.DataFrame:
    if rows.schema == schema:
        return rows
    if rows.is_empty():
        return frames.empty(schema)
    raise DataError(
        f"the reader gave {what} of another shape than workbench.model.frames says; report this to its author"
    )


def _lone(events: pl.DataFrame) -> set[Who]:
    """Give the names of events that stand for something on a host and do not say on which."""
    lone = events.filter(pl.col("host").is_null()).select("host", "device_kind", "device").unique()
    return {who for who in lone.iter_rows() if who[1] in _ON_A_HOST and who != (None, "host", who[2] or "")}


def _counted(words: pl.Series) -> dict[str, int]:
    """Count words, in the order in which they came."""
    return dict(pl.DataFrame({"word": words}).group_by("word", maintain_order=True).len().iter_rows())
