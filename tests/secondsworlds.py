"""Two kinds of event on 60 devices over 30 days: one brings the other within seconds, or only seems to.

Used by the tests and, with more runs, by ``benchmarks/calibrate_seconds.py``.
"""

import numpy as np

from workbench.model.incident import Incident
from workbench.panel.fleet import SignalInfo
from workbench.panel.seconds import OS, SecondsView
from workbench.timebase import MICROS, from_us

T0_US = 1_772_323_200_000_000
SPAN_S = 30 * 86_400.0
DEVICES = 60
NULLS = ("incident", "hidden")


def _devices(rng, count, dominated):
    rate = rng.exponential(size=DEVICES)
    if dominated:
        rate = np.append(0.9, 0.1 * rate[1:] / rate[1:].sum())
    return rng.choice(DEVICES, count, p=rate / rate.sum())


def truth(rng, kind, *, count, share=0.8, lag_s=2.0, dominated=False):
    """Give (device, second) of the onsets of a and of b."""
    spread = rng.uniform(0, SPAN_S, count)
    device = _devices(rng, count, dominated)
    if kind == "incident":  # ten minutes that raise both
        number = rng.poisson(2, (2, count)) + (rng.random((2, count)) < 0.2)
        a, b = ((np.repeat(device, one), np.repeat(spread, one) + rng.uniform(0, 600, one.sum())) for one in number)
        return a, b
    extra = max(count // 4 if kind == "hidden" else 10, 1)
    other = [(_devices(rng, extra, dominated), rng.uniform(0, SPAN_S, extra)) for _ in range(2)]
    if kind == "hidden":  # one cause of both, in no order
        a, b = ((device, spread + rng.uniform(0, 1, count)) for _ in range(2))
    else:  # each event of a burst of a may bring b
        tried = rng.geometric(share, count) - 1
        follows = tried < rng.geometric(1 / 2.5, count)
        brought = spread + 0.3 * tried + rng.exponential(lag_s, count)
        a, b = (device, spread), (device[follows], brought[follows])
    return tuple(
        (np.append(one[0], more[0]), np.append(one[1], more[1])) for one, more in zip((a, b), other, strict=True)
    )


def recorded(rng, at, *, resolution_s, delay_s, bursts=True):
    """Give (device, microsecond, low, high): bursts of 2.5 on average, late by up to a delay, cut to the resolution."""
    device, second = at
    if bursts:
        number = rng.geometric(1 / 2.5, device.size)
        first = np.repeat(np.cumsum(number) - number, number)
        device, second = np.repeat(device, number), np.repeat(second, number) + 0.3 * (np.arange(number.sum()) - first)
    late = second + rng.uniform(0, 1, second.size) * delay_s
    ts = (np.floor(late / resolution_s) * resolution_s * MICROS).astype(np.int64) + T0_US
    return device, ts, ts - round(delay_s * MICROS), ts + round(resolution_s * MICROS)


def world(
    seed, kind="true", *, count=60, resolution=(0.001, 0.001), delay_s=0.0, told_delay_s=None, bursts=True, **how
):
    """Give the view (kind ``xid:122``) and the incidents (``xid:31``); a is late by up to ``delay_s``, and says so."""
    rng = np.random.default_rng([seed, 401])
    a, b = truth(rng, kind, count=count, **how)
    device, ts, low, high = recorded(rng, a, resolution_s=resolution[0], delay_s=delay_s, bursts=bursts)
    low = low if told_delay_s is None else ts - round(told_delay_s * MICROS)
    entities = tuple(f"c1/n{at // 8}/gpu:{at:02d}" for at in range(DEVICES))
    view = SecondsView(
        signals=(SignalInfo(name="xid:122", kind="event", scope="gpu"),), entities=entities, kind=np.zeros(ts.size, np.int64),
        entity=device, ts_us=ts, low_us=low, high_us=high, clocks=(frozenset({OS}),), outcome_clocks=frozenset({OS}),
        watched={"": ((T0_US - 10**10, T0_US + round((SPAN_S + 10_000) * MICROS)),)},
    )  # fmt: skip
    device, ts, low, high = recorded(rng, b, resolution_s=resolution[1], delay_s=0.0, bursts=bursts)
    hits = [
        Incident(
            id=f"{at}-{name}", kind="xid", code="31", entity=entities[name], host=entities[name].rpartition("/")[0], rack=None,
            job=None, ts=from_us(at), ts_low=from_us(early), ts_high=from_us(late), hosts=(entities[name].rpartition("/")[0],),
        )
        for name, at, early, late in zip(device.tolist(), ts.tolist(), low.tolist(), high.tolist(), strict=True)
    ]  # fmt: skip
    return view, hits


__all__ = ["DEVICES", "NULLS", "T0_US", "truth", "world"]
