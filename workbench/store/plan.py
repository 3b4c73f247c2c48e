"""Who and what the files of one ingest step speak of: entities, columns, and how to get there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.model.context import Context
from workbench.store.columns import Columns, Placement, RawName
from workbench.store.identity import Identity, Resolved, Who
from workbench.store.look import Look
from workbench.store.stage import Stage

__all__ = ["Item", "Lookup", "Plan"]


@dataclass
class Item:
    """One file of an ingest step, read and waiting to be committed.

    ``owner`` is the id that rows summing up the file carry: its own where it may be read again
    under another context and replaced, null where it never will. ``supersedes`` are the ids of
    files in the store that this one begins with.
    """

    path: Path
    shown: str
    digest: str
    source: str
    size: int
    context: Context
    stage: Stage
    reader: str = ""
    rule: str = ""
    confidence: float = 0.0
    status: str = "loaded"
    reason: str = ""
    repeated: int = 0
    misfits: int = 0
    hostless: int = 0
    entities: int = 0
    look: Look | None = None
    supersedes: tuple[str, ...] = ()
    sentinels: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def owner(self) -> str | None:
        """Id for rows that sum up this file."""
        again = self.stage.curable or self.hostless or self.context != Context()
        return self.source if again else None

    def absences(self) -> dict[str, int]:
        """Count cells without a number, by metric and reason: those that the reader told, and sentinels."""
        told = Counter(self.stage.absences())
        told.update({f"{metric}: {reason}": count for (metric, reason), count in self.sentinels.items()})
        return dict(told.most_common())

    @property
    def cluster(self) -> str:
        """Name of the cluster that the file is of."""
        return self.context.cluster or "cluster"


@dataclass(eq=False)
class Lookup:
    """Arrays that lead from the numbers of one file to those of the step.

    Attributes
    ----------
    entity : (who,) int32
    spans : list of (who, from_us, to_us, entity)
        Times in which a name stands for another entity.
    column : (name,) int32
        Number in ``Plan.placements``.
    factor, offset : (name,) float64
    whole : (name,) int64
        Factor for exact integers; 0: the conversion leaves none.
    absent : list of (name, value, reason)
    label : (label,) int32
        Number in ``Plan.labels``.
    """

    entity: NDArray[np.int32]
    spans: list[tuple[int, int, int, int]]
    column: NDArray[np.int32]
    factor: NDArray[np.float64]
    offset: NDArray[np.float64]
    whole: NDArray[np.int64]
    absent: list[tuple[int, float, str]]
    label: NDArray[np.int32]


class Plan:
    """Resolves the names of one ingest step.

    Parameters
    ----------
    items : sequence of Item
    aliases, metrics : polars.DataFrame
        Of the store as it is.

    Attributes
    ----------
    columns : Columns
    placements : list of Placement
    labels : list of str
    entities : list of Resolved
        Without ``spans``; in order of appearance.
    lookups : list of Lookup
        One per item.
    owners : dict of entity to set
        Which files speak of it: the owners of items.
    """

    def __init__(self, items: Sequence[Item], *, aliases: pl.DataFrame, metrics: pl.DataFrame) -> None:
        self.items = items
        self.columns = Columns(metrics)
        self.labels: list[str] = []
        self.entities: list[Resolved] = []
        self._entity_number: dict[str, int] = {}
        self._label_number: dict[str, int] = {}
        self._ranked: tuple[NDArray[np.int32], list[str]] | None = None
        self.owners: dict[str, set[str | None]] = {}
        self._resolved: dict[tuple[str, Who], Resolved] = {}
        clusters = sorted({item.cluster for item in items})
        self.identities = {name: Identity.of(aliases.filter(pl.col("cluster") == name), name) for name in clusters}
        for item in items:
            for rows in item.stage.rows_of["aliases"].frames():
                self.identities[item.cluster].learn(rows, item.owner)
        placed = self.columns.place({raw for item in items for raw in _raw_names(item)})
        self.placements: list[Placement] = list(placed.values())
        numbers = {raw: number for number, raw in enumerate(placed)}
        self.lookups = [self._lookup(item, numbers) for item in items]

    def resolve(self, item: Item, who: Who) -> Resolved:
        """Give the entity that a file means by a name."""
        key = (item.cluster, who)
        if key not in self._resolved:
            self._resolved[key] = self.identities[item.cluster].resolve(who)
        found = self._resolved[key]
        self._number(found)
        for entity in (found.entity, *(span[2] for span in found.spans), *([found.host] if found.host else [])):
            self.owners.setdefault(entity, set()).add(item.owner)
        return found

    @property
    def learned(self) -> list[dict[str, object]]:
        """Rows for the ``aliases`` table."""
        return [row for identity in self.identities.values() for row in identity.learned]

    @property
    def notes(self) -> list[str]:
        """What could not be told apart."""
        told = [note for identity in self.identities.values() for note in identity.notes]
        return list(dict.fromkeys([*told, *self.columns.notes]))

    def ranked(self) -> tuple[NDArray[np.int32], list[str]]:
        """Give the place of each entity in the order of ids, and the ids in that order."""
        if self._ranked is None or len(self._ranked[1]) != len(self.entities):
            ids = [entity.entity for entity in self.entities]
            order = sorted(range(len(ids)), key=ids.__getitem__)
            rank = np.empty(len(ids), np.int32)
            rank[order] = np.arange(len(ids), dtype=np.int32)
            self._ranked = rank, [ids[number] for number in order]
        return self._ranked

    def _number(self, found: Resolved) -> int:
        for entity in (found.entity, *(span[2] for span in found.spans)):
            if entity not in self._entity_number:
                self._entity_number[entity] = len(self.entities)
                name = found.name if entity == found.entity else entity.rpartition(":")[2]
                stable = found.stable if entity == found.entity else True
                self.entities.append(Resolved(entity, found.kind, found.host, name, stable))
        if found.host is not None and found.host not in self._entity_number:
            self._entity_number[found.host] = len(self.entities)
            self.entities.append(Resolved(found.host, "host", found.host, found.host.rpartition("/")[2]))
        return self._entity_number[found.entity]

    def _lookup(self, item: Item, numbers: dict[RawName, int]) -> Lookup:
        stage = item.stage
        spans, entity = [], []
        for who, number in stage.who.items():
            found = self.resolve(item, who)
            entity.append(self._entity_number[found.entity])
            spans += [(number, start, end, self._entity_number[target]) for start, end, target in found.spans]
        column = [numbers[raw] for raw in _raw_names(item)]
        steps = [self.placements[number].conversion for number in column]
        absent = [
            (name, value, reason)
            for name, number in enumerate(column)
            for value, reason in self.placements[number].column.metric.absent.items()
        ]
        label = [self._label_number.setdefault(text, len(self._label_number)) for text in stage.labels]
        self.labels = list(self._label_number)
        return Lookup(
            entity=np.array(entity, np.int32),
            spans=spans,
            column=np.array(column, np.int32),
            factor=np.array([step.factor for step in steps], np.float64),
            offset=np.array([step.offset for step in steps], np.float64),
            whole=np.array([int(step.factor) if step.exact else 0 for step in steps], np.int64),
            absent=absent,
            label=np.array(label, np.int32),
        )


def _raw_names(item: Item) -> list[RawName]:
    """Give the metrics of a file, in the order of their numbers."""
    return [
        RawName(
            route=route,
            entity_kind=entity_kind,
            name=name,
            stated_kind=kind,
            unit=unit,
            whole=number not in item.stage.not_whole,
        )
        for (name, kind, unit, entity_kind, route), number in item.stage.names.items()
    ]
