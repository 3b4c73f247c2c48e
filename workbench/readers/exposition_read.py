"""Lines of an exposition turned into batches: one scrape or many, a federation, or a dump of Prometheus."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.exposition_lines import Parsed, taken_apart
from workbench.readers.exposition_meta import Metadata
from workbench.readers.exposition_samples import stamped
from workbench.readers.exposition_series import CONFLICT, LabelledSeries, with_values
from workbench.readers.stamps import OUTSIDE, possible
from workbench.readers.text import Lines, rejected, skipped

__all__ = ["EOF", "Exposition", "nodename"]

EOF = "# EOF"
_UNAME_TEXT = b"node_uname_info{"
_UNAME = re.compile(rb'^node_uname_info\{[^\n]*nodename="([^"\\\n]+)"[^\n]*\n', re.MULTILINE)
_NOT_UTF8 = "not UTF-8"
_TAKEN_MISSING = "sample without a time: state when it was taken (taken_at in a mapping file)"
_BAD_TIME = "impossible time stamp"
_AFTER_END = "after the end marker (# EOF): only metadata begins another exposition"
_SECONDS = "{count} stamps of ten digits were read as seconds"
_APPENDED = "{count} expositions follow the end marker of another (# EOF): scrapes were appended"
Stamp = Callable[[pl.DataFrame, int | None], pl.DataFrame]


def nodename(head: bytes) -> str | None:
    r"""Give the name that ``node_uname_info`` states, where the file's first scrapes are of one host.

    Examples
    --------
    >>> nodename(b'node_uname_info{nodename="n1",release="6"} 1' + b"\n")
    'n1'
    """
    if _UNAME_TEXT not in head:
        return None
    told = {line[1] for line in _UNAME.finditer(head) if b'instance="' not in line[0]}
    return told.pop().decode(errors="replace") if len(told) == 1 else None


@dataclass
class Exposition:
    """What is known from block to block.

    Attributes
    ----------
    context : Context
    series : LabelledSeries
    stamp : callable
        How stamps are read: :func:`workbench.readers.exposition_samples.stamped` or a stricter rule.
    """

    context: Context
    series: LabelledSeries
    stamp: Stamp = stamped
    meta: Metadata = field(default_factory=Metadata)
    _ended: bool = False  # the last thing that was not a sample is the end marker

    def batch(self, lines: Lines) -> Batch:
        """Read a block."""
        text = lines.frame["text"].str.strip_chars(" \t\r")
        frame = lines.frame.with_columns(text=text)
        hashed, blank = text.str.starts_with("#"), text == ""
        marks = frame.filter(hashed)
        meta = marks["text"].str.contains(r"^#[ \t]+(?:HELP|TYPE|UNIT)[ \t]")
        end = marks["text"].str.contains(r"^#[ \t]*EOF$")
        if meta.any():
            self.meta.learn(marks.filter(meta))
        sample = ~(hashed | blank)
        late = self._late(frame, marks.filter(end)["line"], marks.filter(meta)["line"]) & sample
        broken = frame["line"].is_in(list(lines.broken)) & ~late
        parsed = taken_apart(frame.filter(sample & ~broken & ~late), ascii_only=lines.ascii)
        counts = {
            "blank": int(blank.sum()),
            "metadata": int(meta.sum()),
            "end marker": int(end.sum()),
            "comment": int((~meta & ~end).sum()),
        }
        refused = [rejected(frame.filter(sample & broken), _NOT_UTF8), rejected(frame.filter(late), _AFTER_END)]
        return self._made(parsed, counts, [lines.rejects, *refused, parsed.rejects])

    def end(self) -> Batch:
        """Tell what the user should know."""
        notes = (*self.series.told(), *self.meta.notes)
        if self.meta.open_metrics and not self._ended:
            notes = (*notes, "OpenMetrics without # EOF at its end: the exposition may be cut")
        return Batch(records=0, rows=0, notes=notes)

    def _late(self, frame: pl.DataFrame, ends: pl.Series, begins: pl.Series) -> pl.Series:
        """Tell which lines come after an end marker with no metadata between: they belong to nothing."""
        if ends.is_empty() and not self._ended:
            return pl.repeat(value=False, n=frame.height, dtype=pl.Boolean, eager=True)
        line = pl.col("line")
        marked = pl.when(line.is_in(ends.implode())).then(pl.lit(value=True))
        mark = marked.when(line.is_in(begins.implode())).then(pl.lit(value=False))
        told = frame.select(line, mark=mark).with_columns(
            over=pl.col("mark").forward_fill().fill_null(self._ended), begun=pl.col("mark").eq(other=False)
        )
        before = told.select(pl.col("over").shift(1).fill_null(self._ended)).to_series()
        self.series.count(_APPENDED, (told["begun"].fill_null(value=False) & before).cast(pl.Int64))
        if frame.height:
            self._ended = bool(told["over"][-1])
        return told["over"]

    def _made(self, parsed: Parsed, counts: dict[str, int], rejects: list[pl.DataFrame]) -> Batch:
        parsed = self.meta.described(parsed)
        who = self.series.identified(parsed)
        rows, odd = self._judged(self.stamp(with_values(parsed.samples, who), self.context.taken_at_us))
        new, counts["duplicate"], clashing = self.series.parted(rows)
        rejects += [odd, rejected(clashing, CONFLICT)]
        skips = skipped(counts)
        refused = pl.concat(rejects).sort("line")
        return Batch(
            records=new.height + int(skips["count"].sum()) + refused.height,
            rows=new.height,
            skips=skips,
            rejects=refused,
            notes=(),
            **self.series.tables(who, new),
        )

    def _judged(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Take out the lines whose value or stamp is none."""
        self.series.count(_SECONDS, rows["seconds"])
        timeless = pl.col("ts").is_null()
        value = pl.concat_str(pl.lit("value is not a number: "), pl.col("written").str.slice(0, 40))
        reason = pl.when("wrong").then(value).when(timeless & pl.col("stamp").is_not_null()).then(_bad_time())
        told = rows.with_columns(reason=reason.when(timeless).then(pl.lit(_TAKEN_MISSING)))
        good = told["reason"].is_null()
        if good.all():
            return rows, rejected(rows.clear(), "")
        bad = told.filter(~good)
        curable = pl.when(pl.col("reason") == _TAKEN_MISSING).then(pl.lit("taken_at"))
        return rows.filter(good), rejected(bad, pl.col("reason")).with_columns(curable=curable)


def _bad_time() -> pl.Expr:
    number = pl.col("stamp").cast(pl.Float64, strict=False)
    return pl.when(number.is_finite() & ~possible(number * 1e6)).then(pl.lit(OUTSIDE)).otherwise(pl.lit(_BAD_TIME))
