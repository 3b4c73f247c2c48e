"""All that was measured of one signal, before anything is corrected or decided."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.checks import Check
from workbench.kernels.effect import Share, Shift
from workbench.model.verdict import Alarms, Lead
from workbench.panel.fleet import SignalInfo

__all__ = ["NEEDED", "Blocked", "Evidence", "Standing"]

#: Checks of the host and GPU screen that must be done and passed before anything is SUPPORTED.
NEEDED = ("placebo", "leave_one_out", "crossover")

NOTHING = Shift(mean=math.nan, low=math.nan, high=math.nan, error=math.nan)


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """Why no test was possible: ``not observed``, ``coincidence`` or ``not enough``, and in words."""

    reading: str
    why: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Standing:
    """Scores of a finding on sets that all findings of its fleet share: for the proxy check.

    Attributes
    ----------
    scores : (member,) float64
        NaN: not observed.
    offsets : (set + 1,) int64
    """

    scores: NDArray[np.float64]
    offsets: NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """All that was measured of one signal. NaN: not measured.

    Attributes
    ----------
    info : SignalInfo
    scope : str
        Of the fleet.
    incidents, episodes, sets, controls : int
        Incidents on this scope, episodes with a case, sets that could be used, controls in them.
    guard_s : float
    coverage : float
        Share of window cells observed, the lower of cases and controls.
    blocked : Blocked or None
        Why there is no test.
    p, t, z, v, draws : float
        Of the adjusted test; ``z`` at the winning feature.
    p_time, p_unguarded, p_crossover : float
        Time matched only; adjusted but without guard; own other moments.
    family, near_s, far_s, up : what moved, where (seconds before the outcome), and which way
    effective : float
        Features that differ, of those tested.
    shift, shift_time : Shift
        At the winning feature of the adjusted test; at that of the time-matched one.
    bound_u, odds_ratio, odds_ratio_time : float
    explained_by : str
        Confounder that takes a time-matched finding away; "": none does.
    reversed_unguarded : Check or None
        Reversed time at the winning feature of the test without guard.
    checks : mapping
        Only for signals with p up to alpha: no other can be found.
    standing : Standing or None
    notes : mapping of str to float
        Sets and draws in numbers.
    scale : str
        ``seconds``, ``hours``, ``days``, ``change`` or ``recurrence``: which procedure measured it.
    needed : tuple of str
        Checks that must be done and passed before it is SUPPORTED.
    least : int
        Fewest units that can be SUPPORTED; 0: those of the settings.
    if_found : Blocked or None
        Reading where p passes although the design cannot carry a claim, such as one occurrence.
    feature, moved : str
        What moved, and the sentence that says so; "": written from ``family`` and the window.
    """

    info: SignalInfo
    scope: str
    incidents: int
    episodes: int
    sets: int = 0
    controls: int = 0
    guard_s: float = math.nan
    coverage: float = math.nan
    blocked: Blocked | None = None
    p: float = math.nan
    t: float = math.nan
    z: float = math.nan
    v: float = math.nan
    draws: int = 0
    p_time: float = math.nan
    p_unguarded: float = math.nan
    p_crossover: float = math.nan
    family: str = ""
    near_s: float = math.nan
    far_s: float = math.nan
    up: bool = True
    effective: float = math.nan
    shift: Shift = NOTHING
    shift_time: Shift = NOTHING
    bound_u: float = math.inf
    odds_ratio: float = math.nan
    odds_ratio_time: float = math.nan
    share: Share = field(default_factory=lambda: Share(estimate=math.nan, low=math.nan, high=math.nan))
    lead: Lead = field(default_factory=Lead)
    alarms: Alarms = field(default_factory=Alarms)
    explained_by: str = ""
    reversed_unguarded: Check | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    standing: Standing | None = None
    notes: Mapping[str, float] = field(default_factory=dict)
    scale: str = "hours"
    needed: tuple[str, ...] = NEEDED
    least: int = 0
    if_found: Blocked | None = None
    feature: str = ""
    moved: str = ""
