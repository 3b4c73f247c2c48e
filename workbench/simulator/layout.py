"""Size of a simulated world, the terms of its hazard, and its failures as hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["COOL_DOWN", "REST", "WARM_UP", "Hazard", "Hit", "Layout", "Site", "episodes_of"]

WARM_UP = 400  # minutes without failures, so that every one has six hours of its own baseline
COOL_DOWN = 45  # minutes at the end without failures, so that late records and consequences are seen
REST = 480  # at most one failure per host in 8 h
EPISODE = 60  # failures of one rack at gaps up to this many minutes are one episode


@dataclass(frozen=True, kw_only=True)
class Hazard:
    """Log hazard of a failure, term by term.

    Attributes
    ----------
    load, temperature : float
        Per unit of load (0 to 1) and per standard deviation of temperature.
    young : float
        In the first 30 minutes of a job.
    frailty_sd : float
        Of the stable trait.
    z, u : float
        Per sd of the measured driver and of the hidden one.
    pair : float
        While A and B of a conjunction pair hold together.
    epoch, cooling : float
        In the one 3-hour epoch, and beside that on the racks with a cooling incident.
    lemon : float
        On the one device that makes most of the events.
    """

    load: float = 1.5
    temperature: float = 0.8
    young: float = 2.0
    frailty_sd: float = 0.6
    z: float = 0.8
    u: float = 0.8
    pair: float = 2.0
    epoch: float = 1.6
    cooling: float = 1.5
    lemon: float = 1.5


@dataclass(frozen=True, kw_only=True)
class Site:
    """What a cluster is like, apart from its size.

    Attributes
    ----------
    rack_size : int
        Hosts of a rack.
    job_hosts : (int, int)
        Hosts of the small and of the large jobs.
    requeue : bool
        False: a stopped job goes on and its age counts on. True: it goes on as a new job, young again.
    gap_share : float
        Share of host-hours in which nothing was collected (NaN in every signal, load and temperature).
    start_us : int
        UTC microseconds of the first minute; 2026-03-02T00:00:00Z, a Monday, if not given.
    """

    rack_size: int = 8
    job_hosts: tuple[int, int] = (16, 32)
    requeue: bool = False
    gap_share: float = 0.01
    start_us: int = 1_772_409_600_000_000


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Size of a world.

    Attributes
    ----------
    hosts, rack_size : int
    per_host : int
        GPUs in a host; 1 where hosts are the entities.
    width : int
        Minutes.
    job_hosts : (int, int)
        Hosts of the small and of the large jobs.
    requeue : bool
        A stopped job goes on as a new one, and is young again.
    """

    hosts: int
    rack_size: int
    per_host: int
    width: int
    job_hosts: tuple[int, int] = (16, 32)
    requeue: bool = False

    @property
    def entities(self) -> int:
        """How many entities."""
        return self.hosts * self.per_host

    @property
    def rack_of(self) -> NDArray[np.int64]:
        """(host,) int64: rack of each host."""
        return np.arange(self.hosts) // self.rack_size

    @property
    def host_of(self) -> NDArray[np.int64]:
        """(entity,) int64: host of each entity."""
        return np.repeat(np.arange(self.hosts), self.per_host)


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One failure: which entity, in which minute, in which job."""

    minute: int
    entity: int
    job: int


def episodes_of(hits: Sequence[Hit], layout: Layout) -> int:
    """Count episodes: failures of one rack, linked at gaps of at most 60 minutes.

    Examples
    --------
    >>> layout = Layout(hosts=16, rack_size=8, per_host=1, width=999)
    >>> minutes = [(10, 0), (60, 1), (65, 9), (130, 2)]
    >>> episodes_of([Hit(minute=m, entity=e, job=0) for m, e in minutes], layout)
    3
    """
    last: dict[int, int] = {}
    count = 0
    for hit in sorted(hits, key=lambda hit: hit.minute):
        rack = int(layout.rack_of[hit.entity // layout.per_host])
        count += hit.minute - last.get(rack, -EPISODE - 1) > EPISODE
        last[rack] = hit.minute
    return count
