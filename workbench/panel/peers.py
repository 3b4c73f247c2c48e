"""Who an entity is to be compared with: the others of its job, host, rack, or all of its kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from workbench.errors import UnknownNameError
from workbench.timebase import from_us

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["FEWEST", "GROUPS", "Peers", "host_of", "kind_of", "peers", "rack_of"]

#: Groups in the order in which a default is sought.
GROUPS = ("job", "rack", "host", "all")
#: Fewer peers than this say nothing of what is usual.
FEWEST = 5


@dataclass(frozen=True, kw_only=True)
class Peers:
    """Others of the same kind.

    Attributes
    ----------
    entity : str
    group : str
        ``job``, ``host``, ``rack`` or ``all``.
    others : tuple of str
        Canonical ids, sorted, without the entity itself.
    note : str
        Who they are, in words, or why there are none.
    """

    entity: str
    group: str
    others: tuple[str, ...]
    note: str

    @property
    def enough(self) -> bool:
        """Whether they can tell what is usual."""
        return len(self.others) >= FEWEST


def kind_of(entity: str) -> str:
    """Tell the kind of a canonical id; an id without a kind in its last part is a host.

    Examples
    --------
    >>> kind_of("c1/node07/gpu:GPU-7a"), kind_of("c1/node07"), kind_of("c1/rack:r7")
    ('gpu', 'host', 'rack')
    """
    last = entity.rsplit("/", 1)[-1]
    kind, colon, _ = last.partition(":")
    return kind if colon else "host"


def host_of(entity: str) -> str | None:
    """Give the host that an entity is, or lies in; None for what lies in no host.

    Examples
    --------
    >>> host_of("c1/node07/gpu:GPU-7a"), host_of("c1/node07"), host_of("c1/rack:r7")
    ('c1/node07', 'c1/node07', None)
    """
    if kind_of(entity) == "host":
        return entity
    parent, slash, _ = entity.rpartition("/")
    return parent if slash and "/" in parent and kind_of(parent) == "host" else None


def rack_of(store: Store, host: str, at_us: int) -> str | None:
    """Give the rack that a host stood in at a time, by the recorded links; None: not recorded."""
    return _racks(store, at_us).get(host)


def peers(store: Store, entity: str, at_us: int, group: str | None = None) -> Peers:
    """Find the peers of an entity at a time.

    Parameters
    ----------
    store : Store
    entity : str
        Canonical id.
    at_us : int
        UTC microseconds; jobs and racks are those of that moment.
    group : str or None
        ``job``, ``host``, ``rack`` or ``all``; None: the first of job, rack, host and all that
        holds at least five.

    Raises
    ------
    UnknownNameError
        For a group that is none of these.
    """
    if group is not None and group not in GROUPS:
        raise UnknownNameError("group of peers", group, GROUPS)
    alike = _alike(store, entity)
    if group is not None:
        return _of_group(store, entity, at_us, group=group, alike=alike)
    for candidate in GROUPS:
        found = _of_group(store, entity, at_us, group=candidate, alike=alike)
        if found.enough:
            return found
    return found


def _alike(store: Store, entity: str) -> tuple[str, ...]:
    kind = kind_of(entity)
    known = store.entities().filter(pl.col("kind") == kind)["entity"].unique().to_list()
    return tuple(sorted(name for name in known if name != entity))


def _of_group(store: Store, entity: str, at_us: int, *, group: str, alike: tuple[str, ...]) -> Peers:
    kind, host = kind_of(entity), host_of(entity)
    if group == "all":
        return Peers(entity=entity, group=group, others=alike, note=f"all other {kind} entities")
    if host is None:
        return Peers(entity=entity, group=group, others=(), note=f"a {kind} lies in no {group}")
    if group == "host":
        return Peers(entity=entity, group=group, others=_on(alike, {host}), note=f"others on {host}")
    if group == "job":
        job, hosts = _job_on(store, host, at_us)
        note = f"others of {job}" if job else "no job was recorded here at that moment"
        return Peers(entity=entity, group=group, others=_on(alike, hosts), note=note)
    racks = _racks(store, at_us)
    rack = racks.get(host)
    same = {name for name, place in racks.items() if place == rack} if rack else set()
    note = f"others in {rack}" if rack else "the rack of this host is not recorded"
    return Peers(entity=entity, group=group, others=_on(alike, same), note=note)


def _on(alike: Iterable[str], hosts: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in alike if host_of(name) in hosts)


def _job_on(store: Store, host: str, at_us: int) -> tuple[str | None, set[str]]:
    """Give the latest job that ran on a host at a time, and all of its hosts."""
    at = from_us(at_us)
    running = store.jobs().filter(
        (pl.col("start") <= at)
        & (pl.col("end").is_null() | (pl.col("end") >= at))
        & pl.col("entities").list.contains(host)
    )
    if running.is_empty():
        return None, set()
    row = running.sort("start", "job").row(-1, named=True)
    return str(row["entity"]), set(row["entities"])


def _racks(store: Store, at_us: int) -> dict[str, str]:
    at = from_us(at_us)
    links = store.links().filter(
        (pl.col("relation") == "in")
        & pl.col("to_entity").str.contains("rack:", literal=True)
        & (pl.col("valid_from").is_null() | (pl.col("valid_from") <= at))
        & (pl.col("valid_to").is_null() | (pl.col("valid_to") > at))
    )
    return dict(links.select("entity", "to_entity").iter_rows())
