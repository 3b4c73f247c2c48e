"""Families inside the online rule: variants pay for each other, and a family earns once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from workbench.hypotheses.families import Tried, decide_in_order, family_groups, family_sizes
from workbench.kernels.online import alpha_spending, lord_plus_plus, saffron

RULES = [saffron, lord_plus_plus, alpha_spending]
tests_ = st.lists(
    st.builds(
        Tried,
        p=st.floats(0, 1) | st.sampled_from([1e-6, 1e-4, 0.002]),
        idea=st.tuples(st.sampled_from("abcd"), st.just("xid")),
        family=st.none() | st.sampled_from(["f", "g"]),
    ),
    max_size=25,
)


@pytest.mark.parametrize("rule", RULES)
def test_without_families_it_is_the_plain_rule(rule):
    p = np.random.default_rng(1).uniform(size=80) ** 3
    decided = decide_in_order([Tried(value, (str(place), "xid")) for place, value in enumerate(p)], rule=rule)
    plain = rule(p)
    assert [d.rejected for d in decided] == plain.rejected.tolist()
    np.testing.assert_allclose([d.level for d in decided], plain.level)
    np.testing.assert_allclose([d.wealth for d in decided], plain.wealth)


@pytest.mark.parametrize("rule", RULES)
@given(past=tests_, future=tests_)
@settings(max_examples=60, deadline=None)
def test_what_comes_later_changes_no_decision(rule, past, future):
    assert decide_in_order(past + future, rule=rule)[: len(past)] == decide_in_order(past, rule=rule)


@pytest.mark.parametrize("rule", RULES)
@given(tests=tests_)
@settings(max_examples=60, deadline=None)
def test_a_family_earns_once_and_then_neither_pays_nor_earns(rule, tests):
    decided = decide_in_order(tests, rule=rule)
    wealth = None
    for decision in decided:
        if not decision.pays and wealth is not None:
            assert decision.wealth == wealth
        wealth = decision.wealth
    discoveries = {(t.idea, t.family) for t, d in zip(tests, decided, strict=True) if d.pays and d.rejected}
    assert len(discoveries) == sum(d.pays and d.rejected for d in decided)


def test_the_kth_try_of_an_idea_is_held_to_k_times_its_p():
    idea, other = ("gpu.ecc", "xid"), ("gpu.power_w", "xid")
    decided = decide_in_order([Tried(0.2, idea), Tried(0.9, other), Tried(0.002, idea), Tried(0.4, idea)])
    assert [d.tries for d in decided] == [1, 1, 2, 3]
    assert [d.p_family for d in decided] == pytest.approx([0.2, 0.9, 0.004, 1.0])


def test_a_declared_family_joins_what_shares_no_idea_and_cannot_part_what_does():
    a, b = ("a", "xid"), ("b", "xid")
    assert family_sizes([Tried(0.1, a), Tried(0.1, b)]) == [1, 1]
    assert family_sizes([Tried(0.1, a, "f"), Tried(0.1, b, "f")]) == [1, 2]
    assert family_sizes([Tried(0.1, a, "f"), Tried(0.1, a, "g"), Tried(0.1, b, "g")]) == [1, 2, 3]
    assert family_sizes([Tried(0.1, a), Tried(0.1, b), Tried(0.1, a, "f"), Tried(0.1, b, "f")]) == [1, 1, 2, 4]


def one_at_a_time(tests, rule):
    """The rule as it is told: each test is decided when it comes, from what came before (the slow twin)."""
    inside, decisions = [], []
    for place, size in enumerate(family_sizes(tests)):
        groups = family_groups(tests[: place + 1])
        family = [k for k in range(place) if groups[k] == groups[place]]
        p = min(1.0, size * tests[place].p)
        levels = [decisions[k][0] for k in family if decisions[k][2] and decisions[k][1]]
        if levels:
            decisions.append((min(levels), p <= min(levels), False))
            continue
        inside.append(p)
        level = float(rule(np.array(inside)).level[-1])
        decisions.append((level, p <= level, True))
    return decisions


@pytest.mark.parametrize("rule", RULES)
@given(tests=tests_)
@settings(max_examples=60, deadline=None)
def test_it_decides_as_when_each_test_is_decided_when_it_comes(rule, tests):
    assert [(d.level, d.rejected, d.pays) for d in decide_in_order(tests, rule=rule)] == one_at_a_time(tests, rule)


def test_nothing_tried_is_nothing_decided():
    assert decide_in_order([]) == []


def _investigation(seed, *, variants, claims=50, z=3.3):
    """Claims with correlated variants, all logged; give false discovery proportion and power over ideas."""
    rng = np.random.default_rng(seed)
    true = rng.uniform(size=claims) < 0.1
    shared = rng.normal(size=claims)
    tests = []
    for claim in range(claims):
        own = np.sqrt(0.8) * shared[claim] + np.sqrt(0.2) * rng.normal(size=variants) + z * true[claim]
        tests += [Tried(float(2 * stats.norm.sf(abs(value))), (str(claim), "xid")) for value in own]
    found = {int(t.idea[0]) for t, d in zip(tests, decide_in_order(tests), strict=True) if d.rejected}
    false = sum(not true[claim] for claim in found)
    return false / max(len(found), 1), sum(true[claim] for claim in found) / max(true.sum(), 1)


@pytest.mark.parametrize("variants", [1, 5])
def test_false_ideas_are_rare_however_many_variants_are_tried(variants):
    """The share of false ideas among those found keeps to 5 % within its error (10 % true, z = 3.3)."""
    shares = np.array([_investigation(seed, variants=variants) for seed in range(100)])
    mean, error = shares.mean(axis=0), shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
    assert mean[0] - 2.58 * error[0] < 0.05
    assert mean[0] < 0.07
    assert mean[1] > 0.2
