"""Where an entity is: its host, its rack, everything that it lies in, at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import polars as pl

from workbench.store.identity import parent_of
from workbench.timebase import to_us

__all__ = ["Places", "kind_of", "named"]

_DEPTH = 8


def kind_of(entity: str) -> str:
    """Tell the kind of an id.

    Examples
    --------
    >>> kind_of("cluster/n1/gpu:GPU-1"), kind_of("cluster/n1"), kind_of("cluster/rack:r7"), kind_of("cluster")
    ('gpu', 'host', 'rack', 'cluster')
    """
    last = entity.rpartition("/")[2]
    if ":" in last:
        return last.partition(":")[0]
    return "host" if "/" in entity else "cluster"


def named(entity: str) -> str:
    """Write an id as ``kind:name``.

    Examples
    --------
    >>> named("cluster/n1"), named("cluster/rack:r7")
    ('host:n1', 'rack:r7')
    """
    last = entity.rpartition("/")[2]
    return last if ":" in last else f"{kind_of(entity)}:{last}"


@dataclass(frozen=True, eq=False)
class Places:
    """The links ``in`` of a store.

    Attributes
    ----------
    above : mapping of id to list of (from_us, to_us, id above)
    """

    above: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, links: pl.DataFrame) -> Places:
        """Take the ``links`` view."""
        above: dict[str, list[tuple[int, int, str]]] = {}
        rows = (
            links.filter(pl.col("relation") == "in")
            .select("entity", "to_entity", "valid_from", "valid_to")
            .unique(maintain_order=True)
        )
        for entity, target, start, end in rows.iter_rows():
            span = (-(2**63) if start is None else to_us(start), 2**63 - 1 if end is None else to_us(end))
            above.setdefault(entity, []).append((*span, target))
        for options in above.values():
            options.sort()
        return cls(above)

    def ancestors(self, entity: str, at_us: int) -> list[str]:
        """Give the entity and everything it lies in at a time, nearest first.

        Examples
        --------
        >>> places = Places({"cluster/n1": [(0, 99, "cluster/rack:r7")]})
        >>> places.ancestors("cluster/n1/gpu:GPU-1", 5)
        ['cluster/n1/gpu:GPU-1', 'cluster/n1', 'cluster/rack:r7', 'cluster']
        """
        found, front = [entity], [entity]
        for _ in range(_DEPTH):
            higher = [target for one in front for target in self._above(one, at_us) if target not in found]
            if not higher:
                break
            front = list(dict.fromkeys(higher))
            found += front
        return sorted(found, key=lambda one: "/" not in one)  # the cluster is last

    def _above(self, entity: str, at_us: int) -> list[str]:
        linked = [target for start, end, target in self.above.get(entity, ()) if start <= at_us < end]
        parent = parent_of(entity)
        return [*([parent] if parent else []), *linked]

    def host(self, entity: str, at_us: int) -> str | None:
        """Give the host that an entity is, or lies in."""
        return next((one for one in self.ancestors(entity, at_us) if kind_of(one) == "host"), None)

    def rack(self, entity: str, at_us: int) -> str | None:
        """Give the rack that an entity lies in at a time; None: not recorded."""
        return next((one for one in self.ancestors(entity, at_us) if kind_of(one) == "rack"), None)

    def matches(self, entity: str, at_us: int, where: str) -> bool:
        """Tell whether a glob fits the id, or the id or ``kind:name`` of anything the entity lies in."""
        return any(fnmatchcase(one, where) or fnmatchcase(named(one), where) for one in self.ancestors(entity, at_us))
