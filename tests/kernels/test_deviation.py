import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import median_abs_deviation

from workbench.kernels.deviation import centre_and_scale, deviation_from_past, deviation_from_peers, strongest_run


def test_scale_is_that_of_scipy():
    values = np.random.default_rng(3).normal(5, 2, (4, 400))
    centre, scale = centre_and_scale(values)
    np.testing.assert_allclose(centre, np.median(values, axis=1))
    np.testing.assert_allclose(scale, median_abs_deviation(values, axis=1, scale="normal"))


def test_scale_of_mostly_equal_values_is_the_standard_deviation():
    values = np.array([0.0] * 9 + [1.0])
    assert centre_and_scale(values)[1] == pytest.approx(np.std(values))


def test_fewer_than_three_values_tell_nothing():
    centre, scale = centre_and_scale(np.array([1.0, 2.0, np.nan]))
    assert np.isnan(centre)
    assert np.isnan(scale)


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(-5, 5) | st.just(np.nan)), st.integers(1, 8))
def test_strongest_run_is_the_largest_of_all_windows(z, run):
    size = min(run, z.size)
    windows = [z[at : at + size] for at in range(z.size - size + 1)]
    means = [np.nanmean(w) for w in windows if 2 * np.isfinite(w).sum() >= size]
    found, start = strongest_run(z, run)
    if not means:
        assert np.isnan(found)
        assert start == -1
    else:
        assert abs(found) == pytest.approx(max(abs(m) for m in means))
        assert found == pytest.approx(np.nanmean(z[start : start + size]))


def test_constant_past_and_another_value_is_infinitely_far():
    z, z_past, start = deviation_from_past(np.array([0.0, 0, 3, 3]), np.zeros(20), 2)
    assert z == np.inf
    assert z_past == 0
    assert start == 1


def test_opposite_infinite_cells_do_not_become_nan():
    assert np.isinf(strongest_run(np.array([np.inf, -np.inf]), 2)[0])


def test_shift_and_scale_of_the_units_change_nothing():
    rng = np.random.default_rng(5)
    past, window = rng.normal(size=100), rng.normal(3, 1, 20)
    one, other = deviation_from_past(window, past, 3), deviation_from_past(window * 7 - 4, past * 7 - 4, 3)
    np.testing.assert_allclose(one[0], other[0])


def test_noise_strays_beyond_its_past_as_often_as_the_lengths_say():
    """A window of a fifth of the whole holds the farthest run one time in five."""
    rng = np.random.default_rng(11)
    values = rng.normal(size=(4000, 375))
    z, z_past, _ = deviation_from_past(values[:, 300:], values[:, :300], 3)
    share = (np.abs(z) > np.abs(z_past)).mean()
    assert abs(share - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 4000)


def test_what_moves_all_alike_is_no_deviation_from_peers():
    rng = np.random.default_rng(2)
    common = np.linspace(0, 50, 60)
    peers = common + rng.normal(size=(8, 60))
    z = deviation_from_peers(common + rng.normal(size=60), peers, 3)
    assert abs(z) < 3


def test_peers_that_are_missing_give_nan_and_input_is_untouched():
    one, peers = np.ones(10), np.full((4, 10), np.nan)
    before = one.copy()
    assert np.isnan(deviation_from_peers(one, peers, 3))
    assert np.array_equal(one, before)
