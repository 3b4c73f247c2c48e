"""The changes that were found in a metric, in words, numbers and a picture."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.model.provenance import Provenance

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["FLEET", "GROUP", "ONE", "SEVERAL", "ChangePoints"]

Floats = NDArray[np.float64]

ONE, SEVERAL, GROUP, FLEET = "one", "several", "group", "fleet"
SHOWN = 8  # entities in the picture
_MEANS = {
    FLEET: "most of the fleet changed together: a change of measurement, a rollout, or one cause of all",
    GROUP: "those that share a place changed together",
    SEVERAL: "several changed together",
    ONE: "it changed alone",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangePoints:
    """Changes of one metric over the entities of a panel.

    Attributes
    ----------
    metric, unit : str
    changes : polars.DataFrame
        One row per change, believed or not: ``entity, ts, ts_low, ts_high`` (95 %), ``kind``
        (``level``, ``slope``: per second, ``spread``: standard deviation), ``before, after`` (of
        the pieces beside it, in ``unit``), ``p`` (over all places in this series), ``q``
        (Benjamini-Hochberg over entities), ``excursion`` (the level comes back), ``scope``,
        ``together`` (entities that changed with it), ``p_together``, ``holds``, ``why``.
    entities : polars.DataFrame
        One row per entity: ``entity, kind, changes, holds, why, cells, effective_n, least_s``.
        ``holds`` with 0 changes: the level did not change, as far as its cells can tell.
    shown : tuple of (entity, values, fit)
        What the picture draws; (cell,) float64 each, NaN where not observed.
    ts_us : (cell,) int64
    alpha : float
        Chance of any change in a series that has none.
    notes : tuple of str
    provenance : Provenance
    """

    metric: str
    unit: str
    changes: pl.DataFrame
    entities: pl.DataFrame
    shown: tuple[tuple[str, Floats, Floats], ...]
    ts_us: NDArray[np.int64]
    alpha: float
    notes: tuple[str, ...]
    provenance: Provenance

    @property
    def believed(self) -> pl.DataFrame:
        """The changes whose p may be believed."""
        return self.changes.filter("holds")

    @property
    def sentence(self) -> str:
        """The result in words; what is not believed is not told as found."""
        total, sound = self.entities.height, int(self.entities["holds"].sum())
        if not sound:
            return f"Changes of {self.metric} cannot be told from its own way of moving: {self._doubts()}."
        found = self.believed
        changed = found["entity"].n_unique()
        text = (
            f"{self.metric} changed on {changed} of {sound} entities that can be judged"
            if found.height
            else f"{self.metric} did not change on any of {sound} entities that can be judged"
        )
        if found.height:
            top = found.sort("together", descending=True).row(0, named=True)
            text += f"; {_MEANS[top['scope']]} ({top['together']} about {top['ts']:%Y-%m-%d %H:%M:%S}Z)"
        left = f"; {total - sound} cannot be judged: {self._doubts()}" if sound < total else ""
        return text + left + "."

    def _doubts(self) -> str:
        told = Counter(self.entities.filter(~pl.col("holds"))["why"].to_list())
        return ", ".join(f"{why} ({count})" for why, count in told.most_common())

    def table(self) -> pl.DataFrame:
        """One row per change, believed or not, and one for each entity without any (``ts`` is null)."""
        entities = self.entities.select("entity", "holds", "why", "cells", "effective_n")
        changes = self.changes.drop("holds", "why")
        return entities.join(changes, on="entity", how="left", maintain_order="left")

    def plot(self) -> go.Figure:
        """Draw the series with most changes, their pieces, and when how many changed together."""
        from workbench.figures.change import change_figure

        marks = {
            entity: [(row["ts"], row["ts_low"], row["ts_high"], row["holds"]) for row in rows.iter_rows(named=True)]
            for (entity,), rows in self.changes.group_by("entity")
        }
        return change_figure(
            self.ts_us,
            [(str(entity), values, fit, marks.get(entity, [])) for entity, values, fit in self.shown],
            name=self.metric,
            unit=self.unit,
        )

    def _repr_html_(self) -> str:
        from workbench.figures.html import card_html, figure_html, table_html

        facts = [
            ("entities", self.entities.height),
            ("can be judged", int(self.entities["holds"].sum())),
            ("changes", self.believed.height),
            ("false alarms per series, at most", self.alpha),
            ("seed", self.provenance.seed),
        ]
        rows = self.believed.drop("why", "holds")
        table = table_html(rows.columns, rows.head(SHOWN).rows(), SHOWN, caption="Changes")
        return card_html(
            "Change points", self.sentence, facts=facts, notes=self.notes, parts=[figure_html(self.plot()), table]
        )
