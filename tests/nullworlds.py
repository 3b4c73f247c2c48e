"""Worlds in which nothing is to be found, though a naive look finds it; and the same with a planted truth.

Used by the tests and, with more runs, by the calibrations in ``benchmarks/``.
"""

import numpy as np
from scipy.signal import lfilter

from workbench.analysis.coincidence import Occurrences, Places
from workbench.analysis.exposure import Exposure
from workbench.analysis.mixedevents import MixedEvents

HOUR_US = 3_600_000_000
T0_US = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z
SPAN_US = 4 * 24 * HOUR_US
HOSTS, RACK_SIZE = 64, 8

SERIES = ("iid", "ar90", "ar99", "random walk", "trend", "weak trend", "daily rhythm", "counter", "heavy tail")
EVENTS = ("unrelated", "bursts", "fleet waves", "rack clusters", "lemon hosts", "shift change", "consequence")
#: Not solved: the two traps together, and one cause of a whole rack behind both.
UNSOLVED = ("fleet waves on lemon hosts", "one cause of a rack")


def first_order(rng, phi, shape):
    return lfilter([1], [1, -phi], rng.normal(size=(*shape[:-1], shape[-1] + 1000)), axis=-1)[..., 1000:]


def series(kind, rng, shape=(2, 1, 720)):
    """Two unrelated sets of series of one kind, (2, entity, time); a day has 144 cells."""
    t = np.arange(shape[-1])
    if kind == "ar90":
        return first_order(rng, 0.9, shape)
    if kind == "ar99":
        return first_order(rng, 0.99, shape)
    if kind == "counter":
        return np.cumsum(rng.poisson(3, size=shape), axis=-1).astype(float)
    if kind == "heavy tail":
        return rng.standard_t(2, size=shape)
    noise = rng.normal(size=shape)
    added = {"trend": 3 * t / t.size, "weak trend": 0.7 * t / t.size, "daily rhythm": 1.5 * np.sin(2 * np.pi * t / 144)}
    return np.cumsum(noise, axis=-1) if kind == "random walk" else noise + added.get(kind, 0.0)


def driven(kind, rng, *, lag, share, shape=(2, 1, 720)):
    """The same, with ``share`` of x added to y ``lag`` cells later."""
    x, y = series(kind, rng, shape)
    return np.stack([x, y + share * np.roll(x, lag, axis=-1) * y.std() / x.std()])


def places():
    return Places(
        names=tuple(f"c1/node{at:02d}" for at in range(HOSTS)), group=np.arange(HOSTS) // RACK_SIZE, word="host"
    )


def occurrences(name, place, ts_us, uncertain_us=0):
    ts = np.asarray(ts_us, dtype=np.int64)
    inside = (ts >= 0) & (ts < SPAN_US)
    ts = ts[inside] + T0_US
    return Occurrences(
        name=name, place=np.asarray(place, dtype=np.int64)[inside], ts_us=ts, low_us=ts - uncertain_us, high_us=ts
    )


def _anywhere(rng, count):
    return rng.integers(0, HOSTS, count), rng.integers(0, SPAN_US, count)


