"""The matched precursor test of one signal on one set of matched sets."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.design import MatchedSets
from workbench.kernels.features import (
    after_features,
    event_families,
    event_features,
    metric_families,
    metric_features,
)
from workbench.kernels.matched import (
    MatchedScore,
    case_mask,
    centre,
    exact_p,
    inflation,
    matched_score,
    overlapping_pairs,
    winsorise,
)
from workbench.kernels.residual import confounder_columns, residualise
from workbench.kernels.sequential import SequentialP, permutation_p
from workbench.kernels.windows import Windows, cut
from workbench.panel.fleet import Fleet, SignalInfo

__all__ = ["Draws", "MatchedTest", "Source", "coverage_of", "deflation", "draw_key", "matched_test"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

DEFLATE_ABOVE = 1.05
ENUMERATE_BELOW = 20_000  # ways to give the labels that are counted out, not drawn
CONSTANT = 1e-12
LARGEST = 1e100


class Source:
    """Values of one signal, and how features are taken from them.

    Parameters
    ----------
    info : SignalInfo
    values : (entity, time) float64
        NaN: not observed.
    """

    def __init__(self, info: SignalInfo, values: Floats) -> None:
        self.info, self.values = info, np.asarray(values, dtype=np.float64)
        absurd = np.abs(self.values) > LARGEST
        if absurd.any():  # their squares would be infinite
            self.values = np.where(absurd, np.nan, self.values)
        self.is_event = info.kind == "event"
        if self.is_event:
            happened = np.nan_to_num(self.values) > 0
            self._first = np.where(happened.any(axis=1), happened.argmax(axis=1), self.values.shape[1] + 1)

    def families(self, windows: Windows) -> tuple[tuple[str, int], ...]:
        """Family and bin of each feature."""
        return (event_families if self.is_event else metric_families)(windows.bins)

    def features(self, sets: MatchedSets, windows: Windows) -> tuple[Floats, Mask]:
        """Features before each member's moment, and which members are usable."""
        window = cut(self.values, sets.row, sets.end, near=0, far=windows.far)
        if self.is_event:
            return event_features(window, self._first[sets.row], sets.end, windows)
        return metric_features(window, windows)

    def after(self, sets: MatchedSets, windows: Windows, cells: int) -> tuple[Floats, Mask]:
        """Level, spread and peak of the cells after each member's moment."""
        window = cut(self.values, sets.row, sets.end, near=0, far=windows.far)
        later = cut(self.values, sets.row, sets.end, near=-cells, far=0)
        return after_features(later, window, windows)


@dataclass(frozen=True, kw_only=True)
class Draws:
    """How p is drawn: the key (all the randomness there is), where to stop, and the most draws."""

    key: int
    stop_at: int
    most: int


def draw_key(seed: int, *names: str) -> int:
    """Give the key of one signal's draws; it depends on names and seed only, not on order or workers.

    Examples
    --------
    >>> draw_key(7, "host", "gpu.power_w") == draw_key(7, "host", "gpu.power_w")
    True
    """
    text = "\x1f".join([str(seed), *names]).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


@dataclass(frozen=True, eq=False, kw_only=True)
class MatchedTest:
    """The test of one signal on one set of sets.

    Attributes
    ----------
    sets : MatchedSets
        Without the members that were not observed.
    members : (kept,) int64
        Which members of the full sets these are.
    families : tuple of (family, bin)
        What each feature is.
    scores : (member, feature) float64
        Winsorised, not centred.
    centred : (member, feature) float64
    score : MatchedScore
    v : float
        Variance inflation through dependence between sets.
    t : float
        max |z|, divided by sqrt(v) where v is above 1.05.
    p : SequentialP
    shared : bool
        The signal moves, but is the same for every member of each set: the sets say nothing.
    """

    sets: MatchedSets
    members: Indices
    families: tuple[tuple[str, int], ...]
    scores: Floats
    centred: Floats
    score: MatchedScore
    v: float
    t: float
    p: SequentialP
    shared: bool

    @property
    def best(self) -> int:
        """Feature that won."""
        return self.score.best

    @property
    def up(self) -> bool:
        """True where cases lie higher at the winning feature."""
        return bool(self.score.z[self.best] >= 0)

    def on_all_members(self, feature: int, count: int) -> Floats:
        """Scores of one feature on the ``count`` members of the full sets; NaN where left out."""
        full = np.full(count, np.nan)
        full[self.members] = self.scores[:, feature]
        return full

    def z(self, feature: int) -> float:
        """Z of one feature, deflated as T is."""
        return float(self.score.z[feature] / deflation(self.v))


