"""Correlation at each lag beside what shifted data give."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from workbench.figures import theme

__all__ = ["lag_figure", "lag_scale"]

Floats = theme.Floats


def lag_scale(largest_s: float) -> tuple[float, str]:
    """Choose a unit for lags: how many seconds it has, and its name.

    Examples
    --------
    >>> lag_scale(90.0), lag_scale(900.0), lag_scale(86400.0)
    ((1.0, 's'), (60.0, 'min'), (3600.0, 'h'))
    """
    if largest_s <= 300:
        return 1.0, "s"
    return (60.0, "min") if largest_s <= 5 * 3600 else (3600.0, "h")


def lag_figure(
    lag_s: Floats,
    r: Floats,
    *,
    null: tuple[Floats, Floats],
    critical: float,
    peak_s: tuple[float, float, float],
    names: tuple[str, str],
    title: str = "",
) -> go.Figure:
    """Draw r at each lag, the band of shifted data, and the level that one of all lags must pass.

    Parameters
    ----------
    lag_s : (lag,) float64
        Seconds. Positive: the first name comes before the second.
    r : (lag,) float64
        NaN: no pairs; drawn as a gap.
    null : two (lag,) float64
        2.5 % and 97.5 % points of shifted data at one lag.
    critical : float
        |r| that the largest of all lags passes in 5 % of shifted data; NaN: not drawn.
    peak_s : (lag, low, high)
        Lag of the largest |r| and those not told from it, seconds; NaN: not drawn.
    names : (str, str)
        Of x and y.
    title : str

    Returns
    -------
    plotly.graph_objects.Figure
    """
    size, unit = lag_scale(float(np.abs(lag_s).max(initial=0.0)))
    lag = lag_s / size
    fig = go.Figure()
    fig.add_trace(theme.band(lag, *null, name="95 % of shifted data, one lag", fill=theme.PALETTE[1]))
    fig.add_trace(
        go.Scatter(
            x=lag, y=r, name="r", mode="lines+markers" if lag.size < 60 else "lines", line={"color": theme.PALETTE[0]}
        )
    )
    if np.isfinite(critical):
        for level in (critical, -critical):
            fig.add_trace(
                go.Scatter(
                    x=lag[[0, -1]],
                    y=[level, level],
                    name="95 % of shifted data, largest of all lags",
                    showlegend=level > 0,
                    mode="lines",
                    line={"dash": "dash", "color": theme.PALETTE[1]},
                )
            )
    if np.isfinite(peak_s[0]):
        low, high = sorted((peak_s[1] / size, peak_s[2] / size))
        half = float(np.diff(lag).min(initial=1.0)) / 2
        fig.add_vrect(x0=low - half, x1=high + half, fillcolor=theme.PALETTE[2], opacity=0.15, line_width=0)
        fig.add_vline(x=peak_s[0] / size, line={"dash": "dot", "color": theme.PALETTE[2]})
    first, second = (theme.words(name, 60) for name in names)
    fig.update_layout(
        title=theme.words(title),
        xaxis_title=f"Lag ({unit}): right of 0, {first} comes before {second}",
        yaxis_title=theme.axis_title("r", "1"),
    )
    return theme.apply_theme(fig)
