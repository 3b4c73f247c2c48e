"""Look at what a claim asks about: measure it once, with the controls that it wants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.hypotheses.question import Question, ask
from workbench.hypotheses.spec import Hypothesis

if TYPE_CHECKING:
    from workbench.analysis.checks import Check
    from workbench.analysis.evidence import Evidence, Standing
    from workbench.analysis.settings import Settings
    from workbench.panel.fleet import SignalInfo
    from workbench.store.store import Store

__all__ = ["Looked", "Task", "look", "settings_for"]

#: Draws reach twenty times below the level that p has to pass.
_RESOLUTION = 20.0
_TWINS = 2  # a case and its two nearest peers: the fewest controls that a set may have


@dataclass(frozen=True, kw_only=True)
class Task:
    """One claim to look at; plain values, so that it can go to another process.

    Attributes
    ----------
    claim : Hypothesis
    seed : int
    level : float
        That p will have to pass, as far as is known beforehand: sets the number of draws.
    known : mapping of rows digest to ledger id
        Rows on which this claim was judged before: then nothing is tested.
    supported : tuple of str
        Signals that are SUPPORTED already for this outcome: the claim must stand beside them.
    """

    claim: Hypothesis
    seed: int
    level: float
    known: Mapping[str, str] = field(default_factory=dict)
    supported: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Looked:
    """What was seen.

    Attributes
    ----------
    rows : str
        Digest of what was read.
    known : str or None
        Ledger id under which these rows were judged before; then there is no evidence.
    evidence : Evidence or None
    beside : mapping of str to Standing
        Of the SUPPORTED signals, where the claim found something.
    not_adjusted : mapping of str to str
    """

    rows: str
    known: str | None = None
    evidence: Evidence | None = None
    beside: Mapping[str, Standing] = field(default_factory=dict)
    not_adjusted: Mapping[str, str] = field(default_factory=dict)


def look(task: Task, store: Store) -> Looked:
    """Read what a claim asks about and measure it; nothing is corrected or decided.

    Raises
    ------
    WorkbenchError
        Where the store does not know a name, or there is nobody to compare.
    """
    claim = task.claim
    question = ask(claim, store)
    if question.rows in task.known:
        return Looked(rows=question.rows, known=task.known[question.rows])
    settings = settings_for(claim, level=task.level)
    (evidence,) = _measured(question, question.fleet.signals, task, settings)
    found = evidence.p <= settings.alpha
    if found:
        evidence = _with_controls(evidence, question, task, settings)
    return Looked(
        rows=question.rows,
        evidence=evidence,
        beside=_beside(question, task, settings) if found else {},
        not_adjusted=question.not_adjusted,
    )


def settings_for(claim: Hypothesis, *, level: float) -> Settings:
    """Give the settings of a claim: what REFUTED must exclude, and draws enough for ``level``.

    Examples
    --------
    >>> claim = Hypothesis(name="a", when={"level": "gpu.power_w"}, then="xid", smallest_effect=0.2)
    >>> settings = settings_for(claim, level=0.001)
    >>> settings.refute_below, settings.tested
    (0.2, 175)
    """
    from workbench.analysis.settings import Settings

    settings = Settings() if claim.smallest_effect is None else Settings(refute_below=claim.smallest_effect)
    return replace(settings, tested=_family_with_draws(_RESOLUTION / level * settings.alpha))


def _family_with_draws(wanted: float) -> int:
    """Give the smallest M with M c(M) at least ``wanted``: as many draws as a family of that size takes."""
    size, harmonic = 0, 0.0
    while size * harmonic < wanted:
        size += 1
        harmonic += 1.0 / size
    return max(size, 1)


def _measured(question: Question, signals: Sequence[SignalInfo], task: Task, settings: Settings) -> Sequence[Evidence]:
    from workbench.analysis.screen import measure

    fleet = replace(question.fleet, signals=tuple(signals))
    return measure([fleet], question.incidents, before_s=task.claim.within_s, seed=task.seed, settings=settings)


def _with_controls(evidence: Evidence, question: Question, task: Task, settings: Settings) -> Evidence:
    """Add the checks that only claims have: the direction they name, and the twin they ask for."""
    from workbench.analysis.checks import FAILED, PASSED, Check

    checks = dict(evidence.checks)
    if task.claim.direction != "either":
        right = (task.claim.direction == "up") == evidence.up
        about = "" if right else f"it moves {'up' if evidence.up else 'down'}, not {task.claim.direction}"
        checks["direction"] = Check(state=PASSED if right else FAILED, about=about)
    if "healthy_twin" in task.claim.controls:
        checks["healthy_twin"] = _twin(evidence, question, task, settings)
    return replace(evidence, checks=checks)


def _twin(evidence: Evidence, question: Question, task: Task, settings: Settings) -> Check:
    """Hold each case against its two nearest peers alone, one-sided in the direction of the finding."""
    from workbench.analysis.checks import FAILED, NOT_DONE, ONE_SIDED, PASSED, Check

    alone = replace(settings, controls=_TWINS, tested=1)
    (twin,) = _measured(question, question.fleet.signals, task, alone)
    if math.isnan(twin.p) or twin.sets < settings.least_episodes:
        return Check(state=NOT_DONE, about="too few cases have two healthy peers of the same minute")
    same = twin.up == evidence.up and twin.p <= 2 * ONE_SIDED
    about = "" if same else "beside its nearest healthy peers it does not stand out"
    return Check(state=PASSED if same else FAILED, about=about, numbers={"p": twin.p})


def _beside(question: Question, task: Task, settings: Settings) -> dict[str, Standing]:
    """Measure the signals that are SUPPORTED already, on the sets that the claim stands on."""
    infos = [info for info in question.others.signals if info.name in task.supported]
    if not infos:
        return {}
    others = replace(question, fleet=question.others)
    return {
        evidence.info.name: evidence.standing
        for evidence in _measured(others, infos, task, settings)
        if evidence.standing is not None
    }
