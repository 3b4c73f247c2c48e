"""A small store of jobs: five times a job fails of which one host departed before, beside three that went on."""

from datetime import timedelta
from pathlib import Path

import numpy as np
from smallstore import T0, T0_MS

import workbench as wb
from workbench.timebase import MICROS

MAPPING = """
[[file]]
match = "jobs.csv"
shape = "jobs"
"""
ROUNDS, JOBS, HOSTS = 6, 4, 6
CULPRIT = "node02"
HOURS_APART = 8


def job_store(folder: Path):
    """24 hosts; every eight hours four jobs of six hosts; the first of them (of ann) fails after six hours, node02 being hot."""
    rng = np.random.default_rng(5)
    dumps = folder / "dumps"
    dumps.mkdir(parents=True)
    lines = ["# TYPE node_power_watts gauge", "# TYPE node_temp_celsius gauge"]
    jobs = ["job,start,end,state,user,nodes"]
    for turn in range(ROUNDS):
        begin = T0 + timedelta(hours=HOURS_APART * turn)
        for job in range(JOBS):
            names = [f"node{job * HOSTS + at:02d}" for at in range(HOSTS)]
            hours, state = (6.0, "FAILED") if job == 0 else (7.5, "COMPLETED")
            end = begin + timedelta(hours=hours)
            user = "ann" if job == 0 else "bob"
            jobs.append(
                f"{10 * turn + job},{begin:%Y-%m-%dT%H:%M:%SZ},{end:%Y-%m-%dT%H:%M:%SZ},{state},{user},{';'.join(names)}"
            )
            for name in names:
                noise = rng.normal(size=(2, 160))
                for cell in range(160):
                    hot = 25.0 if job == 0 and name == CULPRIT and 5.0 <= cell / 20 < 6.0 else 0.0
                    stamp = T0_MS + HOURS_APART * 3_600_000 * turn + 180_000 * cell
                    who = f'{{instance="{name}"}}'
                    lines.append(f"node_power_watts{who} {500 + noise[0, cell] + hot:.3f} {stamp}")
                    lines.append(f"node_temp_celsius{who} {60 + noise[1, cell]:.3f} {stamp}")
    (dumps / "node.prom").write_text("\n".join(lines) + "\n")
    (dumps / "jobs.csv").write_text("\n".join(jobs) + "\n")
    (folder / "mapping.toml").write_text(MAPPING)
    store = wb.open(folder / "store")
    report = store.ingest([dumps], mapping=folder / "mapping.toml")
    assert report.exit_code == 0, report.summary
    return store


__all__ = ["CULPRIT", "MICROS", "job_store"]
