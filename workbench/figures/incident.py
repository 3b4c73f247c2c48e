"""Pictures of one incident: what happened when, and how a metric went beside its peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workbench.figures.drawing import TimeAxis, band_path, line_path, picture, rect, text, time_ticks, value_ticks
from workbench.figures.text import compact, shorten

__all__ = ["Bar", "Lane", "Moment", "Trace", "metric_svg", "timeline_svg"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_WIDTH, _LEFT, _RIGHT = 960.0, 72.0, 76.0
_ROW, _TOP = 26.0, 20.0


@dataclass(frozen=True, kw_only=True)
class Moment:
    """When something was recorded, and the bounds within which it truly happened (UTC us)."""

    ts_us: int
    low_us: int
    high_us: int
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Something that lasted, such as a job; ``end_us`` None: not seen to end."""

    start_us: int
    end_us: int | None
    label: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Lane:
    """One row of a timeline.

    Attributes
    ----------
    name : str
    own, other : (cell,) int64
        Events per cell on the entity of the incident, and elsewhere.
    tips : mapping of cell to str
        Words that show under the pointer.
    bars : sequence of Bar
    """

    name: str
    own: Counts
    other: Counts
    tips: Mapping[int, str] = field(default_factory=dict)
    bars: Sequence[Bar] = ()


def timeline_svg(
    lanes: Sequence[Lane],
    t0_us: int,
    t1_us: int,
    *,
    incident: Moment | None = None,
    gaps: Sequence[tuple[int, int]] = (),
    window: tuple[int, int] | None = None,
    alone: bool = False,
) -> str:
    """Draw events by lane: solid on the entity itself, grey elsewhere, height by the log of the count.

    Parameters
    ----------
    lanes : sequence of Lane
        All with the same number of cells, which fill ``t0_us`` to ``t1_us`` evenly.
    t0_us, t1_us : int
        UTC microseconds.
    incident : Moment or None
        Drawn as a line, with a bar over the time within which it may have happened.
    gaps : sequence of (low, high) in UTC microseconds
        Nobody was looking: hatched.
    window : (low, high) or None
        Drawn as a frame.
    alone : bool
        For a file of its own.

    Returns
    -------
    str
        One SVG element.
    """
    axis = TimeAxis(t0_us=t0_us, t1_us=t1_us, left=_LEFT, right=_WIDTH - _RIGHT)
    heights = [_ROW + 13.0 * len(lane.bars) for lane in lanes]
    bottom = _TOP + sum(heights)
    parts = [_hatched(axis, gaps, _TOP, bottom), _time_grid(axis, _TOP, bottom, 10)]
    y = _TOP
    for lane, height in zip(lanes, heights, strict=True):
        parts.append(_lane(lane, axis, y, height))
        y += height
    if window is not None and (edges := axis.clip(*window)):
        parts.append(rect(edges[0], _TOP, width=edges[1] - edges[0], height=bottom - _TOP, kind="window"))
    parts.append(_incident(axis, incident, _TOP, bottom))
    parts.append(text(_WIDTH - 4, bottom + 14, "UTC", "dim end"))
    title = "Events by kind over time" + (f", {incident.label}" if incident else "")
    return picture("".join(parts), width=_WIDTH, height=bottom + 22, title=title, axis=axis, alone=alone)


def _lane(lane: Lane, axis: TimeAxis, y: float, height: float) -> str:
    foot = y + _ROW - 3
    parts = [
        f'<path class="grid" d="M{axis.left:g} {y + height:g}H{axis.right:g}"/>',
        text(axis.left - 8, foot - 5, lane.name, "end" + ("" if lane.own.any() or lane.bars else " dim")),
        text(_WIDTH - 4, foot - 5, _total(lane), "dim end"),
    ]
    most = int(max((lane.own + lane.other).max(initial=0), 1))
    wide = (axis.right - axis.left) / max(1, lane.own.size)
    for cell in np.flatnonzero(lane.own + lane.other).tolist():
        x, tip = axis.left + cell * wide, lane.tips.get(cell, "")
        for count, kind in ((int(lane.own[cell] + lane.other[cell]), "else"), (int(lane.own[cell]), "own")):
            if count and (kind == "own" or lane.other[cell]):
                tall = 5 + 12 * np.log1p(count) / np.log1p(most)
                parts.append(rect(x, foot - tall, width=max(wide, 2.5), height=tall, kind=kind, tip=tip))
    parts += _bursts(lane, axis, wide, foot)
    parts += [_bar(bar, axis, y + _ROW + 13 * row - 1) for row, bar in enumerate(lane.bars)]
    return "".join(parts)


