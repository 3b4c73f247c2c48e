"""Small fleets built by hand, for tests of the screen."""

from collections.abc import Mapping
from datetime import timedelta

import numpy as np

from workbench.model.incident import Incident
from workbench.panel.fleet import Fleet, SignalInfo
from workbench.timebase import MICROS, from_us

START_US = 1_772_409_600 * MICROS
MINUTE_US = 60 * MICROS


def small_fleet(
    signals: Mapping[str, np.ndarray],
    *,
    hosts: int,
    minutes: int,
    rack_size: int = 8,
    gpus: int = 0,
    step_s: float = 60.0,
    infos: tuple[SignalInfo, ...] = (),
    confounders: Mapping[str, np.ndarray] | None = None,
    job: np.ndarray | None = None,
    racks_known: bool = True,
    before: int = 0,
) -> Fleet:
    """Give a fleet of hosts (or of GPUs in them); time starts at minute ``-before``."""
    host_names = tuple(f"c/n{h:03d}" for h in range(hosts))
    scope = "gpu" if gpus else "host"
    entities = tuple(f"{name}/gpu:{g}" for name in host_names for g in range(gpus)) if gpus else host_names
    host = np.repeat(np.arange(hosts), gpus or 1)
    racks = tuple(f"c/rack:r{r}" for r in range(-(-hosts // rack_size)))
    n, t = len(entities), minutes
    age = np.full((n, t), np.nan, dtype=np.float32)
    if job is not None:
        age[job >= 0] = 3600.0
    defaults = tuple(SignalInfo(name=name, kind="metric", scope=scope, interval_s=step_s) for name in signals)
    return Fleet(
        scope=scope,
        entities=entities,
        host=host,
        rack=host // rack_size if racks_known else np.full(n, -1),
        hosts=host_names,
        racks=racks if racks_known else (),
        ts_us=START_US - before * MINUTE_US + np.arange(t, dtype=np.int64) * round(step_s * MICROS),
        step_s=step_s,
        job=np.full((n, t), -1, dtype=np.int32) if job is None else job.astype(np.int32),
        job_age_s=age,
        signals=infos or defaults,
        load=lambda name: signals[name],
        confounders=confounders or {},
        inputs="by hand",
    )


def incident(
    entity: str,
    minute: float,
    *,
    host: str | None = None,
    rack: str | None = None,
    job: str | None = None,
    late_s: float = 0.0,
) -> Incident:
    """Give an incident at a minute of the fleet, recorded up to ``late_s`` late."""
    ts = from_us(START_US + round(minute * MINUTE_US))
    return Incident(
        id=f"{entity}@{minute}",
        kind="failure",
        code=None,
        entity=entity,
        host=host if host is not None else "/".join(entity.split("/")[:2]),
        rack=rack,
        job=job,
        ts=ts,
        ts_low=ts - timedelta(seconds=late_s),
        ts_high=ts,
    )
