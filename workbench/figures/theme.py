"""How every figure looks: colours, marks, UTC time axes, units, light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from workbench.figures.text import visible

__all__ = [
    "DASHES",
    "PALETTE",
    "SYMBOLS",
    "Floats",
    "Mode",
    "Theme",
    "apply_theme",
    "axis_title",
    "band",
    "colour",
    "rgba",
    "theme_of",
    "time_title",
    "utc_times",
    "words",
]

Floats = NDArray[np.float64]
Mode = Literal["light", "dark"]

#: Six colours, at least 3:1 against the light and the dark background, and at least 20 apart (CIE76)
#: for normal sight, protanopia, deuteranopia and tritanopia. Found by search under those conditions.
PALETTE = ("#5044ff", "#c78600", "#07a576", "#d60a3b", "#b774f7", "#c80599")
#: Shape goes along with colour, so that a figure can be read without either.
SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


@dataclass(frozen=True, kw_only=True)
class Theme:
    """Colours that change between light and dark; the palette does not.

    Attributes
    ----------
    background, text, muted, grid : str
        ``text`` and ``muted`` have a contrast of at least 4.5:1 against ``background``.
    """

    background: str
    text: str
    muted: str
    grid: str


_THEMES: dict[str, Theme] = {
    "light": Theme(background="#ffffff", text="#1f2328", muted="#5b636d", grid="#e3e6ea"),
    "dark": Theme(background="#15181c", text="#e6e9ed", muted="#a3abb5", grid="#2e343b"),
}


def theme_of(mode: Mode = "light") -> Theme:
    """Give the colours of ``light`` or ``dark``.

    Examples
    --------
    >>> theme_of("dark").background
    '#15181c'
    """
    return _THEMES[mode]


def colour(index: int) -> str:
    """Give the colour of the ``index``-th line; they repeat after six, so vary the dash as well.

    Examples
    --------
    >>> colour(0), colour(6) == colour(0)
    ('#5044ff', True)
    """
    return PALETTE[index % len(PALETTE)]


def rgba(hex_colour: str, alpha: float) -> str:
    """Make a ``#rrggbb`` colour see-through.

    Examples
    --------
    >>> rgba("#5044ff", 0.25)
    'rgba(80,68,255,0.25)'
    """
    red, green, blue = (int(hex_colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def words(text: object, limit: int = 200) -> str:
    """Write foreign text so that plotly shows it as it stands.

    Plotly reads ``<a href=...>`` and entities in titles, labels and hover text; names and log
    lines come from elsewhere and must not be read as markup.

    Examples
    --------
    >>> words("<b>link</b> & co")
    '&lt;b&gt;link&lt;/b&gt; &amp; co'
    """
    kept = visible(str(text))
    kept = kept if len(kept) <= limit else kept[: limit - 1] + "…"
    return kept.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def axis_title(name: str, unit: str = "") -> str:
    """Write an axis title with its unit; an unknown unit is said, not left out.

    Examples
    --------
    >>> axis_title("gpu.power_w", "W"), axis_title("r", "1"), axis_title("vendor_thing")
    ('gpu.power_w (W)', 'r', 'vendor_thing (unit?)')
    """
    if unit == "1":
        return words(name)
    return f"{words(name)} ({words(unit) if unit else 'unit?'})"


def time_title(what: str = "Time") -> str:
    """Write the title of a time axis: always UTC, and it says so.

    Examples
    --------
    >>> time_title()
    'Time (UTC)'
    """
    return f"{words(what)} (UTC)"


def utc_times(ts_us: NDArray[np.int64]) -> NDArray[np.datetime64]:
    """Turn UTC microseconds into what plotly draws right.

    ``datetime64[us]`` without a zone: nanoseconds become a linear axis of 1.7e18, numbers of
    milliseconds are drawn in the browser's zone, and zones are dropped without a word
    (plotly 7.1, measured).

    Examples
    --------
    >>> utc_times(np.array([0, 1_500_000]))
    array(['1970-01-01T00:00:00.000000', '1970-01-01T00:00:01.500000'],
          dtype='datetime64[us]')
    """
    return np.asarray(ts_us, dtype=np.int64).astype("datetime64[us]")


def band(x: NDArray[Any], low: Floats, high: Floats, *, name: str, fill: str) -> go.Scatter:
    """Draw the area between ``low`` and ``high``; a gap in either is a gap in the area.

    Parameters
    ----------
    x : (point,) number or datetime64
    low, high : (point,) float64
        NaN: not known there.
    name : str
        For the legend.
    fill : str
        ``#rrggbb`` of the area; drawn at a fifth of its strength.

    Returns
    -------
    plotly.graph_objects.Scatter
        One closed polygon per unbroken run, so that no area spans a gap.
    """
    known = np.isfinite(low) & np.isfinite(high)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(np.int8)))
    xs: list[NDArray[Any]] = []
    ys: list[Floats] = []
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        run = slice(int(start), int(stop))
        xs += [x[run], x[run][::-1], x[run][:1]]
        ys += [low[run], high[run][::-1], np.array([np.nan])]
    return go.Scatter(
        x=np.concatenate(xs) if xs else x[:0],
        y=np.concatenate(ys) if ys else np.empty(0),
        fill="toself",
        fillcolor=rgba(fill, 0.2),
        line={"width": 0},
        mode="lines",
        name=name,
        hoverinfo="skip",
    )


def apply_theme(fig: go.Figure, *, mode: Mode = "light") -> go.Figure:
    """Give a figure the common look; it is changed and returned.

    Parameters
    ----------
    fig : plotly.graph_objects.Figure
    mode : {"light", "dark"}
        Background, text and grid. Lines keep their colours, which suit both.

    Examples
    --------
    >>> apply_theme(go.Figure(), mode="dark").layout.paper_bgcolor
    '#15181c'
    """
    look = theme_of(mode)
    axis = {"gridcolor": look.grid, "linecolor": look.muted, "zerolinecolor": look.muted, "automargin": True}
    fig.update_layout(
        template="none",
        paper_bgcolor=look.background,
        plot_bgcolor=look.background,
        colorway=PALETTE,
        font={"family": "system-ui, sans-serif", "size": 13, "color": look.text},
        hoverlabel={"bgcolor": look.background, "bordercolor": look.muted, "font": {"color": look.text}},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        title={"x": 0, "xref": "paper", "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 10}},
        margin={"l": 60, "r": 20, "t": 84, "b": 50},
    )
    fig.update_xaxes(**axis)
    fig.update_yaxes(**axis)
    fig.update_annotations(font={"color": look.text})
    return fig
