"""When a metric changed its level, slope or spread, on which entities, and which of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.analysis.changeresult import FLEET, GROUP, ONE, SEVERAL, SHOWN, ChangePoints
from workbench.errors import DataError, UsageError
from workbench.kernels.change import Changes, find_changes, find_spread_changes
from workbench.kernels.multiplicity import adjusted_p
from workbench.kernels.surrogate import add_one_p, spawn
from workbench.kernels.together import chance_together, together
from workbench.model.frames import TS
from workbench.model.panel import Panel
from workbench.model.provenance import Provenance
from workbench.timebase import format_us, parse_duration
from workbench.version import __version__

__all__ = ["ChangePoints", "change_points"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Kind = Literal["auto", "level", "slope", "spread"]
Progress = Callable[[float, float, str], None]

KINDS = ("auto", "level", "slope", "spread")
LEAST_CELLS = 20
DRAWS = 199
_MOST_SHARE = 0.5  # of the entities observed: beyond it the fleet changed
_SCHEMA = {
    "entity": pl.String(), "ts": TS, "ts_low": TS, "ts_high": TS, "kind": pl.String(), "before": pl.Float64(),
    "after": pl.Float64(), "p": pl.Float64(), "q": pl.Float64(), "excursion": pl.Boolean(), "scope": pl.String(),
    "together": pl.Int64(), "p_together": pl.Float64(), "holds": pl.Boolean(), "why": pl.String(),
}  # fmt: skip


def change_points(
    panel: Panel,
    metric: str,
    *,
    seed: int,
    kind: Kind = "auto",
    least: str | float | None = None,
    alpha: float = 0.05,
    groups: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> ChangePoints:
    """Find when a metric changed, entity by entity, and which entities changed together.

    Parameters
    ----------
    panel : Panel
        Counters stand in it as rates already.
    metric : str
    seed : int
        Of the shifts that say how many entities change together by chance.
    kind : {"auto", "level", "slope", "spread"}
        ``auto``: level, and slope on entities whose levels do not explain the series. Counts of
        events a cell are levels, too: a change of their rate.
    least : duration, optional
        A change lasts at least this long; None: 1 % of the series and 5 cells.
    alpha : float
        Chance of any change in a series that has none, 0.0001 to 0.5.
    groups : mapping of entity to group, optional
        Such as its rack; None: its host, where the name of the entity tells one.
    progress : callable, optional
        Called with entities done, entities in all, and a name.

    Returns
    -------
    ChangePoints

    Raises
    ------
    UnknownNameError
        A metric that the panel does not hold.
    UsageError
        A choice that is none.
    DataError
        No entity has 20 cells of it.

    Notes
    -----
    The cheapest partition under a penalty that noise of the same long-run variance needs (see
    :mod:`workbench.kernels.change`). Where a random walk, slow drift or memory explains a series as
    well, its changes are listed with ``holds`` False. A common change is no fault of an entity.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> values = rng.normal(size=(6, 1, 400))
    >>> values[2, 0, 250:] += 3
    >>> panel = Panel(values=values, entities=tuple(f"c1/n{k}" for k in range(6)), metrics=("gpu.power_w",),
    ...               ts_us=np.arange(400) * 60_000_000, step_s=60.0, provenance=Provenance(function="-", inputs="-"))
    >>> found = change_points(panel, "gpu.power_w", seed=7)
    >>> found.believed.select("entity", "scope", "together").rows()
    [('c1/n2', 'one', 1)]
    """
    cells = _checked(panel, (metric, kind, least, alpha))
    panel = _in_order(panel)
    values = panel.metric(metric)
    series: list[Changes | None] = []
    for done, row in enumerate(values, start=1):
        seen = row[np.isfinite(row)]
        series.append(None if seen.size < LEAST_CELLS else _found(seen, kind, cells, alpha))
        if progress is not None:
            progress(done, values.shape[0], panel.entities[done - 1])
    if not any(series):
        raise DataError(f"No entity has {LEAST_CELLS} cells of {metric}; choose a longer span or a finer step.")
    rows = _rows(panel, values, series)
    rows = _with_company(rows, panel, values, groups=groups or _hosts(panel.entities), rng=spawn(seed, 1)[0])
    parameters = {
        "metric": metric, "kind": kind, "least_s": None if least is None else parse_duration(least), "alpha": alpha,
        "step_s": panel.step_s, "from": format_us(int(panel.ts_us[0])), "to": format_us(int(panel.ts_us[-1])),
        "panel": dict(panel.provenance.parameters),
    }  # fmt: skip
    return ChangePoints(
        metric=metric,
        unit=panel.units.get(metric, ""),
        changes=rows.select(list(_SCHEMA)),
        entities=_entities(panel, series),
        shown=_shown(panel, values, series),
        ts_us=panel.ts_us,
        alpha=alpha,
        notes=_notes(panel, values),
        provenance=Provenance(
            function="wb.change_points",
            inputs=panel.provenance.inputs,
            parameters=parameters,
            seed=seed,
            version=__version__,
        ),
    )


def _checked(panel: Panel, asked: tuple[str, str, str | float | None, float]) -> int | None:
    """Refuse what cannot be asked; give the least piece in cells."""
    metric, kind, least, alpha = asked
    if not isinstance(panel, Panel):
        raise UsageError(
            f"change_points takes a panel, such as wb.panel(store, [{metric!r}]); this is a {type(panel).__name__}."
        )
    if kind not in KINDS:
        raise UsageError(f"kind={kind!r} is none; expected one of {', '.join(KINDS)}.")
    if not 0.0001 <= alpha <= 0.5:
        raise UsageError(f"alpha={alpha!r} is no chance of a false alarm; expected 0.0001 to 0.5.")
    return None if least is None else max(5, round(parse_duration(least) / panel.step_s))


def _in_order(panel: Panel) -> Panel:
    """Order the entities by name, so that the draws do not depend on how they came."""
    order = sorted(range(len(panel.entities)), key=lambda index: panel.entities[index])
    return replace(panel, values=panel.values[order], entities=tuple(panel.entities[index] for index in order))


def _found(seen: Floats, kind: str, least: int | None, alpha: float) -> Changes:
    if kind == "spread":
        return find_spread_changes(seen, least=least, alpha=alpha)
    return find_changes(seen, kind=kind, least=least, alpha=alpha)  # type: ignore[arg-type]  # checked before


def _rows(panel: Panel, values: Floats, series: list[Changes | None]) -> pl.DataFrame:
    """One row per change; with ``@low``, ``@high``, ``@at`` (cells of the grid), ``@entity``, ``@sign``."""
    smallest = np.array([np.nan if one is None or not one.holds else one.p.min(initial=1.0) for one in series])
    corrected = adjusted_p(smallest, dependent=False)
    rows: list[dict[str, Any]] = []
    for index, found in enumerate(series):
        if found is None:
            continue
        places = np.flatnonzero(np.isfinite(values[index]))
        for one in range(found.at.size):
            at, low, high = (int(places[edge[one]]) for edge in (found.at, found.low, found.high))
            before, after = _beside(found, one, panel.step_s)
            q = min(1.0, float(found.p[one] * corrected[index] / smallest[index])) if found.holds else np.nan
            rows.append({
                "entity": panel.entities[index], "ts": int(panel.ts_us[at]), "ts_low": int(panel.ts_us[low]),
                "ts_high": int(panel.ts_us[high]), "kind": found.kind, "before": before, "after": after,
                "p": float(found.p[one]) if found.holds else np.nan, "q": q, "excursion": bool(found.returns[one]),
                "holds": found.holds, "why": found.why, "@low": low, "@high": high, "@entity": index,
                "@sign": int(np.sign(after - before)),
            })  # fmt: skip
    hidden = dict.fromkeys(("@low", "@high", "@entity", "@sign"), pl.Int64())
    told = {name: pl.Int64() if kind == TS else kind for name, kind in _SCHEMA.items()}
    known = {name: kind for name, kind in told.items() if name not in ("scope", "together", "p_together")}
    frame = pl.DataFrame(rows, schema={**known, **hidden})
    return frame.with_columns(pl.col("ts", "ts_low", "ts_high").cast(TS), pl.col("p", "q").fill_nan(None))


def _beside(found: Changes, one: int, step_s: float) -> tuple[float, float]:
    """Level, spread, or slope a second, of the pieces before and after a change."""
    at = int(found.at[one])
    if found.kind != "slope":
        return float(found.fit[at - 1]), float(found.fit[at])
    return float(found.fit[at - 1] - found.fit[at - 2]) / step_s, float(found.fit[at + 1] - found.fit[at]) / step_s


def _with_company(
    rows: pl.DataFrame, panel: Panel, values: Floats, *, groups: Mapping[str, str], rng: np.random.Generator
) -> pl.DataFrame:
    """Tell of each change how many entities changed with it, and whether that is a place or the fleet."""
    low, high, sign, entity = (rows[name].to_numpy() for name in ("@low", "@high", "@sign", "@entity"))
    count = together(low, high, sign, entity)
    drawn = chance_together((low, high), sign, entity, size=values.shape[1], draws=DRAWS, rng=rng)
    observed = np.isfinite(values)
    scopes = []
    for place in range(rows.height):
        meets = (low <= high[place]) & (high >= low[place]) & (sign == sign[place])
        members = set(entity[meets].tolist())
        looking = int(observed[:, max(low[place] - 1, 0) : high[place] + 1].any(axis=1).sum())
        scopes.append(_scope(members, looking, panel.entities, groups))
    chance = [add_one_p(float(one), drawn) if one > 1 else None for one in count.tolist()]
    return rows.with_columns(
        scope=pl.Series(scopes, dtype=pl.String), together=pl.Series(count, dtype=pl.Int64),
        p_together=pl.Series(chance, dtype=pl.Float64),
    )  # fmt: skip


def _scope(members: set[int], looking: int, entities: tuple[str, ...], groups: Mapping[str, str]) -> str:
    """Name who changed together: one, several, a group, or the fleet."""
    if len(members) == 1:
        return ONE
    sizes = Counter(groups.get(name, name) for name in entities)
    places = {groups.get(entities[index], entities[index]) for index in members}
    if len(places) == 1 and len(sizes) > 1 and 2 * len(members) >= sizes[next(iter(places))]:
        return GROUP
    return FLEET if len(members) >= 3 and len(members) > _MOST_SHARE * looking else SEVERAL


def _hosts(entities: tuple[str, ...]) -> dict[str, str]:
    """Group ``cluster/host/gpu:...`` by ``cluster/host``."""
    return {name: "/".join(name.split("/")[:2]) for name in entities if name.count("/") >= 2}


def _entities(panel: Panel, series: list[Changes | None]) -> pl.DataFrame:
    rows = []
    for name, found in zip(panel.entities, series, strict=True):
        told = {"entity": name, "kind": None, "changes": 0, "holds": False, "why": "too few cells", "cells": 0}
        if found is not None:
            told |= {
                "kind": found.kind,
                "changes": found.at.size,
                "holds": found.holds,
                "why": found.why,
                "cells": found.fit.size,
            }
        effective = None if found is None else found.effective
        least_s = None if found is None else found.least * panel.step_s
        rows.append({**told, "effective_n": effective, "least_s": least_s})
    schema = {
        "entity": pl.String(), "kind": pl.String(), "changes": pl.Int64(), "holds": pl.Boolean(), "why": pl.String(),
        "cells": pl.Int64(), "effective_n": pl.Float64(), "least_s": pl.Float64(),
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema)


def _shown(panel: Panel, values: Floats, series: list[Changes | None]) -> tuple[tuple[str, Floats, Floats], ...]:
    """Choose the entities with the smallest p, those without changes last."""
    smallest = [
        2.0 if one is None else 1.5 - one.holds if not one.at.size else one.p.min() - one.holds for one in series
    ]
    chosen = np.argsort(smallest, kind="stable")[:SHOWN].tolist()
    result = []
    for index in chosen:
        fit = np.full(values.shape[1], np.nan)
        found = series[index]
        if found is not None and found.kind != "spread":
            fit[np.isfinite(values[index])] = found.fit
        result.append((panel.entities[index], values[index], fit))
    return tuple(result)


def _notes(panel: Panel, values: Floats) -> tuple[str, ...]:
    missing = float(1.0 - np.isfinite(values).mean())
    notes = (
        [f"{missing:.0%} of the cells were not observed; they are left out, and time goes on over them"]
        if missing > 0.05
        else []
    )
    if len(panel.entities) == 1:
        notes.append("one entity alone: whether others changed with it is not known")
    return tuple(notes)
