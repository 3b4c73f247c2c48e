"""Many correlations over lags as one picture: a row per pair, colour for r, a mark where a pair stands out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from workbench.figures import theme
from workbench.figures.lag import lag_scale

__all__ = ["lag_heat_figure"]

Floats = theme.Floats
_COLUMNS = 61
_SCALE = [
    [0.0, theme.rgba(theme.PALETTE[0], 1.0)],
    [0.5, theme.rgba(theme.PALETTE[0], 0.0)],
    [0.5, theme.rgba(theme.PALETTE[3], 0.0)],
    [1.0, theme.rgba(theme.PALETTE[3], 1.0)],
]


def lag_heat_figure(
    lag_s: Floats, r: Floats, labels: Sequence[str], *, peak_s: Floats, claimed: Sequence[bool], title: str = ""
) -> go.Figure:
    """Draw r of each pair at each lag, and the lag of its largest |r| where the pair stands out.

    Parameters
    ----------
    lag_s : (lag,) float64
        Seconds, evenly spaced. Positive: the first of a pair comes before the second.
    r : (row, lag) float64
        NaN: no pairs of cells, left empty. Many lags are drawn as the largest |r| of their neighbours.
    labels : (row,) str
        First row on top.
    peak_s : (row,) float64
        Lag of the largest |r|, seconds.
    claimed : (row,) bool
        Whether the pair gets a mark.
    title : str

    Returns
    -------
    plotly.graph_objects.Figure
    """
    size, unit = lag_scale(float(np.abs(lag_s).max(initial=0.0)))
    place, shown = _thinned(lag_s / size, r)
    rows = np.arange(len(labels))
    most = float(np.nanmax(np.abs(shown))) if np.isfinite(shown).any() else 1.0
    fig = go.Figure(
        go.Heatmap(
            x=place,
            y=rows,
            z=shown,
            zmin=-(most or 1.0),
            zmax=most or 1.0,
            colorscale=_SCALE,
            colorbar={"title": {"text": "r"}},
            name="r",
            showlegend=False,
            hovertemplate="lag %{x}<br>r %{z:.3f}<extra></extra>",
        )
    )
    marked = np.asarray(claimed, dtype=bool)
    fig.add_trace(
        go.Scatter(
            x=np.asarray(peak_s)[marked] / size,
            y=rows[marked],
            mode="markers",
            name="stands out of all pairs and lags",
            marker={"color": theme.PALETTE[2], "symbol": "diamond", "size": 9},
        )
    )
    fig.update_layout(
        title=theme.words(title),
        height=180 + 24 * len(labels),
        xaxis_title=f"Lag ({unit}): right of 0, the first comes before the second",
        yaxis={
            "title": "Pair",
            "tickvals": rows,
            "ticktext": [theme.words(label, 60) for label in labels],
            "range": [len(labels) - 0.5, -0.5],
        },
    )
    return theme.apply_theme(fig)


def _thinned(place: Floats, r: Floats) -> tuple[Floats, Floats]:
    """Keep the largest |r| of each run of lags, so that no peak is lost."""
    run = -(-place.size // _COLUMNS)
    if run <= 1:
        return place, r
    starts = np.arange(0, place.size, run)
    shown = np.full((r.shape[0], starts.size), np.nan)
    for at, start in enumerate(starts.tolist()):
        part = r[:, start : start + run]
        size = np.where(np.isfinite(part), np.abs(part), -1.0)
        best = part[np.arange(r.shape[0]), size.argmax(axis=1)]
        shown[:, at] = best
    return place[starts] + (min(run, place.size) - 1) / 2 * (place[1] - place[0]), shown
