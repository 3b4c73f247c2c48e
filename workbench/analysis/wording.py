"""Verdicts in words. None of them says that anything causes anything."""

from __future__ import annotations

import math

from workbench.analysis.decide import Corrected, Decision
from workbench.analysis.evidence import Evidence
from workbench.analysis.settings import Settings
from workbench.kernels.bound import episodes_needed
from workbench.kernels.multiplicity import harmonic
from workbench.model.verdict import Reading

__all__ = ["direction_of", "enough_episodes", "feature_text", "sentence_of", "span_text"]

MANY_EPISODES = 50  # below this an estimate that was selected may be twice the truth
PLANNED_SHIFT_SD = 2.0

_SPANS = ((86_400.0, "d", 3), (3600.0, "h", 10), (60.0, "min", 3))
_MOVES = {
    "level": ("is higher", "is lower"),
    "spread": ("varies more", "varies less"),
    "peak": ("peaks higher", "peaks lower"),
    "any": ("occurs more often", "occurs less often"),
    "recency": ("has occurred more recently", "has occurred less recently"),
    "first": ("occurs for the first time ever", "occurs for the first time ever less often"),
}
_NAMES = {
    "any": "any event",
    "recency": "time since the last event",
    "first": "first event ever",
}


def span_text(near_s: float, far_s: float) -> str:
    """Write a span before the outcome.

    Examples
    --------
    >>> span_text(660, 1260), span_text(0, 7 * 86400), span_text(0.5, 12.5)
    ('11 to 21 min before', '0 to 7 d before', '0.5 to 12.5 s before')
    """
    for size, unit, least in _SPANS:
        if far_s >= least * size:
            return f"{_short(near_s / size)} to {_short(far_s / size)} {unit} before"
    return f"{_short(near_s)} to {_short(far_s)} s before"


def feature_text(evidence: Evidence) -> str:
    """Name what moved, such as ``level, 11 to 21 min before``; "" without a test."""
    if evidence.feature or not evidence.family:
        return evidence.feature
    name = _NAMES.get(evidence.family, evidence.family)
    if evidence.info.kind == "event" and evidence.family == "level":
        name = "rate of events"
    return f"{name}, {span_text(evidence.near_s, evidence.far_s)}"


def direction_of(evidence: Evidence) -> str:
    """``up`` or ``down``; "" without a test."""
    return ("up" if evidence.up else "down") if evidence.family or evidence.feature else ""


def enough_episodes(tested: int, settings: Settings) -> dict[str, int]:
    """Episodes that would find a signal that moves by 2 sd before 60 and before 30 % of them (BY, 80 %)."""
    alpha = settings.alpha / (tested * harmonic(tested)) if tested else settings.alpha
    return {
        f"share_{share:.0%}": math.ceil(
            episodes_needed(share, PLANNED_SHIFT_SD, alpha=alpha, controls=float(settings.controls))
        )
        for share in (0.6, 0.3)
    }


def sentence_of(
    evidence: Evidence, corrected: Corrected, decision: Decision, *, outcome: str, tested: int, settings: Settings
) -> str:
    """Say a verdict in words.

    Parameters
    ----------
    evidence : Evidence
    corrected : Corrected
    decision : Decision
    outcome : str
        Written selector.
    tested : int
        Signals tested beside one another.
    settings : Settings
    """
    name = evidence.info.name
    if decision.reading is Reading.PRECURSOR:
        return f"{_moved(evidence, outcome)} {_odds(evidence, corrected)} It precedes, and is not explained by what was recorded."
    if decision.reading in (Reading.CANDIDATE, Reading.UNSTABLE, Reading.FOUND_HERE, Reading.PROXY):
        return f"{_moved(evidence, outcome)} {_odds(evidence, corrected)} {_but(decision)}"
    if decision.reading is Reading.NO_EFFECT:
        return (
            f"{name} shows no effect of {evidence.bound_u:.2f} sd or more by itself before {outcome}: odds ratio per sd "
            f"below {math.exp(evidence.bound_u):.2f}, over {evidence.sets} episodes. What acts only together with "
            "something else is not excluded."
        )
    if decision.reading is Reading.NOT_ENOUGH:
        return _not_enough(evidence, decision, outcome=outcome, tested=tested, settings=settings)
    return _other(evidence, decision, outcome)


def _other(evidence: Evidence, decision: Decision, outcome: str) -> str:
    name = evidence.info.name
    if decision.reading is Reading.NOT_OBSERVED:
        return f"{name} was not observed well enough before {outcome}: {decision.about}."
    if decision.reading is Reading.CONSEQUENCE:
        return f"{name} moves with {outcome}, but {decision.about}."
    if decision.reading is Reading.CONFOUNDED:
        return (
            f"{name} differs from others of the same minute before {outcome}, but no longer from others with the same "
            f"{decision.about}."
        )
    return f"{name} before {outcome} may be coincidence: {decision.about}."


def _moved(evidence: Evidence, outcome: str) -> str:
    if evidence.moved:
        return evidence.moved
    higher, lower = _MOVES[evidence.family]
    move = higher if evidence.up else lower
    shift = ""
    if math.isfinite(evidence.shift.mean):
        shift = f", by {evidence.shift.mean:+.1f} sd on average"
    return (
        f"Against its own past, {evidence.info.name} {move} {span_text(evidence.near_s, evidence.far_s)} {outcome} than "
        f"{evidence.controls} controls of the same minute{shift} ({evidence.sets} episodes)."
    )


def _odds(evidence: Evidence, corrected: Corrected) -> str:
    text = f"p = {evidence.p:.3g}, q = {corrected.q:.3g} over everything tested."
    if evidence.sets < MANY_EPISODES:
        text += f" With {evidence.sets} episodes the size is probably overestimated, up to twofold."
    return text


def _but(decision: Decision) -> str:
    if decision.reading is Reading.UNSTABLE:
        return f"It does not stand every check: {decision.about}."
    if decision.reading is Reading.PROXY:
        return f"Beside {decision.about} nothing is left of it."
    if decision.reading is Reading.FOUND_HERE:
        return "It was found in these same rows by looking; later data must confirm it."
    return f"It is a candidate, not more: {decision.about}."


def _not_enough(evidence: Evidence, decision: Decision, *, outcome: str, tested: int, settings: Settings) -> str:
    if decision.about:
        return f"Nothing can be said of {evidence.info.name} before {outcome}: {decision.about}."
    needed = enough_episodes(max(tested, 1), settings)
    would = ", ".join(
        f"before {share} % of episodes ({evidence.sets} are here, about {count} find it)"
        if count > evidence.sets
        else f"before {share} % of episodes would have been found with these"
        for share, count in ((60, needed["share_60%"]), (30, needed["share_30%"]))
    )
    size = f"{evidence.bound_u:.2f} sd" if math.isfinite(evidence.bound_u) else "any size"
    return (
        f"{evidence.info.name} before {outcome} stays open: p = {evidence.p:.2g}, effects up to {size} are possible with "
        f"{evidence.sets} episodes. A move of 2 sd {would}."
    )


def _short(value: float) -> str:
    return f"{value:.3g}"
