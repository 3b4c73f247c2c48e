"""Bursts of many kinds of event: how each ordered pair of kinds meets, and what two nulls give for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.analysis.mixedevents import MixedEvents
from workbench.analysis.occurrences import Places, Rules
from workbench.kernels.exposure import episode_starts
from workbench.kernels.propagate import Kinded, PairNull, exposures, median_bounds, pair_leads, pair_null
from workbench.kernels.surrogate import random_shifts, spawn
from workbench.timebase import MICROS, format_duration

__all__ = ["Asked", "Progress"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False, kw_only=True)
class Asked:
    """Bursts of the kinds that are asked about, and how they meet.

    Attributes
    ----------
    events : MixedEvents
    places : Places
    window : (least, most)
        Leads that count, microseconds.
    span_us : (start, end)
    rules : Rules
    """

    events: MixedEvents
    places: Places
    window: tuple[int, int]
    span_us: tuple[int, int]
    rules: Rules

    @property
    def kinds(self) -> int:
        """How many kinds there are."""
        return len(self.events.names)

    @property
    def counts(self) -> Ints:
        """(kind,) int64: bursts of each."""
        return np.bincount(self.events.kind, minlength=self.kinds)

    def causes(self) -> Kinded:
        """Everything at every place where it may show, by its latest time."""
        event, place = self.events.spread()
        return Kinded(kind=self.events.kind[event], place=place, time=self.events.high_us[event] - self.span_us[0])

    def effects(self) -> Kinded:
        """Everything where it happened, by its earliest time."""
        return Kinded(kind=self.events.kind, place=self.events.place, time=self.events.low_us - self.span_us[0])

    def can_meet(self) -> Bools:
        """(kind, kind) bool: different kinds that are at one place at all."""
        causes, effects = self.causes(), self.effects()
        here = np.zeros((2, self.kinds, len(self.places.names)), np.float32)
        here[0, causes.kind, causes.place], here[1, effects.kind, effects.place] = 1, 1
        can: Bools = (here[0] @ here[1].T) > 0
        np.fill_diagonal(can, val=False)
        return can

    def shifted(self, tested: Bools, seed: int) -> tuple[PairNull, list[str]]:
        """Compare with shifted times; also what the reader must know of them."""
        span = self.span_us[1] - self.span_us[0]
        wanted = round(self.rules.least_shift_s * MICROS)
        reach = max(min(wanted, span // 4), self.window[1] + 1)
        notes = []
        if wanted > span // 4:
            least, usual = format_duration(round(reach / MICROS)), format_duration(self.rules.least_shift_s)
            notes = [f"The span is short: shifts of {least} and more, not {usual}."]
        shifts = random_shifts(span, reach, self.rules.shifts, spawn(seed, 1)[0])
        causes, effects = (replace(one, time=one.time % span) for one in (self.causes(), self.effects()))
        null = pair_null(causes, effects, kinds=self.kinds, window=self.window, span=span, shifts=shifts, tested=tested)
        return null, notes

    def met(self) -> tuple[Ints, Ints, Ints]:
        """Give kind of a, kind of b and lead of every met b, ordered by the three."""
        cause, effect, lead = pair_leads(self.causes(), self.effects(), kinds=self.kinds, window=self.window)
        order = np.lexsort((lead, self.events.kind[effect], cause))
        return cause[order], self.events.kind[effect[order]], lead[order]

    def triggering(self) -> Ints:
        """(kind, kind) int64: events of the first that one of the second follows, each counted once."""
        event, place = self.events.spread()
        back = Kinded(kind=self.events.kind, place=self.events.place, time=-self.events.low_us)
        ahead = Kinded(kind=self.events.kind[event], place=place, time=-self.events.high_us[event])
        follower, row, _ = pair_leads(back, ahead, kinds=self.kinds, window=self.window)
        once = np.unique(np.stack([event[row], follower], axis=1), axis=0)
        counts = np.zeros((self.kinds, self.kinds), np.int64)
        np.add.at(counts, (self.events.kind[once[:, 0]], once[:, 1]), 1)
        return counts

    def table(self, tested: Bools, null: PairNull, progress: Progress | None) -> pl.DataFrame:
        """Give one row per tested pair that met at least once."""
        cause, effect, lead = self.met()
        key = cause * self.kinds + effect
        starts = np.unique(key, return_index=True)[1]
        ends = np.r_[starts, key.size][1:]
        pairs = [
            (int(cause[start]), int(effect[start]), lead[start:end])
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
            if tested[cause[start], effect[start]]
        ]
        preceded = np.zeros((self.kinds, self.kinds), np.int64)
        for a, b, some in pairs:
            preceded[a, b] = some.size
        matched = self._matched(preceded, progress)
        triggering, counts = self.triggering(), self.counts
        rows = []
        for a, b, some in pairs:
            middle, low, high = (value / MICROS for value in median_bounds(some))
            exposed, cases, expected, p = matched[a, b]
            rows.append(
                (
                    self.events.names[a], self.events.names[b], int(counts[a]), int(counts[b]), some.size, int(triggering[a, b]),
                    int(triggering[b, a]), middle, low, high, null.expected[a, b], null.p[a, b], null.p_family[a, b], exposed,
                    cases, expected, p,
                )
            )  # fmt: skip
        return _with_shares(pl.DataFrame(rows, schema=_COLUMNS, orient="row"))

    def _matched(
        self, preceded: Ints, progress: Progress | None
    ) -> dict[tuple[int, int], tuple[int, int, float, float]]:
        """Give, by pair, exposed cases, cases, how many to expect, and p: other places at the same moment."""
        found: dict[tuple[int, int], tuple[int, int, float, float]] = {}
        groups, classes, causes, effects = self.places.groups(), self.places.classes(), self.causes(), self.effects()
        apart = max(round(self.rules.episode_s * MICROS), self.window[1])
        for b in range(self.kinds):
            before = np.flatnonzero(preceded[:, b]).tolist()
            if before:
                chosen = effects.kind == b
                outcomes = effects.place[chosen], effects.time[chosen]
                sets = exposures(
                    causes,
                    outcomes,
                    cases=episode_starts(groups[outcomes[0]], outcomes[1], apart),
                    kinds=self.kinds,
                    window=self.window,
                    apart=apart,
                    group=classes,
                )
                usable = int((sets.members >= 2).sum())
                for a in before:
                    exposed, expected, p = sets.p(a)
                    found[a, b] = exposed, usable, expected, p
            if progress is not None:
                progress(b + 1, self.kinds, self.events.names[b])
        return found


_COLUMNS = {
    "a": pl.String(), "b": pl.String(), "a_count": pl.Int64(), "b_count": pl.Int64(), "preceded": pl.Int64(),
    "triggering": pl.Int64(), "reverse": pl.Int64(), "delay_s": pl.Float64(), "delay_low_s": pl.Float64(),
    "delay_high_s": pl.Float64(), "expected_shift": pl.Float64(), "p_shift": pl.Float64(), "p_family": pl.Float64(),
    "exposed": pl.Int64(), "cases": pl.Int64(), "expected_matched": pl.Float64(), "p_matched": pl.Float64(),
}  # fmt: skip


def _with_shares(table: pl.DataFrame) -> pl.DataFrame:
    """Add shares; the bounds are those of Clopper and Pearson, as if events were independent."""
    from scipy.stats import beta

    count, of = table["preceded"].to_numpy(), table["b_count"].to_numpy()
    low = beta.ppf(0.025, count, of - count + 1)  # NaN never: every pair here met at least once
    high = np.where(count < of, beta.ppf(0.975, count + 1, np.maximum(of - count, 1)), 1.0)
    told = table.with_columns(
        share_preceded=pl.col("preceded") / pl.col("b_count"),
        share_low=pl.Series(np.asarray(low, dtype=np.float64)),
        share_high=pl.Series(np.asarray(high, dtype=np.float64)),
        share_triggering=pl.col("triggering") / pl.col("a_count"),
    )
    first = [
        "a",
        "b",
        "a_count",
        "b_count",
        "preceded",
        "share_preceded",
        "share_low",
        "share_high",
        "triggering",
        "share_triggering",
    ]
    return told.select(first + [name for name in told.columns if name not in first])
