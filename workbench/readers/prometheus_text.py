"""Prometheus text format: one scrape or many appended, ``/federate``, dcgm-exporter, node_exporter.

OpenMetrics differs in three things that matter here: stamps in seconds, ``# EOF``, exemplars. All
are read. ``promtool tsdb dump`` writes the name inside the braces; that is read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers import exposition_who
from workbench.readers.base import Match, Reader
from workbench.readers.exposition_lines import Parsed, taken_apart
from workbench.readers.exposition_samples import SeenSamples, stamped, valued
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import Lines, lines_of, matched_share, rejected, skipped

__all__ = ["READER"]

_EOF = "# EOF"
_META = r"^# (?:HELP|TYPE|UNIT) [a-zA-Z_:\"]"
_SAMPLE = r"^(?:[a-zA-Z_:][a-zA-Z0-9_:]*)?(?:\{[^{}]*\})? [+-]?(?:[0-9.][^ ]*|Inf|NaN)(?: -?[0-9][0-9.]*)?(?: # \{.*)?$"
_LABELLED = r'^(?:[a-zA-Z_:][a-zA-Z0-9_:]*)?\{[a-zA-Z_][a-zA-Z0-9_]*="'
_KINDS = {
    "counter": "counter",
    "gauge": "gauge",
    "histogram": "histogram",
    "gaugehistogram": "histogram",
    "summary": "summary",
    "info": "info",
    "stateset": "gauge",
}
_PARTS = {
    "histogram": ("_bucket", "_count", "_sum", "_gcount", "_gsum"),
    "summary": ("_count", "_sum"),
    "counter": ("_total",),
    "info": ("_info",),
}
_UNAME_TEXT = b"node_uname_info{"
_UNAME = re.compile(rb'^node_uname_info\{[^\n]*nodename="([^"\\\n]+)"[^\n]*\n', re.MULTILINE)
_PEEK_BYTES = 4 * 1024 * 1024  # a scrape of node_exporter is smaller
_NOT_UTF8 = "not UTF-8"
_TAKEN_MISSING = "sample without a time: state when it was taken (taken_at in a mapping file)"
_BAD_TIME = "impossible time stamp"
_CONFLICT = "same series and time as an earlier line, with another value: several scrapes without times?"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    known = matched_share(head, f"{_META}|{_SAMPLE}|^# ?EOF$|^#")
    if known < 0.6:
        return None
    if matched_share(head, _META) > 0:
        return Match(confidence=0.5 + 0.45 * known, rule="HELP and TYPE lines of the Prometheus text format")
    if matched_share(head, _LABELLED) >= 0.5:
        return Match(confidence=0.75, rule='lines such as name{label="value"} number')
    if known > 0.95 and matched_share(head, _SAMPLE) > 0.5:
        return Match(confidence=0.25, rule="lines of a metric name and a number")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    exposition = _Exposition(context, nodename=_nodename(source.head(_PEEK_BYTES)))
    for block in source.blocks():
        yield exposition.batch(lines_of(block, complete=frozenset({_EOF})))
    yield exposition.end()
    yield from damage_batches(source)


def _nodename(head: bytes) -> str | None:
    """Give the name that ``node_uname_info`` states, where the file's first scrapes are of one host."""
    if _UNAME_TEXT not in head:
        return None
    told = {line[1] for line in _UNAME.finditer(head) if b'instance="' not in line[0]}
    return told.pop().decode(errors="replace") if len(told) == 1 else None


