"""Compiled loops over the bytes of tables; import this module inside of functions only, since numba is heavy.

They do the plain cases only and say so: a line that needs more care ends a stretch, a cell that is
no plain number gets a mark. Positions are indices into the bytes of a block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

__all__ = [
    "EMPTY",
    "LONG",
    "ODD",
    "REAL",
    "WHOLE",
    "distinct_loop",
    "number_loop",
    "object_loop",
    "table_loop",
    "view_loop",
]

#: What a cell is: an integer, a decimal, nothing, a number of too many digits for this, or something else.
WHOLE, REAL, EMPTY, LONG, ODD = 0, 1, 2, 3, 4
_SPACE, _TAB, _NEWLINE, _HASH, _QUOTE, _BACKSLASH = 32, 9, 10, 35, 34, 92
_PLUS, _MINUS, _POINT, _ZERO, _NINE, _UPPER_E, _LOWER_E = 43, 45, 46, 48, 57, 69, 101
_INLINE = 12  # bytes that an arrow string view holds itself
_POWERS = np.array([10.0**power for power in range(23)])
_EXACT = 2**53
_INT32_BLANK, _FP64_BLANK, _NO_READING = 2147483632, 140737488355328.0, -999.0

# numba takes arrays and numbers, not objects: hence the long signatures.


def _compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop; the machine code is kept on disk where that is possible."""
    try:
        made: Callable[..., Any] = njit(cache=True, nogil=True)(loop)
    except RuntimeError:  # no writable place for the cache
        made = njit(nogil=True)(loop)
    return made


def _same(text: Any, at: int, words: Any, begin: int, end: int) -> bool:  # noqa: PLR0917
    """Tell whether ``words[begin:end]`` stand at a position."""
    if at + (end - begin) > text.size:
        return False
    for place in range(begin, end):  # noqa: SIM110 - numba compiles no generators
        if text[at + place - begin] != words[place]:
            return False
    return True


same = njit(_same)


def _table(text: Any, position: int, delimiter: int, header: Any, starts: Any, ends: Any, begins: Any) -> Any:  # noqa: PLR0917
    """Part lines into cells until one that is not plain; give how many, and where that one begins."""
    width, most = starts.shape
    rows = 0
    while position < text.size and rows < most:
        first = text[position]
        if first in (_SPACE, _TAB, _HASH, _NEWLINE, delimiter):
            break
        if first == header[0] and same(text, position, header, 0, header.size):
            break
        column, begin, at = 0, position, position
        while text[at] != _NEWLINE and column < width:
            if text[at] == delimiter:
                starts[column, rows], ends[column, rows] = begin, at
                column += 1
                begin = at + 1
            at += 1
        if column != width - 1:
            break
        starts[column, rows], ends[column, rows] = begin, at
        begins[rows] = position
        rows += 1
        position = at + 1
    begins[rows] = position
    return rows, position


table_loop = _compiled(_table)


def _token(text: Any, at: int) -> Any:
    """Give begin, end and kind (1 text, 2 number, 0 neither) of a JSON value without nesting or escapes."""
    if text[at] == _QUOTE:
        end = at + 1
        while text[end] != _QUOTE:
            if text[end] == _BACKSLASH or text[end] < _SPACE:
                return at, at, 0
            end += 1
        return at + 1, end, 1
    end = at
    while True:
        byte = text[end]
        digit = _ZERO <= byte <= _NINE or byte in (_POINT, _MINUS)
        if not (digit or byte in (_PLUS, _LOWER_E, _UPPER_E)):
            break
        end += 1
    return at, end, 2 if end > at else 0


token = njit(_token)


def _objects(text: Any, position: int, words: Any, edges: Any, starts: Any, ends: Any, begins: Any, kinds: Any) -> Any:  # noqa: PLR0917
    """Part JSON objects, one a line, that are written alike: ``words`` stand between their values."""
    width, most = starts.shape
    rows = 0
    while position < text.size and rows < most:
        at, column = position, 0
        while column < width:
            if not same(text, at, words, edges[column], edges[column + 1]):
                break
            begin, end, kind = token(text, at + edges[column + 1] - edges[column])
            if kind == 0 or (kinds[column] != 0 and kinds[column] != kind):
                break
            kinds[column] = kind
            starts[column, rows], ends[column, rows] = begin, end
            at = end + 1 if kind == 1 else end
            column += 1
        if column < width or not same(text, at, words, edges[width], edges[width + 1]):
            break
        begins[rows] = position
        rows += 1
        position = at + edges[width + 1] - edges[width]
    begins[rows] = position
    return rows, position


object_loop = _compiled(_objects)


