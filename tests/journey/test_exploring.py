"""From raw dumps to the two exploring answers, through the public names."""

import math

import pytest
from smallstore import small_store

import workbench as wb


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return small_store(tmp_path_factory.mktemp("exploring"))


def test_lag_correlation_of_a_panel_of_the_store(store):
    panel = wb.panel(store, ["gpu.power_w", "gpu.ecc_sbe_total"], step="60s")
    found = wb.lag_correlation(panel, x="gpu.power_w", y="gpu.ecc_sbe_total", max_lag="3m", seed=7)
    assert found.provenance.inputs.endswith(f"@{store.version}")
    # power is a straight line and errors come at a constant rate: their differences do not vary
    assert math.isnan(found.p)
    assert not found.holds
    assert "nothing to compare" in found.sentence


def test_coincidence_of_two_kinds_of_the_store(store):
    found = wb.coincidence(store, a="nfs", b=wb.event("xid", codes=[79]), within="10m", seed=7)
    # Xid 79 at 10:30 and 40:30 on node01; its file server is waited for at :03:10, :13:10, ... :53:10
    assert (found.precursor.count, found.precursor.of) == (2, 2)
    assert found.lead_s.tolist() == [440.0, 440.0, 440.0]
    assert found.by_place["place"].to_list() == ["cluster/node01"]
    assert not found.holds  # two hosts, one episode: nothing can hold
    assert found.cases.of == 1
    assert found.provenance.inputs == f"{store.path}@{store.version}"
