"""The one time that some dumps state of themselves: in a comment, local, without a zone."""

from __future__ import annotations

import re

import polars as pl

from workbench.model.context import Context
from workbench.readers.stamps import MONTHS
from workbench.readers.timecells import Clocks, TimeRule, read_times

__all__ = ["iso_of_ctime", "stated_us"]

_CTIME = re.compile(
    rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) +)?({'|'.join(MONTHS)}) +(\d{{1,2}}) +(\d\d:\d\d:\d\d)(?: +([A-Z]{{1,5}}))? +(\d{{4}})"
)
_UTC = frozenset({"UTC", "GMT"})


def iso_of_ctime(text: str) -> str:
    """Write ``Sun Nov  2 03:20:11 2025`` as ISO; any other text stays as it is.

    A zone other than UTC stays a word (``CET``), which is no time zone and is not read.

    Examples
    --------
    >>> iso_of_ctime("Sun Nov  2 03:20:11 2025"), iso_of_ctime("Sun Nov  2 03:20:11 UTC 2025"), iso_of_ctime("later")
    ('2025-11-02 03:20:11', '2025-11-02 03:20:11Z', 'later')
    """
    found = _CTIME.fullmatch(text.strip())
    if found is None:
        return text
    month, day, clock, zone, year = found.groups()
    mark = "" if zone is None else "Z" if zone in _UTC else f" {zone}"
    return f"{year}-{MONTHS.index(month) + 1:02}-{int(day):02} {clock}{mark}"


def stated_us(text: str, context: Context) -> tuple[int | None, str | None]:
    """Give the moment that a dump states of itself, in UTC microseconds; or what the user could state to know it.

    In an hour that comes twice the earlier one is given: other names and places hold for longer.

    Examples
    --------
    >>> stated_us("2025-11-02 03:20:11", Context(zone="Europe/Berlin"))
    (1762050011000000, None)
    >>> stated_us("2025-11-02 03:20:11", Context())
    (None, 'clock')
    """
    times = read_times(pl.Series([iso_of_ctime(text)]), Clocks(rule=TimeRule(zone=context.zone)))
    low, cure = times.select("ts_low", "curable").row(0)
    return low, cure
