"""Events of many kinds at places, as the analyses of all pairs and of repetition take them, and how a store gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.analysis.occurrences import Places, Rules
from workbench.errors import DataError, NothingToDoError, UsageError
from workbench.kernels.coincidence import coalesce
from workbench.store.identity import parent_of
from workbench.store.places import Places as Links
from workbench.store.places import kind_of
from workbench.timebase import format_us, to_us

if TYPE_CHECKING:
    from workbench.model.selector import Selector
    from workbench.store.store import Store

__all__ = ["MixedEvents", "Same", "looked_at", "mixed_events", "owner", "store_events"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Same = Literal["entity", "host", "rack", "linked"]

_LINK = {"host", "switch"}  # devices that a port, an adapter or a GPU belongs to


@dataclass(frozen=True, eq=False, kw_only=True)
class MixedEvents:
    """Events of many kinds.

    Attributes
    ----------
    names : tuple of str
        Of the kinds, such as ``xid:79``.
    kind, place : (event,) int64
        Index of the kind, and of the place where it happened; -1: not known.
    ts_us, low_us, high_us : (event,) int64
        Recorded time, and the bounds within which it truly happened; UTC microseconds.
    reach : (starts, places) or None
        For each event the places where it may show next, from ``starts[event]`` on: along links.
        None: its own place.
    """

    names: tuple[str, ...]
    kind: Ints
    place: Ints
    ts_us: Ints
    low_us: Ints
    high_us: Ints
    reach: tuple[Ints, Ints] | None = field(default=None)

    def take(self, index: Ints | Bools) -> MixedEvents:
        """Give some of them; the kinds stay."""
        columns = {name: getattr(self, name)[index] for name in ("kind", "place", "ts_us", "low_us", "high_us")}
        return MixedEvents(names=self.names, **columns, reach=self._reach_of(index))

    def _reach_of(self, index: Ints | Bools) -> tuple[Ints, Ints] | None:
        if self.reach is None:
            return None
        starts, places = self.reach
        chosen = np.flatnonzero(index) if index.dtype == bool else index
        parts = [places[starts[at] : starts[at + 1]] for at in chosen.tolist()]
        ends = np.cumsum([0, *(part.size for part in parts)]).astype(np.int64)
        return ends, np.concatenate(parts) if parts else places[:0]

    def spread(self) -> tuple[Ints, Ints]:
        """Give (event, place): every place where each event may show, one row each."""
        if self.reach is None:
            return np.arange(self.kind.size), self.place
        starts, places = self.reach
        return np.repeat(np.arange(self.kind.size), np.diff(starts)), places

    def inside(self, span_us: tuple[int, int]) -> MixedEvents:
        """Give those of known places within the span."""
        kept = self.take((self.place >= 0) & (self.ts_us >= span_us[0]) & (self.ts_us <= span_us[1]))
        if not kept.kind.size:
            raise DataError(
                f"None of the {self.kind.size} events has a known place and lies between {format_us(span_us[0])} and "
                f"{format_us(span_us[1])}."
            )
        return kept

    def bursts(self, gap_us: int) -> MixedEvents:
        """Give the first event of each burst: events of one kind at one place, each near the one before."""
        spots = self.kind * (1 + int(self.place.max(initial=0))) + self.place
        return self.take(coalesce(spots, self.ts_us, gap_us))


def looked_at(store: Store, rules: Rules) -> tuple[int, int]:
    """Give when somebody was looking for events, as stated or as the store knows it.

    Raises
    ------
    NothingToDoError
        Where neither says it.
    """
    if rules.span is not None:
        return to_us(rules.span[0]), to_us(rules.span[1])
    seen = store.observed().filter(pl.col("what").is_in(["events", "jobs"]))
    first, last = seen["start"].min(), seen["end"].max()
    if not isinstance(first, datetime) or not isinstance(last, datetime):
        raise NothingToDoError("The store does not say when anybody looked for events; give Rules(span=(start, end)).")
    return to_us(first), to_us(last)


def store_events(store: Store, kinds: Sequence[Selector | str] | None) -> pl.DataFrame:
    """Give events with a column ``name``: as asked for, or ``kind:code`` of everything there is."""
    if isinstance(kinds, str):
        raise UsageError(f"kinds is the text {kinds!r}; take a list of kinds, such as [{kinds!r}].")
    columns = ["name", "ts", "ts_low", "ts_high", "entity"]
    if kinds is None:
        name = pl.when(pl.col("code").is_null()).then("kind").otherwise(pl.format("{}:{}", "kind", "code"))
        return store.events().with_columns(name=name).select(columns)
    parts = [store.events(one).with_columns(name=pl.lit(str(one))).select(columns) for one in kinds]
    if not parts:
        raise UsageError("kinds is an empty list; leave it out for all kinds of event.")
    return pl.concat(parts)


def mixed_events(store: Store, frame: pl.DataFrame, same: Same, span_us: tuple[int, int]) -> tuple[MixedEvents, Places]:
    """Put the events of a store at places.

    Parameters
    ----------
    store : Store
    frame : polars.DataFrame
        As :func:`store_events` gives it.
    same : {"entity", "host", "rack", "linked"}
        What a place is. ``linked``: the host or switch of the device; an event reaches those at the
        other end of the links of its own device.
    span_us : (start, end)

    Returns
    -------
    MixedEvents, Places
        Every place at risk, also those without any event.
    """
    if same not in ("entity", "host", "rack", "linked"):
        raise UsageError(f"same={same!r} is not known; take entity, host, rack or linked.")
    links = Links.of(store.links())
    entities = frame["entity"].to_list()
    times = [frame[name].dt.timestamp("us").to_numpy().astype(np.int64) for name in ("ts", "ts_low", "ts_high")]
    graph = _Graph.of(store.links()) if same == "linked" else None
    at = _Where(links, same)
    places = [at.place(entity, ts) for entity, ts in zip(entities, times[0].tolist(), strict=True)]
    middle = (span_us[0] + span_us[1]) // 2
    known: set[str | None] = {at.place(entity, middle) for entity in store.entities()["entity"].to_list()}
    if graph is not None:
        known = {*graph.ends}
        places = [place if place in known else None for place in places]
    kinds_at = {kind_of(place) for place in places if place is not None}
    names = tuple(sorted({place for place in {*places, *known} if place is not None and kind_of(place) in kinds_at}))
    index = {name: number for number, name in enumerate(names)}
    labels = {name: number for number, name in enumerate(sorted(set(frame["name"].to_list())))}
    reached = [graph.reach(one, ts) for one, ts in zip(entities, times[0].tolist(), strict=True)] if graph else None
    events = MixedEvents(
        names=tuple(labels),
        kind=np.array([labels[name] for name in frame["name"].to_list()], dtype=np.int64),
        place=np.array([index.get(place or "", -1) for place in places], dtype=np.int64),
        ts_us=times[0],
        low_us=times[1],
        high_us=times[2],
        reach=None if reached is None else _reach(reached, index),
    )
    return events, _at_risk(names, links, same, middle)


def _at_risk(names: tuple[str, ...], links: Links, same: str, at_us: int) -> Places:
    racks = [links.rack(name, at_us) for name in names]
    number = {rack: at for at, rack in enumerate(sorted({rack for rack in racks if rack}))}
    classes = {kind: at for at, kind in enumerate(sorted({kind_of(name) for name in names}))}
    return Places(
        names=names,
        group=np.array([number[rack] if rack else -1 for rack in racks], dtype=np.int64),
        word="device" if same == "linked" else same,
        alike=np.array([classes[kind_of(name)] for name in names], dtype=np.int64),
    )


def _reach(reached: list[set[str]], index: dict[str, int]) -> tuple[Ints, Ints]:
    parts = [sorted(index[name] for name in one if name in index) for one in reached]
    starts = np.cumsum([0, *(len(part) for part in parts)]).astype(np.int64)
    return starts, np.array([place for part in parts for place in part], dtype=np.int64)


class _Where:
    """The place of an entity at a time."""

    def __init__(self, links: Links, same: str) -> None:
        self._links, self._same = links, same

    def place(self, entity: str, at_us: int) -> str | None:
        if self._same == "entity":
            return entity
        if self._same == "linked":
            return owner(entity)
        return self._links.host(entity, at_us) if self._same == "host" else self._links.rack(entity, at_us)


def owner(entity: str) -> str:
    """Give the host or switch that a device belongs to by its id; itself where there is none.

    Examples
    --------
    >>> owner("c1/node01/port:mlx5_0"), owner("c1/switch:leaf1/port:7"), owner("c1/rack:r1")
    ('c1/node01', 'c1/switch:leaf1', 'c1/rack:r1')
    """
    return next((one for one in _chain(entity) if kind_of(one) in _LINK), entity)


def _chain(entity: str) -> list[str]:
    """Give the entity and what it lies in by its id, up to its host or switch."""
    found: list[str] = []
    one: str | None = entity
    while one is not None and (not found or kind_of(found[-1]) not in _LINK):
        found.append(one)
        one = parent_of(one)
    return found if kind_of(found[-1]) in _LINK else found[:1]


class _Graph:
    """What is connected to what, by device, for a time."""

    def __init__(self, ways: dict[str, list[tuple[int, int, str]]]) -> None:
        self._ways = ways
        self.ends = {owner(one) for one in ways} | {far for many in ways.values() for _, _, far in many}

    @classmethod
    def of(cls, links: pl.DataFrame) -> _Graph:
        ways: dict[str, list[tuple[int, int, str]]] = {}
        rows = links.filter(pl.col("relation") == "connected").select("entity", "to_entity", "valid_from", "valid_to")
        for one, other, start, end in rows.iter_rows():
            span = (-(2**63) if start is None else to_us(start), 2**63 - 1 if end is None else to_us(end))
            for near, far in ((one, other), (other, one)):
                for device in _chain(near):
                    if owner(far) != owner(near):
                        ways.setdefault(device, []).append((*span, owner(far)))
        if not ways:
            raise NothingToDoError(
                "The store knows no links between devices (relation 'connected'); take another same=."
            )
        return cls(ways)

    def reach(self, entity: str, at_us: int) -> set[str]:
        return {far for start, end, far in self._ways.get(entity, ()) if start <= at_us < end}
