"""From signals of a world to the numbers that a source prints: units, rounding, counters, resets."""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import NDArray

from workbench.simulator.noise import Floats, stream
from workbench.simulator.scenarios import Channel
from workbench.simulator.world import World

__all__ = ["RELOAD_AFTER", "printed", "readings", "reloads_of"]

RELOAD_AFTER = 9  # minutes from a failure to the reload of the driver on that host


def reloads_of(world: World) -> NDArray[np.bool_]:
    """(host, T) bool: minutes in which the driver of a host is being reloaded; its GPUs are not seen."""
    reload = np.zeros((len(world.hosts), world.ts_us.size), dtype=np.bool_)
    for failure in world.failures:
        minute = _minute(world, failure.true_us) + RELOAD_AFTER
        reload[failure.host, minute - 1 : minute + 2] = True
    return reload


def readings(world: World, channel: Channel, *, seed: int) -> Floats:
    """Give the numbers of one channel on the minutes of the world.

    Returns
    -------
    (row, T) float64
        Rows are GPUs for ``dcgm``, hosts otherwise. NaN: nothing was collected.
    """
    if channel.own == "xid":
        return _last_xid(world)
    raw = _latent(world, channel)
    if channel.growth == "rate":
        rng = stream(seed, f"counts of {channel.name}")
        mean = channel.offset * np.exp(np.clip(channel.scale * np.nan_to_num(raw), -5.0, 6.0))
        return _running_total(world, channel, (rng.poisson(mean).astype(np.float64), np.isnan(raw)), seed)
    if channel.growth == "counts":
        return _running_total(world, channel, (np.nan_to_num(raw), np.isnan(raw)), seed)
    values = np.clip(channel.offset + channel.scale * raw, channel.low, channel.high)
    return np.asarray(np.round(values / channel.quantum) * channel.quantum, dtype=np.float64)


def _latent(world: World, channel: Channel) -> Floats:
    if channel.plant is not None:
        return world.signals[channel.plant.name]
    return {"load": world.load, "temperature": world.temperature}[channel.own]


def _running_total(world: World, channel: Channel, counted: tuple[Floats, NDArray[np.bool_]], seed: int) -> Floats:
    """Add up counts; a driver reload starts volatile totals anew, a gap hides and does not stop them."""
    counts, hidden = counted
    start = stream(seed, f"totals of {channel.name}").integers(0, 200, size=(counts.shape[0], 1))
    total = np.cumsum(counts, axis=1) + start
    if channel.volatile:
        per_host = counts.shape[0] // len(world.hosts)
        for failure in sorted(world.failures, key=lambda failure: failure.true_us):
            minute = _minute(world, failure.true_us) + RELOAD_AFTER
            rows = slice(failure.host * per_host, (failure.host + 1) * per_host)
            total[rows, minute:] -= total[rows, minute - 1 : minute]
    total[hidden] = np.nan
    return total


def _last_xid(world: World) -> Floats:
    """The sticky gauge: last Xid of each GPU, 0 after a reload of the driver."""
    per_host = len(world.entities) // len(world.hosts)
    values = np.zeros((len(world.entities), world.ts_us.size))
    for failure in world.failures:  # in order of time
        minute = _minute(world, failure.true_us)
        host = slice(failure.host * per_host, (failure.host + 1) * per_host)
        members = world.course.jobs[failure.job].members
        peers = (members[:, None] * per_host + np.arange(per_host)).ravel()
        values[peers, minute + 1 :] = 45.0  # the pre-emptive clean-up on the other members of the job
        values[failure.entity, minute + 1 :] = 95.0 if failure.kind == "memory" else 79.0
        values[host, minute + RELOAD_AFTER :] = 0.0
    values[np.isnan(world.load)] = np.nan
    return values


def _minute(world: World, us: int) -> int:
    return int((us - int(world.ts_us[0])) // 60_000_000)


def printed(values: Floats, decimals: int) -> list[str | None]:
    """Write numbers as a source does; None where there is none.

    Examples
    --------
    >>> printed(np.array([1.0, np.nan, 2.26]), 1), printed(np.array([55.0]), 0)
    (['1.0', None, '2.3'], ['55'])
    """
    if decimals == 0:
        return [str(int(value)) if isfinite(value) else None for value in values.tolist()]
    form = f"%.{decimals}f"
    return [form % value if isfinite(value) else None for value in values.tolist()]
