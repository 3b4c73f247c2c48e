"""Keys that a JSON object says twice: decoders keep one of the values without a word."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["key_said_twice", "said_twice", "said_twice_in"]

_KEY = re.compile(r'"\s*:')
_KEY_BYTES = re.compile(_KEY.pattern.encode())
_SHOWN = 100


class _Twice(dict[str, Any]):
    """An object that says a key twice, itself or somewhere inside of it."""

    key: str = ""


def _paired(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    key = None
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        key = next(name for place, name in enumerate(names) if name in names[:place])
    else:
        key = next((inner for value in found.values() if (inner := _inside(value)) is not None), None)
    if key is None:
        return found
    twice = _Twice(found)
    twice.key = key
    return twice


def _inside(value: Any) -> str | None:
    if isinstance(value, _Twice):
        return value.key
    if isinstance(value, list):
        return next((key for item in value if (key := _inside(item)) is not None), None)
    return None


def key_said_twice(text: str) -> str | None:
    """Give the first key that an object in a JSON text says twice; None where none does.

    Examples
    --------
    >>> key_said_twice('{"a": 1, "b": [{"c": 2, "c": 2}]}'), key_said_twice('{"a": 1, "b": {"a": 2}}')
    ('c', None)
    """
    try:
        return _inside(json.loads(text, object_pairs_hook=_paired))
    except (ValueError, RecursionError):
        return None  # no JSON: told elsewhere


def _reason(key: str) -> str:
    shown = key[:_SHOWN].encode("utf-8", "backslashreplace").decode()
    return f"key '{shown}' twice"


def said_twice(value: Any, text: str) -> str | None:
    r"""Say that a text holds a key twice; quick where it has as many keys as the value that was read of it.

    Examples
    --------
    >>> said_twice({"a": 2}, '{"a": 1, "a": 2}'), said_twice({"a": '":'}, '{"a": "\\":"}')
    ("key 'a' twice", None)
    """
    if len(_KEY.findall(text)) <= _keys(value):
        return None
    key = key_said_twice(text)
    return None if key is None else _reason(key)


def said_twice_in(items: Sequence[Any] | None, data: bytes) -> dict[int, str]:
    """Say which elements of an array hold a key twice, by their numbers from 1.

    Examples
    --------
    >>> said_twice_in([{"a": 1}, {"a": 2}], b'[{"a": 1}, {"a": 1, "a": 2}]')
    {2: "key 'a' twice"}
    """
    if items is None or sum(1 for _ in _KEY_BYTES.finditer(data)) <= sum(map(_keys, items)):
        return {}
    try:
        found = json.loads(data, object_pairs_hook=_paired)
    except (ValueError, RecursionError):
        return {}
    told = ((number, _inside(item)) for number, item in enumerate(found, start=1))
    return {number: _reason(key) for number, key in told if key is not None}


def _keys(value: Any) -> int:
    """Count the keys of all objects in a value."""
    count, front = 0, [value]
    while front:
        item = front.pop()
        if isinstance(item, dict):
            count += len(item)
            front.extend(one for one in item.values() if isinstance(one, (dict, list)))
        elif isinstance(item, list):
            front.extend(one for one in item if isinstance(one, (dict, list)))
    return count