def deflation(v: float) -> float:
    """Divisor of z for dependence between sets: 1 up to v = 1.05, sqrt(v) above."""
    return float(np.sqrt(v)) if v > DEFLATE_ABOVE else 1.0


def coverage_of(source: Source, sets: MatchedSets, windows: Windows) -> float:
    """Share of window and baseline cells that were observed, the lower of cases and controls."""
    if not sets.sets:
        return 0.0
    seen = np.isfinite(cut(source.values, sets.row, sets.end, near=windows.guard, far=windows.far)).mean(axis=1)
    case = case_mask(sets.offsets)
    return float(min(seen[case].mean(), seen[~case].mean()))


def matched_test(
    source: Source, fleet: Fleet, sets: MatchedSets, windows: Windows, *, adjust: bool, draws: Draws
) -> MatchedTest | None:
    """Judge one signal: features, residuals, winsorised scores, T = max |z|, permutation p.

    Parameters
    ----------
    source : Source
    fleet : Fleet
        Racks of the members, for the variance inflation.
    sets : MatchedSets
    windows : Windows
    adjust : bool
        Take what the recorded confounders explain out of the features first.
    draws : Draws
        ``most=0``: no p is drawn (it is 1 then).

    Returns
    -------
    MatchedTest or None
        None where no set is left with a case and two controls observed, or nothing moved.
    """
    features, usable = source.features(sets, windows)
    kept, members = sets.keep(usable)
    if not kept.sets:
        return None
    features = features[members]
    if not (features.std(axis=0) > CONSTANT).any():
        return None
    if adjust and kept.confounders.shape[1]:
        features = residualise(features, confounder_columns(kept.confounders), kept.offsets)
    scores = winsorise(features, ~case_mask(kept.offsets))
    centred = centre(scores, kept.offsets)
    centred[:, np.abs(centred).max(axis=0) <= CONSTANT] = 0.0
    score = matched_score(centred, kept.offsets)
    v = inflation(centred, kept.offsets, _pairs(kept, fleet, windows), score.variance)
    t = score.largest / deflation(v)
    return MatchedTest(
        sets=kept,
        members=members,
        families=source.families(windows),
        scores=scores,
        centred=centred,
        score=score,
        v=v,
        t=t,
        p=_p_of(centred, kept.offsets, t, draws),
        shared=not bool((score.variance > 0).any()),
    )


def _pairs(sets: MatchedSets, fleet: Fleet, windows: Windows) -> tuple[Indices, Indices]:
    """Members of different sets that share a rack (where unknown, a host) while their windows overlap."""
    rack, host = fleet.rack[sets.row], fleet.host[sets.row]
    alone = len(fleet.racks) + np.where(host >= 0, host, len(fleet.hosts) + sets.row)
    group = np.where(rack >= 0, rack, alone)
    reach_us = round(windows.far * fleet.step_s * 1e6)
    return overlapping_pairs(group, sets.time_us, sets.offsets, reach_us)


def _p_of(centred: Floats, offsets: Indices, t: float, draws: Draws) -> SequentialP:
    if draws.most <= 0 or t <= 0:
        return SequentialP(p=1.0, draws=0, exceedances=0)
    if float(np.log(np.diff(offsets)).sum()) <= np.log(ENUMERATE_BELOW):
        return SequentialP(p=exact_p(centred, offsets, t), draws=0, exceedances=0)
    return permutation_p(centred, offsets, t, key=draws.key, most=draws.most, stop_at=draws.stop_at)
