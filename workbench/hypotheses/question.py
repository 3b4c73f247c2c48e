"""From a claim and a store to the rows that the claim asks about, and their digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UnknownNameError
from workbench.hypotheses.fields import JOB_AGE
from workbench.hypotheses.spec import Hypothesis
from workbench.model.incident import Incident
from workbench.model.selector import Selector
from workbench.panel.clockdoubt import clock_doubt_s
from workbench.panel.fleet import Fleet, SignalInfo
from workbench.timebase import MICROS

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["Question", "array_digest", "ask", "rows_of", "watched"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """What a claim asks of a store: one fleet whose only signal is the claimed one.

    Attributes
    ----------
    fleet : Fleet
        With the confounders that the claim names.
    incidents : tuple of Incident
    rows : str
        Digest of everything that was read.
    not_adjusted : mapping of str to str
        Confounders that the claim names and that must not be adjusted for, with the reason.
    others : Fleet
        The same entities, grid and confounders, with every signal of that scope.
    """

    fleet: Fleet
    incidents: tuple[Incident, ...]
    rows: str
    not_adjusted: Mapping[str, str]
    others: Fleet


def ask(claim: Hypothesis, store: Store) -> Question:
    """Read what a claim asks about; nothing is tested.

    Raises
    ------
    SpecificationError
        Where the store does not know a name in the claim.
    UnknownNameError
        Where the signal or a confounder is not measured at the scope that is asked about.
    NothingToDoError
        Where there is nobody to compare.
    """
    from workbench.panel.load import fleets, with_claim

    claim.check_against(store)
    incidents = tuple(store.incidents(claim.then))
    made = fleets(store, incidents, before_s=claim.within_s, outcome=claim.then)
    fleet = _with_event(_fleet_of(claim, made), claim, store, incidents)
    infos = {info.name: info for info in fleet.signals}
    confounders, left = _confounders(claim, fleet, made, drives=infos[claim.when.name].drives)
    fleet = replace(fleet, confounders={**fleet.confounders, **confounders})
    rows = rows_of(fleet, incidents)(array_digest(fleet.load(claim.when.name)))
    claimed = with_claim(fleet, claim.when)
    only = tuple(_guarded(info, claim, incidents) for info in claimed.signals if info.name == str(claim.when))
    return Question(
        fleet=replace(claimed, signals=only), incidents=incidents, rows=rows, not_adjusted=left, others=fleet
    )


def _fleet_of(claim: Hypothesis, made: Sequence[Fleet]) -> Fleet:
    """Choose the fleet of the scope that the claim names, else the first that measures its signal."""
    scopes = [fleet.scope for fleet in made]
    if claim.scope is not None and claim.scope not in scopes:
        raise UnknownNameError(
            "scope", claim.scope, scopes, "These are the scopes at which the incidents can be compared."
        )
    fitting = [fleet for fleet in made if claim.scope in (None, fleet.scope)]
    for fleet in fitting:
        if any(_is_meant(info, claim) for info in fleet.signals):
            return fleet
    if claim.when.kind == "event":
        return fitting[-1]  # events of every part of a host are felt by the host
    known = sorted({info.name for fleet in fitting for info in fleet.signals})
    raise UnknownNameError("signal", claim.when.name, known, f"It is not measured at {claim.scope or scopes[0]} scope.")


def _is_meant(info: SignalInfo, claim: Hypothesis) -> bool:
    """Tell whether a signal of a fleet is the claimed one, or holds events that its selector means."""
    if claim.when.kind != "event" or info.kind != "event":
        return info.name == claim.when.name
    meant, here = Selector.parse(claim.when.name), Selector.parse(info.name)
    return meant.kind == here.kind and (not here.codes or any(meant.matches_code(code) for code in here.codes))


def _with_event(fleet: Fleet, claim: Hypothesis, store: Store, incidents: Sequence[Incident]) -> Fleet:
    """Add the events of a selector that names several codes, a place, or something rare."""
    name = claim.when.name
    if claim.when.kind != "event" or name in [info.name for info in fleet.signals]:
        return fleet
    events = store.events(name)
    blur_s = (events["ts_high"] - events["ts_low"]).dt.total_microseconds().max()
    info = SignalInfo(
        name=name,
        kind="event",
        scope=fleet.scope,
        raw_names=(name,),
        uncertainty_s=float(blur_s or 0) / MICROS + clock_doubt_s(store.clocks(), incidents, "event"),  # type: ignore[arg-type]
    )
    return replace(fleet, signals=(*fleet.signals, info))


def _confounders(
    claim: Hypothesis, fleet: Fleet, made: Sequence[Fleet], *, drives: Sequence[str]
) -> tuple[dict[str, Floats], dict[str, str]]:
    """Load the confounders that the claim names; a metric of a known role stands for that role."""
    found: dict[str, Floats] = {}
    left: dict[str, str] = {}
    for name in claim.adjust_for:
        if name == JOB_AGE:
            if not (fleet.job >= 0).any():
                raise UnknownNameError(
                    "confounder", name, sorted(fleet.confounders), "No job is known on these entities."
                )
            continue
        info, values = _measured(name, fleet, made)
        if info.role and info.role in drives:
            left[name] = f"{claim.when.name} drives {info.role}: adjusting for it would hide the effect"
        else:
            found[info.role or name] = values
    return found, left


def _measured(name: str, fleet: Fleet, made: Sequence[Fleet]) -> tuple[SignalInfo, Floats]:
    """Load a metric for the entities of ``fleet``, from their hosts where it is measured there."""
    own = {info.name: info for info in fleet.signals}
    if name in own:
        return own[name], fleet.load(name)
    for other in made:
        infos = {info.name: info for info in other.signals}
        if name in infos and other.scope == "host":
            place = {host: row for row, host in enumerate(other.entities)}
            row = np.array(
                [place.get(fleet.hosts[h], -1) if h >= 0 else -1 for h in fleet.host.tolist()], dtype=np.int64
            )
            values = other.load(name)[row]
            values[row < 0] = np.nan
            return infos[name], values
    known = sorted({info.name for one in made for info in one.signals})
    raise UnknownNameError("confounder", name, known, f"It is not measured for entities of {fleet.scope} scope.")


def _guarded(info: SignalInfo, claim: Hypothesis, incidents: Sequence[Incident]) -> SignalInfo:
    """Lengthen the guard to what the claim states; what recording and sampling ask for stays."""
    from workbench.analysis.episodes import outcome_uncertainty_s

    automatic = outcome_uncertainty_s(incidents) + info.interval_s + info.uncertainty_s
    longer = max(0.0, (claim.guard_s or 0.0) - automatic)
    return replace(info, uncertainty_s=info.uncertainty_s + longer)


def array_digest(values: NDArray[np.generic]) -> str:
    """Give the SHA-256 of shape, type and content of an array.

    Examples
    --------
    >>> array_digest(np.array([1.0, np.nan])) == array_digest(np.array([1.0, np.nan]))
    True
    >>> array_digest(np.zeros(4)) == array_digest(np.zeros((2, 2)))
    False
    """
    whole = np.ascontiguousarray(values)
    digest = hashlib.sha256(f"{whole.dtype.str}{whole.shape}".encode())
    digest.update(whole.view(np.uint8).data if whole.size else b"")
    return digest.hexdigest()


def rows_of(fleet: Fleet, incidents: Sequence[Incident]) -> Callable[[str], str]:
    """Give a function from the digest of a signal to the digest of all that is read with it.

    Beside the signal these are entities, grid, confounders, jobs and the incidents; they are
    digested once, since they are the same for every signal of a screen.

    Parameters
    ----------
    fleet : Fleet
    incidents : sequence of Incident

    Returns
    -------
    callable
        ``array_digest(values) -> digest of the rows``.
    """
    context = {
        "scope": fleet.scope,
        "entities": fleet.entities,
        "hosts": fleet.hosts,
        "racks": fleet.racks,
        "step_s": fleet.step_s,
        "arrays": [array_digest(a) for a in (fleet.host, fleet.rack, fleet.ts_us, fleet.job, fleet.job_age_s)],
        "confounders": {name: array_digest(values) for name, values in fleet.confounders.items()},
        "incidents": sorted([i.id, i.entity, *(t.isoformat() for t in (i.ts, i.ts_low, i.ts_high))] for i in incidents),
    }
    common = hashlib.sha256(json.dumps(context, sort_keys=True).encode())

    def of(signal: str) -> str:
        whole = common.copy()
        whole.update(signal.encode())
        return whole.hexdigest()

    return of


def watched(fleet: Fleet) -> tuple[Fleet, Callable[[str], str]]:
    """Give the fleet so that it notes the digest of each signal that is loaded, and the notes.

    A signal that was loaded elsewhere (in another process) is loaded once more when it is asked for.
    """
    seen: dict[str, str] = {}

    def load(name: str) -> Floats:
        values = fleet.load(name)
        if name not in seen:
            seen[name] = array_digest(values)
        return values

    def digest(name: str) -> str:
        if name not in seen:
            load(name)
        return seen[name]

    return replace(fleet, load=load), digest
