import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.kernels.envelope import cell_counts, envelope, gaps, quantiles


def test_a_spike_of_one_sample_among_many_is_kept():
    ts = np.arange(100_000, dtype=np.int64)
    values = np.zeros(ts.size)
    values[54_321] = 9.0
    low, mean, high = envelope(ts, values, start_us=0, step_us=1000, cells=100)
    assert high[54] == 9.0
    assert low[54] == 0.0
    assert mean[54] == 0.009
    assert high.sum() == 9.0


@given(st.lists(st.tuples(st.integers(-5, 25), st.floats(-9, 9)), max_size=40))
def test_envelope_is_that_of_each_cell(samples):
    ts = np.array([t for t, _ in samples], dtype=np.int64)
    values = np.array([v for _, v in samples], dtype=np.float64)
    low, mean, high = envelope(ts, values, start_us=0, step_us=5, cells=4)
    for cell in range(4):
        inside = values[(ts >= 5 * cell) & (ts < 5 * cell + 5)]
        if inside.size:
            np.testing.assert_allclose([low[cell], mean[cell], high[cell]], [inside.min(), inside.mean(), inside.max()])
        else:
            assert np.isnan([low[cell], mean[cell], high[cell]]).all()


def test_values_that_are_not_finite_are_no_observation():
    low, _, high = envelope(np.array([0, 1]), np.array([np.nan, np.inf]), start_us=0, step_us=5, cells=1)
    assert np.isnan(low[0])
    assert np.isnan(high[0])


def test_counts_leave_out_what_lies_outside():
    assert cell_counts(np.array([-1, 0, 9, 10]), start_us=0, step_us=5, cells=2).tolist() == [1, 1]


def test_gaps_at_both_ends_and_in_the_middle():
    found = gaps(np.array([100, 110, 300]), start_us=0, end_us=400, longest_us=50)
    assert found == [(0, 100), (110, 300), (300, 400)]


def test_quantiles_are_those_of_numpy():
    values = np.random.default_rng(4).normal(size=(31, 50))
    values[np.random.default_rng(5).random(values.shape) < 0.3] = np.nan
    values[:, 7] = np.nan
    found = quantiles(values, (0.0, 0.05, 0.5, 0.95, 1.0))
    seen = np.delete(np.arange(50), 7)
    np.testing.assert_allclose(found[:, seen], np.nanquantile(values[:, seen], (0.0, 0.05, 0.5, 0.95, 1.0), axis=0))
    assert np.isnan(found[:, 7]).all()
    assert quantiles(np.empty((0, 3)), (0.5,)).shape == (1, 3)
