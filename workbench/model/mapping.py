"""The mapping file (``--map FILE.toml``): what files are, and what their columns mean.

Every ``[[file]]`` whose ``match`` or ``glob`` fits a path applies, from the top down; a later one
overrides an earlier one, field by field, and all of them override ``--clock`` and ``--year``.
``examples/mapping.toml`` shows every field. ``[[alias]]`` states other names of hosts and devices.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from workbench.errors import NothingToDoError, SpecificationError, UsageError
from workbench.model import mapping_check as check
from workbench.model.alias import Alias, aliases_of
from workbench.model.context import Columns, Context
from workbench.timebase import to_us, zone_of

__all__ = ["Mapping", "Rule", "load_mapping", "parse_mapping"]

_PLAIN = ("shape", "device_kind", "time_format", "epoch", "pattern", "decimal")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One ``[[file]]`` of a mapping.

    Attributes
    ----------
    match : re.Pattern or None
        Searched in the path relative to the folder that is read, with forward slashes.
    glob : str or None
        In place of ``match``; without a slash it speaks of the file name.
    stated : mapping of field to value
        Checked, as written in the file.
    line : int or None
        Where it stands in the file.
    """

    match: re.Pattern[str] | None
    glob: str | None
    stated: MappingOf[str, Any]
    line: int | None = None

    def found(self, path: str) -> dict[str, str] | None:
        """Give what the path itself says (named groups), or None where the rule does not fit.

        Examples
        --------
        >>> rule = Rule(match=re.compile(r"^(?P<host>[^/]+)/dmesg"), glob=None, stated={})
        >>> rule.found("node07/dmesg.txt"), rule.found("node07/syslog")
        ({'host': 'node07'}, None)
        """
        if self.match is not None:
            hit = self.match.search(path)
            return None if hit is None else {name: text for name, text in hit.groupdict().items() if text is not None}
        glob = self.glob or ""
        name = path if "/" in glob else path.rpartition("/")[2]
        return {} if fnmatchcase(name, glob) else None


@dataclass(frozen=True, kw_only=True)
class Mapping:
    """The rules of a mapping file, in the order of the file.

    Attributes
    ----------
    rules : tuple of Rule
    name : str
        Of the file, for messages.
    aliases : tuple of Alias
        Other names of hosts and devices.
    """

    rules: tuple[Rule, ...]
    name: str = "file"
    aliases: tuple[Alias, ...] = ()

    def context_for(self, path: str, base: Context | None = None) -> Context:
        """Give what is stated about one file.

        Parameters
        ----------
        path : str
            Relative to the folder that is read, with forward slashes.
        base : Context, optional
            What is stated already (``--clock``, ``--year``); rules override it.

        Raises
        ------
        SpecificationError
            Where a named group of ``match`` catches a time or zone that is none.

        Examples
        --------
        >>> mapping = parse_mapping('''
        ... [[file]]
        ... match = '^(?P<host>[^/]+)/sensors'
        ... zone = "Europe/Berlin"
        ... [file.columns]
        ... ts = "when"
        ... ''')
        >>> context = mapping.context_for("bmc7/sensors.csv")
        >>> context.host, context.zone, dict(context.columns.roles)
        ('bmc7', 'Europe/Berlin', {'ts': 'when'})
        """
        context = Context() if base is None else base
        for number, rule in enumerate(self.rules, start=1):
            caught = rule.found(path)
            if caught is not None:
                where = f"{check.place(rule.line)}file rule {number}, path '{path}'"
                context = self._applied(context, {**rule.stated, **caught}, where)
        return context

    def _applied(self, context: Context, stated: MappingOf[str, Any], where: str) -> Context:
        """Lay what one rule states over what is known."""
        zone = stated.get("zone", context.zone)
        moments: dict[str, Any] = {}
        name = "zone"
        try:
            if zone is not None:
                zone_of(zone)
            for name in ("taken_at", "boot_at", "epoch_origin"):
                if name in stated:
                    moments[f"{name}_us"] = to_us(check.moment(stated[name], zone))
        except UsageError as error:
            raise SpecificationError(f"mapping {self.name}", [f"{where}: {name}: {error}"]) from None
        own = {
            name: stated[name] for name in ("zone", "year", "host", "cluster", "reader", "interval_s") if name in stated
        }
        origin = moments.pop("epoch_origin_us", context.columns.epoch_origin_us)
        columns = replace(_columns(context.columns, stated), epoch_origin_us=origin)
        return replace(context, **own, **moments, columns=columns)


def _columns(old: Columns, stated: MappingOf[str, Any]) -> Columns:
    own: dict[str, Any] = {name: stated[name] for name in _PLAIN if name in stated}
    own |= {name: tuple(stated[name]) for name in ("labels", "ignore") if name in stated}
    return replace(
        old,
        roles={**old.roles, **stated.get("columns", {})},
        units={**old.units, **stated.get("units", {})},
        kinds={**old.kinds, **stated.get("kinds", {})},
        **own,
    )


def load_mapping(path: Path | str, *, readers: Sequence[str] = ()) -> Mapping:
    """Read a mapping file.

    Parameters
    ----------
    path : path
        TOML; ``examples/mapping.toml`` shows every field.
    readers : sequence of str
        Names that ``reader`` may take; empty: not checked.

    Raises
    ------
    SpecificationError
        With every mistake: line, place, expected, found, nearest right name.
    NothingToDoError
        Where there is no such file.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise NothingToDoError(f"There is no mapping file '{file}'; give --map a TOML file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecificationError(f"mapping {file.name}", [f"it cannot be read as UTF-8 text: {error}"]) from None
    return parse_mapping(text, name=file.name, readers=readers, folder=file.parent)


def parse_mapping(text: str, *, name: str = "file", readers: Sequence[str] = (), folder: Path | None = None) -> Mapping:
    r"""Read the text of a mapping file; :func:`load_mapping` says what is raised.

    Examples
    --------
    >>> parse_mapping('[[file]]\nglob = "*.csv"\nzon = "UTC"\nyear = "2025"')
    Traceback (most recent call last):
    ...
    workbench.errors.SpecificationError: mapping file has 2 mistakes:
      1. line 3: file rule 1: there is no 'zon'; did you mean zone?
      2. line 4: file rule 1: year: expected a whole number such as 2025, found '2025'
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecificationError(f"mapping {name}", [f"it is not TOML: {error}"]) from None
    lines = check.Lines(text)
    mistakes = check.top_mistakes(document, lines)
    tables = document.get("file", [])
    if not mistakes:
        for index, table in enumerate(tables):
            mistakes += check.rule_mistakes(table, index, lines, readers)
    aliases, wrong = aliases_of(document.get("alias", []), text=text, folder=folder, moment=check.moment)
    if mistakes or wrong:
        raise SpecificationError(f"mapping {name}", [*mistakes, *wrong])
    rules = tuple(_rule(table, lines.of(i)) for i, table in enumerate(tables))
    return Mapping(rules=rules, name=name, aliases=aliases)


def _rule(table: MappingOf[str, Any], line: int | None) -> Rule:
    stated = {key: value for key, value in table.items() if key not in {"match", "glob"}}
    match = re.compile(table["match"]) if "match" in table else None
    return Rule(match=match, glob=table.get("glob"), stated=stated, line=line)
