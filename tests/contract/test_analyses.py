"""The contract that every analysis keeps; see ``tests/analyses.py`` for how to bring one in."""

import dataclasses

import numpy as np
import plotly.graph_objects as go
import polars as pl
import pytest
from analyses import ANALYSES, HOUR_US
from scipy.stats import binom

from workbench.figures.html import HTML_LIMIT
from workbench.model.provenance import Provenance

RUNS = 150  # noise worlds per analysis


def same(one, two):
    assert one.keys() == two.keys()
    for name, value in one.items():
        if isinstance(value, str):
            assert value == two[name], name
        else:
            np.testing.assert_allclose(
                np.asarray(value, float), np.asarray(two[name], float), rtol=1e-9, atol=1e-9, err_msg=name
            )


@pytest.fixture(params=ANALYSES, ids=lambda case: case.name)
def case(request):
    return request.param


@pytest.fixture
def result(case):
    return case.run(case.noise(1), 7)


def test_same_seed_same_answer(case, result):
    again = case.run(case.noise(1), 7)
    same(case.numbers(result), case.numbers(again))
    assert result.provenance.to_json() == again.provenance.to_json()


def test_input_is_left_as_it_was(case):
    given = case.noise(2)
    before = [array.copy() for array in case.arrays(given)]
    case.run(given, 7)
    for array, copy in zip(case.arrays(given), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_what_nobody_observed_changes_nothing(case, result):
    same(case.numbers(result), case.numbers(case.run(case.with_unseen(case.noise(1)), 7)))


@pytest.mark.parametrize("by_us", [1, HOUR_US * 5 + 123_456, -365 * 24 * HOUR_US])
def test_other_times_change_the_labels_alone(case, result, by_us):
    same(case.numbers(result), case.numbers(case.run(case.later(case.noise(1), by_us), 7)))


def test_order_of_entities_does_not_matter(case, result):
    order = np.random.default_rng(3).permutation(case.entities)
    same(case.numbers(result), case.numbers(case.run(case.reordered(case.noise(1), order), 7)))


def test_false_claims_on_noise_stay_within_the_exact_bound(case):
    claims = sum(case.claims(case.run(case.noise(seed), seed)) for seed in range(100, 100 + RUNS))
    # one in a thousand series of runs passes this bound if claims come at exactly 5 %
    assert claims <= binom.ppf(0.999, RUNS, 0.05)


def test_result_is_frozen_and_explains_itself(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.p = 0.0
    assert result != dataclasses.replace(result)  # arrays inside: equality is identity
    assert isinstance(result.table(), pl.DataFrame)
    assert result.table().height > 0
    assert isinstance(result.provenance, Provenance)
    assert result.provenance.seed == 7
    assert result.provenance.version
    assert result.sentence.endswith(".")
    assert "cause" not in result.sentence.lower()


def test_result_can_be_seen_anywhere(result):
    fig = result.plot()
    assert isinstance(fig, go.Figure)
    assert fig.layout.xaxis.title.text
    assert fig.layout.yaxis.title.text
    html = result._repr_html_()
    assert len(html.encode()) < HTML_LIMIT
    assert "<script" not in html
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "")
