"""How often one event comes before another, beside what chance gives, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.model.provenance import Provenance
from workbench.timebase import format_duration

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["ALPHA", "Coincidence", "Rate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALPHA = 0.05
SHOWN = 10  # places in a notebook


@dataclass(frozen=True, kw_only=True)
class Rate:
    """So many of so many.

    Attributes
    ----------
    count, of : int
    low, high : float
        95 % bounds of the share (Clopper and Pearson 1934), as if the events were independent.
    """

    count: int
    of: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Count over of; NaN where there is nothing."""
        return self.count / self.of if self.of else float("nan")


@dataclass(frozen=True, eq=False, kw_only=True)
class Coincidence:
    """How often a comes before b at the same place, beside what chance gives.

    Attributes
    ----------
    a, b : str
        Written selectors.
    within_s, guard_s : float
        A pair meets where the lead lies between ``guard_s`` and ``within_s``, surely in that order.
    same : str
        What a place is: ``host``, ``entity`` or as the caller says.
    precursor : Rate
        b (bursts counted once) that an a precedes: the precursor coincidence rate.
    trigger : Rate
        a (bursts counted once) that a b follows: the trigger coincidence rate.
    cases : Rate
        The same as ``precursor`` over episodes of b, first events only: what ``p_matched`` counts.
    shift_draws : (draw,) int64
        Preceded b when all b are moved by one time, the same for all places.
    p_shift, p_trigger : float
        Share of shifts that reach the observed count of preceded b, of triggering a.
    matched_expected : float
        Preceded cases to expect were the case any place without b at that minute.
    p_matched : float
        Exact, one-sided. NaN: no other place to compare with.
    p_naive : float
        Were all a spread evenly and independently: too small for bursts and waves, for showing only.
    followed : int
        b that an a follows within the window: many speak for a consequence.
    lead_s : (quartile,) float64
        25, 50 and 75 % of the time from the nearest a to its b. NaN: no pair.
    by_place : polars.DataFrame
        ``place, a, b, preceded, triggering``.
    notes : tuple of str
    provenance : Provenance
    """

    a: str
    b: str
    within_s: float
    guard_s: float
    same: str
    precursor: Rate
    trigger: Rate
    cases: Rate
    shift_draws: Ints
    p_shift: float
    p_trigger: float
    matched_expected: float
    p_matched: float
    p_naive: float
    followed: int
    lead_s: Floats
    by_place: pl.DataFrame
    notes: tuple[str, ...]
    provenance: Provenance

    @property
    def p(self) -> float:
        """The p that counts: of the matched sets."""
        return self.p_matched

    @property
    def holds(self) -> bool:
        """Whether both nulls are left behind at 5 %: other places at that minute, and other times."""
        return bool(self.p_matched <= ALPHA and self.p_shift <= ALPHA)

    @property
    def sentence(self) -> str:
        """The result in words."""
        window = format_duration(self.within_s)
        share = f"{self.cases.share:.0%}" if self.cases.of else "none"
        seen = (
            f"{self.a} came within {window} before {self.cases.count} of {self.cases.of} episodes of {self.b} ({share})"
        )
        beside = f"{np.mean(self.shift_draws):.1f} of {self.precursor.of} events at shifted times against {self.precursor.count}"
        if np.isnan(self.p_matched):
            return f"{seen}; chance gives {beside}. Does not hold: no other {self.same} to compare with at the same minute."
        chance = f"{self.matched_expected:.1f} at other places at the same minute, and {beside}"
        tests = f"p = {self.p_matched:.2g} matched, {self.p_shift:.2g} shifted"
        return f"{seen}; chance gives {chance}. {self._reading()} ({tests})."

    def _reading(self) -> str:
        if self.holds:
            return "Holds"
        if self.p_shift <= ALPHA:
            return f"Does not hold: at the same minute {self.a} was as common where no {self.b} came, a moment of the fleet"
        if self.p_matched <= ALPHA:
            return "Does not hold: both keep to the same places, yet meet as often when shifted in time"
        return "Does not hold"

    def table(self) -> pl.DataFrame:
        """One row per rate: counts, share with 95 % bounds, what chance gives, p by null."""
        low, high = np.quantile(self.shift_draws, [0.025, 0.975]) if self.shift_draws.size else (np.nan, np.nan)
        nan = float("nan")
        rows = [
            (
                "b preceded by a",
                self.precursor,
                float(np.mean(self.shift_draws)),
                float(low),
                float(high),
                self.p_shift,
            ),
            ("episodes of b preceded by a", self.cases, self.matched_expected, nan, nan, self.p_matched),
            ("a followed by b", self.trigger, nan, nan, nan, self.p_trigger),
        ]
        nulls = ("shifted times", "other places, same minute", "shifted times")
        return pl.DataFrame(
            [
                {
                    "rate": name, "count": rate.count, "of": rate.of, "share": rate.share, "low": rate.low,
                    "high": rate.high, "null": null, "expected": expected, "expected_low": below,
                    "expected_high": above, "p": p,
                }
                for (name, rate, expected, below, above, p), null in zip(rows, nulls, strict=True)
            ]
        )  # fmt: skip

    def plot(self) -> go.Figure:
        """Draw the observed count beside the counts of shifted data."""
        from workbench.figures.coincidence import coincidence_figure

        return coincidence_figure(
            self.shift_draws,
            observed=self.precursor.count,
            total=self.precursor.of,
            names=(self.a, self.b),
            notes=(
                f"p shifted {self.p_shift:.2g}",
                f"p matched {self.p_matched:.2g}",
                f"naive Poisson p {self.p_naive:.2g}",
            ),
            window=format_duration(self.within_s),
        )

    def _repr_html_(self) -> str:
        from workbench.figures.html import card_html, figure_html, table_html
        from workbench.figures.tables import p_text

        facts = [
            ("p matched", p_text(self.p_matched)),
            ("p shifted", p_text(self.p_shift)),
            ("naive Poisson p, for showing only", p_text(self.p_naive)),
            (
                "lead quartiles",
                " ".join(format_duration(round(lead, 3)) for lead in self.lead_s if np.isfinite(lead)) or "–",
            ),
            ("seed", self.provenance.seed),
        ]
        rates, places = self.table(), self.by_place.head(SHOWN)
        parts = [
            table_html(rates.columns, rates.rows()),
            figure_html(self.plot()),
            table_html(places.columns, places.rows(), SHOWN, caption=f"By {self.same}"),
        ]
        return card_html("Coincidence", self.sentence, facts=facts, notes=self.notes, parts=parts)
