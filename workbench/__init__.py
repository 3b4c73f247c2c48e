"""Offline root-cause analysis for large AI and GPU training clusters.

``import workbench as wb`` is light: every name below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Context": "workbench.model.context",
    "Hypothesis": "workbench.hypotheses.spec",
    "Incident": "workbench.model.incident",
    "Panel": "workbench.model.panel",
    "Provenance": "workbench.model.provenance",
    "Selector": "workbench.model.selector",
    "Verdict": "workbench.model.verdict",
    "change": "workbench.model.signal",
    "coincidence": "workbench.analysis.coincidence",
    "event": "workbench.model.selector",
    "explore": "workbench.widgets.explore",
    "judge": "workbench.hypotheses.judge",
    "lag_correlation": "workbench.analysis.lag",
    "ledger": "workbench.hypotheses.ledger",
    "level": "workbench.model.signal",
    "open": "workbench.store.store",
    "panel": "workbench.panel.select",
    "rate": "workbench.model.signal",
    "screen": "workbench.hypotheses.record",
    "simulate": "workbench.simulator.dumps",
    "write_up": "workbench.reports.writeup",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'workbench' has no attribute '{name}'; see dir(workbench)")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
