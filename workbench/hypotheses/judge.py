"""Judge claims: register, read, test, correct for everything that was tried, and remember."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from workbench.errors import InterruptedWorkError, NothingToDoError, UsageError
from workbench.execution import check_engine, map_tasks
from workbench.hypotheses.corrections import ALPHA, ONLINE, correct, needed_level, rule_for
from workbench.hypotheses.ledger import Ledger, ledger
from workbench.hypotheses.look import Looked, Task, look
from workbench.hypotheses.rows import JUDGED, KNOWN, MEASURED, METHOD, REGISTERED, entry_id, outcome_key, rows_frame
from workbench.hypotheses.settle import Seen, settle
from workbench.hypotheses.spec import Hypothesis
from workbench.hypotheses.verdicts import verdict_to_json
from workbench.kernels.multiplicity import harmonic
from workbench.model.verdict import Verdict

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["Judged", "judge", "judge_each"]

Progress = Callable[[float, float, str], None]
#: What becomes of one claim: its verdict, or what went wrong inside.
Judged = Verdict | Exception

_MOST_SEED = 2**63


@overload
def judge(
    claim: Hypothesis, store: Store, *, seed: int, progress: Progress | None = None, engine: str = "here"
) -> Verdict: ...
@overload
def judge(
    claim: Sequence[Hypothesis], store: Store, *, seed: int, progress: Progress | None = None, engine: str = "here"
) -> list[Verdict]: ...
def judge(
    claim: Hypothesis | Sequence[Hypothesis],
    store: Store,
    *,
    seed: int,
    progress: Progress | None = None,
    engine: str = "here",
) -> Verdict | list[Verdict]:
    """Judge a claim, or several as one batch, and record it in the ledger of the store.

    The claim is registered before data are read. Judging it again on the same rows returns the
    first verdict, whatever the seed. A claim alone is held against the ledger's online rule
    (SAFFRON), claims in a batch against one another (BH for a candidate, BY for SUPPORTED), and
    what a screen of the same store had found against everything that was screened.

    Parameters
    ----------
    claim : Hypothesis or sequence of Hypothesis
    store : Store
    seed : int
        0 or more; recorded.
    progress : callable, optional
        Called with claims done, claims in all, and the name of the one just done.
    engine : str
        ``here``, ``processes:N`` or ``dask:ADDRESS``; the answer is the same.

    Returns
    -------
    Verdict, or list of Verdict in the order of the claims

    Raises
    ------
    SpecificationError
        Where the store does not know a name in a claim.
    NothingToDoError
        Where no claim is given, or there is nobody to compare.
    WorkbenchError
        Whatever one claim of several met; the others are judged and written first.
    """
    if isinstance(store, Hypothesis) or not isinstance(claim, (Hypothesis, Sequence)):
        raise UsageError(f"judge(claim, store) takes the claim first; its first argument is a {type(claim).__name__}.")
    if isinstance(claim, Hypothesis):
        return _or_raise(judge_each([claim], store, seed=seed, progress=progress, engine=engine))[0]
    return _or_raise(judge_each(claim, store, seed=seed, progress=progress, engine=engine))


def _or_raise(outcomes: Iterable[Judged]) -> list[Verdict]:
    verdicts = []
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
        verdicts.append(outcome)
    return verdicts


def judge_each(
    claims: Sequence[Hypothesis],
    store: Store,
    *,
    seed: int,
    progress: Progress | None = None,
    engine: str = "here",
) -> list[Judged]:
    """Judge claims as one batch; a claim that fails inside gives its error, the others go on.

    Parameters and errors as for :func:`judge`.
    """
    _check(claims, seed, engine)
    distinct: dict[str, Hypothesis] = {}
    for claim in claims:
        distinct.setdefault(claim.digest, claim)  # of equals, the first speaks
    batch = entry_id("batch", store.version, *sorted(distinct))
    run = _Run(store=store, seed=seed, engine=engine, batch=batch, size=len(distinct))
    book = ledger(store)
    fresh = [c for c in distinct.values() if book.of(c.digest, version=store.version) is None]
    _register(run, book, fresh)
    seen: dict[str, Looked | Exception] = {}
    tasks = [_task(run, book, claim) for claim in fresh]
    looks = map_tasks(partial(_try_look, run.where), tasks, engine=engine)
    for done, (claim, outcome) in enumerate(zip(fresh, looks, strict=True), start=len(distinct) - len(fresh) + 1):
        seen[claim.digest] = outcome
        if isinstance(outcome, Looked):
            _write_look(run, claim, outcome, rule=_rule(run, book, claim))
        if progress is not None:
            progress(done, len(distinct), claim.name)
    answers = _settle_all(run, distinct, seen)
    return [_labelled(answers[claim.digest], claim) for claim in claims]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Run:
    """One call: what all its claims share."""

    store: Store
    seed: int
    engine: str
    batch: str
    size: int

    @property
    def where(self) -> Store | tuple[str, str]:
        """The store itself, or what another process needs to open the same."""
        return self.store if self.engine == "here" else (str(self.store.path), self.store.version)

    def row(self, claim: Hypothesis, status: str, **more: Any) -> dict[str, Any]:
        """Give a ledger row of a claim."""
        version = self.store.version
        registration = entry_id("registration", claim.digest, version, METHOD, self.batch)
        return {
            "status": status,
            "ledger_id": registration,
            "registration": registration,
            "kind": "judge",
            "hypothesis": claim.digest,
            "method": METHOD,
            "inputs": version,
            "batch": self.batch,
            "batch_size": self.size,
            "name": claim.name,
            "signal": claim.when.name,
            "outcome": outcome_key(claim.then),
            "scope": claim.scope,
            "family": claim.family,
            "expected": claim.expect,
            "seed": self.seed,
            **more,
        }


def _check(claims: Sequence[Hypothesis], seed: int, engine: str) -> None:
    check_engine(engine)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _MOST_SEED:
        raise UsageError(f"The seed is {seed!r}; expected a whole number from 0 up to 2^63.")
    if not claims:
        raise NothingToDoError("No claim to judge; give a wb.Hypothesis, or a list with at least one.")
    wrong = [claim for claim in claims if not isinstance(claim, Hypothesis)]
    if wrong:
        raise UsageError(
            f"{wrong[0]!r} is no wb.Hypothesis; read files with workbench.hypotheses.toml.load_hypotheses."
        )


def _register(run: _Run, book: Ledger, claims: Sequence[Hypothesis]) -> None:
    """Write the claims down before anything is read, in one commit."""
    open_ = {entry.id for entry in book.entries if entry.status == REGISTERED}
    rows = [row for claim in claims if (row := run.row(claim, REGISTERED))["registration"] not in open_]
    if rows:
        run.store.append_ledger(rows_frame(rows))


def _task(run: _Run, book: Ledger, claim: Hypothesis) -> Task:
    """Say what to look at, and how low p may have to go."""
    outcome = outcome_key(claim.then)
    screened = len(book.screened(claim.when.name, outcome))
    if _rule(run, book, claim) == ONLINE:
        level = needed_level(book, signal=claim.when.name, outcome=outcome, family=claim.family)
    else:
        size = run.size + screened
        level = ALPHA / (size * harmonic(size))
    known = {e.rows: e.id for e in book.entries if e.hypothesis == claim.digest and e.method == METHOD and e.rows}
    supported = {e.signal for e in book.entries if e.word == "SUPPORTED" and e.outcome == outcome}
    supported.discard(claim.when.name)
    return Task(claim=claim, seed=run.seed, level=level, known=known, supported=tuple(sorted(supported)))


def _try_look(where: Store | tuple[str, str], task: Task) -> Looked | Exception:
    """Look, here or in another process; what goes wrong with one claim is its answer."""
    try:
        return look(task, _opened(where))
    except InterruptedWorkError:
        raise
    except Exception as error:  # noqa: BLE001 -- one item of a batch is isolated: it is named, the others go on
        return error


def _opened(where: Store | tuple[str, str]) -> Store:
    if not isinstance(where, tuple):
        return where
    from workbench.store.store import open as open_store

    return open_store(where[0], create=False).at(where[1])


def _rule(run: _Run, book: Ledger, claim: Hypothesis) -> str:
    return rule_for(book, signal=claim.when.name, outcome=outcome_key(claim.then), batch_size=run.size)


def _write_look(run: _Run, claim: Hypothesis, looked: Looked, *, rule: str) -> None:
    """Write what was found: the test with its p, or that these rows were judged before."""
    evidence = looked.evidence
    if evidence is None:
        run.store.append_ledger(rows_frame([run.row(claim, KNOWN, ledger_id=looked.known, rows=looked.rows)]))
        return
    row = run.row(
        claim,
        MEASURED,
        ledger_id=entry_id(claim.digest, looked.rows, METHOD),
        rows=looked.rows,
        scope=evidence.scope,
        rule=rule,
        p=None if math.isnan(evidence.p) else evidence.p,
    )
    run.store.append_ledger(rows_frame([row]))


def _settle_all(
    run: _Run, claims: Mapping[str, Hypothesis], seen: Mapping[str, Looked | Exception]
) -> dict[str, Judged]:
    """Turn every test that waits for its correction into a verdict, in one commit; give all answers."""
    book = ledger(run.store)
    answers: dict[str, Judged] = {digest: out for digest, out in seen.items() if isinstance(out, Exception)}
    waiting = []
    for digest, claim in claims.items():
        entry = book.of(digest, version=run.store.version)
        if digest in answers or entry is None or entry.status != MEASURED:
            continue
        looked = seen.get(digest)
        if not isinstance(looked, Looked) or looked.evidence is None or entry.seed != run.seed:
            # Tested by a run that was interrupted, or by another process first: its seed counts.
            looked = _try_look(run.store, replace(_task(run, book, claim), seed=entry.seed, known={}))
        if isinstance(looked, Exception):
            answers[digest] = looked
        else:
            waiting.append(Seen(claim=claim, looked=looked, entry=entry, correction=correct(book, entry)))
    verdicts = settle(waiting, inputs=f"{run.store.path}@{run.store.version}")
    if waiting:
        run.store.append_ledger(rows_frame([_judged_row(run, one, verdicts[one.entry.id]) for one in waiting]))
        book = ledger(run.store)
    return answers | {digest: _verdict_in(book, digest, run) for digest in claims if digest not in answers}


def _judged_row(run: _Run, seen: Seen, verdict: Verdict) -> Mapping[str, Any]:
    correction, entry = seen.correction, seen.entry
    online = correction.rule == ONLINE and not math.isnan(entry.p)
    return run.row(
        seen.claim,
        JUDGED,
        ledger_id=entry.id,
        rows=entry.rows,
        scope=verdict.scope,
        batch=entry.batch,
        batch_size=entry.batch_size,
        seed=entry.seed,
        rule=correction.rule,
        p=None if math.isnan(entry.p) else entry.p,
        q=None if math.isnan(correction.q) else correction.q,
        tested=correction.tested,
        alpha_t=correction.alpha_t if online else None,
        rejected=correction.q <= ALPHA if online else None,
        wealth=correction.wealth if online else None,
        word=str(verdict.word),
        reading=verdict.reading_text,
        provenance=verdict.provenance.to_json(),
        verdict=verdict_to_json(verdict),
    )


def _verdict_in(book: Ledger, digest: str, run: _Run) -> Verdict:
    entry = book.of(digest, version=run.store.version)
    verdict = None if entry is None else entry.verdict
    assert verdict is not None, "a claim that was looked at without error has a verdict"
    return verdict


def _labelled(outcome: Judged, claim: Hypothesis) -> Judged:
    """Give the first answer under the name and expectation that the claim has today."""
    if isinstance(outcome, Exception):
        return outcome
    return replace(outcome, hypothesis=claim.name, expected=claim.expect)
