"""Screen every signal for moving before an outcome, and say of each what the data allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from workbench.analysis.checks import FAILED, NOT_DONE, PASSED
from workbench.analysis.decide import Corrected, decide
from workbench.analysis.design import Designer
from workbench.analysis.episodes import find_cases, outcome_uncertainty_s
from workbench.analysis.evidence import Evidence, Standing
from workbench.analysis.examine import Examiner
from workbench.analysis.settings import Settings
from workbench.analysis.verdicts import Context, verdict_of
from workbench.errors import NothingToDoError, UsageError
from workbench.kernels.clogit import own_p
from workbench.kernels.matched import set_of
from workbench.kernels.multiplicity import adjusted_p
from workbench.model.findings import findings_json
from workbench.model.incident import Incident
from workbench.model.provenance import Provenance
from workbench.model.verdict import Reading, Verdict
from workbench.panel.fleet import Fleet, SignalInfo
from workbench.version import __version__

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["Screen", "correct", "judge_evidence", "measure", "screen", "vanishes"]

Progress = Callable[[float, float, str], None]
#: Applies a function to each signal, in order; the answers do not depend on how.
Mapper = Callable[[Callable[[SignalInfo], Evidence], Sequence[SignalInfo]], Iterable[Evidence]]
Floats = np.typing.NDArray[np.float64]

SHOWN = 30  # rows in a notebook
_ORDER = {reading: place for place, reading in enumerate(Reading)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Screen:
    """Every signal that was tested, flagged or not; the strongest first.

    Attributes
    ----------
    verdicts : tuple of Verdict
        SUPPORTED first, then by p.
    evidence : tuple of Evidence
        What each verdict rests on, in the same order.
    outcome : str
    tested : int
        Signals for which a test was possible (M): what p was corrected for.
    provenance : Provenance
    """

    verdicts: tuple[Verdict, ...]
    evidence: tuple[Evidence, ...]
    outcome: str
    tested: int
    provenance: Provenance

    def __len__(self) -> int:
        return len(self.verdicts)

    def __repr__(self) -> str:
        found = ", ".join(v.signal for v in self.verdicts if v.reading is Reading.PRECURSOR) or "none"
        return f"Screen of {len(self)} signals before {self.outcome}: SUPPORTED {found}; .table() lists all"

    def table(self) -> pl.DataFrame:
        """One row per signal, the strongest first; times in seconds, effects in sd of the controls."""
        rows = [
            {
                "rank": rank,
                "signal": v.signal,
                "scope": v.scope,
                "scale": v.scale,
                "verdict": str(v.word),
                "reading": v.reading_text,
                "feature": v.feature,
                "direction": v.direction,
                "p": v.p,
                "q": v.q,
                "bound_u_sd": v.bound_u,
                "shift_sd": v.effect.shift_sd,
                "shift_low_sd": v.effect.shift_low,
                "shift_high_sd": v.effect.shift_high,
                "share_affected": v.effect.share_affected,
                "odds_ratio_per_sd": v.effect.odds_ratio,
                "odds_ratio_time_matched_per_sd": v.effect.odds_ratio_time_matched,
                "lead_s": v.lead.median,
                "lead_quality": v.lead.quality,
                "episodes": v.observed.cases,
                "controls": v.observed.controls,
                "coverage": v.observed.coverage,
            }
            for rank, v in enumerate(self.verdicts, start=1)
        ]
        return pl.DataFrame(rows, schema=_SCHEMA)

    def plot(self) -> go.Figure:
        """Draw effects with their intervals, the strongest on top (a forest)."""
        from workbench.figures.screen import forest_figure

        shown = [v for v in self.verdicts if np.isfinite(v.effect.shift_sd)]
        return forest_figure(
            [v.signal for v in shown],
            np.array([[v.effect.shift_sd, v.effect.shift_low, v.effect.shift_high] for v in shown]).reshape(-1, 3),
            words=[str(v.word) for v in shown],
            notes=[f"{v.reading_text}; p = {v.p:.2g}, q = {v.q:.2g}" for v in shown],
            outcome=self.outcome,
        )

    def findings(self) -> dict[str, Any]:
        """Give the findings as the JSON object that the command line writes."""
        seed = self.provenance.seed
        assert seed is not None
        return findings_json(self.verdicts, self.provenance.inputs, seed, self.tested)

    def _repr_html_(self) -> str:
        from workbench.figures.html import card_html, table_html

        columns = ["rank", "signal", "scope", "verdict", "reading", "feature", "direction", "p", "q", "shift_sd"]
        table = table_html(columns, self.table().select(columns).rows(), limit=SHOWN)
        found = sum(v.reading is Reading.PRECURSOR for v in self.verdicts)
        episodes = max((v.episodes for v in self.verdicts), default=0)
        sentence = f"{found} of {len(self.verdicts)} signals precede {self.outcome} and stand every check."
        facts = [("tested", self.tested), ("episodes", episodes), ("seed", self.provenance.seed)]
        return card_html("Screen", sentence, facts=facts, parts=[table])


_SCHEMA = {
    "rank": pl.Int64(),
    **dict.fromkeys(("signal", "scope", "scale", "verdict", "reading", "feature", "direction"), pl.String()),
    **dict.fromkeys(("p", "q", "bound_u_sd", "shift_sd", "shift_low_sd", "shift_high_sd"), pl.Float64()),
    **dict.fromkeys(("share_affected", "odds_ratio_per_sd", "odds_ratio_time_matched_per_sd", "lead_s"), pl.Float64()),
    "lead_quality": pl.String(),
    "episodes": pl.Int64(),
    "controls": pl.Int64(),
    "coverage": pl.Float64(),
}


def screen(
    fleets: Sequence[Fleet],
    incidents: Sequence[Incident],
    outcome: str,
    *,
    before_s: float,
    seed: int,
    settings: Settings | None = None,
    progress: Progress | None = None,
    mapper: Mapper = map,
) -> Screen:
    """Ask of every signal of every fleet whether it moves before the incidents.

    Matched sets of the same minute, own-baseline differences, a guard, exact permutation
    p-values corrected over everything tested, and the checks: docs/statistics.md says how and why.

    Parameters
    ----------
    fleets : sequence of Fleet
        One per scope; every signal in them is tested.
    incidents : sequence of Incident
        Of one outcome.
    outcome : str
        Written selector, for the words.
    before_s : float
        Window, seconds: how long before the outcome to look.
    seed : int
        0 or more. The answer depends on it and on the data, not on the order of signals.
    settings : Settings, optional
        None: the measured procedure.
    progress : callable, optional
        Called with signals done, signals in all, and the name of the one just done.
    mapper : callable, optional
        Measures signals elsewhere, such as in threads; like ``map``, it keeps their order.

    Returns
    -------
    Screen

    Raises
    ------
    UsageError
        A window or seed that makes no sense, or two signals of one name in one scope.
    NothingToDoError
        No signal, or no incident.
    """
    settings = settings or Settings()
    evidence = measure(
        fleets, incidents, before_s=before_s, seed=seed, settings=settings, progress=progress, mapper=mapper
    )
    provenance = Provenance(
        function="wb.screen",
        inputs="; ".join(dict.fromkeys(fleet.inputs for fleet in fleets)),
        parameters={"outcome": outcome, "before_s": before_s, **_json_settings(settings)},
        seed=seed,
        version=__version__,
    )
    return judge_evidence(evidence, outcome, settings=settings, provenance=provenance)


def measure(
    fleets: Sequence[Fleet],
    incidents: Sequence[Incident],
    *,
    before_s: float,
    seed: int,
    settings: Settings,
    progress: Progress | None = None,
    mapper: Mapper = map,
) -> list[Evidence]:
    """Measure every signal; nothing is corrected or decided yet. Parameters as for :func:`screen`."""
    _check(fleets, incidents, before_s, seed)
    total = sum(len(fleet.signals) for fleet in fleets)
    uncertainty_s = outcome_uncertainty_s(incidents)
    measured: list[Evidence] = []
    for fleet in fleets:
        cases = find_cases(fleet, incidents, before_s=before_s, settings=settings)
        designer = Designer(fleet, cases, before_s=before_s, settings=settings, seed=seed)
        examiner = Examiner(designer, hypotheses=total, uncertainty_s=uncertainty_s)
        for evidence in mapper(examiner.examine, fleet.signals):
            measured.append(evidence)
            if progress is not None:
                progress(len(measured), total, evidence.info.name)
    return measured


def correct(evidence: Sequence[Evidence], *, settings: Settings) -> list[Corrected]:
    """Correct every p over everything that was tested."""

    def q(p: list[float], *, dependent: bool) -> Floats:
        return adjusted_p(np.array(p, dtype=np.float64), dependent=dependent, tested=settings.tested)

    by = q([e.p for e in evidence], dependent=True)
    candidate = q([e.p for e in evidence], dependent=False)
    time = q([e.p_time for e in evidence], dependent=False)
    unguarded = q([e.p_unguarded for e in evidence], dependent=False)
    crossover = q([e.p_crossover for e in evidence], dependent=False)
    return [
        Corrected(
            q=float(by[k]),
            q_candidate=float(candidate[k]),
            q_time=float(time[k]),
            q_unguarded=float(unguarded[k]),
            q_crossover=float(crossover[k]),
        )
        for k in range(len(evidence))
    ]


def judge_evidence(evidence: Sequence[Evidence], outcome: str, *, settings: Settings, provenance: Provenance) -> Screen:
    """Correct, compare findings with each other, decide and rank; a pure function of the evidence."""
    corrected = correct(evidence, settings=settings)
    tested = max(settings.tested or 0, sum(np.isfinite(e.p) for e in evidence))
    passing = [e.p for e, c in zip(evidence, corrected, strict=True) if c.q_candidate <= settings.alpha]
    context = Context(
        outcome=outcome,
        tested=int(tested),
        passing_p=max(passing, default=float("nan")),
        settings=settings,
        provenance=provenance,
        found_here=True,
    )
    beside = _beside_each_other(evidence, corrected, settings)
    verdicts = []
    for k, (measured, q) in enumerate(zip(evidence, corrected, strict=True)):
        found = beside.get(k, _Beside())
        verdicts.append(
            verdict_of(measured, q, context, proxy_of=found.proxy_of, proxy=found.state, alike=tuple(found.alike))
        )
    order = sorted(range(len(verdicts)), key=lambda k: _rank(verdicts[k], evidence[k]))
    return Screen(
        verdicts=tuple(verdicts[k] for k in order),
        evidence=tuple(evidence[k] for k in order),
        outcome=outcome,
        tested=int(tested),
        provenance=provenance,
    )


@dataclass(eq=False)
class _Beside:
    """How a finding stands beside the SUPPORTED ones: what it is a proxy of, what cannot be told from it."""

    state: str = NOT_DONE
    proxy_of: str | None = None
    alike: list[str] = field(default_factory=list)


def _beside_each_other(
    evidence: Sequence[Evidence], corrected: Sequence[Corrected], settings: Settings
) -> dict[int, _Beside]:
    """Hold each finding against those already SUPPORTED in its scope, the strongest first.

    Where two vanish beside each other, the stronger one stands and says that it cannot be told
    from the weaker one.
    """
    wanted = (Reading.PRECURSOR, Reading.CANDIDATE, Reading.FOUND_HERE)
    alone = {k: decide(e, corrected[k], settings).reading for k, e in enumerate(evidence)}
    found = sorted((k for k, r in alone.items() if r in wanted), key=lambda k: (evidence[k].p, -evidence[k].t))
    supported: list[int] = []
    answers: dict[int, _Beside] = {}
    for k in found:
        own = evidence[k].standing
        others = [j for j in supported if evidence[j].scope == evidence[k].scope]
        parent = next((j for j in others if vanishes(own, evidence[j].standing, settings)), None)
        if parent is None:
            answers[k] = _Beside(state=PASSED)
            supported += [k] if alone[k] is Reading.PRECURSOR else []
            continue
        answers[k] = _Beside(state=FAILED, proxy_of=evidence[parent].info.name)
        if vanishes(evidence[parent].standing, own, settings):
            answers[parent].alike.append(evidence[k].info.name)
    return answers


def vanishes(own: Standing | None, other: Standing | None, settings: Settings) -> bool:
    """Tell whether a finding says nothing beside another one: p of the conditional logit with both is .05 or more.

    Parameters
    ----------
    own, other : Standing or None
        On the same sets; None, or fewer than ``least_episodes`` sets in which both were observed:
        it cannot be told, and the answer is False.
    settings : Settings
    """
    if own is None or other is None:
        return False
    known = np.isfinite(own.scores) & np.isfinite(other.scores)
    owner = set_of(own.offsets)
    sets = own.offsets.size - 1
    good = known[own.offsets[:-1]] & (np.bincount(owner, known, minlength=sets) >= 2)
    members = known & good[owner]
    if good.sum() < settings.least_episodes:
        return False
    sizes = np.bincount(owner[members], minlength=sets)[good]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return not own_p(own.scores[members], other.scores[members][:, None], offsets) < settings.alpha


def _rank(verdict: Verdict, evidence: Evidence) -> tuple[int, float, float, str]:
    """SUPPORTED first, then by p; equal p by T."""
    p = evidence.p if np.isfinite(evidence.p) else 2.0
    t = evidence.t if np.isfinite(evidence.t) else 0.0
    return (int(verdict.reading is not Reading.PRECURSOR), p, -t, verdict.signal)


def _check(fleets: Sequence[Fleet], incidents: Sequence[Incident], before_s: float, seed: int) -> None:
    if not 0 < before_s < float("inf"):
        raise UsageError(f"The window is {before_s!r} s; expected seconds above 0, such as 7200 for 2 hours.")
    if isinstance(seed, bool) or seed < 0:
        raise UsageError(f"The seed is {seed!r}; expected a whole number from 0 up.")
    if not any(fleet.signals for fleet in fleets):
        raise NothingToDoError("No signal to screen: the fleets hold none; see store.catalog().")
    if not incidents:
        raise NothingToDoError("No incident to look before: the outcome matched no event; see workbench events.")
    for fleet in fleets:
        names = [info.name for info in fleet.signals]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UsageError(f"Signals of one name in the {fleet.scope} fleet: {', '.join(twice)}; expected each once.")


def _json_settings(settings: Settings) -> dict[str, Any]:
    values = asdict(settings)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
