"""Samples that lie long: series with labels, histogram parts, and what a wide row cannot hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime

import numpy as np
import polars as pl
import pyarrow as pa

from workbench.model.frames import TS
from workbench.model.metric import Metric
from workbench.store.blocks import Piece, block_width, load_block
from workbench.store.layout import FIXED, SAMPLES_LONG
from workbench.store.parquet import arrow_numbers
from workbench.store.plan import Plan
from workbench.store.spool import DAY_US
from workbench.store.tally import Tally
from workbench.store.wide import LongSamples

__all__ = ["LongRows", "long_frame"]

_KEYS = ("metric", "entity", "labels", "source", "ts")


class LongRows:
    """Gives the rows of the long table, a bounded piece at a time.

    Parameters
    ----------
    plan : Plan
    tally : Tally
    budget_bytes : int
    """

    def __init__(self, plan: Plan, tally: Tally, budget_bytes: int) -> None:
        self._plan, self._tally, self._budget = plan, tally, budget_bytes

    def of_day(self, pieces: Sequence[Piece], day: date, strays: Sequence[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Give the rows of a day, each piece ordered by metric, entity, labels, time."""
        if strays:
            yield pl.concat(strays).sort(_KEYS)
        start = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1_000_000
        width = block_width(pieces, 1, self._budget)
        for at in range(start, start + DAY_US, width) if pieces else ():
            block = load_block(pieces, self._plan.items, self._plan.lookups, (at, at + width))
            if block.samples.ts.size:
                metrics = [placement.column.metric for placement in self._plan.placements]
                rank, _ = self._plan.ranked()
                samples = block.samples
                ranked = LongSamples(
                    entity=rank[samples.entity], source=samples.source, column=samples.column, ts=samples.ts,
                    value=samples.value, value_int=samples.value_int, has_int=samples.has_int,
                )  # fmt: skip
                frame = long_frame(self._plan, ranked, metrics, self._tally, label=block.label)
                yield self._without_repeats(frame.sort(_KEYS, maintain_order=True))

    def _without_repeats(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Drop samples that say again, in the same file, what the one before said."""
        told = (*_KEYS, "value", "value_int")
        same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in told) & (
            pl.int_range(pl.len()) > 0
        )
        repeats = frame.filter(same)
        if repeats.is_empty():
            return frame
        for source, count in repeats.group_by("source").len().iter_rows():
            self._tally.repeated[source] += count
        return frame.filter(~same)


def long_frame(
    plan: Plan,
    samples: LongSamples,
    metrics: Sequence[Metric],
    tally: Tally,
    *,
    label: np.ndarray | None = None,
) -> pl.DataFrame:
    """Write samples as rows of the long table; ``samples.column`` numbers ``metrics``."""
    _, ids = plan.ranked()
    stray = label is None
    texts = plan.labels if label is not None else ["{}"]
    number = np.zeros(samples.ts.size, np.int64) if label is None else label
    frame = pl.DataFrame(
        {
            "ts": pl.Series(samples.ts).cast(pl.Datetime("us")).dt.replace_time_zone("UTC"),
            "entity": _words(ids, samples.entity),
            "metric": _words([metric.id for metric in metrics], samples.column),
            "labels": _words(texts, number),
            "value": samples.value,
            "value_int": pl.Series(arrow_numbers(samples.value_int, pa.int64(), samples.has_int)),
            "unit": _words([metric.unit for metric in metrics], samples.column),
            "kind": _words([metric.kind for metric in metrics], samples.column),
            "source": _words([item.source for item in plan.items], samples.source),
        },
        schema={**FIXED[SAMPLES_LONG], "ts": TS},
    )
    tally.long(frame, samples.source, stray=stray)
    return frame


def _words(words: Sequence[str], numbers: np.ndarray) -> pl.Series:
    return pl.Series(list(words), dtype=pl.String).gather(pl.Series(numbers.astype(np.uint32)))
