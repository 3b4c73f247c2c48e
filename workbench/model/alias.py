"""Other names that the user states: ``[[alias]]`` in a mapping file, one by one or as a list in CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from workbench.errors import UsageError, nearest
from workbench.timebase import to_us

__all__ = ["Alias", "aliases_of"]

Moment = Callable[[object, str | None], datetime]
_FIELDS = ("kind", "host", "name", "same_as", "from", "to", "cluster")
_KIND = re.compile(r"[a-z][a-z0-9_]*")
_ON_A_HOST = frozenset({"gpu", "gpu_instance", "nic", "nvswitch", "port", "disk"})
_HEADER = re.compile(r"^\s*\[\[\s*alias\s*\]\]", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Alias:
    """Two names of one thing.

    Attributes
    ----------
    name, same_as : str
        As sources write it; the name to keep.
    kind : str
        ``host``, ``gpu``, ``nic`` ...
    host : str or None
        On which host a device is.
    cluster : str
    from_us, to_us : int or None
        For which time it holds (microseconds, both ends inside); None: not bounded.
    """

    name: str
    same_as: str
    kind: str = "host"
    host: str | None = None
    cluster: str = "cluster"
    from_us: int | None = None
    to_us: int | None = None


def aliases_of(
    tables: object, *, text: str, folder: Path | None, moment: Moment
) -> tuple[tuple[Alias, ...], list[str]]:
    """Read ``[[alias]]`` tables; give the aliases, and every mistake.

    Parameters
    ----------
    tables : object
        What TOML holds under ``alias``.
    text : str
        The mapping file, for numbers of lines.
    folder : pathlib.Path or None
        Where ``file`` is relative to.
    moment : callable
        ``(value, zone) -> datetime``; raises UsageError.

    Examples
    --------
    >>> from workbench.model.mapping_check import moment
    >>> aliases, mistakes = aliases_of([{"name": "bmc-07", "same_as": "node07"}], text="", folder=None, moment=moment)
    >>> aliases[0].name, aliases[0].same_as, mistakes
    ('bmc-07', 'node07', [])
    """
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        return (), ["'alias' must be written with two brackets: [[alias]]"]
    lines = [text.count("\n", 0, found.end()) + 1 for found in _HEADER.finditer(text)]
    aliases: list[Alias] = []
    mistakes: list[str] = []
    for number, table in enumerate(tables):
        where = f"line {lines[number]}: alias {number + 1}" if number < len(lines) else f"alias {number + 1}"
        for place, row in _rows(table, where, folder, mistakes):
            wrong = [f"{place}: {one}" for one in _mistakes(row, moment)]
            mistakes += wrong
            if not wrong:
                aliases.append(_alias(row, moment))
    return tuple(aliases), mistakes


def _rows(
    table: Mapping[str, Any], where: str, folder: Path | None, mistakes: list[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give the rows of one table: itself, or those of the CSV file that it names."""
    if "file" not in table:
        yield where, table
        return
    if set(table) != {"file"} or not isinstance(table["file"], str):
        mistakes.append(f"{where}: file stands alone, and is the path of a CSV file in quotes")
        return
    path = Path(table["file"]) if folder is None else folder / table["file"]
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            for row in reader:
                extra = {"": "x"} if None in row else {}
                yield f"{path.name} line {reader.line_num}", {k: v.strip() for k, v in row.items() if k and v} | extra
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        mistakes.append(f"{where}: {path} cannot be read as CSV: {error}")


def _mistakes(row: Mapping[str, Any], moment: Moment) -> list[str]:
    found = [
        f"there is no '{key}'{_near(key, _FIELDS)}; known: {', '.join(_FIELDS)}" for key in row if key not in _FIELDS
    ]
    for key in ("name", "same_as", "kind", "host", "cluster"):
        value = row.get(key, None if key in ("name", "same_as") else "x")
        if not (isinstance(value, str) and value.strip()):
            found.append(f"{key}: expected a text in quotes, found {value!r}")
    if found:
        return found
    kind = row.get("kind", "host")
    if not _KIND.fullmatch(kind):
        found.append(f"kind: expected such as host, gpu or nic, found '{kind}'")
    if kind in _ON_A_HOST and "host" not in row:
        found.append(f"host: say on which host the {kind} is")
    if kind == "host" and ("from" in row or "to" in row or "host" in row):
        found.append("the name of a host holds for all times: leave out from, to and host")
    for key in ("from", "to"):
        try:
            _us(row, key, moment)
        except UsageError as error:
            found.append(f"{key}: {error}")
    return found


def _near(name: str, known: Sequence[str]) -> str:
    close = nearest(name, known)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _us(row: Mapping[str, Any], key: str, moment: Moment) -> int | None:
    return to_us(moment(row[key], None)) if key in row else None


def _alias(row: Mapping[str, Any], moment: Moment) -> Alias:
    return Alias(
        name=row["name"].strip(), same_as=row["same_as"].strip(), kind=row.get("kind", "host"), host=row.get("host"),
        cluster=row.get("cluster", "cluster"), from_us=_us(row, "from", moment), to_us=_us(row, "to", moment),
    )  # fmt: skip
