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
    "LocalClock",
    "YearClock",
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
    """Give seconds for ``90s``, ``15m``, ``2h``, ``3d`` or a sum such as ``1h30m``, large units first.

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
    total, position, smallest = 0.0, 0, float("inf")
    for part in _DURATION.finditer(text):
        if part.start() != position or _SECONDS[part[2]] >= smallest:
            break
        smallest = _SECONDS[part[2]]
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

    The machine's zone is never used, and nothing is moved in silence.

    Parameters
    ----------
    local_us : (row,) int64
        Wall-clock microseconds (as if they were UTC), in the order of the file.
    zone : str
        IANA name, stated by the user.

    Returns
    -------
    low, high : (row,) int64
        Earliest and latest UTC microseconds each row can mean; equal where it is certain. In the
        hour that autumn repeats, see :class:`LocalClock`.
    exists : (row,) bool
        False where spring skips that wall-clock time; such rows are no time at all, and ``low``
        and ``high`` are what the clock before and after the change would make of them.

    Examples
    --------
    >>> wall = np.array([3600 * 2 + 1800, 3600 * 2 + 600], dtype=np.int64) * 10**6 + to_us(datetime(2025, 10, 26, tzinfo=UTC))
    >>> low, high, exists = local_to_utc(wall, "Europe/Berlin")
    >>> [format_us(t) for t in low], bool((low == high).all()), bool(exists.all())
    (['2025-10-26T00:30:00Z', '2025-10-26T01:10:00Z'], True, True)
    """
    return LocalClock(zone).to_utc(local_us)


