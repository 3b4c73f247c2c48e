import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.kernels.grid import grid_count, grid_mean, grid_rate, hold, increases


@given(st.integers(0, 2**32), st.integers(1, 200))
@settings(max_examples=30, deadline=None)
def test_mean_is_that_of_polars(seed, samples):
    rng = np.random.default_rng(seed)
    row, cell = rng.integers(0, 4, samples), rng.integers(-2, 8, samples)
    value = np.where(rng.random(samples) < 0.2, np.nan, rng.normal(size=samples))
    ours = grid_mean(row, cell, value, (4, 6))
    theirs = np.full((4, 6), np.nan)
    frame = pl.DataFrame({"row": row, "cell": cell, "value": value}).filter(
        pl.col("value").is_finite(), pl.col("cell").is_between(0, 5)
    )
    for r, c, v in frame.group_by("row", "cell").agg(pl.col("value").mean()).iter_rows():
        theirs[r, c] = v
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    counts = grid_count(row, cell, (4, 6))
    assert counts.sum() == ((cell >= 0) & (cell < 6)).sum()


def test_hold_bridges_near_observations_only():
    values = np.array([[np.nan, 2.0, np.nan, np.nan, 5.0, np.nan]])
    np.testing.assert_array_equal(hold(values, 3), [[np.nan, 2, 2, 2, 5, np.nan]])
    np.testing.assert_array_equal(hold(values, 2), values)


def test_increases_keep_integers_exact_above_two_to_the_53():
    value = np.array([9_007_199_254_740_993, 9_007_199_254_740_994, 9_007_199_254_740_996], np.int64)
    np.testing.assert_array_equal(increases(value, np.array([True, False, False])), [np.nan, 1, 2])


def test_a_reset_is_unknown_and_a_32_bit_wrap_is_not():
    first = np.array([True, False, False])
    np.testing.assert_array_equal(increases(np.array([500, 20, 25]), first), [np.nan, np.nan, 5])
    wrap = np.array([2**32 - 3000, 0, 3000])
    np.testing.assert_array_equal(increases(wrap, first, width_bits=32), [np.nan, 3000, 3000])
    assert np.isnan(increases(np.array([2**31, 5, 6]), first, width_bits=32)[1])


@pytest.mark.parametrize("bits", [4, 8, 16, 32])
def test_a_counter_that_sticks_tells_nothing_at_its_maximum_and_never_wraps(bits):
    most = 2**bits - 1
    value = np.array([most - 2, most - 1, most, most, 3, 4], np.int64)
    first = np.arange(6) == 0
    for kind in (np.int64, np.float64):
        told = increases(value.astype(kind), first, width_bits=bits, saturates=True)
        np.testing.assert_array_equal(told, [np.nan, 1, np.nan, np.nan, np.nan, 1])


def test_a_source_that_counts_wider_than_the_narrow_ones_is_not_stuck():
    """perfquery -x writes in 64 bits what perfquery writes in 8: only the narrow maximum itself stays open."""
    told = increases(np.array([254, 255, 300, 301]), np.arange(4) == 0, width_bits=8, saturates=True)
    np.testing.assert_array_equal(told, [np.nan, np.nan, 45, 1])


def test_64_bits_wrap_and_a_reset_stays_a_reset():
    """ethtool -S: 616 counts to the wrap and 616 after it; a float at 2^64 is known to 2,048."""
    value = np.array([2.0**64 - 616, 616.0, 700.0, 5.0])
    told = increases(value, np.arange(4) == 0)
    assert told[1] == pytest.approx(1232, abs=1024)
    assert told[2] == 84
    assert np.isnan(told[3])


@given(st.integers(4, 32), st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_no_rate_of_a_stuck_counter_is_invented(bits, seed):
    """Whatever really happened, a saturating counter gives its true increases or nothing."""
    rng = np.random.default_rng(seed)
    most = 2**bits - 1
    true = np.cumsum(rng.integers(0, max(2, most // 8), 30))
    shown = np.minimum(true, most)
    told = increases(shown, np.arange(30) == 0, width_bits=bits, saturates=True)
    known = np.isfinite(told)
    np.testing.assert_array_equal(told[known], np.diff(true, prepend=0)[known])
    np.testing.assert_array_equal(known[1:], shown[1:] < most)


@given(st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_rates_give_back_the_whole_increase(seed):
    """Sum of rate x known time is the sum of increases, for any spacing and grid inside the span."""
    rng = np.random.default_rng(seed)
    ts = np.cumsum(rng.integers(1, 20, 50)).astype(np.int64) * 1_000_000
    add = rng.integers(0, 100, 50).astype(float)
    add[0] = np.nan
    step = int(rng.integers(3, 30)) * 1_000_000
    start = int(ts[0]) // step * step
    cells = int((ts[-1] - start) // step + 1)
    rate = grid_rate(np.zeros(50, np.int64), ts, add, (start, step, cells), entities=1, max_gap_us=10**9)
    edges = start + np.arange(cells + 1) * step
    known = np.minimum(edges[1:], ts[-1]) - np.maximum(edges[:-1], ts[0])
    assert np.nansum(rate[0] * known / 1e6) == pytest.approx(np.nansum(add), rel=1e-9)


def test_a_long_gap_stays_unknown():
    ts = np.array([0, 60, 600], np.int64) * 1_000_000
    rate = grid_rate(
        np.zeros(3, np.int64), ts, np.array([np.nan, 6.0, 54.0]), (0, 60_000_000, 10), entities=1, max_gap_us=90_000_000
    )
    np.testing.assert_array_equal(np.isfinite(rate[0]), [True] + [False] * 9)
    assert rate[0, 0] == pytest.approx(0.1)
