"""Fleets with planted truth: arrays on a one-minute grid (the world of the reference study)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UnknownNameError, UsageError
from workbench.model.incident import Incident
from workbench.simulator.course import Course, run_course
from workbench.simulator.layout import Hazard, Layout, Site, episodes_of
from workbench.simulator.noise import Floats, stream
from workbench.simulator.plants import Plant, Truth, check_plants, default_plants
from workbench.simulator.signals import Moment, View, draw_signal, truth_of, view_of
from workbench.timebase import MICROS, from_us

__all__ = ["Failure", "SignalFacts", "Signals", "World", "make_world"]

LATEST_S = 600.0  # a watchdog records up to ten minutes late
_STEP_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One recorded failure.

    Attributes
    ----------
    entity, host : int
        Index into ``World.entities`` and ``World.hosts``.
    recorded_us, true_us : int
        UTC microseconds; half of the failures are recorded 2 to 10 minutes late.
    ts_low_us, ts_high_us : int
        What the record allows: from ten minutes before it to the record itself.
    job : int
        Index into ``World.jobs`` of the job that it stopped.
    kind : str
    """

    entity: int
    host: int
    recorded_us: int
    true_us: int
    ts_low_us: int
    ts_high_us: int
    job: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class SignalFacts:
    """What a screen has to know of one signal; the fields are those of ``panel.fleet.SignalInfo``."""

    name: str
    kind: str
    scope: str
    raw_names: tuple[str, ...] = ()
    interval_s: float = _STEP_S
    uncertainty_s: float = 0.0
    role: str = ""
    drives: tuple[str, ...] = ()


class Signals(Mapping[str, Floats]):
    """Signals by name, each (entity, T) float64, drawn anew whenever it is asked for.

    The draws of one do not depend on which others are drawn, or in what order.
    """

    def __init__(self, plants: Mapping[str, Plant], views: Mapping[str, View], seed: int) -> None:
        self._plants, self._views, self._seed = plants, views, seed

    def __getitem__(self, name: str) -> Floats:
        plant = self._plants.get(name)
        if plant is None:
            raise UnknownNameError("signal", name, list(self._plants), "See list(world.signals).")
        return draw_signal(self._views[plant.scope], plant, seed=self._seed)

    def __contains__(self, name: object) -> bool:
        return name in self._plants

    def __iter__(self) -> Iterator[str]:
        return iter(self._plants)

    def __len__(self) -> int:
        return len(self._plants)


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """A simulated fleet.

    Attributes
    ----------
    scope : str
        ``host``, or ``gpu`` where hosts have several GPUs.
    entities, hosts, racks : tuple of str
        Canonical ids; in host scope ``entities`` are the hosts.
    host_of, rack_of : (entity,), (host,) int64
        Index of the host of each entity, of the rack of each host.
    ts_us : (T,) int64
        Left edges of the minutes, UTC microseconds.
    step_s : float
        60.
    load, temperature : (entity, T) float64
        Load 0 to 1, temperature in degrees Celsius, as recorded. NaN: gap.
    job : (entity, T) int32
        Index of the running job; -1: idle or stopped.
    job_age_s : (entity, T) float32
        Seconds since that job started; NaN: idle.
    signals : Signals
        By name; NaN: gap.
    failures : tuple of Failure
        In order of time.
    episodes : int
        Failures of one rack at gaps of at most 60 minutes count once.
    truth : mapping of signal to Truth
    plants : mapping of signal to Plant
    course : Course
        All that lies behind: hazard, drivers, jobs.
    inputs : str
        What this world is, for provenance.

    Examples
    --------
    >>> world = make_world(seed=7, failures=8, hosts=48, days=2)
    >>> len(world.failures), world.signals["ramp_60"].shape, world.truth["ramp_60"].is_precursor
    (8, (48, 2880), True)
    """

    scope: str
    entities: tuple[str, ...]
    hosts: tuple[str, ...]
    racks: tuple[str, ...]
    host_of: NDArray[np.int64]
    rack_of: NDArray[np.int64]
    ts_us: NDArray[np.int64]
    load: Floats
    temperature: Floats
    job: NDArray[np.int32]
    job_age_s: NDArray[np.float32]
    signals: Signals
    failures: tuple[Failure, ...]
    episodes: int
    truth: Mapping[str, Truth]
    plants: Mapping[str, Plant]
    course: Course
    inputs: str
    step_s: float = _STEP_S

    def signal_infos(self) -> tuple[SignalFacts, ...]:
        """Give the facts of every signal."""
        return tuple(
            SignalFacts(name=plant.name, kind=plant.kind, scope=plant.scope, interval_s=plant.interval_s)
            for plant in self.plants.values()
        )

    def incidents(self) -> tuple[Incident, ...]:
        """Give the failures as incidents of kind ``failure``, the code being the failure's kind."""
        return tuple(
            Incident(
                id=f"sim{number:05d}",
                kind="failure",
                code=failure.kind,
                entity=self.entities[failure.entity],
                host=self.hosts[failure.host],
                rack=self.racks[int(self.rack_of[failure.host])],
                job=f"sim/job:{failure.job}",
                ts=from_us(failure.recorded_us),
                ts_low=from_us(failure.ts_low_us),
                ts_high=from_us(failure.ts_high_us),
            )
            for number, failure in enumerate(self.failures)
        )


