"""Definitions of derived events: what follows from the records without having been recorded."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from workbench.errors import NothingToDoError, SpecificationError

__all__ = ["Definition", "definitions", "load_definitions", "parse_definitions"]


@dataclass(frozen=True, kw_only=True)
class Definition:
    """What a derived event is.

    Attributes
    ----------
    id : str
        Kind of the event, such as ``link.flap``.
    codes : tuple of str
    inputs : tuple of str
        Metrics and events that it is told from.
    rule, help : str
    settings : mapping of name to number
        The numbers that the rule names.
    units : mapping of name to unit
    """

    id: str
    codes: tuple[str, ...]
    inputs: tuple[str, ...]
    rule: str
    help: str
    settings: Mapping[str, float] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """First 16 digits of the SHA-256 of id, rule and settings: events of one digest mean one thing."""
        said = json.dumps([self.id, self.rule, dict(self.settings)], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]


@cache
def definitions() -> tuple[Definition, ...]:
    """Give the definitions that come with the workbench.

    Examples
    --------
    >>> [one.id for one in definitions()][:3]
    ['straggler', 'slowdown', 'checkpoint.stall']
    """
    file = resources.files("workbench.model") / "catalogue" / "derived.toml"
    entries = tomllib.loads(file.read_text(encoding="utf-8"))["derived"]
    return tuple(_definition(entry) for entry in entries)


def _definition(entry: dict[str, Any]) -> Definition:
    stated = entry.get("settings", {})
    return Definition(
        id=entry["id"],
        codes=tuple(entry["codes"]),
        inputs=tuple(entry["inputs"]),
        rule=" ".join(entry["rule"].split()),
        help=entry.get("help", ""),
        settings={name: float(one["value"]) for name, one in stated.items()},
        units={name: one["unit"] for name, one in stated.items()},
    )


def load_definitions(path: Path) -> tuple[Definition, ...]:
    """Give the definitions with the numbers that a file states in place of ours.

    Raises
    ------
    NothingToDoError
        Where the file cannot be read.
    SpecificationError
        Where it is no TOML, or names what there is not; all mistakes are told.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        raise NothingToDoError(f"There is no file of definitions '{path}'; give a TOML file.") from None
    except UnicodeDecodeError as error:
        raise SpecificationError(f"definitions {path.name}", [f"it cannot be read as UTF-8 text: {error}"]) from None
    return parse_definitions(text, name=path.name)


def parse_definitions(text: str, *, name: str = "file") -> tuple[Definition, ...]:
    r"""Read numbers from text; :func:`load_definitions` says what is raised.

    Examples
    --------
    >>> told = parse_definitions('[[derived]]\nid = "link.flap"\nwindow_s = 60')
    >>> next(one.settings["window_s"] for one in told if one.id == "link.flap")
    60.0
    >>> parse_definitions('[[derived]]\nid = "link.flap"\nwindow = 60')
    Traceback (most recent call last):
    workbench.errors.SpecificationError: definitions file has 1 mistake:
      1. derived link.flap: there is no setting 'window'; it has window_s
    """
    what = f"definitions {name}"
    try:
        entries = tomllib.loads(text).get("derived", [])
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecificationError(what, [f"it is no TOML: {error}"]) from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SpecificationError(what, ["write each definition as a table [[derived]]"])
    known = {one.id: one for one in definitions()}
    mistakes = [told for entry in entries for told in _mistakes(entry, known)]
    if mistakes:
        raise SpecificationError(what, mistakes)
    for entry in entries:
        own = known[entry["id"]]
        stated = {key: float(value) for key, value in entry.items() if key != "id"}
        known[own.id] = replace(own, settings={**own.settings, **stated})
    return tuple(known.values())


def _mistakes(entry: dict[str, Any], known: Mapping[str, Definition]) -> list[str]:
    own = known.get(entry.get("id")) if isinstance(entry.get("id"), str) else None  # type: ignore[arg-type]
    if own is None:
        return [f"there is no derived event {entry.get('id')!r}; there are {', '.join(known)}"]
    told = []
    for key, value in entry.items():
        if key == "id":
            continue
        if key not in own.settings:
            told.append(f"derived {own.id}: there is no setting '{key}'; it has {', '.join(own.settings) or 'none'}")
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e12:
            told.append(
                f"derived {own.id}: {key} is a number from 0 on, such as {own.settings[key]:g}; found {value!r}"
            )
    return told
