"""The screen as a whole, on small fleets with one planted truth each."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter
from smallfleet import incident, small_fleet

from workbench.analysis.screen import screen
from workbench.analysis.settings import Settings
from workbench.errors import NothingToDoError, UsageError
from workbench.model.verdict import Reading, Word
from workbench.panel.fleet import SignalInfo

HOSTS, DAYS = 48, 6
MINUTES = DAYS * 1440
EPISODES = 40


@pytest.fixture(scope="module")
def load() -> np.ndarray:
    """Load of each host, wandering over hours."""
    white = np.random.default_rng(2).normal(size=(HOSTS, MINUTES))
    return np.asarray(lfilter([0.1], [1.0, -0.995], white, axis=1))


@pytest.fixture(scope="module")
def moments(load) -> tuple[np.ndarray, np.ndarray]:
    """Hosts and minutes of 40 failures, a day at least between those of a host; the more loaded fail more."""
    rng = np.random.default_rng(1)
    minute = np.sort(rng.choice(np.arange(900, MINUTES - 120, 60), EPISODES, replace=False))
    host, last = [], np.full(HOSTS, -(10**6))
    for m in minute:
        free = np.flatnonzero(m - last > 1500)
        weight = np.exp(2.0 * (load[free, m - 60 : m].mean(axis=1) - load[free, m - 360 : m - 120].mean(axis=1)))
        host.append(int(rng.choice(free, p=weight / weight.sum())))
        last[host[-1]] = m
    return np.array(host), minute


def incidents_of(moments, *, late_s: float = 0.0):
    return [incident(f"c/n{h:03d}", int(m), late_s=late_s) for h, m in zip(*moments, strict=True)]


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(HOSTS, MINUTES))


def moved(seed: int, moments, *, first: int, last: int, size: float = 3.0, share: float = 1.0) -> np.ndarray:
    """Noise that moves from ``first`` to ``last`` minutes after the failures (negative: before)."""
    values = noise(seed)
    rng = np.random.default_rng(seed + 1000)
    for h, m in zip(*moments, strict=True):
        if rng.random() < share:
            values[h, m + first : m + last] += size
    return values


def run(signals, moments, *, before_s=7200.0, settings=None, late_s=0.0, **fleet):
    made = small_fleet(signals, hosts=HOSTS, minutes=MINUTES, **fleet)
    return screen([made], incidents_of(moments, late_s=late_s), "xid:79", before_s=before_s, seed=7, settings=settings)


def by_name(result):
    return {verdict.signal: verdict for verdict in result.verdicts}


@pytest.fixture(scope="module")
def result(moments, load):
    wave = noise(61) * 0.3
    for m in moments[1]:
        wave[:, m - 60 : m] += 3.0  # the whole fleet at once
    bursts = np.random.default_rng(62).poisson(0.01, size=(HOSTS, MINUTES)).astype(float)
    for h, m in zip(*moments, strict=True):
        if np.random.default_rng(m).random() < 0.6:
            bursts[h, m - 40 : m - 30] += np.random.default_rng(m).poisson(1.0, size=10)
    lost = noise(63)
    lost[:, ::3] = np.nan
    lost[:, 1::3] = np.nan
    signals = {
        "precursor": moved(51, moments, first=-60, last=0, share=0.7),
        "copy": moved(51, moments, first=-60, last=0, share=0.7) + lfilter([0.6], [1.0, -0.9], noise(52), axis=1),
        "spread": noise(53),
        "after": moved(54, moments, first=-4, last=40, size=6.0),
        "follows load": 3.0 * load + noise(55),
        "fleet wave": wave,
        "same everywhere": np.tile(noise(56)[:1], (HOSTS, 1)),
        "constant": np.full((HOSTS, MINUTES), 3.0),
        "event": bursts,
        "unobserved": lost,
        **{f"noise {k}": noise(70 + k) for k in range(10)},
    }
    for h, m in zip(*moments, strict=True):
        if np.random.default_rng(m + 1).random() < 0.6:
            signals["spread"][h, m - 50 : m] *= 3.0
    infos = tuple(
        SignalInfo(name=name, kind="event" if name == "event" else "metric", scope="host", interval_s=60.0)
        for name in signals
    )
    return run(signals, moments, infos=infos, confounders={"load": load}, late_s=300.0)


@pytest.mark.parametrize(
    ("signal", "reading"),
    [
        ("precursor", Reading.PRECURSOR),
        ("spread", Reading.PRECURSOR),
        ("event", Reading.PRECURSOR),
        ("after", Reading.CONSEQUENCE),
        ("follows load", Reading.CONFOUNDED),
        ("fleet wave", Reading.COINCIDENCE),
        ("same everywhere", Reading.COINCIDENCE),
        ("constant", Reading.NOT_OBSERVED),
        ("unobserved", Reading.NOT_OBSERVED),
    ],
)
def test_each_truth_has_its_reading(result, signal, reading):
    verdict = by_name(result)[signal]
    assert verdict.reading is reading, (verdict.reading_text, verdict.details)


def test_what_the_readings_are_about(result):
    verdicts = by_name(result)
    assert verdicts["copy"].reading_text == "proxy of precursor"
    assert verdicts["follows load"].about == "load"
    assert verdicts["same everywhere"].about == "no unexposed controls"
    assert not any(v.word is Word.SUPPORTED for name, v in verdicts.items() if name.startswith("noise"))


def test_numbers_of_a_precursor(result):
    verdict = by_name(result)["precursor"]
    assert verdict.direction == "up"
    assert verdict.checks == dict.fromkeys(
        ("guard", "placebo", "leave_one_out", "crossover", "reversed_time", "proxy"), "passed"
    )
    assert verdict.effect.low <= 0.7 <= verdict.effect.high
    assert verdict.lead.quality == "step"
    assert verdict.lead.low <= 3600 <= verdict.lead.high
    assert verdict.effect.shift_low < 0.7 * 3.0 * 0.97 < verdict.effect.shift_high * 3  # in sd of a mean of ten
    assert abs(verdict.effect.shift_conditional_sd) <= abs(verdict.effect.shift_sd) * 1.001
    assert EPISODES - 5 <= verdict.episodes <= EPISODES  # some share a rack within an hour
    assert (verdict.observed.cases, verdict.observed.controls) == (verdict.episodes, 10 * verdict.episodes)
    assert verdict.details["guard_s"] == 360.0  # 300 of the outcome, 60 of the signal
    assert verdict.tested == result.tested == 17  # not: same everywhere, constant, unobserved
    assert "caus" not in " ".join(v.sentence for v in result.verdicts)


def test_supported_come_first_then_p(result):
    words = [verdict.reading is Reading.PRECURSOR for verdict in result.verdicts]
    assert words == sorted(words, reverse=True)
    p = [v.p for v in result.verdicts if v.reading is not Reading.PRECURSOR and np.isfinite(v.p)]
    assert p == sorted(p)


def test_result_explains_itself(result):
    table = result.table()
    assert table.height == len(result) == 20
    assert table["rank"].to_list() == list(range(1, 21))
    html = result._repr_html_()
    assert len(html.encode()) < 100_000
    assert "<script" not in html
    figure = result.plot()
    assert "precursor" in str(figure.data[0].y)
    assert result.provenance.parameters["before_s"] == 7200.0
    result.provenance.to_json()


def test_one_device_carries_nothing(moments):
    """All of the signal's movement stands before the failures of one host."""
    minute = np.arange(900, 900 + 8 * 1000, 1000)
    lemon = (np.full(8, 5), minute)
    everyone = (
        np.concatenate([moments[0][moments[0] != 5], lemon[0]]),
        np.concatenate([moments[1][moments[0] != 5], minute]),
    )
    values = noise(90)
    for m in minute:
        values[5, m - 60 : m] += 12.0
    verdict = by_name(run({"lemon": values, **{f"n{k}": noise(91 + k) for k in range(3)}}, everyone))["lemon"]
    assert verdict.word is not Word.SUPPORTED
    assert verdict.checks["leave_one_out"] == "failed"
    assert "c/n005" in verdict.about or "rack" in verdict.about