def make_world(  # noqa: PLR0913 - all by keyword, and all but the seed have the value of the study
    *,
    seed: int,
    failures: int = 50,
    episodes: int | None = None,
    hosts: int = 128,
    days: float = 4.0,
    plants: Sequence[Plant] | None = None,
    gpus_per_host: int = 0,
    kinds: Sequence[str] = ("failure",),
    hazard: Hazard | None = None,
    site: Site | None = None,
) -> World:
    """Make a fleet with planted truth.

    Hosts in racks of 8 run jobs on 16 or 32 hosts. The log hazard of a failure is the sum of
    load, temperature, youth of the job, a stable trait, a measured and a hidden driver, two
    conjunctions, one epoch and a cooling incident on some racks in it (see :class:`Hazard`).
    Failures strike busy hosts only, at most one per host in 8 h, and stop the whole job for
    15 minutes. Half of them are recorded 2 to 10 minutes late.

    Parameters
    ----------
    seed : int
        0 or more. Same arguments, same world.
    failures : int
        How many are recorded, exactly: the base hazard is moved until the number is met.
    episodes : int, optional
        At least so many episodes: ``failures`` is raised until they are there.
    hosts : int
    days : float
        At least half a day.
    plants : sequence of Plant, optional
        None: the 60 of :func:`~workbench.simulator.plants.default_plants`. A world without any
        true precursor: :func:`~workbench.simulator.plants.null_plants`.
    gpus_per_host : int
        0: hosts are the entities. 1 or more: GPUs are; shapes are planted on the failing GPU only.
    kinds : sequence of str
        Kinds of failure, equally likely; a plant may ask for one of them.
    hazard : Hazard, optional
    site : Site, optional
        Racks, jobs, gaps and start; None: those of the study.

    Raises
    ------
    UsageError
        A size that makes no world, or more failures than fit.
    SpecificationError
        Plants with mistakes.

    References
    ----------
    Shapes and sizes are those of the study on which the tests of this package were chosen.

    Examples
    --------
    >>> world = make_world(seed=7, failures=4, hosts=16, days=1, gpus_per_host=2, plants=[])
    >>> world.scope, len(world.entities), world.failures[0].entity // 2 == world.failures[0].host
    ('gpu', 32, True)
    """
    site = site or Site()
    layout = _layout(hosts, days, gpus_per_host, site)
    if seed < 0 or not kinds:
        raise UsageError("make_world needs seed >= 0 and at least one kind of failure.")
    scope = "gpu" if gpus_per_host else "host"
    planted = check_plants(tuple(default_plants() if plants is None else plants), scope=scope)
    by_name = {plant.name: plant for plant in planted}
    course = _with_episodes(layout, hazard or Hazard(), seed, (failures, episodes or 0))
    recorded = _failures(course, tuple(kinds), seed, site.start_us)
    age, gap = _age_minutes(course), _gaps(layout, site.gap_share, seed)
    moments = _moments(recorded, site.start_us)
    views = {name: view_of(course, name, age=age, gap=gap, moments=moments) for name in ("host", "gpu")}
    host_of, rack_of = layout.host_of, layout.rack_of
    hidden = gap[host_of]
    host_names = tuple(f"sim/node{host + 1:03d}" for host in range(hosts))
    size = f"{hosts} hosts x {gpus_per_host or 1}, {days:g} days, {len(recorded)} failures"
    return World(
        scope=scope,
        entities=_entity_names(host_names, gpus_per_host, seed),
        hosts=host_names,
        racks=tuple(f"sim/rack:r{rack + 1:02d}" for rack in range(int(rack_of[-1]) + 1)),
        host_of=host_of,
        rack_of=rack_of,
        ts_us=site.start_us + np.arange(layout.width, dtype=np.int64) * 60 * MICROS,
        load=np.where(hidden, np.nan, course.load.astype(np.float64)),
        temperature=np.where(hidden, np.nan, course.temperature.astype(np.float64)),
        job=course.job[host_of],
        job_age_s=60.0 * age[host_of],
        signals=Signals(by_name, views, seed),
        failures=recorded,
        episodes=episodes_of(course.hits, layout),
        truth={name: truth_of(views[plant.scope], plant, seed=seed) for name, plant in by_name.items()},
        plants=by_name,
        course=course,
        inputs=f"simulated world, seed {seed}: {size}",
    )


