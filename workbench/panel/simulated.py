"""Simulated worlds as the screen reads them: one fleet per scope."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from workbench.panel.fleet import Fleet, SignalInfo
from workbench.simulator.world import World

__all__ = ["world_fleets"]

Floats = NDArray[np.float64]


def world_fleets(world: World) -> list[Fleet]:
    """Give the fleets of a simulated world; running totals become rates, as the store's counters do.

    Examples
    --------
    >>> from workbench.simulator.world import make_world
    >>> [fleet.scope for fleet in world_fleets(make_world(seed=7, failures=8, hosts=48, days=2))]
    ['host']
    """
    scopes = dict.fromkeys([world.scope, *(plant.scope for plant in world.plants.values())])
    return [_fleet(world, scope) for scope in scopes]


def _fleet(world: World, scope: str) -> Fleet:
    averaged = scope == "host" and world.scope != "host"
    hosts = len(world.hosts)
    host = np.arange(hosts) if averaged else world.host_of
    first = np.searchsorted(world.host_of, np.arange(hosts)) if averaged else np.arange(len(world.entities))
    infos = tuple(
        SignalInfo(
            name=facts.name,
            kind=facts.kind,
            scope=facts.scope,
            raw_names=facts.raw_names,
            interval_s=facts.interval_s,
            uncertainty_s=facts.uncertainty_s,
            role=facts.role,
            drives=facts.drives,
        )
        for facts in world.signal_infos()
        if facts.scope == scope
    )
    counters = {name for name, plant in world.plants.items() if plant.base == "counter" and str(plant.role) == "noise"}

    def load(name: str) -> Floats:
        values = world.signals[name]
        return _rates(values, world.step_s) if name in counters else values

    return Fleet(
        scope=scope,
        entities=world.hosts if averaged else world.entities,
        host=host,
        rack=world.rack_of[host],
        hosts=world.hosts,
        racks=world.racks,
        ts_us=world.ts_us,
        step_s=world.step_s,
        job=world.job[first],
        job_age_s=world.job_age_s[first],
        signals=infos,
        load=load,
        confounders=_confounders(world, averaged=averaged),
        inputs=world.inputs,
    )


def _confounders(world: World, *, averaged: bool) -> Mapping[str, Floats]:
    values = {"load": world.load, "temperature": world.temperature}
    if not averaged:
        return values
    per_host = len(world.entities) // len(world.hosts)
    return {name: array.reshape(len(world.hosts), per_host, -1).mean(axis=1) for name, array in values.items()}


def _rates(total: Floats, step_s: float) -> Floats:
    """Per second; a reset is a gap."""
    rate = np.diff(total, axis=1, prepend=np.nan) / step_s
    rate[rate < 0] = np.nan
    return rate
