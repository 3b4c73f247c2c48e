"""From incidents to episodes: what counts once, and whose windows an incident spoils."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.settings import Settings
from workbench.model.incident import Incident
from workbench.panel.fleet import Fleet
from workbench.timebase import MICROS, to_us

__all__ = ["Cases", "find_cases", "outcome_uncertainty_s"]

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class Cases:
    """The first incident of each episode, and every incident that spoils a window.

    Attributes
    ----------
    row, ts_us : (episode,) int64
        Entity of the fleet, and the recorded time.
    incidents : int
        That lie on entities of this scope.
    elsewhere : int
        That do not (another scope, or an entity without data here).
    merged : int
        Later incidents of an episode.
    recurrences : int
        Episodes left out: the first entity had an own incident too short a time before.
    hit_row, hit_us : (hit,) int64
        Incidents as entities feel them.
    hit_own : (hit,) bool
        False: felt through the host (another GPU of it failed), which spoils what follows but
        says nothing of what comes.
    """

    row: Indices
    ts_us: Indices
    incidents: int
    elsewhere: int
    merged: int
    recurrences: int
    hit_row: Indices
    hit_us: Indices
    hit_own: Mask

    def fit(self, ts_us: int, entities: int, *, quiet_us: int, ahead_us: int) -> Mask:
        """Tell which entities may serve as controls at one moment.

        Returns
        -------
        (entity,) bool
        """
        recent = (self.hit_us < ts_us) & (self.hit_us >= ts_us - quiet_us)
        soon = self.hit_own & (self.hit_us >= ts_us) & (self.hit_us <= ts_us + ahead_us)
        fit = np.ones(entities, dtype=np.bool_)
        fit[self.hit_row[recent | soon]] = False
        return fit

    def fit_times(self, row: int, ts_us: Indices, *, quiet_us: int, ahead_us: int) -> Mask:
        """Tell at which moments one entity may serve as its own control.

        Returns
        -------
        (time,) bool
        """
        fit = np.ones(ts_us.size, dtype=np.bool_)
        mine = self.hit_row == row
        for hit, own in zip(self.hit_us[mine].tolist(), self.hit_own[mine].tolist(), strict=True):
            fit &= ~((hit < ts_us) & (hit >= ts_us - quiet_us))
            if own:
                fit &= ~((hit >= ts_us) & (hit <= ts_us + ahead_us))
        return fit


def outcome_uncertainty_s(incidents: Sequence[Incident]) -> float:
    """Largest recording uncertainty among incidents, seconds: part of the guard.

    It counts from the recorded time, so bounds that reach further back than forth count whole.
    """
    return max((max(i.ts_high, i.ts) - min(i.ts_low, i.ts)).total_seconds() for i in incidents) if incidents else 0.0


def find_cases(fleet: Fleet, incidents: Sequence[Incident], *, before_s: float, settings: Settings) -> Cases:
    """Chain incidents into episodes and take the first of each as the case.

    One component (the rack; where that is not known the job; where neither is, the host) and
    gaps of at most ``chain_s``: one episode. An episode whose first entity had an own incident
    less than ``settings.quiet`` before counts as a recurrence and is left out, so that no entity
    is a case twice in that time.

    Parameters
    ----------
    fleet : Fleet
        Host scope takes incidents by their host, any other scope those on its own entities.
    incidents : sequence of Incident
    before_s : float
        Window.
    settings : Settings
    """
    row_of = {name: row for row, name in enumerate(fleet.entities)}
    host_rows = _rows_by_host(fleet)
    ordered = sorted(incidents, key=lambda i: (i.ts, i.entity, i.id))
    found: list[tuple[int, int, str]] = []
    hits: list[tuple[int, int, bool]] = []
    for incident in ordered:
        row, host = _place(fleet, incident, row_of, host_rows)
        ts = to_us(incident.ts)
        if row is not None:
            found.append((row, ts, _component(fleet, incident, row)))
            hits.append((row, ts, True))
        hits += [(other, ts, row is None) for other in host_rows.get(host, []) if other != row]
    first, merged = _first_of_each(found, round(settings.chain_s * MICROS))
    felt = np.array(hits, dtype=np.int64).reshape(-1, 3)
    cases = Cases(
        row=np.array([row for row, _ in first], dtype=np.int64),
        ts_us=np.array([ts for _, ts in first], dtype=np.int64),
        incidents=len(found),
        elsewhere=len(ordered) - len(found),
        merged=merged,
        recurrences=0,
        hit_row=felt[:, 0],
        hit_us=felt[:, 1],
        hit_own=felt[:, 2].astype(np.bool_),
    )
    return _without_recurrences(cases, round(settings.quiet(before_s) * MICROS))


def _rows_by_host(fleet: Fleet) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, host in enumerate(fleet.host.tolist()):
        if host >= 0:
            rows.setdefault(fleet.hosts[host], []).append(row)
    return rows


def _place(
    fleet: Fleet, incident: Incident, row_of: dict[str, int], host_rows: dict[str, list[int]]
) -> tuple[int | None, str]:
    """Give the row that an incident falls on (None: on none of this scope) and its host."""
    host = incident.host or ""
    if incident.entity in row_of:
        row = row_of[incident.entity]
        return row, fleet.hosts[int(fleet.host[row])] if fleet.host[row] >= 0 else host
    if fleet.scope == "host" and host in row_of:
        return row_of[host], host
    if fleet.scope == "host" and len(host_rows.get(host, [])) == 1:
        return host_rows[host][0], host
    return None, host


def _component(fleet: Fleet, incident: Incident, row: int) -> str:
    rack = int(fleet.rack[row])
    if rack >= 0:
        return f"rack {fleet.racks[rack]}"
    if incident.rack:
        return f"rack {incident.rack}"
    if incident.job:
        return f"job {incident.job}"
    return f"host {incident.host or fleet.entities[row]}"


def _first_of_each(found: list[tuple[int, int, str]], chain_us: int) -> tuple[list[tuple[int, int]], int]:
    """Chain incidents, given in order of time; give the first of each chain and how many followed."""
    last: dict[str, int] = {}
    first, merged = [], 0
    for row, ts, component in found:
        if component in last and ts - last[component] <= chain_us:
            merged += 1
        else:
            first.append((row, ts))
        last[component] = ts
    return first, merged


def _without_recurrences(cases: Cases, quiet_us: int) -> Cases:
    keep = np.array(
        [
            not ((cases.hit_row == row) & (cases.hit_us < ts) & (cases.hit_us >= ts - quiet_us)).any()
            for row, ts in zip(cases.row.tolist(), cases.ts_us.tolist(), strict=True)
        ],
        dtype=np.bool_,
    )
    return Cases(
        row=cases.row[keep],
        ts_us=cases.ts_us[keep],
        incidents=cases.incidents,
        elsewhere=cases.elsewhere,
        merged=cases.merged,
        recurrences=int((~keep).sum()),
        hit_row=cases.hit_row,
        hit_us=cases.hit_us,
        hit_own=cases.hit_own,
    )
