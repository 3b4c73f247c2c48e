from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.readers import timecells
from workbench.readers.timecells import Clocks, TimeRule, read_times, wall_times
from workbench.timebase import from_us, parse_time, to_us

NOON = 1772359200  # 2026-03-01T10:00:00Z


def _read(cells, host=None, **rule):
    series = cells if isinstance(cells, pl.Series) else pl.Series(cells)
    return read_times(series, Clocks(rule=TimeRule(**rule)), host)


@pytest.mark.parametrize(
    ("text", "utc", "covers_us"),
    [
        (f"{NOON}", "2026-03-01T10:00:00Z", 10**6),
        (f"{NOON}123", "2026-03-01T10:00:00.123Z", 1000),
        (f"{NOON}123456", "2026-03-01T10:00:00.123456Z", 1),
        (f"{NOON}123456789", "2026-03-01T10:00:00.123456Z", 1),
        (f"{NOON}.25", "2026-03-01T10:00:00.25Z", 10**4),
        (f"{NOON}123.5", "2026-03-01T10:00:00.1235Z", 100),
        ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z", 10**6),
        ("2026-03-01T11:00:00+01:00", "2026-03-01T10:00:00Z", 10**6),
        ("2026-03-01T11:00:00,5+0100", "2026-03-01T10:00:00.5Z", 10**5),
        ("2026-03-01 05:00:00.123456789 -05:00", "2026-03-01T10:00:00.123456Z", 1),
        ("2026-03-01 10:00:00 UTC", "2026-03-01T10:00:00Z", 10**6),
        ("2026-03-01T11:00+01", "2026-03-01T10:00:00Z", 60 * 10**6),
    ],
)
def test_each_cell_is_read_by_its_own_form(text, utc, covers_us):
    found = _read([text])
    assert from_us(found["ts"][0]) == from_us(parse_time(utc))
    assert found["ts_high"][0] - found["ts_low"][0] + 1 == covers_us


@pytest.mark.parametrize(
    ("text", "curable"),
    [
        ("12", "map"),
        ("99999999999", "map"),
        ("-5", "map"),
        ("nan", "map"),
        ("11/2/2025 3:10:00 AM", "map"),
        ("02.11.2025 03:14:00", "map"),
        ("Nov  2 03:14:01", "map"),
        ("3m12s", "map"),
        ("2026-03-01 10:00:00", "clock"),
        ("2026/03/01 10:00:00.353", "clock"),
        ("2026-03-01", "clock"),
        ("2026-13-01T10:00:00Z", None),
        ("2026-02-30 10:00:00", None),
        ("", None),
    ],
)
def test_what_is_open_is_refused_and_says_what_to_state(text, curable):
    found = _read([text])
    assert found["ts"][0] is None
    assert found["reason"][0]
    assert found["curable"][0] == curable


def test_stated_formats_and_units():
    american = _read(["11/2/2025 3:10:00 PM", "x", ""], time_format="%m/%d/%Y %I:%M:%S %p", zone="UTC")
    assert american["ts"].to_list() == [parse_time("2025-11-02T15:10:00Z"), None, None]
    assert american["curable"].to_list() == [None, "map", None]
    german = _read(["02.11.2025 03:14:00.250"], time_format="%d.%m.%Y %H:%M:%S.%f", zone="Europe/Berlin")
    assert german["ts"][0] == parse_time("2025-11-02T02:14:00.25Z")
    zoned = _read(["02.11.2025 03:14 +0100"], time_format="%d.%m.%Y %H:%M %z")
    assert zoned["ts"][0] == parse_time("2025-11-02T02:14:00Z")
    digits = _read([20260301100000], time_format="%Y%m%d%H%M%S", zone="UTC")
    assert digits["ts"][0] == NOON * 10**6
    days = _read(["1.5", "-1", "abc"], epoch="d", origin_us=NOON * 10**6)
    assert days["ts"].to_list() == [(NOON + 129600) * 10**6, (NOON - 86400) * 10**6, None]
    assert _read(["x"], time_format="%Q", zone="UTC")["ts"][0] is None