def test_one_epoch_is_coincidence(moments):
    """Twelve of forty failures fall in one epoch, and the signal moves before those alone."""
    host, minute = moments[0][:28], moments[1][:28]
    start = int(minute.max()) + 800
    epoch = (
        np.concatenate([host, np.arange(0, 48, 8), np.arange(1, 49, 8)]),
        np.concatenate([minute, start + np.arange(12) * 3 + 65 * (np.arange(12) >= 6)]),
    )
    epoch = tuple(part[epoch[1] < MINUTES - 70] for part in epoch)
    values = noise(95)
    for h, m in zip(*epoch, strict=True):
        if m >= start:
            values[h, m - 60 : m] += 4.0
    verdict = by_name(run({"epoch": values, **{f"n{k}": noise(96 + k) for k in range(3)}}, epoch))["epoch"]
    assert verdict.word is not Word.SUPPORTED
    assert verdict.checks["leave_one_out"] == "failed"


def test_the_answer_does_not_depend_on_order_or_workers(moments):
    from concurrent.futures import ThreadPoolExecutor

    signals = {
        "precursor": moved(51, moments, first=-60, last=0, share=0.4),
        **{f"n{k}": noise(70 + k) for k in range(4)},
    }
    turned = dict(reversed(signals.items()))
    one = by_name(run(signals, moments))
    fleet = small_fleet(turned, hosts=HOSTS, minutes=MINUTES)
    with ThreadPoolExecutor(2) as pool:
        result = screen([fleet], incidents_of(moments)[::-1], "xid:79", before_s=7200.0, seed=7, mapper=pool.map)
    two = by_name(result)
    assert {n: (v.p, v.q, v.sentence) for n, v in one.items()} == {n: (v.p, v.q, v.sentence) for n, v in two.items()}


