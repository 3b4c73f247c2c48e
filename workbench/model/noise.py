"""Which events are noise: counted, kept and marked, never dropped."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl

from workbench.errors import NothingToDoError, SpecificationError

__all__ = ["NoiseRule", "is_noise", "known_noise", "load_noise", "parse_noise"]

_FIELDS = {"kind", "codes", "pattern", "severities", "why", "noise"}
_LONGEST = 500


@dataclass(frozen=True, kw_only=True)
class NoiseRule:
    """One ``[[noise]]`` of a file.

    Attributes
    ----------
    kind : str
        Kind of event.
    codes, severities : tuple of str
        Empty: any.
    pattern : str or None
        Regular expression (Rust's syntax) that the message has to hold.
    why : str
    noise : bool
        False takes events back that an earlier rule marks.
    """

    kind: str
    codes: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    pattern: str | None = None
    why: str = ""
    noise: bool = True

    def fits(self) -> pl.Expr:
        """Tell which events of a table with ``kind, code, severity, message`` this rule means."""
        fits = pl.col("kind") == self.kind
        if self.codes:
            fits &= pl.col("code").is_in(list(self.codes)).fill_null(value=False)
        if self.severities:
            fits &= pl.col("severity").is_in(list(self.severities)).fill_null(value=False)
        if self.pattern is not None:
            fits &= pl.col("message").str.contains(self.pattern).fill_null(value=False)
        return fits.fill_null(value=False)


def is_noise(rules: Sequence[NoiseRule]) -> pl.Expr:
    r"""Tell which events are noise; of several rules that fit, the last decides.

    Examples
    --------
    >>> rules = parse_noise('[[noise]]\nkind = "link"\ncodes = ["init"]')
    >>> events = pl.DataFrame({"kind": ["link"] * 2, "code": ["init", "up"], "severity": None, "message": ""})
    >>> events.select(is_noise(rules)).to_series().to_list()
    [True, False]
    """
    decided = pl.col("kind").is_null() & pl.lit(value=False)
    for rule in rules:
        decided = pl.when(rule.fits()).then(pl.lit(rule.noise)).otherwise(decided)
    return decided.alias("noise")


@cache
def known_noise() -> tuple[NoiseRule, ...]:
    """Give the rules that come with the workbench."""
    file = resources.files("workbench.model") / "catalogue" / "noise.toml"
    return parse_noise(file.read_text(encoding="utf-8"), name="noise.toml")


def load_noise(path: Path | str) -> tuple[NoiseRule, ...]:
    """Read a file of rules.

    Raises
    ------
    NothingToDoError
        Where there is no such file.
    SpecificationError
        Where it is no TOML, or says what no rule knows; all mistakes are told.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        raise NothingToDoError(f"There is no file of noise rules '{file}'; give a TOML file.") from None
    except UnicodeDecodeError as error:
        raise SpecificationError(f"noise rules {file.name}", [f"it cannot be read as UTF-8 text: {error}"]) from None
    return parse_noise(text, name=file.name)


def parse_noise(text: str, *, name: str = "file") -> tuple[NoiseRule, ...]:
    r"""Read rules from text; :func:`load_noise` says what is raised.

    Examples
    --------
    >>> parse_noise('[[noise]]\nkind = "xid"\nkod = 3')
    Traceback (most recent call last):
    workbench.errors.SpecificationError: noise rules file has 1 mistake:
      1. noise rule 1: unknown field 'kod'; known: codes, kind, noise, pattern, severities, why
    """
    what = f"noise rules {name}"
    try:
        entries = tomllib.loads(text).get("noise", [])
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecificationError(what, [f"it is no TOML: {error}"]) from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SpecificationError(what, ["write each rule as a table [[noise]]"])
    mistakes = [f"noise rule {n}: {told}" for n, entry in enumerate(entries, start=1) for told in _mistakes(entry)]
    if mistakes:
        raise SpecificationError(what, mistakes)
    return tuple(_rule(entry) for entry in entries)


def _rule(entry: dict[str, Any]) -> NoiseRule:
    return NoiseRule(
        kind=entry["kind"],
        codes=tuple(str(code) for code in entry.get("codes", ())),
        severities=tuple(str(level) for level in entry.get("severities", ())),
        pattern=entry.get("pattern"),
        why=entry.get("why", ""),
        noise=entry.get("noise", True),
    )


def _mistakes(entry: dict[str, Any]) -> list[str]:
    told = [f"unknown field '{key}'; known: {', '.join(sorted(_FIELDS))}" for key in entry if key not in _FIELDS]
    if not isinstance(entry.get("kind"), str):
        told.append('name the kind of event, such as kind = "link"')
    told += [
        f'{key} is a list of texts, such as {key} = ["init"]'
        for key in ("codes", "severities")
        if not _is_list(entry.get(key, []))
    ]
    told += [
        f"{key} is a text of at most {_LONGEST} characters"
        for key in ("pattern", "why")
        if not isinstance(entry.get(key, ""), str) or len(entry.get(key, "")) > _LONGEST
    ]
    if not isinstance(entry.get("noise", True), bool):
        told.append("noise is true or false")
    if not told and "pattern" in entry and (why := _broken(entry["pattern"])):
        told.append(f"pattern is no regular expression: {why}")
    return told


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, str) or (isinstance(item, int) and not isinstance(item, bool)) for item in value
    )


def _broken(pattern: str) -> str | None:
    try:
        pl.Series(["", "a"]).str.contains(pattern)
    except pl.exceptions.PolarsError as error:
        return " ".join(str(error).split())
    return None
