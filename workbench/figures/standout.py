"""Picture of what stands out: distance from the own past beside distance from the peers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from workbench.figures.theme import SYMBOLS, apply_theme, colour, words

__all__ = ["standout_figure"]


def standout_figure(
    names: Sequence[str], z_own: NDArray[np.float64], z_peers: NDArray[np.float64], z_past: NDArray[np.float64]
) -> go.Figure:
    """Draw one row per metric: both distances, and how far the baseline itself strayed.

    Parameters
    ----------
    names : (row,) str
        In the order in which they stand out, first on top.
    z_own, z_peers, z_past : (row,) float64
        Robust z. NaN: not known; infinite ones are drawn at the edge.

    Examples
    --------
    >>> figure = standout_figure(["a"], np.array([9.0]), np.array([np.nan]), np.array([-2.0]))
    >>> [trace.name for trace in figure.data]
    ['farthest in own baseline', 'against own baseline', 'against peers']
    """
    known = np.abs(np.concatenate((z_own, z_peers, z_past)))
    known = known[np.isfinite(known)]
    edge = 1.15 * float(known.max()) if known.size and known.max() > 0 else 1.0
    labels = [words(name, 60) for name in names]
    rows = (("farthest in own baseline", z_past), ("against own baseline", z_own), ("against peers", z_peers))
    figure = go.Figure(
        [
            go.Scatter(
                x=np.clip(values, -edge, edge),
                y=labels,
                mode="markers",
                name=name,
                marker={"symbol": SYMBOLS[at], "size": 9, "color": colour(at)},
            )
            for at, (name, values) in enumerate(rows)
        ]
    )
    figure.update_xaxes(title="robust z", zeroline=True)
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(title="What stands out (for exploring)", height=160 + 24 * len(labels))
    return apply_theme(figure)
