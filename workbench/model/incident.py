"""One outcome event, with who, when, and in which job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import overload

import polars as pl

from workbench.errors import UnknownNameError
from workbench.model.provenance import Provenance
from workbench.model.selector import Selector

__all__ = ["Incident", "Incidents"]


@dataclass(frozen=True, kw_only=True)
class Incident:
    """One outcome event.

    Attributes
    ----------
    id : str
        Stable over re-ingests of the same data: digest of kind, code, entity and time.
    kind, code, message : str
        As in the ``events`` view.
    entity : str
        Canonical id of what it happened to (GPU, host, job ...).
    host, rack, job : str or None
        Canonical ids; None where not known.
    ts, ts_low, ts_high : datetime
        UTC. Recorded time, and the bounds within which it truly happened.
    hosts : tuple of str
        Every host concerned: the nodes of a job; else the host, if it is known.
    count : int
        How many recorded events this incident stands for.
    """

    id: str
    kind: str
    code: str | None
    entity: str
    host: str | None
    rack: str | None
    job: str | None
    ts: datetime
    ts_low: datetime
    ts_high: datetime
    message: str = ""
    hosts: tuple[str, ...] = ()
    count: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Incidents(Sequence[Incident]):
    """The incidents that a selector finds, oldest first.

    Attributes
    ----------
    outcome : Selector
    items : tuple of Incident
    provenance : Provenance
    """

    outcome: Selector
    items: tuple[Incident, ...]
    provenance: Provenance

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Incident: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Incident, ...]: ...
    @overload
    def __getitem__(self, index: str) -> Incident: ...
    def __getitem__(self, index: int | slice | str) -> Incident | tuple[Incident, ...]:
        return self.by_id(index) if isinstance(index, str) else self.items[index]

    def __repr__(self) -> str:
        span = f", {self.items[0].ts:%Y-%m-%d %H:%M} to {self.items[-1].ts:%Y-%m-%d %H:%M} UTC" if self.items else ""
        return f"{len(self)} incidents of {self.outcome}{span}; .table() lists them"

    def _repr_html_(self) -> str:
        from workbench.figures.html import card_html, table_html

        shown = self.table().select("id", "ts", "kind", "code", "entity", "rack", "job")
        return card_html("Incidents", repr(self), parts=[table_html(shown.columns, shown.rows(), limit=30)])

    def __iter__(self) -> Iterator[Incident]:
        return iter(self.items)

    def by_id(self, name: str) -> Incident:
        """Give the incident whose id is, or uniquely starts with, ``name``."""
        found = [item for item in self.items if item.id == name or item.id.startswith(name)]
        if len(found) != 1:
            raise UnknownNameError("incident", name, [item.id for item in self.items], "See workbench incidents.")
        return found[0]

    def table(self) -> pl.DataFrame:
        """One row per incident, times in UTC."""
        fields = ("id", "ts", "ts_low", "ts_high", "kind", "code", "entity", "host", "rack", "job", "message")
        utc = pl.Datetime("us", "UTC")
        schema = {name: utc if name.startswith("ts") else pl.String() for name in fields}
        return pl.DataFrame([{name: getattr(i, name) for name in fields} for i in self.items], schema=schema)
