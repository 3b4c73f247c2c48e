"""What verdicts and checks say in plain words. Nothing here goes further than the method does."""

from __future__ import annotations

import math
from collections.abc import Sequence

from workbench.figures.text import compact
from workbench.model.verdict import Reading, Verdict, Word
from workbench.timebase import format_duration

__all__ = ["CHECKS", "LIMITS", "METHOD", "check_words", "lead_words", "meaning", "needed", "tally"]

_MEANINGS = {
    Reading.PRECURSOR: "it precedes the outcome, and is not explained by what was recorded; it stood every check",
    Reading.CANDIDATE: "it precedes the outcome more often than luck would, but not clearly enough for everything that was tested",
    Reading.UNSTABLE: "it precedes the outcome more often than luck would, but fails a check",
    Reading.FOUND_HERE: "it was picked after looking at these same rows, so how many others were looked at is not known",
    Reading.CONSEQUENCE: "it starts after the outcome, once clocks and recording delays are honoured",
    Reading.PROXY: "it adds nothing beside a signal that is supported already",
    Reading.CONFOUNDED: "it is strong with time matching alone, and gone once what was recorded beside it is matched",
    Reading.COINCIDENCE: "it is strong only until the same minute elsewhere is compared, or one epoch carries it",
    Reading.NO_EFFECT: "an effect of a third of a standard deviation or more is excluded, for this signal by itself",
    Reading.NOT_ENOUGH: "too few independent episodes to tell",
    Reading.NOT_OBSERVED: "too little was recorded, before the outcomes or elsewhere, to tell",
}
_NEEDS = {
    Reading.CANDIDATE: "more episodes, or the same claim judged on other data (replicate)",
    Reading.UNSTABLE: "more episodes without the one that the failed check names",
    Reading.FOUND_HERE: "the same claim judged on data that nobody has looked at yet",
    Reading.PROXY: "episodes in which one of the two moves without the other",
    Reading.COINCIDENCE: "unexposed controls at the same moments, or repetitions at other times",
    Reading.NOT_ENOUGH: "more episodes",
    Reading.NOT_OBSERVED: "a longer record of this signal, on failing and on healthy entities",
}
#: Readings that are incomplete without what they are about.
_ABOUT = (Reading.PROXY, Reading.CONFOUNDED, Reading.UNSTABLE)
#: What each check asks.
CHECKS = {
    "guard": "Does it move before the earliest moment at which the outcome can have happened?",
    "placebo": "Is nothing there when the same is asked of the stretch before that, or of shifted times?",
    "leave_one_out": "Does it hold when each entity, episode, rack and block of time is left out in turn?",
    "crossover": "Does it hold against the same entity's own earlier time?",
    "reversed_time": "Does it move before rather than after?",
    "proxy": "Does it add something beside what is supported already?",
    "direction": "Does it move the way that the claim says?",
    "healthy_twin": "Is it absent from healthy peers at the same moments?",
}
_COMPARED = (
    "Entities before an outcome (cases) are compared with other entities in the same minute (controls) that had none, "
    "outside of the component that the signal belongs to, and matched on what was recorded of load, temperature, job "
    "and place. Each entity is measured against its own past; counters count as rates; what was not observed is "
    "missing, not zero."
)
_GUARDED = (
    "The last stretch before the recorded time is left out where it cannot be told from the time after: delay of the "
    "recording, uncertainty of clocks and sampling interval (the guard)."
)
_CORRECTED = (
    "p is by permutation within the sets; episodes, not events, are counted. q corrects for everything that was "
    "tested (Benjamini and Yekutieli; claims judged one after another: the ledger's online rule). SUPPORTED needs "
    "that correction at 5 % and every check."
)
#: How it was done, and where it ends.
METHOD = (_COMPARED, _GUARDED, _CORRECTED)
_HIDDEN = (
    "What was recorded nowhere can stand behind any of this: a hidden driver moves signal and outcome alike, and no "
    "analysis of these data can tell."
)
_ORDER = (
    "The verdicts speak of order in time and of association that survives controls, for these data; they do not name "
    "a mechanism."
)
_COUNTED = "The error rates hold for the procedure as it was run; signals tried outside of the ledger are not counted."
LIMITS = (_HIDDEN, _ORDER, _COUNTED)


