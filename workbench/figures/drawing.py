"""Small pictures as SVG text: no script, no font, no address; a few kilobytes each.

Arrays go in, text comes out. Every text is escaped here. Colours are classes, so that one style
sheet serves light and dark pages, and shapes differ where colours do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.figures.text import escape
from workbench.timebase import MICROS, from_us

__all__ = [
    "DARK",
    "LIGHT",
    "STYLE",
    "TimeAxis",
    "band_path",
    "line_path",
    "picture",
    "rect",
    "text",
    "time_ticks",
    "value_ticks",
]

Floats = NDArray[np.float64]

#: Colours by role; contrast of text to ground is 4.5:1 or more, hues are of Okabe and Ito (2008).
LIGHT = (
    "--wb-bg:#ffffff;--wb-fg:#1f2328;--wb-dim:#5b636d;--wb-grid:#e3e6ea;--wb-soft:#f4f6f8;--wb-line:#0072b2;"
    "--wb-peer:#8c959f;--wb-past:#e69f00;--wb-mark:#c44900;--wb-good:#00704f;"
)
DARK = (
    "--wb-bg:#15181c;--wb-fg:#e6e9ed;--wb-dim:#a3abb5;--wb-grid:#2e343b;--wb-soft:#1d2229;--wb-line:#6cb8ee;"
    "--wb-peer:#8b949e;--wb-past:#e69f00;--wb-mark:#ff9150;--wb-good:#4fc79c;"
)
#: Shapes for a page that holds pictures; the page's own root element sets the colours.
STYLE = (
    ".wb-svg{display:block;max-width:100%;height:auto}"
    ".wb-svg text{font:11px system-ui,sans-serif;fill:var(--wb-fg)}"
    ".wb-svg text.dim{fill:var(--wb-dim);paint-order:stroke;stroke:var(--wb-bg);stroke-width:2px}.wb-svg .strong{font-weight:600}.wb-svg .end{text-anchor:end}"
    ".wb-svg .mid{text-anchor:middle}.wb-svg .ground{fill:var(--wb-bg)}"
    ".wb-svg .grid{stroke:var(--wb-grid);stroke-width:1;fill:none}"
    ".wb-svg .line{stroke:var(--wb-line);stroke-width:1.5;fill:none;stroke-linejoin:round;stroke-linecap:round}"
    ".wb-svg .span{fill:var(--wb-line);fill-opacity:.28;stroke:none}"
    ".wb-svg .peer{fill:var(--wb-peer);fill-opacity:.28}"
    ".wb-svg .middle{stroke:var(--wb-dim);stroke-width:1;stroke-dasharray:4 3;fill:none}"
    ".wb-svg .past{fill:var(--wb-past);fill-opacity:.2}"
    ".wb-svg .mark{stroke:var(--wb-mark);stroke-width:1.5;fill:none}.wb-svg .markfill{fill:var(--wb-mark)}"
    ".wb-svg .unsure{fill:var(--wb-mark);fill-opacity:.2}"
    ".wb-svg .own{fill:var(--wb-line)}.wb-svg .else{fill:var(--wb-peer);fill-opacity:.75}"
    ".wb-svg .job{fill:var(--wb-line);fill-opacity:.25;stroke:var(--wb-line);stroke-width:1}"
    ".wb-svg .gap{fill:var(--wb-soft)}.wb-svg .gapline{stroke:var(--wb-dim);stroke-width:1;stroke-opacity:.45}"
    ".wb-svg .window{fill:var(--wb-line);fill-opacity:.1;stroke:var(--wb-line);stroke-width:1}"
    ".wb-svg path{vector-effect:non-scaling-stroke}"
)
_ALONE = f".wb-svg{{{LIGHT}}}@media (prefers-color-scheme:dark){{.wb-svg{{{DARK}}}}}{STYLE}"

_STEPS_S = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000),
)
_MONTH_S = 2592000


@dataclass(frozen=True, kw_only=True)
class TimeAxis:
    """Where a time lies on a picture.

    Attributes
    ----------
    t0_us, t1_us : int
        UTC microseconds at the left and right edge.
    left, right : float
        Those edges, in user units of the picture.

    Examples
    --------
    >>> TimeAxis(t0_us=0, t1_us=100, left=10, right=20).x(50)
    15.0
    """

    t0_us: int
    t1_us: int
    left: float
    right: float

    def x(self, ts_us: float) -> float:
        """Give the horizontal place of a time; may lie outside of the picture."""
        return self.left + (self.right - self.left) * (ts_us - self.t0_us) / max(1, self.t1_us - self.t0_us)

    def clip(self, low_us: float, high_us: float) -> tuple[float, float] | None:
        """Give both places of a stretch, cut to the picture; None where it lies outside."""
        if high_us < self.t0_us or low_us > self.t1_us:
            return None
        return self.x(max(low_us, self.t0_us)), self.x(min(high_us, self.t1_us))


def picture(
    body: str, *, width: float, height: float, title: str, axis: TimeAxis | None = None, alone: bool = False
) -> str:
    """Wrap parts as one SVG element.

    Parameters
    ----------
    body : str
        Parts, escaped already.
    width, height : float
        User units; the picture scales to the width of its place.
    title : str
        Read aloud by screen readers.
    axis : TimeAxis or None
        Written as ``data-`` attributes, so that a page can tell the time under the pointer.
    alone : bool
        With its own style and ground, for a file of its own.
    """
    data = ""
    if axis is not None:
        data = (
            f' data-t0="{axis.t0_us}" data-t1="{axis.t1_us}" data-left="{axis.left:g}" '
            f'data-right="{axis.right:g}" data-width="{width:g}"'
        )
    style = f'<style>{_ALONE}</style><rect class="ground" width="{width:g}" height="{height:g}"/>' if alone else ""
    size = f'width="{width:g}" height="{height:g}"' if alone else 'width="100%"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="wb-svg" viewBox="0 0 {width:g} {height:g}" {size} '
        f'role="img" aria-label="{escape(title)}"{data}>{style}{body}</svg>'
    )


def text(x: float, y: float, words: object, kind: str = "") -> str:
    """Write words at a place; ``kind`` is ``dim``, ``strong``, ``end``, ``mid`` or several of them.

    Examples
    --------
    >>> text(1, 2, "a<b", "dim end")
    '<text x="1" y="2" class="dim end">a&lt;b</text>'
    """
    role = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.5g}" y="{y:.5g}"{role}>{escape(words)}</text>'


def rect(x: float, y: float, *, width: float, height: float, kind: str, tip: str = "") -> str:
    """Draw a box of a kind, with words that show under the pointer.

    Examples
    --------
    >>> rect(1, 2, width=3, height=4, kind="gap")
    '<rect x="1" y="2" width="3" height="4" class="gap"></rect>'
    """
    inner = f"<title>{escape(tip)}</title>" if tip else ""
    size = f'width="{max(width, 0):.5g}" height="{max(height, 0):.5g}"'
    return f'<rect x="{x:.5g}" y="{y:.5g}" {size} class="{kind}">{inner}</rect>'


def line_path(x: Floats, y: Floats) -> str:
    """Give path data of a line that breaks where ``y`` is NaN; lone points stay as dots.

    Coordinates are whole tenths, relative to the point before: draw inside ``scale(.1)``.

    Examples
    --------
    >>> line_path(np.array([0.0, 1, 2, 3]), np.array([1.0, 2, np.nan, 4]))
    'M0 10l10 10M30 40h0'
    """
    return "".join(f"M{xs[0]} {ys[0]}" + ("h0" if len(xs) == 1 else _relative(xs, ys)) for xs, ys in _pieces(x, y))


def band_path(x: Floats, low: Floats, high: Floats) -> str:
    """Give path data of the area between two lines, in whole tenths; broken where either is NaN.

    Examples
    --------
    >>> band_path(np.array([0.0, 1]), np.array([0.0, 0]), np.array([1.0, 2]))
    'M0 0l10 0l0 20l-10 -10z'
    """
    parts = []
    both = np.isfinite(low) & np.isfinite(high)
    lows, highs = np.where(both, low, np.nan), np.where(both, high, np.nan)
    for (xs, ys), (_, tops) in zip(_pieces(x, lows), _pieces(x, highs), strict=True):
        around_x, around_y = [*xs, *xs[::-1]], [*ys, *tops[::-1]]
        parts.append(f"M{xs[0]} {ys[0]}{_relative(around_x, around_y)}z")
    return "".join(parts)


def _pieces(x: Floats, y: Floats) -> Iterator[tuple[list[int], list[int]]]:
    known = np.isfinite(y)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(np.int8)))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        yield (
            np.round(x[start:stop] * 10).astype(int).tolist(),
            np.round(y[start:stop] * 10).astype(int).tolist(),
        )


def _relative(xs: list[int], ys: list[int]) -> str:
    steps = zip(xs, xs[1:], ys, ys[1:], strict=False)
    return "".join(f"l{b - a} {d - c}" for a, b, c, d in steps)


def time_ticks(t0_us: int, t1_us: int, count: int) -> list[tuple[int, str]]:
    """Give at most ``count + 1`` round UTC times with labels; a date stands where a day begins.

    Examples
    --------
    >>> [label for _, label in time_ticks(0, 3600 * 10**6, 4)]
    ['1 Jan', '00:15', '00:30', '00:45', '01:00']
    """
    span_s = max(1.0, (t1_us - t0_us) / MICROS)
    long = _STEPS_S[-1] * math.ceil(span_s / _STEPS_S[-1] / count)
    step = next((step for step in _STEPS_S if span_s / step <= count), long) * MICROS
    first = -(-t0_us // step) * step
    return [(ts, _label(ts, step)) for ts in range(first, t1_us + 1, step)]


def _label(ts_us: int, step_us: int) -> str:
    moment = from_us(ts_us)
    if step_us >= _MONTH_S * MICROS:
        return f"{moment:%b %Y}"
    if moment.hour == moment.minute == moment.second == 0:
        return f"{moment.day} {moment:%b}"
    return f"{moment:%H:%M:%S}" if step_us < 60 * MICROS else f"{moment:%H:%M}"


def value_ticks(low: float, high: float, count: int = 3) -> list[float]:
    """Give about ``count`` round values within a range.

    Examples
    --------
    >>> value_ticks(0.0, 97.0), value_ticks(5.0, 5.0)
    ([0.0, 50.0], [5.0])
    """
    if not high > low:
        return [low]
    raw = (high - low) / count
    size = 10.0 ** np.floor(np.log10(raw))
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= raw)
    first = np.ceil(low / step)
    return [float(index * step) for index in np.arange(first, np.floor(high / step + 1e-9) + 1)]
