import re
import xml.etree.ElementTree as ET

import numpy as np

from workbench.figures.incident import Bar, Lane, Moment, Trace, metric_svg, timeline_svg

HOSTILE = '<img src=x onerror="alert(1)">\x1b[31m'
T1 = 9_000_000_000


def _lane(counts, **more):
    counts = np.asarray(counts, dtype=np.int64)
    return Lane(name="kernel", own=counts, other=np.zeros_like(counts), **more)


def _trace(mean, **more):
    mean = np.asarray(mean, dtype=np.float64)
    empty = np.full(mean.size, np.nan)
    x = (np.arange(mean.size) * (T1 // mean.size)).astype(np.int64)
    return Trace(x_us=x, low=mean, mean=mean, high=mean, peer_low=empty, peer_middle=empty, peer_high=empty, **more)


def _words(svg):
    return [element.text for element in ET.fromstring(svg).iter() if element.tag.endswith("text")]


def test_bursts_are_counted_as_one():
    lane = _lane([0, 3, 4, 5, 0, 0, 0, 0, 0, 0] + [0] * 40 + [7] + [0] * 40)
    assert {"×12", "×7"} <= set(_words(timeline_svg([lane], 0, T1)))


def test_an_empty_lane_says_none():
    assert "none" in _words(timeline_svg([_lane([0] * 10)], 0, T1))


def test_uncertain_time_is_a_bar_as_wide_as_the_doubt():
    moment = Moment(ts_us=6_000_000_000, low_us=5_400_000_000, high_us=6_000_000_000, label="xid 79")
    svg = timeline_svg([_lane([0] * 10)], 0, T1, incident=moment)
    wide = float(re.search(r'width="([\d.]+)" height="[\d.]+" class="unsure"', svg)[1])
    left, right = (float(re.search(rf'data-{side}="([\d.]+)"', svg)[1]) for side in ("left", "right"))
    assert abs(wide - (right - left) * 600 / 9000) < 0.1


def test_gaps_are_drawn_and_outside_ones_are_not():
    inside, outside = (1_000_000_000, 2_000_000_000), (T1 + 10, T1 + 20)
    svg = timeline_svg([_lane([0] * 10)], 0, T1, gaps=[inside, outside])
    assert svg.count('class="gap"') == 1


def test_hostile_words_stay_words():
    bars = [Bar(start_us=0, end_us=None, label=HOSTILE)]
    lane = _lane([1] + [0] * 9, tips={0: HOSTILE}, bars=bars)
    moment = Moment(ts_us=1, low_us=0, high_us=1, label=HOSTILE)
    for svg in (
        timeline_svg([lane], 0, T1, incident=moment),
        metric_svg(_trace([1.0, 2.0], notes=[HOSTILE]), 0, T1, title=HOSTILE, subtitle=HOSTILE, incident=moment),
    ):
        tags = {element.tag.rsplit("}", 1)[-1] for element in ET.fromstring(svg).iter()}
        assert tags <= {"svg", "g", "path", "rect", "text", "title"}


def test_nothing_observed_is_said():
    assert "nothing observed here" in _words(metric_svg(_trace([np.nan] * 5), 0, T1, title="gpu.power_w"))


def test_constant_and_huge_values_are_drawn():
    for value in (0.0, 5.0, 1e18, -1e-12):
        svg = metric_svg(_trace([value] * 5), 0, T1, title="x")
        assert 'class="line"' in svg
        assert "nan" not in svg


def test_a_file_of_its_own_follows_the_theme_of_the_system():
    svg = timeline_svg([_lane([1])], 0, T1, alone=True)
    assert "prefers-color-scheme:dark" in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_a_panel_is_small():
    rng = np.random.default_rng(1)
    mean = rng.normal(size=360)
    spread = np.full(360, 0.5)
    x = (np.arange(360) * (T1 // 360)).astype(np.int64)
    trace = Trace(
        x_us=x,
        low=mean - spread,
        mean=mean,
        high=mean + spread,
        peer_low=mean - 2,
        peer_middle=mean * 0,
        peer_high=mean + 2,
    )
    assert len(metric_svg(trace, 0, T1, title="gpu.power_w [W]")) < 30_000
