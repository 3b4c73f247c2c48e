from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, poisson_binom

from workbench.kernels.exposure import binomial_tail, episode_starts, matched_sets


def test_tail_equals_counting_every_outcome():
    chance = np.array([0.1, 0.5, 0.5, 0.9, 0.25])
    for found in range(7):
        exact = sum(
            np.prod(np.where(outcome, chance, 1 - chance))
            for outcome in product([False, True], repeat=5)
            if sum(outcome) >= found
        )
        assert binomial_tail(chance, found) == pytest.approx(exact, rel=1e-12, abs=0)


def test_tail_keeps_its_digits_where_scipy_loses_them():
    assert binomial_tail(np.full(2000, 1e-3), 30) == pytest.approx(binom.sf(29, 2000, 1e-3), rel=1e-9)
    chance = np.random.default_rng(1).random(200)
    assert binomial_tail(chance, 100) == pytest.approx(poisson_binom.sf(99, chance), abs=1e-12)


def sets_by_hand(a, b, cases, places, window, apart):
    rows = []
    for case in sorted(cases, key=lambda i: b[1][i]):
        t, own = b[1][case], b[0][case]
        members = [p for p in range(places) if p == own or not any((b[0] == p) & (np.abs(b[1] - t) <= apart))]
        exposed = [bool(np.any((a[0] == p) & (t - a[1] >= window[0]) & (t - a[1] <= window[1]))) for p in members]
        if len(members) > 1:
            rows.append((exposed[members.index(own)], len(members), sum(exposed)))
    return rows


@pytest.mark.parametrize("seed", range(6))
def test_sets_equal_asking_every_place(seed):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 12, 80), rng.integers(0, 2000, 80)
    b = rng.integers(0, 12, 30), rng.integers(0, 2000, 30)
    cases = np.flatnonzero(rng.random(30) < 0.7)
    sets = matched_sets(a, b, cases=cases, places=12, window=(1, 200), apart=60)
    found = list(zip(sets.exposed.tolist(), sets.members.tolist(), sets.members_exposed.tolist(), strict=True))
    by_hand = sets_by_hand(a, b, cases.tolist(), 12, (1, 200), 60)
    assert sorted(found) == sorted(by_hand)


def test_exact_p_of_sets_by_closed_form():
    # three cases, each the only exposed one of ten: (1/10)^3
    a = np.array([0, 1, 2]), np.array([95, 1095, 2095])
    b = np.array([0, 1, 2]), np.array([100, 1100, 2100])
    sets = matched_sets(a, b, cases=np.arange(3), places=10, window=(1, 10), apart=500)
    assert sets.p == pytest.approx(1e-3, rel=1e-12)


def test_no_controls_no_p():
    one = np.zeros(1, np.int64)
    assert np.isnan(matched_sets((one, one), (one, one), cases=np.arange(1), places=1, window=(1, 9), apart=5).p)


def test_episodes_chain_within_a_group():
    group, ts = np.array([0, 0, 0, 1, 0]), np.array([0, 50, 100, 60, 300])
    assert episode_starts(group, ts, 60).tolist() == [0, 3, 4]
