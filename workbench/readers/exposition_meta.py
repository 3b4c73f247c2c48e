"""HELP, TYPE and UNIT lines: the kind and unit that an exposition states of its metrics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import polars as pl

from workbench.readers.exposition_lines import Parsed

__all__ = ["Metadata"]

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
#: Parts of a family that are measured in its unit; buckets and counts are numbers of events.
_IN_UNIT = ("_total", "_sum", "_gsum")


@dataclass
class Metadata:
    """What the lines read so far state; the first statement about a name holds.

    Attributes
    ----------
    open_metrics : bool
        There was a UNIT line, which only OpenMetrics has.

    Examples
    --------
    >>> meta = Metadata()
    >>> lines = ["# TYPE a counter", "# UNIT a seconds", "# TYPE a gauge"]
    >>> meta.learn(pl.DataFrame({"line": [1, 2, 3], "text": lines}))
    >>> meta.kind("a_total"), meta.unit("a_total"), sorted(meta.notes)[1]
    (('counter', 1), ('seconds', 2), 'a has two TYPEs; the first, counter, holds')
    """

    open_metrics: bool = False
    notes: dict[str, None] = field(default_factory=dict)
    _kinds: dict[str, tuple[str, int]] = field(default_factory=dict)  # TYPE, and its line
    _units: dict[str, tuple[str, int]] = field(default_factory=dict)

    def learn(self, meta: pl.DataFrame) -> None:
        """Keep TYPE and UNIT, and the unit that a HELP text states as "(in MHz)"."""
        word = pl.col("text").str.extract_groups(r"^#\s+(\w+)\s+(\S+)(?:\s+(\S.*))?$")
        parts = meta.select("line", word.struct.rename_fields(["word", "name", "rest"]).struct.unnest())
        news = parts.unique(["word", "name", "rest"], keep="first", maintain_order=True)
        for line, what, name, rest in news.filter(pl.col("rest").is_not_null()).iter_rows():
            self._learn_one(line, what, name.strip('"'), rest)

    def _learn_one(self, line: int, what: str, name: str, rest: str) -> None:
        unit = None
        if what == "TYPE":
            if self._kinds.setdefault(name, (rest, line))[0] != rest:
                self.notes[f"{name} has two TYPEs; the first, {self._kinds[name][0]}, holds"] = None
        elif what == "UNIT":
            unit, self.open_metrics = rest, True
            if not name.endswith(f"_{rest}"):
                self.notes[f"UNIT of {name} says {rest}, which its name does not end with"] = None
        elif "(in " in rest:
            unit = rest.rpartition("(in ")[2].partition(")")[0]
        if unit:
            self._units.setdefault(name, (unit, line))

    def described(self, parsed: Parsed) -> Parsed:
        """Add ``kind`` and ``unit`` to every series, from what stood before its first line."""
        told = [(name, *self.kind(name), *self.unit(name)) for name in parsed.names["metric"].unique()]
        schema = {"metric": pl.String, "kind": pl.String, "typed": pl.Int64, "unit": pl.String, "united": pl.Int64}
        table = pl.DataFrame(told, schema=schema, orient="row")
        known = parsed.names.join(table, on="metric", how="left", maintain_order="left")
        names = known.with_columns(
            kind=pl.when(pl.col("typed") < pl.col("first")).then("kind"),
            unit=pl.when(pl.col("united") < pl.col("first")).then("unit"),
        ).drop("typed", "united")
        return replace(parsed, names=names)

    def kind(self, metric: str) -> tuple[str | None, int]:
        """Give what the TYPE of a metric, or of the family that it is a part of, says; and its line."""
        if metric in self._kinds:
            told, line = self._kinds[metric]
            return _KINDS.get(told), line
        for kind, endings in _PARTS.items():
            for ending in endings:
                told, line = self._kinds.get(metric.removesuffix(ending), ("", 0))
                if _KINDS.get(told) == kind:
                    return kind, line
        created, line = self._kinds.get(metric.removesuffix("_created"), (None, 0))
        return ("gauge" if created is not None else None), line

    def unit(self, metric: str) -> tuple[str | None, int]:
        """Give the unit of a metric, and the line that states it."""
        if metric.endswith("_created") and metric.removesuffix("_created") in self._kinds:
            return "s", self._kinds[metric.removesuffix("_created")][1]
        for name in (metric, *(metric.removesuffix(ending) for ending in _IN_UNIT)):
            if name in self._units:
                return self._units[name]
        return None, 0
