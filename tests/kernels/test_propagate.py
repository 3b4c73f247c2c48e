import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from workbench.errors import ResourceError
from workbench.kernels import propagate
from workbench.kernels.coincidence import Meeting, leads, shifted_meetings
from workbench.kernels.exposure import binomial_tail, matched_sets
from workbench.kernels.propagate import Kinded, exposures, median_bounds, pair_counts, pair_leads, pair_null, tail

SPAN, WINDOW, KINDS = 1000, (1, 40), 4


def drawn(seed, count=80, places=4):
    rng = np.random.default_rng(seed)
    return Kinded(
        kind=rng.integers(0, KINDS, count), place=rng.integers(0, places, count), time=rng.integers(0, SPAN, count)
    )


def counted_by_loop(causes, effects, shift=0, span=SPAN, circle=True):
    counts = np.zeros((KINDS, KINDS), int)
    for j in range(effects.kind.size):
        before = set()
        for i in range(causes.kind.size):
            lead = int(effects.time[j] + shift - causes.time[i])
            lead = lead % span if circle else lead
            if causes.place[i] == effects.place[j] and WINDOW[0] <= lead <= WINDOW[1]:
                before.add(int(causes.kind[i]))
        for kind in before:
            counts[kind, effects.kind[j]] += 1
    return counts


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, SPAN - 1), st.integers(0, 60))
def test_counts_equal_a_loop_over_all_pairs_of_events(seed, shift, count):
    causes, effects = drawn(seed, count), drawn(seed + 1, 50)
    ours = pair_counts(causes, effects, kinds=KINDS, window=WINDOW, span=SPAN, shift=shift)
    np.testing.assert_array_equal(ours, counted_by_loop(causes, effects, shift))


@pytest.mark.parametrize("room", [20_000_000, 50])
def test_null_equals_that_of_each_pair_alone(room, monkeypatch):
    monkeypatch.setattr(propagate, "_MOST_KEPT", room)  # little room: the shifts are walked twice
    both = drawn(3, 150)
    shifts = np.arange(60, 900, 7)
    tested = ~np.eye(KINDS, dtype=bool)
    null = pair_null(both, both, kinds=KINDS, window=WINDOW, span=SPAN, shifts=shifts, tested=tested)
    draws = np.stack([counted_by_loop(both, both, int(shift)) for shift in shifts])
    np.testing.assert_array_equal(null.observed, counted_by_loop(both, both))
    np.testing.assert_allclose(null.expected, draws.mean(axis=0))
    expected = (1 + (draws >= null.observed).sum(axis=0)) / (1 + shifts.size)
    np.testing.assert_allclose(null.p[tested], expected[tested])
    assert np.isnan(null.p[~tested]).all()
    roots = np.sqrt(np.concatenate([null.observed[None], draws]) + 0.375)
    scores = (roots - roots.mean(axis=0)) / np.maximum(roots.std(axis=0), 0.5)
    never = (np.sqrt(0.375) - roots.mean(axis=0)) / np.maximum(roots.std(axis=0), 0.5)
    largest = np.maximum(np.where(tested, scores, -np.inf).max(axis=(1, 2)), never[tested].max())
    family = (largest[1:, None, None] >= scores[0] - 1e-9).sum(axis=0) + 1
    np.testing.assert_allclose(null.p_family[tested], family[tested] / (1 + shifts.size))
    a, b = ((both.place[both.kind == kind], both.time[both.kind == kind]) for kind in (0, 1))
    alone = shifted_meetings(a, b, Meeting(least=1, most=40), span=SPAN, shifts=shifts)[1]
    np.testing.assert_array_equal(draws[:, 0, 1], alone)


@pytest.mark.parametrize("seed", range(4))
def test_leads_equal_those_of_each_pair_alone(seed):
    both = drawn(seed, 120)
    cause, effect, lead = pair_leads(both, both, kinds=KINDS, window=WINDOW)
    for i in range(KINDS):
        for j in range(KINDS):
            a, b = ((both.place[both.kind == kind], both.time[both.kind == kind]) for kind in (i, j))
            alone = np.sort(leads(a, b, Meeting(least=1, most=40)))
            chosen = (cause == i) & (both.kind[effect] == j)
            np.testing.assert_array_equal(np.sort(lead[chosen]), alone)


@pytest.mark.parametrize("seed", range(4))
def test_sets_equal_those_of_each_pair_alone(seed):
    both = drawn(seed, 200, places=12)
    group = np.zeros(12, np.int64)
    outcome = both.kind == 2
    b = both.place[outcome], both.time[outcome]
    cases = np.arange(b[0].size)
    sets = exposures(both, b, cases=cases, kinds=KINDS, window=WINDOW, apart=60, group=group)
    for kind in (0, 1, 3):
        a = both.place[both.kind == kind], both.time[both.kind == kind]
        alone = matched_sets(a, b, cases=cases, places=12, window=WINDOW, apart=60)
        found, expected, p = sets.p(kind)
        assert (found, expected, p) == pytest.approx((alone.exposed.sum(), alone.share.sum(), alone.p), rel=1e-12)


def test_places_of_another_class_are_no_controls():
    causes = Kinded(kind=np.zeros(3, np.int64), place=np.array([0, 1, 2]), time=np.zeros(3, np.int64))
    group = np.array([0, 0, 1, 1, 1, 0])
    sets = exposures(
        causes, (np.array([0]), np.array([5])), cases=np.array([0]), kinds=1, window=(1, 10), apart=9, group=group
    )
    assert (sets.members[0], sets.exposed[0, 0]) == (3, 2)
    lone = exposures(
        causes,
        (np.array([0]), np.array([5])),
        cases=np.array([0]),
        kinds=1,
        window=(1, 10),
        apart=9,
        group=np.arange(6),
    )
    assert np.isnan(lone.p(0)[2])
    with pytest.raises(ResourceError, match="fewer kinds"):
        exposures(
            causes,
            (np.array([0]), np.array([5])),
            cases=np.array([0]),
            kinds=10**9,
            window=(1, 10),
            apart=9,
            group=group,
        )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12), st.integers(0, 13))
def test_tail_is_that_of_the_convolution(chance, found):
    assert tail(np.array(chance), found) == pytest.approx(binomial_tail(np.array(chance), found), rel=1e-10, abs=1e-300)


def test_tail_keeps_its_digits_far_out():
    assert tail(np.full(400, 0.01), 60) == pytest.approx(binom.sf(59, 400, 0.01), rel=1e-9)


def test_bounds_of_the_median_cover_it():
    rng = np.random.default_rng(1)
    for size in (6, 17, 40):
        bounds = [median_bounds(np.sort(rng.exponential(size=size)))[1:] for _ in range(400)]
        covered = sum(low <= np.log(2) <= high for low, high in bounds)
        assert covered >= binom.ppf(0.001, 400, 0.95)
    assert np.isnan(median_bounds(np.arange(5))[1])
    assert np.isnan(median_bounds(np.empty(0))[0])
