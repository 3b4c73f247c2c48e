"""Where each key of a hypothesis file stands: ``tomllib`` gives values, this scan gives lines.

The scan is a lexer of its own, small because it only runs on text that ``tomllib`` has accepted:
it walks over strings (all four kinds), comments and brackets, and notes every header and every
``key =`` that stands at bracket depth zero. Keys inside an inline table share the line of the key
that holds the table, which is where TOML 1.0 forces them to be.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["HEADER", "RawHypothesis", "raw_hypotheses"]

HEADER = "hypothesis"
_PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}=\n]|[^\[\]{}=\n"\'#]+',
    re.DOTALL,
)
_SYNTAX_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")


@dataclass(frozen=True, eq=False, kw_only=True)
class RawHypothesis:
    """One table of a file: its values, and the line of each key.

    Attributes
    ----------
    values : mapping
        As ``tomllib`` read them.
    line : int
        1-based line of the header; 1 where the keys stand at the top of the file.
    lines : mapping of dotted key to int
        1-based line of each key.
    """

    values: Mapping[str, Any]
    line: int
    lines: Mapping[str, int] = field(default_factory=dict)

    def line_of(self, key: str) -> int:
        """Give the line of a key, or of the nearest key that holds it, or of the header."""
        while key and key not in self.lines:
            key = key.rpartition(".")[0]
        return self.lines.get(key, self.line)


def raw_hypotheses(text: str) -> tuple[list[RawHypothesis], list[tuple[int, str]]]:
    r"""Split a file into its hypotheses.

    ``[[hypothesis]]`` may stand many times; a file with one claim may write ``[hypothesis]`` or
    no header at all.

    Parameters
    ----------
    text : str
        Content of a TOML file.

    Returns
    -------
    tables : list of RawHypothesis
    mistakes : list of (line, text)
        Where the text is not TOML, or holds something beside hypotheses.

    Examples
    --------
    >>> tables, mistakes = raw_hypotheses('[[hypothesis]]\nname = "a"\n\n[[hypothesis]]\nname = "b"\n')
    >>> [(table.values["name"], table.line, table.line_of("name")) for table in tables], mistakes
    ([('a', 1, 2), ('b', 4, 5)], [])
    >>> raw_hypotheses("name = \n")[1]
    [(1, 'not TOML: Invalid value')]
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [], [_syntax_mistake(str(error), text)]
    places = _places(text.replace("\r\n", "\n"))
    if HEADER not in document:
        if not document:
            return [], [(1, f"nothing stands here; expected [[{HEADER}]] and its keys")]
        return [RawHypothesis(values=document, line=1, lines=places.lines_below(""))], []
    found = document[HEADER]
    tables = found if isinstance(found, list) else [found]
    if not all(isinstance(table, dict) for table in tables):
        line = places.lines_below("").get(HEADER, 1)
        return [], [(line, f"'{HEADER}' holds no table; expected [[{HEADER}]] and its keys below")]
    beside = places.lines_below("")
    mistakes = [
        (beside.get(key, places.header_lines.get(key, 1)), f"'{key}' stands outside of [[{HEADER}]]; move it below one")
        for key in document
        if key != HEADER
    ]
    return [_table(table, number, places) for number, table in enumerate(tables)], mistakes


def _table(values: Mapping[str, Any], number: int, places: _Places) -> RawHypothesis:
    inline = places.lines_below("").get(HEADER, places.header_lines.get(HEADER, 1))
    line = places.starts[number] if number < len(places.starts) else inline
    return RawHypothesis(values=values, line=line, lines=places.lines_below(f"{HEADER}#{number}"))


def _syntax_mistake(message: str, text: str) -> tuple[int, str]:
    place = _SYNTAX_PLACE.search(message)
    line = int(place[1]) if place and place[1] else text.count("\n") + 1
    return line, f"not TOML: {_SYNTAX_PLACE.sub('', message)}"


@dataclass(eq=False, kw_only=True)
class _Places:
    """Lines found so far; ``starts`` are those of the headers of hypotheses."""

    keys: dict[tuple[str, str], int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    header_lines: dict[str, int] = field(default_factory=dict)

    def lines_below(self, owner: str) -> dict[str, int]:
        return {key: line for (who, key), line in self.keys.items() if who == owner}


def _places(text: str) -> _Places:
    places = _Places()
    line, depth, in_value = 1, 0, False
    owner, prefix, pending = "", "", ""
    for match in _PIECE.finditer(text):
        piece = match[0]
        if piece == "\n" and depth == 0:
            if pending.startswith("["):
                owner, prefix = _header(pending, line, places)
            in_value, pending = False, ""
        elif piece == "=" and not in_value and depth == 0:
            in_value = True
            places.keys.setdefault((owner, prefix + _plain(pending)), line)
        elif in_value:
            depth += (piece in "[{") - (piece in "]}") if len(piece) == 1 else 0
        elif not piece.startswith("#"):
            pending += piece
        line += piece.count("\n")
    if pending.startswith("["):
        _header(pending, line, places)
    return places


def _header(pending: str, line: int, places: _Places) -> tuple[str, str]:
    """Note a ``[table]`` or ``[[table]]`` line; give whose keys follow, and under which prefix."""
    name = _plain(pending.strip().strip("[]"))
    head, _, rest = name.partition(".")
    places.header_lines.setdefault(head, line)
    if head != HEADER:
        return name, ""
    if not rest:
        places.starts.append(line)
        return f"{HEADER}#{len(places.starts) - 1}", ""
    owner = f"{HEADER}#{max(len(places.starts) - 1, 0)}"
    places.keys.setdefault((owner, rest), line)
    return owner, rest + "."


def _plain(key: str) -> str:
    """Write a dotted key without the quotes and blanks that TOML allows around its parts."""
    return ".".join(part.strip().strip("\"'") for part in key.strip().split("."))