def _in_bursts(rng, count):
    place, start = _anywhere(rng, count // 5)
    return np.repeat(place, 5), np.repeat(start, 5) + rng.integers(0, HOUR_US // 2, count // 5 * 5)


def _in_waves(rng, starts, count, weight=None):
    """Each event on any host, in one of the half hours after ``starts``."""
    return rng.choice(HOSTS, count, p=weight), rng.choice(starts, count) + rng.integers(0, HOUR_US // 2, count)


def _in_racks(rng, clusters):
    rack, start = rng.integers(0, HOSTS // RACK_SIZE, clusters), rng.integers(0, SPAN_US, clusters)
    place = (rack[:, None] * RACK_SIZE + np.arange(RACK_SIZE)).ravel()
    return place, np.repeat(start, RACK_SIZE) + rng.integers(0, HOUR_US // 6, place.size)


LEMONS = np.where(np.arange(HOSTS) < 5, 20.0, 1.0) / (5 * 20.0 + HOSTS - 5)


def _on_lemons(rng, count):
    return rng.choice(HOSTS, count, p=LEMONS), rng.integers(0, SPAN_US, count)


def _at_shift_change(rng, count, hour):
    day = rng.integers(0, 4, count)
    return rng.integers(0, HOSTS, count), (day * 24 + hour) * HOUR_US + rng.integers(0, 10, count) * 60_000_000


def events(kind, rng, *, a=300, b=40):
    """Give a and b that have nothing to do with each other, or, for ``consequence``, the wrong way round."""
    if kind.startswith("fleet waves"):
        starts, weight = rng.integers(0, SPAN_US - HOUR_US, 4), LEMONS if "lemon" in kind else None
        pair = _in_waves(rng, starts, a, weight), _in_waves(rng, starts + HOUR_US // 2, b, weight)
    elif kind == "one cause of a rack":
        place, ts = _in_racks(rng, b // RACK_SIZE)
        noise = _anywhere(rng, a)
        pair = (np.append(noise[0], place), np.append(noise[1], ts)), (place, ts + HOUR_US // 3)
    elif kind == "rack clusters":
        pair = _in_racks(rng, a // RACK_SIZE), _in_racks(rng, b // RACK_SIZE)
    elif kind == "lemon hosts":
        pair = _on_lemons(rng, a), _on_lemons(rng, b)
    elif kind == "shift change":
        pair = _at_shift_change(rng, a, 7), _at_shift_change(rng, b, 7.5)
    elif kind == "bursts":
        pair = _in_bursts(rng, a), _in_bursts(rng, b)
    else:
        pair = _anywhere(rng, a), _anywhere(rng, b)
    if kind == "consequence":
        place, ts = pair[1]
        after = ts + rng.integers(60_000_000, HOUR_US // 6, b)
        pair = (np.append(pair[0][0], place), np.append(pair[0][1], after)), pair[1]
    return occurrences("aer", *pair[0]), occurrences("xid:79", *pair[1])


def preceded(rng, *, share, a=300, b=40):
    """Every b anywhere; before ``share`` of them an a on the same host, 5 to 50 minutes earlier."""
    other, (place, ts) = _anywhere(rng, a), _anywhere(rng, b)
    hit = rng.random(b) < share
    early = ts[hit] - rng.integers(HOUR_US // 12, HOUR_US * 5 // 6, int(hit.sum()))
    return (
        occurrences("aer", np.append(other[0], place[hit]), np.append(other[1], early)),
        occurrences("xid:79", place, ts),
    )


#: Series that stand still, whatever their noise; and those that move by themselves.
STILL = ("iid", "ar50", "ar90", "heavy tail", "skewed", "counts", "moving average")
WANDERING = ("ar99", "random walk", "trend", "daily rhythm", "counter rates", "bursts")


def one_series(kind, rng, size=720):
    """One series without any change that lasts; a day has 144 cells."""
    made = {
        "ar50": lambda: first_order(rng, 0.5, (size,)),
        "skewed": lambda: rng.exponential(size=size),
        "counts": lambda: rng.poisson(2, size=size).astype(float),
        "counter rates": lambda: np.diff(np.cumsum(rng.poisson(3, size=size + 1))).astype(float),
        "moving average": lambda: np.convolve(rng.normal(size=size + 9), np.ones(10), "valid"),
        "bursts": lambda: _on_and_off(rng, size),
    }
    return made[kind]() if kind in made else series(kind, rng, (1, 1, size))[0, 0]


def _on_and_off(rng, size):
    on, start = np.zeros(size), 0
    while start < size:
        start += int(rng.exponential(50)) + 1
        length = int(rng.exponential(10)) + 1
        on[start : start + length] = 1
        start += length
    return rng.normal(size=size) + 3 * on


#: Worlds of many kinds of event in which no kind has to do with another.
MIXED = ("unrelated", "bursts", "fleet waves", "rack clusters", "lemon hosts")


def mixed(kind, rng, *, kinds=8, count=60, planted=()):
    """Events of many kinds; ``planted`` are (a, b, share, delay in seconds): so much of a brings on a b at its host."""
    starts = rng.integers(0, SPAN_US - HOUR_US, 4)
    weight = LEMONS if kind == "lemon hosts" else None
    parts = []
    for _ in range(kinds):
        if kind == "fleet waves":
            parts.append(_in_waves(rng, starts, count))
        elif kind == "rack clusters":
            parts.append(_in_racks(rng, count // RACK_SIZE))
        elif kind == "bursts":
            parts.append(_in_bursts(rng, count))
        else:
            parts.append((rng.choice(HOSTS, count, p=weight), rng.integers(0, SPAN_US, count)))
    for a, b, share, delay_s in planted:
        place, ts = parts[a]
        hit = rng.random(place.size) < share
        after = ts[hit] + (rng.exponential(delay_s, int(hit.sum())) * 1e6).astype(np.int64) + 1_000_000
        parts[b] = np.append(parts[b][0], place[hit]), np.append(parts[b][1], after)
    ts = np.concatenate([part[1] for part in parts])
    inside = (ts >= 0) & (ts < SPAN_US)
    ts = ts[inside] + T0_US
    return MixedEvents(
        names=tuple(f"kind:{at}" for at in range(kinds)),
        kind=np.repeat(np.arange(kinds), [part[1].size for part in parts])[inside],
        place=np.concatenate([part[0] for part in parts]).astype(np.int64)[inside],
        ts_us=ts,
        low_us=ts,
        high_us=ts,
    )


FAILING = ("unrelated", "fleet waves", "rack clusters", "few observed", "came late")


def failing(kind, rng, *, count=60, lemons=0, factor=1.0, places_of=200, days=90):
    """Failures of places that all fail alike while observed, but for ``lemons`` that fail ``factor`` times as often.

    Gives failures, places and when each place was observed, and the span.
    """
    span = days * 24 * HOUR_US
    start, end = np.zeros(places_of, np.int64), np.full(places_of, span)
    if kind == "few observed":  # most are looked at for a few days alone
        start[20:] = rng.integers(0, span - 72 * HOUR_US, places_of - 20)
        end[20:] = start[20:] + 72 * HOUR_US
    if kind == "came late":  # and everything fails more often then
        start[: places_of // 2] = span * 2 // 3
    weight = np.where(np.arange(places_of) < lemons, factor, 1.0)
    groups = np.arange(places_of) // 10
    if kind == "fleet waves":
        ts = rng.choice(rng.integers(0, span, 4), count) + rng.integers(0, HOUR_US, count)
    elif kind == "came late":
        ts = (span * rng.beta(4, 1, count)).astype(np.int64)
    else:
        ts = rng.integers(0, span, count)
    if kind == "rack clusters":
        rack = np.repeat(rng.integers(0, places_of // 10, count // 10), 10)
        place, ts = rack * 10 + np.tile(np.arange(10), count // 10), np.repeat(ts[: count // 10], 10)
        ts = ts + rng.integers(0, HOUR_US // 4, ts.size)
    else:
        place = np.array([_one_at(rng, weight * ((start <= at) & (end >= at))) for at in np.clip(ts, 0, span)])
    ts = np.clip(ts, 0, span) + T0_US
    names = tuple(f"c1/node{at:03d}" for at in range(places_of))
    exposure = Exposure(place=np.arange(places_of), start_us=start + T0_US, end_us=end + T0_US)
    failures = Occurrences(name="xid:79", place=place.astype(np.int64), ts_us=ts, low_us=ts, high_us=ts)
    return failures, Places(names=names, group=groups, word="host"), exposure, (T0_US, T0_US + span)


def _one_at(rng, weight):
    return rng.choice(weight.size, p=weight / weight.sum())