def _total(lane: Lane) -> str:
    own, everything = int(lane.own.sum()), int(lane.own.sum() + lane.other.sum())
    if not everything:
        return "none"
    return (
        compact(float(everything))
        if own in (0, everything)
        else f"{compact(float(own))} of {compact(float(everything))}"
    )


def _bursts(lane: Lane, axis: TimeAxis, wide: float, foot: float) -> list[str]:
    """Write the counts of the three largest bursts (cells in a row), each behind its last cell."""
    counts = lane.own + lane.other
    busy = np.flatnonzero(counts)
    groups = np.split(busy, np.flatnonzero(np.diff(busy) > 2) + 1) if busy.size else []
    parts: list[str] = []
    taken: list[float] = []
    for group in sorted(groups, key=lambda cells: -int(counts[cells].sum()))[:3]:
        total = int(counts[group].sum())
        x = axis.left + (int(group[-1]) + 1) * wide + 4
        if total >= 5 and x < axis.right - 26 and all(abs(x - other) > 44 for other in taken):
            taken.append(x)
            parts.append(text(x, foot - 6, f"×{compact(float(total))}", "dim"))
    return parts


def _bar(bar: Bar, axis: TimeAxis, y: float) -> str:
    edges = axis.clip(bar.start_us, bar.end_us if bar.end_us is not None else axis.t1_us)
    if edges is None:
        return ""
    low, high = edges
    room = int((high - low) / 6.2)
    inside = bar.label if len(bar.label) <= room else f"{bar.label[: room - 1]}…" if room > 8 else ""
    label = text(low + 4, y + 9, inside) if inside else ""
    return rect(low, y, width=max(high - low, 1), height=11, kind="job", tip=bar.label) + label


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """One metric of one entity beside its peers.

    Attributes
    ----------
    x_us : (point,) int64
        Middle of each cell, UTC microseconds.
    low, mean, high : (point,) float64
        Smallest, mean and largest value in the cell. NaN: a gap, drawn as one.
    peer_low, peer_middle, peer_high : (point,) float64
        5 %, 50 % and 95 % point of the peers then; NaN where there are too few.
    past : (low, middle, high) or None
        The same points of the entity's own baseline.
    gaps : sequence of (low, high) in UTC microseconds
    notes : sequence of str
        Honest states, such as "too few peers (3)".
    """

    x_us: NDArray[np.int64]
    low: Floats
    mean: Floats
    high: Floats
    peer_low: Floats
    peer_middle: Floats
    peer_high: Floats
    past: tuple[float, float, float] | None = None
    gaps: Sequence[tuple[int, int]] = ()
    notes: Sequence[str] = ()


_PANEL_W, _PANEL_H, _PANEL_LEFT, _PANEL_TOP, _PANEL_BOTTOM = 480.0, 158.0, 46.0, 34.0, 136.0


def metric_svg(
    trace: Trace,
    t0_us: int,
    t1_us: int,
    *,
    title: str,
    subtitle: str = "",
    incident: Moment | None = None,
    alone: bool = False,
) -> str:
    """Draw one metric: line and range of the entity, dashed median and band of its peers, baseline.

    Parameters
    ----------
    trace : Trace
    t0_us, t1_us : int
        UTC microseconds.
    title, subtitle : str
        The metric with its unit; interval, number of points and the like.
    incident : Moment or None
    alone : bool
        For a file of its own.

    Returns
    -------
    str
        One SVG element.
    """
    axis = TimeAxis(t0_us=t0_us, t1_us=t1_us, left=_PANEL_LEFT, right=_PANEL_W - 8)
    parts = [text(2, 12, title, "strong"), text(2, 25, subtitle, "dim")]
    parts.append(_hatched(axis, trace.gaps, _PANEL_TOP, _PANEL_BOTTOM))
    parts.append(_time_grid(axis, _PANEL_TOP, _PANEL_BOTTOM, 5))
    reach = _reach(trace)
    if reach is None:
        parts.append(text(_PANEL_W / 2, 88, "nothing observed here", "dim mid"))
    else:
        parts.append(_curves(trace, axis, *reach))
    parts.append(_incident(axis, incident, _PANEL_TOP, _PANEL_BOTTOM, named=False))
    parts += [text(_PANEL_W - 10, _PANEL_TOP + 11 + 12 * row, note, "dim end") for row, note in enumerate(trace.notes)]
    return picture("".join(parts), width=_PANEL_W, height=_PANEL_H, title=f"{title} {subtitle}", axis=axis, alone=alone)


