import numpy as np
import pytest

from workbench.kernels.lag import lagged_correlation, pool
from workbench.kernels.shifted import Stillness, kept_cells, lag_bounds, shift_null, stillness
from workbench.kernels.surrogate import add_one_p, far_shifts, spawn


def test_one_transform_equals_recomputing_each_shift():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(3, 90)), rng.normal(size=(3, 90))
    x[1, 10:30], y[2, 50:] = np.nan, np.nan
    half, shifts = 4, far_shifts(90, 9, 30, spawn(1, 1)[0])
    null = shift_null(x, y, half, shifts)
    own = []
    for shift in [0, *shifts.tolist()]:
        moved = np.roll(y, -shift, axis=1)  # every entity by the same amount
        r, pairs = lagged_correlation(x, moved, np.arange(-half, half + 1), circular=True)
        assert null.largest[shift] == pytest.approx(np.abs(pool(r, pairs)).max(), abs=1e-9)
        own.append(np.abs(r).max(axis=1))
    for entity in range(3):
        draws = np.array([row[entity] for row in own[1:]])
        assert null.entity_p[entity] == pytest.approx(add_one_p(own[0][entity], draws))


def test_a_row_that_never_varies_has_no_p():
    x = np.random.default_rng(2).normal(size=(2, 60))
    x[0] = 1.0
    null = shift_null(x, x[::-1], 2, np.arange(5, 55))
    assert np.isnan(null.entity_p).all()
    still = stillness(x, x[::-1], null, half=2, day_cells=20)
    assert not still.holds


def test_empty_stretches_are_cut_and_lags_inside_stay_apart():
    seen = np.zeros(40, bool)
    seen[5:10] = seen[30:35] = True
    assert kept_cells(seen, 3).tolist() == [*range(5, 13), *range(30, 38)]
    assert kept_cells(np.zeros(4, bool), 2).size == 0


def test_thresholds_are_where_the_page_says():
    kwargs = {"resolution": 4.0, "drift": 0.5, "rhythm": 0.5, "period": 1.0}
    assert Stillness(**kwargs).holds
    assert not Stillness(**(kwargs | {"resolution": 3.9})).holds
    assert not Stillness(**(kwargs | {"resolution": float("nan")})).holds
    assert not Stillness(**(kwargs | {"drift": 0.6})).holds
    assert not Stillness(**(kwargs | {"rhythm": 0.6})).holds


def test_bounds_of_a_negative_peak():
    circle = np.random.default_rng(4).normal(size=400) * 0.01
    assert lag_bounds(np.array([0.0, -0.6, 0.55, 0.0, 0.0]), circle, 2) == (-1, -1, -1)
