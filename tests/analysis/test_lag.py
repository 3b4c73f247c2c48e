from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from analyses import panel_of
from nullworlds import SERIES, driven, first_order, series
from scipy.stats import binom

from workbench.analysis.lag import lag_correlation
from workbench.errors import DataError, UnknownNameError, UsageError
from workbench.kernels.lag import lagged_correlation

X, Y = "gpu.power_w", "gpu.temperature_c"
NAMES = {"x": X, "y": Y}


RUNS = 60


@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize("transform", ["raw", "difference", "auto"])
def test_false_claims_stay_within_the_exact_bound(kind, transform):
    claims = 0
    for seed in range(RUNS):
        x, y = series(kind, np.random.default_rng([seed, 20]))
        found = lag_correlation(panel_of(x, y, 600.0), **NAMES, max_lag="1h", seed=seed, transform=transform)
        claims += found.holds and found.p <= 0.05
        assert ("goes before" in found.sentence or "follows" in found.sentence) <= (found.holds and found.p <= 0.05)
    assert claims <= binom.ppf(0.999, RUNS, 0.05)


@pytest.mark.parametrize("kind", ["random walk", "trend", "weak trend", "daily rhythm", "counter"])
def test_raw_says_that_p_does_not_hold(kind):
    """Shifts alone would claim a link here in 20 to 100 % of the cases."""
    held = 0
    for seed in range(20):
        x, y = series(kind, np.random.default_rng([seed, 21]))
        found = lag_correlation(panel_of(x, y, 600.0), **NAMES, max_lag="1h", seed=seed, transform="raw")
        held += found.holds
        if not found.holds:
            assert "p does not hold for trends, random walks and counters: difference first" in found.sentence
            assert np.isnan(found.entities["p"].to_numpy()).all()
            assert found.notes
    assert held <= 2


def planted(seed, lag, share=0.3, kind="ar90", rows=3):
    rng = np.random.default_rng([seed, 22])
    return panel_of(*driven(kind, rng, lag=lag, share=share, shape=(2, rows, 720)), 600.0)


@pytest.mark.parametrize("lag", [-4, 0, 3])
def test_finds_a_planted_lag_and_its_sign(lag):
    found = lag_correlation(planted(1, lag), **NAMES, max_lag="1h", seed=1)
    assert found.lag_max_s == lag * 600
    assert found.lag_low_s <= lag * 600 <= found.lag_high_s
    assert found.holds
    assert found.p <= 0.01
    words = {-4: "follows", 0: "go together", 3: "goes before"}
    assert words[lag] in found.sentence


def test_intervals_cover_planted_lags():
    covered = []
    for seed in range(40):
        lag = int(np.random.default_rng(seed).integers(-6, 7))
        found = lag_correlation(planted(seed, lag, share=0.15), **NAMES, max_lag="1h", seed=seed)
        covered.append(found.lag_low_s <= lag * 600 <= found.lag_high_s)
    assert sum(covered) >= binom.ppf(0.001, 40, 0.95)


def test_opposite_sign_is_found_as_well():
    found = lag_correlation(planted(2, 2, share=-0.4), **NAMES, max_lag="1h", seed=1)
    assert found.r_max < 0
    assert found.lag_max_s == 1200


def test_gaps_are_left_out_pair_by_pair():
    panel = planted(3, 3)
    panel.values[0, 0, 100:250] = np.nan
    panel.values[1, 1, ::7] = np.nan
    found = lag_correlation(panel, **NAMES, max_lag="1h", seed=1, transform="raw")
    r, pairs = lagged_correlation(panel.values[:, 0], panel.values[:, 1], np.arange(-6, 7))
    np.testing.assert_allclose(found.r, (r * pairs).sum(axis=0) / pairs.sum(axis=0), atol=1e-9)
    table = found.entities.sort("entity")
    peak = int(np.argmax(np.abs(found.r)))
    assert table["pairs"].to_list() == pairs[:, peak].tolist()


