"""Partitions are exact: the same as those of the quadratic recursion that tries everything."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.kernels.segment import constant_pieces, fitted, straight_pieces


def line_cost(part, straight):
    if straight and part.size > 1:
        time = np.arange(part.size) - (part.size - 1) / 2
        part = part - time * (time @ part) / (time @ time)
    return ((part - part.mean()) ** 2).sum()


def cheapest(values, penalty, least, straight):
    """Cost of the best partition, by trying every last piece."""
    size = values.size
    best = np.full(size + 1, np.inf)
    best[0] = -penalty
    for end in range(least, size + 1):
        starts = [0, *range(least, end - least + 1)] if end >= 2 * least else [0]
        best[end] = min(best[s] + penalty + line_cost(values[s:end], straight) for s in starts)
    return best[size]


def told_cost(values, changes, penalty, straight):
    edges = [0, *changes.tolist(), values.size]
    parts = [values[a:b] for a, b in pairwise(edges)]
    return sum(line_cost(part, straight) for part in parts) + penalty * len(changes)


@pytest.mark.parametrize("straight", [False, True])
@given(
    seed=st.integers(0, 10_000),
    size=st.integers(4, 70),
    least=st.integers(2, 9),
    penalty=st.floats(0.05, 30),
    offset=st.sampled_from([0.0, 1e6]),
)
def test_no_partition_is_cheaper(straight, seed, size, least, penalty, offset):
    rng = np.random.default_rng(seed)
    values = offset + rng.normal(size=size) + np.repeat(rng.normal(scale=3, size=size // 8 + 1), 8)[:size]
    find = straight_pieces if straight else constant_pieces
    changes = find(values, penalty, least=least)
    if size < 2 * least:
        assert changes.size == 0
        return
    edges = np.concatenate(([0], changes, [size]))
    assert (np.diff(edges) >= least).all()
    told = told_cost(values, changes, penalty, straight)
    assert told == pytest.approx(cheapest(values, penalty, least, straight), rel=1e-6, abs=1e-5)


def test_no_noise_gives_the_steps_and_nothing_else():
    values = np.repeat([3.0, -1.0, 7.0], [40, 25, 60])
    assert constant_pieces(values, 1e-9).tolist() == [40, 65]
    assert constant_pieces(np.full(50, 2.5), 1e-9).tolist() == []
    assert fitted(values, np.array([40, 65])).tolist() == values.tolist()


@pytest.mark.parametrize("values", [np.array([1.0, np.nan]), np.ones((2, 2))])
def test_gaps_and_tables_are_refused(values):
    with pytest.raises(ValueError, match="one series without gaps"):
        constant_pieces(values, 1.0)
