"""From a store to the fleets that a screen reads, one per scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.errors import NothingToDoError, UnknownNameError
from workbench.kernels.grid import grid_count
from workbench.model.derived import definitions
from workbench.model.incident import Incident
from workbench.model.logtemplates import TEMPLATE
from workbench.model.selector import Selector
from workbench.model.signal import Signal
from workbench.panel.align import Grid, align
from workbench.panel.clockdoubt import clock_doubt_s
from workbench.panel.fleet import Fleet, SignalInfo
from workbench.panel.joined import require_joined
from workbench.panel.place import Place, host_of, places
from workbench.panel.select import metric_rows
from workbench.store.store import Store
from workbench.store.templates import KINDS
from workbench.timebase import MICROS, to_us

__all__ = ["MIN_EVENTS", "fleets", "with_claim"]

#: An event kind seen fewer times than this in the whole store cannot precede anything testably.
MIN_EVENTS = 5
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Reader:
    """Reads one signal of one scope onto the grid."""

    store: Store
    place: Place
    grid: Grid
    facts: pl.DataFrame
    events: pl.DataFrame
    watched: Floats  # (N, cells): 1 where a log of the host was being read, NaN elsewhere
    told: Floats  # likewise, where anything was told of the host: what derived events are found from

    def metric(self, name: str) -> Floats:
        """(N, cells) of a metric; GPU metrics at host scope are the largest over the host's GPUs."""
        fact = self.facts.row(by_predicate=pl.col("metric") == name, named=True)
        rows = metric_rows(self.store, self.facts.filter(pl.col("metric") == name), self.grid)
        owners = rows["entity"].unique().sort().to_list()
        values = align(
            rows, fact["column"], self.grid, entities={who: index for index, who in enumerate(owners)},
            kind=fact["kind"] or "gauge", interval_s=fact["interval_s"] or 0.0, width_bits=fact["width_bits"] or 64,
            saturates=bool(fact["saturates"]),
        )  # fmt: skip
        return self.place.gather(owners, values)

    def event(self, name: str) -> Floats:
        """(N, cells) counts of the events of a written selector."""
        meant = Selector.parse(name)
        found = self.events.filter(pl.col("kind") == meant.kind)
        if meant.codes:
            codes = [code for code in found["code"].unique().to_list() if meant.matches_code(code)]
            found = found.filter(pl.col("code").is_in(codes))
        row, keep = self.place.rows(found["entity"].to_list())
        cell = (found["ts"].dt.timestamp("us").to_numpy()[keep] - self.grid.start_us) // self.grid.step_us
        counts = grid_count(row, cell, (len(self.place.entities), self.grid.cells))
        watched = self.told if _derived_kinds([name]) else self.watched
        return np.where(counts > 0, counts, counts * watched)


@dataclass(frozen=True)
class _Events:
    """All events of a store, those of templates of log lines among them, and which are asked about."""

    frame: pl.DataFrame
    outcome: Selector | None
    words: Mapping[str, str]  # of each template that is a signal, by id

    @classmethod
    def of(cls, store: Store, outcome: Selector | None, named: Sequence[str]) -> _Events:
        columns = ("ts", "ts_low", "ts_high", "entity", "kind", "code")
        frame, found = store.events(None).select(columns), store.templates()
        derived = [store.derived(kind).select(columns) for kind in sorted(_derived_kinds(named))]
        frame = pl.concat([frame, *derived])
        if found.table().is_empty():
            return cls(frame, outcome, {})
        asked = {name.partition(":")[2] for name in named if name.startswith(f"{TEMPLATE}:")}
        words = {
            code: words
            for code, words in found.table().select("template_id", "template").iter_rows()
            if code in asked or code in found.signals
        }
        lines = store.events(TEMPLATE).select(columns)
        if outcome is not None and outcome.kind == TEMPLATE:
            own = lines.filter(
                pl.col("code").is_in([c for c in found.table()["template_id"] if outcome.matches_code(c)])
            )
            free = pl.col("kind").is_in(list(KINDS)) & pl.col("code").is_null()
            own = frame.filter(free).join(own, on=["ts", "entity"], how="semi").unique()
            frame = frame.join(own, on=list(columns), how="anti", nulls_equal=True)
        return cls(pl.concat([frame, lines]), outcome, words)

    def is_signal(self, kind: str, code: str | None) -> bool:
        """Tell whether events of a kind and code are tested: no outcome precedes itself."""
        if kind == TEMPLATE and (code not in self.words or (self.outcome is not None and self.outcome.kind in KINDS)):
            return False
        return self.outcome is None or self.outcome.kind != kind or not self.outcome.matches_code(code)


