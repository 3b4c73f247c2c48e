"""Events in lanes over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from workbench.figures import theme

__all__ = ["Lane", "timeline_figure"]

Ints = NDArray[np.int64]
_MOST_MARKS = 2000


@dataclass(frozen=True, eq=False, kw_only=True)
class Lane:
    """Events of one kind, or of one entity.

    Attributes
    ----------
    name : str
    ts_us, low_us, high_us : (event,) int64
        Recorded time and the bounds within which it truly happened; UTC microseconds. Bounds that
        differ are drawn as a bar.
    texts : sequence of str
        Shown on hovering; may be empty.
    """

    name: str
    ts_us: Ints
    low_us: Ints
    high_us: Ints
    texts: Sequence[str] = ()


def timeline_figure(
    lanes: Sequence[Lane], *, span_us: tuple[int, int], marks_us: Sequence[int] = (), title: str = ""
) -> go.Figure:
    """Draw events as marks, one lane per kind, the first lane on top.

    Parameters
    ----------
    lanes : sequence of Lane
        A lane of more than 2,000 events is drawn as the first of each of 2,000 equal stretches of
        the span, and its name says so.
    span_us : (start, end)
        UTC microseconds.
    marks_us : sequence of int
        Moments drawn through all lanes, such as incidents.
    title : str

    Returns
    -------
    plotly.graph_objects.Figure
        Its height grows with the number of lanes.
    """
    fig = go.Figure()
    labels = []
    for at, lane in enumerate(lanes):
        kept = _kept(lane.ts_us, span_us)
        level = float(len(lanes) - 1 - at)
        count = int(((lane.ts_us >= span_us[0]) & (lane.ts_us <= span_us[1])).sum())
        cut = "" if kept.size == count else f", {kept.size:,} drawn"
        labels.append(f"{theme.words(lane.name, 40)} ({count:,}{cut})")
        fig.add_trace(_bounds(lane, kept, level, theme.colour(at)))
        fig.add_trace(_marks(lane, kept, level, at))
    for moment in marks_us:
        fig.add_vline(x=theme.utc_times(np.array([moment]))[0], line={"dash": "dot", "color": theme.PALETTE[3]})
    fig.update_layout(
        title=theme.words(title),
        showlegend=False,
        height=140 + 34 * max(len(lanes), 1),
        xaxis={"title": theme.time_title(), "range": list(theme.utc_times(np.array(span_us))), "type": "date"},
        yaxis={
            "tickvals": list(range(len(lanes) - 1, -1, -1)),
            "ticktext": labels,
            "range": [-0.6, max(len(lanes), 1) - 0.4],
            "title": "",
        },
    )
    return theme.apply_theme(fig)


def _kept(ts: Ints, span_us: tuple[int, int]) -> Ints:
    inside = np.flatnonzero((ts >= span_us[0]) & (ts <= span_us[1]))
    if inside.size <= _MOST_MARKS:
        return inside
    stretch = max((span_us[1] - span_us[0]) // _MOST_MARKS, 1)
    order = inside[np.argsort(ts[inside], kind="stable")]
    first = np.unique((ts[order] - span_us[0]) // stretch, return_index=True)[1]
    return order[first]


def _bounds(lane: Lane, kept: Ints, level: float, ink: str) -> go.Scatter:
    """Draw the time within which each event truly happened, where it is not known exactly."""
    wide = kept[lane.high_us[kept] > lane.low_us[kept]]
    times = np.stack([lane.low_us[wide], lane.high_us[wide], lane.high_us[wide]], axis=1).ravel()
    levels = np.tile([level, level, np.nan], wide.size)
    return go.Scatter(
        x=theme.utc_times(times),
        y=levels,
        mode="lines",
        line={"width": 5, "color": theme.rgba(ink, 0.35)},
        hoverinfo="skip",
    )


def _marks(lane: Lane, kept: Ints, level: float, at: int) -> go.Scatter:
    texts = [theme.words(lane.texts[index]) for index in kept.tolist()] if len(lane.texts) else None
    return go.Scatter(
        x=theme.utc_times(lane.ts_us[kept]),
        y=np.full(kept.size, level),
        mode="markers",
        marker={"symbol": theme.SYMBOLS[at % len(theme.SYMBOLS)], "color": theme.colour(at), "size": 9},
        name=theme.words(lane.name, 40),
        text=texts,
        hovertemplate="%{x|%Y-%m-%d %H:%M:%S.%L} UTC"
        + ("<br>%{text}" if texts else "")
        + "<extra>%{fullData.name}</extra>",
    )
