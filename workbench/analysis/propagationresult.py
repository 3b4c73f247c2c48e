"""Which kinds of event propagate to which, in words, numbers and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from workbench.model.provenance import Provenance
from workbench.timebase import format_duration

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["ALPHA", "Propagation"]

ALPHA = 0.05
SHOWN = 20  # pairs in a picture and in a notebook
_TOLD = 3  # pairs in the sentence


@dataclass(frozen=True, eq=False, kw_only=True)
class Propagation:
    """Ordered pairs of kinds of event, beside what chance gives for all of them.

    Attributes
    ----------
    within_s, guard_s : float
        A pair meets where the lead lies between ``guard_s`` and ``within_s``, surely in that order.
    same : str
        Where: ``entity``, ``host``, ``rack``, or ``linked``: at the other end of a link.
    kinds, tested : int
        Kinds of event that are frequent enough, and ordered pairs of them that could have met.
    pairs : polars.DataFrame
        One row per pair that met at least once, the likeliest first: ``a, b, a_count, b_count,
        preceded`` (b that an a precedes), ``share_preceded`` with 95 % bounds, ``triggering`` (a that
        a b follows), ``share_triggering``, ``reverse`` (b that an a follows), ``delay_s`` (median time
        from the nearest a to its b) with a 95 % interval, ``expected_shift``, ``p_shift``, ``p_family``,
        ``expected_matched`` (of ``cases`` with ``exposed`` of them), ``p_matched``, ``q``, ``holds``.
        NaN: not known, such as no other place to compare with.
    notes : tuple of str
    provenance : Provenance
    """

    within_s: float
    guard_s: float
    same: str
    kinds: int
    tested: int
    pairs: pl.DataFrame
    notes: tuple[str, ...]
    provenance: Provenance

    @property
    def holding(self) -> pl.DataFrame:
        """Pairs that leave both nulls behind at 5 %, the whole family counted."""
        return self.pairs.filter("holds")

    @property
    def sentence(self) -> str:
        """The result in words."""
        family = f"{self.tested} ordered pairs of {self.kinds} kinds within {format_duration(self.within_s)}"
        where = {"linked": "along links", "entity": "on the same device"}.get(self.same, f"on the same {self.same}")
        holding = self.holding
        if not holding.height:
            return f"No pair holds {where} among {family}."
        told = "; ".join(_words(row) for row in holding.head(_TOLD).iter_rows(named=True))
        more = f"; and {holding.height - _TOLD} more" if holding.height > _TOLD else ""
        return f"{holding.height} of {family} {'holds' if holding.height == 1 else 'hold'} {where}: {told}{more}."

    def table(self) -> pl.DataFrame:
        """One row per pair that met, the likeliest first."""
        return self.pairs

    def plot(self) -> go.Figure:
        """Draw the share of b that an a precedes, beside what chance gives, pair by pair."""
        from workbench.figures.propagation import propagation_figure

        top = self.pairs.head(SHOWN)
        count = top["b_count"].to_numpy()
        return propagation_figure(
            [f"{row['a']} → {row['b']}{_delay(row)}" for row in top.iter_rows(named=True)],
            tuple(top[name].to_numpy() for name in ("share_preceded", "share_low", "share_high")),
            shifted=top["expected_shift"].to_numpy() / count,
            matched=top["expected_matched"].to_numpy() / np.maximum(top["cases"].to_numpy(), 1),
            holds=top["holds"].to_list(),
            title=f"b preceded by a within {format_duration(self.within_s)}, {self.same}",
        )

    def _repr_html_(self) -> str:
        from workbench.figures.html import card_html, figure_html, table_html

        facts = [
            ("kinds", self.kinds),
            ("pairs tested", self.tested),
            ("pairs that met", self.pairs.height),
            ("seed", self.provenance.seed),
        ]
        shown = self.pairs.select(
            "a", "b", "b_count", "share_preceded", "share_triggering", "delay_s", "expected_shift", "p_family", "p_matched", "q", "holds"
        )  # fmt: skip
        parts = [table_html(shown.columns, shown.head(SHOWN).rows(), SHOWN), figure_html(self.plot())]
        return card_html("Propagation", self.sentence, facts=facts, notes=self.notes, parts=parts)


def _words(row: dict[str, object]) -> str:
    low, high = row["delay_low_s"], row["delay_high_s"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    bounds = f" ({_short(low)} to {_short(high)})" if np.isfinite(low) else ""
    share = f"{row['share_preceded']:.0%} of {row['b_count']} {row['b']} come after {row['a']}"
    return f"{share}, median {_short(row['delay_s'])}{bounds}; {row['share_triggering']:.0%} of {row['a_count']} {row['a']} are followed"


def _short(seconds: object) -> str:
    assert isinstance(seconds, float)
    return format_duration(round(seconds, 3 if seconds < 10 else 0))


def _delay(row: dict[str, object]) -> str:
    return f", {_short(row['delay_s'])}"
