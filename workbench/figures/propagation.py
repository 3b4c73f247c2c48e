"""How often each kind of event comes before another, beside what chance gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from workbench.figures import theme

__all__ = ["propagation_figure"]

Floats = theme.Floats


def propagation_figure(
    labels: Sequence[str],
    share: tuple[Floats, ...],
    *,
    shifted: Floats,
    matched: Floats,
    holds: Sequence[bool],
    title: str = "",
) -> go.Figure:
    """Draw one row per pair: the observed share with its bounds, and the shares that chance gives.

    Parameters
    ----------
    labels : (row,) str
        First row on top.
    share : (share, low, high), each (row,) float64
        Of the second event that the first precedes.
    shifted, matched : (row,) float64
        Shares to expect at shifted times, and at other places at the same moment. NaN: not known.
    holds : (row,) bool
    title : str

    Returns
    -------
    plotly.graph_objects.Figure
    """
    rows, held = np.arange(len(labels), dtype=np.float64), np.asarray(holds, dtype=bool)
    gap = np.full(rows.size, np.nan)
    fig = go.Figure(
        go.Scatter(
            x=np.stack([share[1], share[2], gap], axis=1).ravel(),
            y=np.repeat(rows, 3),
            mode="lines",
            name="95 % bounds",
            line={"color": theme.PALETTE[0], "width": 2},
        )
    )
    spots = (
        ("observed, holds", share[0][held], rows[held], 0, "circle"),
        ("observed, does not hold", share[0][~held], rows[~held], 4, "circle-open"),
        ("shifted times", shifted, rows, 1, "square"),
        ("other places, same minute", matched, rows, 2, "diamond"),
    )
    for name, x, y, ink, symbol in spots:
        marker = {"color": theme.PALETTE[ink], "symbol": symbol, "size": 9}
        fig.add_trace(go.Scatter(x=x, y=y, mode="markers", name=name, marker=marker))
    fig.update_layout(
        title=theme.words(title),
        height=180 + 24 * len(labels),
        xaxis={"title": "Share of b that an a precedes", "range": [-0.02, 1.02]},
        yaxis={
            "title": "Pair a → b, median delay",
            "tickvals": rows,
            "ticktext": [theme.words(label, 60) for label in labels],
            "range": [len(labels) - 0.5, -0.5],
        },
    )
    return theme.apply_theme(fig)
