"""Claims in the order they were judged: p against the level that each had to pass, and the wealth left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from workbench.figures import theme

__all__ = ["ledger_figure"]

#: The lowest p drawn: a log axis has no zero.
_FLOOR = 1e-6


def ledger_figure(
    names: Sequence[str], *, p: theme.Floats, level: theme.Floats, wealth: theme.Floats, rule: str
) -> go.Figure:
    """Draw an online sequence of tests.

    Parameters
    ----------
    names : (test,) sequence of str
        For hovering.
    p : (test,) float64
        As it entered the sequence, its family counted.
    level : (test,) float64
        alpha_t. At or below it: rejected, drawn filled.
    wealth : (test,) float64
        After the test.
    rule : str
        Name of the online rule.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> figure = ledger_figure(["a", "b"], p=np.array([0.001, 0.2]), level=np.array([0.005, 0.011]),
    ...                        wealth=np.array([0.05, 0.05]), rule="saffron")
    >>> [trace.name for trace in figure.data]
    ['rejected', 'not rejected', 'level alpha_t', 'wealth']
    """
    place = np.arange(1, len(names) + 1)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.65, 0.35], vertical_spacing=0.08)
    labels = np.array([theme.words(name, 80) for name in names], dtype=object)
    for index, (name, mine) in enumerate((("rejected", p <= level), ("not rejected", p > level))):
        figure.add_trace(
            go.Scatter(
                x=place[mine],
                y=np.maximum(p[mine], _FLOOR),
                mode="markers",
                name=name,
                text=labels[mine],
                customdata=np.stack([p[mine], level[mine]], axis=1),
                marker={"color": theme.colour(index), "symbol": theme.SYMBOLS[index], "size": 8},
                hovertemplate="%{text}<br>p %{customdata[0]:.3g}, level %{customdata[1]:.3g}<extra></extra>",
            ),
            row=1,
            col=1,
        )
    lines = (("level alpha_t", level, 1), ("wealth", wealth, 2))
    for index, (name, values, row) in enumerate(lines, start=2):
        style = {"color": theme.colour(index), "shape": "hv", "dash": theme.DASHES[index - 2]}
        figure.add_trace(go.Scatter(x=place, y=values, mode="lines", name=name, line=style), row=row, col=1)
    figure.update_layout(title={"text": f"Claims judged one after another ({theme.words(rule)})"}, height=480)
    figure.update_yaxes(type="log", title={"text": "p and level"}, row=1, col=1)
    figure.update_yaxes(rangemode="tozero", title={"text": "Wealth"}, row=2, col=1)
    figure.update_xaxes(title={"text": "Test"}, row=2, col=1)
    return theme.apply_theme(figure)
