"""Screen a store and remember what was screened, so that later judgements know what they were chosen from."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.errors import UnknownNameError, UsageError
from workbench.execution import check_engine, map_tasks
from workbench.hypotheses.ledger import LedgerEntry, ledger
from workbench.hypotheses.question import rows_of, watched
from workbench.hypotheses.rows import METHOD, SCREENED, entry_id, outcome_key, rows_frame
from workbench.hypotheses.verdicts import verdict_to_json
from workbench.model.incident import Incident
from workbench.model.provenance import Provenance
from workbench.model.selector import Selector
from workbench.model.verdict import Verdict
from workbench.panel.fleet import Fleet
from workbench.timebase import parse_duration
from workbench.version import __version__

if TYPE_CHECKING:
    from workbench.analysis.evidence import Evidence
    from workbench.analysis.screen import Screen
    from workbench.store.store import Store

__all__ = ["screen"]

Progress = Callable[[float, float, str], None]
_SCHEMA = "workbench.screen/1"
_LONGEST_S = 3650 * 86_400.0
_CHUNK = 16  # signals that another process measures at a time: it has to read the confounders first


def screen(  # noqa: PLR0913 -- the question (outcome, before, scope, signals), and how it is run
    store: Store,
    *,
    outcome: Selector | str,
    before: str | float = "2h",
    seed: int,
    scope: str | None = None,
    signals: str | Sequence[str] = "*",
    progress: Progress | None = None,
    engine: str = "here",
    record: bool = True,
) -> Screen:
    """Ask of every signal of a store whether it moves before an outcome, and record every try.

    Parameters
    ----------
    store : Store
    outcome : Selector or str
        Such as ``"xid:48,94"``.
    before : str or float
        How long before the outcome to look; numbers are seconds.
    seed : int
        0 or more; recorded.
    scope : str, optional
        Only signals measured on this kind of entity.
    signals : str or sequence of str
        Glob, or names of metrics and event selectors.
    progress : callable, optional
        Called with signals done, signals in all, and the name of the one just done.
    engine : str
        ``here``, ``processes:N`` or ``dask:ADDRESS``; the answer is the same.
    record : bool
        False leaves no trace in the ledger; claims about what was seen this way are then judged
        as if nobody had looked, so use it for measuring the method only.

    Returns
    -------
    Screen
        Every verdict carries its ``ledger_id``. A signal that was screened before in the same
        rows keeps its first verdict, whatever the seed.

    Raises
    ------
    UnknownNameError
        Where the store does not know the outcome, a signal or the scope.
    NothingToDoError
        Where nothing matches, or there is nobody to compare.
    UsageError
        A window, seed or engine that makes no sense.

    Examples
    --------
    ``wb.screen(store, outcome="xid:48,94", before="2h", seed=7).table()``
    """
    from workbench.analysis.screen import judge_evidence
    from workbench.analysis.settings import Settings

    check_engine(engine)
    asked = _Asked(
        outcome=outcome if isinstance(outcome, Selector) else Selector.parse(outcome),
        before_s=_window(before),
        seed=seed,
        scope=scope,
        signals=(signals,) if isinstance(signals, str) else tuple(signals),
    )
    read = _read(asked, store)
    evidence = _measure(read, store, progress=progress, engine=engine)
    parameters = {
        "outcome": str(asked.outcome),
        "before_s": asked.before_s,
        "scope": scope,
        "signals": list(asked.signals),
    }
    provenance = Provenance(
        function="wb.screen",
        inputs=f"{store.path}@{store.version}",
        parameters={**parameters, **asdict(Settings())},
        seed=seed,
        version=__version__,
    )
    result = judge_evidence(evidence, str(asked.outcome), settings=Settings(), provenance=provenance)
    return _remembered(result, read, store) if record else result


def _window(before: str | float) -> float:
    """Give the seconds of a window that can be asked for."""
    seconds = parse_duration(before)
    if not 1e-3 <= seconds <= _LONGEST_S:
        raise UsageError(f"before={before!r} is no window; expected from 1ms to 3650d, such as 2h.")
    return seconds


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The question; plain values, so that it can go to another process."""

    outcome: Selector
    before_s: float
    seed: int
    scope: str | None
    signals: tuple[str, ...]

    def digest(self, signal: str, scope: str) -> str:
        """SHA-256 of what is asked of one signal, as canonical JSON."""
        table = {
            "schema": _SCHEMA,
            "signal": signal,
            "scope": scope,
            "outcome": outcome_key(self.outcome),
            "before_s": self.before_s,
        }
        return hashlib.sha256(json.dumps(table, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True, eq=False, kw_only=True)
class _Read:
    """What the question is asked of."""

    asked: _Asked
    incidents: tuple[Incident, ...]
    fleets: tuple[Fleet, ...]
    rows: Mapping[str, Callable[[str], str]]  # by scope: name of a signal -> digest of all rows read with it


def _read(asked: _Asked, store: Store) -> _Read:
    from workbench.panel.load import fleets as load_fleets

    incidents = tuple(store.incidents(asked.outcome))
    made = load_fleets(store, incidents, before_s=asked.before_s, signals=asked.signals, outcome=asked.outcome)
    scopes = [fleet.scope for fleet in made]
    if asked.scope is not None and asked.scope not in scopes:
        raise UnknownNameError(
            "scope", asked.scope, scopes, "These are the scopes at which the incidents can be compared."
        )
    kept, rows = [], {}
    for fleet in made:
        if asked.scope in (None, fleet.scope):
            noting, digest_of = watched(fleet)
            kept.append(noting)
            whole = rows_of(fleet, incidents)
            rows[fleet.scope] = partial(_both, whole, digest_of)
    return _Read(asked=asked, incidents=incidents, fleets=tuple(kept), rows=rows)


def _both(whole: Callable[[str], str], digest_of: Callable[[str], str], name: str) -> str:
    return whole(digest_of(name))


def _measure(read: _Read, store: Store, *, progress: Progress | None, engine: str) -> list[Evidence]:
    """Measure every signal, in the order of scopes and names, wherever it is done."""
    from workbench.analysis.screen import measure
    from workbench.analysis.settings import Settings

    asked, total = read.asked, sum(len(fleet.signals) for fleet in read.fleets)
    # Draws for the whole family, also where a process sees but a part of it.
    settings = Settings(tested=max(total, 1))
    if engine == "here":
        return measure(
            read.fleets, read.incidents, before_s=asked.before_s, seed=asked.seed, settings=settings, progress=progress
        )
    tasks = [
        (fleet.scope, tuple(info.name for info in fleet.signals[start : start + _CHUNK]))
        for fleet in read.fleets
        for start in range(0, len(fleet.signals), _CHUNK)
    ]
    elsewhere = partial(_measure_some, (str(store.path), store.version), asked, total)
    measured: list[Evidence] = []
    for (_, names), some in zip(tasks, map_tasks(elsewhere, tasks, engine=engine), strict=True):
        measured += some
        if progress is not None:
            progress(len(measured), total, names[-1])
    return measured


def _measure_some(
    where: tuple[str, str], asked: _Asked, total: int, task: tuple[str, tuple[str, ...]]
) -> list[Evidence]:
    """Measure some signals of one scope, in another process."""
    from workbench.analysis.screen import measure
    from workbench.analysis.settings import Settings
    from workbench.store.store import open as open_store

    scope, names = task
    store = open_store(where[0], create=False).at(where[1])
    read = _read(replace(asked, scope=scope), store)
    (fleet,) = read.fleets
    infos = tuple(info for info in fleet.signals if info.name in names)
    return measure(
        [replace(fleet, signals=infos)],
        read.incidents,
        before_s=asked.before_s,
        seed=asked.seed,
        settings=Settings(tested=max(total, 1)),
    )


def _remembered(result: Screen, read: _Read, store: Store) -> Screen:
    """Record what is new, in one commit, and give every signal the verdict that stands in the ledger."""
    book = ledger(store)
    before = {entry.id: entry for entry in book.entries}
    batch = entry_id("screen", store.version, *(read.asked.digest(v.signal, v.scope) for v in result.verdicts))
    rows: list[dict[str, Any]] = []
    verdicts: list[Verdict] = []
    for verdict in result.verdicts:
        digest = read.asked.digest(verdict.signal, verdict.scope)
        whole = read.rows[verdict.scope](verdict.signal)
        key = entry_id(digest, whole, METHOD)
        if key in before:
            verdicts.append(_first(before[key], verdict))
            continue
        own = replace(verdict, digest=digest, ledger_id=key)
        verdicts.append(own)
        rows.append(_row(own, read.asked, whole, {"batch": batch, "inputs": store.version, "batch_size": len(result)}))
    if rows:
        store.append_ledger(rows_frame(rows))
    return replace(result, verdicts=tuple(verdicts))


def _first(entry: LedgerEntry, now: Verdict) -> Verdict:
    return entry.verdict or replace(now, digest=entry.hypothesis, ledger_id=entry.id)


def _row(verdict: Verdict, asked: _Asked, whole: str, more: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "status": SCREENED,
        "ledger_id": verdict.ledger_id,
        "registration": verdict.ledger_id,
        "kind": "screen",
        "hypothesis": verdict.digest,
        "rows": whole,
        "method": METHOD,
        "name": verdict.signal,
        "signal": verdict.signal,
        "outcome": outcome_key(asked.outcome),
        "scope": verdict.scope,
        "seed": asked.seed,
        "rule": "screen",
        "p": None if math.isnan(verdict.p) else verdict.p,
        "q": None if math.isnan(verdict.q) else verdict.q,
        "tested": verdict.tested,
        "word": str(verdict.word),
        "reading": verdict.reading_text,
        "provenance": verdict.provenance.to_json(),
        "verdict": verdict_to_json(verdict),
        **more,
    }
