"""Verdicts as plain values for a write-up: what speaks for, what against, and what is open."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.figures.tables import number_text, p_text
from workbench.figures.text import shorten
from workbench.hypotheses.verdicts import verdict_to_json
from workbench.model.verdict import Effect, Reading, Verdict
from workbench.reports.language import check_words, lead_words, meaning, needed

__all__ = ["evidence", "in_detail", "machine_verdict", "store_name", "row_of"]

#: Readings that deserve a section of their own where very many signals were tested.
_TELLING = (
    *(Reading.PRECURSOR, Reading.CANDIDATE, Reading.UNSTABLE, Reading.FOUND_HERE),
    *(Reading.CONSEQUENCE, Reading.CONFOUNDED, Reading.PROXY, Reading.COINCIDENCE),
)
_ALL_IN_DETAIL, _MOST_IN_DETAIL = 12, 20
_LONGEST = 300


def in_detail(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Choose the verdicts that get a section: all of a few; of many, claims and those that tell something."""
    if len(verdicts) <= _ALL_IN_DETAIL:
        return list(verdicts)
    telling = [verdict for verdict in verdicts if verdict.hypothesis or verdict.reading in _TELLING]
    telling.sort(key=lambda verdict: (verdict.hypothesis is None, _rank(verdict)))
    return telling[:_MOST_IN_DETAIL]


def _rank(verdict: Verdict) -> int:
    return _TELLING.index(verdict.reading) if verdict.reading in _TELLING else len(_TELLING)


def machine_verdict(verdict: Verdict) -> dict[str, Any]:
    """Give a verdict as JSON values; NaN is null, and of the store's path only the name is kept."""
    plain: dict[str, Any] = json.loads(verdict_to_json(verdict))
    plain["provenance"]["inputs"] = store_name(verdict.provenance.inputs)
    return {"word": verdict.word.value, **plain}


def store_name(inputs: str) -> str:
    """Take the folder off ``folder/store@version``: a page is read elsewhere.

    Examples
    --------
    >>> store_name("/data/alice/case-042@7")
    'case-042@7'
    """
    return inputs.replace("\\", "/").rsplit("/", 1)[-1]


def row_of(verdict: Verdict) -> dict[str, str]:
    """Give one row of the table of everything that was tested."""
    return {
        "verdict": verdict.word.value,
        "reading": verdict.reading_text,
        "signal": verdict.hypothesis or verdict.signal,
        "scope": verdict.scope,
        "feature": f"{verdict.direction} {verdict.feature}".strip() or "–",
        "episodes": str(verdict.episodes),
        "p": p_text(verdict.p),
        "q": p_text(verdict.q),
        "share": _percent(verdict.effect.share_affected),
        "lead": lead_words(verdict) or "–",
    }


def evidence(verdict: Verdict) -> dict[str, Any]:
    """Give everything that a reader needs to weigh one verdict."""
    decided_on = {**verdict.details, **dict(verdict.details.get("checks") or {})}
    checks = [
        {
            "name": name.replace("_", " "),
            "asks": check_words(name),
            "state": state,
            "found": _found(decided_on.get(name)),
        }
        for name, state in verdict.checks.items()
    ]
    return {
        "title": verdict.hypothesis or verdict.signal,
        "word": verdict.word.value,
        "meaning": meaning(verdict),
        "sentence": verdict.sentence,
        "signal": verdict.signal,
        "raw_names": list(verdict.raw_names),
        "outcome": verdict.outcome,
        "scope": verdict.scope,
        "feature": f"{verdict.direction} {verdict.feature}".strip(),
        "counts": _counts(verdict),
        "numbers": _numbers(verdict),
        "for": _speaks_for(verdict),
        "against": _speaks_against(verdict),
        "open": _open(verdict),
        "checks": checks,
        "lead": lead_words(verdict),
        "alarms": _alarms(verdict),
        "more": [
            {"name": name.replace("_", " "), "found": _about(value)}
            for name, value in verdict.details.items()
            if name not in verdict.checks and name != "checks"
        ],
        "ledger_id": verdict.ledger_id,
        "digest": verdict.digest,
        "expected": verdict.expected,
    }