def _reach(trace: Trace) -> tuple[float, float] | None:
    curves = [trace.low, trace.high, trace.peer_low, trace.peer_high, np.asarray(trace.past or ())]
    values = np.concatenate([curve[np.isfinite(curve)] for curve in curves])
    if not values.size:
        return None
    low, high = float(values.min()), float(values.max())
    room = 0.06 * (high - low) or max(abs(high) * 0.05, 0.5)
    return low - room, high + room


def _curves(trace: Trace, axis: TimeAxis, low: float, high: float) -> str:
    def y(values: Floats | float) -> Floats:
        return _PANEL_BOTTOM - (_PANEL_BOTTOM - _PANEL_TOP) * (np.asarray(values, dtype=np.float64) - low) / (
            high - low
        )

    x = axis.left + (axis.right - axis.left) * (trace.x_us - axis.t0_us) / max(1, axis.t1_us - axis.t0_us)
    parts = []
    for value in value_ticks(low, high):
        parts.append(f'<path class="grid" d="M{axis.left:g} {float(y(value)):.4g}H{axis.right:g}"/>')
        parts.append(text(axis.left - 5, float(y(value)) + 4, compact(value), "dim end"))
    if trace.past is not None and np.isfinite(trace.past).all():
        top, foot = float(y(trace.past[2])), float(y(trace.past[0]))
        tip = "own baseline, 5 to 95 %"
        parts.append(
            rect(
                axis.left,
                min(top, foot - 1),
                width=axis.right - axis.left,
                height=max(foot - top, 2),
                kind="past",
                tip=tip,
            )
        )
    drawn = (
        ("peer", band_path(x, y(trace.peer_low), y(trace.peer_high))),
        ("middle", line_path(x, y(trace.peer_middle))),
        ("span", band_path(x, y(trace.low), y(trace.high))),
        ("line", line_path(x, y(trace.mean))),
    )
    paths = "".join(f'<path class="{kind}" d="{path}"/>' for kind, path in drawn if path)
    return "".join(parts) + f'<g transform="scale(.1)">{paths}</g>'


def _time_grid(axis: TimeAxis, top: float, bottom: float, count: int) -> str:
    parts = []
    for ts, label in time_ticks(axis.t0_us, axis.t1_us, count):
        x = axis.x(ts)
        parts.append(f'<path class="grid" d="M{x:.5g} {top:g}V{bottom:g}"/>')
        if x < axis.right - 8 or count <= 5:
            parts.append(text(min(x, axis.right - 14), bottom + 14, label, "dim mid"))
    return "".join(parts) + f'<path class="grid" d="M{axis.left:g} {bottom:g}H{axis.right:g}"/>'


def _hatched(axis: TimeAxis, gaps: Sequence[tuple[int, int]], top: float, bottom: float) -> str:
    parts = []
    for low, high in gaps:
        edges = axis.clip(low, high)
        if edges is None or edges[1] - edges[0] < 1:
            continue
        parts.append(
            rect(edges[0], top, width=edges[1] - edges[0], height=bottom - top, kind="gap", tip="not observed")
        )
        strokes = "".join(
            f"M{x:.4g} {bottom:g}L{min(x + 6, edges[1]):.4g} {top:g}" for x in np.arange(edges[0], edges[1], 7)
        )
        parts.append(f'<path class="gapline" d="{strokes}"/>')
    return "".join(parts)


def _incident(axis: TimeAxis, incident: Moment | None, top: float, bottom: float, *, named: bool = True) -> str:
    if incident is None or not (edges := axis.clip(incident.low_us, max(incident.high_us, incident.low_us))):
        return ""
    x = min(max(axis.x(incident.ts_us), axis.left), axis.right)
    tip = "may have happened at any time in this bar"
    parts = [rect(edges[0], top, width=max(edges[1] - edges[0], 1), height=bottom - top, kind="unsure", tip=tip)]
    parts.append(f'<path class="mark" d="M{x:.5g} {top:g}V{bottom:g}"/>')
    parts.append(f'<path class="markfill" d="M{x - 4:.5g} {top - 6:g}h8l-4 6z"/>')
    if named:
        right = x > (axis.left + axis.right) / 2
        parts.append(
            text(x - 8 if right else x + 8, top - 6, shorten(incident.label, 60), "end strong" if right else "strong")
        )
    return "".join(parts)