def _moments(recorded: tuple[Failure, ...], start_us: int) -> tuple[Moment, ...]:
    minute_us = 60 * MICROS
    return tuple(
        Moment(
            entity=failure.entity,
            host=failure.host,
            true=(failure.true_us - start_us) // minute_us,
            recorded=(failure.recorded_us - start_us) // minute_us,
            kind=failure.kind,
        )
        for failure in recorded
    )


def _layout(hosts: int, days: float, gpus_per_host: int, site: Site) -> Layout:
    if hosts < 1 or not 0.5 <= days <= 366 or gpus_per_host < 0:
        raise UsageError(
            f"No world of {hosts} hosts, {days:g} days and {gpus_per_host} GPUs a host; "
            "expected at least 1 host, 0.5 to 366 days, 0 GPUs or more."
        )
    if site.rack_size < 1 or not 1 <= site.job_hosts[0] <= site.job_hosts[1] or not 0.0 <= site.gap_share < 1.0:
        raise UsageError(f"{site} is no site: expected racks and jobs of 1 host or more, and 0 <= gap_share < 1.")
    return Layout(
        hosts=hosts,
        rack_size=site.rack_size,
        per_host=max(1, gpus_per_host),
        width=round(days * 1440),
        job_hosts=site.job_hosts,
        requeue=site.requeue,
    )


def _with_episodes(layout: Layout, hazard: Hazard, seed: int, wanted: tuple[int, int]) -> Course:
    failures, episodes = max(wanted), wanted[1]
    while True:
        course = run_course(layout, hazard, seed=seed, failures=failures)
        short = episodes - episodes_of(course.hits, layout)
        if short <= 0:
            return course
        failures += short


def _failures(course: Course, kinds: tuple[str, ...], seed: int, start_us: int) -> tuple[Failure, ...]:
    rng = stream(seed, "records")
    per_host = course.layout.per_host
    sites = []
    for hit in course.hits:
        second, late, delay_s = rng.random() * 60.0, rng.random() < 0.5, rng.uniform(120.0, LATEST_S)
        true_us = start_us + int((hit.minute * 60.0 + second) * MICROS)
        recorded_us = true_us + int(delay_s * MICROS) * late
        sites.append(
            Failure(
                entity=hit.entity,
                host=hit.entity // per_host,
                recorded_us=recorded_us,
                true_us=true_us,
                ts_low_us=recorded_us - int(LATEST_S * MICROS),
                ts_high_us=recorded_us,
                job=hit.job,
                kind=kinds[int(rng.integers(len(kinds)))],
            )
        )
    return tuple(sites)


def _age_minutes(course: Course) -> NDArray[np.float32]:
    starts = np.array([job.start for job in course.jobs] or [0], dtype=np.float32)
    age = np.arange(course.layout.width, dtype=np.float32) - starts[course.job]
    return np.where(course.job >= 0, age, np.float32(np.nan))


def _gaps(layout: Layout, share: float, seed: int) -> NDArray[np.bool_]:
    hours = -(-layout.width // 60)
    missing = stream(seed, "gaps").random((layout.hosts, hours)) < share
    return np.repeat(missing, 60, axis=1)[:, : layout.width]


def _entity_names(hosts: tuple[str, ...], gpus_per_host: int, seed: int) -> tuple[str, ...]:
    if not gpus_per_host:
        return hosts
    rng = stream(seed, "uuids")
    names = []
    for host in hosts:
        for _ in range(gpus_per_host):
            text = rng.bytes(16).hex()
            uuid = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
            names.append(f"{host}/gpu:GPU-{uuid}")
    return tuple(names)
