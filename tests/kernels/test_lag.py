import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcg import Lcg
from scipy.stats import norm, pearsonr, rankdata, spearmanr

from workbench.kernels.lag import correlate, effective_pairs, lagged_correlation, pool, ranks, window_maximum
from workbench.kernels.surrogate import add_one_p


def gappy(seed, rows=4, width=300):
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.normal(size=(rows, width)), axis=1) + 1e6
    y = rng.standard_t(2, size=(rows, width))
    for values in (x, y):
        values[rng.random(values.shape) < 0.1] = np.nan
        values[0, 40:90] = np.inf  # not observed either
    return x, y


@pytest.mark.parametrize("circular", [False, True])
def test_transform_equals_the_loop_over_lags(circular):
    x, y = gappy(3)
    lags = np.arange(-299, 300) if not circular else np.arange(300)
    fast, slow = (one(x, y, lags, circular=circular) for one in (correlate, lagged_correlation))
    assert np.array_equal(fast[1], slow[1])
    np.testing.assert_allclose(fast[0], slow[0], atol=1e-9)


@pytest.mark.parametrize("circular", [False, True])
def test_rows_without_gaps_take_the_short_way_to_the_same(circular):
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(3, 101)) * 1e9 + 1e12, rng.normal(size=(3, 101))
    lags = np.arange(-60, 61)
    np.testing.assert_allclose(
        correlate(x, y, lags, circular=circular)[0], lagged_correlation(x, y, lags, circular=circular)[0], atol=1e-9
    )


def test_loop_equals_scipy_on_overlapping_pairs():
    x, y = gappy(7, rows=1)
    for lag in (-17, 0, 23):
        a, b = (x[0, : 300 - lag], y[0, lag:]) if lag >= 0 else (x[0, -lag:], y[0, : 300 + lag])
        both = np.isfinite(a) & np.isfinite(b)
        r, pairs = lagged_correlation(x, y, np.array([lag]))
        assert pairs[0, 0] == both.sum()
        assert r[0, 0] == pytest.approx(pearsonr(a[both], b[both]).statistic, abs=1e-12)


def test_one_row_goes_with_every_row():
    x, y = gappy(9)
    lags = np.arange(-20, 21)
    np.testing.assert_allclose(
        correlate(x, y[:1], lags)[0], lagged_correlation(x, np.repeat(y[:1], 4, axis=0), lags)[0], atol=1e-9
    )


def test_a_spike_of_any_size_does_not_drown_the_rest():
    x, y = gappy(11)
    x[1, 150] = 1e15
    x[2] = 0.1  # constant, though its mean is not exactly 0.1
    x[3, :200] = 5.0
    lags = np.arange(-250, 251)
    fast, slow = correlate(x, y, lags)[0], lagged_correlation(x, y, lags)[0]
    assert np.array_equal(np.isnan(fast), np.isnan(slow))
    np.testing.assert_allclose(fast, slow, atol=1e-6)
    assert np.isnan(fast[2]).all()


# Thousandths: the square of 1e-200 is 0, and the loop, unlike the scaled sums, would see no spread.
VALUES = st.integers(-(10**9), 10**9).map(lambda number: number / 1000) | st.just(np.nan)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(VALUES, VALUES),
        min_size=1,
        max_size=30,
    ),
    st.integers(0, 40),
)
def test_any_values_agree_with_the_loop(values, reach):
    x, y = (np.array([[pair[at] for pair in values]]) for at in (0, 1))
    lags = np.arange(-reach, reach + 1)
    fast, slow = correlate(x, y, lags), lagged_correlation(x, y, lags)
    assert np.array_equal(fast[1], slow[1])
    np.testing.assert_allclose(fast[0], slow[0], atol=2e-6)


def test_positive_lag_means_x_first():
    x = np.random.default_rng(1).normal(size=(2, 200))
    r = correlate(x, np.roll(x, 4, axis=1), np.arange(-9, 10))[0]
    assert (np.argmax(r, axis=1) - 9 == 4).all()


def test_ranks_are_scipys_and_give_spearman_at_lag_zero():
    x, y = gappy(13, rows=1)
    both = np.isfinite(x) & np.isfinite(y)
    x, y = np.where(both, x, np.nan), np.where(both, y, np.nan)
    np.testing.assert_array_equal(ranks(x)[both], rankdata(x[both]))
    r = correlate(ranks(x), ranks(y), np.array([0]))[0][0, 0]
    assert r == pytest.approx(spearmanr(x[both], y[both]).statistic, abs=1e-9)


def test_effective_pairs_reference_r12():
    rng = np.random.default_rng(0)

    def first_order(phi):
        e = rng.normal(size=200_000)
        out = np.empty_like(e)
        out[0] = e[0]
        for t in range(1, e.size):
            out[t] = phi * out[t - 1] + e[t]
        return out[None, :]

    x, y = first_order(0.9), first_order(0.8)
    # 500 (1 - .72) / (1 + .72) = 81.395...; 0.5 is the tolerance of the reference case
    assert effective_pairs(x, y, np.array([500]))[0] == pytest.approx(81.3953488, rel=0.03)
    closed_form = 500 * (1 - 0.9 * 0.8) / (1 + 0.9 * 0.8)
    assert closed_form == pytest.approx(81.3953488, abs=1e-6)


def test_independent_slow_pair_reference_r13():
    def slow(seed):
        lcg, state, out = Lcg(seed), 0.0, []
        for t in range(1500):
            state = 0.99 * state + lcg.normal()
            if t >= 500:
                out.append(state)
        return np.array([out])

    x, y = slow(131), slow(132)
    r = correlate(x, y, np.array([0]))[0][0, 0]
    assert r == pytest.approx(-0.443157325, abs=1e-6)
    assert 2 * norm.sf(abs(np.arctanh(r)) * np.sqrt(997)) < 1e-48  # what Fisher's formula would claim
    circle = correlate(x, y, np.arange(1000), circular=True)[0][0]
    p = add_one_p(abs(circle[0]), np.abs(circle[1:]))
    assert p == pytest.approx(0.019, abs=1e-9)


def test_pool_weighs_by_pairs_and_survives_absence():
    r, pairs = np.array([[0.5, np.nan], [0.1, np.nan]]), np.array([[10, 0], [30, 0]])
    assert pool(r, pairs)[0] == pytest.approx(0.2)
    assert np.isnan(pool(r, pairs)[1])


def test_window_maximum_equals_recomputing_every_shift():
    circle = np.random.default_rng(2).normal(size=50)
    circle[7] = np.nan
    naive = [np.nanmax(np.abs(np.take(circle, range(s - 3, s + 4), mode="wrap"))) for s in range(50)]
    np.testing.assert_array_equal(window_maximum(circle, 3), naive)
    assert np.isnan(window_maximum(np.full(9, np.nan), 1)).all()
