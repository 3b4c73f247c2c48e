"""Signals of a simulated world, each drawn from its own stream when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.simulator.course import Course
from workbench.simulator.noise import Floats, ar1, process, scattered_counts, stream
from workbench.simulator.plants import PRECURSORS, Plant, Role, Truth

__all__ = ["Moment", "View", "draw_signal", "truth_of", "view_of"]

_WINDOW = 120  # minutes; in 3 % of these windows a precursor's shape comes without a failure
_FALSE_SHARE = 0.03
_FOLLOWS = {
    Role.DRIVER: "z",
    Role.PROXY: "z",
    Role.HIDDEN: "u",
    Role.HALF_A: "a",
    Role.HALF_B: "b",
    Role.LOAD: "load",
    Role.TEMPERATURE: "temperature",
    Role.PHASE: "job age",
    Role.FRAIL: "frailty",
    Role.SELECT: "busy",
    Role.ROLLOUT: "epoch",
    Role.OUTAGE: "epoch",
    Role.COOLING: "epoch on some racks",
    Role.LEMON: "one device",
    Role.AFTER: "failures",
    Role.SKEW: "failures",
    Role.COARSE: "failures",
}


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One failure as the signals see it.

    ``true`` and ``recorded`` are minutes of the grid; ``kind`` is the kind of failure.
    """

    entity: int
    host: int
    true: int
    recorded: int
    kind: str


@dataclass(frozen=True, eq=False, kw_only=True)
class View:
    """A course as one scope sees it: rows are GPUs or hosts.

    Attributes
    ----------
    host, rack : (row,) int64
    entities : (row,) int64
        First entity of each row.
    averaged : bool
        Rows are hosts, and each averages over the entities in it.
    age : (host, T) float32
        Minutes since the job started; NaN: idle.
    gap : (host, T) bool
        Nobody was looking.
    """

    course: Course
    scope: str
    host: NDArray[np.int64]
    rack: NDArray[np.int64]
    averaged: bool
    age: NDArray[np.float32]
    gap: NDArray[np.bool_]
    moments: tuple[Moment, ...]

    @property
    def width(self) -> int:
        """Minutes."""
        return self.course.layout.width

    def rows(self, values: NDArray[np.float32] | NDArray[np.bool_]) -> Floats:
        """Bring (entity, T) values to the rows of this view."""
        wide = values.astype(np.float64)
        if not self.averaged:
            return wide
        layout = self.course.layout
        return np.asarray(wide.reshape(layout.hosts, layout.per_host, -1).mean(axis=1), dtype=np.float64)

    def row_of(self, moment: Moment) -> int:
        """Give the row that a failure falls on."""
        return moment.host if self.averaged else moment.entity


def view_of(
    course: Course,
    scope: str,
    *,
    age: NDArray[np.float32],
    gap: NDArray[np.bool_],
    moments: tuple[Moment, ...],
) -> View:
    """See a course from one scope, ``gpu`` or ``host``."""
    layout = course.layout
    averaged = scope == "host" and layout.per_host > 1
    host = np.arange(layout.hosts) if averaged else layout.host_of
    rack = layout.rack_of[host]
    return View(course=course, scope=scope, host=host, rack=rack, averaged=averaged, age=age, gap=gap, moments=moments)


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where a shape stands: row, first minute, the one after the last; -1: without a failure."""

    row: int
    start: int
    stop: int
    moment: int


def _span(role: Role, moment: tuple[int, int], rng: np.random.Generator) -> tuple[int, int]:
    """Draw first and last minute of a shape around a failure (true minute, recorded minute)."""
    true, recorded = moment
    if role is Role.RAMP:
        return true - int(np.clip(rng.lognormal(np.log(60.0), 0.5), 15.0, 240.0)), true
    if role is Role.BURST:
        start = true - int(rng.integers(15, 91))
        return start, min(true, start + int(rng.integers(5, 21)))
    if role is Role.SHIFT:
        return true - int(rng.integers(20, 111)), true
    if role is Role.VAR:
        return true - int(rng.integers(25, 101)), true
    if role is Role.AFTER:
        start = recorded + int(rng.integers(12, 21))
        return start, start + 20
    return true, true + 20  # skew, coarse: at the true minute


def _placements(view: View, plant: Plant, seed: int) -> list[_Place]:
    rng = stream(seed, f"places of {plant.name}")
    places = []
    for index, moment in enumerate(view.moments):
        planted = rng.random() < plant.share
        start, stop = _span(plant.role, (moment.true, moment.recorded), rng)
        if planted and plant.failure_kind in ("", moment.kind):
            places.append(
                _Place(row=view.row_of(moment), start=max(0, start), stop=min(view.width, stop), moment=index)
            )
    if plant.role in PRECURSORS:
        windows = rng.random((view.host.size, view.width // _WINDOW)) < _FALSE_SHARE
        for row, window in np.argwhere(windows).tolist():
            end = window * _WINDOW + int(rng.integers(0, _WINDOW))
            start, stop = _span(plant.role, (end, end), rng)
            places.append(_Place(row=row, start=max(0, start), stop=max(0, stop), moment=-1))
    return places


@dataclass(frozen=True, eq=False, kw_only=True)
class _Ask:
    """One signal to draw."""

    view: View
    plant: Plant
    seed: int
    rng: np.random.Generator

    @property
    def shape(self) -> tuple[int, int]:
        return self.view.host.size, self.view.width

    def wander(self, sd: float) -> Floats:
        """Noise without an own level."""
        return sd * ar1(self.rng, *self.shape, 0.9)

    def white(self, sd: float) -> Floats:
        return sd * self.rng.standard_normal(self.shape)

    def background(self) -> Floats:
        """Noise of the plant's base, about an own level of each row."""
        level = self.rng.standard_normal((self.shape[0], 1))
        return level + process(self.plant.base, self.rng, self.view.rack, self.view.width)


