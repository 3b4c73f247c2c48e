"""The one live widget: a strip of the day, and HTML below it on which a time can be drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from workbench.widgets.page import css

__all__ = ["BoardWidget"]

_SCRIPT = Path(__file__).parent / "static" / "board.js"


class BoardWidget(anywidget.AnyWidget):
    """Shows a board and sends back what was chosen; holds no data beyond what is on the screen.

    Attributes
    ----------
    window : list of two int
        UTC microseconds; set by dragging over any picture.
    body : str
        HTML from :mod:`workbench.widgets.page`, escaped there.
    strip : dict
        Counts per pixel of the day around the incident.
    status : str
        One line: what was drawn, how long it took, or what went wrong.
    drawn : int
        Counts the drawings, so that the page knows that one is complete.
    """

    _esm = _SCRIPT.read_text(encoding="utf-8")
    _css = css(live=True)
    window: Any = traitlets.List(traitlets.Int(), minlen=2, maxlen=2, default_value=[0, 1_000_000]).tag(sync=True)
    body: Any = traitlets.Unicode("").tag(sync=True)
    strip: Any = traitlets.Dict().tag(sync=True)
    status: Any = traitlets.Unicode("").tag(sync=True)
    drawn: Any = traitlets.Int(0).tag(sync=True)
