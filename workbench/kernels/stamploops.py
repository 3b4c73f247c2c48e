"""A compiled loop over written times; import this module inside of functions only, since numba is heavy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["stamp_loop"]

_DATE = (0, 1, 2, 3, 5, 6, 8, 9)
_CLOCK = (11, 12, 14, 15, 17, 18)
_WHOLE = 19  # characters of 2025-11-02T03:14:00
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_FARTHEST_MIN = 14 * 60
_SECOND_US = 1_000_000


def _two(text: Any, at: int) -> Any:
    return (text[at] - 48) * 10 + (text[at + 1] - 48)


two = njit(_two)


def _are_digits(text: Any, begin: int, places: Any) -> bool:
    for place in places:  # noqa: SIM110 - numba compiles no generators
        if not 48 <= text[begin + place] <= 57:
            return False
    return True


are_digits = njit(_are_digits)


def _moment(text: Any, at: int) -> Any:
    """Give the microseconds of a date and a clock with seconds; -1 where they are written otherwise or cannot be."""
    if not are_digits(text, at, _DATE) or not are_digits(text, at, _CLOCK):
        return -1
    if text[at + 4] not in (45, 47) or text[at + 7] not in (45, 47) or text[at + 10] not in (84, 32, 95):
        return -1
    if text[at + 13] != 58 or text[at + 16] != 58:
        return -1
    year, month, day = two(text, at) * 100 + two(text, at + 2), two(text, at + 5), two(text, at + 8)
    hour, minute, second = two(text, at + 11), two(text, at + 14), two(text, at + 17)
    if not (1971 <= year < 2100 and 1 <= month <= 12 and hour < 24 and minute < 60 and second < 60):
        return -1
    leap = 1 if month == 2 and year % 4 == 0 else 0  # 2000 is one, too
    if not 1 <= day <= _DAYS[month - 1] + leap:
        return -1
    # Days since 1970, with years that begin in March.
    shifted = year - 1 if month <= 2 else year
    of_year = (153 * (month + (9 if month <= 2 else -3)) + 2) // 5 + day - 1
    days = shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + of_year - 719468
    return (days * 86400 + hour * 3600 + minute * 60 + second) * _SECOND_US


moment = njit(_moment)


def _zone(text: Any, at: int, end: int) -> Any:
    """Give minutes east of UTC; 10,000 where there is no zone, -10,000 where it is written otherwise."""
    if at == end:
        return 10_000
    if end - at == 1 and text[at] == 90:
        return 0
    colon = 1 if end - at == 6 and text[at + 3] == 58 else 0
    if end - at != 5 + colon or text[at] not in (43, 45):
        return -10_000
    if not are_digits(text, at, (1, 2, 3 + colon, 4 + colon)):
        return -10_000
    hours, minutes = two(text, at + 1), two(text, at + 3 + colon)
    total = hours * 60 + minutes
    if minutes > 59 or total > _FARTHEST_MIN:
        return -10_000
    return -total if text[at] == 45 else total


zone = njit(_zone)


def _stamps(text: Any, edges: Any, wall: Any, minutes: Any, resolution: Any) -> int:  # noqa: PLR0917 - numba takes arrays
    """Read times such as ``2025-11-02 03:14:00.5+01:00``; give how many, up to the first that is another.

    ``minutes`` is the offset from UTC; 10,000 where there is none.
    """
    for row in range(wall.size):
        at, end = edges[row], edges[row + 1]
        if end - at < _WHOLE:
            return row
        found = moment(text, at)
        if found < 0:
            return row
        at += _WHOLE
        covers = _SECOND_US
        if at < end and (text[at] == 46 or text[at] == 44):
            at += 1
            begin = at
            while at < end and 48 <= text[at] <= 57:
                if at - begin < 6:
                    covers //= 10
                    found += (text[at] - 48) * covers
                at += 1
            if not 1 <= at - begin <= 9:
                return row
        east = zone(text, at, end)
        if east == -10_000:
            return row
        wall[row], minutes[row], resolution[row] = found, east, covers
    return int(wall.size)


try:
    stamp_loop = njit(cache=True, nogil=True)(_stamps)
except RuntimeError:  # no writable place for the cache
    stamp_loop = njit(nogil=True)(_stamps)
