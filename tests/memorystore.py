"""A store in memory for claims: a ledger that keeps commits in order, and names that are known."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import polars as pl

from workbench.model.incident import Incident, Incidents
from workbench.model.provenance import Provenance
from workbench.model.selector import Selector
from workbench.panel.fleet import Fleet, SignalInfo
from workbench.simulator.world import World
from workbench.store.clocks import CLOCKS


class MemoryStore:
    """What judging and screening ask of a store."""

    def __init__(
        self, *, metrics=(), incidents: tuple[Incident, ...] = (), kinds=("xid",), version="1", fleets=()
    ) -> None:
        self.path, self.version = Path("case-042"), version
        self.metrics, self.kinds, self.found, self.fleets = list(metrics), list(kinds), incidents, tuple(fleets)
        self.commits: list[pl.DataFrame] = []

    def catalog(self, pattern: str = "*") -> pl.DataFrame:
        return pl.DataFrame({"metric": self.metrics}, schema={"metric": pl.String})

    def event_kinds(self) -> pl.DataFrame:
        return pl.DataFrame({"kind": self.kinds}, schema={"kind": pl.String})

    def incidents(self, selector: Selector | str) -> Incidents:
        outcome = selector if isinstance(selector, Selector) else Selector.parse(selector)
        items = tuple(item for item in self.found if item.kind == outcome.kind and outcome.matches_code(item.code))
        return Incidents(
            outcome=outcome,
            items=items,
            provenance=Provenance(function="incidents", inputs=f"{self.path}@{self.version}"),
        )

    def clocks(self) -> pl.DataFrame:
        return pl.DataFrame(schema=CLOCKS)

    def append_ledger(self, rows: pl.DataFrame) -> None:
        assert rows.height
        self.commits.append(rows)

    def ledger_rows(self) -> pl.DataFrame:
        return pl.concat(self.commits) if self.commits else pl.DataFrame()


def world_fleet(world: World, *names: str) -> Fleet:
    """Give a simulated world as the fleet that a loader would make; only the named signals, or all."""
    infos = tuple(
        SignalInfo(**asdict(facts))
        for facts in world.signal_infos()
        if facts.scope == world.scope and (not names or facts.name in names)
    )
    return Fleet(
        scope=world.scope,
        entities=world.entities,
        host=world.host_of,
        rack=world.rack_of[world.host_of],
        hosts=world.hosts,
        racks=world.racks,
        ts_us=world.ts_us,
        step_s=world.step_s,
        job=world.job,
        job_age_s=world.job_age_s,
        signals=infos,
        load=world.signals.__getitem__,
        confounders={"load": world.load, "temperature": world.temperature},
        inputs=world.inputs,
    )
