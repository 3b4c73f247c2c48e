"""Events of one kind at places, who could have them, and how they are counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEFAULT", "Occurrences", "Places", "Rules"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How events are counted.

    Attributes
    ----------
    guard_s : float
        Shortest lead that counts.
    burst_s : float
        Events of one kind at one place, each within this of the one before, are one.
    episode_s : float
        b in one group (rack, else place), each within this of the one before, are one episode; its
        first event is the case of the matched test. Never less than the window.
    least_shift_s : float
        No shift is nearer to zero than this, nor than the window; a quarter of the span at most.
    shifts : int
        Draws.
    span : (datetime, datetime) or None
        When somebody was looking; events outside are left out.
    """

    guard_s: float = 0.0
    burst_s: float = 60.0
    episode_s: float = 3600.0
    least_shift_s: float = 4 * 3600.0
    shifts: int = 999
    span: tuple[datetime, datetime] | None = None


DEFAULT = Rules()


@dataclass(frozen=True, eq=False, kw_only=True)
class Occurrences:
    """Events of one kind.

    Attributes
    ----------
    name : str
        For sentences, such as ``xid:79``.
    place : (event,) int64
        Index of the place; -1: not known, left out and counted.
    ts_us, low_us, high_us : (event,) int64
        Recorded time, and the bounds within which it truly happened; UTC microseconds.
    """

    name: str
    place: Ints
    ts_us: Ints
    low_us: Ints
    high_us: Ints

    def take(self, index: Ints | NDArray[np.bool_]) -> Occurrences:
        """Give some of them."""
        columns = {name: getattr(self, name)[index] for name in ("place", "ts_us", "low_us", "high_us")}
        return Occurrences(name=self.name, **columns)


@dataclass(frozen=True, eq=False, kw_only=True)
class Places:
    """Where it can happen: every place at risk, also those without any event.

    Attributes
    ----------
    names : tuple of str
    group : (place,) int64
        Index of the rack, say; -1: not known, a group of its own.
    word : str
        What a place is called.
    alike : (place,) int64
        Class of the place: only places of one class (GPUs, say, or ports) are compared with each
        other, where the analysis has places of several. Empty: one class.
    """

    names: tuple[str, ...]
    group: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    word: str = "place"
    alike: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def groups(self) -> Ints:
        """(place,) int64: group of each place, without -1."""
        own = np.arange(len(self.names), dtype=np.int64)
        return np.where(self.group >= 0, self.group, own + own.size) if self.group.size else own

    def classes(self) -> Ints:
        """(place,) int64: class of each place."""
        return self.alike if self.alike.size else np.zeros(len(self.names), np.int64)
