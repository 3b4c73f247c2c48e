"""When each place was observed, as stated or as a store knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.analysis.mixedevents import owner
from workbench.analysis.occurrences import Occurrences, Places
from workbench.errors import UsageError
from workbench.timebase import MICROS

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["Exposure", "known_exposure", "stated_exposure"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_DAY_US = 86_400 * MICROS


@dataclass(frozen=True, eq=False, kw_only=True)
class Exposure:
    """When each place was observed.

    Attributes
    ----------
    place : (stretch,) int64
    start_us, end_us : (stretch,) int64
        Both included. May overlap.
    """

    place: Ints
    start_us: Ints
    end_us: Ints

    @classmethod
    def whole(cls, places: int, span_us: tuple[int, int]) -> Exposure:
        """Every place for the whole span."""
        ones = np.ones(places, np.int64)
        return cls(place=np.arange(places), start_us=ones * span_us[0], end_us=ones * span_us[1])

    def within(self, span_us: tuple[int, int]) -> Exposure:
        """Cut to the span; stretches outside are gone."""
        start, end = np.maximum(self.start_us, span_us[0]), np.minimum(self.end_us, span_us[1])
        kept = start <= end
        return Exposure(place=self.place[kept], start_us=start[kept], end_us=end[kept])

    def days(self, places: int) -> Floats:
        """(place,) float64: days observed, what overlaps once."""
        order = np.lexsort((self.start_us, self.place))
        place, start, end = self.place[order], self.start_us[order], self.end_us[order]
        total = np.zeros(places)
        at, reached = -1, 0
        for one, low, high in zip(place.tolist(), start.tolist(), end.tolist(), strict=True):
            reached = low if one != at else max(reached, low)
            at = one
            total[one] += max(high - reached, 0) / _DAY_US
            reached = max(reached, high)
        return total


def stated_exposure(exposure: pl.DataFrame, places: Places) -> Exposure:
    """Take what the user says: ``place, start, end``."""
    missing = [name for name in ("place", "start", "end") if name not in exposure.columns]
    if missing:
        raise UsageError(f"exposure lacks the column {', '.join(missing)}; it needs place, start and end.")
    index = {name: at for at, name in enumerate(places.names)}
    known = exposure.filter(pl.col("place").is_in(list(index)))
    return Exposure(
        place=np.array([index[name] for name in known["place"].to_list()], dtype=np.int64),
        start_us=known["start"].dt.timestamp("us").to_numpy().astype(np.int64),
        end_us=known["end"].dt.timestamp("us").to_numpy().astype(np.int64),
    )


def known_exposure(store: Store, places: Places, failures: Occurrences, span_us: tuple[int, int]) -> Exposure:
    """Take for each place the time from the first to the last that is known of it or its host.

    What an outcome log says of a host begins and ends with its failures, so only what was sampled
    counts, widened to the failures themselves.
    """
    seen = store.observed().filter(~pl.col("what").is_in(["events", "jobs"])).drop_nulls("entity")
    hull = {
        entity: (int(start), int(end))
        for entity, start, end in seen.group_by("entity")
        .agg(pl.col("start").min().dt.timestamp("us"), pl.col("end").max().dt.timestamp("us"))
        .iter_rows()
    }
    start, end = (np.full(len(places.names), at, np.int64) for at in span_us)
    for at, name in enumerate(places.names):
        known = [hull[one] for one in (name, owner(name)) if one in hull]
        if known:
            start[at], end[at] = min(one[0] for one in known), max(one[1] for one in known)
    inside = failures.place >= 0
    np.minimum.at(start, failures.place[inside], failures.ts_us[inside])
    np.maximum.at(end, failures.place[inside], failures.ts_us[inside])
    return Exposure(place=np.arange(start.size), start_us=start, end_us=end)
