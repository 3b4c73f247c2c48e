"""HTML without scripts for notebooks and reports, and figures with them where asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import plotly.graph_objects as go

from workbench.figures.static import figure_svg
from workbench.figures.tables import cell_text, right_aligned
from workbench.figures.text import escape

__all__ = ["HTML_LIMIT", "card_html", "figure_html", "table_html"]

#: Most bytes that a notebook output may have.
HTML_LIMIT = 100_000
_CELL = "padding:2px 8px;border-bottom:1px solid rgba(128,128,128,.3);"


def figure_html(fig: go.Figure, *, include_js: bool | Literal["shared"] = False) -> str:
    """Write a figure as a piece of HTML.

    Parameters
    ----------
    fig : plotly.graph_objects.Figure
    include_js : bool or "shared"
        False: static SVG, no script. True: interactive, with the whole of plotly.js inside (about
        5 MB, no network). ``"shared"``: interactive, for a page that has plotly.js already; with
        scripts off the static picture stands in its place.

    Returns
    -------
    str
        A ``<div>``.

    Examples
    --------
    >>> "<script" in figure_html(go.Figure(go.Scatter(x=[0, 1], y=[0, 1])))
    False
    """
    if include_js is False:
        return f"<div>{figure_svg(fig)}</div>"
    live: str = fig.to_html(
        full_html=False,
        include_plotlyjs="inline" if include_js is True else False,
        include_mathjax=False,
        default_height=f"{int(fig.layout.height or 420)}px",
        config={"displaylogo": False, "responsive": True},
    )
    return f"<div>{live}<noscript>{figure_svg(fig)}</noscript></div>"


def table_html(columns: Sequence[str], rows: Sequence[Sequence[object]], limit: int = 50, *, caption: str = "") -> str:
    """Write a table as plain HTML: escaped, cut to what fits, and said so.

    Parameters
    ----------
    columns : sequence of str
    rows : sequence of rows
        Any values; times are written in UTC, absence as a dash.
    limit : int
        Most rows to show. Fewer are shown where the HTML would pass half of ``HTML_LIMIT``.
    caption : str
        Stands above the table.

    Returns
    -------
    str
        ``<table>`` without scripts; names and messages from the data are escaped.

    Examples
    --------
    >>> html = table_html(["entity", "r"], [["<b>", 0.5], ["gpu1", 0.25]], limit=1)
    >>> "&lt;b&gt;" in html, "1 of 2 rows" in html
    (True, True)
    """
    numeric = [right_aligned([row[at] for row in rows[:limit]]) for at in range(len(columns))]
    aligns = ["right" if one else "left" for one in numeric]
    head = "".join(
        f'<th style="{_CELL}text-align:{align}">{escape(cell_text(name))}</th>'
        for name, align in zip(columns, aligns, strict=True)
    )
    lines: list[str] = []
    room = HTML_LIMIT // 2
    for row in rows[:limit]:
        line = _row_html(row, aligns)
        room -= len(line.encode())
        if room < 0:
            break
        lines.append(line)
    note = f"<p>{len(lines):,} of {len(rows):,} rows</p>" if len(lines) < len(rows) else ""
    top = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<table style="border-collapse:collapse;font-size:13px">{top}<thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>{note}"
    )


def _row_html(row: Sequence[object], aligns: Sequence[str]) -> str:
    cells = "".join(
        f'<td style="{_CELL}text-align:{align}">{escape(cell_text(value))}</td>'
        for value, align in zip(row, aligns, strict=True)
    )
    return f"<tr>{cells}</tr>"


def card_html(
    title: str,
    sentence: str,
    *,
    facts: Sequence[tuple[str, object]] = (),
    notes: Sequence[str] = (),
    parts: Sequence[str] = (),
) -> str:
    """Put a result together for a notebook: what it says, its numbers, its warnings, its picture.

    Parameters
    ----------
    title, sentence : str
        Plain text, escaped here.
    facts : sequence of (name, value)
        The numbers that go with the sentence.
    notes : sequence of str
        What the reader must know; plain text.
    parts : sequence of str
        Ready HTML (from this module), in order; parts that would pass ``HTML_LIMIT`` are left out
        and said so.

    Examples
    --------
    >>> card_html("Lag", "x & y", facts=[("p", 0.5)])
    '<div><p><b>Lag</b>: x &amp; y</p><p>p 0.5</p></div>'
    """
    body = f"<p><b>{escape(title)}</b>: {escape(sentence)}</p>"
    if facts:
        body += "<p>" + " · ".join(f"{escape(name)} {escape(cell_text(value))}" for name, value in facts) + "</p>"
    if notes:
        body += "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"
    for part in parts:
        if len((body + part).encode()) > HTML_LIMIT - 200:
            body += "<p>More is left out here to keep the notebook small; see .table() and .plot().</p>"
            break
        body += part
    return f"<div>{body}</div>"
