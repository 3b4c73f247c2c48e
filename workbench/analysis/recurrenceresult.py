"""Whether what failed fails again, in words, numbers and a picture."""

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

__all__ = ["ALPHA", "Recurrence"]

Ints = NDArray[np.int64]

ALPHA = 0.05
SHOWN = 20  # places in a notebook
_TOLD = 3  # places in the sentence


@dataclass(frozen=True, eq=False, kw_only=True)
class Recurrence:
    """Repetition of an outcome at the same place, beside what chance gives for the time observed.

    Attributes
    ----------
    outcome : str
        Written selector.
    same : str
        What a place is.
    failures, episodes : int
        Bursts; and episodes (per rack, else place), one failure of each: what p counts.
    places : int
        Places at risk.
    pairs : int
        Pairs of episodes at one place.
    draws : (draw,) int64
        The same when every episode falls on any place that was at risk at that moment.
    p : float
        Share of draws, the observed one among them, that reach ``pairs``.
    gaps : polars.DataFrame
        ``within_s, again, of, share, expected, expected_low, expected_high, p``: of ``of`` episodes
        that were observed long enough, how many the same place follows with another so soon; mean
        and 95 % of the draws.
    lemons : polars.DataFrame
        One row per place at risk, the likeliest first: ``place, failures, exposure_days,
        rate_per_day, rate_low, rate_high`` (exact Poisson), ``expected, ratio, shrunken,
        shrunken_low, shrunken_high`` (ratio to expected, drawn towards 1), ``p, q``. NaN: not known.
    notes : tuple of str
    provenance : Provenance
    """

    outcome: str
    same: str
    failures: int
    episodes: int
    places: int
    pairs: int
    draws: Ints
    p: float
    gaps: pl.DataFrame
    lemons: pl.DataFrame
    notes: tuple[str, ...]
    provenance: Provenance

    @property
    def holds(self) -> bool:
        """Whether the same places fail again more often than chance gives, at 5 %."""
        return self.p <= ALPHA

    @property
    def standing_out(self) -> pl.DataFrame:
        """Places with more failures than their exposure gives, at a false discovery rate of 5 %."""
        return self.lemons.filter(pl.col("q") <= ALPHA)

    @property
    def sentence(self) -> str:
        """The result in words."""
        chance = f"{self.pairs} pairs of {self.outcome} fell on one {self.same}, chance gives {self.draws.mean():.1f} (p = {self.p:.2g})"
        first = (
            f"{self.outcome} comes back to the same {self.same}: {chance}"
            if self.holds
            else f"No sign that {self.outcome} comes back: {chance}"
        )
        return f"{first}.{self._soon()}{self._named()}"

    def _soon(self) -> str:
        row = next((row for row in self.gaps.iter_rows(named=True) if row["p"] <= ALPHA and self.holds), None)
        if row is None:
            return ""
        share, chance = f"{row['share']:.0%}", f"{row['expected'] / row['of']:.1%}"
        return f" {share} of {row['of']} were followed by another there within {format_duration(row['within_s'])}, {chance} by chance."

    def _named(self) -> str:
        out = self.standing_out
        if not out.height:
            return f" No {self.same} of {self.places} stands out by itself."
        told = ", ".join(
            f"{row['place']} ({row['failures']} against {row['expected']:.2g} expected)"
            for row in out.head(_TOLD).iter_rows(named=True)
        )
        more = f" and {out.height - _TOLD} more" if out.height > _TOLD else ""
        return f" {out.height} of {self.places} stand out: {told}{more}."

    def table(self) -> pl.DataFrame:
        """One row per place at risk, the likeliest first."""
        return self.lemons

    def plot(self) -> go.Figure:
        """Draw how soon the same place fails again, beside the band of chance."""
        from workbench.figures.recurrence import recurrence_figure

        of = np.maximum(self.gaps["of"].to_numpy(), 1)
        return recurrence_figure(
            self.gaps["within_s"].to_numpy(),
            self.gaps["share"].to_numpy(),
            expected=tuple(self.gaps[name].to_numpy() / of for name in ("expected", "expected_low", "expected_high")),
            same=self.same,
            title=f"{self.outcome}: again at the same {self.same}",
        )

    def _repr_html_(self) -> str:
        from workbench.figures.html import card_html, figure_html, table_html
        from workbench.figures.tables import p_text

        facts = [
            ("p", p_text(self.p)),
            ("failures", self.failures),
            ("episodes", self.episodes),
            ("places at risk", self.places),
            ("seed", self.provenance.seed),
        ]
        shown = self.lemons.head(SHOWN)
        parts = [
            figure_html(self.plot()),
            table_html(shown.columns, shown.rows(), SHOWN, caption=f"By {self.same}, the likeliest first"),
            table_html(self.gaps.columns, self.gaps.rows(), SHOWN, caption="How soon again"),
        ]
        return card_html("Recurrence", self.sentence, facts=facts, notes=self.notes, parts=parts)
