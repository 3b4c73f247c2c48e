"""Metrics of an entity beside its peers and its own past, at the resolution of a screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.errors import NothingToDoError
from workbench.model.panel import Panel
from workbench.model.provenance import Provenance
from workbench.panel.lanes import Span
from workbench.panel.peers import Peers, host_of, kind_of, peers
from workbench.panel.select import panel
from workbench.panel.trace import Metric, Traced, metrics_named, trace
from workbench.timebase import MICROS, from_us

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["beside", "carrier_of", "few", "nice_step", "observed_panel"]

_STEPS_S = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200),
    *(10800, 21600, 43200, 86400, 172800, 604800),
)
#: Cells across a picture; a screen shows no more.
_CELLS = 360
_BASELINE_CELLS = 300
_MOST_PEERS = 64


def nice_step(span_s: float, cells: int) -> float:
    """Give the shortest round step, in seconds, that cuts a span into at most so many cells.

    Examples
    --------
    >>> nice_step(9000.0, 75), nice_step(9000.0, 360)
    (120, 30)
    """
    return next((step for step in _STEPS_S if span_s / step <= cells), _STEPS_S[-1])


def few(others: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Give at most 64 peers, evenly taken in the order of their names, and say so.

    Examples
    --------
    >>> chosen, note = few([f"c1/n{at:03d}" for at in range(200)])
    >>> len(chosen), note
    (64, '64 of 200 peers are compared, evenly taken by name')
    """
    if len(others) <= _MOST_PEERS:
        return tuple(others), ""
    at = np.linspace(0, len(others) - 1, _MOST_PEERS).round().astype(int)
    chosen = tuple(others[index] for index in at)
    return chosen, f"{_MOST_PEERS} of {len(others):,} peers are compared, evenly taken by name"


def observed_panel(store: Store, names: Sequence[str], entities: Sequence[str], *, span: Span, step: float) -> Panel:
    """Align metrics; where nothing was observed the panel holds no entity, in place of an error."""
    try:
        return panel(store, names, span=(from_us(span[0]), from_us(span[1])), entities=list(entities), step=step)
    except NothingToDoError:
        ts = np.arange(span[0], span[1], round(step * MICROS), dtype=np.int64)
        told = Provenance(function="wb.panel", inputs="nothing observed")
        values = np.empty((0, len(names), ts.size))
        return Panel(values=values, entities=(), metrics=tuple(names), ts_us=ts, step_s=step, provenance=told)


def carrier_of(store: Store, entity: str, kind: str) -> str:
    """Give the entity of a kind that goes with another: itself, its host, or the first in its host."""
    host = host_of(entity)
    if kind == kind_of(entity) or host is None:
        return entity
    if kind == "host":
        return host
    inside = (pl.col("kind") == kind) & pl.col("entity").str.starts_with(f"{host}/")
    known = store.entities().filter(inside)["entity"]
    return str(known.sort()[0]) if known.len() else entity


def beside(
    store: Store, names: Sequence[str], entity: str, *, group: str, at_us: int, span: Span, baseline: Span
) -> list[Traced]:
    """Set metrics of an entity beside those of its peers.

    Parameters
    ----------
    store : Store
    names : sequence of str
        Metric ids; those of another kind are taken from the entity's host, or from within it.
    entity : str
    group : str
        ``job``, ``host``, ``rack`` or ``all``: who the peers are, at ``at_us``.
    at_us : int
        UTC microseconds.
    span, baseline : (low, high)
        UTC microseconds.

    Returns
    -------
    list of Traced
        In the order of ``names``.

    Raises
    ------
    UnknownNameError
        For a metric that the store does not hold.
    """
    step = nice_step((span[1] - span[0]) / MICROS, _CELLS)
    past_step = nice_step((baseline[1] - baseline[0]) / MICROS, _BASELINE_CELLS)
    by_entity: dict[str, list[Metric]] = {}
    for metric in metrics_named(store, names, kind_of(entity)):
        by_entity.setdefault(carrier_of(store, entity, metric.entity_kind), []).append(metric)
    result = []
    for one, metrics in by_entity.items():
        near = peers(store, one, at_us, group)
        near = replace(near, others=few(near.others)[0])
        asked = [metric.name for metric in metrics]
        now = observed_panel(store, asked, (one, *near.others), span=span, step=step)
        past = observed_panel(store, asked, (one,), span=baseline, step=past_step)
        result += [
            trace(store, metric, span, peers=near, panel=now, past=_only(past, metric.name, near)) for metric in metrics
        ]
    order = {name: at for at, name in enumerate(names)}
    return sorted(result, key=lambda one: order[one.metric.name])


def _only(past: Panel, name: str, near: Peers) -> NDArray[np.float64]:
    return past.metric(name)[0] if near.entity in past.entities else np.empty(0)