def fleets(
    store: Store,
    incidents: Sequence[Incident],
    *,
    before_s: float,
    signals: str | Sequence[str] = "*",
    outcome: Selector | None = None,
) -> tuple[Fleet, ...]:
    """Give one fleet per scope at which the incidents can be compared.

    Incidents on GPUs give a ``gpu`` fleet (GPU metrics and events) and a ``host`` fleet (host
    metrics and events). Incidents on hosts give a ``host`` fleet to which GPU metrics contribute
    their largest value over the host's GPUs. Templates of log lines are event signals where they are
    frequent and widespread (:data:`workbench.store.templates.SIGNAL_EVENTS`), or where ``signals`` names them.

    Parameters
    ----------
    store : Store
    incidents : sequence of Incident
    before_s : float
        Window W of the question, seconds; the grid step is W/120 and the grid reaches 3 W + 8 h
        before the first incident and as far after the last, within what the store holds.
    signals : str or sequence of str
        Glob, or names of metrics and written event selectors.
    outcome : Selector, optional
        Events that it means are left out of the event signals: no outcome precedes itself.

    Returns
    -------
    tuple of Fleet
        At least one; a scope without entities or signals is left out.

    Raises
    ------
    NothingToDoError
        No incident names a host, or there is no signal.
    UnknownNameError
        A named signal that is not there.
    JoinError
        Fewer than half of the incidents are on things that the metrics know under that name.
    """
    if not any(incident.host for incident in incidents):
        raise NothingToDoError(
            "None of the incidents names a host, so there is nobody to compare. See workbench incidents, and "
            "state the host of their files with --map."
        )
    require_joined(store, incidents)
    grid = _grid(store, incidents, before_s)
    catalogue = store.catalog()
    wide = catalogue.filter(pl.col("column").is_not_null() & pl.col("kind").is_in(["gauge", "counter", "state"]))
    on_gpus = any("/gpu:" in incident.entity for incident in incidents)
    scopes = ("gpu", "host") if on_gpus else ("host",)
    named = (signals,) if isinstance(signals, str) else tuple(signals)
    events = _Events.of(store, outcome, named)
    made = [_fleet(store, scope, grid, wide, on_gpus=on_gpus, events=events) for scope in scopes]
    clocks = store.clocks()
    doubt = {kind: clock_doubt_s(clocks, incidents, kind) for kind in ("metric", "event")}
    chosen = [_doubted(_choose(fleet, named), doubt) for fleet in made if fleet is not None]
    _refuse_unknown(named, [info.name for fleet in made if fleet is not None for info in fleet.signals])
    kept = tuple(fleet for fleet in chosen if fleet.signals)
    if not kept:
        raise NothingToDoError("The store holds no metric and no event kind that could be tested; see workbench info.")
    return kept


def with_claim(fleet: Fleet, signal: Signal) -> Fleet:
    """Give the fleet with one more signal: a level, rate, change or event as a claim states it.

    A threshold makes an indicator (1 beyond it, 0 not, NaN where not observed).

    Raises
    ------
    UnknownNameError
        Where the fleet holds no such metric or event kind.
    """
    names = [info.name for info in fleet.signals]
    if signal.name not in names:
        raise UnknownNameError("signal", signal.name, names, f"It must be measured at {fleet.scope} scope.")
    base = fleet.signals[names.index(signal.name)]
    claimed = replace(base, name=str(signal))

    def load(name: str) -> Floats:
        return _as_claimed(fleet.load(signal.name), signal, fleet.step_s) if name == claimed.name else fleet.load(name)

    others = tuple(info for info in fleet.signals if info.name != claimed.name)
    return replace(fleet, signals=(*others, claimed), load=load)


def _as_claimed(values: Floats, signal: Signal, step_s: float) -> Floats:
    if signal.kind == "rate":
        values = values * signal.per_s
    elif signal.kind == "change":
        cells = max(1, round(signal.per_s / step_s))
        before = np.full_like(values, np.nan)
        before[:, cells:] = values[:, :-cells]
        values = values - before
    if signal.above is None and signal.below is None:
        return values
    beyond = np.ones(values.shape, bool)
    if signal.above is not None:
        beyond &= values > signal.above
    if signal.below is not None:
        beyond &= values < signal.below
    return np.where(np.isfinite(values), beyond.astype(np.float64), np.nan)


def _grid(store: Store, incidents: Sequence[Incident], before_s: float) -> Grid:
    margin = round((3 * before_s + 8 * 3600) * MICROS)
    low = min(to_us(i.ts_low) for i in incidents) - margin
    high = max(to_us(i.ts_high) for i in incidents) + margin
    known = [low_high for low_high in (store.catalog(), store.event_kinds()) if low_high.height]
    firsts = [to_us(moment) for frame in known for moment in frame["first"].drop_nulls().to_list()]
    lasts = [to_us(moment) for frame in known for moment in frame["last"].drop_nulls().to_list()]
    if firsts:
        low, high = max(low, min(firsts)), min(high, max(lasts) + 1)
    return Grid.covering(low, max(high, low + 1), before_s / 120)


