"""Which lag ties two metrics best, beside what chance gives, and whether that p can be believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.analysis.lagresult import ALPHA, LagCorrelation
from workbench.errors import DataError, UsageError
from workbench.kernels.lag import correlate, effective_pairs, pool, ranks
from workbench.kernels.shifted import (
    LARGEST_SHARE,
    LEAST_RESOLUTION,
    ShiftNull,
    Stillness,
    kept_cells,
    lag_bounds,
    shift_null,
    stillness,
)
from workbench.kernels.surrogate import add_one_p, far_shifts, spawn
from workbench.kernels.whiten import difference, whiten
from workbench.model.panel import Panel
from workbench.model.provenance import Provenance
from workbench.timebase import format_duration, format_us, parse_duration
from workbench.version import __version__

__all__ = ["LagCorrelation", "lag_correlation"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Method = Literal["pearson", "spearman"]
Transform = Literal["auto", "raw", "difference", "prewhiten"]

_DAY_S = 86400.0
_TRANSFORMS: dict[str, Callable[[Floats], Floats]] = {
    "raw": lambda values: values,
    "difference": difference,
    "prewhiten": lambda values: whiten(values)[0],
}


def lag_correlation(
    panel: Panel,
    *,
    x: str,
    y: str,
    max_lag: str | float,
    seed: int,
    method: Method = "pearson",
    transform: Transform = "auto",
    shifts: int = 999,
) -> LagCorrelation:
    """Correlate two metrics at every lag, entity by entity, and pool.

    Parameters
    ----------
    panel : Panel
    x, y : str
        Metric ids. At positive lags ``x`` comes before ``y``.
    max_lag : duration
        Lags from minus to plus this are searched, such as ``"15m"``.
    seed : int
        Of the shifts; the same seed gives the same answer.
    method : {"pearson", "spearman"}
        ``spearman``: ranks within each entity, taken once over all it has.
    transform : {"auto", "raw", "difference", "prewhiten"}
        ``prewhiten``: differences, and their autoregression taken out. ``auto``: prewhiten, or
        differences where slow parts are left after it. ``raw`` says "does not hold" where trends,
        random walks, counters or a daily rhythm rule the series.
    shifts : int
        Draws of the null: all entities shifted by the same time, never by less than twice
        ``max_lag`` (one cell more), so that no lag searched meets a true pair again.

    Returns
    -------
    LagCorrelation

    Raises
    ------
    UnknownNameError
        A metric that the panel does not hold, with the nearest names.
    UsageError
        x is y; a grid that is not regular; too few shifts that are far enough.
    DataError
        No entity has both metrics.

    Notes
    -----
    p is the share of shifts, the observed one among them, whose largest |r| over all lags reaches
    the observed one. It is about association, not cause: what drives both gives the same picture.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> load = rng.normal(size=(2, 600))
    >>> heat = np.roll(load, 3, axis=1) + rng.normal(size=(2, 600))
    >>> panel = Panel(values=np.stack([load, heat], axis=1), entities=("a", "b"), metrics=("load", "heat"),
    ...               ts_us=np.arange(600) * 60_000_000, step_s=60.0, provenance=Provenance(function="-", inputs="-"))
    >>> found = lag_correlation(panel, x="load", y="heat", max_lag="10m", seed=7)
    >>> found.lag_max_s, found.p == 1 / 549, found.holds
    (180.0, True, True)
    """
    if not isinstance(panel, Panel):
        raise UsageError(
            f"lag_correlation takes a panel, such as wb.panel(store, [{x!r}, {y!r}]); this is a {type(panel).__name__}."
        )
    _check_choices(method, transform)
    rows, values_x, values_y = _both(panel, x, y)
    half = int(parse_duration(max_lag) / panel.step_s + 1e-9)
    rng = spawn(seed, 1)[0]
    search = _Search(half=half, day_cells=_DAY_S / panel.step_s, method=method, shifts=shifts, rng=rng)
    order: tuple[str, ...] = ("prewhiten", "difference") if transform == "auto" else (transform,)
    for name in order:
        used, found = name, search.run(_TRANSFORMS[name](values_x), _TRANSFORMS[name](values_y))
        if found.still.holds:
            break
    parameters = {
        "x": x, "y": y, "max_lag_s": half * panel.step_s, "method": method, "transform": transform, "shifts": shifts,
        "step_s": panel.step_s, "from": format_us(int(panel.ts_us[0])), "to": format_us(int(panel.ts_us[-1])),
        "panel": dict(panel.provenance.parameters),
    }  # fmt: skip
    provenance = Provenance(
        function="wb.lag_correlation",
        inputs=panel.provenance.inputs,
        parameters=parameters,
        seed=seed,
        version=__version__,
    )
    return _label(panel, (x, y), found, rows=rows, method=method, transform=used, provenance=provenance)


def _check_choices(method: str, transform: str) -> None:
    for name, value, known in (
        ("method", method, ("pearson", "spearman")),
        ("transform", transform, ("auto", *_TRANSFORMS)),
    ):
        if value not in known:
            raise UsageError(f"{name}={value!r} is not known; take one of {', '.join(known)}.")


def _both(panel: Panel, x: str, y: str) -> tuple[Ints, Floats, Floats]:
    """Give the entities that have both metrics, and both metrics of them."""
    if x == y:
        raise UsageError(f"x and y are both {x}; a metric always goes with itself.")
    values_x, values_y = panel.metric(x), panel.metric(y)
    spacing = np.diff(panel.ts_us)
    if spacing.size and (spacing != spacing[0]).any():
        raise UsageError("The panel's grid is not regular, so a lag in cells is no lag in time; make it with wb.panel.")
    has_x, has_y = (np.isfinite(values).any(axis=1) for values in (values_x, values_y))
    rows = np.flatnonzero(has_x & has_y)
    if not rows.size:
        raise DataError(
            f"No entity has both: {x} is on {int(has_x.sum())} of the {len(panel.entities)} entities, {y} on "
            f"{int(has_y.sum())}; take metrics of the same kind of entity."
        )
    return rows, values_x[rows], values_y[rows]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Found:
    """What a search over lags gives, in cells."""

    lags: Ints
    entity_r: Floats
    entity_pairs: Ints
    entity_effective: Floats
    r: Floats
    null: ShiftNull
    draws: Ints
    still: Stillness
    half: int
    at: int  # index of the largest |r|; of lag 0 where there is none


@dataclass(frozen=True, eq=False, kw_only=True)
class _Search:
    half: int
    day_cells: float
    method: str
    shifts: int
    rng: np.random.Generator

    def run(self, x: Floats, y: Floats) -> _Found:
        """Correlate at every lag and at every shift."""
        if self.method == "spearman":
            x, y = ranks(x), ranks(y)
        lags = np.arange(-self.half, self.half + 1, dtype=np.int64)
        entity_r, entity_pairs = correlate(x, y, lags)
        r = pool(entity_r, entity_pairs)
        seen = np.asarray((np.isfinite(x) | np.isfinite(y)).any(axis=0))
        kept = kept_cells(seen, self.half)
        draws = far_shifts(kept.size, 2 * self.half + 1, self.shifts, self.rng)
        null = shift_null(x[:, kept], y[:, kept], self.half, draws)
        still = stillness(x, y, null, half=self.half, day_cells=self.day_cells)
        at = int(np.nanargmax(np.abs(r))) if np.isfinite(r).any() else self.half
        return _Found(
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


def _label(
    panel: Panel,
    names: tuple[str, str],
    found: _Found,
    *,
    rows: Ints,
    method: str,
    transform: str,
    provenance: Provenance,
) -> LagCorrelation:
    """Turn cells into seconds and rows into entities."""
    known = bool(np.isfinite(found.r).any())
    peak, low, high = lag_bounds(found.r, found.null.circle, found.half) if known else (0, 0, 0)
    null_low, critical, null_high = _null_levels(found)
    p = add_one_p(float(found.null.largest[0]), found.null.largest[found.draws]) if known else float("nan")
    holds = known and found.still.holds
    step = panel.step_s if known else float("nan")
    return LagCorrelation(
        x=names[0],
        y=names[1],
        lag_s=np.asarray(found.lags * panel.step_s, dtype=np.float64),
        r=found.r,
        null_low=np.full(found.r.size, null_low),
        null_high=np.full(found.r.size, null_high),
        critical=critical,
        p=p,
        holds=holds,
        r_max=float(found.r[found.at]),
        lag_max_s=peak * step,
        lag_low_s=low * step,
        lag_high_s=high * step,
        pairs=int(found.entity_pairs[:, found.at].sum()),
        effective_n=float(np.nansum(found.entity_effective)),
        entities=_entity_table([panel.entities[row] for row in rows], found, step_s=panel.step_s, holds=holds),
        method=method,
        transform=transform,
        stillness=found.still,
        units=(panel.units.get(names[0], ""), panel.units.get(names[1], "")),
        notes=tuple(_notes(panel, names, found, rows)),
        provenance=provenance,
    )


def _null_levels(found: _Found) -> tuple[float, float, float]:
    """Give the 2.5 % point of r at one lag, the 95 % point of the largest, the 97.5 % point of r."""
    one, largest = (values[found.draws] for values in (found.null.circle, found.null.largest))
    one, largest = one[np.isfinite(one)], largest[np.isfinite(largest)]
    if not one.size or not largest.size:
        return float("nan"), float("nan"), float("nan")
    low, high = np.quantile(one, [0.025, 0.975])
    return float(low), float(np.quantile(largest, 1 - ALPHA, method="higher")), float(high)


def _entity_table(names: list[str], found: _Found, *, step_s: float, holds: bool) -> pl.DataFrame:
    from scipy.stats import false_discovery_control

    size = np.where(np.isfinite(found.entity_r), np.abs(found.entity_r), -1.0)
    best, any_r = size.argmax(axis=1), size.max(axis=1, initial=-1.0) >= 0
    p = found.null.entity_p if holds else np.full(len(names), np.nan)
    q = np.full(len(names), np.nan)
    q[np.isfinite(p)] = false_discovery_control(p[np.isfinite(p)]) if np.isfinite(p).any() else []
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
            "q": q,
        }
    )
    return table[np.lexsort((names, -size.max(axis=1, initial=-1.0)))]


def _notes(panel: Panel, names: tuple[str, str], found: _Found, rows: Ints) -> list[str]:
    still, notes = found.still, []
    if still.drift > LARGEST_SHARE:
        notes.append(
            f"Both drift over the whole span: straight lines alone make up to {still.drift:.1f} sd of the null."
        )
    if still.rhythm > LARGEST_SHARE:
        notes.append(f"Both follow the time of day: that alone makes up to {still.rhythm:.1f} sd of the null.")
    if not still.resolution >= LEAST_RESOLUTION:
        period = format_duration(round(still.period * panel.step_s)) if np.isfinite(still.period) else "unknown"
        independent = f"{still.resolution:.1f}" if np.isfinite(still.resolution) else "no"
        notes.append(
            f"Shifted data hold {independent} independent values; their strongest part has a period of {period}."
        )
    slow = max(panel.interval_s.get(name, 0.0) for name in names)
    if slow > panel.step_s:
        notes.append(f"Sampled every {format_duration(slow)}: lags below that are not told.")
    left_out = len(panel.entities) - rows.size
    if left_out:
        notes.append(f"{left_out} of {len(panel.entities)} entities have only one of the two metrics and are left out.")
    return notes
