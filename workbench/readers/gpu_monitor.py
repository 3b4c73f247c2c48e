"""Screens of monitors (``dcgmi dmon``, ``nvidia-smi dmon``) as columns: lines under the header that holds for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.gpu_table import Ticks, observed
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import lines_of, rejected, skipped
from workbench.readers.timecells import Clocks, TimeRule, read_times
from workbench.readers.toldlines import HOST_MISSING

__all__ = ["Grammar", "Header", "screens"]

_NO_HEADER = "no header before this line: what its columns mean is not known"
_COUNT = "line has not as many cells as its header"


@dataclass(frozen=True, kw_only=True)
class Header:
    """What the columns under a header are.

    Attributes
    ----------
    metrics : mapping of column number to name of the metric
    units : mapping of column number to unit
    labels : mapping of column number to name of the label
    width : int
        Cells of a row.
    place : int
        Column that names the device.
    """

    metrics: dict[int, str]
    width: int
    place: int = 0
    units: dict[int, str] = field(default_factory=dict)
    labels: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """How a monitor writes.

    Attributes
    ----------
    header, units : str
        Patterns of the two lines of a header.
    headed : callable
        ``(header, units) -> Header``.
    rows : callable
        ``(lines, header) -> lines with cells (list of String), stamp (String, null: none),
        device_kind, device and part`` (what else tells rows of one sample apart); rows without ``device`` are none.
    reason : str
        Why a line is no row.
    """

    header: str
    units: str
    headed: Callable[[str, str], Header]
    rows: Callable[[pl.DataFrame, Header], pl.DataFrame]
    reason: str


def screens(source: Source, context: Context, grammar: Grammar) -> Iterator[Batch]:
    """Read a monitor's output, block by block."""
    monitor = _Monitor(context, grammar)
    for block in source.blocks():
        lines = lines_of(block)
        yield from monitor.take(lines.frame, lines.rejects)
    yield Batch(records=0, rows=0)  # an empty file is read, too
    yield from damage_batches(source)


@dataclass(eq=False)
class _Monitor:
    context: Context
    grammar: Grammar
    _header: tuple[str | None, str | None] = (None, None)
    _seen: set[str] = field(default_factory=set)
    _ticks: Ticks = field(init=False)
    _clocks: Clocks = field(init=False)

    def __post_init__(self) -> None:
        self._ticks = Ticks(self.context)
        self._clocks = Clocks(rule=TimeRule.of(self.context))

    def take(self, lines: pl.DataFrame, refused: pl.DataFrame) -> Iterator[Batch]:
        """Read the lines of a block."""
        text = pl.col("text")
        told = lines.with_columns(
            what=pl.when(text.str.contains(self.grammar.header)).then(pl.lit("header"))
            .when(text.str.contains(self.grammar.units)).then(pl.lit("units"))
            .when(text.str.strip_chars() == "").then(pl.lit("blank")).otherwise(pl.lit("row"))
        )  # fmt: skip
        told = told.with_columns(
            head=pl.when(pl.col("what") == "header").then(text).forward_fill().fill_null(pl.lit(self._header[0], pl.String)),
            unit=pl.when(pl.col("what") == "units").then(text).forward_fill().fill_null(pl.lit(self._header[1], pl.String)),
        )  # fmt: skip
        if told.height:
            self._header = (told["head"][-1], told["unit"][-1])
        heads = told.filter(pl.col("what").is_in(["header", "units"]))["text"]
        fresh = sum(1 for head in heads.unique().to_list() if head not in self._seen)
        self._seen |= set(heads.unique().to_list())
        skips = {
            "blank": int((told["what"] == "blank").sum()), "header": fresh, "repeated header": heads.len() - fresh,
        }  # fmt: skip
        rows = told.filter(pl.col("what") == "row")
        unheaded = rows.filter(pl.col("head").is_null())
        refused = pl.concat([refused, rejected(unheaded, _NO_HEADER)])
        yield Batch(
            records=refused.height + sum(skips.values()), rows=0, skips=skipped(skips), rejects=refused.sort("line")
        )
        for part in rows.filter(pl.col("head").is_not_null()).partition_by("head", "unit", maintain_order=True):
            yield self._part(part)

    def _part(self, part: pl.DataFrame) -> Batch:
        """Read lines under one header."""
        header = self.grammar.headed(part["head"][0], part["unit"][0] or "")
        found = self.grammar.rows(part.select("line", "text"), header)
        fits = found["device"].is_not_null() & (found["cells"].list.len() == header.width)
        odd = found.filter(~fits.fill_null(value=False))
        why = pl.when(pl.col("device").is_null()).then(pl.lit(self.grammar.reason)).otherwise(pl.lit(_COUNT))
        rows = found.filter(fits.fill_null(value=False))
        timed = pl.concat([rows, self._times(rows)], how="horizontal")
        if self.context.host is None:
            timed = timed.with_columns(reason=pl.lit(HOST_MISSING), curable=pl.lit("host"))
        good = timed.filter(pl.col("reason").is_null())
        bad = timed.filter(pl.col("reason").is_not_null())
        untold = rejected(bad, pl.col("reason")).with_columns(curable=bad["curable"])
        cells = good.with_columns(
            pl.col("cells").list.get(place, null_on_oob=True).alias(f"c{place}") for place in range(header.width)
        ).with_columns(host=pl.lit(self.context.host), labels=_labels(header))
        seen = observed(
            cells, {f"c{n}": name for n, name in header.metrics.items()}, {f"c{n}": u for n, u in header.units.items()}
        )
        return Batch(
            records=part.height, rows=good.height, series=seen.series, samples=seen.samples, absent=seen.absent,
            entities=_entities(cells), links=_links(cells), rejects=pl.concat([rejected(odd, why), untold]).sort("line"),
        )  # fmt: skip

    def _times(self, rows: pl.DataFrame) -> pl.DataFrame:
        if rows["stamp"].null_count() == rows.height:
            return self._ticks.times(rows, ["device_kind", "device", "part"])
        return read_times(rows["stamp"], self._clocks).select("ts", "reason", "curable")


def _labels(header: Header) -> pl.Expr:
    if not header.labels:
        return pl.lit("{}")
    parts: Sequence[pl.Expr] = [
        pl.col(f"c{n}").alias(name) for n, name in sorted(header.labels.items(), key=lambda p: p[1])
    ]
    return pl.struct(parts).struct.json_encode()


def _entities(cells: pl.DataFrame) -> pl.DataFrame:
    found = cells.select("host", "device_kind", "device").unique(maintain_order=True)
    never = pl.lit(None, frames.TS)
    told = found.with_columns(attributes=pl.lit("{}"), valid_from=never, valid_to=never)
    return told.select(frames.ENTITIES.names()).cast(dict(frames.ENTITIES))  # type: ignore[arg-type]  # polars names its own types


def _links(cells: pl.DataFrame) -> pl.DataFrame:
    """Links of NVLink are named gpu:link, and lie in their GPU."""
    parts = (
        cells.filter(pl.col("device_kind") == "link")
        .select("host", "device_kind", "device")
        .unique(maintain_order=True)
    )
    never = pl.lit(None, frames.TS)
    told = parts.with_columns(
        relation=pl.lit("in"), to_host="host", to_kind=pl.lit("gpu"), to_device=pl.col("device").str.extract(r"^([^:]+):"),
        valid_from=never, valid_to=never,
    )  # fmt: skip
    return told.select(frames.LINKS.names()).cast(dict(frames.LINKS))  # type: ignore[arg-type]  # polars names its own types
