"""Series with their pieces, and when each changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from workbench.figures import theme

__all__ = ["change_figure"]

Floats = theme.Floats
#: Moment, from, to, and whether it is believed.
Mark = tuple[datetime, datetime, datetime, bool]
_MOST_CELLS = 2_000
_VALUES = {"color": theme.PALETTE[0], "width": 1}
_PIECES = {"color": theme.PALETTE[1], "width": 2}


def change_figure(
    ts_us: NDArray[np.int64],
    rows: Sequence[tuple[str, Floats, Floats, Sequence[Mark]]],
    *,
    name: str,
    unit: str,
) -> go.Figure:
    """Draw one row per entity: values, pieces, and each change with the span in which it lies.

    Parameters
    ----------
    ts_us : (cell,) int64
        UTC microseconds.
    rows : sequence of (entity, values, fit, marks)
        (cell,) float64 each; NaN is drawn as a gap. A change that is not believed is dotted.
    name, unit : str

    Returns
    -------
    plotly.graph_objects.Figure
    """
    fig = go.Figure()
    times = theme.utc_times(ts_us)
    thin = slice(None, None, max(1, ts_us.size // _MOST_CELLS))
    count = max(len(rows), 1)
    for at, (entity, values, fit, marks) in enumerate(rows):
        axis = f"y{at + 1}" if at else "y"
        top = 1.0 - (at + 0.12) / count
        span = [max(top - 0.78 / count, 0.0), top]  # above it stands the name
        fig.update_layout(
            {axis.replace("y", "yaxis"): {"domain": span, "anchor": "x", "title": {"text": unit or "unit?"}}}
        )
        fig.add_annotation(
            text=theme.words(entity, 60), x=0.0, xref="paper", xanchor="left", y=span[1], yref="paper", yanchor="bottom",
            showarrow=False, font={"size": 11},
        )  # fmt: skip
        for name_of, series, style in (("values", values, _VALUES), ("pieces", fit, _PIECES)):
            line = go.Scatter(
                x=times[thin], y=series[thin], name=name_of, line=style, showlegend=at == 0, mode="lines", yaxis=axis
            )
            fig.add_trace(line)
        for mark in marks:
            _add_mark(fig, mark, axis)
    fig.update_layout(
        title=theme.words(theme.axis_title(name, unit)),
        height=160 + 120 * count,
        xaxis={"title": {"text": theme.time_title()}, "anchor": "free", "position": 0.0},
    )
    return theme.apply_theme(fig)


def _add_mark(fig: go.Figure, mark: Mark, axis: str) -> None:
    """Draw a change, and the span in which it lies."""
    moment, low, high, holds = mark
    inside = {"yref": f"{axis} domain", "y0": 0.0, "y1": 1.0}
    fig.add_shape(type="rect", x0=low, x1=high, fillcolor=theme.PALETTE[2], opacity=0.2, line_width=0, **inside)
    line = {"color": theme.PALETTE[2], "dash": "solid" if holds else "dot", "width": 1}
    fig.add_shape(type="line", x0=moment, x1=moment, line=line, **inside)
