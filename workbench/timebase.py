"""The one door for time: UTC microseconds inside, stated zones at the border.

A time of day without a zone is converted only with a zone that the user stated; the machine's
own zone is never read. Durations are written ``90s 15m 2h 3d``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UsageError

__all__ = [
    "MICROS",
    "epoch_unit",
    "format_duration",
    "format_us",
    "from_us",
    "local_to_utc",
    "parse_duration",
    "parse_time",
    "to_us",
    "zone_of",
]

MICROS = 1_000_000
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(us|ms|s|m|min|h|d|w)\s*", re.ASCII)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str | float | timedelta) -> float:
    """Give seconds for ``90s``, ``15m``, ``2h``, ``3d`` or a sum such as ``1h30m``.

    Numbers and timedeltas pass through as seconds.

    Raises
    ------
    UsageError
        Where the text is not a duration, or is negative.

    Examples
    --------
    >>> parse_duration("2h"), parse_duration("1h30m"), parse_duration("250ms")
    (7200.0, 5400.0, 0.25)
    """
    if isinstance(text, timedelta):
        seconds = text.total_seconds()
    elif isinstance(text, (int, float)):
        seconds = float(text)
    else:
        seconds = _sum_of_parts(text)
    if not seconds >= 0 or seconds == float("inf"):
        raise UsageError(f"Duration {text!r} is negative or not finite; write it as 90s, 15m, 2h or 3d.")
    return seconds


def _sum_of_parts(text: str) -> float:
    total, position = 0.0, 0
    for part in _DURATION.finditer(text):
        if part.start() != position:
            break
        total, position = total + float(part[1]) * _SECONDS[part[2]], part.end()
    if position != len(text) or not text:
        raise UsageError(f"'{text}' is not a duration; write it as 90s, 15m, 2h, 3d or 1h30m.")
    return total


def format_duration(seconds: float) -> str:
    """Write seconds in the shortest of our own spellings.

    Examples
    --------
    >>> format_duration(7200), format_duration(5400), format_duration(0.25), format_duration(90)
    ('2h', '90m', '250ms', '90s')
    """
    if 0 < seconds < 1 and float(f"{seconds * 1e3:g}") == seconds * 1e3:
        return f"{seconds * 1e3:g}ms"
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{int(seconds // size)}{unit}"
    whole = seconds == int(seconds)  # never 1e+06s, which parse_duration could not read back
    return f"{int(seconds)}s" if whole else f"{seconds:.6f}".rstrip("0").rstrip(".") + "s"


def to_us(moment: datetime) -> int:
    """Give UTC microseconds since 1970 of an aware datetime.

    Examples
    --------
    >>> to_us(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    if moment.tzinfo is None:
        raise UsageError(f"The time {moment.isoformat()} has no zone; write it with one, such as ...Z.")
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_us(us: int) -> datetime:
    """Give the UTC datetime of microseconds since 1970.

    Examples
    --------
    >>> from_us(1_000_000).isoformat()
    '1970-01-01T00:00:01+00:00'
    """
    return _EPOCH + timedelta(microseconds=int(us))


def format_us(us: int) -> str:
    """Write microseconds as RFC 3339 in UTC, with as many decimals as are there.

    Examples
    --------
    >>> format_us(1_500_000), format_us(0)
    ('1970-01-01T00:00:01.5Z', '1970-01-01T00:00:00Z')
    """
    text = from_us(us).replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if "." in text else text) + "Z"


def parse_time(text: str) -> int:
    """Give UTC microseconds of an RFC 3339 time with a zone.

    Accepts ``Z``, ``+01:00``, ``+0100`` and a decimal comma. A time without a zone is refused.

    Examples
    --------
    >>> format_us(parse_time("2025-11-02T03:14:00,5+0100"))
    '2025-11-02T02:14:00.5Z'
    """
    cleaned = text.strip().replace(",", ".")
    try:
        moment = datetime.fromisoformat(cleaned)
    except ValueError:
        raise UsageError(f"'{text}' is not a time; write it as 2026-03-01T12:00:00Z.") from None
    return to_us(moment)


def zone_of(name: str) -> ZoneInfo:
    """Give the zone of an IANA name; refuses what is not one.

    Examples
    --------
    >>> zone_of("America/Chicago").key
    'America/Chicago'
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f"'{name}' is not a time zone; write an IANA name such as Europe/Berlin or UTC.") from None


def local_to_utc(
    local_us: NDArray[np.int64], zone: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Convert wall-clock times, in file order, to UTC; tell what stays open.

    In the hour that autumn repeats, file order decides: times before the clock falls back by
    ten minutes or more are the first pass, times after it the second. A run of repeated-hour
    times in which the fall is never seen could be either pass.

    Parameters
    ----------
    local_us : (row,) int64
        Wall-clock microseconds (as if they were UTC), in the order of the file.
    zone : str
        IANA name, stated by the user.

    Returns
    -------
    low, high : (row,) int64
        Earliest and latest UTC microseconds each row can mean; equal where it is certain.
    exists : (row,) bool
        False where spring skips that wall-clock time; such rows are no time at all.

    Examples
    --------
    >>> wall = np.array([3600 * 2 + 1800, 3600 * 2 + 600], dtype=np.int64) * 10**6 + to_us(datetime(2025, 10, 26, tzinfo=UTC))
    >>> low, high, exists = local_to_utc(wall, "Europe/Berlin")
    >>> [format_us(t) for t in low], bool((low == high).all()), bool(exists.all())
    (['2025-10-26T00:30:00Z', '2025-10-26T01:10:00Z'], True, True)
    """
    tz = zone_of(zone)
    wall = np.asarray(local_us, dtype=np.int64)
    early, late = _both_passes(wall, tz)
    repeated = early < late
    exists = early <= late
    low, high = early.copy(), late.copy()
    for start, stop in _runs(repeated):
        block = wall[start:stop]
        falls = np.flatnonzero(np.diff(block) <= -600 * MICROS)
        if falls.size:
            cut = start + int(falls[0]) + 1
            high[start:cut] = early[start:cut]
            low[cut:stop] = late[cut:stop]
    return low, high, exists


def _both_passes(wall: NDArray[np.int64], tz: ZoneInfo) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give UTC of both folds; early > late marks a time that spring skips."""
    minutes, inverse = np.unique(wall // (60 * MICROS), return_inverse=True)
    early = np.empty(minutes.size, np.int64)
    late = np.empty(minutes.size, np.int64)
    for index, minute in enumerate(minutes.tolist()):
        naive = _EPOCH.replace(tzinfo=None) + timedelta(minutes=minute)
        for fold, target in ((0, early), (1, late)):
            offset = naive.replace(tzinfo=tz, fold=fold).utcoffset() or timedelta()
            target[index] = offset // timedelta(microseconds=1)
    return wall - early[inverse], wall - late[inverse]


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def epoch_unit(value: float) -> int | None:
    """Tell by magnitude how many microseconds a unit of this epoch number holds.

    10 digits are seconds, 13 milliseconds, 16 microseconds (returned as 1), 19 nanoseconds
    (returned as 0: divide by 1000 instead). None where the magnitude fits no year 2001 to 2286.

    Examples
    --------
    >>> epoch_unit(1762053240), epoch_unit(1762053240000), epoch_unit(1762053240000000), epoch_unit(12.0)
    (1000000, 1000, 1, None)
    """
    for low, high, micros in ((1e9, 1e10, MICROS), (1e12, 1e13, 1000), (1e15, 1e16, 1), (1e18, 9.3e18, 0)):
        if low <= value < high:
            return micros
    return None
