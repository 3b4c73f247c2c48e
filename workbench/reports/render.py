"""From facts to a page: templates that escape everything, and a digest over every byte."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from workbench.figures.drawing import DARK, LIGHT, STYLE
from workbench.figures.tables import cell_text
from workbench.figures.text import shorten, visible

__all__ = ["PENDING", "html_page", "json_block", "markdown_page", "sealed"]

#: Stands where the digest will; the digest is of the page with this in place.
PENDING = "0" * 64
_TEMPLATES = Path(__file__).parent / "templates"
_TIMES = frozenset({"ts", "start", "end", "time", "first", "last"})
_SECONDS = len("2026-03-01T12:00:00.000Z")
_MARKS = re.compile(r"([\\`*_\[\]|~])")


def html_page(facts: Mapping[str, Any], pictures: Mapping[str, Any]) -> str:
    """Write facts as one HTML file, not yet sealed.

    Parameters
    ----------
    facts : mapping
        From :func:`workbench.reports.facts.collect`.
    pictures : mapping
        ``timeline``: SVG or ""; ``metrics``: list of SVG.
    """
    style = f":root{{{LIGHT}}}@media (prefers-color-scheme:dark){{:root{{{DARK}}}}}{STYLE}"
    return (
        _environment(html=True)
        .get_template("writeup.html")
        .render(
            facts=facts,
            timeline=Markup(pictures["timeline"]),  # noqa: S704 -- our own SVG, escaped where it is drawn
            metrics=[Markup(one) for one in pictures["metrics"]],  # noqa: S704
            style=Markup(style),  # noqa: S704
            block=Markup(json_block(facts)),  # noqa: S704 -- <, > and & are escaped in it
            pending=PENDING,
        )
    )


def markdown_page(facts: Mapping[str, Any]) -> str:
    """Write facts as Markdown, not yet sealed; log text keeps its marks but they do nothing."""
    return (
        _environment(html=False)
        .get_template("writeup.md")
        .render(
            facts=facts,
            block=Markup(json_block(facts)),  # noqa: S704
            pending=PENDING,
        )
    )


def sealed(page: str) -> str:
    """Put the digest of the page in its place, near the top.

    Examples
    --------
    >>> sealed("sha256:" + PENDING)[:15] == "sha256:" + hashlib.sha256(("sha256:" + PENDING).encode()).hexdigest()[:8]
    True
    """
    return page.replace(PENDING, hashlib.sha256(page.encode()).hexdigest(), 1)


def json_block(facts: Mapping[str, Any]) -> str:
    r"""Write facts as JSON that can stand in a page: no character of it ends or begins markup.

    Examples
    --------
    >>> json_block({"a": "</script>"})
    '{"a":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


@cache
def _environment(*, html: bool) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,  # in Markdown too: there the finalizer has escaped already
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown if html else _shown_in_markdown,
    )
    environment.filters["cells"] = _cells
    return environment


def _cells(row: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Write one row: times to the millisecond, ids cut in the middle."""
    return [_cell(name, cell_text(row.get(name), 400)) for name in names]


def _cell(name: str, text: str) -> str:
    if name == "entity":
        return shorten(text, 46)
    return f"{text[:23]}Z" if name in _TIMES and len(text) > _SECONDS else text


def _shown(value: object) -> object:
    """Make text visible; markup of our own passes."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)


def _shown_in_markdown(value: object) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    plain = visible(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup(_MARKS.sub(r"\\\1", plain))  # noqa: S704 -- escaped in the line above
