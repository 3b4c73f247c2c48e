"""Records of ``journalctl -o json-pretty``: each an object over many lines, ``{`` and ``}`` alone on theirs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import polars as pl

from workbench.readers.text import matched_share

__all__ = ["Documents", "is_pretty"]

_LONGEST = 8 * 1024 * 1024  # characters of a record; what goes on is no record any more
_FIELD = r'^\s+"[A-Z0-9_]{1,64}"\s*:\s'
_BEGUN = re.compile(
    rb'^\s*\{\s*\r?\n(?:\s+"[A-Z0-9_]{1,64}"\s*:.*\n){0,60}?\s+"__REALTIME_TIMESTAMP"\s*:', re.MULTILINE
)
_NOTE = "-- "


def is_pretty(head: bytes, *, share: float = 0.0) -> bool:
    r"""Tell whether records go over many lines.

    Parameters
    ----------
    head : bytes
        The beginning of the file.
    share : float
        Of its lines, so many have to be fields of records.

    Examples
    --------
    >>> is_pretty(b'{\n\t"__REALTIME_TIMESTAMP" : "1",\n\t"MESSAGE" : "a"\n}\n'), is_pretty(b'{"MESSAGE": "a"}\n')
    (True, False)
    """
    return _BEGUN.search(head) is not None and matched_share(head, _FIELD) >= share


@dataclass
class Documents:
    """Puts the lines of a record together, from block to block.

    Examples
    --------
    >>> lines = pl.DataFrame({"line": [1, 2, 3, 4], "text": ["{", '"A" : "1"', "}", ""]})
    >>> documents = Documents()
    >>> documents.feed(lines).rows(), documents.rest().rows()
    ([(1, '{"A" : "1"}'), (4, '')], [])
    """

    _line: int = 0
    _parts: list[str] = field(default_factory=list)
    _size: int = 0

    def feed(self, lines: pl.DataFrame) -> pl.DataFrame:
        """Give the records that these lines end, and the lines that stand between records."""
        found: list[tuple[int, str]] = []
        for line, text in lines.iter_rows():
            bare = text.strip()
            if bare == "{" or not self._parts:
                self._end(found)
                if bare != "{":
                    found.append((line, text))  # between records: blank, a note, or rubbish
                    continue
                self._line = line
            if bare.startswith(_NOTE) or self._size > _LONGEST:
                self._end(found)
                found.append((line, text))
                continue
            self._parts.append(bare)
            self._size += len(bare)
            if bare == "}":
                self._end(found)
        return _frame(found)

    def rest(self) -> pl.DataFrame:
        """Give the record that the end of the file cut, if there is one."""
        found: list[tuple[int, str]] = []
        self._end(found)
        return _frame(found)

    def _end(self, found: list[tuple[int, str]]) -> None:
        if self._parts:
            found.append((self._line, "".join(self._parts)))
        self._parts, self._size = [], 0


def _frame(found: list[tuple[int, str]]) -> pl.DataFrame:
    return pl.DataFrame(found, schema={"line": pl.Int64, "text": pl.String}, orient="row")
