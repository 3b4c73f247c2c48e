"""Figures of lags, coincidences, timelines and panels: axes, units, UTC, gaps, bounds, size."""

import numpy as np
import pytest

from workbench.figures.axes import Axis, floats_of, tick_marks
from workbench.figures.coincidence import coincidence_figure
from workbench.figures.html import HTML_LIMIT, figure_html
from workbench.figures.lag import lag_figure
from workbench.figures.panels import Small, panels_figure
from workbench.figures.timeline import Lane, timeline_figure

T0_US = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z
MINUTE_US = 60_000_000
HOSTILE = '<a href="javascript:alert(1)">x</a>'


def lag(lag_s=None, **changes):
    lag_s = np.arange(-600.0, 601.0, 60.0) if lag_s is None else lag_s
    flat = np.full(lag_s.size, 0.1)
    given = {
        "null": (-flat, flat),
        "critical": 0.2,
        "peak_s": (120.0, 60.0, 180.0),
        "names": ("gpu.power_w", "gpu.temperature_c"),
    }
    return lag_figure(lag_s, np.sin(lag_s / 300), **(given | changes))


def timeline(count=3, **changes):
    ts = T0_US + np.arange(count) * MINUTE_US
    lanes = [Lane(name="xid:79", ts_us=ts, low_us=ts - 5 * MINUTE_US, high_us=ts, texts=[HOSTILE] * count)]
    return timeline_figure(lanes, span_us=(T0_US, T0_US + max(count, 60) * MINUTE_US), **changes)


def panels(lines, **changes):
    ts = T0_US + np.arange(lines[0][1].size) * MINUTE_US
    return panels_figure(ts, [Small(name="gpu.power_w", unit="W", lines=lines, **changes)])


def coincidence():
    return coincidence_figure(np.array([3, 4, 5, 4]), observed=12, total=20, names=("aer", "xid"), window="1h")


@pytest.mark.parametrize("fig", [lag(), timeline(), panels([("gpu1", np.ones(9))]), coincidence()])
def test_every_figure_has_titled_axes_and_a_small_picture(fig):
    axes = [*fig.select_xaxes(), *fig.select_yaxes()]
    assert any(axis.title.text for axis in axes)
    picture = figure_html(fig)
    assert len(picture.encode()) < HTML_LIMIT
    assert "<script" not in picture


def test_lag_axis_chooses_its_unit_and_says_the_direction():
    assert "Lag (min): right of 0, gpu.power_w comes before gpu.temperature_c" in lag().layout.xaxis.title.text
    assert "Lag (s)" in lag(np.arange(-90.0, 91.0, 30.0)).layout.xaxis.title.text
    assert "Lag (h)" in lag(np.arange(-86400.0, 86401.0, 3600.0)).layout.xaxis.title.text
    assert lag().data[1].x.tolist() == (np.arange(-600, 601, 60) / 60).tolist()


def test_lag_without_a_peak_or_level_is_drawn_without_them():
    fig = lag(critical=float("nan"), peak_s=(float("nan"),) * 3)
    assert len(fig.data) == 2
    assert not fig.layout.shapes


def test_timeline_draws_the_bounds_of_each_event_in_utc():
    fig = timeline(marks_us=[T0_US])
    bounds, marks = fig.data
    assert bounds.x[:2].astype(np.int64).tolist() == [T0_US - 5 * MINUTE_US, T0_US]
    assert marks.x.dtype == np.dtype("datetime64[us]")
    assert fig.layout.xaxis.title.text == "Time (UTC)"
    assert "xid:79 (3)" in fig.layout.yaxis.ticktext[0]
    assert "<a " not in fig.to_json().replace("\\u003c", "<")


def test_a_crowded_lane_says_what_it_leaves_out():
    fig = timeline(50_000)
    assert fig.data[1].x.size <= 2000
    assert "50,000, " in fig.layout.yaxis.ticktext[0]
    assert len(fig.to_json()) < 400_000


def test_panel_gaps_stay_gaps_and_unknown_units_are_asked():
    line = np.arange(20.0)
    line[5:9] = np.nan
    fig = panels([("gpu1", line)], peer_low=line - 1, peer_high=line + 1, baseline=(0.0, 3.0))
    peers, past, own = fig.data
    assert np.isnan(own.y[5:9]).all()
    assert own.connectgaps is False
    assert np.isnan(peers.y).sum() == 2  # two areas
    assert past.name.startswith("own past")
    assert fig.layout.yaxis.title.text == "gpu.power_w (W)"
    nameless = panels_figure(np.array([T0_US]), [Small(name="thing", unit="", lines=[("e", np.ones(1))])])
    assert nameless.layout.yaxis.title.text == "thing (unit?)"


def test_panel_without_data_says_so():
    assert "nothing observed here" in figure_html(panels([("gpu1", np.full(5, np.nan))]))


def test_coincidence_shows_observed_and_all_draws():
    fig = coincidence()
    bars, line = fig.data
    assert bars.y.sum() == pytest.approx(1.0)
    assert line.x[0] == 12
    assert "observed: 12 of 20" in line.name


def test_ticks_of_times_are_round_and_of_any_kind_readable():
    day = 86_400_000_000.0
    axis = Axis(low=T0_US, high=T0_US + day, kind="date", domain=(0, 1), title="")
    assert [label for _, label in tick_marks(axis, 4)] == [
        "03-01 00:00",
        "03-01 06:00",
        "03-01 12:00",
        "03-01 18:00",
        "03-02 00:00",
    ]
    log = Axis(low=-6.0, high=0.0, kind="log", domain=(0, 1), title="")
    assert [label for _, label in tick_marks(log, 4)][:2] == ["1e-06", "1e-05"]
    assert floats_of(np.array(["2026-03-01T00:00:00", "NaT"], dtype="datetime64[ns]")).tolist()[0] == T0_US
