"""Online false discovery rate: reference cases, another library, and the rate on simulated streams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from shared import shared_path

from workbench.kernels.online import alpha_spending, lord_plus_plus, saffron

P = np.array(
    [
        0.0004,
        0.3,
        0.02,
        0.0001,
        0.6,
        0.01,
        0.9,
        2e-05,
        0.04,
        0.2,
        0.003,
        0.5,
        0.0009,
        0.7,
        0.03,
        5e-05,
        0.8,
        0.4,
        0.002,
        0.1,
    ]
)
probability = st.floats(0.0, 1.0)
RULES = [saffron, lord_plus_plus, alpha_spending]


def _reference(name):
    import json

    cases = json.loads(shared_path("method", "refs.json").read_text())
    return next(case for case in cases if case["case"].startswith(name))


def test_lord_decides_as_in_r15a():
    assert lord_plus_plus(P, alpha=0.05, wealth=0.005).rejected.tolist() == _reference("R15a")["expected"]


def test_saffron_decides_as_in_r15b():
    assert saffron(P, alpha=0.05, wealth=0.025, candidate=0.5).rejected.tolist() == _reference("R15b")["expected"]


def _streams():
    rng = np.random.default_rng(3)
    for power in (1, 2, 6):
        for _ in range(4):
            yield rng.uniform(size=150) ** rng.choice([1, power], size=150)


def test_saffron_gives_the_levels_of_online_fdr():
    from online_fdr.p_values.investing.saffron.saffron import Saffron

    for p in _streams():
        theirs = Saffron(0.05, 0.025, 0.5)
        decisions = [theirs.test_one_detail(value) for value in p.tolist()]
        ours = saffron(p)
        np.testing.assert_allclose(ours.level, [d.test_level for d in decisions], rtol=1e-12)
        assert ours.rejected.tolist() == [d.rejected for d in decisions]


def test_lord_gives_the_levels_of_online_fdr():
    from online_fdr.p_values.investing.lord.plus_plus import LordPlusPlus

    for p in _streams():
        theirs = LordPlusPlus(0.05, 0.005)
        decisions = [theirs.test_one_detail(value) for value in p.tolist()]
        ours = lord_plus_plus(p)
        np.testing.assert_allclose(ours.level, [d.test_level for d in decisions], rtol=1e-12)
        assert ours.rejected.tolist() == [d.rejected for d in decisions]


def test_alpha_spending_spends_alpha_and_no_more():
    level = alpha_spending(np.ones(100_000), alpha=0.05).level
    assert level[0] == pytest.approx(0.05 * 6 / np.pi**2)
    assert level.sum() == pytest.approx(0.05, abs=1e-6)  # sum of 1/t^2 is pi^2/6; the tail is below 1e-5 of it
    assert level.sum() < 0.05


@pytest.mark.parametrize("rule", RULES)
@given(p=st.lists(probability, max_size=40), more=st.lists(probability, max_size=10))
@settings(max_examples=60, deadline=None)
def test_later_tests_change_nothing_before_them(rule, p, more):
    short, long = rule(np.array(p)), rule(np.array(p + more))
    for ours, theirs in zip(short, long, strict=True):
        np.testing.assert_array_equal(ours, theirs[: len(p)])


@pytest.mark.parametrize("rule", RULES)
@given(p=st.lists(probability, min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_wealth_is_never_overdrawn_and_levels_are_levels(rule, p):
    level, rejected, wealth = rule(np.array(p))
    assert (wealth > -1e-12).all()
    assert ((level > 0) & (level < 1)).all()
    np.testing.assert_array_equal(rejected, np.array(p) <= level)


def test_a_ceiling_bounds_the_level_and_is_not_felt_below_it():
    rich = np.full(30, 1e-9)
    assert saffron(rich).level.max() > 0.05
    capped = saffron(rich, ceiling=0.05)
    assert capped.level.max() == 0.05
    assert (capped.wealth > 0).all()
    np.testing.assert_array_equal(saffron(P, ceiling=0.05).level, saffron(P).level)


@pytest.mark.parametrize("rule", RULES)
def test_nan_is_no_evidence(rule):
    with_nan, with_one = rule(np.array([np.nan, 0.0001])), rule(np.array([1.0, 0.0001]))
    np.testing.assert_array_equal(with_nan.level, with_one.level)
    assert not with_nan.rejected[0]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("p", [[-0.1], [1.1], [[0.1]]])
def test_what_is_no_p_value_is_refused(rule, p):
    with pytest.raises(ValueError, match="numbers from 0 to 1"):
        rule(np.array(p))


@pytest.mark.parametrize(("alpha", "wealth"), [(0.0, 0.1), (1.0, 0.1), (0.05, 0.05), (0.05, 0.0)])
def test_parameters_out_of_range_are_refused(alpha, wealth):
    for rule in (saffron, lord_plus_plus):
        with pytest.raises(ValueError, match="expected a number between"):
            rule(P, alpha=alpha, wealth=wealth)
    with pytest.raises(ValueError, match="candidate"):
        saffron(P, candidate=1.0)


def _share_false(rule, seed, claims=180, true_share=0.1, z=3.3):
    """Give false discovery proportion and power of one investigation, z-tests two-sided."""
    rng = np.random.default_rng(seed)
    true = rng.uniform(size=claims) < true_share
    p = 2 * stats.norm.sf(np.abs(rng.normal(size=claims) + z * true))
    rejected = rule(p).rejected
    return (rejected & ~true).sum() / max(rejected.sum(), 1), (rejected & true).sum() / max(true.sum(), 1)


def test_false_discovery_rate_holds_on_streams():
    """10 % true claims of z = 3.3: the rate keeps to 5 % within its error; the rules rank as published."""
    power = []
    for rule in (saffron, lord_plus_plus, alpha_spending):
        shares = np.array([_share_false(rule, seed) for seed in range(300)])
        mean, error = shares.mean(axis=0), shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
        assert mean[0] - 2.58 * error[0] < 0.05  # 99 % interval reaches down to the nominal rate
        assert mean[0] < 0.06
        power.append(mean[1])
    assert power[0] > power[1] > power[2] > 0.1
