"""How a simulated world goes: load, temperature, hazard, and the failures that come of it."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UsageError
from workbench.simulator.layout import COOL_DOWN, REST, WARM_UP, Hazard, Hit, Layout
from workbench.simulator.noise import Floats, ar1, stream
from workbench.simulator.schedule import PlannedJob, plan_jobs

__all__ = ["Course", "run_course"]

STOP = 15  # minutes that the whole job stands still
YOUNG = 30  # minutes
SMOOTHING = 10.0  # minutes, of the load in the temperature
_MEMORY = float(np.exp(-1.0 / 60.0))  # of the drivers: 60 minutes
_IDLE = 0.03
_INFINITY = float("inf")


@dataclass(frozen=True, eq=False, kw_only=True)
class Course:
    """How a world went.

    Attributes
    ----------
    job : (host, T) int32
        Index into ``jobs``; -1: idle or stopped.
    jobs : tuple of PlannedJob
        As they went. Where stopped jobs are queued again, what goes on after 15 minutes is a new one.
    load, temperature : (entity, T) float32
    inlet_c : (rack, T) float64
    z, u : (entity, T) float32
    halves : (2 pairs, 2 halves, entity, T) bool
    frailty : (entity,) float64
    epoch : (int, int)
        First minute, and the one after the last.
    cooled : (rack,) bool
        Racks with a cooling incident in the epoch.
    lemon : int
        Entity that makes most of the events of the lemon signal.
    base : float
        Base log hazard per minute that gave the wanted number of failures.
    """

    layout: Layout
    job: NDArray[np.int32]
    jobs: tuple[PlannedJob, ...]
    load: NDArray[np.float32]
    temperature: NDArray[np.float32]
    inlet_c: Floats
    z: NDArray[np.float32]
    u: NDArray[np.float32]
    halves: NDArray[np.bool_]
    frailty: Floats
    epoch: tuple[int, int]
    cooled: NDArray[np.bool_]
    lemon: int
    hits: tuple[Hit, ...]
    base: float


@dataclass(frozen=True, eq=False, kw_only=True)
class _Drivers:
    """What does not depend on the failures."""

    wander: Floats  # (lane, T) of the load
    own_load: Floats  # (entity, T)
    own_temperature: Floats  # (entity, T), inlet included
    static: Floats  # (entity, T) log hazard
    threshold: Floats  # (entity, T) log of a unit exponential draw


class _Run:
    """One pass through time at one base hazard; failures stop jobs, and so change what follows."""

    def __init__(self, layout: Layout, hazard: Hazard, drivers: _Drivers, planned: Sequence[PlannedJob]) -> None:
        self.layout, self.hazard, self.drivers = layout, hazard, drivers
        shape = (layout.entities, layout.width)
        self.jobs = list(planned)
        self.job = np.full((layout.hosts, layout.width), -1, dtype=np.int32)
        for index, job in enumerate(self.jobs):
            self.job[job.members, max(0, job.start) : max(0, job.end)] = index
        self._tabulate()
        self.load, self.smooth = np.zeros(shape), np.zeros(shape)
        self.score = np.full(shape, _INFINITY)
        self.heat = (0.0, 1.0)
        everyone = np.arange(layout.hosts)
        self._recompute(everyone, 0, layout.width)
        temperature = self.temperature()
        self.heat = (float(temperature.mean()), float(temperature.std()))
        self._recompute(everyone, 0, layout.width)

    def _tabulate(self) -> None:
        room = len(self.jobs) + 64
        self.start, self.level = np.zeros(room, dtype=np.int64), np.zeros(room)
        self.lane = np.zeros(room, dtype=np.int64)
        for index, job in enumerate(self.jobs):
            self.start[index], self.level[index], self.lane[index] = job.start, job.level, job.lane

    def copy(self) -> _Run:
        """Give a run that can go its own way."""
        other = object.__new__(_Run)
        other.__dict__.update(self.__dict__)
        other.jobs = list(self.jobs)
        for name in ("job", "load", "smooth", "score", "start", "level", "lane"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def temperature(self) -> Floats:
        """(entity, T) degrees Celsius."""
        return 3.0 + 30.0 * self.smooth + self.drivers.own_temperature

    def _rows(self, hosts: NDArray[np.int64]) -> NDArray[np.int64]:
        per_host = self.layout.per_host
        return (hosts[:, None] * per_host + np.arange(per_host)).ravel()

    def _recompute(self, hosts: NDArray[np.int64], first: int, last: int) -> None:
        """Bring load, temperature and score of some hosts in line with their jobs."""
        from scipy.signal import lfilter

        time, rows, drivers = np.arange(first, last), self._rows(hosts), self.drivers
        job = self.job[hosts, first:last]
        busy, age = job >= 0, time - self.start[job]
        load = np.clip(self.level[job] + drivers.wander[self.lane[job], time], 0.05, 0.97)
        load = np.where(busy, np.where(age % 30 >= 27, 0.35 * load, load), _IDLE)  # a checkpoint dip every 30 min
        every = self.layout.per_host
        busy, age = np.repeat(busy, every, axis=0), np.repeat(age, every, axis=0)
        block = np.clip(np.repeat(load, every, axis=0) + drivers.own_load[rows, first:last] * busy, 0.0, 1.0)
        keep = float(np.exp(-1.0 / SMOOTHING))
        before = self.smooth[rows, first - 1] if first else block[:, 0]
        smooth, _ = lfilter([1.0 - keep], [1.0, -keep], block, axis=1, zi=keep * before[:, None])
        heat = 3.0 + 30.0 * smooth + drivers.own_temperature[rows, first:last]
        log_hazard = (
            drivers.static[rows, first:last]
            + self.hazard.load * block
            + self.hazard.temperature * (heat - self.heat[0]) / self.heat[1]
            + self.hazard.young * (age < YOUNG)
        )
        may_fail = busy & (age >= 2)
        score = np.where(may_fail, drivers.threshold[rows, first:last] - log_hazard, _INFINITY)
        if first < WARM_UP:
            score[:, : WARM_UP - first] = _INFINITY
        if last > self.layout.width - COOL_DOWN:
            score[:, self.layout.width - COOL_DOWN - first :] = _INFINITY
        self.load[rows, first:last], self.smooth[rows, first:last] = block, smooth
        self.score[rows, first:last] = score

    def go(self, base: float, vetoed: set[tuple[int, int]]) -> tuple[list[Hit], list[float]]:
        """Let failures happen wherever the score lies below ``base``, in order of time."""
        found = np.argwhere(base > self.score.T)
        heap = [(int(t), float(self.score[n, t]), int(n)) for t, n in found]
        heapq.heapify(heap)
        hits: list[Hit] = []
        scores: list[float] = []
        self.rested = np.zeros(self.layout.hosts, dtype=np.int64)
        while heap:
            minute, score, entity = heapq.heappop(heap)
            host = entity // self.layout.per_host
            if self.score[entity, minute] != score or minute < self.rested[host] or (minute, entity) in vetoed:
                continue
            hits.append(Hit(minute=minute, entity=entity, job=int(self.job[host, minute])))
            scores.append(score)
            self.rested[host] = minute + REST
            for item in self._stop(int(self.job[host, minute]), minute, base):
                heapq.heappush(heap, item)
        return hits, scores

    def _stop(self, index: int, minute: int, base: float) -> list[tuple[int, float, int]]:
        """Let a job stand still for 15 minutes; gives the new candidates."""
        job, again = self.jobs[index], minute + STOP
        held = self.job[job.members, minute:again]
        self.job[job.members, minute:again] = np.where(held == index, -1, held)
        if self.layout.requeue:
            self._requeue(index, minute, again)
        changed = job.end if self.layout.requeue else again
        last = min(self.layout.width, max(changed, again) + 120)  # temperature needs a while to forget
        self._recompute(job.members, minute, last)
        rows = self._rows(job.members)
        part = self.score[rows, minute:last]
        return [(minute + int(t), float(part[r, t]), int(rows[r])) for r, t in np.argwhere(part < base)]

    def _requeue(self, index: int, minute: int, again: int) -> None:
        """End a job; what was left of it goes on as a new one."""
        job = self.jobs[index]
        self.jobs[index] = replace(job, end=minute)
        if again >= job.end:
            return
        self.jobs.append(replace(job, start=again))
        if len(self.jobs) > self.start.size:
            self._tabulate()
        number = len(self.jobs) - 1
        self.start[number], self.level[number], self.lane[number] = again, job.level, job.lane
        self.job[job.members, again : max(again, min(job.end, self.layout.width))] = number


def run_course(layout: Layout, hazard: Hazard, *, seed: int, failures: int) -> Course:
    """Let a world go its way with exactly so many failures.

    Every entity and minute has one exponential draw; a failure happens where the hazard exceeds
    it, and stops the job. The base hazard is moved until the number is met (the draws stay), so
    the result is one draw of the hazard model given the number of failures.

    Raises
    ------
    UsageError
        Where so many failures do not fit in: at most one per host in 8 hours.
    """
    room = layout.hosts * max(0, layout.width - WARM_UP - COOL_DOWN) // REST
    if not 0 <= failures <= room // 2:
        raise UsageError(
            f"{failures} failures do not fit {layout.hosts} hosts and {layout.width / 1440:g} days at one per host "
            f"in 8 h: at most {room // 2}. Ask for fewer, or for more hosts or days."
        )
    parts = _draw(layout, hazard, seed)
    planned = plan_jobs(
        stream(seed, "jobs"),
        hosts=layout.hosts,
        rack_size=layout.rack_size,
        width=layout.width,
        sizes=layout.job_hosts,
    )
    start = _Run(layout, hazard, parts[0], planned)
    run, hits, base = _calibrate(start, failures)
    return replace(
        parts[1],
        job=run.job,
        jobs=tuple(run.jobs),
        load=run.load.astype(np.float32),
        temperature=run.temperature().astype(np.float32),
        hits=tuple(hits),
        base=base,
    )


def _draw(layout: Layout, hazard: Hazard, seed: int) -> tuple[_Drivers, Course]:
    """Draw all that does not depend on the failures."""
    n, width, rack = layout.entities, layout.width, layout.rack_of[layout.host_of]
    racks = int(layout.rack_of[-1]) + 1
    day = np.sin(2.0 * np.pi * np.arange(width) / 1440.0)
    z, u = ar1(stream(seed, "z"), n, width, _MEMORY), ar1(stream(seed, "u"), n, width, _MEMORY)
    # each half holds for a quarter of the time
    halves = np.stack([ar1(stream(seed, f"half {k}"), n, width, _MEMORY) > 0.6745 for k in range(4)])
    rng = stream(seed, "places")
    frailty = rng.normal(0.0, hazard.frailty_sd, size=n)
    begin = int(rng.integers(int(0.35 * width), max(int(0.35 * width) + 1, int(0.8 * width))))
    inlet = 22.0 + 1.5 * day + ar1(stream(seed, "inlet"), racks, width, 0.995)
    empty = np.zeros((0, 0), dtype=np.float32)
    course = Course(
        layout=layout,
        job=empty.astype(np.int32),
        jobs=(),
        load=empty,
        temperature=empty,
        inlet_c=inlet,
        z=z.astype(np.float32),
        u=u.astype(np.float32),
        halves=halves.reshape(2, 2, n, width),
        frailty=frailty,
        epoch=(begin, min(width, begin + 180)),
        cooled=np.isin(np.arange(racks), rng.permutation(racks)[: max(1, round(0.2 * racks))]),
        lemon=int(np.argmax(frailty)),
        hits=(),
        base=0.0,
    )
    lanes = 2 * (-(-layout.hosts // layout.job_hosts[1]))
    drivers = _Drivers(
        wander=0.10 * ar1(stream(seed, "job load"), lanes, width, 0.98) + 0.04 * day,
        own_load=0.05 * ar1(stream(seed, "own load"), n, width, 0.95),
        own_temperature=inlet[rack] + 1.2 * ar1(stream(seed, "own temperature"), n, width, 0.99),
        static=hazard.z * z + hazard.u * u + _static(course, hazard),
        threshold=np.log(stream(seed, "failures").standard_exponential((n, width))),
    )
    return drivers, course


def _static(course: Course, hazard: Hazard) -> Floats:
    """(entity, T) log hazard of trait, conjunctions, epoch and cooling incident."""
    time, rack = np.arange(course.layout.width), course.layout.rack_of[course.layout.host_of]
    (a, b), (c, d) = course.halves
    within = (time >= course.epoch[0]) & (time < course.epoch[1])
    static: Floats = course.frailty[:, None] + hazard.pair * (a & b) + hazard.pair * (c & d)
    static += within * (hazard.epoch + hazard.cooling * course.cooled[rack][:, None])
    static[course.lemon] += hazard.lemon
    return static


def _calibrate(start: _Run, wanted: int) -> tuple[_Run, list[Hit], float]:
    """Find the base log hazard at which exactly ``wanted`` failures happen."""
    if wanted == 0:
        return start.copy(), [], -_INFINITY
    expected = float(np.exp(start.drivers.threshold - start.score)[np.isfinite(start.score)].sum())
    base, low, high = float(np.log(wanted / expected)), -_INFINITY, _INFINITY
    vetoed: set[tuple[int, int]] = set()
    for _ in range(200):
        run = start.copy()
        hits, scores = run.go(base, vetoed)
        if len(hits) == wanted:
            return run, hits, base
        if len(hits) > wanted:
            high = base
            if high - low < 2e-3:  # the last failure brings others with it: leave that one out
                last = int(np.argmax(scores))
                vetoed.add((hits[last].minute, hits[last].entity))
                continue
        else:
            low = base
            high = _INFINITY if vetoed else high
        base = _next_base(run, scores, (low, base, high), wanted)
    raise UsageError(f"No world with exactly {wanted} failures was found; ask for another number or seed.")


def _next_base(run: _Run, scores: list[float], bracket: tuple[float, float, float], wanted: int) -> float:
    """Guess the next base from the scores on either side of this one."""
    low, base, high = bracket
    off = len(scores) - wanted
    if abs(off) > max(2, wanted // 10):
        guess = base + 0.9 * float(np.log(wanted / max(len(scores), 0.5)))
    elif off > 0:
        ordered = np.sort(scores)
        guess = float(ordered[wanted - 1] + ordered[wanted]) / 2.0 if wanted < len(scores) else base
    else:
        above = run.score[run.score > base]
        ordered = np.sort(np.partition(above, 2 - off)[: 2 - off])
        guess = float(ordered[-off - 1] + ordered[-off]) / 2.0
    if low < guess < high:
        return guess
    return (low + high) / 2.0 if np.isfinite(low) and np.isfinite(high) else base + (0.1 if off < 0 else -0.1)
