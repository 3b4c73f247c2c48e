from importlib import import_module

import numpy as np
import polars as pl
import pytest
from fakestore import FELL_AT, VICTIM, FakeStore, gpus, shared_store

from workbench.errors import UnknownNameError
from workbench.panel.beside import beside, carrier_of
from workbench.panel.trace import metric_of, metrics_named
from workbench.timebase import MICROS, to_us

AT = to_us(FELL_AT)
SPAN = (AT - 7200 * MICROS, AT + 1800 * MICROS)
BASELINE = (SPAN[0] - 4 * 7200 * MICROS, SPAN[0])


@pytest.fixture(scope="module")
def store():
    return shared_store()


def _one(store, metric, entity=VICTIM, *, group="job", span=SPAN):
    (found,) = beside(store, [metric], entity, group=group, at_us=AT, span=span, baseline=BASELINE)
    return found


def test_the_planted_rise_is_drawn_and_the_loss_is_a_gap(store):
    found = _one(store, "gpu.temperature_c")
    before = found.trace.x_us < AT
    assert np.nanmax(found.trace.high[before]) > 69
    assert np.isnan(found.trace.mean[found.trace.x_us > AT + 60 * MICROS]).all()
    assert found.trace.gaps[-1][1] == SPAN[1]
    low, middle, high = found.trace.past
    assert 54 < low < middle < high < 56


def test_a_counter_is_drawn_as_a_rate(store):
    found = _one(store, "gpu.ecc_sbe_total")
    assert found.metric.title == "gpu.ecc_sbe_total [1/s]"
    late = found.trace.mean[found.trace.x_us > AT - 600 * MICROS]
    np.testing.assert_allclose(late[np.isfinite(late)], 7 / 30)


def test_the_band_is_the_quantiles_of_the_peers(store):
    found = _one(store, "gpu.power_w")
    cell = found.trace.x_us.size // 2
    at = found.trace.x_us[cell] - 15 * MICROS  # one sample in each cell of 30 s
    assert found.points == found.rows
    others = [name for name in gpus()[:32] if name != VICTIM]
    rows = store.sql(
        "select entity, power_w from gpu where epoch_us(ts) between ? and ?", [int(at), int(at) + 30 * MICROS - 1]
    )
    values = rows.filter(rows["entity"].is_in(others))["power_w"].to_numpy()
    np.testing.assert_allclose(
        [found.trace.peer_low[cell], found.trace.peer_middle[cell], found.trace.peer_high[cell]],
        np.quantile(values, (0.05, 0.5, 0.95)),
    )


def test_too_few_peers_are_said_and_no_band_is_drawn(store):
    found = _one(store, "gpu.power_w", group="host")
    assert found.trace.notes == ["too few peers (3)"]
    assert np.isnan(found.trace.peer_middle).all()


def test_no_rows_names_the_nearest(store):
    found = _one(store, "gpu.temperature_c", span=(AT + 600 * MICROS, AT + 1200 * MICROS))
    assert found.rows == 0
    assert "last before: 2026-03-01T12:00:00Z" in found.trace.notes[0]


def test_metrics_of_the_host_come_from_the_host(store):
    assert carrier_of(store, VICTIM, "host") == "c1/node03"
    found = _one(store, "host.vendor_thing")
    assert "c1/node03" in found.view.sql
    assert found.metric.title == "host.vendor_thing [unit?]"


def test_the_query_gives_the_rows_again(store):
    found = _one(store, "gpu.power_w")
    assert store.sql(found.view.sql).equals(found.view.frame)


def test_very_many_rows_are_taken_together_in_the_database(store, monkeypatch):
    narrow = _one(store, "gpu.power_w")
    monkeypatch.setattr(import_module("workbench.panel.trace"), "_MOST_ROWS", 10)
    found = _one(store, "gpu.power_w")
    assert found.rows == narrow.rows
    np.testing.assert_allclose(found.trace.high, narrow.trace.high)
    assert "taken together" in found.trace.notes[0]


def test_unknown_metric_names_the_nearest(store):
    with pytest.raises(UnknownNameError, match=r"Did you mean gpu\.power_w"):
        metric_of(store, "gpu.powr_w")


def test_samples_farther_apart_than_cells_are_joined_and_gaps_are_not(store):
    """Twenty minutes at 30 s on a grid of 5 s: as many points as rows, and no point in the gap."""
    found = _one(store, "gpu.temperature_c", span=(AT - 900 * MICROS, AT + 300 * MICROS))
    assert found.points == found.rows
    x_us = found.trace.x_us
    assert np.isfinite(found.trace.mean[(x_us > AT - 870 * MICROS) & (x_us < AT - 60 * MICROS)]).all()
    assert np.isnan(found.trace.mean[x_us > AT + 60 * MICROS]).all()


def test_of_a_metric_of_two_kinds_the_one_of_the_entity_is_drawn():
    class Two(FakeStore):
        def catalog(self, pattern="*"):
            known = super().catalog()
            other = known.filter(known["metric"] == "host.vendor_thing").with_columns(metric=pl.lit("gpu.power_w"))
            return pl.concat([other, known, other])

    store = Two(hours=1)
    assert [metrics_named(store, ["gpu.power_w"], kind)[0].table for kind in ("gpu", "host")] == ["gpu", "host"]
