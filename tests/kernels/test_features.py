"""Windows and features: bins that never touch the guard, differences that know gaps from zeros."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.kernels.features import after_features, event_families, event_features, metric_families, metric_features
from workbench.kernels.windows import bin_statistics, cut, plan_windows


def test_two_hours_on_minutes_is_the_method():
    windows = plan_windows(7200, 600, 60)
    assert windows.edges == (10, 20, 35, 60, 120)
    assert (windows.far, windows.unit) == (360, 1.0)


@settings(max_examples=200, deadline=None)
@given(before=st.floats(10, 1e6), guard=st.floats(0, 2), step=st.floats(0.001, 1.5))
def test_bins_tile_what_the_guard_leaves(before, guard, step):
    windows = plan_windows(before, guard * before, step * before)
    if windows is None:
        assert round(1 / step) < 1 or guard / step > round(1 / step) - 1
        return
    assert windows.guard * step >= guard - 1e-6 * step  # never shorter than asked
    assert (np.diff(windows.edges) >= 1).all()
    assert windows.edges[-1] == round(1 / step)
    assert windows.far == 3 * windows.edges[-1]
    assert 1 <= windows.bins <= 4


def test_a_long_guard_leaves_fewer_bins():
    assert plan_windows(7200, 69 * 60, 60).edges == (69, 79, 94, 120)  # (119, 120] joins the bin before
    assert plan_windows(7200, 100 * 60, 60).edges == (100, 110, 120)
    assert plan_windows(7200, 118 * 60, 60).edges == (118, 120)
    assert plan_windows(7200, 120 * 60, 60) is None
    assert plan_windows(7200, 119.5 * 60, 60) is None  # no whole cell is left


def test_a_coarse_grid_leaves_wider_bins():
    assert plan_windows(7200, 0, 900).edges == (0, 1, 2, 3, 8)
    assert plan_windows(7200, 0, 3600).edges == (0, 1, 2)
    assert plan_windows(7200, 0, 7200).edges == (0, 1)
    assert plan_windows(7200, 0, 16_000) is None


def test_what_lies_in_the_guard_or_after_changes_nothing():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(3, 800))
    windows = plan_windows(7200, 660, 60)
    row, end = np.array([0, 1, 2]), np.array([500, 600, 700])
    before, _ = metric_features(cut(values, row, end, near=0, far=windows.far), windows)
    changed = values.copy()
    for r, e in zip(row, end, strict=True):
        changed[r, e - windows.guard :] = 1e9
    after, _ = metric_features(cut(changed, row, end, near=0, far=windows.far), windows)
    assert np.array_equal(before, after)


def test_levels_do_not_see_the_own_level_and_scale():
    rng = np.random.default_rng(2)
    windows = plan_windows(7200, 0, 60)
    window = rng.normal(size=(5, windows.far))
    one, _ = metric_features(window, windows)
    two, _ = metric_features(window + np.arange(5)[:, None] * 100.0, windows)
    np.testing.assert_allclose(one, two, atol=1e-9)
    scaled, _ = metric_features(3.0 * window, windows)
    factor = np.repeat([3.0, 1.0, 3.0], windows.bins)  # spread is a log ratio
    np.testing.assert_allclose(scaled, one * factor, atol=1e-9)


def test_planted_changes_come_out_where_they_were_put():
    rng = np.random.default_rng(3)
    windows = plan_windows(7200, 0, 60)
    window = rng.normal(size=(400, windows.far))
    window[:, -25:-10] += 2.0  # 10 to 25 minutes before
    window[:, -50:-25] *= 3.0
    features, usable = metric_features(window, windows)
    mean = dict(zip(metric_families(4), features.mean(axis=0), strict=True))
    assert usable.all()
    assert mean["level", 1] == pytest.approx(2.0, abs=0.1)
    assert mean["level", 0] == pytest.approx(0.0, abs=0.1)
    # ln((3 + .1) / (1 + .1)), less the small-sample bias of a sd of 25 cells
    assert mean["spread", 2] == pytest.approx(np.log(3.1 / 1.1), abs=0.06)
    assert mean["spread", 3] == pytest.approx(0.0, abs=0.05)


def test_half_observed_is_the_least():
    windows = plan_windows(7200, 0, 60)
    window = np.random.default_rng(4).normal(size=(4, windows.far))
    window[1, -5:] = np.nan  # half of the nearest bin
    window[2, -6:] = np.nan
    window[3, :121] = np.nan  # just over half of the baseline
    features, usable = metric_features(window, windows)
    assert usable.tolist() == [True, True, False, False]
    assert np.isnan(features[2:]).all()
    assert np.isfinite(features[:2]).all()


def test_a_gap_is_no_zero():
    windows = plan_windows(7200, 0, 60)
    window = np.full((1, windows.far), 50.0)
    window[0, -3:] = np.nan
    features, usable = metric_features(window, windows)
    assert usable.all()
    assert np.array_equal(features, np.zeros_like(features))


@pytest.mark.parametrize("value", [3.3, 1e12 + 0.1, -7e-9])
def test_a_constant_never_moves(value):
    windows = plan_windows(7200, 60, 60)
    features, usable = metric_features(np.full((6, windows.far), value), windows)
    assert usable.all()
    assert not features.any()


def test_events():
    windows = plan_windows(7200, 0, 60)
    far = windows.far
    counts = np.zeros((4, far))
    counts[0, far - 15] = 2  # 15 minutes before, never before
    counts[1, [20, far - 15]] = 1  # the same, but not for the first time
    counts[2, ::30] = 1  # every half hour throughout
    first = np.array([600 - 15, 600 - far + 20, 0, 10_000])
    features, usable = event_features(counts, first, np.full(4, 600), windows)
    columns = {name: features[:, k] for k, name in enumerate(event_families(4))}
    assert usable.all()
    assert columns["level", 1].tolist() == pytest.approx([2 / 15, 1 / 15 - 1 / 240, 0, 0], abs=0.04)
    assert columns["any", 1][0] == 1.0
    assert columns["first", -1].tolist() == [1, 0, 0, 0]
    # last event 14 cells ago, none in the two windows before that
    assert columns["recency", -1][0] == pytest.approx(np.log((240 + 1) / (14 + 1)))
    assert columns["recency", -1][3] == 0
    assert abs(columns["recency", -1][2]) < 0.1
    assert np.abs(features[:, 4:]).max() <= np.log(241)


def test_after_features_compare_with_the_baseline_before():
    windows = plan_windows(7200, 0, 60)
    window, after = np.zeros((2, windows.far)), np.full((2, 60), 5.0)
    window[:, -120:] = 99.0  # the window itself is not used
    features, usable = after_features(after, window, windows)
    assert usable.all()
    assert features[:, 0].tolist() == [5.0, 5.0]


def test_statistics_of_nothing_are_nan():
    stats = bin_statistics(np.full((1, 4), np.nan), ((0, 2), (2, 4)))
    assert np.isnan(stats.mean).all()
    assert (stats.seen == 0).all()
