"""``truth.json``, ``mapping.toml`` and ``README.txt`` of a simulated dump."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from workbench.simulator.kernel_text import xids_of
from workbench.simulator.naming import FAST_S, HOST_ZONE, SITE_ZONE, Names
from workbench.simulator.plants import PRECURSORS, Plant, Role
from workbench.simulator.scenarios import Channel, Scenario
from workbench.simulator.world import World
from workbench.timebase import format_us, from_us

__all__ = ["dumped", "event_signals", "mapping_text", "readme_text", "truth_of_dump"]

_NEVER = ("REFUTED", "UNDECIDED")
_TRAIT_OF_EVENTS = (
    ("xid:45", "consequence: clean-up on the other GPUs of the job, seconds later"),
    ("xid:63", "consequence: the row is marked for remapping a moment after the error"),
    ("xid:154", "informational: comments on the Xid before it"),
    ("peermem", "consequence: memory registrations are torn down, seconds later"),
    ("xid:13", "noise: application errors"),
    ("xid:43", "noise: application errors"),
    ("xid:31", "lemon: one GPU makes more than 90 % of these events"),
    ("aer:corrected", "noise: corrected PCIe errors"),
    ("nfs:not_responding", "noise: a file server that answers late"),
    ("nfs:ok", "noise: the file server answers again"),
    ("log", "noise: the chatter of a healthy kernel"),
)


def truth_of_dump(
    world: World, scenario: Scenario, names: Names, jobs: Mapping[int, str], *, seed: int
) -> dict[str, Any]:
    """Give all that was planted, as plain JSON values."""
    lemon = world.course.lemon
    return {
        "schema": "workbench.truth/1",
        "scenario": scenario.name,
        "about": scenario.about,
        "seed": seed,
        "hosts": len(world.hosts),
        "gpus_per_host": names.per_host,
        "start": format_us(int(world.ts_us[0])),
        "end": format_us(int(world.ts_us[-1]) + 60_000_000),
        "outcome": dict(scenario.outcome),
        "episodes": world.episodes,
        "epoch_of_more_failures": [
            format_us(int(world.ts_us[min(m, world.ts_us.size - 1)])) for m in world.course.epoch
        ],
        "clocks": {
            "kernel/*.dmesg.txt, syslog, slurm": HOST_ZONE,
            "facility, bmc": SITE_ZONE,
            "fast_host": names.short[names.fast_host],
            "fast_by_s": FAST_S,
        },
        "lemon": {
            "host": names.short[lemon // names.per_host],
            "gpu": lemon % names.per_host,
            "uuid": names.uuids[lemon],
        },
        "signals": [_signal(world, scenario, channel) for channel in scenario.channels] + event_signals(scenario),
        "failures": _failures(world, scenario, names, jobs),
    }


def event_signals(scenario: Scenario) -> list[dict[str, Any]]:
    """Give the events of the kernel logs that a screen may try, none of them a precursor."""
    return [
        {
            "signal": name,
            "source": "kernel",
            "is_precursor": False,
            "why": why,
            "expected": {outcome: list(_NEVER) for outcome in scenario.outcome.values()},
        }
        for name, why in _TRAIT_OF_EVENTS
    ]


def _signal(world: World, scenario: Scenario, channel: Channel) -> dict[str, Any]:
    plant = channel.plant
    entry: dict[str, Any] = {
        "signal": channel.metric,
        "raw_name": channel.name,
        "source": channel.source,
        "scope": "gpu" if channel.source == "dcgm" else "host",
        "role": str(plant.role) if plant else channel.own,
        "is_precursor": (plant.role in PRECURSORS) if plant else False,
        "why": channel.why,
        "expected": {outcome: list(_expected(channel, plant, kind)) for kind, outcome in scenario.outcome.items()},
    }
    if plant and plant.role in (Role.RAMP, Role.BURST, Role.SHIFT, Role.VAR):
        truth = world.truth[plant.name]
        of_kind = [f for f in world.failures if plant.failure_kind in ("", f.kind)]
        entry["before"] = scenario.outcome.get(plant.failure_kind, "every failure")
        entry["share"] = plant.share
        entry["share_planted"] = round(sum(map(isfinite, truth.leads_s.tolist())) / max(1, len(of_kind)), 3)
        entry["median_lead_s"] = truth.median_lead_s if isfinite(truth.median_lead_s) else None
    return entry


def _expected(channel: Channel, plant: Plant | None, kind: str) -> tuple[str, ...]:
    if plant is not None and plant.failure_kind not in ("", kind):
        return _NEVER
    return channel.expected


def _failures(world: World, scenario: Scenario, names: Names, jobs: Mapping[int, str]) -> list[dict[str, Any]]:
    planted = [c for c in scenario.channels if c.plant is not None and c.plant.role in PRECURSORS]
    entries = []
    for order, failure in enumerate(world.failures):
        leads = {
            channel.metric: round(float(world.truth[channel.plant.name].leads_s[order]))
            for channel in planted
            if channel.plant is not None and isfinite(world.truth[channel.plant.name].leads_s[order])
        }
        entries.append(
            {
                "kind": failure.kind,
                "host": names.short[failure.host],
                "rack": f"r{int(world.rack_of[failure.host]) + 1:02d}",
                "gpu": failure.entity % names.per_host,
                "uuid": names.uuids[failure.entity],
                "pci": names.pci_kernel(failure.entity),
                "true": format_us(failure.true_us),
                "kernel_log_says": format_us(failure.true_us + names.shift_us(failure.host)),
                "slurm_says": format_us(failure.recorded_us),
                "xids": list(xids_of(failure, order)),
                "job": jobs[failure.job],
                "lead_s": leads,
            }
        )
    return entries


def mapping_text(world: World) -> str:
    """Give the mapping file that states hosts, zones, year and columns.

    Examples
    --------
    >>> from workbench.simulator.world import make_world
    >>> text = mapping_text(make_world(seed=1, failures=0, hosts=1, days=0.5, plants=[]))
    >>> text.count("[[file]]"), "year = 2026" in text
    (6, True)
    """
    year = from_us(int(world.ts_us[0])).year
    return f"""# What the dumps cannot say themselves. Use: workbench ingest dumps --map mapping.toml ...

