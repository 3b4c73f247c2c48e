"""What the p of a claim is held against: its batch, the ledger's online rule, or a screen of the same rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from workbench.hypotheses.families import Tried, decide_in_order, family_groups
from workbench.hypotheses.ledger import RULES, Ledger, LedgerEntry
from workbench.kernels.multiplicity import adjusted_p

__all__ = ["ALPHA", "BATCH", "Correction", "ONLINE", "SCREEN", "correct", "needed_level", "rule_for"]

ALPHA = 0.05
ONLINE, BATCH, SCREEN = "online", "batch", "screen"


@dataclass(frozen=True, kw_only=True)
class Correction:
    """A p corrected for everything that was tried beside it.

    Attributes
    ----------
    rule : str
        ``online``, ``batch`` or ``screen``.
    q_candidate, q : float
        For a candidate, and for SUPPORTED: rejected at 5 % where at most 0.05. NaN: no test.
    tested : int
        Claims and signals tested beside one another (M).
    tries : int
        Tests of the claim's family up to now; p was multiplied by it.
    screened : int
        Signals of the screens in which the signal was seen before; 0: not found here.
    alpha_t, wealth : float
        Of the online rule; NaN under the others.
    """

    rule: str
    q_candidate: float
    q: float
    tested: int
    tries: int
    screened: int = 0
    alpha_t: float = math.nan
    wealth: float = math.nan


def rule_for(book: Ledger, *, signal: str, outcome: str, batch_size: int) -> str:
    """Tell which correction a claim goes through.

    A claim alone whose signal was screened for the same outcome was found here: its p is no fresh
    evidence for the online rule, and is held against everything that was screened.
    """
    if batch_size > 1:
        return BATCH
    return SCREEN if book.screened(signal, outcome) else ONLINE


def correct(book: Ledger, entry: LedgerEntry) -> Correction:
    """Correct the p of an entry; a pure function of the ledger.

    Parameters
    ----------
    book : Ledger
        With the entry in it.
    entry : LedgerEntry
        Tested.

    Returns
    -------
    Correction
    """
    if math.isnan(entry.p):
        screened = len(book.screened(entry.signal, entry.outcome))
        tested = max(entry.batch_size, 1) + screened
        return Correction(rule=entry.rule, q_candidate=math.nan, q=math.nan, tested=tested, tries=1, screened=screened)
    return _online(book, entry) if entry.rule == ONLINE else _in_batch(book, entry)


def _online(book: Ledger, entry: LedgerEntry) -> Correction:
    names, tests = zip(*book.tried(), strict=True)
    decision = decide_in_order(tests, rule=RULES["saffron"])[names.index(entry.id)]
    return Correction(
        rule=ONLINE,
        q_candidate=decision.p_family,
        q=min(1.0, decision.p_family * ALPHA / decision.level),
        tested=1,
        tries=decision.tries,
        alpha_t=decision.level,
        wealth=decision.wealth,
    )


def _in_batch(book: Ledger, entry: LedgerEntry) -> Correction:
    """Hold p against the families of its batch, and against what was screened for the same question."""
    judged = [e for e in book.entries if e.kind == "judge" and not math.isnan(e.p)]
    last = max(place for place, e in enumerate(judged) if e.batch == entry.batch and e.rule == entry.rule)
    upto = judged[: last + 1]
    groups = family_groups([Tried(e.p, (e.signal, e.outcome), e.family) for e in upto])
    members = [
        (e, group) for e, group in zip(upto, groups, strict=True) if e.batch == entry.batch and e.rule == entry.rule
    ]
    own = next(group for e, group in members if e.id == entry.id)
    tries = groups.count(own)
    others = _smallest_of_each(((group, e.p * groups.count(group)) for e, group in members), but=own)
    screened = book.screened(entry.signal, entry.outcome)
    others += [p for name, p in screened.items() if name.partition("/")[2] != entry.signal]
    untested = entry.batch_size - len(members)
    size = len({group for _, group in members}) + max(untested, 0) + len(screened)
    pool = np.minimum(1.0, np.array([entry.p * tries, *others]))
    return Correction(
        rule=entry.rule,
        q_candidate=float(adjusted_p(pool, dependent=False, tested=size)[0]),
        q=float(adjusted_p(pool, dependent=True, tested=size)[0]),
        tested=entry.batch_size + len(screened),
        tries=tries,
        screened=len(screened),
    )


def _smallest_of_each(pairs: Iterable[tuple[int, float]], *, but: int) -> list[float]:
    smallest: dict[int, float] = {}
    for group, p in pairs:
        smallest[group] = min(p, smallest.get(group, math.inf))
    return [p for group, p in smallest.items() if group != but]


def needed_level(book: Ledger, *, signal: str, outcome: str, family: str | None) -> float:
    """Give the p that the next test of the online sequence would have to reach, its family counted."""
    tests = [test for _, test in book.tried()]
    decision = decide_in_order([*tests, Tried(1.0, (signal, outcome), family)], rule=RULES["saffron"])[-1]
    return decision.level / decision.tries
