"""What a search over lags found, in words, numbers and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.kernels.shifted import Stillness
from workbench.model.provenance import Provenance
from workbench.timebase import format_duration

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["ALPHA", "LagCorrelation"]

Floats = NDArray[np.float64]

ALPHA = 0.05
SHOWN = 10  # entities in a notebook
_DIFFERENCE_FIRST = "p does not hold for trends, random walks and counters: difference first"


@dataclass(frozen=True, eq=False, kw_only=True)
class LagCorrelation:
    """Correlation of two metrics at each lag, beside what chance gives.

    Attributes
    ----------
    x, y : str
        Metric ids.
    lag_s : (lag,) float64
        Seconds. Positive: ``x`` comes before ``y``.
    r : (lag,) float64
        Mean over entities, weighted by pairs, of the transformed metrics. NaN: no pairs.
    null_low, null_high : (lag,) float64
        2.5 % and 97.5 % points of r at one lag in shifted data.
    critical : float
        |r| that the largest of all lags searched passes in 5 % of shifted data.
    p : float
        Of the largest |r| over *all* lags searched. NaN: nothing to compare.
    holds : bool
        Whether p may be believed: see ``stillness`` and ``notes``.
    r_max, lag_max_s : float
        Largest |r| (with its sign) and its lag, seconds.
    lag_low_s, lag_high_s : float
        Lags that cannot be told from it (95 %).
    pairs, effective_n : float
        Pairs of cells at that lag over all entities, and how many independent ones they are worth
        if the entities are independent of each other.
    entities : polars.DataFrame
        ``entity, r, own_r_max, own_lag_s, pairs, effective_n, p, q``: r at the common lag, then
        each entity alone; q is Benjamini-Hochberg over entities. p and q are NaN where ``holds``
        is False.
    method, transform : str
        ``transform`` is the one that was used.
    stillness : Stillness
    units : (str, str)
        Of x and y before the transform.
    notes : tuple of str
        What the reader must know.
    provenance : Provenance
    """

    x: str
    y: str
    lag_s: Floats
    r: Floats
    null_low: Floats
    null_high: Floats
    critical: float
    p: float
    holds: bool
    r_max: float
    lag_max_s: float
    lag_low_s: float
    lag_high_s: float
    pairs: int
    effective_n: float
    entities: pl.DataFrame
    method: str
    transform: str
    stillness: Stillness
    units: tuple[str, str]
    notes: tuple[str, ...]
    provenance: Provenance

    @property
    def sentence(self) -> str:
        """The result in words; claims nothing that p does not carry."""
        if np.isnan(self.p):
            return f"{self.x} and {self.y} were never observed together while both varied: nothing to compare."
        most = f"the largest r is {self.r_max:.2f}, at {_lag_words(self.lag_max_s)}"
        if not self.holds:
            why = _DIFFERENCE_FIRST if self.transform == "raw" else "p does not hold: slow parts still rule the series"
            return f"{most[0].upper()}{most[1:]}, but {why}."
        searched = f"p = {self.p:.2g} over the {self.lag_s.size} lags searched"
        if self.p > ALPHA:
            return f"No lag stands out from shifted data: {most}; {searched}."
        return f"{self._order()}: r = {self.r_max:.2f} over {self.entities.height} entities; {searched}."

    def _order(self) -> str:
        low, high = _lag_words(self.lag_low_s), _lag_words(self.lag_high_s)
        if self.lag_low_s > 0:
            return f"{self.x} goes before {self.y} by {_lag_words(self.lag_max_s)} ({low} to {high})"
        if self.lag_high_s < 0:
            behind, near, far = (_lag_words(-lag) for lag in (self.lag_max_s, self.lag_high_s, self.lag_low_s))
            return f"{self.x} follows {self.y} by {behind} ({near} to {far})"
        return f"{self.x} and {self.y} go together, the order is not told (lag {low} to {high})"

    def table(self) -> pl.DataFrame:
        """One row per lag; units in the column names."""
        columns = ("lag_s", "r", "null_low", "null_high")
        return pl.DataFrame({name: getattr(self, name) for name in columns})

    def plot(self) -> go.Figure:
        """Draw r at each lag beside the band of shifted data."""
        from workbench.figures.lag import lag_figure

        return lag_figure(
            self.lag_s,
            self.r,
            null=(self.null_low, self.null_high),
            critical=self.critical,
            peak_s=(self.lag_max_s, self.lag_low_s, self.lag_high_s),
            names=(self.x, self.y),
            title=f"{self.x} and {self.y}, {self.transform}" + ("" if self.holds else ": p does not hold"),
        )

    def _repr_html_(self) -> str:
        from workbench.figures.html import card_html, figure_html, table_html
        from workbench.figures.tables import p_text

        facts = [
            ("p", p_text(self.p) if self.holds else f"{p_text(self.p)} (does not hold)"),
            ("transform", self.transform),
            ("method", self.method),
            ("pairs", self.pairs),
            ("worth independent pairs", self.effective_n),
            ("seed", self.provenance.seed),
        ]
        table = table_html(self.entities.columns, self.entities.head(SHOWN).rows(), SHOWN, caption="By entity")
        return card_html(
            "Lag correlation", self.sentence, facts=facts, notes=self.notes, parts=[figure_html(self.plot()), table]
        )


def _lag_words(seconds: float) -> str:
    return ("-" if seconds < 0 else "") + format_duration(abs(seconds))
