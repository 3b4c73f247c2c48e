"""Jobs of made-up members, with and without one that departs before the job's outcome; traps on request.

Used by the tests and, with more runs, by ``benchmarks/calibrate_jobs.py``.
"""

from datetime import timedelta

import numpy as np
from scipy.signal import lfilter

from workbench.model.incident import Incident
from workbench.panel.fleet import SignalInfo
from workbench.panel.jobs import JobRun, JobView, Members
from workbench.timebase import MICROS, from_us

T0_US = 1_772_323_200_000_000
HOUR_US = 3600 * MICROS
BIN_S = 180.0
TRAPS = ("none", "heavy", "size", "age", "phase")
METRICS = 12


def noise(rng, shape, *, heavy=False, phi=0.4):
    """Standard noise that forgets within minutes; ``heavy``: Student t with 3 degrees of freedom."""
    shocks = rng.standard_t(3, (*shape[:-1], shape[-1] + 20)) / 3**0.5 if heavy else None
    shocks = rng.normal(size=(*shape[:-1], shape[-1] + 20)) if shocks is None else shocks
    return lfilter([(1 - phi * phi) ** 0.5], [1, -phi], shocks, axis=-1)[..., 20:]


def telemetry(rng, members, cells, *, dips=4.0, heavy=False, unrest=None, stall=0):
    """(member, bin): a phase that all share, own offsets and sensitivities, a stall in the last ``stall`` bins."""
    phase = 2 * noise(rng, (cells,), phi=0.95) - dips * ((np.arange(cells) + rng.integers(10)) % 10 < 2)
    phase[cells - stall :] -= 8.0
    own = noise(rng, (members, cells), heavy=heavy)
    if unrest is not None:
        own = own * unrest
    sensitivity = 1 + 0.2 * rng.normal(size=(members, 1))
    return 1.5 * rng.normal(size=(members, 1)) + sensitivity * phase + own


def incident(job, at_us, late_s=600.0):
    """An outcome of a job, recorded up to ``late_s`` late."""
    at = from_us(at_us)
    return Incident(
        id=f"{job}@{at_us}", kind="stall", code=None, entity=job, host=None, rack=None, job=job, ts=at,
        ts_low=at - timedelta(seconds=late_s), ts_high=at,
    )  # fmt: skip


def world(seed, *, incidents=20, share=0.0, delta=3.0, trap="none", others=40):
    """Give a view of one metric and the incidents; of a ``share`` of them one member departs."""
    rng = np.random.default_rng([seed, 301])
    runs, hits, facts = [], [], {}
    for number in range(incidents):
        at_us = T0_US + (number + 1) * 12 * HOUR_US + int(rng.integers(HOUR_US))
        for k in range(others + 1):
            case = k == 0
            size = int(rng.integers(24, 49) if trap == "size" and (case or k % 3 == 0) else rng.integers(6, 49))
            hours = float(
                rng.uniform(3.1, 5) if trap == "age" and case else np.exp(rng.uniform(np.log(3.1), np.log(48)))
            )
            name = f"c1/job:{number:03d}-{k:02d}"
            hosts = tuple(f"c1/n{number:03d}-{k:02d}-{at:02d}" for at in range(size))
            runs.append(JobRun(job=name, start_us=at_us - round(hours * HOUR_US), end_us=at_us + HOUR_US, hosts=hosts))
            moved = case and rng.random() < share
            facts[name] = (case, bool(moved), float(rng.uniform(6, 40)), int(rng.integers(0, 4)))
        hits.append(incident(f"c1/job:{number:03d}-00", at_us))
    info = SignalInfo(name="gpu.power_w", kind="metric", scope="host", interval_s=120.0)

    def values(run, grid):
        case, moved, onset, late = facts[run.job]
        own = np.random.default_rng([seed, 302, *map(int, run.job.rpartition(":")[2].split("-"))])
        age_h = (grid.ts_us - run.start_us) / HOUR_US
        unrest = 1 + 2 * np.exp(-np.maximum(age_h, 0)) if trap == "age" else None
        cells = telemetry(
            own, len(run.hosts), grid.cells, dips=8.0 if trap == "phase" and case else 4.0, heavy=trap == "heavy",
            unrest=unrest, stall=late if case else 0,
        )  # fmt: skip
        if moved:
            cells[own.integers(len(run.hosts)), max(0, grid.cells - late - round(onset * 60 / BIN_S)) :] += (
                delta * own.choice([-1, 1])
            )
        return cells

    def read(asked, grid):
        return {info.name: [Members(entities=run.hosts, values=values(run, grid)) for run in asked]}

    return JobView(runs=tuple(sorted(runs, key=lambda run: (run.start_us, run.job))), signals=(info,), read=read), hits


def sick_job(seed, *, members, delta):
    """Give one job of which one member departs in 2 of 12 metrics, its incident, and who it is."""
    rng = np.random.default_rng([seed, 303, members, round(10 * delta)])
    at_us = T0_US + 12 * HOUR_US
    run = JobRun(
        job="c1/job:1",
        start_us=at_us - 6 * HOUR_US,
        end_us=at_us,
        hosts=tuple(f"c1/n{at:02d}" for at in range(members)),
    )
    infos = tuple(SignalInfo(name=f"host.m{k:02d}", kind="metric", scope="host") for k in range(METRICS))
    culprit, late, onset = int(rng.integers(members)), int(rng.integers(0, 4)), float(rng.uniform(6, 40))
    moving = rng.permutation(METRICS)[:2]

    def read(asked, grid):
        found = {}
        for k, info in enumerate(infos):
            cells = telemetry(rng, members, grid.cells, heavy=k % 2 == 1, stall=late)
            if k in moving:
                cells[culprit, grid.cells - late - round(onset * 60 / BIN_S) :] += delta * rng.choice([-1, 1])
            found[info.name] = [Members(entities=run.hosts, values=cells) for _ in asked]
        return found

    return JobView(runs=(run,), signals=infos, read=read), incident("c1/job:1", at_us), run.hosts[culprit]
