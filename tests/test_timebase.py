"""Wall clocks against zoneinfo, and stamps that carry no year."""

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import UsageError
from workbench.timebase import (
    LocalClock,
    YearClock,
    format_us,
    from_us,
    local_to_utc,
    parse_duration,
    parse_time,
    to_us,
)

# Half-hour and quarter-hour zones, a fold of 30 minutes, a day that was skipped, rules turned round.
ZONES = (
    "UTC",
    "Europe/Berlin",
    "Europe/Dublin",
    "America/Chicago",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Apia",
)
EPOCH = datetime.fromisoformat("1970-01-01")  # wall clocks have no zone
walls = st.datetimes(datetime.fromisoformat("1995-01-01"), datetime.fromisoformat("2037-12-31"))


def wall_us(wall: datetime) -> int:
    return (wall - EPOCH) // timedelta(microseconds=1)


def meanings(wall: datetime, zone: str) -> list[int]:
    """The UTC times whose wall clock is ``wall``: none in the spring gap, two in the autumn fold."""
    found = set()
    for fold in (0, 1):
        utc = wall.replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC)
        if utc.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == wall:
            found.add(to_us(utc))
    return sorted(found)


@cache
def transitions(zone: str) -> list[datetime]:
    """Wall clocks at which the offset of ``zone`` changes, to the hour."""
    hours = [datetime(2010, 1, 1, tzinfo=UTC) + timedelta(hours=n) for n in range(0, 24 * 365 * 3, 6)]
    offsets = [hour.astimezone(ZoneInfo(zone)).utcoffset() for hour in hours]
    return [
        hour.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        for hour, a, b in zip(hours[:-1], offsets, offsets[1:], strict=False)
        if a != b
    ]


@given(st.sampled_from(ZONES), walls)
@settings(max_examples=150, deadline=None)
def test_a_single_wall_clock_means_what_zoneinfo_says(zone, wall):
    low, high, exists = local_to_utc(np.array([wall_us(wall)]), zone)
    told = meanings(wall, zone)
    assert bool(exists[0]) == bool(told)
    assert low[0] <= high[0]
    if told:
        assert [low[0], high[0]] == [told[0], told[-1]]


@given(st.sampled_from(ZONES), st.integers(0, 30), st.integers(-7 * 3600, 13 * 3600), st.integers(0, 999_999))
@settings(max_examples=300, deadline=None)
def test_around_a_change_of_offset_too(zone, which, seconds, micros):
    changes = transitions(zone)
    if not changes:
        return
    wall = changes[which % len(changes)] + timedelta(seconds=seconds, microseconds=micros)
    low, high, exists = local_to_utc(np.array([wall_us(wall)]), zone)
    told = meanings(wall, zone)
    assert bool(exists[0]) == bool(told)
    if told:
        assert [low[0], high[0]] == [told[0], told[-1]]


@given(
    st.sampled_from([z for z in ZONES if z != "UTC"]),
    st.integers(0, 30),
    st.lists(st.integers(0, 5 * 3600), min_size=1, max_size=40),
)
@settings(max_examples=200, deadline=None)
def test_the_truth_of_a_log_in_order_of_time_is_never_excluded(zone, which, steps):
    """Lines written in order of time; their wall clocks must convert to a range that holds the truth."""
    changes = transitions(zone)
    if not changes:
        return
    start = changes[which % len(changes)].replace(tzinfo=ZoneInfo(zone)).astimezone(UTC) - timedelta(hours=4)
    truth = np.array(sorted(to_us(start) + step * 3_000_000 for step in steps))
    wall = np.array([wall_us(from_us(int(t)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)) for t in truth])
    low, high, exists = local_to_utc(wall, zone)
    assert exists.all()
    assert (low <= truth).all()
    assert (truth <= high).all()


def stamps(*texts: str) -> np.ndarray:
    return np.array([wall_us(datetime.fromisoformat(text)) for text in texts])


def test_file_order_tells_the_passes_of_the_hour_that_autumn_repeats():
    wall = stamps(
        "2025-11-02T00:50",
        "2025-11-02T01:10",
        "2025-11-02T01:58",
        "2025-11-02T01:02",
        "2025-11-02T01:40",
        "2025-11-02T02:05",
    )
    low, high, exists = local_to_utc(wall, "America/Chicago")
    assert exists.all()
    assert (low == high).all()
    assert [format_us(t)[11:16] for t in low] == ["05:50", "06:10", "06:58", "07:02", "07:40", "08:05"]


def test_without_a_fall_both_passes_stay_open():
    low, high, _ = local_to_utc(stamps("2025-11-02T01:10", "2025-11-02T01:40"), "America/Chicago")
    assert (high - low == 3600 * 10**6).all()