def _planted(ask: _Ask) -> Floats:
    plant, rng = ask.plant, ask.rng
    values = scattered_counts(rng, *ask.shape, 0.02) if plant.role is Role.BURST else ask.background()
    for place in _placements(ask.view, plant, ask.seed):
        part = values[place.row, place.start : place.stop]
        if plant.role is Role.RAMP:
            part += plant.size * 3.0 * np.linspace(0.0, 1.0, part.size)
        elif plant.role is Role.BURST:
            part += rng.poisson(2.0 * plant.size, size=part.size)
        elif plant.role is Role.VAR:
            part += plant.size * 1.8 * rng.standard_normal(part.size)
        else:
            part += plant.size * {Role.SHIFT: 2.0, Role.AFTER: 3.0}.get(plant.role, 4.0)
    return _block_means(values, 15) if plant.role is Role.COARSE else values


def _block_means(values: Floats, block: int) -> Floats:
    """Means over blocks of minutes, stamped at the start of each and held until the next."""
    starts = np.arange(0, values.shape[1], block)
    sizes = np.diff(np.append(starts, values.shape[1]))
    return np.repeat(np.add.reduceat(values, starts, axis=1) / sizes, sizes, axis=1)


def _driver(ask: _Ask) -> Floats:
    return ask.view.rows(ask.view.course.z) + ask.white(0.3)


def _proxy(ask: _Ask) -> Floats:
    late = np.roll(ask.view.rows(ask.view.course.z), 3, axis=1)  # three minutes behind
    return late + ask.wander(0.6)


def _hidden(ask: _Ask) -> Floats:
    return ask.view.rows(ask.view.course.u) + ask.white(0.3)


def _half(ask: _Ask) -> Floats:
    on = ask.view.course.halves[ask.plant.pair, int(ask.plant.role is Role.HALF_B)]
    return 2.0 * ask.view.rows(on) + ask.white(0.5)


def _load(ask: _Ask) -> Floats:
    return ask.plant.size * ask.view.rows(ask.view.course.load) / 0.2 + ask.wander(0.5)


def _temperature(ask: _Ask) -> Floats:
    return ask.plant.size * (ask.view.rows(ask.view.course.temperature) - 40.0) / 5.0 + ask.wander(0.5)


def _phase(ask: _Ask) -> Floats:
    fresh: Floats = np.nan_to_num(np.exp(-ask.view.age / 60.0), nan=0.0)[ask.view.host].astype(np.float64)
    return ask.plant.size * 3.0 * fresh + ask.wander(0.5)


def _frail(ask: _Ask) -> Floats:
    course = ask.view.course
    trait = ask.view.rows(np.broadcast_to(course.frailty[:, None], course.z.shape).astype(np.float32))
    return ask.plant.size * 2.0 * trait + ask.wander(1.0)


def _select(ask: _Ask) -> Floats:
    return ask.plant.size * 2.0 * np.isfinite(ask.view.age)[ask.view.host] + ask.wander(0.5)


