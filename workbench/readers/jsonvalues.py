"""Values of JSON documents that nobody vouches for: numbers, texts and lists of the kind expected, or nothing."""

from __future__ import annotations

from typing import Any

__all__ = ["clean", "dig", "dicts", "number_text", "text_of"]


def number_text(value: Any) -> str | None:
    """Write a number as text, exactly; None for what is no number (truth values are none).

    Examples
    --------
    >>> number_text(5), number_text(0.1), number_text(True), number_text("5"), number_text(float("nan"))
    ('5', '0.1', None, None, 'nan')
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return repr(value)


def clean(text: str) -> str:
    r"""Write lone surrogates, which JSON may hold and UTF-8 may not, as escapes.

    Examples
    --------
    >>> clean("a\ud800")
    'a\\ud800'
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def text_of(value: Any) -> str | None:
    """Give a text without lone surrogates; None for what is none.

    Examples
    --------
    >>> text_of("a"), text_of(1)
    ('a', None)
    """
    return clean(value) if isinstance(value, str) else None


def dig(value: Any, *keys: str) -> Any:
    """Follow keys through objects; None where one is missing.

    Examples
    --------
    >>> dig({"a": {"b": 1}}, "a", "b"), dig({"a": []}, "a", "b")
    (1, None)
    """
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def dicts(value: Any) -> list[dict[str, Any]]:
    """Give the objects of a list; nothing where it is none.

    Examples
    --------
    >>> dicts([{"a": 1}, 2]), dicts(None)
    ([{'a': 1}], [])
    """
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
