"""Labelled samples as tables of the store: whose they are, which are new, what they measure.

Shared by all formats that write series as a name and labels: the Prometheus text format, dumps and
answers of Prometheus, points of Influx and Telegraf, OTLP.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from workbench.model import frames
from workbench.readers import exposition_who
from workbench.readers.exposition_alerts import ALERTS, AlertRuns
from workbench.readers.exposition_lines import Parsed
from workbench.readers.exposition_samples import SeenSamples, valued

__all__ = ["CONFLICT", "LabelledSeries", "with_values"]

CONFLICT = "same series and time as an earlier line, with another value: several scrapes without times?"
_PODS = "{count} series are of pods and name no node: their host is unknown; state it (host in a mapping file)"
_NODES = "several nodename labels in one file: series without an instance label have no host"
_WIDE = "{count} integers beyond 64 bits with sign are kept as floats"
_IDENTITY = ("metric", "host", "device_kind", "device", "labels")


@dataclass
class LabelledSeries:
    """What is known of labelled series from block to block.

    Attributes
    ----------
    host : str or None
        What the user stated, for series that name none.
    nodename : str or None
        What the file says of the host, for series that name none.
    """

    host: str | None
    nodename: str | None = None
    alerts: AlertRuns = field(default_factory=AlertRuns)
    seen: SeenSamples = field(default_factory=SeenSamples)
    notes: dict[str, None] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def identified(self, parsed: Parsed) -> pl.DataFrame:
        """Give one row a series: whose it is, its labels and its ``key``.

        Parameters
        ----------
        parsed : Parsed
            Its ``names`` may hold ``kind`` and ``unit``.
        """
        wide = exposition_who.wide_labels(parsed.names, parsed.labels)
        self._check_node(wide)
        who = exposition_who.who_of(wide, nodename=self.nodename, host=self.host)
        left = exposition_who.label_json(who, parsed.labels)
        who = who.join(left, on="id", how="left", maintain_order="left").with_columns(pl.col("labels").fill_null("{}"))
        missing = [pl.lit(None, pl.String).alias(name) for name in ("kind", "unit") if name not in who.columns]
        return who.with_columns(missing).with_columns(key=pl.struct(_IDENTITY).hash(3))

    def verdict(self, rows: pl.DataFrame) -> pl.Series:
        """Tell of samples with a time: null where new, ``duplicate`` or ``conflict``."""
        return self.seen.verdict(rows)

    def parted(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, int, pl.DataFrame]:
        """Give the samples that are new, how many came before, and those that say another value."""
        fresh = self.verdict(rows)
        if fresh.null_count() == rows.height:
            return rows, 0, rows.clear()
        conflict = (fresh == "conflict").fill_null(value=False)
        return rows.filter(fresh.is_null()), int((fresh == "duplicate").sum()), rows.filter(conflict)

    def tables(self, who: pl.DataFrame, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Give the tables of a batch.

        Parameters
        ----------
        who : polars.DataFrame
            Of :meth:`identified`.
        rows : polars.DataFrame
            New samples: ``line``, ``id``, ``key``, ``metric``, ``ts``, ``value``, ``value_int``, ``absent``.
        """
        self.count(_PODS, who["in_pod"] & who["host"].is_null())
        if "wide" in rows.columns:
            self.count(_WIDE, rows["wide"])
        spans = rows.group_by("id").agg(low=pl.col("ts").min(), high=pl.col("ts").max())
        who = who.join(spans, on="id", how="inner", maintain_order="left")
        series = who.unique("key", maintain_order=True).with_row_index("series")
        numbered = rows.join(series.select("key", "series"), on="key", how="left", maintain_order="left")
        there = numbered["absent"].is_null()
        samples = numbered.filter(there).select("series", pl.col("ts").cast(frames.TS), "value", "value_int")
        missing = numbered.filter(~there).group_by("metric", pl.col("absent").alias("reason")).len("count")
        firing = numbered.filter(pl.col("metric") == ALERTS) if ALERTS in series["metric"] else numbered.clear()
        return {
            "series": series.select(frames.SERIES.names()).cast(frames.SERIES),
            "samples": samples.cast(frames.SAMPLES),
            "events": self.alerts.events(who, firing),
            "entities": exposition_who.entity_rows(who),
            "links": exposition_who.link_rows(who),
            "aliases": exposition_who.alias_rows(who),
            "absent": missing.cast(frames.ABSENT).sort("metric", "reason"),
        }

    def count(self, note: str, which: pl.Series) -> None:
        """Count rows that a note (with ``{count}``) speaks of."""
        self._counts[note] = self._counts.get(note, 0) + int(which.sum())

    def told(self) -> tuple[str, ...]:
        """Give the notes for the user, at the end of the file."""
        return (*(text.format(count=count) for text, count in self._counts.items() if count), *self.notes)

    def _check_node(self, wide: pl.DataFrame) -> None:
        """Stop naming a host as soon as the file turns out to be of several."""
        named = (pl.col("metric") == "node_uname_info") & pl.col("instance").is_null()
        names = wide.filter(named & pl.col("nodename").is_not_null())["nodename"].unique().to_list()
        if any(name != self.nodename for name in names):
            self.notes[_NODES] = None
            self.nodename = None


def with_values(samples: pl.DataFrame, who: pl.DataFrame) -> pl.DataFrame:
    """Give samples their series' ``key`` and ``metric``, and their numbers; see :func:`valued`."""
    named = who.select("id", "key", "metric", dcgm=pl.col("metric").str.starts_with("DCGM_"))
    return valued(samples.join(named, on="id", how="left", maintain_order="left"))
