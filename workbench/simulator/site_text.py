"""Slurm accounting, topology, and what the building and the BMCs export."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from workbench.simulator.exposition import text_file
from workbench.simulator.naming import HOST_ZONE, SITE_ZONE, Names, local
from workbench.simulator.noise import Floats, stream
from workbench.simulator.world import Failure, World
from workbench.timebase import MICROS

__all__ = ["node_list", "write_accounting", "write_bmc", "write_rooms", "write_topology"]

_MINUTE = 60 * MICROS
_SACCT = "JobID|JobIDRaw|JobName|User|Partition|Submit|Start|End|Elapsed|State|ExitCode|NNodes|NodeList"


def node_list(names: Sequence[str]) -> str:
    """Write host names as Slurm does.

    Examples
    --------
    >>> node_list(["node001", "node002", "node003", "node007"]), node_list(["node004"])
    ('node[001-003,007]', 'node004')
    """
    if len(names) == 1:
        return names[0]
    digits = sorted(name.removeprefix("node") for name in names)
    parts: list[list[str]] = []
    for number in digits:
        if parts and int(number) == int(parts[-1][-1]) + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return f"node[{','.join('-'.join(part) for part in parts)}]"


def write_accounting(folder: Path, world: World, names: Names, *, seed: int) -> dict[int, str]:
    """Write ``sacct --parsable2`` in local time; give the number of each job of the world.

    A job that a failure stops ends NODE_FAIL or FAILED at the recorded time, up to ten minutes
    late; it is requeued under a new number.
    """
    rng = stream(seed, "accounting")
    first, last = int(world.ts_us[0]), int(world.ts_us[-1]) + _MINUTE
    ended = {failure.job: failure for failure in world.failures}
    shown = [
        (index, job) for index, job in enumerate(world.course.jobs)
        if job.end > max(0, job.start) and job.start < world.ts_us.size
    ]  # fmt: skip
    shown.sort(key=lambda pair: (pair[1].start, pair[0]))
    with text_file(folder / "slurm" / "sacct.txt") as out:
        out.write(f"{_SACCT}\n".encode())
        for number, (index, job) in enumerate(shown, start=4401):
            start = first + job.start * _MINUTE + int(rng.integers(0, 20)) * MICROS
            nodes = node_list([names.short[host] for host in job.members.tolist()])
            failure = ended.get(index)
            end, state, code = _ending(failure, first + job.end * _MINUTE, last, rng)
            span = "Unknown" if end is None else _wall(end)
            elapsed = _elapsed((last if end is None else end) - start)
            submit = _wall(start - int(rng.integers(10, 900)) * MICROS)
            common = f"{_wall(start)}|{span}|{elapsed}"
            user = f"user{1 + job.lane % 4}"
            row = f"{number}|{number}|train-{job.lane}|{user}|gpu|{submit}|{common}|{state}|{code}|{job.members.size}|{nodes}"
            steps = [
                f"{number}.{step}|{number}.{step}|{step}|||{_wall(start)}|{common}|{state.partition(' ')[0]}|{code}"
                for step in ("batch", "extern", "0")
            ]
            first_node = names.short[int(job.members[0])]
            held = (f"1|{first_node}", f"{job.members.size}|{nodes}", f"{job.members.size}|{nodes}")
            rows = [row, *(f"{step}|{where}" for step, where in zip(steps, held, strict=True))]
            out.write("".join(f"{line}\n" for line in rows).encode())
    return {index: str(number) for number, (index, _) in enumerate(shown, start=4401)}


def _ending(failure: Failure | None, planned: int, last: int, rng: np.random.Generator) -> tuple[int | None, str, str]:
    """Give end, state and exit code of a job."""
    if failure is not None:
        late = failure.recorded_us > failure.true_us
        end = failure.recorded_us + int(rng.integers(2, 20)) * MICROS * (not late)
        return end, "NODE_FAIL" if late else "FAILED", "1:0"
    if planned >= last:
        return None, "RUNNING", "0:0"
    state = str(rng.choice(["COMPLETED", "CANCELLED by 1001", "TIMEOUT"], p=[0.8, 0.12, 0.08]))
    return planned, state, "0:0" if state == "COMPLETED" else "0:15"


def _wall(us: int) -> str:
    return f"{local(us, HOST_ZONE):%Y-%m-%dT%H:%M:%S}"


def _elapsed(us: int) -> str:
    seconds = us // MICROS
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


def write_topology(folder: Path, world: World, names: Names) -> None:
    """Write which rack, switch and power feed each host hangs on."""
    with text_file(folder / "topology.csv") as out:
        out.write(b"host,rack,switch,pdu\n")
        for host, short in enumerate(names.short):
            rack = int(world.rack_of[host]) + 1
            out.write(f"{short},r{rack:02d},leaf-{rack:02d},pdu-r{rack:02d}-{'ab'[host % 2]}\n".encode())


def write_rooms(folder: Path, world: World, *, seed: int) -> None:
    """Write the building's export: a row per rack and 10 minutes, times of the site, units in the header."""
    inlet = world.course.inlet_c
    flow = 38.0 + 0.8 * stream(seed, "flow").standard_normal(inlet.shape)
    with text_file(folder / "facility" / "rack_environment.csv") as out:
        out.write("Time,Rack,Inlet Temperature [°C],Coolant Flow [l/min]\n".encode())
        for minute in range(0, inlet.shape[1], 10):
            stamp = f"{local(int(world.ts_us[minute]), SITE_ZONE):%m/%d/%Y %H:%M}"
            for rack in range(inlet.shape[0]):
                row = f"{stamp},r{rack + 1:02d},{inlet[rack, minute]:.1f},{flow[rack, minute]:.1f}\n"
                out.write(row.encode())


def write_bmc(folder: Path, world: World, names: Names, values: Floats) -> None:
    """Write means over 15 minutes, stamped at their start, as a BMC export has them."""
    with text_file(folder / "bmc" / "power_15min.csv.gz") as out:
        out.write(b"Interval start,Server,mean_power_15min [W]\n")
        for row in _bmc_rows(world, names, values):
            out.write(row.encode())


def _bmc_rows(world: World, names: Names, values: Floats) -> Iterator[str]:
    for minute in range(0, values.shape[1], 15):
        stamp = f"{local(int(world.ts_us[minute]), SITE_ZONE):%Y-%m-%d %H:%M:%S}"
        for host in range(values.shape[0]):
            if np.isfinite(values[host, minute]):
                yield f"{stamp},{names.fqdn(host)},{values[host, minute]:.0f}\n"