def meaning(verdict: Verdict) -> str:
    """Say what a verdict means, in one sentence.

    Examples
    --------
    >>> from workbench.model.provenance import Provenance
    >>> verdict = Verdict(reading=Reading.PROXY, about="gpu.power_w", sentence="", outcome="xid", signal="s",
    ...     kind="metric", scope="gpu", incidents=1, episodes=1, tested=1, provenance=Provenance(function="", inputs=""))
    >>> meaning(verdict)
    'Undecided (proxy of gpu.power_w): it adds nothing beside a signal that is supported already.'
    """
    word = {Word.SUPPORTED: "Supported", Word.REFUTED: "Refuted", Word.UNDECIDED: "Undecided"}[verdict.word]
    told = verdict.reading_text if verdict.reading in _ABOUT else verdict.reading.value
    reading = "" if verdict.word is Word.SUPPORTED else f" ({told})"
    return f"{word}{reading}: {_MEANINGS[verdict.reading]}."


def needed(verdict: Verdict) -> str:
    """Say what would decide an undecided claim; "" where it is decided."""
    if verdict.word is not Word.UNDECIDED:
        return ""
    if verdict.checks.get("direction") == "failed":
        return "a claim that names the other direction, judged on data that nobody has looked at yet"
    return _NEEDS.get(verdict.reading, "more data")


def check_words(name: str) -> str:
    """Say what a check asks; a check that this page does not know keeps its name."""
    return CHECKS.get(name, f"Control '{name}'")


def lead_words(verdict: Verdict) -> str:
    """Say how long before the outcome it moved, with its range; "" where that is not known.

    Examples
    --------
    >>> from workbench.model.provenance import Provenance
    >>> from workbench.model.verdict import Lead
    >>> verdict = Verdict(reading=Reading.PRECURSOR, sentence="", outcome="xid", signal="s", kind="metric", scope="gpu",
    ...     incidents=1, episodes=1, tested=1, provenance=Provenance(function="", inputs=""),
    ...     lead=Lead(median=2400.0, low=1500.0, high=3900.0, quality="step"))
    >>> lead_words(verdict)
    '40m before (25m to 65m; step)'
    """
    lead = verdict.lead
    if math.isnan(lead.median):
        return ""
    known = not (math.isnan(lead.low) or math.isnan(lead.high))
    parts = [f"{_minutes(lead.low)} to {_minutes(lead.high)}"] if known else []
    parts += [lead.quality] if lead.quality else []
    return f"{_minutes(lead.median)} before" + (f" ({'; '.join(parts)})" if parts else "")


def _minutes(seconds: float) -> str:
    """Write a duration as exactly as it is known: to the second below ten minutes, else to the minute."""
    return format_duration(round(seconds) if abs(seconds) < 600 else round(seconds / 60) * 60)


def tally(verdicts: Sequence[Verdict]) -> str:
    """Count verdicts by word.

    Examples
    --------
    >>> tally([])
    'nothing was tested'
    """
    if not verdicts:
        return "nothing was tested"
    screened = [verdict for verdict in verdicts if verdict.hypothesis is None]
    claims = [verdict for verdict in verdicts if verdict.hypothesis is not None]
    told = [_counted(screened, "signal", "screened")] if screened else []
    told += [_counted(claims, "claim", "judged")] if claims else []
    known = {verdict.signal for verdict in screened}
    again = sum(verdict.signal in known for verdict in claims)
    note = f" ({again} on signals that were screened, too: no further finding)" if again else ""
    return "; ".join(told) + note


def _counted(verdicts: Sequence[Verdict], what: str, done: str) -> str:
    counts = {word: sum(verdict.word is word for verdict in verdicts) for word in Word}
    told = ", ".join(f"{count} {word.value.lower()}" for word, count in counts.items())
    return f"{compact(float(len(verdicts)))} {what}{'' if len(verdicts) == 1 else 's'} {done}: {told}"
