"""How soon the same place fails again, beside what chance gives."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from workbench.figures import theme

__all__ = ["recurrence_figure"]

Floats = theme.Floats


def recurrence_figure(
    within_s: Floats, share: Floats, *, expected: tuple[Floats, ...], same: str, title: str = ""
) -> go.Figure:
    """Draw the share of failures that another at the same place follows, by time, beside the band of chance.

    Parameters
    ----------
    within_s : (horizon,) float64
        Seconds, rising.
    share : (horizon,) float64
        NaN: nothing was observed that long; a gap.
    expected : (mean, low, high), each (horizon,) float64
        Of failures dealt out by chance.
    same : str
        What a place is.
    title : str

    Returns
    -------
    plotly.graph_objects.Figure
        Time in hours, on a log axis.
    """
    hours = np.asarray(within_s) / 3600
    fig = go.Figure(theme.band(hours, expected[1], expected[2], name="95 % of chance", fill=theme.PALETTE[1]))
    lines = ((expected[0], "by chance", 1, "dash"), (share, "observed", 0, "solid"))
    for values, name, ink, dash in lines:
        line = {"color": theme.PALETTE[ink], "dash": dash}
        fig.add_trace(go.Scatter(x=hours, y=values, name=name, mode="lines+markers", line=line))
    fig.update_layout(
        title=theme.words(title),
        xaxis={"title": "Time since a failure (h)", "type": "log"},
        yaxis={"title": f"Share followed by another at the same {theme.words(same)}", "rangemode": "tozero"},
    )
    return theme.apply_theme(fig)
