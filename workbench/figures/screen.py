"""Forest of effects: one line per signal, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from workbench.figures import theme

__all__ = ["forest_figure"]

MOST = 40
_WORDS = ("SUPPORTED", "UNDECIDED", "REFUTED")
_LINE = 22  # pixels


def forest_figure(
    names: Sequence[str],
    effects: NDArray[np.float64],
    *,
    words: Sequence[str],  # the verdict's word, as everywhere
    notes: Sequence[str],
    outcome: str,
) -> go.Figure:
    """Draw mean shifts with their intervals, the first signal on top.

    Parameters
    ----------
    names : (signal,) sequence of str
    effects : (signal, 3) float64
        Mean difference of case and controls in sd of the controls, low and high.
    words : (signal,) sequence of str
        SUPPORTED, UNDECIDED or REFUTED: one colour and one symbol each.
    notes : (signal,) sequence of str
        Shown on hovering.
    outcome : str

    Returns
    -------
    plotly.graph_objects.Figure
        At most 40 signals; the title says of how many.

    Examples
    --------
    >>> figure = forest_figure(["a"], np.array([[1.0, 0.5, 1.5]]), words=["SUPPORTED"], notes=["p"], outcome="xid")
    >>> figure.data[0].name, figure.data[0].x
    ('SUPPORTED', array([1.]))
    """
    shown = min(len(names), MOST)
    labels = [f"{place + 1}. {_plain(names[place])}" for place in range(shown)]
    figure = go.Figure()
    for index, word in enumerate(_WORDS):
        mine = [place for place in range(shown) if words[place] == word]
        if not mine:
            continue
        figure.add_trace(
            go.Scatter(
                x=effects[mine, 0],
                y=[labels[place] for place in mine],
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": effects[mine, 2] - effects[mine, 0],
                    "arrayminus": effects[mine, 0] - effects[mine, 1],
                },
                mode="markers",
                marker={"color": theme.colour(index), "symbol": theme.SYMBOLS[index], "size": 9},
                name=word,
                text=[_plain(notes[place]) for place in mine],
                hovertemplate="%{y}: %{x:.2f} sd<br>%{text}<extra></extra>",
            )
        )
    title = f"Shift before {_plain(outcome)}" + (f": {shown} of {len(names)} signals" if shown < len(names) else "")
    figure.update_layout(title={"text": title}, height=140 + _LINE * max(shown, 4))
    figure.update_xaxes(title="Case minus controls (sd of the controls; 95 % over all features)", zeroline=True)
    figure.update_yaxes(categoryorder="array", categoryarray=labels[::-1])
    return theme.apply_theme(figure)


def _plain(text: str) -> str:
    return theme.words(text, 80)
