"""What a view shows, as one small readable value: it can be written down, sent, and opened again."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from workbench.errors import SpecificationError, UsageError
from workbench.timebase import MICROS, format_duration, format_us, parse_duration, parse_time

__all__ = ["TimeWindow", "ViewState"]

_RELATIVE = re.compile(r"\s*([+-])\s*(\S+)\s*")
_SHORTEST_US = 1_000


@dataclass(frozen=True, kw_only=True)
class TimeWindow:
    """The one time context of a view: what all panels and tables show, and how we came here.

    Attributes
    ----------
    start_us, end_us : int
        UTC microseconds; the end is not within.
    earlier, later : tuple of (start, end)
        Windows to go back and forward to, nearest last.

    Examples
    --------
    >>> window = TimeWindow(start_us=0, end_us=100_000).to(20_000, 40_000)
    >>> window.back().span, window.back().forward().span
    ((0, 100000), (20000, 40000))
    """

    start_us: int
    end_us: int
    earlier: tuple[tuple[int, int], ...] = ()
    later: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if self.end_us - self.start_us < _SHORTEST_US:
            told = f"{format_us(self.start_us)} to {format_us(self.end_us)}"
            raise UsageError(f"The window {told} ends before it starts, or is shorter than a millisecond.")

    @property
    def span(self) -> tuple[int, int]:
        """Start and end."""
        return self.start_us, self.end_us

    def to(self, start_us: int, end_us: int) -> TimeWindow:
        """Show another stretch; the present one can be gone back to."""
        if (start_us, end_us) == self.span:
            return self
        return TimeWindow(start_us=start_us, end_us=end_us, earlier=(*self.earlier, self.span))

    def back(self) -> TimeWindow:
        """Go to the window before; the same where there is none."""
        if not self.earlier:
            return self
        start, end = self.earlier[-1]
        return TimeWindow(start_us=start, end_us=end, earlier=self.earlier[:-1], later=(*self.later, self.span))

    def forward(self) -> TimeWindow:
        """Undo a step back; the same where there is none."""
        if not self.later:
            return self
        start, end = self.later[-1]
        return TimeWindow(start_us=start, end_us=end, earlier=(*self.earlier, self.span), later=self.later[:-1])

    def zoom(self, factor: float, around_us: int | None = None) -> TimeWindow:
        """Make the window ``factor`` times as long, keeping a moment where it is.

        Examples
        --------
        >>> TimeWindow(start_us=0, end_us=100_000).zoom(0.5).span
        (25000, 75000)
        """
        middle = (self.start_us + self.end_us) // 2 if around_us is None else around_us
        start = middle - round((middle - self.start_us) * factor)
        length = max(_SHORTEST_US, round((self.end_us - self.start_us) * factor))
        return self.to(start, start + length)

    def pan(self, share: float) -> TimeWindow:
        """Move by a share of its length; negative: earlier."""
        step = round((self.end_us - self.start_us) * share)
        return self.to(self.start_us + step, self.end_us + step)

    def typed(self, text: str, t0_us: int) -> TimeWindow:
        """Read a written range: two RFC 3339 times, or two durations from the incident.

        Raises
        ------
        UsageError
            Where it is neither; says how to write it.

        Examples
        --------
        >>> TimeWindow(start_us=0, end_us=10**9).typed("-2m .. +30s", t0_us=10**9).span
        (880000000, 1030000000)
        """
        low, dots, high = text.partition("..")
        if not dots:
            raise UsageError(
                f"'{text}' is no range; write 2026-03-01T11:00:00Z .. 2026-03-01T12:00:00Z, or -2h .. +30m."
            )
        return self.to(_moment(low, t0_us), _moment(high, t0_us))

    def __str__(self) -> str:
        return f"{format_us(self.start_us)} .. {format_us(self.end_us)}"


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        raise UsageError(f"The baseline '{value}' of the view is no number; 4 is usual.") from None


def _moment(text: str, t0_us: int) -> int:
    relative = _RELATIVE.fullmatch(text)
    if relative is None:
        return parse_time(text)
    distance = round(parse_duration(relative[2]) * MICROS)
    return t0_us - distance if relative[1] == "-" else t0_us + distance


@dataclass(frozen=True, kw_only=True)
class ViewState:
    """Everything that says what a view of an incident shows.

    Attributes
    ----------
    incident, outcome : str
        Id of the incident, and the selector that finds it.
    entity : str
        Whose metrics are drawn.
    metrics : tuple of str
    peers : str
        ``job``, ``host``, ``rack`` or ``all``.
    window : TimeWindow
    baseline : float
        Length of the baseline in windows; it lies just before the window.
    version : str
        Version of the store that was looked at.

    Examples
    --------
    >>> state = ViewState(incident="a1", outcome="xid:79", entity="c1/n1", metrics=("gpu.power_w",), peers="job",
    ...     window=TimeWindow(start_us=0, end_us=10**9), version="7")
    >>> ViewState.from_permalink(state.permalink) == state
    True
    """

    incident: str
    outcome: str
    entity: str
    metrics: tuple[str, ...]
    peers: str
    window: TimeWindow
    baseline: float = 4.0
    version: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not (0 < self.baseline <= 100) or not math.isfinite(self.baseline):
            raise UsageError(f"The baseline of {self.baseline:g} windows is not between 0 and 100; 4 is usual.")

    def to_dict(self) -> dict[str, Any]:
        """Give plain values; times in UTC."""
        return {
            "incident": self.incident,
            "outcome": self.outcome,
            "entity": self.entity,
            "metrics": list(self.metrics),
            "peers": self.peers,
            "start": format_us(self.window.start_us),
            "end": format_us(self.window.end_us),
            "baseline": self.baseline,
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ViewState:
        """Read what :meth:`to_dict` gave.

        Raises
        ------
        SpecificationError
            With every missing part.
        """
        needed = ("incident", "outcome", "entity", "metrics", "peers", "start", "end")
        missing = [f"'{name}' is missing" for name in needed if name not in values]
        if missing:
            raise SpecificationError("view", missing)
        return cls(
            incident=str(values["incident"]),
            outcome=str(values["outcome"]),
            entity=str(values["entity"]),
            metrics=tuple(map(str, values["metrics"])),
            peers=str(values["peers"]),
            window=TimeWindow(start_us=parse_time(str(values["start"])), end_us=parse_time(str(values["end"]))),
            baseline=_number(values.get("baseline", 4.0)),
            version=str(values.get("version", "")),
        )

    @property
    def permalink(self) -> str:
        """One line of text that opens the same view on the same store; nothing runs, no server."""
        plain = self.to_dict()
        metrics = plain.pop("metrics")
        pairs = [*plain.items(), *(("metric", name) for name in metrics)]
        return "workbench:explore?" + urlencode(pairs)

    @classmethod
    def from_permalink(cls, link: str) -> ViewState:
        """Read a permalink.

        Raises
        ------
        UsageError
            Where the text is no permalink of a view, or parts are missing.
        """
        parts = urlsplit(link.strip())
        if parts.scheme != "workbench" or parts.path != "explore":
            raise UsageError(f"'{link[:80]}' is no link to a view; it starts with workbench:explore?incident=...")
        found = parse_qs(parts.query, keep_blank_values=True)
        plain: dict[str, Any] = {name: values[-1] for name, values in found.items() if name != "metric"}
        return cls.from_dict({**plain, "metrics": found.get("metric", [])})

    def with_window(self, window: TimeWindow) -> ViewState:
        """Show the same at another time."""
        return replace(self, window=window)

    @property
    def lookback(self) -> str:
        """Length of the window in words."""
        return format_duration(round((self.window.end_us - self.window.start_us) / MICROS, 3))
