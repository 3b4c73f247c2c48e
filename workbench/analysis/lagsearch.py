"""The search over lags that one pair and a screen of pairs share: transform, correlate, shift, and ask whether p holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.analysis.lagresult import ALPHA
from workbench.errors import UsageError
from workbench.kernels.lag import correlate, effective_pairs, pool, ranks
from workbench.kernels.multiplicity import adjusted_p
from workbench.kernels.shifted import (
    LARGEST_SHARE,
    LEAST_RESOLUTION,
    ShiftNull,
    Stillness,
    kept_cells,
    shift_null,
    stillness,
)
from workbench.kernels.surrogate import far_shifts
from workbench.kernels.whiten import difference, whiten
from workbench.model.panel import Panel
from workbench.timebase import format_duration

__all__ = [
    "DAY_S",
    "TRANSFORMS",
    "Found",
    "Method",
    "Search",
    "Transform",
    "check_choices",
    "check_grid",
    "entity_table",
    "null_levels",
    "still_notes",
    "transform_order",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Method = Literal["pearson", "spearman"]
Transform = Literal["auto", "raw", "difference", "prewhiten"]

DAY_S = 86400.0
#: (entity, time) to the same, NaN where it is not known.
TRANSFORMS: dict[str, Callable[[Floats], Floats]] = {
    "raw": lambda values: values,
    "difference": difference,
    "prewhiten": lambda values: whiten(values)[0],
}


def transform_order(transform: str) -> tuple[str, ...]:
    """Give the transforms to try, the first whose p holds is taken.

    Examples
    --------
    >>> transform_order("auto"), transform_order("raw")
    (('prewhiten', 'difference'), ('raw',))
    """
    return ("prewhiten", "difference") if transform == "auto" else (transform,)


def check_choices(method: str, transform: str) -> None:
    """Refuse methods and transforms that are none."""
    for name, value, known in (
        ("method", method, ("pearson", "spearman")),
        ("transform", transform, ("auto", *TRANSFORMS)),
    ):
        if value not in known:
            raise UsageError(f"{name}={value!r} is not known; take one of {', '.join(known)}.")


def check_grid(panel: Panel) -> None:
    """Refuse a grid on which a lag in cells is no lag in time."""
    spacing = np.diff(panel.ts_us)
    if spacing.size and (spacing != spacing[0]).any():
        raise UsageError("The panel's grid is not regular, so a lag in cells is no lag in time; make it with wb.panel.")


@dataclass(frozen=True, eq=False, kw_only=True)
class Found:
    """What a search over lags gives, in cells.

    Attributes
    ----------
    lags : (lag,) int64
    entity_r, entity_pairs : (entity, lag)
    entity_effective : (entity,) float64
        Worth of the pairs at the lag of the largest |r|.
    r : (lag,) float64
        Pooled.
    null : ShiftNull
    draws : (draw,) int64
        Shifts that count as draws.
    still : Stillness
    half : int
        Largest lag.
    at : int
        Index of the largest |r|; of lag 0 where there is none.
    """

    lags: Ints
    entity_r: Floats
    entity_pairs: Ints
    entity_effective: Floats
    r: Floats
    null: ShiftNull
    draws: Ints
    still: Stillness
    half: int
    at: int

    @property
    def known(self) -> bool:
        """Whether there is any r at all."""
        return bool(np.isfinite(self.r).any())


@dataclass(frozen=True, eq=False, kw_only=True)
class Search:
    """How lags are searched; the same for every pair of a screen.

    Attributes
    ----------
    half : int
        Largest lag, cells.
    day_cells : float
        Cells of a day.
    method : str
    shifts : int
    rng : numpy.random.Generator
    """

    half: int
    day_cells: float
    method: str
    shifts: int
    rng: np.random.Generator

    @property
    def lags(self) -> int:
        """How many lags are searched."""
        return 2 * self.half + 1

    def circle(self, seen: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """Choose the cells of the circle of time, and the shifts of it that are draws."""
        kept = kept_cells(seen, self.half)
        return kept, far_shifts(kept.size, 2 * self.half + 1, self.shifts, self.rng)

    def run(self, x: Floats, y: Floats, circle: tuple[Ints, Ints] | None = None) -> Found:
        """Correlate at every lag and at every shift; on a circle of its own if none is given."""
        if self.method == "spearman":
            x, y = ranks(x), ranks(y)
        lags = np.arange(-self.half, self.half + 1, dtype=np.int64)
        entity_r, entity_pairs = correlate(x, y, lags)
        r = pool(entity_r, entity_pairs)
        kept, draws = circle or self.circle(np.asarray((np.isfinite(x) | np.isfinite(y)).any(axis=0)))
        null = shift_null(x[:, kept], y[:, kept], self.half, draws)
        still = stillness(x, y, null, half=self.half, day_cells=self.day_cells)
        at = int(np.nanargmax(np.abs(r))) if np.isfinite(r).any() else self.half
        return Found(
            lags=lags,
            entity_r=entity_r,
            entity_pairs=entity_pairs,
            entity_effective=effective_pairs(x, y, entity_pairs[:, at]),
            r=r,
            null=null,
            draws=draws,
            still=still,
            half=self.half,
            at=at,
        )


def null_levels(found: Found) -> tuple[float, float, float]:
    """Give the 2.5 % point of r at one lag, the 95 % point of the largest, the 97.5 % point of r."""
    one, largest = (values[found.draws] for values in (found.null.circle, found.null.largest))
    one, largest = one[np.isfinite(one)], largest[np.isfinite(largest)]
    if not one.size or not largest.size:
        return float("nan"), float("nan"), float("nan")
    low, high = np.quantile(one, [0.025, 0.975])
    return float(low), float(np.quantile(largest, 1 - ALPHA, method="higher")), float(high)


def entity_table(names: list[str], found: Found, *, step_s: float, holds: bool) -> pl.DataFrame:
    """Give one row per entity: r at the common lag, and its own largest; p and q only where p holds."""
    size = np.where(np.isfinite(found.entity_r), np.abs(found.entity_r), -1.0)
    best, any_r = size.argmax(axis=1), size.max(axis=1, initial=-1.0) >= 0
    p = found.null.entity_p if holds else np.full(len(names), np.nan)
    rows = np.arange(len(names))
    table = pl.DataFrame(
        {
            "entity": names,
            "r": found.entity_r[:, found.at],
            "own_r_max": found.entity_r[rows, best],
            "own_lag_s": np.where(any_r, found.lags[best] * step_s, np.nan),
            "pairs": found.entity_pairs[:, found.at],
            "effective_n": found.entity_effective,
            "p": p,
            "q": adjusted_p(p, dependent=False),
        }
    )
    return table[np.lexsort((names, -size.max(axis=1, initial=-1.0)))]


def still_notes(found: Found, step_s: float) -> list[str]:
    """Say what speaks against the p."""
    still, notes = found.still, []
    if still.drift > LARGEST_SHARE:
        notes.append(
            f"Both drift over the whole span: straight lines alone make up to {still.drift:.1f} sd of the null."
        )
    if still.rhythm > LARGEST_SHARE:
        notes.append(f"Both follow the time of day: that alone makes up to {still.rhythm:.1f} sd of the null.")
    if not still.resolution >= LEAST_RESOLUTION:
        period = format_duration(round(still.period * step_s)) if np.isfinite(still.period) else "unknown"
        independent = f"{still.resolution:.1f}" if np.isfinite(still.resolution) else "no"
        notes.append(
            f"Shifted data hold {independent} independent values; their strongest part has a period of {period}."
        )
    return notes
