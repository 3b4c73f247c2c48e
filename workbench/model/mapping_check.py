"""What may stand in a mapping file, and every mistake of one that says something else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import Any

from workbench.errors import UsageError, nearest
from workbench.model.context import EPOCH_UNITS, KINDS, ROLES, SHAPES
from workbench.timebase import zone_of

__all__ = ["Lines", "moment", "place", "rule_mistakes", "top_mistakes"]

#: What a named group of ``match`` may supply.
_GROUPS = ("host", "cluster", "taken_at", "boot_at", "zone")
_KEY = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*=""")
_HEADER = re.compile(r"\s*(\[\[|\[)\s*([^\[\]]+?)\s*\]")
_DEVICE_KIND = re.compile(r"[a-z][a-z0-9_]*")


class Lines:
    r"""Line numbers of a TOML text by rule and key; the parser itself keeps none.

    Examples
    --------
    >>> lines = Lines('[[file]]\nglob = "a"\n[file.columns]\nts = "t"')
    >>> lines.of(0), lines.of(0, "glob"), lines.of(0, "columns", "ts"), lines.of(0, "none")
    (1, 2, 4, 1)
    """

    def __init__(self, text: str) -> None:
        self._known: dict[tuple[int | str, ...], int] = {}
        rule, table = -1, ""
        for number, line in enumerate(text.splitlines(), start=1):
            header = _HEADER.match(line)
            if header:
                rule += header[1] == "[[" and header[2] == "file"
                table = header[2].removeprefix("file").removeprefix(".").strip()
                self._known.setdefault((rule, table) if table else (rule,), number)
            elif key := _KEY.match(line):
                name = key[1].strip("\"'")
                self._known.setdefault((rule, table, name) if table else (rule, name), number)

    def of(self, rule: int, *keys: str) -> int | None:
        """Give the line of a key, else of what it stands in."""
        path: tuple[int | str, ...] = (rule, *keys)
        while path and path not in self._known:
            path = path[:-1]
        return self._known.get(path)


def place(line: int | None) -> str:
    """Say where, as a message begins.

    Examples
    --------
    >>> place(3), place(None)
    ('line 3: ', '')
    """
    return "" if line is None else f"line {line}: "


