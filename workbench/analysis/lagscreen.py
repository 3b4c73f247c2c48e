"""Which of many pairs of metrics go together at some lag, the whole family of pairs and lags counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.analysis.lagresult import ALPHA
from workbench.analysis.lagscreenresult import LagScreen
from workbench.analysis.lagsearch import (
    DAY_S,
    TRANSFORMS,
    Found,
    Method,
    Search,
    Transform,
    check_choices,
    check_grid,
    entity_table,
    still_notes,
    transform_order,
)
from workbench.errors import DataError, UsageError
from workbench.kernels.fleetwide import without_fleet
from workbench.kernels.multiplicity import adjusted_p, step_down_max
from workbench.kernels.shifted import lag_bounds
from workbench.kernels.surrogate import add_one_p, spawn
from workbench.model.panel import Panel
from workbench.model.provenance import Provenance
from workbench.timebase import format_us, parse_duration
from workbench.version import __version__

__all__ = ["LagScreen", "lag_screen"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Progress = Callable[[int, int, str], None]
Fdr = Literal["bh", "by"]

#: Entities that must be observed for what they have in common to be taken out.
LEAST_FLEET = 8
_MOST_DRAWS = 20_000_000  # pairs x shifts kept, 160 MB


def lag_screen(  # noqa: PLR0913 -- which pairs, which lags, how searched, how counted
    panel: Panel,
    *,
    x: str | None = None,
    ys: Sequence[str] | None = None,
    max_lag: str | float,
    seed: int,
    method: Method = "pearson",
    transform: Transform = "auto",
    remove: Literal["fleet"] | None = None,
    fdr: Fdr = "by",
    shifts: int = 9999,
    progress: Progress | None = None,
) -> LagScreen:
    """Correlate one metric with many, or all with all, at every lag, and hold the family to account.

    Parameters
    ----------
    panel : Panel
    x : str, optional
        Metric id; it is paired with each of ``ys``. Not given: all pairs among ``ys``.
    ys : sequence of str, optional
        Metric ids. Not given: every metric of the panel.
    max_lag : duration
        Lags from minus to plus this are searched. Positive: the first of a pair comes before the second.
    seed : int
        Of the shifts; the same seed gives the same answer.
    method, transform
        As :func:`workbench.analysis.lag.lag_correlation`; the transform is chosen pair by pair.
    remove : {"fleet"}, optional
        Take the median over entities at each moment out of every metric first, so that what the
        whole fleet does at once (a job's steps, the time of day) makes no pair. Metrics of fewer
        than eight entities keep it, and a note says so.
    fdr : {"by", "bh"}
        q over pairs: Benjamini-Yekutieli, under any dependence, or Benjamini-Hochberg.
    shifts : int
        Draws; one set for all pairs.
    progress : callable, optional
        Called with pairs done, pairs in all, and the pair.

    Returns
    -------
    LagScreen

    Raises
    ------
    UnknownNameError, UsageError, DataError
        As :func:`workbench.analysis.lag.lag_correlation`; also where there is no pair.

    Notes
    -----
    Family-wise p: the largest |r| over lags of each pair, in sd of its own shifts, is compared with
    the largest over all pairs in the same shift (Westfall and Young 1993, step-down). All shifts
    count, the near ones too, so that p is never less than one search over lags in the whole span.
    Pairs whose p does not hold take no part and are told.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> load, other = rng.normal(size=(2, 2, 600))
    >>> heat = np.roll(load, 3, axis=1) + rng.normal(size=(2, 600))
    >>> panel = Panel(values=np.stack([load, heat, other], axis=1), entities=("a", "b"), metrics=("load", "heat", "other"),
    ...               ts_us=np.arange(600) * 60_000_000, step_s=60.0, provenance=Provenance(function="-", inputs="-"))
    >>> found = lag_screen(panel, x="load", max_lag="10m", seed=7)
    >>> found.claims.select("y", "lag_s").rows()
    [('heat', 180.0)]
    """
    _check(panel, method, transform, remove=remove, fdr=fdr)
    pairs = _pairs(panel, x, ys)
    metrics = list(dict.fromkeys(name for pair in pairs for name in pair))
    values, notes = _prepared(panel, metrics, remove)
    half = int(parse_duration(max_lag) / panel.step_s + 1e-9)
    kept_shifts = max(99, min(shifts, _MOST_DRAWS // len(pairs)))
    search = Search(half=half, day_cells=DAY_S / panel.step_s, method=method, shifts=kept_shifts, rng=spawn(seed, 1)[0])
    seen = np.asarray(np.isfinite(np.stack(list(values.values()))).any(axis=(0, 1)))
    screen = _Screen(panel=panel, values=values, search=search, circle=search.circle(seen), transform=transform)
    asked = []
    for done, pair in enumerate(pairs):
        asked.append(screen.ask(pair))
        if progress is not None:
            progress(done + 1, len(pairs), f"{pair[0]} and {pair[1]}")
    parameters = {
        "x": x, "metrics": metrics, "max_lag_s": half * panel.step_s, "method": method, "transform": transform,
        "remove": remove, "fdr": fdr, "shifts": kept_shifts, "step_s": panel.step_s,
        "from": format_us(int(panel.ts_us[0])), "to": format_us(int(panel.ts_us[-1])), "panel": dict(panel.provenance.parameters),
    }  # fmt: skip
    told = Provenance(
        function="wb.lag_screen", inputs=panel.provenance.inputs, parameters=parameters, seed=seed, version=__version__
    )
    return _result(panel, asked, screen=screen, x=x, fdr=fdr, notes=notes, provenance=told)


def _check(panel: Panel, method: str, transform: str, *, remove: str | None, fdr: str) -> None:
    if not isinstance(panel, Panel):
        raise UsageError(f"lag_screen takes a panel, such as wb.panel(store, [...]); this is a {type(panel).__name__}.")
    check_choices(method, transform)
    check_grid(panel)
    if remove not in (None, "fleet"):
        raise UsageError(f"remove={remove!r} is not known; take fleet, or leave it out.")
    if fdr not in ("bh", "by"):
        raise UsageError(f"fdr={fdr!r} is not known; take bh or by.")


def _pairs(panel: Panel, x: str | None, ys: Sequence[str] | None) -> list[tuple[str, str]]:
    if isinstance(ys, str):
        raise UsageError(f"ys is the text {ys!r}; take a list of metrics, such as [{ys!r}].")
    chosen = list(dict.fromkeys(panel.metrics if ys is None else ys))
    for name in [*chosen, *([x] if x is not None else [])]:
        panel.metric(name)
    pairs = list(combinations(chosen, 2)) if x is None else [(x, name) for name in chosen if name != x]
    if not pairs:
        raise UsageError(f"No pair of different metrics: x is {x!r}, ys are {chosen}.")
    return pairs


def _prepared(panel: Panel, metrics: list[str], remove: str | None) -> tuple[dict[str, Floats], list[str]]:
    """Give (entity, time) by metric, what the fleet has in common taken out if that is asked for."""
    values = {name: panel.metric(name) for name in metrics}
    if remove is None:
        return values, []
    few = [name for name in metrics if np.isfinite(values[name]).any(axis=1).sum() < LEAST_FLEET]
    notes = []
    if few:
        notes.append(
            f"Fewer than {LEAST_FLEET} entities have {', '.join(few)}: what they have in common could not be taken out."
        )
    for name in set(metrics) - set(few):
        values[name] = without_fleet(values[name], LEAST_FLEET)
    return values, notes


@dataclass(frozen=True, eq=False, kw_only=True)
class _Pair:
    """One pair of metrics and what was found; None where no entity has both."""

    names: tuple[str, str]
    rows: Ints
    transform: str = ""
    found: Found | None = None

    @property
    def holds(self) -> bool:
        return self.found is not None and self.found.known and self.found.still.holds

    def draws(self, rows: Ints) -> tuple[Floats, Floats]:
        """Give the largest |r| at the observed shift and at ``rows``; and the same in sd of the whole circle.

        The scale comes from every shift, so that no shift is told from another by how it is scaled.
        NaN (nothing to compare) counts as the largest.
        """
        assert self.found is not None
        largest = np.where(np.isfinite(self.found.null.largest), self.found.null.largest, 1.0)
        drawn = np.concatenate([largest[:1], largest[rows]])
        spread = float(largest.std())
        return drawn, (drawn - largest.mean()) / (spread if spread > 0 else 1.0)


class _Screen:
    """Transformed metrics, and the one circle of time that all pairs share."""

    def __init__(
        self, *, panel: Panel, values: dict[str, Floats], search: Search, circle: tuple[Ints, Ints], transform: str
    ) -> None:
        self.panel, self.search, self.circle, self.transform = panel, search, circle, transform
        self._values, self._made = values, dict[tuple[str, str], Floats]()

    def shifts(self) -> Ints:
        """(draw,) int64: shifts of the circle but the observed one, the near ones too; some of them where there are too many.

        The largest |r| of neighbouring shifts is the same as long as one lag is within reach of both.
        Without the near ones an observed peak would be counted once and every other as often as it
        is wide, and p would be too small (measured: .08 at 5 %). With all of them each shift is as
        likely as any other to hold any rank.
        """
        others = np.arange(1, self.circle[0].size, dtype=np.int64)
        if others.size <= self.search.shifts:
            return others
        return np.sort(self.search.rng.choice(others, self.search.shifts, replace=False))

    def ask(self, names: tuple[str, str]) -> _Pair:
        has = [np.isfinite(self._values[name]).any(axis=1) for name in names]
        rows = np.flatnonzero(has[0] & has[1])
        if not rows.size:
            return _Pair(names=names, rows=rows)
        for transform in transform_order(self.transform):
            x, y = (self._transformed(name, transform)[rows] for name in names)
            pair = _Pair(names=names, rows=rows, transform=transform, found=self.search.run(x, y, self.circle))
            if pair.holds:
                break
        return pair

    def _transformed(self, name: str, transform: str) -> Floats:
        """Transform a metric once, however many pairs it is in; only the entities that have it."""
        if (name, transform) not in self._made:
            made = self._values[name].copy()
            has = np.isfinite(made).any(axis=1)
            made[has] = TRANSFORMS[transform](made[has])
            self._made[name, transform] = made
        return self._made[name, transform]


def _result(
    panel: Panel,
    asked: list[_Pair],
    *,
    screen: _Screen,
    x: str | None,
    fdr: str,
    notes: list[str],
    provenance: Provenance,
) -> LagScreen:
    if all(pair.found is None for pair in asked):
        raise DataError("No entity has both metrics of any pair; take metrics of the same kind of entity.")
    rows = screen.shifts()
    p, family = _family(asked, rows)
    q = adjusted_p(p, dependent=fdr == "by")
    table = pl.DataFrame([_row(pair, panel.step_s) for pair in asked], infer_schema_length=None)
    table = table.with_columns(p=pl.Series(p), p_family=pl.Series(family), q=pl.Series(q))
    apart = [pair for pair in asked if pair.found is None]
    if apart:
        notes.append(f"{len(apart)} of {len(asked)} pairs are on no entity together and are not tested.")
    notes += _few(int(np.isfinite(p).sum()), screen.circle[0].size / screen.search.lags, dependent=fdr == "by")
    half = screen.search.half
    order = np.lexsort(
        (np.arange(len(asked)), -np.abs(np.nan_to_num(table["r_max"].to_numpy())), np.nan_to_num(family, nan=2.0))
    )
    return LagScreen(
        x=x,
        lag_s=np.asarray(np.arange(-half, half + 1) * panel.step_s, dtype=np.float64),
        r=np.array([asked[at].found.r if asked[at].found else np.full(2 * half + 1, np.nan) for at in order.tolist()]),
        pairs=table[order],
        entities=_entities(panel, [asked[at] for at in order.tolist()]),
        method=screen.search.method,
        notes=tuple(notes),
        provenance=provenance,
    )  # fmt: skip


def _few(tested: int, searches: float, *, dependent: bool) -> list[str]:
    """Say where the span holds too few searches beside each other for what is asked."""
    if searches < 20:
        span = f"The span is only {searches:.0f} times as long as the lags searched"
        return [f"{span}, so no p gets below {1 / searches:.2g}; take fewer lags or a longer span."]
    least = np.r_[1 / searches, np.ones(max(tested - 1, 0))]
    if tested and np.nanmin(adjusted_p(least, dependent=dependent)) > ALPHA:
        return [
            f"The span cannot bring the q of a single pair among {tested} below .05: go by p_family, which counts all pairs."
        ]
    return []


def _family(asked: list[_Pair], rows: Ints) -> tuple[Floats, Floats]:
    """Give p of each pair, and of each pair among all of them; NaN where p does not hold."""
    p, family = np.full(len(asked), np.nan), np.full(len(asked), np.nan)
    held = [at for at, pair in enumerate(asked) if pair.holds]
    if not held:
        return p, family
    draws, scaled = (np.stack(part, axis=1) for part in zip(*(asked[at].draws(rows) for at in held), strict=True))
    p[held] = [add_one_p(float(column[0]), column[1:]) for column in draws.T]
    family[held] = step_down_max(scaled[0], scaled)
    return p, family


def _row(pair: _Pair, step_s: float) -> dict[str, object]:
    found, nan = pair.found, float("nan")
    row: dict[str, object] = {"x": pair.names[0], "y": pair.names[1], "entities": pair.rows.size}
    if found is None or not found.known:
        why = "no entity has both" if found is None else "never observed together while both varied"
        empty = dict.fromkeys(("r_max", "lag_s", "lag_low_s", "lag_high_s"), nan)
        return row | empty | {"pairs": 0, "effective_n": nan, "transform": pair.transform, "holds": False, "why": why}
    peak, low, high = lag_bounds(found.r, found.null.circle, found.half)
    return row | {
        "r_max": float(found.r[found.at]),
        "lag_s": peak * step_s,
        "lag_low_s": low * step_s,
        "lag_high_s": high * step_s,
        "pairs": int(found.entity_pairs[:, found.at].sum()),
        "effective_n": float(np.nansum(found.entity_effective)),
        "transform": pair.transform,
        "holds": pair.holds,
        "why": "" if pair.holds else " ".join(still_notes(found, step_s)),
    }


def _entities(panel: Panel, asked: list[_Pair]) -> pl.DataFrame:
    tables = []
    for pair in asked:
        if pair.found is not None:
            names = [panel.entities[row] for row in pair.rows.tolist()]
            table = entity_table(names, pair.found, step_s=panel.step_s, holds=pair.holds)
            tables.append(table.select(pl.lit(pair.names[0]).alias("x"), pl.lit(pair.names[1]).alias("y"), pl.all()))
    told = pl.concat(tables)
    return told.with_columns(q=pl.Series(adjusted_p(told["p"].to_numpy(), dependent=False)))