def test_windows_around_incidents_keep_enough_shifts():
    panel = planted(4, 2, share=0.6, rows=4)
    keep = np.zeros(720, bool)
    for start in (50, 250, 500):
        keep[start : start + 60] = True
    panel.values[:, :, ~keep] = np.nan
    found = lag_correlation(panel, **NAMES, max_lag="50m", seed=1, transform="difference")
    assert found.lag_max_s == 1200
    assert found.p <= 0.05
    r, pairs = lagged_correlation(*(np.diff(panel.values[:, at], axis=1) for at in (0, 1)), np.arange(-5, 6))
    np.testing.assert_allclose(found.r, (r * pairs).sum(axis=0) / pairs.sum(axis=0), atol=1e-9)


def test_entities_are_told_apart():
    panel = planted(5, 2, share=0.0, rows=6)
    panel.values[4, 1] += 2 * np.roll(panel.values[4, 0], 3)
    found = lag_correlation(panel, **NAMES, max_lag="1h", seed=1)
    first = found.entities.row(0, named=True)
    assert first["entity"] == "c1/node04"
    assert first["own_lag_s"] == 1800
    assert first["q"] <= 0.05
    assert found.entities["q"].to_numpy()[1:].min() > 0.05


def test_spearman_does_not_mind_a_monotone_change():
    panel = planted(6, 2)
    plain = lag_correlation(panel, **NAMES, max_lag="1h", seed=1, method="spearman", transform="raw")
    np.exp(panel.values[:, 1], out=panel.values[:, 1])
    bent = lag_correlation(panel, **NAMES, max_lag="1h", seed=1, method="spearman", transform="raw")
    np.testing.assert_allclose(plain.r, bent.r, atol=1e-9)
    assert plain.p == bent.p


def test_effective_number_is_shown_and_small_for_slow_series():
    rng = np.random.default_rng(8)
    x, y = first_order(rng, 0.9, (2, 1, 5000))
    found = lag_correlation(panel_of(x, y), **NAMES, max_lag="10m", seed=1, transform="raw")
    # Bartlett: n (1 - .81) / (1 + .81), n the pairs at the lag found
    assert found.effective_n == pytest.approx(found.pairs * 0.19 / 1.81, rel=0.15)


def test_nothing_to_compare_is_said():
    x = np.ones((2, 300))
    found = lag_correlation(panel_of(x, np.random.default_rng(1).normal(size=(2, 300))), **NAMES, max_lag="5m", seed=1)
    assert np.isnan(found.p)
    assert not found.holds
    assert "nothing to compare" in found.sentence
    assert found.table().height == 11
    assert found.plot() is not None
    assert "nothing to compare" in found._repr_html_()


def test_wrong_use_says_what_would_be_right():
    panel = planted(7, 1)
    with pytest.raises(UnknownNameError, match=r"Did you mean gpu\.power_w"):
        lag_correlation(panel, x="gpu.powr_w", y=Y, max_lag="1h", seed=1)
    with pytest.raises(UsageError, match="both"):
        lag_correlation(panel, x=X, y=X, max_lag="1h", seed=1)
    with pytest.raises(UsageError, match="longer span"):
        lag_correlation(panel, **NAMES, max_lag="30h", seed=1)
    with pytest.raises(UsageError, match="pearson, spearman"):
        lag_correlation(panel, **NAMES, max_lag="1h", seed=1, method="kendall")
    panel.values[:2, 0], panel.values[2:, 1] = np.nan, np.nan
    with pytest.raises(DataError, match="No entity has both"):
        lag_correlation(panel, **NAMES, max_lag="1h", seed=1)


def test_notes_tell_of_sampling_and_of_entities_left_out():
    panel = replace(planted(9, 1), interval_s={X: 900.0})
    panel.values[0, 1] = np.nan
    notes = " ".join(lag_correlation(panel, **NAMES, max_lag="1h", seed=1).notes)
    assert "Sampled every 15m" in notes
    assert "1 of 3 entities" in notes


def test_provenance_holds_every_choice():
    found = lag_correlation(planted(10, 1), **NAMES, max_lag="1h", seed=3)
    parameters = found.provenance.parameters
    assert parameters["max_lag_s"] == 3600
    assert parameters["transform"] == "auto"
    assert found.provenance.inputs == "noise@1"
    assert found.provenance.seed == 3
    assert isinstance(found.entities, pl.DataFrame)
