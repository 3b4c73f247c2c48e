"""Where entities stand: which host, which rack, which job at which moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.panel.align import Grid
from workbench.store.store import Store
from workbench.timebase import MICROS, to_us

__all__ = ["Place", "host_of", "places"]

Ints = NDArray[np.int64]


def host_of(entity: str) -> str | None:
    """Give the host that an entity is or belongs to; None for racks, jobs, switches.

    Examples
    --------
    >>> host_of("c1/node07/gpu:GPU-1"), host_of("c1/node07"), host_of("c1/rack:r7")
    ('c1/node07', 'c1/node07', None)
    """
    parts = entity.split("/")
    return "/".join(parts[:2]) if len(parts) > 1 and ":" not in parts[1] else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Place:
    """Entities of one scope.

    Attributes
    ----------
    scope : str
    entities, hosts, racks : tuple of str
    host, rack : (N,) int64
        Index into ``hosts`` and ``racks``; -1: not known.
    """

    scope: str
    entities: tuple[str, ...]
    hosts: tuple[str, ...]
    racks: tuple[str, ...]
    host: Ints
    rack: Ints

    def rows(self, ids: Sequence[str | None]) -> tuple[Ints, NDArray[np.bool_]]:
        """Tell which entity of this scope each id means: itself, or at host scope its host.

        Returns
        -------
        row : (kept,) int64
        kept : (len(ids),) bool
        """
        index = {name: position for position, name in enumerate(self.entities)}
        found = {name: index.get(self._here(name), -1) for name in {i for i in ids if i is not None}}
        row = np.array([-1 if name is None else found[name] for name in ids], dtype=np.int64)
        return row[row >= 0], row >= 0

    def _here(self, entity: str) -> str:
        return (host_of(entity) or "") if self.scope == "host" else entity

    def gather(self, owners: Sequence[str], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put (owner, cell) rows where they belong; several owners of one entity give their largest.

        Returns
        -------
        (N, cells) float64
            NaN: not observed.
        """
        row, kept = self.rows(owners)
        out = np.full((len(self.entities), values.shape[1]), np.nan)
        for position, source in zip(row.tolist(), np.flatnonzero(kept).tolist(), strict=True):
            out[position] = np.fmax(out[position], values[source])
        return out

    def jobs(self, jobs: pl.DataFrame, grid: Grid) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Give the job on every entity in every cell, and its age at the left edge of the cell.

        Returns
        -------
        job : (N, cells) int32
            Row number of the job; -1: none known.
        age_s : (N, cells) float32
            Seconds since its start; NaN where none is known.
        """
        job = np.full((len(self.hosts), grid.cells), -1, np.int32)
        start = np.full(job.shape, np.nan, np.float32)
        names = {name: position for position, name in enumerate(self.hosts)}
        known = jobs.filter(pl.col("start").is_not_null()).sort("start")
        for number, (begin, end, members) in enumerate(known.select("start", "end", "entities").iter_rows()):
            low = max(0, -(-(to_us(begin) - grid.start_us) // grid.step_us))
            high = grid.cells if end is None else min(grid.cells, (to_us(end) - grid.start_us) // grid.step_us)
            hosts = [names[host] for host in {host_of(m) for m in members or ()} if host in names]
            if low < high and hosts:
                job[hosts, low:high] = number
                start[hosts, low:high] = (to_us(begin) - grid.start_us) / MICROS
        age = (np.arange(grid.cells) * (grid.step_us / MICROS)).astype(np.float32) - start
        return job[self.host], age[self.host]


def places(store: Store, scope: str) -> Place:
    """Give the entities of ``gpu`` or ``host`` scope that the store has seen, in the order of their ids."""
    ids = store.entities()["entity"].unique().to_list()
    hosts = sorted({host for host in map(host_of, ids) if host is not None})
    entities = sorted(name for name in ids if _is_gpu(name)) if scope == "gpu" else hosts
    rack_of = _racks(store.links())
    racks = tuple(sorted(set(rack_of.values())))
    numbers = {name: position for position, name in enumerate(racks)}
    host_number = {name: position for position, name in enumerate(hosts)}
    owner = [host_of(name) or "" for name in entities]
    return Place(
        scope=scope,
        entities=tuple(entities),
        hosts=tuple(hosts),
        racks=racks,
        host=np.array([host_number[name] for name in owner], dtype=np.int64),
        rack=np.array([numbers.get(rack_of.get(name, ""), -1) for name in owner], dtype=np.int64),
    )


def _is_gpu(entity: str) -> bool:
    return entity.rsplit("/", 1)[-1].startswith("gpu:")


def _racks(links: pl.DataFrame) -> dict[str, str]:
    inside = links.filter((pl.col("relation") == "in") & pl.col("to_entity").str.contains("/rack:", literal=True))
    return dict(inside.sort("entity", "valid_from", nulls_last=False).select("entity", "to_entity").iter_rows())
