"""What a view of one incident shows, computed from a store: plain functions, no widget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from workbench.analysis.standout import StandOut, stand_out
from workbench.figures.incident import Lane, Moment
from workbench.model.incident import Incident
from workbench.model.panel import Panel
from workbench.panel.beside import beside, few, nice_step, observed_panel
from workbench.panel.lanes import Span, event_counts, event_rows, job_rows, lanes, moment_of
from workbench.panel.peers import Peers, host_of, kind_of, peers
from workbench.panel.trace import Traced, metrics_of
from workbench.panel.view import View
from workbench.timebase import MICROS
from workbench.widgets.state import ViewState

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["Board", "Desk", "Overview", "focus_of"]

Made = TypeVar("Made")

#: Cells across a timeline and across the strip of the day; a screen shows no more.
_TIMELINE_CELLS, _OVERVIEW_CELLS = 240, 600
#: Cells of the window in which deviations are looked for.
_STAND_OUT_CELLS = 75
_OVERVIEW_US = 12 * 3600 * MICROS
_KEPT = 24


def focus_of(store: Store, incident: Incident) -> str:
    """Give the entity whose metrics tell most of an incident: itself, else its host.

    Returns
    -------
    str
        Canonical id of the first of entity, host and the first host of its job that has metrics;
        the entity itself where none has.
    """
    measured = set(store.catalog()["entity_kind"].to_list())
    candidates = [incident.entity, incident.host, *incident.hosts[:1]]
    for name in candidates:
        if name is not None and kind_of(name) in measured:
            return str(name)
    return incident.entity


@dataclass(frozen=True, eq=False, kw_only=True)
class Overview:
    """The day around an incident, for the strip on top."""

    span: Span
    lanes: Sequence[Lane]
    gaps: Sequence[tuple[int, int]]
    view: View


@dataclass(frozen=True, eq=False, kw_only=True)
class Board:
    """Everything that a view shows at one state.

    Attributes
    ----------
    incident : Incident
    state : ViewState
    moment : Moment
        The incident with the bounds of its time.
    overview : Overview
    lanes : sequence of Lane
        Of the window.
    traces : sequence of Traced
    deviations : StandOut or None
        Metrics that stand out; None where nothing was observed.
    ranked : StandOut or None
        The entity and its peers, by the first metric shown.
    peers : Peers
    views : mapping of name to View
        With the query behind each.
    notes : sequence of str
        What a reader must know.
    code : sequence of str
        Python that gives the aligned numbers.
    """

    incident: Incident
    state: ViewState
    moment: Moment
    overview: Overview
    lanes: Sequence[Lane]
    traces: Sequence[Traced]
    deviations: StandOut | None
    ranked: StandOut | None
    peers: Peers
    views: dict[str, View]
    notes: Sequence[str]
    code: Sequence[str]


class Desk:
    """Computes boards of one incident; keeps what did not change.

    Parameters
    ----------
    store : Store
    incident : Incident
    """

    def __init__(self, store: Store, incident: Incident) -> None:
        self.store, self.incident = store, incident
        self.moment = moment_of(incident)
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._whole: Overview | None = None

    def board(self, state: ViewState) -> Board:
        """Compute everything that a state shows."""
        key = (state.window.span, state.entity, state.peers, state.baseline, state.metrics)
        found = self._once(("board", *key), lambda: self._compute(state))
        return replace(found, state=state)

    def _compute(self, state: ViewState) -> Board:
        span = state.window.span
        if self._whole is None:
            self._whole = self._overview(state)
        counts, jobs, events = self._once(("events", span), lambda: self._events(span))
        near = self._once(("peers", state.entity, state.peers), lambda: self._peers(state.entity, state.peers))
        notes = [] if near.others else [near.note]
        wide = self._once(
            ("wide", span, state.entity, state.peers, state.baseline), lambda: self._wide_panels(state, near, notes)
        )
        traces = self._once(
            ("traces", span, state.entity, state.peers, state.baseline, state.metrics),
            lambda: self._traces(state),
        )
        window, baseline = self.spans(state)
        shown = [(found, name) for found, name, _ in wide]
        views = {view.name: view for view in (counts, jobs, events, *(one.view for one in traces))}
        return Board(
            incident=self.incident,
            state=state,
            moment=self.moment,
            overview=self._whole,
            lanes=lanes(counts, jobs, span, _TIMELINE_CELLS),
            traces=traces,
            deviations=stand_out(shown, window=window, baseline=baseline) if shown else None,
            ranked=self._once(
                ("ranked", span, state.entity, state.peers, state.baseline, state.metrics[:1]),
                lambda: self._ranked(state, wide, window, baseline),
            ),
            peers=near,
            views=views,
            notes=[*notes, *(note for _, _, note in wide if note)],
            code=[_code_of(found) for found, _ in shown],
        )

    def spans(self, state: ViewState) -> tuple[Span, Span]:
        """Give the stretch searched for deviations, and its baseline.

        The stretch ends at the earliest time at which the incident may have happened, where that
        lies inside of the window: what comes after cannot have announced it.
        """
        start, end = state.window.span
        if start < self.moment.low_us < end:
            end = self.moment.low_us
        return (start, end), (start - round(state.baseline * (end - start)), start)

    def default_metrics(self, board: Board, count: int = 4) -> tuple[str, ...]:
        """Give the metrics that stand out most on the entity shown; the first by name where none does."""
        entity = board.state.entity
        ranked = [row.metric for row in board.deviations.rows if row.entity == entity] if board.deviations else []
        known = [metric.name for metric in metrics_of(self.store, kind_of(entity))]
        return tuple(dict.fromkeys([*ranked, *known]))[:count]

    def _once(self, key: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        if key not in self._kept:
            while len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = make()
        found: Made = self._kept[key]
        return found

    def _events(self, span: Span) -> tuple[View, View, View]:
        return (
            event_counts(self.store, self.incident, span, _TIMELINE_CELLS),
            job_rows(self.store, self.incident, span),
            event_rows(self.store, self.incident, span),
        )

    def _peers(self, entity: str, group: str) -> Peers:
        return peers(self.store, entity, self.moment.ts_us, group)

    def _wide_panels(self, state: ViewState, near: Peers, notes: list[str]) -> list[tuple[Panel, str, str]]:
        """Give a panel of all metrics for the entity and, where it lies in one, for its host."""
        subjects = [near]
        host = host_of(state.entity)
        if host is not None and host != state.entity:
            subjects.append(self._peers(host, "all" if state.peers == "host" else state.peers))
        window, baseline = self.spans(state)
        step = nice_step((window[1] - window[0]) / MICROS, _STAND_OUT_CELLS)
        result = []
        for subject in subjects:
            names = [metric.name for metric in metrics_of(self.store, kind_of(subject.entity))]
            if not names:
                notes.append(f"no metric of any {kind_of(subject.entity)} is in this store")
                continue
            others, note = few(subject.others)
            whole = (baseline[0], window[1])
            found = observed_panel(self.store, names, (subject.entity, *others), span=whole, step=step)
            if not found.entities:
                notes.append(f"nothing was observed of {subject.entity} or its peers in window and baseline")
                continue
            result.append((found, subject.entity, note))
        return result

    def _traces(self, state: ViewState) -> list[Traced]:
        _, baseline = self.spans(state)
        return beside(
            self.store,
            state.metrics,
            state.entity,
            group=state.peers,
            at_us=self.moment.ts_us,
            span=state.window.span,
            baseline=baseline,
        )

    def _ranked(
        self, state: ViewState, wide: Sequence[tuple[Panel, str, str]], window: Span, baseline: Span
    ) -> StandOut | None:
        for name in state.metrics[:1]:
            for found, _, _ in wide:
                if name in found.metrics:
                    at = found.metrics.index(name)
                    one = replace(found, metrics=(name,), values=found.values[:, at : at + 1])
                    return stand_out(((one, entity) for entity in one.entities), window=window, baseline=baseline)
        return None

    def _overview(self, state: ViewState) -> Overview:
        low, high = self.moment.ts_us - _OVERVIEW_US, self.moment.ts_us + _OVERVIEW_US
        ends = (pl.col("first").min().dt.timestamp("us"), pl.col("last").max().dt.timestamp("us"))
        first, last = self.store.catalog().select(*ends).row(0)
        if first is not None:
            low, high = max(low, first), min(high, last)
        span = min(low, state.window.start_us), max(high, state.window.end_us)
        counts = event_counts(self.store, self.incident, span, _OVERVIEW_CELLS)
        view = replace(counts, name="overview")
        nothing = replace(view, frame=pl.DataFrame(schema={"job": pl.String()}))
        return Overview(
            span=span, lanes=lanes(view, nothing, span, _OVERVIEW_CELLS), gaps=self._unseen(state, span), view=view
        )

    def _unseen(self, state: ViewState, span: Span) -> list[tuple[int, int]]:
        """Give the stretches in which no source looked at the entity or its host."""
        names = [state.entity, host_of(state.entity) or state.entity]
        rows = self.store.observed().filter(pl.col("entity").is_in(names)).sort("start")
        if rows.is_empty():
            return []
        result, seen = [], span[0]
        for start, end in rows.select(pl.col("start").dt.timestamp("us"), pl.col("end").dt.timestamp("us")).iter_rows():
            if start > seen:
                result.append((seen, min(start, span[1])))
            seen = max(seen, end)
        return [gap for gap in [*result, (seen, span[1])] if gap[1] > gap[0]]


def _code_of(found: Panel) -> str:
    """Write the call that gives a panel."""
    asked = found.provenance.parameters
    (low, high), *_ = asked["windows"]
    moments = f"span=(datetime.fromisoformat({low!r}), datetime.fromisoformat({high!r}))"
    return f"wb.panel(store, {list(found.metrics)!r}, {moments}, entities={list(found.entities)!r}, step={asked['step_s']!r})"