def test_a_shift_of_all_times_shifts_nothing(moments):
    signals = {"precursor": moved(51, moments, first=-60, last=0, share=0.4), "n": noise(70)}
    later = small_fleet(signals, hosts=HOSTS, minutes=MINUTES)
    day_us = 86_400_000_000
    later = replace(later, ts_us=later.ts_us + day_us)
    moved_incidents = [incident(f"c/n{h:03d}", int(m) + 1440) for h, m in zip(*moments, strict=True)]
    one = by_name(run(signals, moments))
    two = by_name(screen([later], moved_incidents, "xid:79", before_s=7200.0, seed=7))
    assert {n: (v.p, v.z if hasattr(v, "z") else v.bound_u) for n, v in one.items()} == {
        n: (v.p, v.bound_u) for n, v in two.items()
    }


def test_inputs_are_untouched(moments):
    values = moved(51, moments, first=-60, last=0)
    values[3, 100:200] = np.nan
    before = values.copy()
    run({"precursor": values}, moments)
    assert np.array_equal(values, before, equal_nan=True)


def test_a_guard_as_long_as_the_window_is_said(moments):
    verdict = by_name(run({"n": noise(70)}, moments, late_s=7200.0))["n"]
    assert verdict.reading is Reading.NOT_OBSERVED
    assert verdict.about == "the guard leaves nothing of the window"


def test_few_episodes_and_none(moments):
    few = tuple(part[:3] for part in moments)
    verdict = by_name(run({"precursor": moved(51, few, first=-60, last=0, size=6.0)}, few))["precursor"]
    assert verdict.word is Word.UNDECIDED
    elsewhere = [incident("other/x001", 1000)]
    fleet = small_fleet({"n": noise(70)}, hosts=HOSTS, minutes=MINUTES)
    nobody = screen([fleet], elsewhere, "xid", before_s=7200.0, seed=1).verdicts[0]
    assert (nobody.reading, nobody.episodes) == (Reading.NOT_ENOUGH, 0)
    assert "no incident lies on" in nobody.sentence


def test_one_host_has_no_unexposed_controls():
    values = np.random.default_rng(1).normal(size=(1, 3000))
    fleet = small_fleet({"n": values}, hosts=1, minutes=3000)
    verdict = screen(
        [fleet], [incident("c/n000", 1000), incident("c/n000", 2000)], "xid", before_s=7200.0, seed=1
    ).verdicts[0]
    assert verdict.reading_text == "coincidence: no unexposed controls"


def test_hostile_values_are_gaps(moments):
    values = moved(51, moments, first=-60, last=0)
    rng = np.random.default_rng(5)
    for bad in (np.nan, np.inf, -np.inf, 1e300, -1.7e308):
        values[rng.integers(0, HOSTS, 300), rng.integers(0, MINUTES, 300)] = bad
    name = "<script>alert(1)</script>'; drop table samples"
    result = run({name: values, "empty": np.full((HOSTS, MINUTES), np.nan), "n": noise(70)}, moments)
    verdicts = by_name(result)
    assert verdicts[name].reading is Reading.PRECURSOR
    assert verdicts["empty"].reading is Reading.NOT_OBSERVED
    assert "<script" not in result._repr_html_()


