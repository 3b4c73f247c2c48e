"""From evidence and corrected p-values to verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from workbench.analysis.checks import PASSED
from workbench.analysis.decide import Corrected, check_states, decide
from workbench.analysis.evidence import Evidence
from workbench.analysis.settings import Settings
from workbench.analysis.wording import direction_of, enough_episodes, feature_text, sentence_of
from workbench.kernels.effect import conditional_z
from workbench.model.provenance import Provenance
from workbench.model.verdict import Effect, Observed, Verdict

__all__ = ["Context", "verdict_of"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Context:
    """What all verdicts of one run share.

    Attributes
    ----------
    outcome : str
        Written selector.
    tested : int
        Signals tested beside one another (M).
    passing_p : float
        Largest p that passes BH; NaN where none does.
    settings : Settings
    provenance : Provenance
    found_here : bool
        The signals were looked for on these very rows.
    """

    outcome: str
    tested: int
    passing_p: float
    settings: Settings
    provenance: Provenance
    found_here: bool = False


def verdict_of(
    evidence: Evidence,
    corrected: Corrected,
    context: Context,
    *,
    proxy_of: str | None = None,
    proxy: str = PASSED,
    alike: tuple[str, ...] = (),
) -> Verdict:
    """Decide and say it.

    Parameters
    ----------
    evidence : Evidence
    corrected : Corrected
    context : Context
    proxy_of : str, optional
        SUPPORTED signal beside which this one vanishes.
    proxy : str
        State of the proxy check.
    alike : tuple of str
        Weaker findings from which this one cannot be told apart.
    """
    settings = context.settings
    decision = decide(evidence, corrected, settings, proxy_of=proxy_of)
    return Verdict(
        reading=decision.reading,
        about=decision.about,
        sentence=sentence_of(
            evidence, corrected, decision, outcome=context.outcome, tested=context.tested, settings=settings
        )
        + (f" It cannot be told apart from {', '.join(alike)}." if alike else ""),
        outcome=context.outcome,
        signal=evidence.info.name,
        kind=evidence.info.kind,
        scope=evidence.scope,
        scale=evidence.scale,
        raw_names=evidence.info.raw_names,
        incidents=evidence.incidents,
        episodes=evidence.episodes,
        tested=context.tested,
        feature=feature_text(evidence),
        direction=direction_of(evidence),
        p=evidence.p,
        q=corrected.q,
        q_candidate=corrected.q_candidate,
        bound_u=evidence.bound_u,
        effect=_effect(evidence, corrected, context),
        lead=evidence.lead,
        alarms=evidence.alarms,
        checks=check_states(evidence, corrected, settings, proxy=proxy),
        observed=Observed(cases=evidence.sets, controls=evidence.controls, coverage=evidence.coverage),
        provenance=context.provenance,
        details={**_details(evidence, corrected, context), "cannot_be_told_from": list(alike)},
    )


def _effect(evidence: Evidence, corrected: Corrected, context: Context) -> Effect:
    found = corrected.q_candidate <= context.settings.alpha
    conditional = math.nan
    if found and evidence.z and math.isfinite(evidence.shift.mean):
        share = conditional_z(evidence.z, _passing_z(evidence, context.passing_p)) / evidence.z
        conditional = evidence.shift.mean * share
    return Effect(
        share_affected=evidence.share.estimate,
        low=evidence.share.low,
        high=evidence.share.high,
        odds_ratio=evidence.odds_ratio,
        odds_ratio_time_matched=evidence.odds_ratio_time,
        shift_sd=evidence.shift.mean,
        shift_low=evidence.shift.low,
        shift_high=evidence.shift.high,
        shift_conditional_sd=conditional,
    )


def _passing_z(evidence: Evidence, passing_p: float) -> float:
    """|z| that was needed to pass, over as many features as really differ."""
    from scipy.special import ndtri

    if not passing_p > 0:
        return math.inf
    return -float(ndtri(min(0.5, passing_p / (2.0 * max(1.0, evidence.effective)))))


def _details(evidence: Evidence, corrected: Corrected, context: Context) -> dict[str, Any]:
    """Evidence in plain JSON values; a number that is not there is None."""
    checks = {
        name: {"state": check.state, "about": check.about, **_plain(check.numbers)}
        for name, check in evidence.checks.items()
    }
    if evidence.reversed_unguarded is not None:
        check = evidence.reversed_unguarded
        checks["reversed_time_without_guard"] = {"state": check.state, "about": check.about, **_plain(check.numbers)}
    numbers = {
        "guard_s": evidence.guard_s,
        "t": evidence.t,
        "z": evidence.z,
        "variance_inflation": evidence.v,
        "draws": float(evidence.draws),
        "p_time_matched": evidence.p_time,
        "p_without_guard": evidence.p_unguarded,
        "p_own_other_moments": evidence.p_crossover,
        "shift_time_matched_sd": evidence.shift_time.mean,
        "sets_used": float(evidence.sets),
        **evidence.notes,
        **{name: value for name, value in asdict(corrected).items() if name != "q"},
    }
    return {
        **_plain(numbers),
        "checks": checks,
        "window_s": [None if math.isnan(edge) else edge for edge in (evidence.near_s, evidence.far_s)],
        "family": evidence.family,
        "found_here": context.found_here,
        "episodes_needed": enough_episodes(max(context.tested, 1), context.settings),
    }


def _plain(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}
