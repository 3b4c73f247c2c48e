"""The table of penalties: what it promises holds in fresh noise."""

import numpy as np
import pytest
from scipy.stats import binom

from workbench.kernels.changenull import SHARES, p_of_strength, penalty_at
from workbench.kernels.segment import constant_pieces, straight_pieces

FIND = {"constant": constant_pieces, "straight": straight_pieces}


@pytest.mark.parametrize(
    ("model", "ratio", "least", "runs"), [("constant", 8, 25, 600), ("constant", 60, 10, 400), ("straight", 8, 20, 400)]
)
def test_so_many_series_of_noise_have_a_change_as_it_says(model, ratio, least, runs):
    rng = np.random.default_rng(11)
    noise = rng.normal(size=(runs, ratio * least))
    for alpha in (0.3, 0.05):
        penalty = penalty_at(alpha, ratio, model)
        found = sum(FIND[model](row, penalty, least=least).size > 0 for row in noise)
        assert binom.ppf(0.001, runs, 0.6 * alpha) <= found <= binom.ppf(0.999, runs, alpha)


@pytest.mark.parametrize("model", ["constant", "straight"])
@pytest.mark.parametrize("ratio", [1.5, 7.0, 5000.0])
def test_p_and_penalty_are_inverse_and_monotone(model, ratio):
    for alpha in (*SHARES, 1e-6):
        assert p_of_strength(np.array([penalty_at(alpha, ratio, model)]), ratio, model)[0] == pytest.approx(alpha)
    told = p_of_strength(np.linspace(0, 300, 200), ratio, model)
    assert (np.diff(told) <= 0).all()
    assert told[0] == 1
