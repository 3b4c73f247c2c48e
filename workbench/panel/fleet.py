"""What a screen reads: one scope's entities on a grid, with the confounders that were recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Fleet", "SignalInfo"]


@dataclass(frozen=True, kw_only=True)
class SignalInfo:
    """One signal that can be tested.

    Attributes
    ----------
    name : str
        Metric id (``gpu.power_w``) or written selector (``aer``, ``error:error1``).
    kind : str
        ``metric`` or ``event``.
    scope : str
        ``gpu`` or ``host``: what the signal is measured on.
    raw_names : tuple of str
        Names in the sources.
    interval_s : float
        Sampling or aggregation interval of the source: part of the guard.
    uncertainty_s : float
        Clock and recording uncertainty of the signal, seconds.
    role : str
        ``load``, ``temperature`` or "": which confounder the signal itself is (or carries).
    drives : tuple of str
        Roles that this signal drives (power drives temperature): never adjusted for.
    """

    name: str
    kind: str
    scope: str
    raw_names: tuple[str, ...] = ()
    interval_s: float = 0.0
    uncertainty_s: float = 0.0
    role: str = ""
    drives: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Fleet:
    """Entities of one scope on one grid.

    Attributes
    ----------
    scope : str
        ``host`` or ``gpu``.
    entities : (N,) tuple of str
        Canonical ids.
    host, rack : (N,) int64
        Index of the host and of the rack of each entity; -1: not known.
    hosts, racks : tuple of str
        Names behind the indices.
    ts_us : (T,) int64
        Left edges of the grid cells, UTC microseconds.
    step_s : float
    confounders : mapping of role to (N, T) float64
        ``load`` and ``temperature`` where recorded; NaN: not observed.
    job : (N, T) int32
        Index of the job running on the entity in that cell; -1: none known.
    job_age_s : (N, T) float32
        Seconds since that job started; NaN where none is known.
    signals : tuple of SignalInfo
    load : callable
        ``name -> (N, T) float64``; values, rates per second of counters, or counts of events.
        NaN: not observed (for events: nobody was looking). Called once per signal by a screen.
    inputs : str
        Store path and version, or digest of the arrays: goes into provenance.
    """

    scope: str
    entities: tuple[str, ...]
    host: NDArray[np.int64]
    rack: NDArray[np.int64]
    hosts: tuple[str, ...]
    racks: tuple[str, ...]
    ts_us: NDArray[np.int64]
    step_s: float
    job: NDArray[np.int32]
    job_age_s: NDArray[np.float32]
    signals: tuple[SignalInfo, ...]
    load: Callable[[str], NDArray[np.float64]]
    confounders: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    inputs: str = ""