def moment(value: object, zone: str | None) -> datetime:
    """Give an aware datetime of a TOML time or of text; a time without a zone needs ``zone``.

    Raises
    ------
    UsageError
        Where it is no time, or has no zone and none is stated.

    Examples
    --------
    >>> moment("20251102T031400", "UTC").isoformat()
    '2025-11-02T03:14:00+00:00'
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip().replace(",", "."))
        except ValueError:
            raise UsageError(f"'{value}' is not a time; write it as 2026-03-01T12:00:00Z") from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - the zone follows
    if not isinstance(value, datetime):
        raise UsageError(f"expected a time such as 2026-03-01T12:00:00Z, found {value!r}")
    if value.tzinfo is not None:
        return value
    if zone is None:
        raise UsageError(f"the time {value.isoformat()} has no zone; add Z or state zone in the same rule")
    return value.replace(tzinfo=zone_of(zone))


def top_mistakes(document: Mapping[str, Any], lines: Lines) -> list[str]:
    """Give the mistakes of the outermost level."""
    found = [
        f"{place(lines.of(-1, key))}there is no '{key}'{_near(key, ['file', 'alias'])}; rules are written [[file]], other names [[alias]]"
        for key in document
        if key not in ("file", "alias")
    ]
    tables = document.get("file")
    if tables is None and "alias" in document:
        return found
    if tables is None:
        return found or ["it has no rule; write [[file]] with match or glob"]
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        found.append(f"{place(lines.of(-1, 'file'))}'file' must be written with two brackets: [[file]]")
    return found


def rule_mistakes(rule: Mapping[str, Any], index: int, lines: Lines, readers: Sequence[str]) -> list[str]:
    """Give the mistakes of one ``[[file]]``, each with its line."""

    def say(text: str, *keys: str) -> str:
        return f"{place(lines.of(index, *keys))}file rule {index + 1}: {text}"

    found: list[str] = []
    if ("match" in rule) == ("glob" in rule):
        found.append(say("expected one of match (a regular expression) or glob, found " + _both(rule)))
    for key, value in rule.items():
        if key in _TABLES:
            found += [say(text, key, name) for name, text in _table_mistakes(key, value)]
        elif key not in _FIELDS:
            found.append(say(f"there is no '{key}'{_near(key, [*_FIELDS, *_TABLES])}", key))
        else:
            expected, fits = _FIELDS[key]
            if not fits(value):
                found.append(say(f"{key}: expected {expected}, found {value!r}{_near_value(key, value)}", key))
    found += [say(text, key) for key, text in _deeper_mistakes(rule, readers)]
    return found


def _both(rule: Mapping[str, Any]) -> str:
    return "both" if "match" in rule else "neither"


def _near(name: str, known: Sequence[str]) -> str:
    close = nearest(name, known)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _near_value(key: str, value: object) -> str:
    words = _WORDS.get(key)
    return _near(value, words) if words and isinstance(value, str) else ""


def _table_mistakes(table: str, value: object) -> list[tuple[str, str]]:
    """Give (key, mistake) for ``[file.columns]``, ``[file.units]`` or ``[file.kinds]``."""
    if not isinstance(value, dict):
        return [("", f"{table}: expected a table [file.{table}], found {value!r}")]
    found = [
        (key, f"{table}: '{key}': expected a text in quotes, found {text!r}")
        for key, text in value.items()
        if not (isinstance(text, str) and text.strip() and text != "=")
    ]
    if table == "columns":
        found += [
            (key, f"columns: there is no role '{key}'{_near(key, ROLES)}; roles: {' '.join(ROLES)}")
            for key in value
            if key not in ROLES
        ]
    if table == "kinds":
        found += [
            (key, f"kinds: '{key}': expected {' or '.join(KINDS)}, found '{text}'{_near(text, KINDS)}")
            for key, text in value.items()
            if isinstance(text, str) and text.strip() and text not in KINDS
        ]
    return found


def _deeper_mistakes(rule: Mapping[str, Any], readers: Sequence[str]) -> list[tuple[str, str]]:
    """Give (key, mistake) of values that have the right type and are wrong all the same."""
    found: list[tuple[str, str]] = []
    zone, reader = rule.get("zone"), rule.get("reader")
    for key in ("match", "pattern"):
        if isinstance(rule.get(key), str):
            found += [(key, f"{key}: {text}") for text in _pattern_mistakes(key, rule[key])]
    if _text(zone):
        found += _usage("zone", zone_of, zone)
    if isinstance(reader, str) and readers and reader not in readers:
        found.append(("reader", f"reader: there is no '{reader}'{_near(reader, readers)}; known: {', '.join(readers)}"))
    if "epoch_origin" in rule and "epoch" not in rule:
        found.append(("epoch_origin", "epoch_origin: state epoch too, the unit that times are counted in"))
    for key in ("taken_at", "boot_at", "epoch_origin"):
        if key in rule and _FIELDS[key][1](rule[key]):
            # A zone that comes from --clock is known only when a path is: UTC stands in for it here.
            stand_in = zone if _text(zone) and not _usage("zone", zone_of, zone) else "UTC"
            found += _usage(key, partial(moment, zone=stand_in), rule[key])
    return found


def _usage(key: str, check: Callable[[Any], object], value: object) -> list[tuple[str, str]]:
    try:
        check(value)
    except UsageError as error:
        return [(key, f"{key}: {error}")]
    return []


def _pattern_mistakes(key: str, text: str) -> list[str]:
    try:
        groups = re.compile(text).groupindex
    except re.error as error:
        return [f"'{text}' is not a regular expression: {error}"]
    known = _GROUPS if key == "match" else ("metric", "device")
    found = [
        f"there is no named group '{name}'{_near(name, known)}; known: {', '.join(known)}"
        for name in groups
        if name not in known
    ]
    if key == "pattern" and not found and set(groups) != set(known):
        found.append(f"expected the groups (?P<metric>...) and (?P<device>...), found {sorted(groups)}")
    return found


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(_text(item) for item in value)


def _time(value: object) -> bool:
    return isinstance(value, (datetime, date)) or _text(value)


def _year(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1970 <= value <= 2262


def _seconds(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e6


def _one_of(words: Sequence[str]) -> tuple[str, Callable[[object], bool]]:
    return f"one of {', '.join(words)}", lambda value: value in words


_WORDS: dict[str, Sequence[str]] = {"shape": SHAPES, "epoch": EPOCH_UNITS}
_TABLES = ("columns", "units", "kinds")
_FIELDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "match": ("a regular expression in quotes", _text),
    "glob": ("a glob in quotes", _text),
    "reader": ("the name of a reader", _text),
    "zone": ("an IANA zone such as Europe/Berlin", _text),
    "year": ("a whole number such as 2025", _year),
    "host": ("a host name", _text),
    "cluster": ("a cluster name", _text),
    "taken_at": ("a time such as 2026-03-01T12:00:00Z", _time),
    "interval_s": ("seconds between samples, such as 1 or 0.1", _seconds),
    "boot_at": ("a time such as 2026-03-01T12:00:00Z", _time),
    "shape": _one_of(SHAPES),
    "device_kind": (
        "a kind such as gpu, in lower case",
        lambda value: isinstance(value, str) and _DEVICE_KIND.fullmatch(value) is not None,
    ),
    "time_format": ("a strptime format such as '%d.%m.%Y %H:%M:%S'", lambda value: _text(value) and "%" in str(value)),
    "epoch": _one_of(EPOCH_UNITS),
    "epoch_origin": ("a time such as 2026-03-01T12:00:00Z", _time),
    "pattern": ("a regular expression in quotes", _text),
    "labels": ("a list of column names", _texts),
    "ignore": ("a list of column names", _texts),
    "decimal": ("',' or '.'", lambda value: value in {",", "."}),
}
