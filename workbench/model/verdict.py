"""The answer to one claim: one of three words, a reading that says why, and the evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from workbench.model.provenance import Provenance

__all__ = ["Alarms", "Effect", "Lead", "Observed", "Reading", "Verdict", "Word"]


class Word(StrEnum):
    """The three words."""

    SUPPORTED = "SUPPORTED"
    REFUTED = "REFUTED"
    UNDECIDED = "UNDECIDED"


class Reading(StrEnum):
    """Why; each belongs to one word (DESIGN section 6)."""

    PRECURSOR = "precursor"
    CANDIDATE = "candidate"
    UNSTABLE = "unstable"
    FOUND_HERE = "found here"
    CONSEQUENCE = "consequence"
    PROXY = "proxy"
    CONFOUNDED = "confounded"
    COINCIDENCE = "coincidence"
    NO_EFFECT = "no effect above U"
    NOT_ENOUGH = "not enough episodes"
    NOT_OBSERVED = "not observed"

    @property
    def word(self) -> Word:
        """The word that this reading goes with."""
        if self is Reading.PRECURSOR:
            return Word.SUPPORTED
        refuted = (Reading.CONSEQUENCE, Reading.CONFOUNDED, Reading.NO_EFFECT)
        return Word.REFUTED if self in refuted else Word.UNDECIDED


@dataclass(frozen=True, kw_only=True)
class Effect:
    """How large. NaN: not estimated.

    Attributes
    ----------
    share_affected, low, high : float
        Share of episodes before which the signal moved, with its 95 % bounds.
    odds_ratio, odds_ratio_time_matched : float
        Per standard deviation; adjusted for what was recorded, and with time matching alone.
    shift_sd, shift_low, shift_high : float
        Mean difference of case and controls in sd of the controls, +- 2.87 standard errors.
    shift_conditional_sd : float
        The same, corrected for having been selected (conditional likelihood).
    """

    share_affected: float = math.nan
    low: float = math.nan
    high: float = math.nan
    odds_ratio: float = math.nan
    odds_ratio_time_matched: float = math.nan
    shift_sd: float = math.nan
    shift_low: float = math.nan
    shift_high: float = math.nan
    shift_conditional_sd: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Lead:
    """How long before, in seconds; quality is ``burst``, ``ramp`` or ``step``. NaN: not known."""

    median: float = math.nan
    low: float = math.nan
    high: float = math.nan
    quality: str = ""


@dataclass(frozen=True, kw_only=True)
class Alarms:
    """What an alarm on it would do at the base rate; NaN: not measured."""

    precision: float = math.nan
    recall: float = math.nan
    false_per_entity_day: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What was looked at.

    Attributes
    ----------
    cases, controls : int
        Members that entered the test.
    coverage : float
        Share of window cells observed, the lower of cases and controls.
    """

    cases: int = 0
    controls: int = 0
    coverage: float = math.nan


@dataclass(frozen=True, eq=False, kw_only=True)
class Verdict:
    """The answer to one claim.

    Attributes
    ----------
    reading : Reading
        Why; ``word`` follows from it.
    sentence : str
        The verdict in words; never says "causes".
    outcome, signal : str
        Written selector; metric id or written selector of the signal.
    kind, scope : str
        ``metric`` or ``event``; ``gpu``, ``host`` ...
    scale : str
        ``seconds``, ``hours``, ``days``, ``change`` or ``recurrence``.
    feature, direction : str
        What moved, in words; ``up`` or ``down``.
    p, q, bound_u : float
        Permutation p; Benjamini-Yekutieli q over everything tested; bound U of the effect in sd.
    q_candidate : float
        Benjamini-Hochberg q.
    checks : mapping of check to ``passed``, ``failed`` or ``not done``
    tested : int
        How many signals were tested beside this one (M).
    details : mapping
        Evidence behind each check, by name; plain JSON values.
    """

    reading: Reading
    sentence: str
    outcome: str
    signal: str
    kind: str
    scope: str
    incidents: int
    episodes: int
    tested: int
    provenance: Provenance
    scale: str = "hours"
    raw_names: tuple[str, ...] = ()
    feature: str = ""
    direction: str = ""
    p: float = math.nan
    q: float = math.nan
    q_candidate: float = math.nan
    bound_u: float = math.nan
    about: str = ""  # X of "proxy of X", "confounded by X", the check that failed
    effect: Effect = field(default_factory=Effect)
    lead: Lead = field(default_factory=Lead)
    alarms: Alarms = field(default_factory=Alarms)
    checks: Mapping[str, str] = field(default_factory=dict)
    observed: Observed = field(default_factory=Observed)
    hypothesis: str | None = None
    digest: str = ""
    ledger_id: str | None = None
    expected: str | None = None
    status: str = "judged"
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def word(self) -> Word:
        """SUPPORTED, REFUTED or UNDECIDED."""
        return self.reading.word

    @property
    def reading_text(self) -> str:
        """The reading with what it is about, such as ``proxy of gpu.power_w``."""
        tail = {Reading.PROXY: " of ", Reading.CONFOUNDED: " by "}.get(self.reading)
        if tail is not None:
            return f"{self.reading.value}{tail}{self.about}"
        return f"{self.reading.value}: {self.about}" if self.about else self.reading.value

    def __repr__(self) -> str:
        return f"{self.word} ({self.reading_text}): {self.sentence}"

    def _repr_html_(self) -> str:
        from workbench.figures.html import card_html

        facts = [("episodes", self.episodes), ("tested", self.tested), ("p", f"{self.p:.3g}"), ("q", f"{self.q:.3g}")]
        facts += [(name, state) for name, state in self.checks.items()]
        return card_html(f"{self.word}: {self.reading_text}", self.sentence, facts=facts)
