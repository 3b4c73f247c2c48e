"""Sequential p-values: the compiled loop against its numpy twin, exact level, and independence of anything but the key."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare

from workbench.kernels.matched import centre, exact_p, matched_score
from workbench.kernels.sequential import draw_members, expected_draws, most_draws, permutation_p


def scores_of(seed: int, sizes: list[int], features: int = 3) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return centre(np.random.default_rng(seed).normal(size=(offsets[-1], features)), offsets), offsets


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    key=st.integers(0, 2**64 - 1),
    sizes=st.lists(st.integers(3, 11), min_size=2, max_size=12),
    stop_at=st.sampled_from([1, 5, 20, 10**6]),
)
def test_compiled_and_numpy_draw_alike(seed, key, sizes, stop_at):
    scores, offsets = scores_of(seed, sizes)
    bound = matched_score(scores, offsets).largest
    one, two = (
        permutation_p(scores, offsets, bound, key=key, most=700, stop_at=stop_at, compiled=compiled)
        for compiled in (True, False)
    )
    assert one == two


def test_members_are_drawn_evenly_and_every_set_alone():
    offsets = np.array([0, 3, 10])
    drawn = draw_members(11, 0, 42_000, offsets)
    for f, size in enumerate((3, 7)):
        assert chisquare(np.bincount(drawn[:, f] - offsets[f], minlength=size)).pvalue > 1e-4
    joint = np.bincount(drawn[:, 0] * 7 + drawn[:, 1] - 3, minlength=21)
    assert chisquare(joint).pvalue > 1e-4
    assert not np.array_equal(drawn, draw_members(12, 0, 42_000, offsets))


def test_agrees_with_counting_every_labelling():
    scores, offsets = scores_of(3, [4, 5, 3, 4, 5])
    bound = matched_score(scores, offsets).largest
    exact = exact_p(scores, offsets, bound)
    drawn = permutation_p(scores, offsets, bound, key=5, most=200_000, stop_at=10**9)
    # 4 sd of a binomial share: fails once in 16,000 seeds, and the seed is fixed
    assert abs(drawn.p - exact) < 4 * np.sqrt(exact * (1 - exact) / 200_000) + 1e-5


def test_level_is_exact():
    """Nulls reject at most as often as stated, and not much less (exact.md section 2)."""
    p = np.array([one_null_p(seed) for seed in range(1500)])
    for level in (0.05, 0.01):
        rejected = int((p <= level).sum())
        assert binomtest(rejected, p.size, level).pvalue > 0.001


def one_null_p(seed: int) -> float:
    scores, offsets = scores_of(seed, [11] * 12, features=4)
    bound = matched_score(scores, offsets).largest
    return permutation_p(scores, offsets, bound, key=seed, most=5616, stop_at=20).p


def test_a_lone_signal_among_many_can_pass():
    """The smallest p, 1 / (1 + B), lies below what BY (BH) asks of one signal among M."""
    for count in (1, 60, 500, 10_000):
        harmonic = (1.0 / np.arange(1, count + 1)).sum()
        dependent = most_draws(count, alpha=0.05, dependent=True, cap=10**9)
        assert 1 / (1 + dependent) < 0.05 / (count * harmonic)
        assert 1 / (1 + most_draws(count, alpha=0.05, dependent=False, cap=10**9)) < 0.05 / count
    assert most_draws(10_000, alpha=0.05, dependent=True, cap=1000) == 1000


@pytest.mark.parametrize("p", [0.5, 0.05, 0.001])
def test_mean_draws_match_simulated_sequences(p):
    rng = np.random.default_rng(1)
    found = np.cumsum(rng.random((4000, 1500)) < p, axis=1)
    draws = np.where(found[:, -1] >= 5, (found >= 5).argmax(axis=1) + 1, 1500)
    error = draws.std() / np.sqrt(draws.size) + 1e-9
    assert abs(draws.mean() - expected_draws(p, stop_at=5, most=1500)) < 4 * error


def test_nothing_that_moves_has_p_one():
    assert permutation_p(np.zeros((6, 2)), np.array([0, 3, 6]), 0.0, key=1, most=100, stop_at=20).p == 1.0
