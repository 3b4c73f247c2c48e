"""A simulated world as the fleet that a screen reads."""

from dataclasses import asdict

from workbench.panel.fleet import Fleet, SignalInfo
from workbench.simulator.world import World


def fleet_of(world: World, *names: str) -> Fleet:
    """Give the fleet of a world's own scope; only the named signals, or all of that scope."""
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
