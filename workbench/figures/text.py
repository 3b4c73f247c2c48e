"""Text from logs and tables, made fit to stand on a page: nothing in it runs, hides or turns."""

from __future__ import annotations

import math
import unicodedata
from html import escape as _escape

__all__ = ["compact", "escape", "shorten", "visible"]

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def visible(text: str) -> str:
    r"""Show every character that would hide, turn or break text.

    Control characters become their Unicode pictures (ESC is ␛), and formatting characters, such as
    the bidirectional overrides of Trojan Source (Boucher and Anderson 2021), are named in brackets.
    Unpaired surrogates and non-characters, which no page may hold, are named too.

    Examples
    --------
    >>> visible("\x1b[31mred\u202e\n")
    '␛[31mred⟨U+202E⟩␊'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")
    return f"⟨U+{code:04X}⟩" if hidden else character


def escape(text: object) -> str:
    """Write anything as text of an HTML or SVG page: visible, and without markup.

    Examples
    --------
    >>> escape('<b onclick="x">')
    '&lt;b onclick=&quot;x&quot;&gt;'
    """
    return _escape(visible(str(text)), quote=True)


def shorten(text: str, limit: int) -> str:
    """Cut the middle out of a text longer than ``limit`` characters.

    Examples
    --------
    >>> shorten("cluster/node07/gpu:GPU-7a1b2c3d", 20)
    'cluster/nod…7a1b2c3d'
    """
    if len(text) <= limit:
        return text
    head = (limit - 1) * 3 // 5
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def compact(value: float | None, digits: int = 3) -> str:
    """Write a number in a few characters; "–" where there is none.

    Examples
    --------
    >>> [compact(v) for v in (0.0, 12.3456, 1234567.0, 0.00012, float("nan"), float("inf"))]
    ['0', '12.3', '1.23M', '0.00012', '–', '∞']
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:  # also of minus zero
        return "0"
    for size, prefix in _PREFIXES:
        if abs(value) >= size:
            return f"{value / size:.{digits}g}{prefix}".replace("-", "−")
    return f"{value:.{digits}g}".replace("-", "−").replace("e−0", "e−")
