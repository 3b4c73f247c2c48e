"""Times of a baseboard management controller (BMC), as ``ipmitool`` prints them.

The clock is the controller's, shown in the zone of whoever ran the tool. Its name is printed since
1.8.19 only, and a name such as ``CET`` is an offset only beside a stated zone that has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from workbench.timebase import to_us, zone_of

__all__ = ["NO_CLOCK", "Wall", "FIRST_YEAR", "wall_of"]

NO_CLOCK = "the BMC had no clock when it wrote this"
#: Clocks that were never set count from 1970 or 2000.
FIRST_YEAR = 2001
_DATE = re.compile(r"(\d\d)/(\d\d)/(\d{4}|\d\d)")
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(?: ([AP]M))?(?: ([A-Za-z]{1,5}|[+-]\d\d(?:\d\d)?))?")
_UTC = frozenset({"UTC", "GMT", "UCT", "Z"})
_IMPOSSIBLE = "impossible time"


@dataclass(frozen=True, kw_only=True)
class Wall:
    """A time on the wall, or why there is none.

    Attributes
    ----------
    us : int or None
        Microseconds, as if the wall were UTC.
    offset_us : int or None
        East of UTC; None: in the zone of the file, which the user states.
    why, cure : str or None
        Why there is no time, and what the user could state.
    """

    us: int | None = None
    offset_us: int | None = None
    why: str | None = None
    cure: str | None = None


def wall_of(date: str, clock: str, zone: str | None) -> Wall:
    """Read a date and a clock of ``ipmitool``.

    Examples
    --------
    >>> wall_of("11/02/25", "03:14:07 UTC", None) == wall_of("11/02/2025", "03:14:07 GMT", None)
    True
    >>> wall_of("11/02/25", "04:14:07 CET", "Europe/Berlin").offset_us
    3600000000
    >>> wall_of("11/02/25", "04:14:07 CET", None).cure, wall_of("11/02/2025", "04:14:07", None).offset_us
    ('clock', None)
    >>> wall_of("11/02/25", "03:14:07 PM UTC", None) == wall_of("11/02/25", "15:14:07 UTC", None)
    True
    >>> wall_of("01/01/70", "00:00:09", "UTC").why
    'the BMC had no clock when it wrote this'
    """
    day, time = _DATE.fullmatch(date.strip()), _CLOCK.fullmatch(clock.strip())
    if day is None or time is None:
        return Wall(why="the time is not written as ipmitool writes it (month/day/year, hh:mm:ss)")
    year = int(day[3]) if len(day[3]) == 4 else int(day[3]) + (1900 if int(day[3]) >= 69 else 2000)  # as strptime's %y
    hour = int(time[1])
    if time[4]:  # of twelve hours: some languages have the tool print it so
        hour = hour % 12 + (12 if time[4] == "PM" else 0) if 1 <= hour <= 12 else 99
    try:
        moment = datetime(year, int(day[1]), int(day[2]), hour, int(time[2]), int(time[3]))  # noqa: DTZ001 -- a wall clock
    except ValueError:
        return Wall(why=_IMPOSSIBLE)
    if year < FIRST_YEAR:
        return Wall(why=NO_CLOCK)
    us = to_us(moment.replace(tzinfo=UTC))
    return _labelled(us, moment, time[5], zone) if time[5] else Wall(us=us)


def _labelled(us: int, moment: datetime, label: str, zone: str | None) -> Wall:
    """Give the offset that a printed zone stands for."""
    if label.upper() in _UTC:
        return Wall(us=us, offset_us=0)
    if label[0] in "+-":
        away = timedelta(hours=int(label[1:3]), minutes=int(label[3:] or 0))
        return Wall(us=us, offset_us=(-1 if label[0] == "-" else 1) * (away // timedelta(microseconds=1)))
    if zone is None:
        return Wall(why=f"'{label}' names no one offset: state the zone of this file (--clock GLOB=ZONE)", cure="clock")
    for fold in (0, 1):
        there = moment.replace(tzinfo=zone_of(zone), fold=fold)
        away_or_none = there.utcoffset()
        if there.tzname() == label and away_or_none is not None:
            return Wall(us=us, offset_us=away_or_none // timedelta(microseconds=1))
    return Wall(why=f"'{label}' is no name of the stated zone {zone} at that time: state another", cure="clock")
