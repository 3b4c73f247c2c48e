"""What a reader hands over: rows, skips and rejects that add up to the records read."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from workbench.model import frames

__all__ = ["Batch"]


def _none(schema: pl.Schema) -> pl.DataFrame:
    return frames.empty(schema)


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch:
    """Rows of one stretch of a file, and an account of every record in it.

    Attributes
    ----------
    records : int
        Records (lines, CSV rows, JSON documents) that this batch covers.
    rows : int
        How many of them ended as rows. One record may give many samples, or one event.
    series, samples, events, jobs, entities, links, aliases : polars.DataFrame
        In the shapes of :mod:`workbench.model.frames`. ``series`` indices are local to the batch.
    skips : polars.DataFrame
        Records passed over on purpose: rule and count.
    rejects : polars.DataFrame
        Records that were not understood, or wait for something that the user must state.
    absent : polars.DataFrame
        Cells without a number (sentinels, ``N/A``), counted by metric and reason.
    notes : tuple of str
        What the user should know of this file ("12 rows lie in the repeated hour").

    Raises
    ------
    ValueError
        Where rows + skips + rejects is not the number of records: a defect of the reader.

    Examples
    --------
    >>> Batch(records=2, rows=1, skips=pl.DataFrame({"rule": ["blank"], "count": [1]})).rows
    1
    """

    records: int
    rows: int
    series: pl.DataFrame = field(default_factory=lambda: _none(frames.SERIES))
    samples: pl.DataFrame = field(default_factory=lambda: _none(frames.SAMPLES))
    events: pl.DataFrame = field(default_factory=lambda: _none(frames.EVENTS))
    jobs: pl.DataFrame = field(default_factory=lambda: _none(frames.JOBS))
    entities: pl.DataFrame = field(default_factory=lambda: _none(frames.ENTITIES))
    links: pl.DataFrame = field(default_factory=lambda: _none(frames.LINKS))
    aliases: pl.DataFrame = field(default_factory=lambda: _none(frames.ALIASES))
    skips: pl.DataFrame = field(default_factory=lambda: _none(frames.SKIPS))
    rejects: pl.DataFrame = field(default_factory=lambda: _none(frames.REJECTS))
    absent: pl.DataFrame = field(default_factory=lambda: _none(frames.ABSENT))
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        told = self.rows + int(self.skips["count"].sum()) + self.rejects.height
        if told != self.records:
            raise ValueError(
                f"rows {self.rows} + skips {self.skips['count'].sum()} + rejects {self.rejects.height} "
                f"= {told}, but {self.records} records were read"
            )
