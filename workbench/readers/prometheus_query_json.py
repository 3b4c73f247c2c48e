"""Answers of the query API of Prometheus and its kin: ``query``, ``query_range``, ``series``; JSON.

The values are those of an evaluation: at each step the last sample of the 5 minutes before. A
record is one pair of time and value; a series that cannot be read is one record, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import polars as pl

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.exposition_alerts import AlertRuns
from workbench.readers.exposition_lines import Parsed
from workbench.readers.exposition_series import CONFLICT, LabelledSeries, with_values
from workbench.readers.jsondoc import documents_of, outer_keys
from workbench.readers.prometheus_answers import Answer, answer_of, is_stream, streamed_answers
from workbench.readers.source import Source, damage_batches
from workbench.readers.stamps import OUTSIDE, possible
from workbench.readers.text import rejected, skipped

__all__ = ["READER"]

_KINDS = tuple(f'"{kind}"'.encode() for kind in ("matrix", "vector", "scalar", "string"))
_RESAMPLED = (
    "values are resampled by the query: the last real sample may repeat for up to 5 min after its target died, "
    "and what happened between two steps is not there"
)
_NO_NUMBER = "value is not a number"
_BAD_TIME = "impossible time stamp"
_SEED = 13
_AT_ONCE = 1000  # documents of a batch
_REJECTS = {"line": pl.Int64, "reason": pl.String, "text": pl.String}


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    keys = outer_keys(head)
    if "status" not in keys or b'"alerts"' in head[:200]:
        return None
    if "data" in keys and b'"resultType"' in head and any(kind in head for kind in _KINDS):
        return Match(confidence=0.95, rule="JSON with status, data and resultType")
    if {"error", "errorType"} <= keys:
        return Match(confidence=0.9, rule="JSON with status, errorType and error")
    if keys <= {"status", "data"} and b'"__name__"' in head:
        return Match(confidence=0.85, rule="JSON with status, data and names of series")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    reading = _Reading(context)
    for answer in streamed_answers(source) if is_stream(source.head()) else _documents(source):
        yield reading.batch(answer)
    yield Batch(records=0, rows=0, notes=reading.series.told())
    yield from damage_batches(source)


def _documents(source: Source) -> Iterator[Answer]:
    answer = Answer()
    for count, document in enumerate(documents_of(source), start=1):
        if document.why is None:
            answer_of(document.value, document.line, answer)
        else:
            answer.refused.append((document.line, document.why, document.text))
        if count % _AT_ONCE == 0:
            yield answer
            answer = Answer()
    yield answer


class _Reading:
    """What is known from answer to answer."""

    def __init__(self, context: Context) -> None:
        self.series = LabelledSeries(host=context.host)
        self._stepped = False

    def batch(self, answer: Answer) -> Batch:
        """Make a batch of an answer."""
        self.series.notes.update(dict.fromkeys(answer.notes))
        parsed = _parsed(answer)
        who = self.series.identified(parsed)
        rows = with_values(parsed.samples, who)
        rows, odd = _judged(rows)
        self._step(rows)
        new, again, clashing = self.series.parted(rows)
        refused = rejected(pl.DataFrame(answer.refused, schema=_REJECTS, orient="row"), pl.col("reason"))
        refused = pl.concat([refused, odd, rejected(_shown(clashing), CONFLICT)]).sort("line", maintain_order=True)
        skips = skipped({**Counter(answer.skips), "duplicate": again})
        if new.height:
            self.series.notes[_RESAMPLED] = None
        return Batch(
            records=new.height + int(skips["count"].sum()) + refused.height,
            rows=new.height,
            skips=skips,
            rejects=refused,
            notes=(),
            **self.series.tables(who, new),
        )

    def _step(self, rows: pl.DataFrame) -> None:
        """Learn from the first series how far its pairs lie apart: alerts go on from step to step."""
        if not self._stepped and rows.height:
            self._stepped = True
            step = rows.filter(pl.col("id") == rows["id"][0])["ts"].diff().min()
            if isinstance(step, int) and step > 0:
                self.series.alerts.gap_us = max(AlertRuns.gap_us, step * 3 // 2)


def _parsed(answer: Answer) -> Parsed:
    """Lay an answer out as samples, names and labels."""
    ids = pl.Series([repr(sorted(labels.items())) for labels in answer.labels], dtype=pl.String).hash(_SEED)
    table = answer.table()
    us = (pl.col("t") * 1e6).round()
    samples = table.select(
        line=pl.Series(answer.lines, dtype=pl.Int64).gather(table["place"]),
        id=ids.gather(table["place"]),
        value="v",
        t="t",
        ts=pl.when(possible(us)).then(us).cast(pl.Int64, strict=False),
    )
    named = [(labels["__name__"], line) for labels, line in zip(answer.labels, answer.lines, strict=True)]
    names = pl.DataFrame(named, schema={"metric": pl.String, "first": pl.Int64}, orient="row").insert_column(
        0, ids.alias("id")
    )
    told = [
        (place, label, value)
        for place, labels in enumerate(answer.labels)
        for label, value in labels.items()
        if label != "__name__"
    ]
    labels = pl.DataFrame(told, schema={"id": pl.Int64, "label": pl.String, "value": pl.String}, orient="row")
    labels = labels.with_columns(id=ids.gather(labels["id"])).unique(["id", "label"], maintain_order=True)
    return Parsed(
        samples=samples,
        names=names.unique("id", keep="first", maintain_order=True),
        labels=labels,
        rejects=rejected(pl.DataFrame(schema=_REJECTS), ""),
    )


def _judged(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    reason = pl.when("wrong").then(pl.lit(_NO_NUMBER)).when(pl.col("ts").is_null()).then(_bad_time())
    told = rows.with_columns(reason=reason)
    bad = told["reason"].is_not_null()
    if not bad.any():
        return rows, rejected(_shown(rows.clear()), "")
    return rows.filter(~bad), rejected(_shown(told.filter(bad)), pl.col("reason"))


def _bad_time() -> pl.Expr:
    return pl.when(pl.col("t").is_finite()).then(pl.lit(OUTSIDE)).otherwise(pl.lit(_BAD_TIME))


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    pair = pl.concat_str(pl.lit("["), pl.col("t").cast(pl.String), pl.lit(', "'), "written", pl.lit('"]'))
    return rows.with_columns(text=pl.concat_str("metric", pl.lit(" "), pair))


READER = Reader(name="prometheus_query_json", recognise=_recognise, read=_read)
