"""Axes of a figure as numbers: range, place on the page and tick marks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

__all__ = ["Axis", "axis_of", "floats_of", "tick_marks"]

_SECOND = 1e6
_TIME_STEPS = [
    step * _SECOND
    for step in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10800, 21600)
] + [days * 86400 * _SECOND for days in (0.5, 1, 2, 7, 14, 30, 90, 365)]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis.

    Attributes
    ----------
    low, high : float
        Range; microseconds since 1970 for times, log10 for a log axis.
    kind : str
        ``linear``, ``log`` or ``date``.
    domain : (float, float)
        Part of the page it takes, 0 to 1.
    title : str
    marks : tuple of (float, str)
        Ticks that the figure states itself; empty: to be chosen.
    labels : bool
        Whether its tick labels are shown.
    """

    low: float
    high: float
    kind: str
    domain: tuple[float, float]
    title: str
    marks: tuple[tuple[float, str], ...] = ()
    labels: bool = True

    def share(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give where values stand between ``low`` (0) and ``high`` (1)."""
        placed = values
        if self.kind == "log":
            placed = np.full(values.shape, np.nan)
            np.log10(values, out=placed, where=values > 0)
        return (placed - self.low) / (self.high - self.low)


def floats_of(values: Any) -> NDArray[np.float64]:
    """Give numbers of what plotly holds; times as microseconds since 1970, absence as NaN.

    Examples
    --------
    >>> floats_of(["1970-01-01T00:00:01", None]), floats_of([1, None])
    (array([1000000.,      nan]), array([ 1., nan]))
    """
    array = np.asarray(values)
    if array.dtype.kind in "OUS" and _holds_times(array):
        texts = [_moment(value) for value in array.ravel().tolist()]
        array = np.array(texts, dtype="datetime64[us]")
    if array.dtype.kind == "M":
        numbers = array.astype("datetime64[us]").astype(np.float64)
        numbers[np.isnat(array)] = np.nan
        return numbers
    return array.astype(np.float64)


def _holds_times(array: NDArray[Any]) -> bool:
    first = next((value for value in array.ravel().tolist() if value is not None), None)
    return isinstance(first, (str, datetime))


def _moment(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value or "NaT"


def axis_of(fig: go.Figure, name: str, letter: str) -> Axis:
    """Read one axis of a figure, such as ``x2``; its range covers the data where none is stated."""
    layout = fig.layout[f"{letter}axis{name[1:]}"]
    arrays = [
        getattr(trace, letter, None) for trace in fig.data if (getattr(trace, f"{letter}axis", None) or letter) == name
    ]
    values = np.concatenate([np.empty(0), *(floats_of(array).ravel() for array in arrays if array is not None)])
    dated = any(_is_dated(array) for array in arrays)
    kind = "date" if dated else ("log" if layout.type == "log" else "linear")
    if kind == "log":
        values = np.log10(values[values > 0])
    if any(trace.type == "bar" for trace in fig.data) and letter == "y":
        values = np.append(values, 0.0)
    low, high = _span(values[np.isfinite(values)], margin=0.05 if letter == "y" else 0.01)
    if layout.range is not None and None not in layout.range:
        low, high = (float(edge) for edge in floats_of(layout.range))
    texts = tuple(layout.ticktext) if layout.ticktext is not None else ()
    places = floats_of(layout.tickvals).tolist() if layout.tickvals is not None else []
    return Axis(
        low=low,
        high=high,
        kind=kind,
        domain=tuple(layout.domain) if layout.domain else (0.0, 1.0),
        title=layout.title.text or "",
        marks=tuple((float(place), str(text)) for place, text in zip(places, texts, strict=False)),
        labels=layout.showticklabels is not False,
    )


def _is_dated(array: Any) -> bool:
    if array is None or len(array) == 0:
        return False
    values = np.asarray(array)
    return values.dtype.kind == "M" or (values.dtype.kind in "OUS" and _holds_times(values))


def _span(values: NDArray[np.float64], margin: float) -> tuple[float, float]:
    if values.size == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    room = (high - low) * margin or abs(low) * 0.05 or 0.5
    return low - room, high + room


def tick_marks(axis: Axis, count: int) -> list[tuple[float, str]]:
    """Choose about ``count`` round tick marks: place and label.

    Examples
    --------
    >>> tick_marks(Axis(low=0, high=1, kind="linear", domain=(0, 1), title=""), 3)
    [(0.0, '0'), (0.5, '0.5'), (1.0, '1')]
    """
    if axis.marks:
        chosen = [mark for mark in axis.marks if axis.low <= mark[0] <= axis.high]
    elif axis.kind == "date":
        chosen = _time_marks(axis, count)
    elif axis.kind == "log":
        chosen = [(10.0**power, f"{10.0**power:g}") for power in range(math.ceil(axis.low), math.floor(axis.high) + 1)]
    else:
        chosen = _number_marks(axis, count)
    return chosen if axis.labels else [(place, "") for place, _ in chosen]


def _number_marks(axis: Axis, count: int) -> list[tuple[float, str]]:
    raw = (axis.high - axis.low) / max(count, 1)
    base = 10.0 ** math.floor(math.log10(raw))
    step = next(base * factor for factor in (1, 2, 5, 10) if base * factor >= raw * 0.999)
    first = math.ceil(axis.low / step - 1e-9)
    last = math.floor(axis.high / step + 1e-9)
    return [(index * step, f"{index * step:.6g}") for index in range(first, last + 1)]


def _time_marks(axis: Axis, count: int) -> list[tuple[float, str]]:
    raw = (axis.high - axis.low) / max(count, 1)
    step = next((one for one in _TIME_STEPS if one >= raw), _TIME_STEPS[-1])
    ticks = np.arange(math.ceil(axis.low / step), math.floor(axis.high / step) + 1) * step
    moments = ticks.astype(np.int64).astype("datetime64[us]")
    texts = np.datetime_as_string(moments).tolist()
    if step >= 86400 * _SECOND:
        labels = [text[:10] for text in texts]
    elif step >= 60 * _SECOND:
        labels = [text[5:16].replace("T", " ") for text in texts]
    else:
        labels = [text[11:19] if step >= _SECOND else text[11:] for text in texts]
    return list(zip(ticks.tolist(), labels, strict=True))
