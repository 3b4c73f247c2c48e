"""What the contract of analyses runs on: one entry buys an analysis the whole contract.

Every case makes noise (nothing to be found), runs its analysis, and says how its input is moved in
time, reordered and thinned, and which numbers of the result must not notice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.signal import lfilter

from workbench.analysis.change import change_points
from workbench.analysis.coincidence import Occurrences, Places, Rules, coincidence_of
from workbench.analysis.exposure import Exposure
from workbench.analysis.lag import lag_correlation
from workbench.analysis.lagscreen import lag_screen
from workbench.analysis.mixedevents import MixedEvents
from workbench.analysis.propagation import propagation_of
from workbench.analysis.recurrence import recurrence_of
from workbench.model.panel import Panel
from workbench.model.provenance import Provenance

T0_US = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z
HOUR_US = 3_600_000_000


@dataclass(frozen=True, kw_only=True)
class AnalysisCase:
    name: str
    noise: Callable[[int], Any]  # seed -> input with nothing in it
    run: Callable[[Any, int], Any]  # input, seed -> result
    arrays: Callable[[Any], Sequence[np.ndarray]]  # everything the analysis might write to
    later: Callable[[Any, int], Any]  # input moved by so many microseconds
    reordered: Callable[[Any, np.ndarray], Any]  # input with its entities in another order
    entities: int
    with_unseen: Callable[[Any], Any]  # input plus what nobody observed
    numbers: Callable[[Any], dict[str, Any]]  # what time labels, order and the unseen must not change
    claims: Callable[[Any], bool]  # whether the result says that something was found


def panel_of(x: np.ndarray, y: np.ndarray, step_s: float = 60.0) -> Panel:
    return Panel(
        values=np.stack([x, y], axis=1),
        entities=tuple(f"c1/node{at:02d}" for at in range(x.shape[0])),
        metrics=("gpu.power_w", "gpu.temperature_c"),
        ts_us=T0_US + np.arange(x.shape[1]) * round(step_s * 1e6),
        step_s=step_s,
        units={"gpu.power_w": "W"},
        provenance=Provenance(function="wb.panel", inputs="noise@1"),
    )


def _lag_noise(seed: int) -> Panel:
    x, y = lfilter([1], [1, -0.8], np.random.default_rng([seed, 1]).normal(size=(2, 3, 400)), axis=2)
    x[1, 50:80], y[2, 300:] = np.nan, np.nan
    return panel_of(x, y)


def _screen_noise(seed: int) -> Panel:
    """Three metrics and nine entities, with something that the whole fleet does in all of them."""
    values = lfilter([1], [1, -0.6], np.random.default_rng([seed, 4]).normal(size=(10, 3, 300)), axis=2)
    values[1, 0, 50:80], values[2, 1, 200:] = np.nan, np.nan
    panel = panel_of(values[1:, 0], values[1:, 1])
    return replace(
        panel, values=values[1:] + values[:1], metrics=("gpu.power_w", "gpu.temperature_c", "gpu.sm_clock_mhz")
    )


def _screen_numbers(result: Any) -> dict[str, Any]:
    words = ("x", "y", "why", "transform")
    return {
        "pairs": result.pairs.sort("x", "y").drop(words).cast(pl.Float64).to_numpy(),
        "entities": result.entities.sort("x", "y", "entity").drop("x", "y", "entity").to_numpy(),
    }


def _change_noise(seed: int) -> Panel:
    x, y = lfilter([1], [1, -0.5], np.random.default_rng([seed, 3]).normal(size=(2, 4, 500)), axis=2)
    x[1, 50:80], x[2, 300:] = np.nan, np.nan
    return panel_of(x, y)


def _change_numbers(result: Any) -> dict[str, Any]:
    hidden = ("entity", "ts", "ts_low", "ts_high", "kind", "scope", "why")
    told = result.entities.filter(pl.col("cells") > 0).sort("entity")
    return {
        "changes": result.changes.drop(hidden).cast(pl.Float64).fill_null(-1).to_numpy(),
        "entities": told.select("changes", "holds", "cells", "effective_n").cast(pl.Float64).to_numpy(),
    }


def _reordered_panel(panel: Panel, order: np.ndarray) -> Panel:
    return replace(panel, values=panel.values[order], entities=tuple(panel.entities[at] for at in order))


def _panel_with_unseen(panel: Panel) -> Panel:
    unseen = np.full((1, *panel.values.shape[1:]), np.nan)
    return replace(panel, values=np.concatenate([panel.values, unseen]), entities=(*panel.entities, "c1/unseen"))


def _lag_numbers(result: Any) -> dict[str, Any]:
    names = ("lag_s", "r", "null_low", "null_high", "critical", "p", "holds", "r_max", "lag_max_s", "lag_low_s")
    names += ("lag_high_s", "pairs", "effective_n", "transform")
    return {name: getattr(result, name) for name in names} | {
        "table": result.entities.sort("entity").drop("entity").to_numpy()
    }


Events = tuple[Occurrences, Occurrences, Places, tuple[int, int]]


def occurrences(name: str, place: np.ndarray, ts_us: np.ndarray, uncertain_us: int = 0) -> Occurrences:
    ts = np.asarray(ts_us, dtype=np.int64)
    return Occurrences(
        name=name, place=np.asarray(place, dtype=np.int64), ts_us=ts, low_us=ts - uncertain_us, high_us=ts
    )


def _event_noise(seed: int) -> Events:
    rng, span = np.random.default_rng([seed, 2]), 4 * 24 * HOUR_US
    places = Places(names=tuple(f"c1/node{at:02d}" for at in range(24)), group=np.arange(24) // 8, word="host")
    a, b = (
        occurrences(name, rng.integers(0, 24, count), T0_US + rng.integers(0, span, count))
        for name, count in (("aer", 300), ("xid:79", 40))
    )
    return a, b, places, (T0_US, T0_US + span)


def _moved_events(events: Events, by_us: int) -> Events:
    a, b = (
        replace(one, ts_us=one.ts_us + by_us, low_us=one.low_us + by_us, high_us=one.high_us + by_us)
        for one in events[:2]
    )
    return a, b, events[2], (events[3][0] + by_us, events[3][1] + by_us)


def _reordered_events(events: Events, order: np.ndarray) -> Events:
    new = np.argsort(order)
    a, b = (replace(one, place=new[one.place]) for one in events[:2])
    names = tuple(events[2].names[at] for at in order)
    return a, b, replace(events[2], names=names, group=events[2].group[order]), events[3]


def _events_with_unseen(events: Events) -> Events:
    def extra(one: Occurrences) -> Occurrences:
        columns = {name: np.append(getattr(one, name), T0_US) for name in ("ts_us", "low_us", "high_us")}
        return replace(one, place=np.append(one.place, -1), **columns)

    return extra(events[0]), extra(events[1]), events[2], events[3]


def _coincidence_numbers(result: Any) -> dict[str, Any]:
    names = (
        "p_shift",
        "p_trigger",
        "p_matched",
        "p_naive",
        "matched_expected",
        "followed",
        "lead_s",
        "holds",
        "shift_draws",
    )
    rates = {
        f"{name}.{part}": getattr(getattr(result, name), part)
        for name in ("precursor", "trigger", "cases")
        for part in ("count", "of")
    }
    return (
        {name: getattr(result, name) for name in names}
        | rates
        | {"table": result.by_place.sort("place").drop("place").to_numpy()}
    )


Mixed = tuple[MixedEvents, Places, tuple[int, int]]


def _mixed_noise(seed: int) -> Mixed:
    rng, span = np.random.default_rng([seed, 5]), 4 * 24 * HOUR_US
    ts = T0_US + rng.integers(0, span, 240)
    events = MixedEvents(
        names=("aer", "link:down", "nfs", "xid:79"),
        kind=rng.integers(0, 4, 240),
        place=rng.integers(0, 12, 240),
        ts_us=ts,
        low_us=ts,
        high_us=ts,
    )
    places = Places(names=tuple(f"c1/node{at:02d}" for at in range(12)), group=np.arange(12) // 4, word="host")
    return events, places, (T0_US, T0_US + span)


def _moved_mixed(given: Mixed, by_us: int) -> Mixed:
    columns = {name: getattr(given[0], name) + by_us for name in ("ts_us", "low_us", "high_us")}
    return replace(given[0], **columns), given[1], (given[2][0] + by_us, given[2][1] + by_us)


def _reordered_mixed(given: Mixed, order: np.ndarray) -> Mixed:
    names = tuple(given[1].names[at] for at in order)
    places = replace(given[1], names=names, group=given[1].group[order])
    return replace(given[0], place=np.argsort(order)[given[0].place]), places, given[2]


def _mixed_with_unseen(given: Mixed) -> Mixed:
    more = {name: np.append(getattr(given[0], name), T0_US) for name in ("ts_us", "low_us", "high_us")}
    return replace(given[0], kind=np.append(given[0].kind, 0), place=np.append(given[0].place, -1), **more), *given[1:]


def _propagation_numbers(result: Any) -> dict[str, Any]:
    table = result.pairs.sort("a", "b").drop("a", "b").cast(pl.Float64).to_numpy()
    return {"pairs": table, "tested": result.tested, "kinds": result.kinds}


Failures = tuple[Occurrences, Places, Exposure, tuple[int, int]]


def _failure_noise(seed: int) -> Failures:
    """Fifty failures of forty hosts that all fail alike; half of them came late."""
    rng, span = np.random.default_rng([seed, 6]), 60 * 24 * HOUR_US
    came = np.where(np.arange(40) < 20, 0, span // 2)
    ts = rng.integers(0, span, 50)
    place = np.where(ts >= span // 2, rng.integers(0, 40, 50), rng.integers(0, 20, 50))
    places = Places(names=tuple(f"c1/node{at:02d}" for at in range(40)), group=np.arange(40) // 4, word="host")
    exposure = Exposure(place=np.arange(40), start_us=T0_US + came, end_us=np.full(40, T0_US + span))
    return occurrences("xid:79", place, T0_US + ts), places, exposure, (T0_US, T0_US + span)


def _moved_failures(given: Failures, by_us: int) -> Failures:
    failures = _moved_events((given[0], given[0], given[1], given[3]), by_us)
    exposure = replace(given[2], start_us=given[2].start_us + by_us, end_us=given[2].end_us + by_us)
    return failures[0], given[1], exposure, failures[3]


def _reordered_failures(given: Failures, order: np.ndarray) -> Failures:
    new, names = np.argsort(order), tuple(given[1].names[at] for at in order)
    failures, exposure = (replace(one, place=new[one.place]) for one in (given[0], given[2]))
    return failures, replace(given[1], names=names, group=given[1].group[order]), exposure, given[3]


def _failures_with_unseen(given: Failures) -> Failures:
    """A host of which nothing is known, and a failure that nobody can place."""
    places = replace(given[1], names=(*given[1].names, "c1/unseen"), group=np.append(given[1].group, -1))
    more = {name: np.append(getattr(given[0], name), T0_US) for name in ("ts_us", "low_us", "high_us")}
    return replace(given[0], place=np.append(given[0].place, -1), **more), places, *given[2:]


def _recurrence_numbers(result: Any) -> dict[str, Any]:
    names = ("failures", "episodes", "places", "pairs", "draws", "p")
    return {name: getattr(result, name) for name in names} | {
        "gaps": result.gaps.cast(pl.Float64).to_numpy(),
        "lemons": result.lemons.sort("place").drop("place").cast(pl.Float64).to_numpy(),
    }


ANALYSES = (
    AnalysisCase(
        name="lag_correlation",
        noise=_lag_noise,
        run=lambda panel, seed: lag_correlation(panel, x="gpu.power_w", y="gpu.temperature_c", max_lag="8m", seed=seed),
        arrays=lambda panel: [panel.values, panel.ts_us],
        later=lambda panel, by_us: replace(panel, ts_us=panel.ts_us + by_us),
        reordered=_reordered_panel,
        entities=3,
        with_unseen=_panel_with_unseen,
        numbers=_lag_numbers,
        claims=lambda result: bool(result.holds and result.p <= 0.05),
    ),
    AnalysisCase(
        name="lag_screen",
        noise=_screen_noise,
        run=lambda panel, seed: lag_screen(panel, max_lag="5m", seed=seed, remove="fleet", shifts=199),
        arrays=lambda panel: [panel.values, panel.ts_us],
        later=lambda panel, by_us: replace(panel, ts_us=panel.ts_us + by_us),
        reordered=_reordered_panel,
        entities=9,
        with_unseen=_panel_with_unseen,
        numbers=_screen_numbers,
        claims=lambda result: result.claims.height > 0,
    ),
    AnalysisCase(
        name="change_points",
        noise=_change_noise,
        run=lambda panel, seed: change_points(panel, "gpu.power_w", seed=seed),
        arrays=lambda panel: [panel.values, panel.ts_us],
        later=lambda panel, by_us: replace(panel, ts_us=panel.ts_us + by_us),
        reordered=_reordered_panel,
        entities=4,
        with_unseen=_panel_with_unseen,
        numbers=_change_numbers,
        claims=lambda result: bool((result.believed["q"] <= 0.05).any()),
    ),
    AnalysisCase(
        name="coincidence",
        noise=_event_noise,
        run=lambda events, seed: coincidence_of(
            *events[:3], span_us=events[3], within_s=3600.0, seed=seed, rules=Rules(shifts=199)
        ),
        arrays=lambda events: [events[0].ts_us, events[0].place, events[1].ts_us, events[1].place, events[2].group],
        later=_moved_events,
        reordered=_reordered_events,
        entities=24,
        with_unseen=_events_with_unseen,
        numbers=_coincidence_numbers,
        claims=lambda result: result.holds,
    ),
    AnalysisCase(
        name="propagation",
        noise=_mixed_noise,
        run=lambda given, seed: propagation_of(
            *given[:2], span_us=given[2], within_s=3600.0, seed=seed, rules=Rules(shifts=199)
        ),
        arrays=lambda given: [given[0].ts_us, given[0].place, given[0].kind, given[1].group],
        later=_moved_mixed,
        reordered=_reordered_mixed,
        entities=12,
        with_unseen=_mixed_with_unseen,
        numbers=_propagation_numbers,
        claims=lambda result: result.holding.height > 0,
    ),
    AnalysisCase(
        name="recurrence",
        noise=_failure_noise,
        run=lambda given, seed: recurrence_of(
            *given[:2], exposure=given[2], span_us=given[3], seed=seed, rules=Rules(shifts=199)
        ),
        arrays=lambda given: [given[0].ts_us, given[0].place, given[1].group, given[2].place, given[2].start_us],
        later=_moved_failures,
        reordered=_reordered_failures,
        entities=40,
        with_unseen=_failures_with_unseen,
        numbers=_recurrence_numbers,
        claims=lambda result: result.holds,
    ),
)