def _rollout(ask: _Ask) -> Floats:
    """A new version arrives on every row within 20 minutes, before the epoch, and is taken back after it."""
    values = ask.background()
    first, last = ask.view.course.epoch
    for row, start in enumerate(first - ask.rng.integers(10, 31, size=ask.shape[0])):
        values[row, max(0, start) : last] += 2.5 * ask.plant.size
    return values


def _outage(ask: _Ask) -> Floats:
    """A collector chokes, falls silent, and catches up."""
    values, first = ask.background(), ask.view.course.epoch[0]
    values[:, max(0, first - 30) : first + 30] += 2.5 * ask.plant.size
    values[:, first + 30 : first + 75] = np.nan
    values[:, first + 75 : first + 95] += 2.5 * ask.plant.size
    return values


def _cooling(ask: _Ask) -> Floats:
    values, (first, last) = ask.background(), ask.view.course.epoch
    hit = np.flatnonzero(ask.view.course.cooled[ask.view.rack])
    span = slice(max(0, first - 20), last)
    values[hit, span] += 3.0 * ask.plant.size * np.minimum(1.0, np.arange(span.stop - span.start) / 20.0)
    return values


def _lemon(ask: _Ask) -> Floats:
    """Events of which one device makes more than 90 %, some of them before its failures."""
    view, rng = ask.view, ask.rng
    values = scattered_counts(rng, *ask.shape, 1.0 / 28800.0)
    sick = view.course.lemon // view.course.layout.per_host if view.averaged else view.course.lemon
    starts = [window * _WINDOW + int(rng.integers(0, _WINDOW)) for window in range(view.width // _WINDOW)]
    starts = [start for start in starts if rng.random() < 0.35]
    starts += [m.true - int(rng.integers(15, 91)) for m in view.moments if view.row_of(m) == sick]
    for start in starts:
        part = values[sick, max(0, start) : max(0, start) + int(rng.integers(5, 21))]
        part += rng.poisson(4.0 * ask.plant.size, size=part.size)
    return values


def _noise(ask: _Ask) -> Floats:
    if ask.plant.base in ("counter", "sparse"):
        return process(ask.plant.base, ask.rng, ask.view.rack, ask.view.width)
    return ask.background()


_SHAPED = frozenset({Role.RAMP, Role.BURST, Role.SHIFT, Role.VAR, Role.AFTER, Role.SKEW, Role.COARSE})
_MAKERS: dict[Role, Callable[[_Ask], Floats]] = {
    **dict.fromkeys(_SHAPED, _planted),
    Role.DRIVER: _driver,
    Role.PROXY: _proxy,
    Role.HIDDEN: _hidden,
    Role.HALF_A: _half,
    Role.HALF_B: _half,
    Role.LOAD: _load,
    Role.TEMPERATURE: _temperature,
    Role.PHASE: _phase,
    Role.FRAIL: _frail,
    Role.SELECT: _select,
    Role.ROLLOUT: _rollout,
    Role.OUTAGE: _outage,
    Role.COOLING: _cooling,
    Role.LEMON: _lemon,
    Role.NOISE: _noise,
}


def draw_signal(view: View, plant: Plant, *, seed: int) -> Floats:
    """Draw one signal.

    Returns
    -------
    (row, T) float64
        About unit variance; counts per minute for bursts, sparse noise and the lemon; a running
        total for ``counter``. NaN: nobody was looking.
    """
    values = _MAKERS[plant.role](_Ask(view=view, plant=plant, seed=seed, rng=stream(seed, f"signal {plant.name}")))
    values[view.gap[view.host]] = np.nan
    return values


def truth_of(view: View, plant: Plant, *, seed: int) -> Truth:
    """Tell what is true of one signal; the places are those that :func:`draw_signal` uses."""
    leads = np.full(len(view.moments), np.nan)
    shaped = plant.role in _SHAPED
    if shaped:
        for place in _placements(view, plant, seed):
            if place.moment >= 0:
                leads[place.moment] = 60.0 * (view.moments[place.moment].true - place.start)
    return Truth(
        role=plant.role,
        is_precursor=plant.role in PRECURSORS,
        share=plant.share if shaped else float("nan"),
        leads_s=leads,
        follows=_FOLLOWS.get(plant.role, ""),
        base=plant.base,
        failure_kind=plant.failure_kind,
    )
