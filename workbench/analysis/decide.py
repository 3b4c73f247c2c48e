"""From evidence to a reading: the rules of judgement, as one pure function.

Precedence, first that holds:

1. no test was possible: **not observed**, **coincidence** ("no unexposed controls") or
   **not enough episodes**, as the examination says; a coverage below one half is not observed;
2. the adjusted test passes BH at 5 %:
   a. the design cannot carry a claim (one occurrence, say): the reading that the examination names;
      fewer than five usable episodes (or the fewest of its scope): **coincidence** ("too few
      independent episodes");
   b. leaving out one block of time undoes it: **coincidence** ("one epoch carries it");
   c. another check fails: **unstable**, naming it;
   d. it vanishes beside a signal that is already SUPPORTED: **proxy**;
   e. the family is not known: **found here**;
   f. it passes BY and every check was done and passed: **precursor**;
   g. else **candidate**, saying what is missing;
3. nothing is left of it (p > .1) and time matching alone passes BH and a recorded confounder takes
   it away: **confounded**;
4. the same, and it passes BH without the guard and the time after the outcome dominates:
   **consequence**;
5. the same, and own other moments pass BH: **coincidence** (strong without same-minute controls,
   gone with them);
6. U < 1/3, p > .1, coverage of .9: **no effect above U**;
7. else **not enough episodes**.

2 comes before 3 and 4 because what stands after the guard and beside what was recorded is not
refuted by a weaker comparison. 3 comes before 4 because it rests on data from before the guard,
which a consequence cannot touch. 5 comes before 6 because same-minute controls are blind to what
moves the whole fleet, so they cannot refute it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.analysis.checks import EPOCH, FAILED, NOT_DONE, PASSED
from workbench.analysis.evidence import NEEDED, Evidence
from workbench.analysis.settings import Settings
from workbench.model.verdict import Reading

__all__ = ["Corrected", "Decision", "check_states", "decide"]


@dataclass(frozen=True, kw_only=True)
class Corrected:
    """P-values of one signal, corrected over everything tested. NaN: no test.

    Attributes
    ----------
    q : float
        Benjamini-Yekutieli.
    q_candidate, q_time, q_unguarded, q_crossover : float
        Benjamini-Hochberg, of the adjusted test and of those beside it.
    """

    q: float = math.nan
    q_candidate: float = math.nan
    q_time: float = math.nan
    q_unguarded: float = math.nan
    q_crossover: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A reading, and what it is about."""

    reading: Reading
    about: str = ""


def decide(evidence: Evidence, corrected: Corrected, settings: Settings, *, proxy_of: str | None = None) -> Decision:
    """Read the evidence of one signal; see the precedence at the top of this module.

    Parameters
    ----------
    evidence : Evidence
    corrected : Corrected
    settings : Settings
    proxy_of : str, optional
        The SUPPORTED signal beside which this one vanishes.

    Examples
    --------
    >>> from workbench.panel.fleet import SignalInfo
    >>> info = SignalInfo(name="gpu.power_w", kind="metric", scope="gpu")
    >>> seen = Evidence(info=info, scope="gpu", incidents=200, episodes=150, sets=150, coverage=0.97, p=0.6, bound_u=0.2)
    >>> decide(seen, Corrected(q=1.0, q_candidate=1.0), Settings()).reading
    <Reading.NO_EFFECT: 'no effect above U'>
    """
    if evidence.blocked is not None:
        return Decision(reading=Reading(evidence.blocked.reading), about=evidence.blocked.why)
    if not evidence.coverage >= settings.least_coverage:
        return Decision(
            reading=Reading.NOT_OBSERVED, about=f"{evidence.coverage:.0%} of the window cells were observed"
        )
    if corrected.q_candidate <= settings.alpha:
        return _found(evidence, corrected, settings, proxy_of)
    return _not_found(evidence, corrected, settings)


def _found(evidence: Evidence, corrected: Corrected, settings: Settings, proxy_of: str | None) -> Decision:
    undone = [name for name in evidence.needed if name not in evidence.checks or evidence.checks[name].state != PASSED]
    beyond = corrected.q <= settings.alpha
    obstacle = _obstacle(evidence, settings)
    if obstacle is not None:
        return obstacle
    if proxy_of:
        return Decision(reading=Reading.PROXY, about=proxy_of)
    if not settings.family_known:
        return Decision(reading=Reading.FOUND_HERE, about="the number of signals looked at is not known")
    if beyond and not undone:
        return Decision(reading=Reading.PRECURSOR)
    return Decision(
        reading=Reading.CANDIDATE, about=f"not done: {', '.join(undone)}" if beyond else "passes BH, not BY"
    )


def _obstacle(evidence: Evidence, settings: Settings) -> Decision | None:
    """Too few episodes, a design that cannot carry a claim, or a check that fails."""
    if evidence.if_found is not None:
        return Decision(reading=Reading(evidence.if_found.reading), about=evidence.if_found.why)
    if evidence.sets < (evidence.least or settings.least_episodes):
        return Decision(reading=Reading.COINCIDENCE, about="too few independent episodes")
    failed = [name for name, check in evidence.checks.items() if check.state == FAILED]
    if "leave_one_out" in failed and evidence.checks["leave_one_out"].about == EPOCH:
        return Decision(reading=Reading.COINCIDENCE, about=EPOCH)
    if failed:
        about = "; ".join(f"{name} ({evidence.checks[name].about})" for name in failed)
        return Decision(reading=Reading.UNSTABLE, about=about)
    return None


def _not_found(evidence: Evidence, corrected: Corrected, settings: Settings) -> Decision:
    gone = evidence.p > settings.refute_p
    if gone and corrected.q_time <= settings.alpha and evidence.explained_by:
        return Decision(reading=Reading.CONFOUNDED, about=evidence.explained_by)
    backwards = evidence.reversed_unguarded
    if gone and corrected.q_unguarded <= settings.alpha and backwards is not None and backwards.state == FAILED:
        return Decision(reading=Reading.CONSEQUENCE, about="it starts after the outcome, once the guard is honoured")
    if gone and corrected.q_crossover <= settings.alpha:
        return Decision(reading=Reading.COINCIDENCE, about="not seen beside others of the same minute")
    small = evidence.bound_u < settings.refute_below and evidence.p > settings.refute_p
    if small and evidence.coverage >= settings.refute_coverage:
        return Decision(reading=Reading.NO_EFFECT)
    return Decision(reading=Reading.NOT_ENOUGH)


def check_states(evidence: Evidence, corrected: Corrected, settings: Settings, *, proxy: str) -> dict[str, str]:
    """State of every check, each under its own key.

    ``guard`` is passed where the finding stands with the guard, failed where it stands only
    without; what was not asked, because nothing was found, is not done. Procedures of other scopes
    and scales have their own checks, named in ``needed``.
    """
    states = {name: check.state for name, check in evidence.checks.items()}
    if evidence.needed != NEEDED:
        return {**dict.fromkeys(evidence.needed, NOT_DONE), **states, "proxy": proxy}
    if corrected.q_candidate <= settings.alpha:
        guard = PASSED
    else:
        guard = FAILED if corrected.q_unguarded <= settings.alpha else NOT_DONE
    if evidence.reversed_unguarded is not None and "reversed_time" not in states:
        states["reversed_time"] = evidence.reversed_unguarded.state
    ordered = ("placebo", "leave_one_out", "crossover", "reversed_time")
    return {"guard": guard, **{name: states.get(name, NOT_DONE) for name in ordered}, "proxy": proxy}