def test_what_was_merged_and_dropped_is_told(moments):
    host, minute = moments
    extra = [
        incident(f"c/n{int(host[0]) // 8 * 8 + (int(host[0]) + 1) % 8:03d}", int(minute[0]) + 20),
        incident("x/y", 2000),
    ]
    fleet = small_fleet({"n": noise(70)}, hosts=HOSTS, minutes=MINUTES)
    one = screen([fleet], incidents_of(moments), "xid", before_s=7200.0, seed=1).verdicts[0]
    two = screen([fleet], incidents_of(moments) + extra, "xid", before_s=7200.0, seed=1).verdicts[0]
    assert two.incidents == one.incidents + 1
    assert two.details["incidents_elsewhere"] == 1
    assert two.details["incidents_merged"] == one.details["incidents_merged"] + 1
    assert two.details["found_here"] is True
    assert two.details["overlapping_pairs_per_set"] < 15


def test_wrong_use_is_said():
    fleet = small_fleet({"n": np.zeros((2, 10))}, hosts=2, minutes=10)
    found = [incident("c/n000", 5)]
    with pytest.raises(UsageError, match="window"):
        screen([fleet], found, "xid", before_s=0.0, seed=1)
    with pytest.raises(UsageError, match="seed"):
        screen([fleet], found, "xid", before_s=60.0, seed=-1)
    with pytest.raises(NothingToDoError, match="No incident"):
        screen([fleet], [], "xid", before_s=60.0, seed=1)
    with pytest.raises(NothingToDoError, match="No signal"):
        screen([], found, "xid", before_s=60.0, seed=1)


def test_long_windows_scale(moments):
    """A window of 12 hours on a grid of 6 minutes: the same shapes, six times as long."""
    rng = np.random.default_rng(3)
    cells, hosts = 4000, 48
    host = np.tile(np.arange(hosts), 2)[:60]
    cell = np.linspace(500, 3800, 60).astype(int)
    values = rng.normal(size=(hosts, cells))
    for h, c in zip(host, cell, strict=True):
        values[h, c - 60 : c] += 1.5  # six hours
    fleet = small_fleet(
        {"slow": values, "n": rng.normal(size=(hosts, cells))}, hosts=hosts, minutes=cells, step_s=360.0
    )
    found = [incident(f"c/n{h:03d}", int(c) * 6) for h, c in zip(host, cell, strict=True)]
    result = screen([fleet], found, "xid", before_s=43_200.0, seed=1)
    slow = by_name(result)["slow"]
    assert slow.reading is Reading.PRECURSOR
    assert slow.lead.low <= 6 * 3600 <= slow.lead.high
    assert by_name(result)["n"].word is not Word.SUPPORTED
    assert slow.episodes + round(slow.details.get("sets_dropped", 0)) >= 50


def test_gpu_scope_finds_what_moves_on_one_gpu_only():
    rng = np.random.default_rng(4)
    hosts, gpus, minutes = 16, 4, 8000
    values = rng.normal(size=(hosts * gpus, minutes))
    row = rng.integers(0, hosts * gpus, 30)
    minute = np.linspace(600, 7800, 30).astype(int)
    for r, m in zip(row, minute, strict=True):
        values[r, m - 45 : m] += 2.5
    fleet = small_fleet({"gpu.x": values}, hosts=hosts, minutes=minutes, gpus=gpus, rack_size=4)
    found = [incident(f"c/n{r // gpus:03d}/gpu:{r % gpus}", int(m)) for r, m in zip(row, minute, strict=True)]
    verdict = screen([fleet], found, "xid", before_s=7200.0, seed=1).verdicts[0]
    assert verdict.scope == "gpu"
    assert verdict.reading is Reading.PRECURSOR


def test_a_hand_picked_claim_is_a_candidate_at_most(moments):
    values = moved(51, moments, first=-60, last=0)
    verdict = by_name(run({"picked": values}, moments, settings=Settings(family_known=False)))["picked"]
    assert verdict.reading is Reading.FOUND_HERE
    assert verdict.word is Word.UNDECIDED
