import numpy as np
import pytest

from workbench.kernels.stationarity import drift_product, resolution, rhythm_product, slowest_period


def test_resolution_of_known_spectra():
    t = np.arange(1024)
    tones = sum(np.cos(2 * np.pi * k * t / 1024) for k in (3, 50, 200, 311))
    assert resolution(tones) == pytest.approx(4.0)  # four equal lines
    # white noise: E(P)^2 / E(P^2) of an exponential is one half of the 512 lines
    draws = [resolution(np.random.default_rng(seed).normal(size=1024)) for seed in range(40)]
    assert np.mean(draws) == pytest.approx(256, rel=0.05)


def test_resolution_without_spread_or_data_is_nan():
    assert np.isnan(resolution(np.zeros(100)))
    assert np.isnan(resolution(np.full(100, np.nan)))
    assert np.isnan(resolution(np.arange(5.0)))
    assert np.isnan(slowest_period(np.arange(3.0)))


def test_drift_product_is_the_product_of_two_correlations():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(1, 80)), rng.normal(size=(1, 80))
    t = np.arange(80)
    expected = np.corrcoef(x[0], t)[0, 1] * np.corrcoef(y[0], t)[0, 1]
    assert drift_product(x, y)[0] == pytest.approx(expected)
    assert np.isnan(drift_product(np.ones((1, 80)), y)[0])


def test_rhythm_product_finds_phase_and_share():
    t = np.arange(1000)
    x, y = np.cos(2 * np.pi * t / 100)[None, :], np.cos(2 * np.pi * (t - 10) / 100)[None, :]
    found = rhythm_product(x, y, 100.0)[0]
    assert abs(found) == pytest.approx(1.0)
    assert np.angle(found) / (2 * np.pi) * 100 == pytest.approx(10)  # y is ten cells behind
    assert np.isnan(rhythm_product(x, np.ones((1, 1000)), 100.0)[0])
