"""Offline root-cause analysis for large AI and GPU training clusters.

``import workbench as wb`` is light: every name below is loaded when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from workbench.version import __version__

if TYPE_CHECKING:
    from workbench.analysis.byuser import by_user
    from workbench.analysis.change import change_points
    from workbench.analysis.coincidence import coincidence
    from workbench.analysis.lag import lag_correlation
    from workbench.analysis.lagscreen import lag_screen
    from workbench.analysis.propagation import propagation
    from workbench.analysis.ranking import rank_members
    from workbench.analysis.recurrence import recurrence
    from workbench.hypotheses.judge import judge
    from workbench.hypotheses.ledger import ledger
    from workbench.hypotheses.record import screen
    from workbench.hypotheses.spec import Hypothesis
    from workbench.model.context import Context
    from workbench.model.incident import Incident
    from workbench.model.panel import Panel
    from workbench.model.provenance import Provenance
    from workbench.model.selector import Selector, event
    from workbench.model.signal import change, level, rate
    from workbench.model.verdict import Verdict
    from workbench.panel.select import panel
    from workbench.reports.writeup import write_up
    from workbench.simulator.dumps import simulate
    from workbench.store.reconcile import reconciled
    from workbench.store.store import open  # noqa: A004 -- read as wb.open
    from workbench.store.templates import templates
    from workbench.widgets.explore import explore

_HOME = {
    "Context": "workbench.model.context",
    "Hypothesis": "workbench.hypotheses.spec",
    "Incident": "workbench.model.incident",
    "Panel": "workbench.model.panel",
    "Provenance": "workbench.model.provenance",
    "Selector": "workbench.model.selector",
    "Verdict": "workbench.model.verdict",
    "by_user": "workbench.analysis.byuser",
    "change": "workbench.model.signal",
    "change_points": "workbench.analysis.change",
    "coincidence": "workbench.analysis.coincidence",
    "event": "workbench.model.selector",
    "explore": "workbench.widgets.explore",
    "judge": "workbench.hypotheses.judge",
    "lag_correlation": "workbench.analysis.lag",
    "lag_screen": "workbench.analysis.lagscreen",
    "ledger": "workbench.hypotheses.ledger",
    "level": "workbench.model.signal",
    "open": "workbench.store.store",
    "panel": "workbench.panel.select",
    "propagation": "workbench.analysis.propagation",
    "rank_members": "workbench.analysis.ranking",
    "rate": "workbench.model.signal",
    "recurrence": "workbench.analysis.recurrence",
    "reconciled": "workbench.store.reconcile",
    "screen": "workbench.hypotheses.record",
    "simulate": "workbench.simulator.dumps",
    "templates": "workbench.store.templates",
    "write_up": "workbench.reports.writeup",
}

__all__ = [
    "Context",
    "Hypothesis",
    "Incident",
    "Panel",
    "Provenance",
    "Selector",
    "Verdict",
    "__version__",
    "by_user",
    "change",
    "change_points",
    "coincidence",
    "event",
    "explore",
    "judge",
    "lag_correlation",
    "lag_screen",
    "ledger",
    "level",
    "open",
    "panel",
    "propagation",
    "rank_members",
    "rate",
    "recurrence",
    "reconciled",
    "screen",
    "simulate",
    "templates",
    "write_up",
]


class _Package(ModuleType):
    """Keeps ``wb.panel`` the function, though a package of that name is imported beside it."""

    @property
    def panel(self) -> Any:
        return import_module(_HOME["panel"]).panel

    @panel.setter
    def panel(self, package: ModuleType) -> None:
        """Take what the import system hands over; the package stays in ``sys.modules``."""


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'workbench' has no attribute '{name}'; see dir(workbench)")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
