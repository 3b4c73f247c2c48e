"""From what was seen and what it is held against to the verdict of a claim."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.hypotheses.corrections import ALPHA, ONLINE, Correction
from workbench.hypotheses.fields import CONTROLS
from workbench.hypotheses.ledger import LedgerEntry
from workbench.hypotheses.look import Looked, settings_for
from workbench.hypotheses.spec import Hypothesis
from workbench.kernels.multiplicity import adjusted_p
from workbench.model.provenance import Provenance
from workbench.model.verdict import Reading, Verdict
from workbench.version import __version__

if TYPE_CHECKING:
    from workbench.analysis.decide import Corrected
    from workbench.analysis.evidence import Evidence, Standing

__all__ = ["Seen", "settle"]

NOT_ASKED = "nothing was found that it could be asked of"


@dataclass(frozen=True, eq=False, kw_only=True)
class Seen:
    """One claim, what was seen of it, its place in the ledger, and its correction."""

    claim: Hypothesis
    looked: Looked
    entry: LedgerEntry
    correction: Correction

    @property
    def evidence(self) -> Evidence:
        """The evidence, with the p that the ledger holds."""
        assert self.looked.evidence is not None
        return replace(self.looked.evidence, p=self.entry.p)

    @property
    def shares_sets_with(self) -> tuple[object, ...]:
        """Claims that agree in this stand on the same matched sets, and can be held against each other."""
        return (self.entry.outcome, self.claim.within, self.evidence.scope, self.claim.adjust_for, self.entry.seed)


def settle(seen: list[Seen], *, inputs: str) -> dict[str, Verdict]:
    """Decide claims that were corrected together; the strongest first, the others also beside it.

    Parameters
    ----------
    seen : list of Seen
    inputs : str
        Path and version of the store.

    Returns
    -------
    dict of ledger id to Verdict
    """
    verdicts: dict[str, Verdict] = {}
    supported: list[Seen] = []
    for one in sorted(seen, key=lambda s: (math.inf if math.isnan(s.entry.p) else s.entry.p, s.entry.id)):
        beside: dict[str, Standing] = dict(one.looked.beside)
        for other in supported:
            standing = other.evidence.standing
            if other.shares_sets_with == one.shares_sets_with and standing is not None:
                beside[other.entry.signal] = standing
        beside.pop(one.entry.signal, None)
        verdict = _verdict(one, beside, inputs)
        verdicts[one.entry.id] = verdict
        if verdict.reading is Reading.PRECURSOR:
            supported.append(one)
    return verdicts


def _verdict(seen: Seen, beside: Mapping[str, Standing], inputs: str) -> Verdict:
    from workbench.analysis.checks import FAILED, NOT_DONE, PASSED
    from workbench.analysis.screen import vanishes
    from workbench.analysis.verdicts import Context, verdict_of

    claim, evidence, correction = seen.claim, seen.evidence, seen.correction
    settings = replace(settings_for(claim, level=ALPHA), tested=correction.tested)
    parent = next((name for name, other in beside.items() if vanishes(evidence.standing, other, settings)), None)
    found = correction.q_candidate <= ALPHA
    context = Context(
        outcome=str(claim.then),
        tested=correction.tested,
        passing_p=_passing_p(evidence.p, correction),
        settings=settings,
        provenance=_provenance(seen, inputs),
    )
    proxy = FAILED if parent else PASSED if found else NOT_DONE
    verdict = verdict_of(evidence, _corrected(evidence, correction), context, proxy_of=parent, proxy=proxy)
    checks, asked = _checks(seen, verdict)
    return replace(
        verdict,
        sentence=verdict.sentence + _remarks(correction, verdict),
        signal=claim.when.name,
        checks=checks,
        hypothesis=claim.name,
        digest=claim.digest,
        ledger_id=seen.entry.id,
        expected=claim.expect,
        details={**verdict.details, **_details(seen), "controls": asked},
    )


def _corrected(evidence: Evidence, correction: Correction) -> Corrected:
    """Correct the tests beside the adjusted one for everything that was tested, as a screen does."""
    from workbench.analysis.decide import Corrected

    beside = [evidence.p_time, evidence.p_unguarded, evidence.p_crossover]
    q = [float(adjusted_p(np.array([p]), dependent=False, tested=correction.tested)[0]) for p in beside]
    return Corrected(
        q=correction.q, q_candidate=correction.q_candidate, q_time=q[0], q_unguarded=q[1], q_crossover=q[2]
    )


def _passing_p(p: float, correction: Correction) -> float:
    """Give the p that was needed: estimates of what passed are corrected for having passed."""
    q = correction.q if correction.rule == ONLINE else correction.q_candidate
    return p * ALPHA / q if q > 0 else math.nan


def _provenance(seen: Seen, inputs: str) -> Provenance:
    correction = seen.correction
    parameters = {
        "hypothesis": json.loads(seen.claim.canonical()),
        "rows": seen.entry.rows,
        "method": seen.entry.method,
        "rule": correction.rule,
        "batch": seen.entry.batch,
        "batch_size": seen.entry.batch_size,
    }
    return Provenance(
        function="wb.judge", inputs=inputs, parameters=parameters, seed=seen.entry.seed, version=__version__
    )


def _checks(seen: Seen, verdict: Verdict) -> tuple[dict[str, str], dict[str, str]]:
    """Give every check its state, and say of each control that was asked for how it went."""
    from workbench.analysis.checks import NOT_DONE

    evidence = seen.evidence
    checks = dict(verdict.checks)
    checks |= {name: check.state for name, check in evidence.checks.items() if name not in checks}
    asked = {}
    for control in seen.claim.controls:
        name = CONTROLS[control]
        checks.setdefault(name, NOT_DONE)
        why = evidence.checks[name].about if name in evidence.checks else ""
        if checks[name] == NOT_DONE and not why:
            why = evidence.blocked.why if evidence.blocked is not None else NOT_ASKED
        asked[control] = f"{checks[name]}: {why}" if why else checks[name]
    return checks, asked


def _remarks(correction: Correction, verdict: Verdict) -> str:
    if not correction.screened:
        return ""
    found = verdict.reading in (Reading.PRECURSOR, Reading.CANDIDATE, Reading.UNSTABLE, Reading.PROXY)
    what = "Found here" if found else "Looked for here before"
    return f" {what}: it is judged among the {correction.screened} signals that were screened on these rows."


def _details(seen: Seen) -> dict[str, Any]:
    correction = seen.correction
    facts: dict[str, Any] = {
        "condition": str(seen.claim.when),
        "multiplicity": {
            "rule": correction.rule,
            "tested": correction.tested,
            "batch_size": seen.entry.batch_size,
            "tries_of_family": correction.tries,
            "screened": correction.screened,
            "alpha_t": None if math.isnan(correction.alpha_t) else correction.alpha_t,
            "wealth_after": None if math.isnan(correction.wealth) else correction.wealth,
        },
        "found_here": correction.screened > 0,
        "rows": seen.entry.rows,
    }
    if seen.looked.not_adjusted:
        facts["not_adjusted_for"] = dict(seen.looked.not_adjusted)
    return facts