def _number(text: Any, begin: int, end: int, strict: bool) -> Any:
    """Give sign, digits as an integer, count of decimals, and what the cell is."""
    negative = text[begin] == _MINUS
    at = begin + 1 if negative else begin
    first, digits, point, mantissa = at, 0, -1, 0
    while at < end:
        byte = text[at]
        if _ZERO <= byte <= _NINE:
            mantissa = mantissa * 10 + (byte - _ZERO)
            digits += 1
        elif byte == _POINT and point < 0 and at > first and at + 1 < end and _ZERO <= text[at + 1] <= _NINE:
            point = at
        else:
            break
        at += 1
    if strict and negative and mantissa == 0:  # -0 is an integer to some and a decimal to others
        return negative, mantissa, 0, ODD
    if digits == 0 or (strict and digits > 1 and text[first] == _ZERO and point != first + 1):
        return negative, mantissa, 0, ODD
    decimals = 0 if point < 0 else at - point - 1
    if at < end:  # perhaps an exponent
        at += 1 if text[at] == _LOWER_E or text[at] == _UPPER_E else end
        if at < end and (text[at] == _PLUS or text[at] == _MINUS):
            at += 1
        good = at < end
        while at < end:
            good = good and _ZERO <= text[at] <= _NINE
            at += 1
        return negative, mantissa, decimals, LONG if good else ODD
    if digits > 18 or (point >= 0 and (mantissa > _EXACT or decimals > 22)):
        return negative, mantissa, decimals, ODD if strict and point < 0 else LONG
    return negative, mantissa, decimals, WHOLE if point < 0 else REAL


number = njit(_number)


def _numbers(text: Any, starts: Any, ends: Any, strict: bool, whole: bool, value: Any, exact: Any, what: Any) -> Any:  # noqa: PLR0917
    """Read cells as numbers, correctly rounded; count what they are (up to the first that is odd).

    ``strict``: by the rules of JSON. ``whole``: 26.0 is the integer 26, too.
    """
    counts = np.zeros(5, np.int64)
    for row in range(starts.size):
        begin, end = starts[row], ends[row]
        if begin == end:
            value[row], exact[row], what[row] = 0.0, 0, EMPTY
            counts[EMPTY] += 1
            continue
        while begin < end and (text[begin] == _SPACE or text[begin] == _TAB):
            begin += 1
        while end > begin and (text[end - 1] == _SPACE or text[end - 1] == _TAB):
            end -= 1
        if begin == end:
            counts[ODD] += 1
            break
        negative, mantissa, decimals, kind = number(text, begin, end, strict)
        size = mantissa / _POWERS[decimals] if kind == REAL else float(mantissa)
        size = -size if negative else size
        if _INT32_BLANK <= mantissa <= _INT32_BLANK + 3 and not negative and kind == WHOLE:
            kind = ODD
        if kind <= REAL and (size == _NO_READING or _FP64_BLANK <= size <= _FP64_BLANK + 7):
            kind = ODD
        value[row], exact[row] = size, -mantissa if negative else mantissa
        if kind == REAL and whole and np.floor(size) == size and abs(size) <= _EXACT:
            exact[row], kind = np.int64(size), WHOLE
        what[row] = kind
        counts[kind] += 1
        if kind == ODD:
            break
    return counts


number_loop = _compiled(_numbers)


def _alike(text: Any, starts: Any, ends: Any, columns: Any, row: int, other: int) -> bool:  # noqa: PLR0917
    """Tell whether two rows have the same cells in some columns."""
    for column in columns:
        begin, than = starts[column, row], starts[column, other]
        size = ends[column, row] - begin
        if size != ends[column, other] - than:
            return False
        for place in range(size):
            if text[begin + place] != text[than + place]:
                return False
    return True


alike = njit(_alike)


def _distinct(text: Any, starts: Any, ends: Any, columns: Any, code: Any, first: Any, table: Any) -> int:  # noqa: PLR0917
    """Number rows by what they hold in some columns, in the order met; -1 where too many hashes meet.

    ``table`` is a power of two of -1; ``first`` takes the first row of each number.
    """
    found, steps = 0, 0
    mask = np.uint64(table.size - 1)
    prime, seed, shift = np.uint64(0x100000001B3), np.uint64(0xCBF29CE484222325), np.uint64(32)
    for row in range(code.size):
        if row > 0 and alike(text, starts, ends, columns, row, row - 1):
            code[row] = code[row - 1]
            continue
        mixed = seed
        for column in columns:
            for place in range(starts[column, row], ends[column, row]):
                mixed = (mixed ^ np.uint64(text[place])) * prime
            mixed = (mixed ^ np.uint64(256)) * prime
        slot = (mixed ^ (mixed >> shift)) & mask
        while table[slot] >= 0 and not alike(text, starts, ends, columns, row, first[table[slot]]):
            slot = (slot + np.uint64(1)) & mask
            steps += 1
            if steps > 8 * code.size + 1000:
                return -1
        if table[slot] < 0:
            table[slot] = found
            first[found] = row
            found += 1
        code[row] = table[slot]
    return found


distinct_loop = _compiled(_distinct)


def _views(text: Any, starts: Any, ends: Any, views: Any) -> None:
    """Lay arrow string views over cells: length, then 12 bytes, or 4 bytes, buffer and offset."""
    for row in range(starts.size):
        begin, size = starts[row], ends[row] - starts[row]
        place = 16 * row
        for byte in range(4):
            views[place + byte] = (size >> (8 * byte)) & 255
        if size <= _INLINE:
            for byte in range(size):
                views[place + 4 + byte] = text[begin + byte]
            for byte in range(size, _INLINE):
                views[place + 4 + byte] = 0
        else:
            for byte in range(4):
                views[place + 4 + byte] = text[begin + byte]
                views[place + 8 + byte] = 0
                views[place + 12 + byte] = (begin >> (8 * byte)) & 255


view_loop = _compiled(_views)
