"""A figure as static SVG: readable with no script, in a saved notebook, a mail or a diff."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from workbench.figures.axes import Axis, axis_of, floats_of, tick_marks
from workbench.figures.text import escape
from workbench.figures.theme import colour

__all__ = ["figure_svg"]

_RIGHT, _TOP, _BOTTOM = 15.0, 46.0, 48.0
_DRAWN = {"scatter", "bar", "heatmap"}
_SHADES = 10  # steps of a heat map, either side of zero
_DASHES = {"dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3", "longdash": "11 5", "longdashdot": "11 4 2 4"}


@dataclass(frozen=True, kw_only=True)
class _Frame:
    """One pair of axes and where it stands on the page, in pixels."""

    x: Axis
    y: Axis
    left: float
    top: float
    width: float
    height: float

    def px(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.left + self.x.share(values) * self.width

    def py(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.top + (1 - self.y.share(values)) * self.height


def figure_svg(fig: go.Figure, *, width: int = 720, height: int = 0) -> str:
    """Draw a figure as SVG: lines, areas, markers, bars, straight shapes, axes, titles, legend.

    Parameters
    ----------
    fig : plotly.graph_objects.Figure
        With ``scatter`` and ``bar`` traces on linear, log or date axes, and ``heatmap`` traces of
        rows and columns evenly spaced around zero; others are named in the legend and not drawn.
    width, height : int
        Pixels; height 0 takes the figure's own, or 380.

    Returns
    -------
    str
        ``<svg>`` without scripts, links or foreign requests. Text takes the colour of its
        surroundings, so it suits light and dark pages. A line of more points than pixels is drawn
        as its envelope (lowest and highest of each column), so no spike is lost.

    Examples
    --------
    >>> svg = figure_svg(go.Figure(go.Scatter(x=[0, 1], y=[0, 1], name="<script>")))
    >>> svg.startswith("<svg"), "<script>" in svg
    (True, False)
    """
    height = height or int(fig.layout.height or 380)
    left = _left_margin(fig)
    frames = _frames(fig, left, width, height)
    body = [part for frame in frames.values() for part in _axes_parts(frame)]
    for index, trace in enumerate(fig.data):
        frame = frames.get((trace.xaxis or "x", trace.yaxis or "y"))
        if frame is not None:
            body += _clipped(_trace_parts(trace, frame, index), frame)
    body += [part for shape in fig.layout.shapes or () for part in _shape_parts(shape, frames)]
    body += _titles(fig, left, width, height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" style="max-width:100%" font-family="system-ui,sans-serif" font-size="12" fill="currentColor">'
        f"{''.join(body)}</svg>"
    )


def _left_margin(fig: go.Figure) -> float:
    """Leave room for stated tick labels, such as the names of lanes."""
    texts = [str(text) for axis in fig.select_yaxes() for text in axis.ticktext or ()]
    return min(max(70.0, 14 + 6.3 * max(map(len, texts), default=0)), 280.0)


def _frames(fig: go.Figure, left: float, width: int, height: int) -> dict[tuple[str, str], _Frame]:
    pairs = sorted({(trace.xaxis or "x", trace.yaxis or "y") for trace in fig.data if trace.type in _DRAWN})
    inner_width, inner_height = width - left - _RIGHT, height - _TOP - _BOTTOM
    frames = {}
    for x_id, y_id in pairs:
        x, y = axis_of(fig, x_id, "x"), axis_of(fig, y_id, "y")
        frames[x_id, y_id] = _Frame(
            x=x,
            y=y,
            left=left + x.domain[0] * inner_width,
            width=(x.domain[1] - x.domain[0]) * inner_width,
            top=_TOP + (1 - y.domain[1]) * inner_height,
            height=(y.domain[1] - y.domain[0]) * inner_height,
        )
    return frames


def _axes_parts(frame: _Frame) -> Iterator[str]:
    bottom, right = frame.top + frame.height, frame.left + frame.width
    yield (
        f'<path d="M{frame.left:.1f} {frame.top:.1f}V{bottom:.1f}H{right:.1f}" fill="none" stroke="currentColor" '
        'stroke-opacity=".6"/>'
    )
    for value, label in tick_marks(frame.x, max(2, int(frame.width / 110))):
        at = float(frame.px(np.array([value]))[0])
        yield f'<path d="M{at:.1f} {frame.top:.1f}V{bottom:.1f}" stroke="currentColor" stroke-opacity=".12"/>'
        yield f'<text x="{at:.1f}" y="{bottom + 15:.1f}" text-anchor="middle" font-size="11">{_plain(label)}</text>'
    for value, label in tick_marks(frame.y, max(2, int(frame.height / 34))):
        at = float(frame.py(np.array([value]))[0])
        yield f'<path d="M{frame.left:.1f} {at:.1f}H{right:.1f}" stroke="currentColor" stroke-opacity=".12"/>'
        yield (
            f'<text x="{frame.left - 6:.1f}" y="{at + 4:.1f}" text-anchor="end" font-size="11">{_plain(label)}</text>'
        )
    if frame.x.title:
        yield (
            f'<text x="{frame.left + frame.width / 2:.1f}" y="{bottom + 33:.1f}" text-anchor="middle">'
            f"{_plain(frame.x.title)}</text>"
        )
    if frame.y.title:
        middle, at = frame.top + frame.height / 2, max(frame.left - 56, 12)
        yield (
            f'<text transform="translate({at:.1f} {middle:.1f}) rotate(-90)" text-anchor="middle">'
            f"{_plain(frame.y.title)}</text>"
        )


def _clipped(parts: list[str], frame: _Frame) -> list[str]:
    box = f"{frame.left:.1f} {frame.top:.1f} {frame.width:.1f} {frame.height:.1f}"
    x, y, width, height = box.split()
    return [f'<svg x="{x}" y="{y}" width="{width}" height="{height}" viewBox="{box}">{"".join(parts)}</svg>']


def _trace_parts(trace: Any, frame: _Frame, index: int) -> list[str]:
    if trace.type == "bar":
        return _bar_parts(trace, frame, index)
    if trace.type == "heatmap":
        return _heat_parts(trace, frame)
    if trace.type != "scatter" or trace.x is None or trace.y is None:
        return []
    x, y = frame.px(floats_of(trace.x)), frame.py(floats_of(trace.y))
    ink, parts = _ink(trace, index), []
    if trace.fill == "toself":
        column = np.floor(x)  # the first and the last point of each pixel column will do
        keep = ~np.isfinite(y) | (np.diff(column, prepend=np.nan) != 0) | (np.diff(column, append=np.nan) != 0)
        area = _path(x[keep], y[keep], close=True)
        parts.append(f'<path d="{area}" fill="{escape(trace.fillcolor or ink)}" stroke="none"/>')
    mode = trace.mode or "lines"
    if "lines" in mode and (trace.line.width is None or trace.line.width > 0):
        x_line, y_line = _envelope(x, y, frame) if trace.line.shape != "hv" else _steps(x, y)
        dash = _DASHES.get(trace.line.dash or "")
        style = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(
            f'<path d="{_path(x_line, y_line)}" fill="none" stroke="{escape(ink)}" '
            f'stroke-width="{trace.line.width or 1.8:g}"{style}/>'
        )
    if "markers" in mode:
        parts.append(_marker_part(x, y, ink))
    if mode == "text":
        parts += [
            f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="middle">{_plain(str(said))}</text>'
            for at_x, at_y, said in zip(x.tolist(), y.tolist(), trace.text or (), strict=False)
        ]
    return parts


def _ink(trace: Any, index: int) -> str:
    marker = getattr(trace, "marker", None)
    line = getattr(trace, "line", None)
    for candidate in (line.color if line else None, marker.color if marker else None):
        if isinstance(candidate, str):
            return candidate
    return colour(index)


def _envelope(
    x: NDArray[np.float64], y: NDArray[np.float64], frame: _Frame
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Keep the lowest and the highest point of each pixel column; gaps stay gaps."""
    columns = max(1, int(frame.width))
    if x.size <= 2 * columns or np.any(np.diff(x[np.isfinite(x)]) < 0):
        return x, y
    column = np.clip((x - frame.left) / frame.width * columns, 0, columns).astype(np.int64)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    low = np.minimum.reduceat(np.where(np.isfinite(y), y, np.inf), starts)
    high = np.maximum.reduceat(np.where(np.isfinite(y), y, -np.inf), starts)
    low[~np.isfinite(low)], high[~np.isfinite(high)] = np.nan, np.nan
    return np.repeat(x[starts], 2), np.stack([low, high], axis=1).ravel()