[[file]]  # dmesg -T: wall clock of the host, and the host only in the file name
match = 'kernel/(?P<host>[^/.]+)\\.dmesg\\.txt$'
zone = "{HOST_ZONE}"

[[file]]  # dmesg --decode --time-format iso
match = 'kernel/(?P<host>[^/.]+)\\.dmesg\\.iso\\.txt$'

[[file]]  # syslog: no year, no zone
match = 'syslog/messages$'
zone = "{HOST_ZONE}"
year = {year}

[[file]]  # sacct --parsable2
match = 'slurm/sacct\\.txt$'
zone = "{HOST_ZONE}"

[[file]]  # the building
match = 'facility/rack_environment\\.csv$'
zone = "{SITE_ZONE}"
shape = "wide"
time_format = "%m/%d/%Y %H:%M"
[file.columns]
ts = "Time"
rack = "Rack"

[[file]]  # BMC export
match = 'bmc/power_15min\\.csv\\.gz$'
zone = "{SITE_ZONE}"
shape = "wide"
[file.columns]
ts = "Interval start"
host = "Server"
"""


def readme_text(scenario: Scenario, command: str, files: Sequence[str]) -> str:
    """Give the text that tells what lies here and how to read it in."""
    asks = "\n".join(
        f"    workbench screen --outcome {outcome} --store case --seed 7" for outcome in scenario.outcome.values()
    )
    return f"""Simulated dumps: {scenario.name}
{scenario.about[0].upper()}{scenario.about[1:]}.

Made with:
    {command}

Read them in, from this folder:
    workbench ingest dumps --store case --map mapping.toml
Then ask:
{asks}

truth.json says what was planted; do not read it in.

Sources, each with names and a clock of its own ({len(files)} files):
    dumps/dcgm/           GPU metrics, short host names, UTC in milliseconds
    dumps/node_exporter/  host metrics, full host names, UTC in milliseconds
    dumps/kernel/         dmesg -T ({HOST_ZONE}) or ISO times; the host stands in the file name
    dumps/syslog/         host names in capitals, {HOST_ZONE}, no year
    dumps/slurm/          sacct --parsable2, {HOST_ZONE}
    dumps/facility/       racks, {SITE_ZONE}
    dumps/bmc/            15-minute means stamped at their start, {SITE_ZONE}
    dumps/topology.csv    hosts, racks, switches, power feeds
"""


def dumped(truth: Mapping[str, Any]) -> str:
    """Write truth as JSON, one line a failure or signal would be too long to read."""
    return json.dumps(truth, indent=1, ensure_ascii=False) + "\n"
