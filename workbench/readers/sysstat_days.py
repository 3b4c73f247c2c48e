"""Days and clocks of sysstat's reports: the banner holds the day, rows a clock that passes midnight."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

__all__ = ["OPEN_ORDER", "Days"]

OPEN_ORDER = (
    "day and month of the date stand in an order that is not told: state time_format, such as %m/%d/%Y, in a mapping "
    "(--map)"
)
_IMPOSSIBLE = "impossible date"
_PARTS = re.compile(r"(\d{1,4})([-./])(\d{1,2})\2(\d{2,4})")
_HALF_DAY_S = 43_200


class Days:
    """Turns clocks into times of day and date, in the order of the file.

    Parameters
    ----------
    written : str or None
        strptime format of dates, where their order is open.

    Examples
    --------
    >>> days = Days(None)
    >>> days.begin("12/31/2025")
    >>> days.clock("11:59:58 PM"), days.clock("12:00:08 AM")
    (('2025-12-31T23:59:58', ''), ('2026-01-01T00:00:08', ''))
    >>> days.begin("03/11/2022")
    >>> days.clock("10:00:00")[0] is None
    True
    """

    def __init__(self, written: str | None) -> None:
        self._written = written
        self._day: date | None = None
        self._why = "no banner says which day it is"
        self._last_s: int | None = None

    def begin(self, text: str) -> None:
        """Take the date of a banner."""
        self._day, self._why = self._date(text)
        self._last_s = None

    def begins(self, clock: str) -> None:
        """Take the clock of a header, from which the first report counts; later ones say nothing new."""
        if self._last_s is None:
            self._last_s = _seconds(clock)

    def clock(self, text: str) -> tuple[str | None, str]:
        """Give the next time of day with its date; None and the reason where the date is not known."""
        seconds = _seconds(text)
        if seconds is None:
            return None, "impossible time"
        if self._day is None:
            return None, self._why
        if self._last_s is not None and seconds < self._last_s - _HALF_DAY_S:
            self._day += timedelta(days=1)
        self._last_s = seconds
        return _iso(self._day, seconds), ""

    def stamp(self, day: str, clock: str, zone: str | None) -> tuple[str | None, str]:
        """Give a time whose date stands beside it."""
        found, why = self._date(day)
        seconds = _seconds(clock)
        if found is None or seconds is None:
            return None, why or "impossible time"
        return _iso(found, seconds) + (zone or ""), ""

    def _date(self, text: str) -> tuple[date | None, str]:
        parts = _PARTS.fullmatch(text)
        if parts is None:
            return None, _IMPOSSIBLE
        first, mark, second, third = int(parts[1]), parts[2], int(parts[3]), int(parts[4])
        if len(parts[1]) == 4:
            return _made(first, second, third)
        if self._written is not None:
            try:
                return datetime.strptime(text, self._written.partition(" ")[0]).date(), ""  # noqa: DTZ007 -- a date
            except ValueError:
                return None, f"date does not fit the stated time_format '{self._written}'"
        year = third if third > 99 else 2000 + third
        if mark == "." or first > 12:
            return _made(year, second, first)
        return _made(year, first, second) if second > 12 else (None, OPEN_ORDER)


def _made(year: int, month: int, day: int) -> tuple[date | None, str]:
    try:
        return date(year, month, day), ""
    except ValueError:
        return None, _IMPOSSIBLE


def _seconds(text: str) -> int | None:
    hour, minute, second = (int(part) for part in text[:8].split(":"))
    if text.endswith("M"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if text.endswith("PM") else 0)
    return hour * 3600 + minute * 60 + second if hour < 24 and minute < 60 and second < 60 else None


def _iso(day: date, seconds: int) -> str:
    return f"{day.isoformat()}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
