"""The Azure predictive maintenance sample as a fleet: errors are event signals, replaced components outcomes."""

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from workbench.model.incident import Incident
from workbench.panel.fleet import Fleet, SignalInfo
from workbench.timebase import MICROS, from_us, to_us

BEFORE_S = 25 * 3600.0
STEP_S = BEFORE_S / 120
START = datetime(2015, 1, 1, tzinfo=UTC)
DAYS = 366
HOUR_S = 3600.0
ERRORS = tuple(f"error{k}" for k in range(1, 6))
COMPONENTS = tuple(f"comp{k}" for k in range(1, 5))
#: The rule of the simulator that made the data (DOMAIN.md).
TRUE = {"error1": "comp1", "error2": "comp2", "error3": "comp2", "error4": "comp3", "error5": "comp4"}


def _rows(path: Path) -> list[tuple[int, int, str]]:
    """Machine (0-based), UTC microseconds, name."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [
        (int(machine) - 1, to_us(datetime.fromisoformat(when).replace(tzinfo=UTC)), name)
        for when, machine, name in rows
    ]


def azure_fleet(folder: Path) -> Fleet:
    """Counts of errors of 100 machines in cells of 12.5 minutes, one year."""
    cells = round(DAYS * 86400 / STEP_S)
    start_us = to_us(START)
    counts = {name: np.zeros((100, cells)) for name in ERRORS}
    for machine, ts, name in _rows(folder / "PdM_errors.csv"):
        counts[name][machine, int((ts - start_us) // (STEP_S * MICROS))] += 1
    machines = tuple(f"azure/m{k + 1:03d}" for k in range(100))
    return Fleet(
        scope="host",
        entities=machines,
        host=np.arange(100),
        rack=np.full(100, -1),
        hosts=machines,
        racks=(),
        ts_us=start_us + (np.arange(cells) * STEP_S * MICROS).astype(np.int64),
        step_s=STEP_S,
        job=np.full((100, cells), -1, dtype=np.int32),
        job_age_s=np.full((100, cells), np.nan, dtype=np.float32),
        signals=tuple(
            SignalInfo(name=f"error:{name}", kind="event", scope="host", interval_s=HOUR_S) for name in ERRORS
        ),
        load=lambda name: counts[name.removeprefix("error:")],
        inputs="Azure PdM",
    )


def azure_incidents(folder: Path, component: str) -> list[Incident]:
    """Failures of one component; the log holds whole hours."""
    return [
        Incident(
            id=f"{component}-{machine}-{ts}",
            kind="replaced",
            code=component,
            entity=f"azure/m{machine + 1:03d}",
            host=f"azure/m{machine + 1:03d}",
            rack=None,
            job=None,
            ts=from_us(ts),
            ts_low=from_us(ts),
            ts_high=from_us(ts) + timedelta(hours=1),
        )
        for machine, ts, name in _rows(folder / "PdM_failures.csv")
        if name == component
    ]
