"""Noise models: against statsmodels and closed forms."""

import numpy as np
import pytest
from statsmodels.regression.linear_model import yule_walker

from workbench.kernels.wander import drift_score, noise_model, walk_score


def autoregressive(seed, weights, size=3000):
    rng = np.random.default_rng(seed)
    values = np.zeros(size + 500)
    for t in range(len(weights), size + 500):
        values[t] = sum(w * values[t - 1 - k] for k, w in enumerate(weights)) + rng.normal()
    return values[500:]


@pytest.mark.parametrize("weights", [(0.5,), (0.9,), (0.6, -0.3), (0.4, 0.2, 0.2)])
def test_long_run_variance_is_that_of_yule_walker_at_the_chosen_order(weights):
    values = autoregressive(1, weights)
    found = noise_model(values)
    assert found.order == len(weights)
    told = yule_walker(values - values.mean(), order=found.order, method="mle", demean=False, result_object=True)
    fit, sigma = told.rho, told.sigma
    assert found.long_run == pytest.approx(sigma**2 / (1 - fit.sum()) ** 2, rel=1e-6)
    assert found.long_run == pytest.approx(1 / (1 - sum(weights)) ** 2, rel=0.35), "closed form"


def test_white_noise_has_no_memory():
    orders = [noise_model(np.random.default_rng(seed).normal(size=800)).order for seed in range(40)]
    assert np.mean(orders) < 0.3


def test_what_is_constant_leaves_nothing():
    assert noise_model(np.full(50, 7.0)).score == -np.inf


def test_the_right_explanation_wins():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=800)
    steps = noise + np.repeat([0, 3, 1, 4], 200)
    wave = noise + 2 * np.sin(np.linspace(0, 9, 800))
    walk = np.cumsum(noise)
    stepped = noise_model(steps - np.repeat([0, 3, 1, 4], 200), 6).score
    assert stepped < min(drift_score(steps), walk_score(steps)) - 20
    assert drift_score(wave) < min(noise_model(wave).score, walk_score(wave)) - 20
    assert walk_score(walk) < drift_score(walk) + 5
