"""Rows in order with a score each, and rows with an interval beside what was expected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from workbench.figures import theme

__all__ = ["ranking_figure", "shares_figure"]

Floats = theme.Floats


def ranking_figure(names: Sequence[str], score: Floats, *, title: str) -> go.Figure:
    """Draw one line per row from 0 to its score, the first on top.

    Examples
    --------
    >>> ranking_figure(["a", "b"], np.array([9.0, 1.0]), title="t").data[1].x.tolist()
    [9.0, 1.0]
    """
    rows, zero, gap = np.arange(len(names), dtype=np.float64), np.zeros(len(names)), np.full(len(names), np.nan)
    stems = np.stack([zero, score, gap], axis=1).ravel()
    line, marker = {"color": theme.PALETTE[0], "width": 2}, {"color": theme.PALETTE[0], "size": 9}
    figure = go.Figure(
        [
            go.Scatter(x=stems, y=np.repeat(rows, 3), mode="lines", name="", showlegend=False, line=line),
            go.Scatter(x=score, y=rows, mode="markers", name="score", marker=marker),
        ]
    )
    return _rows_down(figure, names, title=title, axis="Score (sum of squares of z)")


def shares_figure(
    names: Sequence[str], share: tuple[Floats, Floats, Floats], *, expected: Floats, title: str, axis: str
) -> go.Figure:
    """Draw shares with their intervals beside the shares that were expected.

    Parameters
    ----------
    names : (row,) str
    share : (value, low, high), each (row,) float64
    expected : (row,) float64
        NaN: not known.
    title, axis : str

    Examples
    --------
    >>> one = np.array([0.5])
    >>> figure = shares_figure(["a"], (one, one - 0.1, one + 0.1), expected=one / 2, title="t", axis="share")
    >>> [trace.name for trace in figure.data]
    ['95 % bounds', 'observed', 'share of exposure']
    """
    rows, gap = np.arange(len(names), dtype=np.float64), np.full(len(names), np.nan)
    bounds = np.stack([share[1], share[2], gap], axis=1).ravel()
    line = {"color": theme.PALETTE[0], "width": 2}
    figure = go.Figure(go.Scatter(x=bounds, y=np.repeat(rows, 3), mode="lines", name="95 % bounds", line=line))
    for name, x, ink, symbol in (("observed", share[0], 0, "circle"), ("share of exposure", expected, 1, "square")):
        marker = {"color": theme.PALETTE[ink], "symbol": symbol, "size": 9}
        figure.add_trace(go.Scatter(x=x, y=rows, mode="markers", name=name, marker=marker))
    return _rows_down(figure, names, title=title, axis=axis)


def _rows_down(figure: go.Figure, names: Sequence[str], *, title: str, axis: str) -> go.Figure:
    figure.update_layout(
        title=theme.words(title),
        height=180 + 24 * len(names),
        xaxis={"title": theme.words(axis), "rangemode": "tozero"},
        yaxis={
            "tickvals": np.arange(len(names)),
            "ticktext": [theme.words(name, 60) for name in names],
            "range": [len(names) - 0.5, -0.5],
        },
    )
    return theme.apply_theme(figure)