def _fleet(store: Store, scope: str, grid: Grid, wide: pl.DataFrame, *, on_gpus: bool, events: _Events) -> Fleet | None:
    place = places(store, scope)
    if not place.entities:
        return None
    kinds = ["gpu"] if scope == "gpu" else ["host"] if on_gpus else ["host", "gpu"]
    facts = wide.filter(pl.col("entity_kind").is_in(kinds))
    reader = _Reader(store, place, grid, facts, events.frame, *_watched(store, place, grid))
    infos = (*_metric_infos(facts, scope), *_event_infos(events, place, scope))
    job, age = place.jobs(store.jobs(), grid)
    by_name: dict[str, Callable[[str], Floats]] = {
        info.name: reader.metric if info.kind == "metric" else reader.event for info in infos
    }
    return Fleet(
        scope=scope,
        entities=place.entities,
        host=place.host,
        rack=place.rack,
        hosts=place.hosts,
        racks=place.racks,
        ts_us=grid.ts_us,
        step_s=grid.step_us / MICROS,
        job=job,
        job_age_s=age,
        signals=infos,
        load=lambda name: by_name.get(name, reader.event)(name),
        confounders=_confounders(replace(reader, facts=wide), scope),
        inputs=f"{store.path.name}@{store.version}",
    )


def _confounders(reader: _Reader, scope: str) -> dict[str, Floats]:
    """Load and temperature: the best covered metric of that role, of the scope's own kind first."""
    found: dict[str, Floats] = {}
    for role in ("load", "temperature"):
        of_role = reader.facts.filter((pl.col("role") == role) & pl.col("entity_kind").is_in(["gpu", "host"]))
        order = of_role.sort(
            (pl.col("entity_kind") != scope).cast(pl.Int8), -pl.col("rows").cast(pl.Int64), pl.col("metric")
        )
        if scope == "gpu":
            order = order.filter(pl.col("entity_kind") == "gpu")
        for name in order["metric"].to_list():
            values = reader.metric(name)
            if np.isfinite(values).mean() >= 0.5:
                found[role] = values
                break
    return found


def _metric_infos(facts: pl.DataFrame, scope: str) -> list[SignalInfo]:
    return [
        SignalInfo(
            name=fact["metric"],
            kind="metric",
            scope=scope,
            raw_names=tuple(fact["raw_names"] or ()),
            interval_s=fact["interval_s"] or 0.0,
            role=fact["role"] or "",
            drives=tuple(fact["drives"] or ()),
        )
        for fact in facts.sort("metric").iter_rows(named=True)
    ]


def _event_infos(events: _Events, place: Place, scope: str) -> list[SignalInfo]:
    """Each kind with its codes that was seen often enough on entities of this scope, the outcome's own left out."""
    _, keep = place.rows(events.frame["entity"].to_list())
    here = events.frame.filter(pl.Series(keep, dtype=pl.Boolean))
    groups = here.group_by("kind", "code").agg(
        pl.len().alias("count"),
        ((pl.col("ts_high") - pl.col("ts_low")).max().dt.total_microseconds() / 1e6).alias("blur_s"),
    )
    infos = []
    for kind, code, count, blur_s in groups.sort("kind", "code").iter_rows():
        if count < MIN_EVENTS or not events.is_signal(kind, code):
            continue
        name = kind if code is None else f"{kind}:{code}"
        raw = (events.words[code],) if kind == TEMPLATE else (kind,)
        infos.append(SignalInfo(name=name, kind="event", scope=scope, raw_names=raw, uncertainty_s=blur_s or 0.0))
    return infos


def _derived_kinds(named: Sequence[str]) -> set[str]:
    """Give the kinds of derived events that are asked for by name: these are never signals unasked."""
    return {name.partition(":")[0] for name in named} & {definition.id for definition in definitions()}


def _watched(store: Store, place: Place, grid: Grid) -> tuple[Floats, Floats]:
    """1 where logs of the host were being read (and where anything told of it), NaN elsewhere: nothing happened is not nobody looked."""
    watched, told = (np.full((len(place.hosts), grid.cells), np.nan) for _ in range(2))
    names = {name: index for index, name in enumerate(place.hosts)}
    for entity, what, start, end in store.observed().select("entity", "what", "start", "end").iter_rows():
        low = max(0, (to_us(start) - grid.start_us) // grid.step_us)
        high = min(grid.cells, (to_us(end) - grid.start_us) // grid.step_us + 1)
        host = slice(None) if entity is None else names.get(host_of(entity) or "")
        if host is not None:
            told[host, low:high] = 1.0
            if what == "events":
                watched[host, low:high] = 1.0
    return watched[place.host], told[place.host]


def _choose(fleet: Fleet, named: Sequence[str]) -> Fleet:
    kept = tuple(info for info in fleet.signals if any(info.name == n or fnmatchcase(info.name, n) for n in named))
    return replace(fleet, signals=kept)


def _doubted(fleet: Fleet, doubt: Mapping[str, float]) -> Fleet:
    """Add to the uncertainty of each signal what clocks put in doubt."""
    signals = tuple(
        replace(info, uncertainty_s=info.uncertainty_s + doubt["metric" if info.kind == "metric" else "event"])
        for info in fleet.signals
    )
    return replace(fleet, signals=signals)


def _refuse_unknown(named: Sequence[str], known: Sequence[str]) -> None:
    for name in named:
        if not any(name == one or fnmatchcase(one, name) for one in known):
            raise UnknownNameError("signal", name, sorted(set(known)), "See store.catalog() and store.event_kinds().")
