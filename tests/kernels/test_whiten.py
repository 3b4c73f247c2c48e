import numpy as np
import pytest
from statsmodels.tsa.ar_model import AutoReg, ar_select_order

from workbench.kernels.whiten import autoregression, difference, scaled, whiten


def second_order(seed, width=3000):
    rng = np.random.default_rng(seed)
    out = np.zeros(width)
    for t in range(2, width):
        out[t] = 0.6 * out[t - 1] - 0.3 * out[t - 2] + rng.normal()
    return out


def test_coefficients_equal_statsmodels_on_the_same_stretches():
    series = second_order(1)
    ours = autoregression(series[None, :], largest=4)
    chosen = ar_select_order(series, 4, ic="aic", trend="n").ar_lags
    assert ours.size == len(chosen)
    # statsmodels fits the same rows when the first four cells are held back; the mean is near 0
    theirs = AutoReg(scaled(series[None, :])[0], ours.size, trend="n", hold_back=4).fit().params
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_rest_is_what_the_difference_equation_says():
    values = np.cumsum(second_order(2, 400))[None, :]
    rest, coefficients = whiten(values)
    changed = np.diff(values[0])
    t = 200
    expected = changed[t - 1] - sum(c * changed[t - 1 - back] for back, c in enumerate(coefficients, 1))
    assert rest[0, t] == pytest.approx(expected)


def test_gaps_cost_their_followers_and_nothing_else():
    values = np.cumsum(second_order(3, 400))[None, :]
    values[0, 100] = np.nan
    assert np.isnan(difference(values)[0, [0, 100, 101]]).all()
    rest, coefficients = whiten(values)
    lost = np.flatnonzero(np.isnan(rest[0]))
    expected = set(range(1 + coefficients.size)) | set(range(100, 102 + coefficients.size))
    assert set(lost.tolist()) == expected


def test_too_little_to_fit_leaves_the_differences():
    values = np.random.default_rng(4).normal(size=(1, 50))
    rest, coefficients = whiten(values)
    assert coefficients.size == 0
    np.testing.assert_array_equal(rest, difference(values))
    assert autoregression(np.ones((2, 500))).size == 0
    assert autoregression(np.full((2, 5), np.nan)).size == 0


def test_scaled_takes_any_size():
    values = np.array([[1e200, -1e200, np.nan], [3.0, 3.0, 3.0]])
    np.testing.assert_allclose(scaled(values), [[1, -1, np.nan], [0, 0, 0]])
