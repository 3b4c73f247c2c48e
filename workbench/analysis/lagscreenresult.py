"""What a screen of pairs over lags found, in words, numbers and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.analysis.lagresult import ALPHA
from workbench.model.provenance import Provenance
from workbench.timebase import format_duration

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["LagScreen"]

Floats = NDArray[np.float64]

SHOWN = 20  # pairs in a picture and in a notebook
_TOLD = 3  # pairs in the sentence


@dataclass(frozen=True, eq=False, kw_only=True)
class LagScreen:
    """Correlations of many pairs of metrics over lags, beside what chance gives for all of them.

    Attributes
    ----------
    x : str or None
        The metric that all others are paired with; None: all pairs.
    lag_s : (lag,) float64
        Seconds. Positive: the first of a pair comes before the second.
    r : (pair, lag) float64
        Pooled over entities; rows as in ``pairs``. NaN: no pairs of cells.
    pairs : polars.DataFrame
        ``x, y, entities, r_max, lag_s, lag_low_s, lag_high_s, pairs, effective_n, transform, holds,
        why, p, p_family, q``, the likeliest first. ``p`` counts all lags of the pair, ``p_family``
        all lags of all pairs, ``q`` is over pairs. NaN where p does not hold; ``why`` says so.
    entities : polars.DataFrame
        ``x, y, entity, r, own_r_max, own_lag_s, pairs, effective_n, p, q``: each entity alone; q is
        Benjamini-Hochberg over all rows.
    method : str
    notes : tuple of str
    provenance : Provenance
    """

    x: str | None
    lag_s: Floats
    r: Floats
    pairs: pl.DataFrame
    entities: pl.DataFrame
    method: str
    notes: tuple[str, ...]
    provenance: Provenance

    @property
    def claims(self) -> pl.DataFrame:
        """Pairs that stand out of the whole family at 5 %."""
        return self.pairs.filter(pl.col("holds") & (pl.col("p_family") <= ALPHA))

    @property
    def sentence(self) -> str:
        """The result in words; claims nothing that the family-wise p does not carry."""
        tested, claims = int(self.pairs["p"].is_finite().sum()), self.claims
        left = self.pairs.height - tested
        unheld = f" The p of {left} more {'pair' if left == 1 else 'pairs'} does not hold: see .pairs." if left else ""
        family = f"{tested} {'pair' if tested == 1 else 'pairs'} of metrics and {self.lag_s.size} lags"
        if not tested:
            return f"No p of {self.pairs.height} pairs holds, so nothing is told: see .pairs for why."
        if not claims.height:
            return f"No pair stands out from shifted data over {family}.{unheld}"
        told = "; ".join(_words(row) for row in claims.head(_TOLD).iter_rows(named=True))
        more = f"; and {claims.height - _TOLD} more" if claims.height > _TOLD else ""
        return f"{claims.height} of {family} stand out (family-wise p at most {ALPHA:g}): {told}{more}.{unheld}"

    def table(self) -> pl.DataFrame:
        """One row per pair, the likeliest first; units in the column names."""
        return self.pairs

    def plot(self) -> go.Figure:
        """Draw r of each pair at each lag."""
        from workbench.figures.heat import lag_heat_figure

        top = self.pairs.head(SHOWN)
        claimed = (top["holds"] & (top["p_family"] <= ALPHA).fill_null(value=False)).to_list()
        labels = [
            (row["y"] if self.x else f"{row['x']}, {row['y']}") + ("" if row["holds"] else " (p does not hold)")
            for row in top.iter_rows(named=True)
        ]
        rest = f", {top.height} of {self.pairs.height} pairs" if top.height < self.pairs.height else ""
        return lag_heat_figure(
            self.lag_s,
            self.r[: top.height],
            labels,
            peak_s=top["lag_s"].to_numpy(),
            claimed=claimed,
            title=f"{self.x or 'All pairs'}: r at each lag{rest}",
        )

    def _repr_html_(self) -> str:
        from workbench.figures.html import card_html, figure_html, table_html

        facts = [
            ("pairs tested", int(self.pairs["p"].is_finite().sum())),
            ("lags", self.lag_s.size),
            ("method", self.method),
            ("seed", self.provenance.seed),
        ]
        shown = self.pairs.drop("why")
        parts = [table_html(shown.columns, shown.head(SHOWN).rows(), SHOWN), figure_html(self.plot())]
        return card_html("Lag screen", self.sentence, facts=facts, notes=self.notes, parts=parts)


def _words(row: dict[str, object]) -> str:
    x, y, r = row["x"], row["y"], f"r = {row['r_max']:.2f}"
    lag, low, high = (float(row[name]) for name in ("lag_s", "lag_low_s", "lag_high_s"))  # type: ignore[arg-type]
    if low > 0:
        return f"{x} goes before {y} by {format_duration(lag)} ({r})"
    if high < 0:
        return f"{x} follows {y} by {format_duration(-lag)} ({r})"
    return f"{x} and {y} go together, order not told ({r})"
