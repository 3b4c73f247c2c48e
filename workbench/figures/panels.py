"""Small multiples: one metric each, an entity beside its peers and its own past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from workbench.figures import theme

__all__ = ["Small", "panels_figure"]

Floats = theme.Floats


def _nothing() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Small:
    """One metric of one or several entities.

    Attributes
    ----------
    name, unit : str
        ``unit`` "" where it is not known, and the axis says so.
    lines : mapping-like sequence of (entity, (time,) float64)
        NaN: not observed, drawn as a gap.
    peer_low, peer_high : (time,) float64
        5 % and 95 % point of the peers at each moment; empty: no peers.
    baseline : (low, high)
        5 % and 95 % point of the entity's own past; NaN: not known.
    """

    name: str
    unit: str
    lines: Sequence[tuple[str, Floats]]
    peer_low: Floats = field(default_factory=_nothing)
    peer_high: Floats = field(default_factory=_nothing)
    baseline: tuple[float, float] = (float("nan"), float("nan"))


def panels_figure(
    ts_us: NDArray[np.int64], panels: Sequence[Small], *, marks_us: Sequence[int] = (), title: str = ""
) -> go.Figure:
    """Draw metrics one above the other on one time axis.

    Parameters
    ----------
    ts_us : (time,) int64
        UTC microseconds, shared by all.
    panels : sequence of Small
        At least one.
    marks_us : sequence of int
        Moments drawn through all panels, such as incidents.
    title : str

    Returns
    -------
    plotly.graph_objects.Figure
    """
    time = theme.utc_times(ts_us)
    fig = make_subplots(rows=len(panels), cols=1, shared_xaxes=True, vertical_spacing=0.25 / max(len(panels), 1))
    named: set[str] = set()
    for row, panel in enumerate(panels, start=1):
        for trace in _traces(time, panel):
            trace.showlegend = trace.name not in named
            named.add(trace.name)
            fig.add_trace(trace, row=row, col=1)
        fig.update_yaxes(title_text=theme.axis_title(panel.name, panel.unit), row=row, col=1)
        if not any(np.isfinite(line).any() for _, line in panel.lines):
            x = time[time.size // 2 :][:1]
            fig.add_trace(_said("nothing observed here", x), row=row, col=1)
        for moment in marks_us:
            at = theme.utc_times(np.array([moment]))[0]
            fig.add_vline(x=at, line={"dash": "dot", "color": theme.PALETTE[3]}, row=row, col=1)
    fig.update_xaxes(title_text=theme.time_title(), row=len(panels), col=1)
    fig.update_layout(title=theme.words(title), height=120 + 170 * len(panels))
    return theme.apply_theme(fig)


def _traces(time: NDArray[np.datetime64], panel: Small) -> list[go.Scatter]:
    traces = []
    if panel.peer_low.size:
        traces.append(theme.band(time, panel.peer_low, panel.peer_high, name="peers, 5 to 95 %", fill=theme.PALETTE[1]))
    if np.isfinite(panel.baseline).all():
        low, high = (np.full(time.size, edge) for edge in panel.baseline)
        traces.append(theme.band(time, low, high, name="own past, 5 to 95 %", fill=theme.PALETTE[2]))
    for at, (entity, line) in enumerate(panel.lines):
        traces.append(
            go.Scatter(
                x=time,
                y=line,
                mode="lines",
                name=theme.words(entity, 60),
                line={"color": theme.colour(at), "dash": theme.DASHES[(at // len(theme.PALETTE)) % len(theme.DASHES)]},
                connectgaps=False,
            )
        )
    return traces


def _said(words: str, x: NDArray[np.datetime64]) -> go.Scatter:
    return go.Scatter(x=x, y=np.zeros(x.size), mode="text", text=[words] * x.size, showlegend=False, hoverinfo="skip")