class LocalClock:
    """The clock on the wall of one zone, read in file order over any number of calls.

    Autumn repeats an hour, and file order is the only tie-break: where the wall clock falls back
    once by ten minutes or more within that hour, what stands before is the first pass and what
    follows the second. Where it never falls, or falls more than once (then the order is not that
    of time), both passes stay possible.

    Parameters
    ----------
    zone : str
        IANA name.

    Examples
    --------
    >>> clock = LocalClock("Europe/Berlin")
    >>> half_past_two = np.array([to_us(datetime(2025, 10, 26, 2, 30, tzinfo=UTC))])
    >>> low, high, exists = clock.to_utc(half_past_two)
    >>> format_us(low[0]), format_us(high[0])
    ('2025-10-26T00:30:00Z', '2025-10-26T01:30:00Z')
    """

    def __init__(self, zone: str) -> None:
        self._zone = zone_of(zone)
        self._last: int | None = None  # wall clock of the last row, where it lies in a repeated hour
        self._second = False  # whether that row is known to be of the second pass

    def to_utc(self, local_us: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Convert the next rows; as :func:`local_to_utc`."""
        wall = np.asarray(local_us, dtype=np.int64)
        first, second = _both_passes(wall, self._zone)
        exists = first <= second
        low, high = np.minimum(first, second), np.maximum(first, second)
        repeated = exists & (low < high)
        for start, stop in _runs(repeated, wall):
            cut = self._second_pass(wall[start:stop], continues=start == 0)
            if cut is not None:
                high[start : start + cut] = low[start : start + cut]
                low[start + cut : stop] = high[start + cut : stop]
            self._second = cut is not None and start + cut < stop
        if wall.size:
            self._last = int(wall[-1]) if repeated[-1] else None
        return low, high, exists

    def trailing(self, local_us: NDArray[np.int64]) -> int:
        """Count the last rows that lie in one repeated hour: what follows may tell which pass they are of.

        Examples
        --------
        >>> quarter_to_three = np.array([to_us(datetime(2025, 10, 26, 2, 45, tzinfo=UTC))])
        >>> LocalClock("Europe/Berlin").trailing(quarter_to_three), LocalClock("UTC").trailing(quarter_to_three)
        (1, 0)
        """
        wall = np.asarray(local_us, dtype=np.int64)
        first, second = _both_passes(wall, self._zone)
        runs = _runs(first < second, wall)
        return int(wall.size - runs[-1][0]) if runs and runs[-1][1] == wall.size else 0

    def _second_pass(self, block: NDArray[np.int64], *, continues: bool) -> int | None:
        """Give the index where the second pass begins; None where that stays open."""
        before = self._last if continues and self._last is not None else block[0]
        if abs(int(block[0]) - int(before)) > _DAY:
            before = block[0]
        elif continues and self._last is not None and self._second:
            return 0
        falls = np.flatnonzero(np.diff(block, prepend=before) <= -_FALL)
        return int(falls[0]) if falls.size == 1 else None


class YearClock:
    """Years for stamps that carry none (``Nov  2 03:14:01``), in file order over many calls.

    Each stamp takes the year that brings it nearest to the one before, so that New Year inside a
    file is found, and a straggler after it too.

    Parameters
    ----------
    year : int
        Of the first stamp.

    Examples
    --------
    >>> clock = YearClock(2024)
    >>> wall, exists = clock.wall_us(np.array([12, 1, 12]), np.array([31, 1, 31]), np.array([86399, 0, 86398]) * 10**6)
    >>> [format_us(t) for t in wall]
    ['2024-12-31T23:59:59Z', '2025-01-01T00:00:00Z', '2024-12-31T23:59:58Z']
    """

    def __init__(self, year: int) -> None:
        self._year = year
        self._last: int | None = None

    def wall_us(
        self, month: NDArray[np.int64], day: NDArray[np.int64], time_us: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Give wall-clock microseconds, and which of the dates exist in their year.

        Parameters
        ----------
        month, day : (row,) int64
            From 1. A month beyond 12 is refused by the caller.
        time_us : (row,) int64
            Microseconds since midnight.
        """
        place = (_LEAP_MONTHS[month - 1] + day - 1) * _DAY + time_us
        before = place[:1] if self._last is None else np.array([self._last])
        steps = np.diff(place, prepend=before)
        turns = (steps < -_LEAP_YEAR // 2).astype(np.int64) - (steps > _LEAP_YEAR // 2)
        year = self._year + np.cumsum(turns)
        if place.size:
            self._year, self._last = int(year[-1]), int(place[-1])
        months = (year - 1970) * 12 + month - 1
        start = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        length = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) - start
        return (start + day - 1) * _DAY + time_us, (day >= 1) & (day <= length)


_DAY = 86_400 * MICROS
_FALL = 600 * MICROS
_FIRST_SECOND, _LAST_SECOND = -62_135_510_400, 253_402_214_400  # a day within years 1 to 9999
_LEAP_YEAR = 366 * _DAY
_LEAP_MONTHS = np.cumsum([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30])


def _both_passes(wall: NDArray[np.int64], zone: ZoneInfo) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give UTC by the clock before and after a change; the first is later where spring skips."""
    hours, inverse = np.unique(wall // (3600 * MICROS), return_inverse=True)
    offsets = np.array([_hour_offset(hour, zone) for hour in hours.tolist()], dtype=np.int64)[inverse]
    first, second = wall - offsets, wall - offsets
    changing = np.flatnonzero(offsets == _CHANGES)
    seconds, inverse = np.unique(wall[changing] // MICROS, return_inverse=True)
    for fold, target in ((0, first), (1, second)):
        exact = np.array([_offset(second_, zone, fold) for second_ in seconds.tolist()], dtype=np.int64)
        target[changing] = wall[changing] - exact[inverse]
    return first, second


_CHANGES = np.iinfo(np.int64).min


def _hour_offset(hour: int, zone: ZoneInfo) -> int:
    """Give the offset of a wall-clock hour in microseconds, or ``_CHANGES`` where it is not one."""
    start = hour * 3600
    offsets = {_offset(second, zone, fold) for second in (start, start + 3600) for fold in (0, 1)}
    return offsets.pop() if len(offsets) == 1 else int(_CHANGES)


def _offset(second: int, zone: ZoneInfo, fold: int) -> int:
    second = min(max(second, _FIRST_SECOND), _LAST_SECOND)  # the years that datetime knows
    naive = (_EPOCH + timedelta(seconds=second)).replace(tzinfo=zone, fold=fold)
    return (naive.utcoffset() or timedelta()) // timedelta(microseconds=1)


def _runs(mask: NDArray[np.bool_], wall: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Give the stretches of neighbouring rows in one repeated hour."""
    if not mask.any():
        return []
    edges = np.diff(np.concatenate(([False], mask, [False])).astype(np.int8))
    starts = set(np.flatnonzero(edges == 1).tolist())
    ends = set(np.flatnonzero(edges == -1).tolist())
    other = np.flatnonzero(mask[1:] & mask[:-1] & (np.abs(np.diff(wall)) > _DAY)) + 1
    starts.update(other.tolist())
    ends.update(other.tolist())
    return list(zip(sorted(starts), sorted(ends), strict=True))


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