def _counts(verdict: Verdict) -> str:
    seen = verdict.observed
    share = _percent(verdict.effect.share_affected)
    moved = "" if share == "–" else f"; it moved before {share} of them ({_between(verdict.effect)})"
    return (
        f"{verdict.incidents:,} incidents in {verdict.episodes:,} episodes{moved}. {seen.cases:,} cases and "
        f"{seen.controls:,} controls entered the test; {_percent(seen.coverage)} of their windows were observed. "
        f"{verdict.tested:,} signals were tested beside it."
    )


def _between(effect: Effect) -> str:
    return f"95 %: {_percent(effect.low)} to {_percent(effect.high)}"


def _numbers(verdict: Verdict) -> list[dict[str, str]]:
    effect = verdict.effect
    shift = number_text(effect.shift_sd)
    if not math.isnan(effect.shift_low):
        shift += f" ({number_text(effect.shift_low)} to {number_text(effect.shift_high)})"
    rows = (
        ("p, by permutation", p_text(verdict.p)),
        ("q over everything tested (Benjamini-Yekutieli)", p_text(verdict.q)),
        ("q for a candidate (Benjamini-Hochberg)", p_text(verdict.q_candidate)),
        ("odds ratio per sd, time matching alone", number_text(effect.odds_ratio_time_matched)),
        ("odds ratio per sd, adjusted for what was recorded", number_text(effect.odds_ratio)),
        ("shift in sd of the controls (± 2.87 standard errors)", shift),
        ("the same, corrected for having been selected", number_text(effect.shift_conditional_sd)),
        ("largest effect that is not excluded (bound U), sd", number_text(verdict.bound_u)),
    )
    return [{"name": name, "value": value} for name, value in rows]


def _speaks_for(verdict: Verdict) -> list[str]:
    stood = [name.replace("_", " ") for name, state in verdict.checks.items() if state == "passed"]
    said = [f"It stood {len(stood)} of {len(verdict.checks)} checks: {', '.join(stood)}."] if stood else []
    if verdict.q <= 0.05:
        said.insert(0, f"Clearer than luck, counting everything that was tested: q {p_text(verdict.q)}.")
    elif verdict.q_candidate <= 0.05:
        said.insert(0, f"Clearer than luck as a candidate: q {p_text(verdict.q_candidate)} (Benjamini-Hochberg).")
    return said


def _speaks_against(verdict: Verdict) -> list[str]:
    said = [f"{check_words(name)} No." for name, state in verdict.checks.items() if state == "failed"]
    if verdict.q > 0.05:
        said.append(f"Not clear of luck, counting everything that was tested: q {p_text(verdict.q)}.")
    if verdict.reading in (Reading.CONFOUNDED, Reading.PROXY, Reading.CONSEQUENCE, Reading.COINCIDENCE):
        said.append(meaning(verdict))
    return said


def _open(verdict: Verdict) -> list[str]:
    said = [f"Not done: {check_words(name)}" for name, state in verdict.checks.items() if state == "not done"]
    what = needed(verdict)
    if what:
        said.append(f"What would decide it: {what}.")
    alike = verdict.details.get("cannot_be_told_from")
    if alike:
        said.append(f"These data do not tell it from: {_about(alike)}.")
    if verdict.observed.coverage < 0.9:
        said.append(f"Only {_percent(verdict.observed.coverage)} of the windows were observed.")
    return said


def _alarms(verdict: Verdict) -> str:
    alarms = verdict.alarms
    if math.isnan(alarms.precision):
        return ""
    return (
        f"An alarm on it would be right {_percent(alarms.precision)} of the time, would announce "
        f"{_percent(alarms.recall)} of the episodes, and would be wrong {number_text(alarms.false_per_entity_day)} times "
        f"per {verdict.scope} and day."
    )


def _found(value: Any) -> str:
    """Write what one check was decided on; its state stands beside it already."""
    if isinstance(value, Mapping):
        value = {name: item for name, item in value.items() if name != "state"}
    return _about(value)


def _about(value: Any) -> str:
    """Write what a check was decided on: names with numbers, not too long."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return number_text(float(value))
    if isinstance(value, Mapping):
        parts = (f"{name} {_about(item)}".strip() for name, item in value.items() if item not in (None, "", [], {}))
        return shorten(", ".join(parts), _LONGEST)
    if isinstance(value, (list, tuple)):
        few = ", ".join(_about(item) for item in value[:12])
        return shorten(few + (f" and {len(value) - 12} more" if len(value) > 12 else ""), _LONGEST)
    return shorten(str(value), _LONGEST)


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.0f} %"
