"""Effect, share, lead and alarms of one signal at the feature that won."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.design import MatchedSets
from workbench.analysis.episodes import Cases
from workbench.analysis.precursor import MatchedTest, Source
from workbench.kernels.alarms import AlarmCount, count_alarms, running_feature, upward_crossings
from workbench.kernels.bound import case_differences, control_deviation, upper_bound
from workbench.kernels.clogit import conditional_logit
from workbench.kernels.effect import Share, Shift, affected_share, apart_from_set, mean_shift
from workbench.kernels.lead import lead_time
from workbench.kernels.windows import Windows, bin_statistics, cut
from workbench.model.verdict import Alarms, Lead

__all__ = ["alarms_of", "bound_of", "lead_of", "odds_ratio", "share_of", "shift_of"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

PROFILE_UNITS = 5
LEAST_CELLS = 3  # of a profile bin whose sd is taken
THRESHOLDS = 15
LEAST_HELD_OUT = 10
HIGHEST = 0.9995  # share of the moments that lie below the highest threshold tried
LOWEST = 0.8
DAY_S = 86_400.0
BLOCK_CELLS = 20_000_000  # of values looked at together, so that memory does not grow with the fleet


def shift_of(test: MatchedTest, feature: int) -> Shift:
    """Mean difference of case and controls at one feature, in sd of the controls."""
    return mean_shift(case_differences(test.scores[:, [feature]], test.sets.offsets)[:, 0], test.v)


def bound_of(test: MatchedTest) -> float:
    """U over every feature that can move; infinite where controls never differ in one that does."""
    moved = np.ptp(test.scores, axis=0) > 0
    if not moved.any():
        return float("inf")
    return upper_bound(case_differences(test.scores[:, moved], test.sets.offsets), test.v)


def odds_ratio(test: MatchedTest, feature: int) -> float:
    """Odds ratio per sd of the controls (conditional logit); NaN where cases are separated from controls."""
    sd = float(control_deviation(test.scores[:, [feature]], test.sets.offsets)[0])
    if not np.isfinite(sd) or sd <= 0:
        return float("nan")
    fit = conditional_logit(test.scores[:, [feature]] / sd, test.sets.offsets)
    return float(np.exp(fit.beta[0])) if fit.finite else float("nan")


def share_of(test: MatchedTest) -> Share:
    """Share of episodes affected: the largest score over the bins of the winning family."""
    family = test.families[test.best][0]
    columns = [k for k, (name, _) in enumerate(test.families) if name == family]
    sign = 1.0 if test.up else -1.0
    sd = control_deviation(test.scores[:, columns], test.sets.offsets)
    usable = np.isfinite(sd) & (sd > 0)
    if not usable.any():
        return Share(estimate=float("nan"), low=float("nan"), high=float("nan"))
    scaled = sign * test.scores[:, np.array(columns)[usable]] / sd[usable]
    cases, controls = apart_from_set(scaled, test.sets.offsets)
    return affected_share(cases.max(axis=1), controls.max(axis=1))


def lead_of(test: MatchedTest, source: Source, windows: Windows, *, key: int) -> Lead:
    """How long before the outcome the signal moves, and in what shape."""
    spread = test.families[test.best][0] == "spread"
    width = max(1, round(PROFILE_UNITS * windows.unit))
    width = max(width, LEAST_CELLS) if spread else width
    count = (windows.window - windows.guard) // width
    if count < LEAST_CELLS:
        return Lead()
    profile = _profile(source, test.sets, windows, (width, count), spread=spread) * (1.0 if test.up else -1.0)
    cases, controls = apart_from_set(profile, test.sets.offsets)
    known = np.isfinite(cases).all(axis=1)
    if known.sum() < 2:
        return Lead()
    noise = np.nanstd(controls, axis=0) if np.isfinite(controls).any() else np.ones(count)
    rng = np.random.default_rng(key)
    fit = lead_time(cases[known], noise, spread=spread, rng=rng)
    seconds = [(windows.guard + bins * width) * windows.step_s for bins in (fit.bins, fit.low, fit.high)]
    return Lead(
        median=seconds[0], low=seconds[1], high=min(seconds[2], windows.window * windows.step_s), quality=fit.quality
    )


def _profile(source: Source, sets: MatchedSets, windows: Windows, shape: tuple[int, int], *, spread: bool) -> Floats:
    """(member, bin) differences to the own baseline, oldest bin first; a gap takes the member's mean."""
    width, count = shape
    window = cut(source.values, sets.row, sets.end, near=windows.guard, far=windows.guard + width * count)
    base = cut(source.values, sets.row, sets.end, near=windows.window, far=windows.far)
    bins = bin_statistics(window, tuple((k * width, (k + 1) * width) for k in range(count)))
    usual = bin_statistics(base, ((0, base.shape[1]),))
    values = bins.mean - usual.mean
    if spread:
        known = usual.sd[np.isfinite(usual.sd)]
        soft = 0.1 * float(np.median(known)) + np.finfo(float).tiny if known.size else 1.0
        values = np.log((bins.sd + soft) / (usual.sd + soft))
    seen = np.isfinite(values)
    own = np.where(seen, values, 0.0).sum(axis=1, keepdims=True) / np.maximum(seen.sum(axis=1, keepdims=True), 1)
    return np.where(seen, values, own)


