import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma, nbinom, poisson

from workbench.errors import ResourceError
from workbench.kernels import recur
from workbench.kernels.recur import again_within, next_gap, poisson_bounds, risk_sets, same_pairs, shrunken


def drawn(seed, places=6, failures=30, span=1000):
    rng = np.random.default_rng(seed)
    start = rng.integers(0, span // 2, places)
    end = start + rng.integers(1, span // 2, places)
    place = rng.integers(0, places, failures)
    time = rng.integers(start[place], end[place] + 1)
    return (np.arange(places), start, end), (place, time), rng.integers(0, 2, places)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_sets_equal_a_loop_over_failures_and_places(seed):
    exposure, failures, alike = drawn(seed)
    sets = risk_sets(exposure, failures, alike)
    expected = np.zeros(6)
    for j, (place, time) in enumerate(zip(*failures, strict=True)):
        members = [at for at in range(6) if exposure[1][at] <= time <= exposure[2][at] and alike[at] == alike[place]]
        assert sets.places[sets.starts[sets.of[j]] : sets.starts[sets.of[j] + 1]].tolist() == members
        assert sets.size[j] == len(members)
        expected[members] += 1 / len(members)
    np.testing.assert_allclose(sets.expected(6), expected)
    for at in range(6):
        assert sets.chances(at).sum() == pytest.approx(expected[at])


def test_stretches_of_one_place_may_overlap():
    exposure = np.array([0, 0, 1]), np.array([0, 5, 0]), np.array([10, 20, 8])
    sets = risk_sets(exposure, (np.zeros(2, np.int64), np.array([7, 9])), np.zeros(2, np.int64))
    assert sets.size.tolist() == [2, 1]


def test_dealing_gives_every_place_at_risk_its_share():
    exposure, failures, alike = drawn(3)
    sets, rng = risk_sets(exposure, failures, alike), np.random.default_rng(1)
    counts = sum(np.bincount(sets.deal(rng), minlength=6) for _ in range(4000)) / 4000
    np.testing.assert_allclose(counts, sets.expected(6), atol=0.15)
    assert (alike[sets.deal(rng)] == alike[failures[0]]).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 25))
def test_pairs_and_gaps_equal_loops(seed, count):
    rng = np.random.default_rng(seed)
    place, time = rng.integers(0, 4, count), rng.permutation(200)[:count]
    pairs = sum(place[i] == place[j] for i in range(count) for j in range(i))
    assert same_pairs(place) == pairs
    gaps = [
        min([time[j] - time[i] for j in range(count) if place[j] == place[i] and time[j] > time[i]], default=np.inf)
        for i in range(count)
    ]
    np.testing.assert_array_equal(next_gap(place, time), np.array(gaps, dtype=float))
    horizons = np.array([1, 10, 60])
    loop = [sum(gaps[i] <= h and time[i] + h <= 180 for i in range(count)) for h in horizons.tolist()]
    assert again_within(place, time, horizons, 180).tolist() == loop


@pytest.mark.parametrize("count", [1, 3, 40])
def test_bounds_of_a_rate_leave_exactly_their_tails(count):
    low, high = (bound[0] for bound in poisson_bounds(np.array([count]), np.array([2.5])))
    assert poisson.sf(count - 1, low * 2.5) == pytest.approx(0.025)
    assert poisson.cdf(count, high * 2.5) == pytest.approx(0.025)
    none = poisson_bounds(np.array([0]), np.array([2.5]))
    assert (none[0][0], none[1][0]) == (0.0, pytest.approx(-np.log(0.025) / 2.5))
    assert np.isnan(poisson_bounds(np.array([1]), np.array([0.0]))[1][0])


def test_shape_is_the_maximum_of_the_likelihood_and_the_posterior_that_of_bayes():
    rng = np.random.default_rng(2)
    expected = rng.uniform(0.5, 4, 400)
    count = rng.poisson(expected * rng.gamma(1.5, 1 / 1.5, 400))
    ratio, low, high, shape = shrunken(count, expected)
    assert shape == pytest.approx(1.5, rel=0.4)

    def likelihood(a):
        return nbinom.logpmf(count, a, a / (a + expected)).sum()

    assert likelihood(shape) >= max(likelihood(shape * factor) for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2)) - 1e-6
    n, e = count[0], expected[0]

    def density(x):
        return gamma.pdf(x, shape, scale=1 / shape) * poisson.pmf(n, e * x)

    whole = quad(density, 0, 60)[0]
    assert ratio[0] == pytest.approx(quad(lambda x: x * density(x), 0, 60)[0] / whole, rel=1e-6)
    assert quad(density, 0, low[0])[0] / whole == pytest.approx(0.025, rel=1e-4)
    assert quad(density, high[0], 60)[0] / whole == pytest.approx(0.025, rel=1e-3)


def test_no_exposure_tells_nothing_and_too_much_is_refused(monkeypatch):
    ratio, low, high, _ = shrunken(np.array([3, 0, 1]), np.array([1.0, 0.0, np.nan]))
    assert np.isnan([ratio[1], low[1], high[2]]).all()
    monkeypatch.setattr(recur, "_MOST_CELLS", 3)
    with pytest.raises(ResourceError, match="too many to follow"):
        risk_sets(*drawn(1))
