"""Jobs of two sizes, back to back, with idle gaps between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["PlannedJob", "plan_jobs"]

_BEFORE = 1440  # minutes before the first one, so that the world begins in the middle of jobs


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedJob:
    """One run of one job, as planned or as it went.

    Attributes
    ----------
    start, end : int
        Minutes; ``end`` is exclusive. May lie outside the world.
    members : (host,) int64
    level : float
        Mean load while it computes, 0 to 1.
    lane : int
        Which wander of the load it follows.
    """

    start: int
    end: int
    members: NDArray[np.int64]
    level: float
    lane: int


def plan_jobs(
    rng: np.random.Generator, *, hosts: int, rack_size: int, width: int, sizes: tuple[int, int]
) -> list[PlannedJob]:
    """Plan jobs for every host from before minute 0 until after minute ``width``.

    Racks are dealt at random to blocks of the larger of ``sizes``; a block runs one job of that
    size or, for half a day to a day, jobs of the smaller size and of what is left side by side.

    Examples
    --------
    >>> jobs = plan_jobs(np.random.default_rng(1), hosts=48, rack_size=8, width=1440, sizes=(16, 32))
    >>> sorted({job.members.size for job in jobs})
    [16, 32]
    """
    racks = [np.arange(first, min(first + rack_size, hosts)) for first in range(0, hosts, rack_size)]
    order = np.concatenate([racks[index] for index in rng.permutation(len(racks))])
    jobs: list[PlannedJob] = []
    narrow, wide = sizes
    for lane, first in enumerate(range(0, hosts, wide)):
        jobs += _plan_block(rng, order[first : first + wide], (2 * lane, narrow), width)
    return jobs


def _plan_block(
    rng: np.random.Generator, hosts: NDArray[np.int64], split: tuple[int, int], width: int
) -> list[PlannedJob]:
    jobs: list[PlannedJob] = []
    lane, narrow = split
    now = -_BEFORE - int(rng.integers(0, 720))
    while now < width:
        if hosts.size <= narrow or rng.random() < 0.5:
            job = _one_job(rng, np.sort(hosts), lane, now)
            jobs.append(job)
            now = job.end
        else:
            stop = now + int(rng.integers(720, 1440))
            jobs += _fill(rng, np.sort(hosts[:narrow]), lane, (now, stop))
            jobs += _fill(rng, np.sort(hosts[narrow:]), lane + 1, (now, stop))
            now = stop
        now += int(rng.integers(5, 41))
    return jobs


def _fill(rng: np.random.Generator, members: NDArray[np.int64], lane: int, span: tuple[int, int]) -> list[PlannedJob]:
    jobs: list[PlannedJob] = []
    now, stop = span
    while now < stop - 30:
        job = _one_job(rng, members, lane, now)
        jobs.append(PlannedJob(start=job.start, end=min(job.end, stop), members=members, level=job.level, lane=lane))
        now = job.end + int(rng.integers(5, 41))
    return jobs


def _one_job(rng: np.random.Generator, members: NDArray[np.int64], lane: int, start: int) -> PlannedJob:
    minutes = int(np.clip(rng.lognormal(np.log(360.0), 0.8), 60.0, 2160.0))
    level = float(rng.uniform(0.5, 0.9))
    return PlannedJob(start=start, end=start + minutes, members=members, level=level, lane=lane)