def alarms_of(test: MatchedTest, source: Source, windows: Windows, *, cases: Cases, cells: Indices) -> Alarms:
    """What an alarm on the winning feature does: threshold from the first half of time, measured on the second.

    The feature is looked at every five units. An alarm is an upward crossing, one per entity in W,
    and right where an episode's case falls on the entity within W. NaN with fewer than ten episodes
    in the second half, or none in the first.

    Parameters
    ----------
    cells : (episode,) int64
        Grid cell of each case.
    """
    stride = max(1, round(PROFILE_UNITS * windows.unit))
    rest = max(1, windows.window // stride)
    looks = -(-source.values.shape[1] // stride)
    look = cells // stride
    middle = max(1, int(np.sort(look)[look.size // 2]) - rest) if look.size else 1
    first, second = slice(0, middle), slice(min(looks, middle + rest), looks)
    learnt, held = _events(cases, look, first), _events(cases, look, second)
    if not learnt[0].size or held[0].size < LEAST_HELD_OUT:
        return Alarms()
    values = _running(test, source, windows, stride)
    threshold = _best_threshold(values[:, first], learnt, rest)
    if threshold is None:
        return Alarms()
    later = values[:, second]
    count = _count(later, threshold, held, rest)
    observed_days = float(np.isfinite(later).sum()) * stride * windows.step_s / DAY_S
    return Alarms(
        precision=count.right / count.alarms if count.alarms else float("nan"),
        recall=count.warned / count.episodes,
        false_per_entity_day=(count.alarms - count.right) / observed_days if observed_days else float("nan"),
    )


def _running(test: MatchedTest, source: Source, windows: Windows, stride: int) -> Floats:
    """(entity, look) the winning feature as it runs, in its direction; some entities at a time."""
    family, place = test.families[test.best]
    if family in ("recency", "first"):
        family, place = "any", windows.bins - 1
    width = windows.edges[place + 1] - windows.edges[place]
    some = max(1, BLOCK_CELLS // max(source.values.shape[1], 1))
    blocks = [
        running_feature(source.values[start : start + some], width=width, gap=0, window=windows.window, family=family)[
            :, ::stride
        ].copy()
        for start in range(0, source.values.shape[0], some)
    ]
    return np.concatenate(blocks) * (1.0 if test.up else -1.0)


def _events(cases: Cases, look: Indices, span: slice) -> tuple[Indices, Indices]:
    inside = (look >= span.start) & (look < span.stop)
    return cases.row[inside], look[inside] - span.start


def _best_threshold(values: Floats, events: tuple[Indices, Indices], rest: int) -> float | None:
    known = values[np.isfinite(values)]
    if not known.size:
        return None
    quantiles = 1.0 - np.geomspace(1.0 - HIGHEST, 1.0 - LOWEST, THRESHOLDS)
    best, chosen = 0.0, None
    for threshold in np.unique(np.quantile(known, quantiles)):
        if threshold <= known.min():
            continue
        count = _count(values, float(threshold), events, rest)
        f1 = 2.0 * count.right * count.warned
        f1 /= max(count.alarms * count.warned + count.right * count.episodes, 1)
        if f1 > best:
            best, chosen = f1, float(threshold)
    return chosen


def _count(values: Floats, threshold: float, events: tuple[Indices, Indices], rest: int) -> AlarmCount:
    return count_alarms(upward_crossings(values, threshold, rest=rest), events, least=1, most=rest)