@dataclass
class _Exposition:
    """What is known from block to block."""

    context: Context
    nodename: str | None  # for series that name no host
    kinds: dict[str, tuple[str, int]] = field(default_factory=dict)  # TYPE, and its line
    units: dict[str, tuple[str, int]] = field(default_factory=dict)
    seen: SeenSamples = field(default_factory=SeenSamples)
    counts: dict[str, int] = field(default_factory=dict)  # of what the user should know
    notes: dict[str, None] = field(default_factory=dict)

    def batch(self, lines: Lines) -> Batch:
        """Read a block."""
        text = lines.frame["text"].str.strip_chars(" \t\r")
        frame = lines.frame.with_columns(text=text)
        hashed, blank = text.str.starts_with("#"), text == ""
        marks = frame.filter(hashed)
        meta = marks["text"].str.contains(r"^#[ \t]+(?:HELP|TYPE|UNIT)[ \t]")
        end = marks["text"].str.contains(r"^#[ \t]*EOF$")
        if meta.any():
            self._learn(marks.filter(meta))
        broken = frame["line"].is_in(list(lines.broken))
        sample = ~(hashed | blank)
        parsed = taken_apart(frame.filter(sample & ~broken), ascii_only=lines.ascii)
        counts = {
            "blank": int(blank.sum()),
            "metadata": int(meta.sum()),
            "end marker": int(end.sum()),
            "comment": int((~meta & ~end).sum()),
        }
        rejects = [lines.rejects, rejected(frame.filter(sample & broken), _NOT_UTF8), parsed.rejects]
        return self._made(parsed, counts, rejects)

    def end(self) -> Batch:
        """Tell what the user should know."""
        told = [text.format(count=count) for text, count in self.counts.items() if count]
        return Batch(records=0, rows=0, notes=(*told, *self.notes))

    def _learn(self, meta: pl.DataFrame) -> None:
        """Keep TYPE and UNIT, and the unit that a HELP text states as "(in MHz)"; the first one holds."""
        word = pl.col("text").str.extract_groups(r"^#\s+(\w+)\s+(\S+)(?:\s+(\S.*))?$")
        parts = meta.select("line", word.struct.rename_fields(["word", "name", "rest"]).struct.unnest())
        news = parts.unique(["word", "name", "rest"], keep="first", maintain_order=True)
        for line, word_, name, rest in news.filter(pl.col("rest").is_not_null()).iter_rows():
            name, unit = name.strip('"'), None  # noqa: PLW2901
            if word_ == "TYPE":
                if self.kinds.setdefault(name, (rest, line))[0] != rest:
                    self.notes[f"{name} has two TYPEs; the first, {self.kinds[name][0]}, holds"] = None
            elif word_ == "UNIT":
                unit = rest
            elif "(in " in rest:
                unit = rest.rpartition("(in ")[2].partition(")")[0]
            if unit:
                self.units.setdefault(name, (unit, line))

    def _made(self, parsed: Parsed, counts: dict[str, int], rejects: list[pl.DataFrame]) -> Batch:
        wide = exposition_who.wide_labels(parsed.names, parsed.labels)
        self._check_node(wide)
        who = exposition_who.who_of(wide, nodename=self.nodename, host=self.context.host)
        left = exposition_who.label_json(who, parsed.labels)
        who = who.join(left, on="id", how="left", maintain_order="left").with_columns(pl.col("labels").fill_null("{}"))
        who = who.join(self._meanings(who), on="id", maintain_order="left")
        identity = ["metric", "host", "device_kind", "device", "labels"]
        who = who.with_columns(key=pl.struct(identity).hash(3), dcgm=pl.col("metric").str.starts_with("DCGM_"))
        rows = parsed.samples.join(
            who.select("id", "key", "metric", "dcgm"), on="id", how="left", maintain_order="left"
        )
        rows, odd = self._judged(stamped(valued(rows), self.context.taken_at_us))
        fresh = self.seen.verdict(rows)
        counts["duplicate"] = int((fresh == "duplicate").sum())
        rejects += [odd, rejected(rows.filter((fresh == "conflict").fill_null(value=False)), _CONFLICT)]
        return self._batch(who, rows.filter(fresh.is_null()), counts, pl.concat(rejects).sort("line"))

    def _check_node(self, wide: pl.DataFrame) -> None:
        """Stop naming a host as soon as the file turns out to be of several."""
        named = (pl.col("metric") == "node_uname_info") & pl.col("instance").is_null()
        names = wide.filter(named & pl.col("nodename").is_not_null())["nodename"].unique().to_list()
        if any(name != self.nodename for name in names):
            self.notes["several nodename labels in one file: series without an instance label have no host"] = None
            self.nodename = None

    def _meanings(self, who: pl.DataFrame) -> pl.DataFrame:
        """Give kind and unit of every series, from what stood before its first line."""
        metrics = who["metric"].unique()
        told = [(metric, *self._kind(metric), *self._unit(metric)) for metric in metrics]
        schema = {"metric": pl.String, "kind": pl.String, "typed": pl.Int64, "unit": pl.String, "united": pl.Int64}
        known = who.select("id", "metric", "first").join(pl.DataFrame(told, schema=schema, orient="row"), on="metric")
        kind = pl.when(pl.col("typed") < pl.col("first")).then("kind")
        return known.select(
            "id", kind.alias("kind"), pl.when(pl.col("united") < pl.col("first")).then("unit").alias("unit")
        )

    def _kind(self, metric: str) -> tuple[str | None, int]:
        """Give what the TYPE of a metric, or of the family that it is a part of, says; and its line."""
        if metric in self.kinds:
            told, line = self.kinds[metric]
            return _KINDS.get(told), line
        for kind, endings in _PARTS.items():
            for ending in endings:
                told, line = self.kinds.get(metric.removesuffix(ending), ("", 0))
                if _KINDS.get(told) == kind:
                    return kind, line
        created, line = self.kinds.get(metric.removesuffix("_created"), (None, 0))
        return ("gauge" if created is not None else None), line

    def _unit(self, metric: str) -> tuple[str | None, int]:
        for name in (metric, *(metric.removesuffix(ending) for ending in ("_total", "_bucket", "_sum"))):
            if name in self.units:
                return self.units[name]
        return None, 0

    def _judged(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Take out the lines whose value or stamp is none."""
        self._count("{count} stamps of ten digits were read as seconds", rows["seconds"])
        self._count("{count} integers beyond 64 bits with sign are kept as floats", rows["wide"])
        timeless = pl.col("ts").is_null()
        value = pl.concat_str(pl.lit("value is not a number: "), pl.col("written").str.slice(0, 40))
        reason = pl.when("wrong").then(value).when(timeless & pl.col("stamp").is_not_null()).then(pl.lit(_BAD_TIME))
        told = rows.with_columns(reason=reason.when(timeless).then(pl.lit(_TAKEN_MISSING)))
        good = told["reason"].is_null()
        if good.all():
            return rows, rejected(rows.clear(), "")
        bad = told.filter(~good)
        curable = pl.when(pl.col("reason") == _TAKEN_MISSING).then(pl.lit("taken_at"))
        return rows.filter(good), rejected(bad, pl.col("reason")).with_columns(curable=curable)

    def _count(self, note: str, which: pl.Series) -> None:
        self.counts[note] = self.counts.get(note, 0) + int(which.sum())

    def _batch(self, who: pl.DataFrame, rows: pl.DataFrame, counts: dict[str, int], rejects: pl.DataFrame) -> Batch:
        self._count(
            "{count} series are of pods and name no node: their host is unknown; state it (host in a mapping file)",
            who["in_pod"] & who["host"].is_null(),
        )
        spans = rows.group_by("id").agg(low=pl.col("ts").min(), high=pl.col("ts").max())
        who = who.join(spans, on="id", how="inner", maintain_order="left")
        series = who.unique("key", maintain_order=True).with_row_index("series")
        numbered = rows.join(series.select("key", "series"), on="key", how="left", maintain_order="left")
        there = numbered["absent"].is_null()
        samples = numbered.filter(there).select("series", pl.col("ts").cast(frames.TS), "value", "value_int")
        missing = numbered.filter(~there).group_by("metric", pl.col("absent").alias("reason")).len("count")
        skips = skipped(counts)
        return Batch(
            records=rows.height + int(skips["count"].sum()) + rejects.height,
            rows=rows.height,
            series=series.select(frames.SERIES.names()).cast(frames.SERIES),
            samples=samples.cast(frames.SAMPLES),
            entities=exposition_who.entity_rows(who),
            links=exposition_who.link_rows(who),
            aliases=exposition_who.alias_rows(who),
            skips=skips,
            rejects=rejects,
            absent=missing.cast(frames.ABSENT).sort("metric", "reason"),
        )


READER = Reader(name="prometheus_text", recognise=_recognise, read=_read)