def test_typed_columns():
    plain = datetime(2026, 3, 1, 11)  # noqa: DTZ001 - a wall clock is what is tested
    assert _read(pl.Series([plain]), zone="Europe/Berlin")["ts"][0] == NOON * 10**6
    assert _read(pl.Series([plain]))["curable"][0] == "clock"
    zoned = pl.Series([plain.replace(tzinfo=ZoneInfo("Europe/Berlin"))])
    assert _read(zoned)["ts"][0] == NOON * 10**6
    assert _read(pl.Series([date(2026, 3, 1)]), zone="UTC")["ts_high"][0] == (NOON + 50400) * 10**6 - 1
    assert _read(pl.Series([NOON, None], dtype=pl.Int64))["ts"].to_list() == [NOON * 10**6, None]
    assert _read(pl.Series([NOON + 0.5, float("nan")]))["ts"].to_list() == [NOON * 10**6 + 500_000, None]


def test_each_host_has_its_own_pass_through_the_repeated_hour():
    """Two hosts one after another: the clock falls at the seam, yet nobody saw an hour repeat."""
    wall = ["2025-10-26 02:10:00", "2025-10-26 02:50:00", "2025-10-26 02:05:00", "2025-10-26 02:40:00"]
    open_hour = _read(wall, pl.Series(["a", "a", "b", "b"]), zone="Europe/Berlin")
    assert open_hour["open"].to_list() == [True] * 4
    assert (open_hour["ts_high"] - open_hour["ts_low"]).to_list() == [3600 * 10**6 + 999_999] * 4
    one_host = _read(wall, pl.Series(["a"] * 4), zone="Europe/Berlin")
    assert one_host["open"].to_list() == [False] * 4
    assert (one_host["ts"].diff()[2]) == 15 * 60 * 10**6


def test_the_pass_is_kept_from_block_to_block():
    clocks = Clocks(rule=TimeRule(zone="Europe/Berlin"))
    first = read_times(pl.Series(["2025-10-26 02:50:00"]), clocks)
    second = read_times(pl.Series(["2025-10-26 02:05:00"]), clocks)
    assert first["open"].to_list() == [True]
    assert second["ts"][0] == parse_time("2025-10-26T01:05:00Z")


@given(st.datetimes(min_value=datetime(2001, 9, 10), max_value=datetime(2099, 12, 31)), st.integers(-14 * 60, 14 * 60))  # noqa: DTZ001
def test_rfc_3339_agrees_with_the_standard_library(moment, offset_min):
    sign, minutes = "-" if offset_min < 0 else "+", abs(offset_min)
    text = moment.isoformat() + f"{sign}{minutes // 60:02}:{minutes % 60:02}"
    expected = to_us(moment.replace(tzinfo=UTC) - timedelta(minutes=offset_min))
    assert _read([text])["ts"][0] == expected


@given(st.lists(st.text(max_size=30), min_size=1, max_size=10))
def test_any_text_gives_a_time_or_a_reason(texts):
    found = _read(pl.Series(texts, dtype=pl.String), zone="UTC")
    for ts, reason in found.select("ts", "reason").iter_rows():
        assert (ts is None) != (reason is None)


_STAMPS = st.builds(
    lambda date, mark, clock, fraction, zone: f"{date}{mark}{clock}{fraction}{zone}",
    st.sampled_from(
        ["2026-03-01", "2024/02/29", "2026-02-29", "2000-02-29", "1970-01-01", "2026-13-01", "2099-12-31", "2026-04-31"]
    ),
    st.sampled_from(["T", " ", "_"]),
    st.sampled_from(["10:00:00", "23:59:59", "24:00:00", "10:00:60", "10:60:00", "10:00"]),
    st.sampled_from(["", ".5", ",123456789", ".1234567890", "."]),
    st.sampled_from(["", "Z", "+01:00", "-0530", "+14:00", "+14:30", "+01:75", " Z", "z", " UTC", "-00:00", "+01"]),
)


@given(st.lists(_STAMPS, min_size=1, max_size=3))
def test_many_times_are_read_as_few_are(texts):
    cells = pl.Series(texts)
    few = wall_times(cells, TimeRule())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timecells, "LARGE_ROWS", 1)
        assert wall_times(cells, TimeRule()).equals(few)
