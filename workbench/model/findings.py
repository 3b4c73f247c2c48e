"""The findings of a screen or of judgements, as one JSON object (schema ``workbench.findings/1``)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from workbench.model.verdict import Effect, Reading, Verdict
from workbench.version import __version__

__all__ = ["SCHEMA", "finding_json", "findings_json"]

SCHEMA = "workbench.findings/1"
CHECKS = ("guard", "placebo", "leave_one_out", "crossover", "reversed_time", "proxy")


#: Readings that say what they are about: ``proxy of X``, ``confounded by X``.
NAMED = (Reading.PROXY, Reading.CONFOUNDED)


def findings_json(verdicts: Iterable[Verdict], store_version: str, seed: int, tested: int) -> dict[str, Any]:
    """Write verdicts, flagged or not, as one object of plain JSON values.

    Parameters
    ----------
    verdicts : iterable of Verdict
        In the order of their rank.
    store_version : str
        Pins everything that was read.
    seed : int
        Asked for; where all verdicts were given before with one other seed, that one is written.
    tested : int
        Signals or claims tested beside one another.

    Returns
    -------
    dict
        ``schema``, ``workbench``, ``store_version``, ``seed``, ``tested`` and ``findings``. A
        number that is not known, or not finite, is None (JSON ``null``).

    Examples
    --------
    >>> findings_json([], "case-042@3", 7, 0)["schema"]
    'workbench.findings/1'
    """
    verdicts = tuple(verdicts)
    seeds = {verdict.provenance.seed for verdict in verdicts if verdict.provenance.seed is not None}
    (seed,) = seeds if len(seeds) == 1 else (seed,)
    return {
        "schema": SCHEMA,
        "workbench": __version__,
        "store_version": store_version,
        "seed": seed,
        "tested": tested,
        "findings": [finding_json(verdict, rank) for rank, verdict in enumerate(verdicts, start=1)],
    }


def finding_json(verdict: Verdict, rank: int) -> dict[str, Any]:
    """Write one verdict.

    Durations are seconds; ``share_affected`` and ``coverage`` are shares of 1; ``odds_ratio`` is per
    sd of the controls. ``lead_s`` has ``quality`` ``burst``, ``ramp``, ``step`` or "". Every check
    has its own key: ``passed``, ``failed`` or ``not done``.
    """
    effect, lead, alarms, observed = verdict.effect, verdict.lead, verdict.alarms, verdict.observed
    return {
        "rank": rank,
        "outcome": verdict.outcome,
        "incidents": verdict.incidents,
        "episodes": verdict.episodes,
        "hypothesis": verdict.hypothesis,
        "digest": verdict.digest,
        "ledger_id": verdict.ledger_id,
        "expected": verdict.expected,
        "status": verdict.status,
        "signal": verdict.signal,
        "raw_names": list(verdict.raw_names),
        "kind": verdict.kind,
        "scope": verdict.scope,
        "scale": verdict.scale,
        "feature": verdict.feature,
        "direction": verdict.direction,
        "verdict": str(verdict.word),
        "reading": verdict.reading_text if verdict.reading in NAMED else verdict.reading.value,
        "p": _number(verdict.p),
        "q": _number(verdict.q),
        "bound_u": _number(verdict.bound_u),
        "effect": _effect(effect),
        "lead_s": {
            "median": _number(lead.median),
            "low": _number(lead.low),
            "high": _number(lead.high),
            "quality": lead.quality,
        },
        "alarms": {
            "precision": _number(alarms.precision),
            "recall": _number(alarms.recall),
            "false_per_entity_day": _number(alarms.false_per_entity_day),
        },
        "checks": {**dict.fromkeys(CHECKS, "not done"), **verdict.checks},
        "observed": {"cases": observed.cases, "controls": observed.controls, "coverage": _number(observed.coverage)},
    }


def _effect(effect: Effect) -> dict[str, float | None]:
    return {
        "share_affected": _number(effect.share_affected),
        "low": _number(effect.low),
        "high": _number(effect.high),
        "odds_ratio": _number(effect.odds_ratio),
        "odds_ratio_time_matched": _number(effect.odds_ratio_time_matched),
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
