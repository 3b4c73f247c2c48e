"""Controls around the board, wired to an explorer; every change goes through its methods."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import ipywidgets

from workbench.errors import WorkbenchError
from workbench.panel.peers import GROUPS, host_of
from workbench.widgets.board import BoardWidget
from workbench.widgets.desk import Board
from workbench.widgets.page import body_html, copy_html, strip_data
from workbench.widgets.state import TimeWindow, ViewState

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["ControlPanel", "Shown"]

_MOST_ENTITIES = 500
_BASELINES = (1.0, 2.0, 4.0, 8.0)


class Shown(Protocol):
    """What controls need of an explorer: its state, and the ways to change it."""

    store: Store
    kept: list[dict[str, Any]]

    @property
    def board(self) -> Board:
        """Everything that is shown."""

    @property
    def current(self) -> ViewState:
        """The state, as a value."""

    @property
    def state(self) -> dict[str, Any]:
        """The state, as plain values."""

    @property
    def window(self) -> TimeWindow:
        """The time that all panels show."""

    def show(
        self,
        *,
        entity: str | None = None,
        metrics: Sequence[str] | None = None,
        group: str | None = None,
        window: str | tuple[int, int] | None = None,
        baseline: float | None = None,
    ) -> object:
        """Change what is shown."""

    def back(self) -> object:
        """Show the window before."""

    def forward(self) -> object:
        """Undo a step back."""

    def reset(self) -> object:
        """Show the first window."""

    def step(self, by: int) -> object:
        """Show the next metric that stands out."""

    def keep(self, note: str = "") -> object:
        """Keep the view as evidence."""


class ControlPanel:
    """Wires controls and board to an explorer.

    Parameters
    ----------
    explorer : Shown
        Holds the state; this class keeps nothing but widgets.

    Attributes
    ----------
    box : ipywidgets.VBox
    copy : IPython.display.DisplayHandle or None
        Where the static copy of the notebook stands; renewed when a view is kept.
    """

    def __init__(self, explorer: Shown) -> None:
        self.explorer = explorer
        self.copy: Any = None
        self._quiet = False
        self.board = BoardWidget()
        self.entity = ipywidgets.Combobox(
            description="entity", options=self._entities(), ensure_option=True, layout={"width": "520px"}
        )
        self.metrics = ipywidgets.TagsInput(allowed_tags=self._metric_names(), allow_duplicates=False)
        self.group = ipywidgets.Dropdown(description="peers", options=list(GROUPS))
        self.baseline = ipywidgets.Dropdown(
            description="baseline", options=[(f"{size:g}× before", size) for size in _BASELINES]
        )
        self.range = ipywidgets.Text(description="window", continuous_update=False, layout={"width": "430px"})
        self.box = ipywidgets.VBox([self._controls(), self.board])
        self._wire()
        self.refresh()

    def _controls(self) -> Any:
        self.buttons = {
            name: ipywidgets.Button(description=words, tooltip=tip, layout={"width": "auto"})
            for name, words, tip in (
                ("back", "◀ back", "the window before"),
                ("forward", "forward ▶", "undo a step back"),
                ("reset", "whole", "the window that the view began with"),
                ("keep", "keep", "keep this view as evidence and renew the copy below (p)"),
            )
        }
        wide = ipywidgets.Layout(flex_flow="row wrap", align_items="center")
        label = ipywidgets.Label("metrics", layout={"width": "60px"})
        return ipywidgets.VBox(
            [
                ipywidgets.HBox([self.entity, self.group, self.baseline], layout=wide),
                ipywidgets.HBox([self.range, *self.buttons.values()], layout=wide),
                ipywidgets.HBox([label, self.metrics], layout=wide),
            ]
        )

    def _entities(self) -> list[str]:
        board = self.explorer.board
        host = host_of(board.state.entity)
        inside = [
            n for n in self.explorer.store.entities()["entity"].unique().to_list() if host and n.startswith(f"{host}/")
        ]
        names = [board.state.entity, *([host] if host else []), *sorted(inside), *board.peers.others]
        return list(dict.fromkeys(names))[:_MOST_ENTITIES]

    def _metric_names(self) -> list[str]:
        return list(self.explorer.store.catalog()["metric"].to_list())

    def _wire(self) -> None:
        explorer = self.explorer
        self._on(self.entity, lambda value: explorer.show(entity=value))
        self._on(self.metrics, lambda value: explorer.show(metrics=value))
        self._on(self.group, lambda value: explorer.show(group=value))
        self._on(self.baseline, lambda value: explorer.show(baseline=value))
        self._on(self.range, lambda value: explorer.show(window=value))
        self.board.observe(lambda change: self._do(lambda: explorer.show(window=tuple(change["new"]))), "window")
        self.board.on_msg(lambda _widget, content, _buffers: self.receive(content))
        for name, button in self.buttons.items():
            button.on_click(lambda _button, name=name: self.receive({"type": name}))

    def _on(self, control: Any, act: Callable[[Any], object]) -> None:
        control.observe(lambda change: self._do(lambda: act(change["new"])), "value")

    def receive(self, content: dict[str, Any]) -> None:
        """Do what a key, a click or a button asks; unknown messages are named in the status line."""
        explorer = self.explorer
        actions: dict[str, Callable[[], object]] = {
            "back": explorer.back,
            "forward": explorer.forward,
            "reset": explorer.reset,
            "keep": self._keep,
            "step": lambda: explorer.step(int(content["by"])),
            "zoom": lambda: explorer.show(window=explorer.window.zoom(float(content["factor"])).span),
            "pan": lambda: explorer.show(window=explorer.window.pan(float(content["share"])).span),
            "entity": lambda: explorer.show(entity=str(content["name"])),
            "metric": lambda: explorer.show(metrics=self._toggled(str(content["name"]))),
        }
        action = actions.get(str(content.get("type")))
        if action is None:
            self.board.status = f"unknown message {content.get('type')!r}"
            return
        self._do(action)

    def _toggled(self, name: str) -> list[str]:
        shown = list(self.explorer.state["metrics"])
        return [one for one in shown if one != name] if name in shown and len(shown) > 1 else [*shown, name]

    def _keep(self) -> None:
        from IPython import display

        self.explorer.keep()
        if self.copy is not None:
            words = display.HTML(copy_html(self.explorer.board))  # type: ignore[no-untyped-call]
            self.copy.update(words)
        self.refresh()
        self.board.status = f"kept {len(self.explorer.kept)}; see .kept"

    def _do(self, act: Callable[[], object]) -> None:
        """Run what was asked; a mistake of the user is shown where he looks, and nothing changes."""
        if self._quiet:
            return
        try:
            act()
        except WorkbenchError as error:
            self.refresh()
            self.board.status = str(error)

    def refresh(self) -> None:
        """Show the explorer's state in controls and board."""
        started = time.perf_counter()
        state = self.explorer.current
        board = self.explorer.board
        self._quiet = True
        try:
            self._show_state()
            with self.board.hold_sync():
                self.board.window = list(state.window.span)
                self.board.strip = strip_data(board)
                self.board.body = body_html(board)
                self.board.drawn += 1
                rows = sum(one.rows for one in board.traces)
                self.board.status = f"{rows:,} rows, drawn in {time.perf_counter() - started:.2f} s"
        finally:
            self._quiet = False

    def _show_state(self) -> None:
        state = self.explorer.current
        if state.entity not in self.entity.options:
            self.entity.options = (*self.entity.options, state.entity)
        self.entity.value = state.entity
        self.metrics.value = list(state.metrics)
        self.group.value = state.peers
        if state.baseline not in _BASELINES:
            self.baseline.options = [(f"{size:g}× before", size) for size in sorted({*_BASELINES, state.baseline})]
        self.baseline.value = state.baseline
        self.range.value = str(state.window)
