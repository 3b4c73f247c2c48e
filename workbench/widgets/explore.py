"""The linked view of one incident: what happened, how its metrics went, what stands out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from workbench.errors import UnknownNameError, UsageError
from workbench.model.incident import Incident
from workbench.panel.peers import FEWEST, GROUPS, kind_of, peers
from workbench.panel.trace import metrics_named, metrics_of
from workbench.panel.view import View
from workbench.timebase import MICROS, parse_duration, to_us
from workbench.widgets.desk import Board, Desk, focus_of
from workbench.widgets.page import copy_html, page_html
from workbench.widgets.state import TimeWindow, ViewState

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["Explorer", "explore"]


def explore(
    incident: Incident,
    store: Store,
    *,
    metrics: Sequence[str] | None = None,
    before: str | float = "2h",
    after: str | float = "30m",
    group: str | None = None,
) -> Explorer:
    """Look at one incident: events by lane, metrics beside peers and baseline, what stands out.

    In JupyterLab the answer shows as a linked view: a time drawn on any picture sets all of them.
    Everything in it can be had without a browser, from the same object.

    Parameters
    ----------
    incident : Incident
        From ``store.incidents(...)``.
    store : Store
    metrics : sequence of str or None
        Metrics to draw; None: the four of its entity that stand out most.
    before, after : duration
        Length of the window around the incident, such as ``2h``.
    group : str or None
        Peers: ``job``, ``host``, ``rack`` or ``all``; None: the first of job, rack, host, all
        that holds at least five.

    Returns
    -------
    Explorer
        ``.state``, ``.permalink``, ``.table(name)``, ``.sql``, ``.to_html(path)``.

    Raises
    ------
    UsageError
        Where several incidents are given.
    UnknownNameError
        For a metric or group that is not there, with the nearest names.

    Notes
    -----
    For exploring only: one incident proves nothing, and no part of the view is a verdict.
    ``wb.screen`` and ``wb.judge`` test.
    """
    if not isinstance(incident, Incident):
        raise UsageError(f"explore takes one incident, not {type(incident).__name__}; pick one, such as incidents[0].")
    if group is not None and group not in GROUPS:
        raise UnknownNameError("group of peers", group, GROUPS)
    metrics_named(store, metrics or ())
    at = to_us(incident.ts)
    low, high = (round(parse_duration(length) * MICROS) for length in (before, after))
    start, end = at - low, at + high
    if end - start >= 120 * MICROS:  # whole seconds: no false precision in what is typed and linked
        start, end = start // MICROS * MICROS, -(-end // MICROS) * MICROS
    entity = focus_of(store, incident)
    state = ViewState(
        incident=incident.id,
        outcome=f"{incident.kind}:{incident.code}" if incident.code else incident.kind,
        entity=entity,
        metrics=tuple(metrics or ()),
        peers=group or peers(store, entity, at).group,
        window=TimeWindow(start_us=start, end_us=end),
        version=store.version,
    )
    return Explorer(store, incident, state)


class Explorer:
    """A linked view of one incident; see :func:`explore`.

    Parameters
    ----------
    store : Store
    incident : Incident
    state : ViewState
        Where it names no metrics, those that stand out most are chosen.
    """

    def __init__(self, store: Store, incident: Incident, state: ViewState) -> None:
        self.store, self.incident = store, incident
        self._desk = Desk(store, incident)
        self._first = state
        if not state.metrics:
            chosen = self._desk.default_metrics(self._desk.board(state))
            self._first = replace(state, metrics=chosen)
        self._state = self._first
        self._panel: Any = None
        self.kept: list[dict[str, Any]] = []

    @classmethod
    def from_permalink(cls, link: str, store: Store) -> Explorer:
        """Open the view that a permalink describes.

        Raises
        ------
        UsageError
            Where the text is no permalink.
        UnknownNameError
            Where the store holds no such incident, metric or entity.
        """
        state = ViewState.from_permalink(link)
        incident = store.incidents(state.outcome).by_id(state.incident)
        explorer = cls(store, incident, replace(state, version=store.version))
        explorer.restore(explorer.current)
        return explorer

    @property
    def current(self) -> ViewState:
        """What is shown, as a value to come back to with :meth:`restore`."""
        return self._state

    def restore(self, state: ViewState) -> Explorer:
        """Show a state; what it names must be there, else nothing changes.

        Raises
        ------
        UnknownNameError
            For a metric, group or entity that is not there, with the nearest names.
        """
        metrics_named(self.store, state.metrics)
        if state.peers not in GROUPS:
            raise UnknownNameError("group of peers", state.peers, GROUPS)
        known = self.store.entities()["entity"].to_list()
        if state.entity not in known:
            raise UnknownNameError("entity", state.entity, known, "See store.entities().")
        self._state = state
        if self._panel is not None:
            self._panel.refresh()
        return self

    @property
    def state(self) -> dict[str, Any]:
        """What is shown, as plain values."""
        return self._state.to_dict()

    @property
    def permalink(self) -> str:
        """One line of text that opens this view again: ``Explorer.from_permalink(link, store)``."""
        return self._state.permalink

    @property
    def window(self) -> TimeWindow:
        """The time that all panels and tables show."""
        return self._state.window

    @property
    def board(self) -> Board:
        """Everything that is shown now, computed."""
        return self._desk.board(self._state)

    @property
    def views(self) -> list[str]:
        """Names for :meth:`table`."""
        return [*self.board.views, "overview", "stand_out", "entities", "peers"]

    @property
    def sql(self) -> list[View]:
        """The query behind each view, complete: ``store.sql(view.sql)`` gives its table again."""
        board = self.board
        return [*board.views.values(), board.overview.view]

    def table(self, view: str) -> pl.DataFrame:
        """Give the table behind a view: ``timeline``, ``jobs``, ``events``, ``stand_out``, ``entities``, ``peers``, or a metric.

        Raises
        ------
        UnknownNameError
            With the names there are.
        """
        board = self.board
        found = {
            **{name: one.frame for name, one in board.views.items()},
            "overview": board.overview.view.frame,
            "stand_out": board.deviations.table() if board.deviations else pl.DataFrame(),
            "entities": board.ranked.table() if board.ranked else pl.DataFrame(),
            "peers": pl.DataFrame({"entity": list(board.peers.others)}, schema={"entity": pl.String()}),
        }
        if view not in found:
            raise UnknownNameError("view", view, list(found))
        return found[view]

    def show(
        self,
        *,
        entity: str | None = None,
        metrics: Sequence[str] | None = None,
        group: str | None = None,
        window: str | tuple[int, int] | None = None,
        baseline: float | None = None,
    ) -> Explorer:
        """Change what is shown; returns itself.

        Parameters
        ----------
        entity : str, optional
            Canonical id; metrics of its kind are chosen anew where none of those shown fits.
        metrics : sequence of str, optional
        group : str, optional
            ``job``, ``host``, ``rack`` or ``all``.
        window : str or (start, end), optional
            Written as ``2026-03-01T11:00:00Z .. 2026-03-01T12:00:00Z`` or ``-2h .. +30m``, or in
            UTC microseconds.
        baseline : float, optional
            Length of the baseline in windows.
        """
        new = self._state
        if window is not None:
            moved = (
                new.window.typed(window, to_us(self.incident.ts)) if isinstance(window, str) else new.window.to(*window)
            )
            new = replace(new, window=moved)
        new = replace(
            new,
            entity=entity or new.entity,
            metrics=tuple(metrics) if metrics is not None else new.metrics,
            peers=group or new.peers,
            baseline=new.baseline if baseline is None else baseline,
        )
        return self.restore(self._with_metrics(new))

    def back(self) -> Explorer:
        """Show the window before."""
        return self.restore(replace(self._state, window=self.window.back()))

    def forward(self) -> Explorer:
        """Undo a step back."""
        return self.restore(replace(self._state, window=self.window.forward()))

    def reset(self) -> Explorer:
        """Show the window that the view began with."""
        return self.restore(replace(self._state, window=self.window.to(*self._first.window.span)))

    def step(self, by: int) -> Explorer:
        """Show the next (or previous) metric in the order in which they stand out, first of all."""
        found = self.board.deviations
        names = list(dict.fromkeys(row.metric for row in found.rows)) if found else []
        if not names:
            return self
        shown = self._state.metrics
        at = names.index(shown[0]) if shown and shown[0] in names else -1
        chosen = names[(at + by) % len(names)]
        return self.show(metrics=[chosen, *(name for name in shown if name != chosen)][: max(4, len(shown))])

    def keep(self, note: str = "") -> dict[str, Any]:
        """Keep this view as evidence: state, link, note, and a digest of every table in it."""
        digests = {view.name: _digest(view.frame) for view in self.board.views.values()}
        kept = {"state": self.state, "link": self.permalink, "note": note, "digests": digests}
        self.kept.append(kept)
        return kept

    def to_html(self, path: str | Path | None = None) -> str:
        """Give the view as one HTML page without scripts or network; write it where a path is given."""
        html = page_html(self.board)
        if path is not None:
            Path(path).write_text(html, encoding="utf-8")
        return html

    def _with_metrics(self, state: ViewState) -> ViewState:
        """Choose metrics anew where the entity is of another kind than those shown."""
        metrics_named(self.store, state.metrics)
        kinds = {kind_of(state.entity), "host"}
        known = {metric.name for kind in kinds for metric in metrics_of(self.store, kind)}
        if state.entity == self._state.entity or any(name in known for name in state.metrics):
            return state
        return replace(state, metrics=self._desk.default_metrics(self._desk.board(replace(state, metrics=()))))

    @property
    def widget(self) -> Any:
        """The live view: controls and board (``ipywidgets`` and ``anywidget``)."""
        if self._panel is None:
            from workbench.widgets.controls import ControlPanel

            self._panel = ControlPanel(self)
        return self._panel.box

    def __repr__(self) -> str:
        state = self._state
        few = "" if self.board.peers.enough else f" (too few: fewer than {FEWEST})"
        return (
            f"Explorer of {self._desk.moment.label}: {state.entity}, {state.window} UTC, "
            f"{len(self.board.peers.others)} peers by {state.peers}{few}, metrics {', '.join(state.metrics) or 'none'}\n"
            f"{state.permalink}"
        )

    def _repr_html_(self) -> str:
        return copy_html(self.board)

    def _ipython_display_(self) -> None:
        """Show the live view, and beside it a copy that a saved notebook keeps."""
        from IPython import display

        display.display(self.widget)  # type: ignore[no-untyped-call]
        words = display.HTML(self._repr_html_())  # type: ignore[no-untyped-call]
        self._panel.copy = display.display(words, display_id=True)  # type: ignore[no-untyped-call]


def _digest(frame: pl.DataFrame) -> str:
    return hashlib.sha256(frame.write_csv().encode()).hexdigest()[:16]
