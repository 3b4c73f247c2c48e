"""Observed coincidences beside those of shifted data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from workbench.figures import theme

__all__ = ["coincidence_figure"]

_BARS = 40


def coincidence_figure(
    draws: NDArray[np.int64],
    *,
    observed: int,
    total: int,
    names: tuple[str, str],
    notes: Sequence[str] = (),
    window: str = "",
) -> go.Figure:
    """Draw how many b an a precedes: in each shifted arrangement, and as observed.

    Parameters
    ----------
    draws : (draw,) int64
        Counts in shifted data.
    observed, total : int
        Preceded b, and all b.
    names : (str, str)
        Of a and b.
    notes : sequence of str
        Stand under the title.
    window : str
        Such as ``1h``.

    Returns
    -------
    plotly.graph_objects.Figure
        Bars are shares of the draws; the line is what was observed.
    """
    first, second = (theme.words(name, 60) for name in names)
    low, high = (int(edge(draws, initial=observed)) for edge in (np.min, np.max))
    width = max(1, -(-(high - low + 1) // _BARS))
    edges = np.arange(low, high + width + 1, width) - 0.5
    counts = np.histogram(draws, edges)[0]
    fig = go.Figure(
        go.Bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts / max(draws.size, 1),
            width=np.full(counts.size, 0.92 * width),
            name=f"shifted in time ({draws.size} draws)",
            marker={"color": theme.PALETTE[1]},
        )
    )
    top = float(counts.max(initial=1)) / max(draws.size, 1)
    fig.add_trace(
        go.Scatter(
            x=[observed, observed],
            y=[0.0, 1.05 * top],
            mode="lines",
            line={"color": theme.PALETTE[0], "width": 3},
            name=f"observed: {observed} of {total}",
        )
    )
    if notes:
        told = theme.words(" · ".join(notes))
        fig.add_annotation(text=told, xref="paper", yref="paper", x=0.5, y=0.98, showarrow=False)
    fig.update_layout(
        title=f"{first} within {theme.words(window)} before {second}",
        xaxis={"title": f"{second} preceded by {first} (events)", "range": [edges[0] - width, edges[-1] + width]},
        yaxis={"title": "Share of shifts", "range": [0.0, 1.25 * top]},
    )
    return theme.apply_theme(fig)
