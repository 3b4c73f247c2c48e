"""Events as they were recorded, for questions of seconds: when, where, by which clock, and who was looking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.errors import NothingToDoError
from workbench.model.selector import Selector
from workbench.panel.fleet import SignalInfo
from workbench.panel.load import MIN_EVENTS
from workbench.panel.peers import host_of, kind_of
from workbench.store.clocks import readers_of
from workbench.store.store import Store
from workbench.timebase import to_us

__all__ = ["OS", "SecondsView", "seconds"]

OS, BMC = "os", "bmc"
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class SecondsView:
    """Events of every kind but the outcome.

    Attributes
    ----------
    signals : tuple of SignalInfo
        Kinds (with code), ``scope`` being what most of them happened to.
    entities : tuple of str
    kind, entity : (event,) int64
        Index of the kind and of the entity.
    ts_us, low_us, high_us : (event,) int64
        As recorded, and the bounds within which it truly happened.
    clocks : tuple of set of str
        For each kind the clocks that stamped it: ``os`` (of its host), ``bmc``, or the reader of a
        source that is no host's (one scheduler's log is one clock).
    outcome_clocks : frozenset of str
    doubt_s : mapping of (clock, clock) to float
        What is known of how far two clocks of one host differ; missing: nothing is known.
    watched : mapping of host to stretches
        When events of a host were being read, (start, end) in microseconds; "" of everybody.
    inputs : str
    """

    signals: tuple[SignalInfo, ...]
    entities: tuple[str, ...]
    kind: Ints
    entity: Ints
    ts_us: Ints
    low_us: Ints
    high_us: Ints
    clocks: tuple[frozenset[str], ...]
    outcome_clocks: frozenset[str]
    doubt_s: Mapping[tuple[str, str], float] = field(default_factory=dict)
    watched: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    inputs: str = ""

    def between_s(self, kind: int) -> float:
        """Give how far the clock of a kind and that of the outcome may differ, seconds; NaN: not known.

        One clock on one host puts its own records in order whatever it shows: 0.
        """
        ours, theirs = self.clocks[kind], self.outcome_clocks
        if len(ours) == len(theirs) == 1 and ours == theirs:
            return 0.0
        pairs = [(one, other) for one in ours for other in theirs if one != other]
        known = [self.doubt_s.get((one, other), self.doubt_s.get((other, one), float("nan"))) for one, other in pairs]
        return float(np.max(known)) if known else float("nan")

    def looked(self, host: str, at_us: int) -> bool:
        """Whether events of a host were being read at a moment."""
        stretches = (*self.watched.get(host, ()), *self.watched.get("", ()))
        return any(start <= at_us <= end for start, end in stretches)


def seconds(store: Store, outcome: Selector) -> SecondsView:
    """Give every kind of event of a store that was seen five times or more, the outcome left out.

    Parameters
    ----------
    store : Store
    outcome : Selector
        No outcome precedes itself.

    Raises
    ------
    NothingToDoError
        There is no other kind of event.
    """
    clock = pl.lit(OS)
    readers = store.frame("select distinct source, reader from files")
    clock = (
        pl.when(pl.col("reader").is_in(readers_of(BMC)))
        .then(pl.lit(BMC))
        .when(pl.col("reader").is_in(readers_of("elsewhere")))
        .then(pl.col("reader"))
        .otherwise(clock)
    )
    name = pl.when(pl.col("code").is_null()).then("kind").otherwise(pl.format("{}:{}", "kind", "code"))
    events = store.events(None).join(readers, on="source", how="left").with_columns(clock=clock, name=name)
    own = (pl.col("kind") == outcome.kind) & pl.Series(
        [outcome.matches_code(code) for code in events["code"].to_list()], dtype=pl.Boolean
    )
    mine = events.filter(own)
    others = events.filter(~own & (pl.len().over("name") >= MIN_EVENTS) & pl.col("entity").is_not_null())
    if others.is_empty():
        raise NothingToDoError(f"The store holds no kind of event beside {outcome} that happened {MIN_EVENTS} times.")
    entities = tuple(others["entity"].unique().sort().to_list())
    names = tuple(others["name"].unique().sort().to_list())
    groups = {key[0]: group for key, group in others.group_by("name")}
    return SecondsView(
        signals=tuple(
            SignalInfo(name=one, kind="event", scope=_scope(groups[one]), raw_names=(groups[one]["kind"][0],))
            for one in names
        ),
        entities=entities,
        kind=_index(others["name"], names),
        entity=_index(others["entity"], entities),
        ts_us=_micros(others["ts"]),
        low_us=_micros(others["ts_low"]),
        high_us=_micros(others["ts_high"]),
        clocks=tuple(frozenset(groups[one]["clock"].unique().to_list()) for one in names),
        outcome_clocks=frozenset(mine["clock"].unique().to_list()),
        doubt_s=_doubt(store.clocks()),
        watched=_watched(store),
        inputs=f"{store.path.name}@{store.version}",
    )


def _index(values: pl.Series, names: tuple[str, ...]) -> Ints:
    place = {name: at for at, name in enumerate(names)}
    return values.replace_strict(place, return_dtype=pl.Int64).to_numpy().astype(np.int64)


def _micros(values: pl.Series) -> Ints:
    return values.dt.timestamp("us").to_numpy().astype(np.int64)


def _scope(group: pl.DataFrame) -> str:
    kinds = pl.Series([kind_of(one) for one in group["entity"].to_list()]).value_counts(sort=True, name="n")
    return str(kinds.sort("n", kinds.columns[0], descending=[True, False])[kinds.columns[0]][0])


def _doubt(clocks: pl.DataFrame) -> dict[tuple[str, str], float]:
    """Largest bound over the hosts, of clocks of one host that were compared."""
    found: dict[tuple[str, str], float] = {}
    for clock, against, low, high in clocks.select("clock", "against", "low_s", "high_s").iter_rows():
        if (clock, against) == (BMC, OS):
            found[clock, against] = max(found.get((clock, against), 0.0), abs(low), abs(high))
    return found


def _watched(store: Store) -> dict[str, tuple[tuple[int, int], ...]]:
    stretches: dict[str, list[tuple[int, int]]] = {}
    rows = store.observed().filter(pl.col("what") == "events").select("entity", "start", "end")
    for entity, start, end in rows.iter_rows():
        host = "" if entity is None else host_of(entity) or entity
        stretches.setdefault(host, []).append((to_us(start), to_us(end)))
    return {host: tuple(sorted(found)) for host, found in stretches.items()}
