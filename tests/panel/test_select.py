from datetime import timedelta

import numpy as np
import pytest
from smallstore import T0, small_store

import workbench as wb
from workbench.errors import NothingToDoError, ResourceError, UnknownNameError, UsageError
from workbench.panel.align import hold_cells

GPU = "cluster/node{0:02d}/gpu:GPU-node{0:02d}-{1}"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return small_store(tmp_path_factory.mktemp("small"))


def test_gauges_are_means_and_counters_rates_per_second(store):
    panel = wb.panel(store, ["gpu.power_w", "gpu.ecc_sbe_total"], step="60s")
    assert panel.entities == tuple(GPU.format(h, g) for h in (1, 2) for g in (0, 1))
    power = panel.metric("gpu.power_w")
    np.testing.assert_array_equal(power[1, :60], 600.0 + np.arange(60))
    rate = panel.metric("gpu.ecc_sbe_total")[1]
    np.testing.assert_allclose(rate[:29], 0.1)  # 6 a minute
    assert np.isnan(rate[29]), "the counter was reset between minutes 29 and 30"
    np.testing.assert_allclose(rate[30:59], 0.1)
    assert panel.units["gpu.power_w"] == "W"


def test_a_gap_stays_a_gap(store):
    panel = wb.panel(store, "gpu.power_w", step="60s")
    silent = panel.values[2, 0]
    assert np.isnan(silent[20:30]).all()
    assert np.isfinite(silent[:20]).all()
    assert np.isfinite(silent[30:60]).all()


def test_around_incidents_keeps_only_their_time(store):
    fell = store.incidents("xid:79")
    panel = wb.panel(store, "gpu.power_w", around=fell, before="5m", after="2m", step="60s")
    seen = np.flatnonzero(np.isfinite(panel.values[0, 0]))
    minutes = (panel.ts_us[seen] - panel.ts_us[0]) // 60_000_000
    assert minutes.tolist() == [*range(8), *range(30, 38)]  # 00:05:30 to 00:12:30, and half an hour on


def test_span_and_entities_narrow_the_panel(store):
    one = GPU.format(1, 0)
    panel = wb.panel(store, "gpu.power_w", span=(T0, T0 + timedelta(minutes=10)), entities=[one], step="5m")
    np.testing.assert_allclose(panel.values, [[[502.0, 507.0]]])  # means of 500..504 and 505..509
    assert panel.table().height == 2


def test_the_same_question_gives_the_same_panel(store):
    one, two = (wb.panel(store, ["gpu.power_w"]) for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)
    assert one.provenance.to_json() == two.provenance.to_json()


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"metrics": "gpu.powr_w"}, UnknownNameError, "gpu.power_w"),
        (
            {"metrics": "gpu.power_w", "span": (T0 + timedelta(days=9), T0 + timedelta(days=10))},
            NothingToDoError,
            "The store has them from 2026-03-01",
        ),
        ({"metrics": "gpu.power_w", "span": (T0, T0)}, UsageError, "ends"),
        ({"metrics": "gpu.power_w", "step": "0s"}, UsageError, "step"),
        ({"metrics": "gpu.power_w", "around": []}, NothingToDoError, "no incident"),
        ({"metrics": "gpu.power_w", "step": "2us"}, ResourceError, "longer step"),
    ],
)
def test_wrong_questions_say_what_to_do(store, asked, error, words):
    with pytest.raises(error, match=words):
        wb.panel(store, **asked)


def test_hold_is_one_and_a_half_intervals():
    assert [hold_cells(interval, 60.0) for interval in (1.0, 60.0, 300.0, 900.0)] == [1, 2, 8, 23]
