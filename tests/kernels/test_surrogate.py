import numpy as np
import pytest

from workbench.errors import UsageError
from workbench.kernels.surrogate import add_one_p, far_shifts, random_shifts, spawn


def test_generators_do_not_depend_on_how_many_are_made():
    one = [rng.integers(1 << 40) for rng in spawn(3, 40)]
    two = [rng.integers(1 << 40) for rng in spawn(3, 5)]
    assert one[:5] == two
    assert len(set(one)) == 40


def test_far_shifts_keep_their_distance_both_ways_round():
    draws = far_shifts(1000, 60, 500, spawn(1, 1)[0])
    assert draws.size == len(set(draws.tolist())) == 500
    assert np.minimum(draws, 1000 - draws).min() >= 60


def test_all_shifts_where_fewer_exist():
    assert far_shifts(100, 10, 999, spawn(1, 1)[0]).tolist() == list(range(10, 91))


def test_too_short_says_what_would_do():
    with pytest.raises(UsageError, match="within 16 cells"):
        far_shifts(50, 20, 99, spawn(1, 1)[0])
    with pytest.raises(UsageError, match="longer span"):
        random_shifts(100, 50, 9, spawn(1, 1)[0])


def test_random_shifts_are_even_between_their_bounds():
    draws = random_shifts(10**9, 10**8, 20_000, spawn(2, 1)[0])
    assert draws.min() >= 10**8
    assert draws.max() <= 9 * 10**8
    # mean of a uniform: 5e8, standard error 2.3e8 / sqrt(20000) = 1.6e6; five of them
    assert abs(draws.mean() - 5e8) < 8.2e6


def test_p_is_never_zero_and_counts_ties_and_unknowns():
    assert add_one_p(10.0, np.zeros(99)) == 0.01
    assert add_one_p(1.0, np.array([1.0, 1.0 - 1e-13, np.nan])) == 1.0
    assert np.isnan(add_one_p(np.nan, np.zeros(9)))
