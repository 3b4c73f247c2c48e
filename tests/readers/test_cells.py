import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.readers.cells import MISSING, clean_text, parse_numbers
from workbench.readers.units import unit_of


def _row(text, **how):
    found = parse_numbers(pl.Series([text], dtype=pl.String), **how)
    return found.value[0], found.exact[0], found.unit[0], found.reason[0]


@pytest.mark.parametrize(
    ("text", "value", "exact", "unit"),
    [
        ("0", 0.0, 0, None),
        (" 54 ", 54.0, 54, None),
        ("-0.5", -0.5, None, None),
        ("9007199254740993", 9007199254740992.0, 9007199254740993, None),
        ("-9223372036854775808", -(2.0**63), -(2**63), None),
        ("18446744073709551615", 2.0**64, None, None),
        ("1e3", 1000.0, None, None),
        ("0x1F", 31.0, 31, None),
        ("1,234,567.25", 1234567.25, None, None),
        ("4 294 967 296", 4294967296.0, 4294967296, None),
        ("1'234", 1234.0, 1234, None),
        ("611 W", 611.0, 611, "W"),
        ("612.5W", 612.5, None, "W"),
        ("-2 kW", -2000.0, -2000, "W"),
        ("70 GiB", 70 * 2.0**30, 70 * 2**30, "B"),
        ("1.5 MB", 1.5e6, None, "B"),
        ("212 F", 100.0, None, "C"),
        ("300 K", 26.85, None, "C"),
        ("1980 MHz", 1.98e9, 1980000000, "Hz"),
        ("45 %", 45.0, 45, "%"),
        ("100 Gb/s", 1e11, 100000000000, "b/s"),
    ],
)
def test_numbers_units_and_exact_integers(text, value, exact, unit):
    """Values by the definitions of the units (SI, IEC, Fahrenheit and Kelvin scales)."""
    found = _row(text)
    assert found[0] == pytest.approx(value, rel=1e-12)
    assert found[1:] == (exact, unit, None)


@pytest.mark.parametrize("mark", sorted(MISSING))
def test_every_mark_is_absence_and_never_zero(mark):
    assert _row(mark.upper()) == (None, None, None, mark.upper())
    assert clean_text(pl.Series([mark.title()]))[0] is None


@pytest.mark.parametrize(
    "text",
    [
        "9223372036854775792",
        "9223372036854775793",
        "9223372036854775794",
        "9.223372036854776e18",
        "140737488355328",
        "2147483632",
        "-999",
    ],
)
def test_sentinels_are_told_before_any_cast(text):
    value, exact, _, reason = _row(text)
    assert (value, exact) == (None, None)
    assert reason.startswith("sentinel")


@pytest.mark.parametrize(
    "text", ["9223372036854775791", "9223372036854775800", "2147483631", "2147483636", "-998", "140737488355327"]
)
def test_neighbours_of_sentinels_are_numbers(text):
    assert _row(text)[1] == int(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("NaN", "NaN"),
        ("1e999", "beyond the range of a double"),
        ("-1e400", "beyond the range of a double"),
        ("1_000", "not a number"),
        ("true", "not a number"),
        ("ON", "not a number"),
        ("1.5.2", "not a number"),
        ("12,5", "not a number"),
        ("1,1 kW", "not a number"),
        ("00:12:03", "not a number"),
        ("4: ACTIVE", "not a number"),
        ("12 k", "unit not known, or of another kind than the column's"),
        ("5 apples", "unit not known, or of another kind than the column's"),
        ("<script>", "not a number"),
    ],
)
def test_what_is_no_number_says_why(text, reason):
    assert _row(text) == (None, None, None, reason)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("14,2", 14.2),
        ("12345,678", 12345.678),
        ("1.234,5", 1234.5),
        ("1.234", 1234.0),
        ("1.02 kW", 1020.0),
        ("1,1 kW", 1100.0),
        ("612", 612.0),
        ("-0,5", -0.5),
    ],
)
def test_decimal_comma(text, value):
    assert _row(text, decimal_comma=True)[0] == pytest.approx(value)


def test_cells_are_turned_into_the_unit_of_the_column_and_no_other():
    kilowatt = unit_of("kW")
    assert _row("500 W", target=kilowatt)[:3] == (0.5, None, "kW")
    assert _row("2 kW", target=kilowatt)[:3] == (2.0, 2, "kW")
    assert _row("54 C", target=kilowatt)[0] is None


@pytest.mark.parametrize("text", ["12 k", "3 b", "4 m"])
def test_letters_that_could_be_two_units_are_none(text):
    assert _row(text)[0] is None


def test_typed_columns_keep_what_they_hold():
    unsigned = parse_numbers(pl.Series([2**64 - 1, 2**53 + 1, 9223372036854775793], dtype=pl.UInt64))
    assert unsigned.exact.to_list() == [None, 2**53 + 1, None]
    assert unsigned.value.to_list() == [2.0**64, 2.0**53, None]
    flags = parse_numbers(pl.Series([True, False, None]))
    assert (flags.exact.to_list(), flags.reason.to_list()) == ([1, 0, None], [None, None, "empty"])
    floats = parse_numbers(pl.Series([1.5, float("nan"), float("-inf"), None]))
    assert floats.reason.to_list() == [None, "NaN", None, "empty"]
    assert floats.value[2] == -math.inf
    lists = parse_numbers(pl.Series([[1], [2]]))
    assert lists.value.to_list() == [None, None]


@given(
    st.lists(
        st.one_of(st.text(max_size=12), st.floats().map(repr), st.integers(-(2**70), 2**70).map(str)), max_size=20
    ),
    st.booleans(),
)
def test_any_text_gives_a_number_or_a_reason(texts, comma):
    found = parse_numbers(pl.Series(texts, dtype=pl.String), decimal_comma=comma)
    for text, value, exact, reason in zip(texts, found.value, found.exact, found.reason, strict=True):
        assert (value is None) != (reason is None), text
        assert value is None or math.isfinite(value) or text.strip().lower().strip("+-") in ("inf", "infinity")
        assert exact is None or (value is not None and float(exact) == value)


@pytest.mark.parametrize("text", ["inf", "+Inf", "-Infinity", " INF "])
def test_what_is_written_as_infinite_is_kept_as_prometheus_keeps_it(text):
    value, exact, _, reason = _row(text)
    assert value == (-math.inf if "-" in text else math.inf)
    assert (exact, reason) == (None, None)


def test_two_to_the_63_is_a_sentinel_only_where_a_float_rounded_to_it():
    """DCGM's blank, 2^63 - 16, becomes 2^63 as a double; a 64-bit counter may stand there of itself."""
    assert _row("9223372036854775808") == (2.0**63, None, None, None)
    assert parse_numbers(pl.Series([2**63], dtype=pl.UInt64)).value.to_list() == [2.0**63]
    assert _row("9.223372036854775808e18")[3].startswith("sentinel")
    assert parse_numbers(pl.Series([2.0**63])).reason[0].startswith("sentinel")


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_of_64_bits_are_exact(number):
    value, exact, _, reason = _row(str(number))
    assert exact == number or (exact is None and reason.startswith("sentinel"))
    assert value is None or value == float(number)
