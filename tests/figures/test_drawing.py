import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.figures.drawing import (
    DARK,
    LIGHT,
    TimeAxis,
    band_path,
    line_path,
    picture,
    rect,
    text,
    time_ticks,
    value_ticks,
)  # fmt: skip
from workbench.timebase import MICROS, from_us, to_us


def _walk(path):
    """Give the points of a path of our own making, in whole tenths."""
    points, x, y = [], 0, 0
    for letter, a, b in re.findall(r"([Ml])(-?\d+) (-?\d+)", path):
        x, y = (int(a), int(b)) if letter == "M" else (x + int(a), y + int(b))
        points.append((x, y))
    return points


@given(st.lists(st.floats(-500, 500), min_size=1, max_size=50))
def test_relative_steps_do_not_drift(values):
    y = np.array(values)
    x = np.arange(y.size, dtype=np.float64) * 1.37
    found = _walk(line_path(x, y))
    expected = list(zip(np.round(x * 10).astype(int).tolist(), np.round(y * 10).astype(int).tolist(), strict=True))
    assert found == expected


def test_a_gap_breaks_line_and_band():
    x, y = np.arange(5.0), np.array([1.0, 2, np.nan, 3, 4])
    assert line_path(x, y).count("M") == 2
    assert band_path(x, y, y + 1).count("z") == 2


def test_nothing_observed_draws_nothing():
    assert line_path(np.arange(3.0), np.full(3, np.nan)) == ""


@pytest.mark.parametrize("hours", [1 / 3600, 0.01, 1, 26, 24 * 40, 24 * 4000])
def test_ticks_are_round_utc_times_within_the_span(hours):
    t0 = to_us(datetime(2026, 3, 1, 7, 13, 22, tzinfo=UTC))
    t1 = t0 + int(hours * 3600 * MICROS)
    ticks = time_ticks(t0, t1, 8)
    assert len(ticks) <= 9
    assert all(t0 <= ts <= t1 for ts, _ in ticks)
    for ts, label in ticks:
        assert label in (
            f"{from_us(ts):%H:%M}",
            f"{from_us(ts):%H:%M:%S}",
            f"{from_us(ts).day} {from_us(ts):%b}",
            f"{from_us(ts):%b %Y}",
        )


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_value_ticks_lie_within(low, size):
    near = 1e-6 * size + 1e-15 * abs(low)  # a tick can be no nearer than the numbers there are
    assert all(low - near <= tick <= low + size + near for tick in value_ticks(low, low + size))


def test_text_cannot_leave_its_place():
    hostile = '"><script>alert(1)</script>\x1b\u202e\x00'
    body = text(1, 2, hostile) + rect(0, 0, width=1, height=1, kind="gap", tip=hostile)
    drawn = picture(body, width=10, height=10, title=hostile, axis=TimeAxis(t0_us=0, t1_us=1, left=0, right=10))
    root = ET.fromstring(drawn)
    assert [element.tag.rsplit("}", 1)[-1] for element in root.iter()] == ["svg", "text", "rect", "title"]


def _contrast(one, other):
    def light(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(look):
    colours = dict(re.findall(r"--wb-(\w+):(#\w{6})", look))
    for name in ("fg", "dim", "line", "mark", "good"):
        assert _contrast(colours[name], colours["bg"]) >= 4.5, name
    for name in ("fg", "dim"):
        assert _contrast(colours[name], colours["soft"]) >= 4.5, name
