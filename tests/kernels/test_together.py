"""Who changed together, by hand."""

import numpy as np

from workbench.kernels.together import chance_together, together


def by_hand(low, high, sign, entity):
    return [
        len({entity[j] for j in range(len(low)) if low[j] <= high[i] and high[j] >= low[i] and sign[j] == sign[i]})
        for i in range(len(low))
    ]


def test_counts_are_those_of_every_pair():
    rng = np.random.default_rng(1)
    low = rng.integers(0, 200, 60)
    high, sign, entity = low + rng.integers(0, 9, 60), rng.choice([-1, 1], 60), rng.integers(0, 25, 60)
    assert together(low, high, sign, entity).tolist() == by_hand(low, high, sign, entity)


def test_nobody_and_one_alone():
    none = np.empty(0, dtype=np.int64)
    rng = np.random.default_rng(1)
    assert together(none, none, none, none).size == 0
    assert chance_together((none, none), none, none, size=10, draws=5, rng=rng).tolist() == [0] * 5
    one = np.array([4])
    assert chance_together((one, one), one, one, size=10, draws=5, rng=rng).max() <= 1


def test_unrelated_changes_meet_as_often_as_drawn():
    reached = []
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        low, entity = rng.integers(0, 500, 30), np.arange(30)
        sign = np.ones(30, dtype=np.int64)
        drawn = chance_together((low, low + 3), sign, entity, size=500, draws=39, rng=rng)
        reached.append((1 + (drawn >= together(low, low + 3, sign, entity).max()).sum()) / 40)
    assert np.mean(np.array(reached) <= 0.1) <= 0.2
