"""Parts of JSON documents of tools, taken only where they are what they should be."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from workbench.readers.jsonvalues import clean

__all__ = ["inside", "number_of", "plain_text", "whole_of"]

_SHOWN = 500


def plain_text(value: Any) -> str | None:
    """Give text as it is (lone surrogates escaped), other plain values as JSON writes them, None for the rest.

    Examples
    --------
    >>> plain_text("a"), plain_text(3), plain_text(True), plain_text(None), plain_text({"a": 1})
    ('a', '3', 'true', None, None)
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return clean(value[:_SHOWN])
    return str(value) if isinstance(value, (int, float)) else None


def whole_of(value: Any) -> int | None:
    """Give an integer that fits 62 bits; truth values are none.

    Examples
    --------
    >>> whole_of(7), whole_of(True), whole_of("7"), whole_of(10**30)
    (7, None, None, None)
    """
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62 else None


def number_of(value: Any) -> str | float | None:
    """Give what a number may be written as, a finite number or text; None for the rest.

    Examples
    --------
    >>> number_of(7), number_of("7.5"), number_of(False), number_of([]), number_of(float("inf"))
    (7, '7.5', None, None, None)
    """
    if isinstance(value, bool) or (isinstance(value, float) and not isfinite(value)):
        return None
    return value if isinstance(value, (int, float, str)) else None


def inside(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Give the object under a key; an empty one where there is none.

    Examples
    --------
    >>> inside({"a": {"b": 1}}, "a"), inside({"a": 3}, "a")
    ({'b': 1}, {})
    """
    found = value.get(key)
    return found if isinstance(found, dict) else {}
