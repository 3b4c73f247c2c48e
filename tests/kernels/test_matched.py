"""Scores, residuals, corrections and estimates against other libraries, closed forms and planted truth."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from workbench.kernels.bound import case_differences, control_deviation, upper_bound
from workbench.kernels.clogit import conditional_logit, own_p
from workbench.kernels.effect import affected_share, apart_from_set, conditional_z, effective_features, mean_shift
from workbench.kernels.matched import (
    case_mask,
    centre,
    exact_p,
    inflation,
    matched_score,
    overlapping_pairs,
    set_of,
    winsorise,
)
from workbench.kernels.multiplicity import adjusted_p
from workbench.kernels.ranks import rank_sum_p, rank_z, within_ranks
from workbench.kernels.residual import confounder_columns, residualise
from workbench.kernels.tail import lattice_tail, saddle_point_tail

SIZES = st.lists(st.integers(3, 8), min_size=2, max_size=8)


def offsets_of(sizes) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 999), sizes=SIZES, scale=st.sampled_from([1e-6, 1.0, 1e9]), shift=st.sampled_from([0.0, 1e3])
)
def test_scores_do_not_see_the_unit(seed, sizes, scale, shift):
    offsets = offsets_of(sizes)
    x = np.random.default_rng(seed).normal(size=(offsets[-1], 3))
    control = ~case_mask(offsets)
    one, two = winsorise(x, control), winsorise(scale * (x + shift), control)
    np.testing.assert_allclose(one, two, atol=1e-6)
    assert np.abs(one).max() <= 6


def test_scores_where_controls_stand_still():
    offsets = offsets_of([4, 4])
    x = np.zeros((8, 2))
    x[0, 0] = 1.0  # only a case moves
    scores = winsorise(x, ~case_mask(offsets))
    assert scores[0, 0] > 0
    assert not scores[:, 1].any()
    assert matched_score(centre(scores, offsets), offsets).z[1] == 0


def test_z_is_the_permutation_z():
    offsets = offsets_of([4, 5, 3])
    scores = centre(np.random.default_rng(1).normal(size=(12, 2)), offsets)
    draws = np.stack([scores[[i, j, k]].sum(axis=0) for i in range(4) for j in range(4, 9) for k in range(9, 12)])
    score = matched_score(scores, offsets)
    np.testing.assert_allclose(score.variance, draws.var(axis=0), atol=1e-12)
    np.testing.assert_allclose(draws.mean(axis=0), 0, atol=1e-12)


def test_pairs_by_hand_and_by_brute_force():
    rng = np.random.default_rng(2)
    offsets = offsets_of(rng.integers(3, 9, size=30))
    group, time = rng.integers(-1, 5, size=offsets[-1]), rng.integers(0, 100, size=30)
    owner = set_of(offsets)
    wanted = {
        (a, b)
        for a in range(offsets[-1])
        for b in range(a + 1, offsets[-1])
        if group[a] == group[b] >= 0 and owner[a] != owner[b] and abs(time[owner[a]] - time[owner[b]]) <= 10
    }
    left, right = overlapping_pairs(group, time, offsets, 10)
    assert set(zip(left.tolist(), right.tolist(), strict=True)) == wanted
    assert left.size == len(wanted)


def test_inflation_is_the_variance_of_sums_over_copies():
    """Two sets that are copies of each other count as one: v = 1.5 when each case is a control of no other set."""
    rng = np.random.default_rng(3)
    offsets = offsets_of([11, 11])
    scores = centre(np.tile(rng.normal(size=(11, 1)), (2, 1)), offsets)
    pairs = (np.arange(11), np.arange(11, 22))
    weight = case_mask(offsets) - 1 / 11
    by_hand = (
        1
        + 2
        * ((weight * scores[:, 0])[:11] * (weight * scores[:, 0])[11:]).sum()
        / matched_score(scores, offsets).variance[0]
    )
    assert inflation(scores, offsets, pairs, matched_score(scores, offsets).variance) == pytest.approx(by_hand)


def test_residuals_are_those_of_least_squares_with_a_constant_per_set():
    import statsmodels.api as sm

    rng = np.random.default_rng(4)
    offsets = np.arange(0, 201, 10)
    raw = rng.normal(size=(200, 3))
    raw[5:15, 1] = np.nan
    y = 2 * np.nan_to_num(raw[:, :1]) + rng.normal(size=(200, 2)) + 5.0 * rng.normal(size=20)[set_of(offsets)][:, None]
    columns = confounder_columns(raw)
    assert columns.shape == (200, 4)  # three, and one that marks the gaps
    dummies = np.eye(20)[set_of(offsets)]
    expected = np.stack([sm.OLS(y[:, k], np.column_stack([columns, dummies])).fit().resid for k in range(2)], axis=1)
    np.testing.assert_allclose(centre(residualise(y, columns, offsets), offsets), expected, atol=1e-9)


def test_a_wave_of_the_fleet_gets_no_slope_on_the_load():
    """A feature that is the same for every member of a set stays so, whatever the load does over time."""
    rng = np.random.default_rng(5)
    offsets = np.arange(0, 201, 10)
    over_time = rng.normal(size=20)[set_of(offsets)][:, None]
    load = over_time + 0.3 * rng.normal(size=(200, 1))
    left = centre(residualise(over_time, confounder_columns(load), offsets), offsets)
    assert np.abs(left).max() < 1e-12


def test_a_feature_that_is_wholly_explained_is_nothing():
    offsets = np.arange(0, 81, 10)
    load = np.random.default_rng(5).normal(size=(80, 1))
    scores = winsorise(residualise(3 * load + 1, confounder_columns(load), offsets), ~case_mask(offsets))
    assert np.abs(centre(scores, offsets)).max() < 1e-12
    assert confounder_columns(np.full((9, 2), np.nan)).shape == (9, 0)


@settings(max_examples=50, deadline=None)
@given(p=st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=40))
def test_step_up_agrees_with_statsmodels(p):
    from statsmodels.stats.multitest import multipletests

    for dependent, name in ((False, "fdr_bh"), (True, "fdr_by")):
        expected = multipletests(p, method=name)[1]
        np.testing.assert_allclose(adjusted_p(np.array(p), dependent=dependent), expected, rtol=1e-9)


def test_more_tests_than_given_count():
    p = np.array([0.001, 0.02])
    padded = np.concatenate([p, np.ones(8)])
    np.testing.assert_allclose(
        adjusted_p(p, dependent=True, tested=10), adjusted_p(padded, dependent=True)[:2], rtol=1e-12
    )


def test_ranks_agree_with_scipy():
    offsets = offsets_of([4, 6, 3])
    x = np.random.default_rng(6).integers(0, 4, size=(13, 2)).astype(float)
    ranks = within_ranks(x, offsets)
    for a, b in pairwise(offsets):
        np.testing.assert_allclose(ranks[a:b], rankdata(x[a:b], axis=0))
    assert rank_z(np.ones((13, 1)), offsets)[0] == 0


def test_rank_sum_p_counts_every_labelling():
    rng = np.random.default_rng(7)
    sets = [rankdata(rng.integers(0, 3, size=n)).tolist() for n in (4, 3, 5)]
    sums = [a + b + c for a in sets[0] for b in sets[1] for c in sets[2]]
    observed = sets[0][0] + sets[1][0] + sets[2][0]
    assert rank_sum_p(sets) == pytest.approx(np.mean([s >= observed - 1e-9 for s in sums]))


@pytest.mark.parametrize("sets", [8, 40])
def test_saddle_point_is_near_the_exact_tail(sets):
    rng = np.random.default_rng(8)
    scores = np.rint(10 * rng.standard_t(3, size=11 * sets)).astype(int).clip(-60, 60)
    offsets = np.arange(0, 11 * sets + 1, 11)
    mean = np.add.reduceat(scores, offsets[:-1]).sum() / 11
    sd = np.sqrt(sum(scores[a : a + 11].var() for a in offsets[:-1]))
    for z in (0.5, 1.6, 3.0):
        bound = int(np.ceil(mean + z * sd))
        exact = lattice_tail(scores, offsets, bound)
        assert saddle_point_tail(scores.astype(float), offsets, float(bound), step=1.0) == pytest.approx(exact, rel=0.1)


def test_saddle_point_at_the_edges():
    scores, offsets = np.array([2.0, -1.0, -1.0, 2.0, -1.0, -1.0]), np.array([0, 3, 6])
    assert saddle_point_tail(scores, offsets, 4.0) == pytest.approx(1 / 9)
    assert saddle_point_tail(scores, offsets, 4.1) == 0
    assert saddle_point_tail(scores, offsets, -2.0) == 1
    assert saddle_point_tail(scores, offsets, 0.0) == pytest.approx(0.5)


def test_conditional_logit_says_where_there_is_no_estimate():
    x = np.array([[1.0], [0.0], [0.0]] * 10)
    offsets = np.arange(0, 31, 3)
    fit = conditional_logit(x, offsets)
    assert not fit.finite
    assert np.isnan(fit.beta).all()
    assert own_p(x[:, 0], np.empty((30, 0)), offsets) < 1e-4
    flat = conditional_logit(np.zeros((30, 1)), offsets)
    assert not flat.finite


def test_own_p_has_its_level_beside_a_true_covariate():
    rng = np.random.default_rng(9)
    offsets = np.arange(0, 331, 11)
    p = []
    for _ in range(300):
        x = rng.normal(size=(330, 2))
        x[offsets[:-1], 1] += 1.0
        p.append(own_p(x[:, 0], x[:, [1]], offsets))
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.09  # 3.2 sd either way


def planted(rng, sets: int, share: float, shift: float) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.arange(0, 11 * sets + 1, 11)
    x = rng.normal(size=(11 * sets, 4))
    moved = rng.random(sets) < share
    x[offsets[:-1][moved], 1] += shift
    return x, offsets


def test_a_shift_comes_out_in_sd_of_the_controls():
    x, offsets = planted(np.random.default_rng(10), 2000, 0.5, 2.0)
    shift = mean_shift(case_differences(7.0 * x, offsets)[:, 1], 1.0)
    assert shift.low < 1.0 < shift.high
    assert shift.mean == pytest.approx(1.0, abs=4 * shift.error)
    np.testing.assert_allclose(control_deviation(7.0 * x, offsets), 7.0, rtol=0.05)


def test_the_bound_covers_the_planted_effect():
    """A true effect at the bound is missed in at most about 5 %: U >= d in 95 % (intersection-union)."""
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(200):
        x, offsets = planted(rng, 60, 1.0, 0.34)
        covered += upper_bound(case_differences(x, offsets), 1.0) >= 0.34
    assert covered >= 185  # P < .001 were the coverage .96


def test_a_bound_needs_controls_that_differ():
    x = np.zeros((9, 1))
    x[0] = 1
    assert upper_bound(case_differences(x, np.array([0, 3, 6, 9])), 1.0) == np.inf


def test_share_affected_holds_its_limits():
    rng = np.random.default_rng(12)
    shares = []
    for _ in range(30):
        x, offsets = planted(rng, 60, 0.6, 3.0)
        cases, controls = apart_from_set(x, offsets)
        share = affected_share(cases.max(axis=1), controls.max(axis=1))
        shares.append(share.estimate)
        assert share.low <= 0.75  # the share drawn lies within .6 +- 2.4 sd
        assert share.high >= 0.45
        assert share.low <= share.estimate <= share.high
    assert np.median(shares) == pytest.approx(0.6, abs=0.15)  # 4 standard errors


def test_share_affected_comes_near_the_truth_with_many_episodes():
    rng = np.random.default_rng(14)
    for share in (0.6, 0.3):
        x, offsets = planted(rng, 1000, share, 3.0)
        cases, controls = apart_from_set(x[:, [1]], offsets)
        found = affected_share(cases[:, 0], controls[:, 0])
        assert found.estimate == pytest.approx(share, abs=0.06)
        assert found.low <= share <= found.high


def test_conditional_estimate_is_the_maximum_of_its_likelihood():
    grid = np.linspace(0, 8, 80_001)
    for z, passing in ((3.5, 3.3), (4.2, 3.3), (6.0, 2.0)):
        log = -0.5 * (z - grid) ** 2 - np.log(norm.sf(passing - grid) + norm.cdf(-passing - grid))
        assert conditional_z(z, passing) == pytest.approx(grid[log.argmax()], abs=1e-3)
        assert conditional_z(-z, passing) == -conditional_z(z, passing)
        assert conditional_z(z, passing) < z


def test_effective_features_count_independent_ones():
    x = np.random.default_rng(13).normal(size=(20_000, 5))
    assert effective_features(x) == pytest.approx(5, abs=0.05)
    assert effective_features(np.repeat(x[:, :2], 3, axis=1)) == pytest.approx(2, abs=0.05)


def test_exact_p_of_the_largest_is_one_over_all():
    offsets = offsets_of([5, 5])
    scores = np.zeros((10, 1))
    scores[[0, 5]] = 1.0
    scores = centre(scores, offsets)
    assert exact_p(scores, offsets, matched_score(scores, offsets).largest) == pytest.approx(1 / 25)
