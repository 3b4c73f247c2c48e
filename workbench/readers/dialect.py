"""How a text table is written: delimiter, header, what stands before it, decimal mark."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.model.context import Context
from workbench.readers.columns import header_weight
from workbench.readers.source import HEAD_BYTES
from workbench.readers.units import unit_of

__all__ = ["Dialect", "decoded", "sniff", "split_line", "unique_names"]

_DELIMITERS = (",", ";", "\t", "|")
_LOOK_AT = 60
_NUMBER = re.compile(r"[+-]?\d[\d.,:/ -]*%?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_DECIMAL_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+(?:\s*\D{1,6})?")


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a text table is written.

    Attributes
    ----------
    delimiter : str
    names : tuple of str
        Of the columns: those of the header, made unique.
    header_line : int
        1-based.
    header_text : str
    prelude : mapping of line to rule
        Lines up to the first row that are no rows: preamble, metadata, unit row, header.
    units : mapping of column name to unit
        Of a row of units below the header.
    decimal_comma : bool
    share : float
        Of the lines looked at, how many have as many cells as the header.
    """

    delimiter: str
    names: tuple[str, ...]
    header_line: int
    header_text: str
    prelude: Mapping[int, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    decimal_comma: bool = False
    share: float = 1.0


def decoded(text: bytes) -> tuple[str, bool]:
    r"""Give text of bytes; lines that are not UTF-8 are taken as Latin-1, and that is told.

    Examples
    --------
    >>> decoded(b"a\nGeh\xe4use \xb0C\n")
    ('a\nGehäuse °C\n', True)
    """
    try:
        return text.decode(), False
    except UnicodeDecodeError:
        pass
    lines = []
    for line in text.split(b"\n"):
        try:
            lines.append(line.decode())
        except UnicodeDecodeError:
            lines.append(line.decode("latin-1"))
    return "\n".join(lines), True


def split_line(line: str, delimiter: str) -> list[str]:
    """Part one line, with quotes as CSV has them, into trimmed cells.

    Examples
    --------
    >>> split_line('a, "b, c",d', ",")
    ['a', 'b, c', 'd']
    """
    try:
        row = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        row = line.split(delimiter)
    return [cell.strip() for cell in row]


def unique_names(cells: Sequence[str]) -> tuple[str, ...]:
    """Give every column a name of its own.

    Examples
    --------
    >>> unique_names(["a", "a", "", "b"])
    ('a', 'a#2', '', 'b')
    >>> unique_names(["", "", "x"])
    ('', '#2', 'x')
    """
    seen: dict[str, int] = {}
    names: list[str] = []
    for cell in cells:
        seen[cell] = seen.get(cell, 0) + 1
        name = cell if seen[cell] == 1 else f"{cell}#{seen[cell]}"
        while name in names:
            name += "'"
        names.append(name)
    return tuple(names)


def sniff(head: bytes, context: Context) -> Dialect | None:
    r"""Tell how a table is written by its first bytes; None where it is no table.

    Parameters
    ----------
    head : bytes
        Up to 64 KiB.
    context : Context
        Columns that the user named must be in the header.

    Examples
    --------
    >>> dialect = sniff(b"Report:;PDU\n\nTimestamp;PDU;Strom [A]\n02.11.2025;P1;14,2\n", Context())
    >>> dialect.delimiter, dialect.names, dialect.header_line, dialect.decimal_comma
    (';', ('Timestamp', 'PDU', 'Strom [A]'), 3, True)
    """
    whole = head[: head.rfind(b"\n") + 1] if len(head) >= HEAD_BYTES and b"\n" in head else head
    lines = decoded(whole.removeprefix(b"\xef\xbb\xbf"))[0].splitlines()[:_LOOK_AT]
    forced = re.fullmatch(r'"?sep=(.)"?\s*', lines[0]) if lines else None
    delimiters = (forced[1],) if forced else _DELIMITERS
    found = [dialect for mark in delimiters if (dialect := _with(lines, mark, context)) is not None]
    return max(found, key=lambda dialect: (_weight(dialect, context), dialect.share, len(dialect.names)), default=None)


def _weight(dialect: Dialect, context: Context) -> int:
    stated = {name for name in context.columns.roles.values() if not name.startswith("=")}
    return 100 * len(stated & set(dialect.names)) + header_weight(dialect.names)


def _with(lines: list[str], delimiter: str, context: Context) -> Dialect | None:
    """Find the header under the assumption of one delimiter."""
    rows = [split_line(line, delimiter) for line in lines]
    stated = {name for name in context.columns.roles.values() if not name.startswith("=")}
    for index, row in enumerate(rows):
        if not (stated and stated <= set(row)) and not _could_head(lines[index], row):
            continue
        share = _share(rows[index + 1 :], len(row))
        if share >= 0.5 or (stated and stated <= set(row)) or (header_weight(row) >= 2 and share > 0):
            found = _dialect(lines, rows, index, delimiter)
            decimal = context.columns.decimal
            commas = found.decimal_comma if decimal is None else decimal == ","
            return replace(found, share=share, decimal_comma=commas)
    return None


def _could_head(line: str, row: list[str]) -> bool:
    """Tell whether a row could name columns: several cells, hardly any empty, none a number or date."""
    named = [cell for cell in row if cell]
    if len(named) < 2 or len(named) < len(row) - 1 or line.lstrip().startswith("#"):
        return False
    return not any(_NUMBER.fullmatch(cell) or _DATE.match(cell) or len(cell) > 200 for cell in named)


def _share(rows: list[list[str]], width: int) -> float:
    filled = [row for row in rows[:30] if any(row)]
    if not filled:
        return 0.5
    return sum(len(row) == width or (len(row) == width + 1 and not row[-1]) for row in filled) / len(filled)


def _dialect(lines: list[str], rows: list[list[str]], index: int, delimiter: str) -> Dialect:
    names = unique_names(rows[index])
    prelude = {number: _rule(lines[number - 1]) for number in range(1, index + 1)}
    prelude[index + 1] = "header"
    units = _unit_row(names, rows[index + 1]) if index + 1 < len(rows) else {}
    if units:
        prelude[index + 2] = "unit row"
    cells = [cell for row in rows[index + 1 :] for cell in row]
    commas = delimiter == ";" and any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    return Dialect(
        delimiter=delimiter,
        names=names,
        header_line=index + 1,
        header_text=lines[index].strip(),
        prelude=prelude,
        units=units,
        decimal_comma=commas,
    )


def _rule(line: str) -> str:
    text = line.strip()
    if not text.strip(",;|"):
        return "blank"
    if text.startswith("#"):
        return "comment"
    return "metadata" if text.strip('"').startswith("sep=") else "preamble"


def _unit_row(names: Sequence[str], row: list[str]) -> dict[str, str]:
    """Read a second header row that holds units only."""
    if len(row) != len(names):
        return {}
    told = {name: cell.strip("[]()") for name, cell in zip(names, row, strict=True) if cell not in {"", "-"}}
    return told if told and all(unit_of(cell) for cell in told.values()) else {}