def test_two_falls_are_no_order_of_time_and_decide_nothing():
    low, high, _ = local_to_utc(
        stamps("2025-11-02T01:50", "2025-11-02T01:10", "2025-11-02T01:50", "2025-11-02T01:10"), "America/Chicago"
    )
    assert (high - low == 3600 * 10**6).all()


def test_the_same_hour_of_two_years_is_two_stretches():
    wall = stamps("2024-11-03T01:50", "2025-11-02T01:50", "2025-11-02T01:10")
    low, high, _ = local_to_utc(wall, "America/Chicago")
    assert (high - low).tolist() == [3600 * 10**6, 0, 0]
    assert [format_us(t) for t in low[1:]] == ["2025-11-02T06:50:00Z", "2025-11-02T07:10:00Z"]


def test_spring_skips_and_nothing_is_moved():
    low, high, exists = local_to_utc(
        stamps("2025-03-09T01:59", "2025-03-09T02:30", "2025-03-09T03:00"), "America/Chicago"
    )
    assert exists.tolist() == [True, False, True]
    assert (low <= high).all()
    assert [format_us(t) for t in low[[0, 2]]] == ["2025-03-09T07:59:00Z", "2025-03-09T08:00:00Z"]


def test_a_clock_goes_on_from_call_to_call():
    wall = stamps("2025-11-02T01:50", "2025-11-02T01:10", "2025-11-02T01:30", "2025-11-02T02:30")
    clock = LocalClock("America/Chicago")
    parts = [clock.to_utc(wall[:2]), clock.to_utc(wall[2:])]
    whole = local_to_utc(wall, "America/Chicago")
    for part, one in zip(zip(*parts, strict=True), whole, strict=True):
        assert np.concatenate(part).tolist() == one.tolist()


def test_no_rows_and_far_rows():
    low, high, exists = local_to_utc(np.array([], dtype=np.int64), "Europe/Berlin")
    assert low.size == high.size == exists.size == 0
    far = stamps("0001-01-01T00:00", "9999-12-31T23:59:59")
    low, high, exists = local_to_utc(far, "Europe/Berlin")
    assert exists.all()
    assert (low == high).all()


def test_the_zone_of_the_machine_is_never_read(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    low, _, _ = local_to_utc(stamps("2025-06-01T12:00"), "Europe/Berlin")
    assert format_us(low[0]) == "2025-06-01T10:00:00Z"
    with pytest.raises(UsageError, match="Mars"):
        local_to_utc(stamps("2025-06-01T12:00"), "Mars/Olympus")


@given(st.integers(1980, 2090), st.lists(st.integers(0, 180 * 86_400), min_size=1, max_size=30), st.data())
@settings(max_examples=100, deadline=None)
def test_years_are_found_again_where_gaps_stay_below_half_a_year(year, gaps, data):
    first = data.draw(st.integers(0, 364 * 86_400))
    moments = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(seconds=first)]
    for gap in gaps:
        moments.append(moments[-1] + timedelta(seconds=gap))
    month, day = (np.array([getattr(m, part) for m in moments]) for part in ("month", "day"))
    time = np.array([(m.hour * 3600 + m.minute * 60 + m.second) * 10**6 for m in moments])
    clock = YearClock(year)
    cut = len(moments) // 2
    parts = [clock.wall_us(month[a:b], day[a:b], time[a:b]) for a, b in ((0, cut), (cut, len(moments)))]
    assert np.concatenate([wall for wall, _ in parts]).tolist() == [to_us(m) for m in moments]
    assert all(exists.all() for _, exists in parts)


def test_days_that_do_not_exist_are_told():
    wall, exists = YearClock(2025).wall_us(np.array([2, 2, 4]), np.array([28, 29, 31]), np.zeros(3, dtype=np.int64))
    assert exists.tolist() == [True, False, False]
    assert format_us(wall[0]) == "2025-02-28T00:00:00Z"
    assert YearClock(2024).wall_us(np.array([2]), np.array([29]), np.zeros(1, dtype=np.int64))[1].tolist() == [True]


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2025-11-02T03:14:00Z", "2025-11-02T03:14:00Z"),
        ("2025-11-02T03:14:00,25+0100", "2025-11-02T02:14:00.25Z"),
        ("2025-11-02 03:14:00.5-06:00", "2025-11-02T09:14:00.5Z"),
    ],
)
def test_absolute_times(text, utc):
    assert format_us(parse_time(text)) == utc


@pytest.mark.parametrize("text", ["1h1h", "30m1h", "1h30m5m", "1m1min"])
def test_parts_of_a_duration_go_from_large_to_small(text):
    with pytest.raises(UsageError):
        parse_duration(text)
