"""Changes: found where planted, inside of their intervals, and hardly ever where there is none."""

import numpy as np
import pytest
from nullworlds import STILL, WANDERING, one_series
from scipy.stats import binom

from workbench.kernels.change import (
    CONSTANT,
    RECURS,
    TOO_SHORT,
    find_changes,
    find_spread_changes,
    least_piece,
)

RUNS = 24


def claims(kind, find, size=400):
    told = [find(one_series(kind, np.random.default_rng([seed, 70]), size)) for seed in range(RUNS)]
    return sum(found.holds and found.at.size > 0 for found in told), sum(found.holds for found in told)


@pytest.mark.parametrize("kind", [*STILL, *WANDERING])
def test_false_alarms_are_within_five_percent(kind):
    found, _ = claims(kind, find_changes)
    assert found <= binom.ppf(0.999, RUNS, 0.05)


@pytest.mark.parametrize("kind", STILL)
def test_no_change_is_an_answer_where_the_series_stands_still(kind):
    _, held = claims(kind, find_changes, size=900)
    assert held >= 0.75 * RUNS


@pytest.mark.parametrize("kind", ["random walk", "ar99", "daily rhythm"])
def test_levels_of_what_wanders_are_not_believed(kind):
    _, held = claims(kind, lambda values: find_changes(values, kind="level"), size=720)
    assert held <= 0.1 * RUNS


@pytest.mark.parametrize(("kind", "size", "least"), [("iid", 1.0, 0.95), ("heavy tail", 1.5, 0.95), ("ar50", 1.5, 0.8)])
def test_a_planted_step_is_found_inside_of_its_interval(kind, size, least):
    hit = covered = 0
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, 71])
        values = one_series(kind, rng, 1000)
        at = int(rng.integers(200, 800))
        values[at:] += size * np.subtract(*np.percentile(values, [84, 16])) / 2
        found = find_changes(values)
        near = np.abs(found.at - at)
        if found.holds and found.kind == "level" and near.size and near.min() < 60:
            hit += 1
            covered += found.low[near.argmin()] <= at <= found.high[near.argmin()]
    assert hit >= least * RUNS
    assert covered >= binom.ppf(0.001, hit, 0.95)


def test_a_kink_is_found_as_a_slope():
    hit = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 72])
        values = rng.normal(size=600) + 0.06 * np.maximum(np.arange(600) - 300, 0)
        found = find_changes(values, kind="slope")
        hit += found.holds and found.at.size == 1 and abs(found.at[0] - 300) < 60
    assert hit >= 17


def test_a_change_of_spread_is_found_beside_a_change_of_level():
    hit = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 73])
        values = rng.normal(size=900) * np.repeat([1.0, 2.5], [500, 400]) + np.repeat([0.0, 6.0], [250, 650])
        found = find_spread_changes(values)
        hit += found.holds and found.at.size == 1 and abs(found.at[0] - 500) < 40
    assert hit >= 18


@pytest.mark.parametrize("kind", ["iid", "ar50", "heavy tail", "random walk"])
def test_spread_false_alarms(kind):
    found, _ = claims(kind, find_spread_changes)
    assert found <= binom.ppf(0.999, RUNS, 0.05)


def test_an_excursion_is_told_from_a_change_that_stays():
    rng = np.random.default_rng(2)
    values = rng.normal(size=1000)
    values[300:340] += 5
    values[700:] -= 3
    found = find_changes(values)
    assert found.holds
    assert np.abs(found.at - [300, 340, 700]).max() <= 3
    assert found.returns.tolist() == [True, True, False]


def test_what_goes_on_and_off_all_the_time_does_not_change():
    rng = np.random.default_rng(3)
    values = rng.normal(size=1200) + 6 * np.repeat(np.arange(12) % 2, 100)
    assert find_changes(values).why == RECURS


def test_too_little_to_say_anything():
    assert find_changes(np.arange(10.0)).why == TOO_SHORT
    assert find_changes(np.full(300, 7.0)).why == CONSTANT
    assert find_changes(np.array([])).why == TOO_SHORT
    assert least_piece(np.repeat([0.0, 1.0], [990, 10])) == 500


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_units_do_not_matter(scale):
    rng = np.random.default_rng(5)
    values = rng.normal(size=400) + np.repeat([0.0, 3.0], 200)
    one, other = find_changes(values), find_changes(values * scale + 5 * scale)
    assert one.at.tolist() == other.at.tolist()
    np.testing.assert_allclose(one.p, other.p, rtol=1e-6)