def _steps(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def _path(x: NDArray[np.float64], y: NDArray[np.float64], *, close: bool = False) -> str:
    known = np.isfinite(x) & np.isfinite(y)
    words, pen_down = [], False
    for at_x, at_y, seen in zip(x.tolist(), y.tolist(), known.tolist(), strict=True):
        if not seen:
            if pen_down and close:
                words.append("Z")
            pen_down = False
            continue
        words.append(f"{'L' if pen_down else 'M'}{at_x:.1f} {at_y:.1f}")
        pen_down = True
    return "".join(words) + ("Z" if pen_down and close else "")


def _marker_part(x: NDArray[np.float64], y: NDArray[np.float64], ink: str) -> str:
    known = np.isfinite(x) & np.isfinite(y)
    spots = np.unique(np.stack([x[known], y[known]], axis=1).round(0), axis=0)[:2000]
    dots = "".join(f"M{at_x - 3:.0f} {at_y:.0f}a3 3 0 1 0 6 0a3 3 0 1 0-6 0" for at_x, at_y in spots.tolist())
    return f'<path d="{dots}" fill="{escape(ink)}"/>'


def _bar_parts(trace: Any, frame: _Frame, index: int) -> list[str]:
    x, y = floats_of(trace.x), floats_of(trace.y)
    widths = floats_of(trace.width) if trace.width is not None else np.diff(np.sort(x)).min(initial=1.0) * 0.9
    left, right = frame.px(x - np.broadcast_to(widths, x.shape) / 2), frame.px(x + np.broadcast_to(widths, x.shape) / 2)
    base = np.full(x.shape, float(frame.py(np.zeros(1))[0]))
    low, high = np.minimum(frame.py(y), base), np.maximum(frame.py(y), base)
    boxes = np.stack([left, low, np.maximum(right - left, 0.5), high - low], axis=1)
    path = "".join(f"M{a:.1f} {b:.1f}h{c:.1f}v{d:.1f}h{-c:.1f}z" for a, b, c, d in boxes[np.isfinite(boxes).all(1)])
    return [f'<path d="{path}" fill="{escape(_ink(trace, index))}"/>']


def _heat_parts(trace: Any, frame: _Frame) -> list[str]:
    """Draw the cells of a heat map: the two end colours of its scale, the fainter the nearer to zero."""
    x, y, z = floats_of(trace.x), floats_of(trace.y), np.asarray(trace.z, dtype=np.float64)
    shade = np.nan_to_num(np.round(z / float(trace.zmax) * _SHADES)).clip(-_SHADES, _SHADES)
    half_x, half_y = (np.diff(one).min(initial=1.0) / 2 for one in (np.sort(x), np.sort(y)))
    left, right = frame.px(x - half_x), frame.px(x + half_x)
    low, high = frame.py(y - half_y), frame.py(y + half_y)
    parts = []
    for step in np.unique(shade[shade != 0]).tolist():
        rows, columns = np.nonzero(shade == step)
        path = "".join(
            f"M{left[at]:.1f} {min(low[row], high[row]):.1f}h{right[at] - left[at]:.1f}"
            f"v{abs(high[row] - low[row]):.1f}H{left[at]:.1f}z"
            for row, at in zip(rows.tolist(), columns.tolist(), strict=True)
        )
        ink = escape(str(trace.colorscale[0 if step < 0 else -1][1]))
        parts.append(f'<path d="{path}" fill="{ink}" fill-opacity="{abs(step) / _SHADES:g}"/>')
    return parts


def _shape_parts(shape: Any, frames: dict[tuple[str, str], _Frame]) -> Iterator[str]:
    """Draw lines and boxes that stand on data or span their axes."""
    x_ref, y_ref = (shape.xref or "x").replace(" domain", ""), (shape.yref or "y").replace(" domain", "")
    ink = escape(str(shape.line.color or "currentColor"))
    for (x_id, y_id), frame in frames.items():
        if x_ref not in {x_id, "paper"} or y_ref not in {y_id, "paper"}:
            continue
        whole_x, whole_y = shape.xref in {"paper", f"{x_id} domain"}, shape.yref in {"paper", f"{y_id} domain"}
        x = np.array([frame.left, frame.left + frame.width]) if whole_x else frame.px(floats_of([shape.x0, shape.x1]))
        y = np.array([frame.top + frame.height, frame.top]) if whole_y else frame.py(floats_of([shape.y0, shape.y1]))
        if shape.type == "line":
            dash = f' stroke-dasharray="{_DASHES[shape.line.dash]}"' if shape.line.dash in _DASHES else ""
            yield f'<path d="M{x[0]:.1f} {y[0]:.1f}L{x[1]:.1f} {y[1]:.1f}" stroke="{ink}" fill="none"{dash}/>'
        elif shape.type == "rect":
            yield (
                f'<rect x="{x.min():.1f}" y="{y.min():.1f}" width="{np.ptp(x):.1f}" height="{np.ptp(y):.1f}" '
                f'fill="{escape(str(shape.fillcolor or "none"))}" fill-opacity="{shape.opacity or 1:g}"/>'
            )


def _titles(fig: go.Figure, left: float, width: int, height: int) -> Iterator[str]:
    title = fig.layout.title.text
    if title:
        yield f'<text x="{left:.0f}" y="16" font-weight="600">{_plain(title)}</text>'
    at = left
    for index, trace in enumerate(fig.data if fig.layout.showlegend is not False else ()):
        if trace.showlegend is False or not trace.name:
            continue
        filled = trace.type == "scatter" and trace.fill == "toself" and trace.fillcolor
        ink = escape(trace.fillcolor if filled else _ink(trace, index))
        yield f'<rect x="{at:.0f}" y="26" width="14" height="8" fill="{ink}"/>'
        yield f'<text x="{at + 19:.0f}" y="34" font-size="11">{_plain(trace.name)}</text>'
        at += 36 + 6.4 * len(_plain(trace.name))
    for note in fig.layout.annotations or ():
        if note.xref == "paper" and note.yref == "paper" and note.text:
            x = left + float(note.x) * (width - left - _RIGHT)
            y = _TOP + (1 - float(note.y)) * (height - _TOP - _BOTTOM)
            yield f'<text x="{x:.1f}" y="{y - 4:.1f}" text-anchor="middle">{_plain(note.text)}</text>'


def _plain(text: str) -> str:
    """Escape, keeping the three entities that ``theme.words`` has already written."""
    escaped = escape(text)
    for entity in ("&amp;lt;", "&amp;gt;", "&amp;amp;"):
        escaped = escaped.replace(entity, "&" + entity[5:])
    return escaped
