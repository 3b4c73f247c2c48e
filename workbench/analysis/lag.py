"""Which lag ties two metrics best, beside what chance gives, and whether that p can be believed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.lagresult import LagCorrelation
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
    null_levels,
    still_notes,
    transform_order,
)
from workbench.errors import DataError, UsageError
from workbench.kernels.shifted import lag_bounds
from workbench.kernels.surrogate import add_one_p, spawn
from workbench.model.panel import Panel
from workbench.model.provenance import Provenance
from workbench.timebase import format_duration, format_us, parse_duration
from workbench.version import __version__

__all__ = ["LagCorrelation", "lag_correlation"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    check_choices(method, transform)
    rows, values_x, values_y = _both(panel, x, y)
    half = int(parse_duration(max_lag) / panel.step_s + 1e-9)
    rng = spawn(seed, 1)[0]
    search = Search(half=half, day_cells=DAY_S / panel.step_s, method=method, shifts=shifts, rng=rng)
    for name in transform_order(transform):
        used, found = name, search.run(TRANSFORMS[name](values_x), TRANSFORMS[name](values_y))
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


def _both(panel: Panel, x: str, y: str) -> tuple[Ints, Floats, Floats]:
    """Give the entities that have both metrics, and both metrics of them."""
    if x == y:
        raise UsageError(f"x and y are both {x}; a metric always goes with itself.")
    values_x, values_y = panel.metric(x), panel.metric(y)
    check_grid(panel)
    has_x, has_y = (np.isfinite(values).any(axis=1) for values in (values_x, values_y))
    rows = np.flatnonzero(has_x & has_y)
    if not rows.size:
        raise DataError(
            f"No entity has both: {x} is on {int(has_x.sum())} of the {len(panel.entities)} entities, {y} on "
            f"{int(has_y.sum())}; take metrics of the same kind of entity."
        )
    return rows, values_x[rows], values_y[rows]


def _label(
    panel: Panel,
    names: tuple[str, str],
    found: Found,
    *,
    rows: Ints,
    method: str,
    transform: str,
    provenance: Provenance,
) -> LagCorrelation:
    """Turn cells into seconds and rows into entities."""
    known = found.known
    peak, low, high = lag_bounds(found.r, found.null.circle, found.half) if known else (0, 0, 0)
    null_low, critical, null_high = null_levels(found)
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
        entities=entity_table([panel.entities[row] for row in rows], found, step_s=panel.step_s, holds=holds),
        method=method,
        transform=transform,
        stillness=found.still,
        units=(panel.units.get(names[0], ""), panel.units.get(names[1], "")),
        notes=tuple(_notes(panel, names, found, rows)),
        provenance=provenance,
    )


def _notes(panel: Panel, names: tuple[str, str], found: Found, rows: Ints) -> list[str]:
    notes = still_notes(found, panel.step_s)
    slow = max(panel.interval_s.get(name, 0.0) for name in names)
    if slow > panel.step_s:
        notes.append(f"Sampled every {format_duration(slow)}: lags below that are not told.")
    left_out = len(panel.entities) - rows.size
    if left_out:
        notes.append(f"{left_out} of {len(panel.entities)} entities have only one of the two metrics and are left out.")
    return notes
