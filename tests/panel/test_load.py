import numpy as np
import pytest
from smallstore import NFS, small_store

from workbench.errors import UnknownNameError
from workbench.model.selector import Selector
from workbench.model.signal import change, level, rate
from workbench.panel.load import fleets, with_claim

OUTCOME = Selector.parse("xid:79")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return small_store(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def gpu_fleet(store):
    made = fleets(store, store.incidents(OUTCOME), before_s=7200.0, outcome=OUTCOME)
    return next(fleet for fleet in made if fleet.scope == "gpu")


def test_grid_step_is_a_120th_of_the_window(gpu_fleet):
    assert gpu_fleet.step_s == 60.0
    assert gpu_fleet.ts_us.size == 60


def test_places_and_jobs(gpu_fleet):
    assert [gpu_fleet.hosts[h] for h in gpu_fleet.host] == ["cluster/node01"] * 2 + ["cluster/node02"] * 2
    assert [gpu_fleet.racks[r] for r in gpu_fleet.rack] == ["cluster/rack:r1"] * 2 + ["cluster/rack:r2"] * 2
    assert (gpu_fleet.job[0] >= 0).tolist() == [5 <= minute < 45 for minute in range(60)]
    assert gpu_fleet.job_age_s[0, 7] == 120.0
    assert (gpu_fleet.job[2] == -1).all()
    assert np.isnan(gpu_fleet.job_age_s[2]).all()


def test_signals_carry_what_the_catalogue_says(gpu_fleet):
    infos = {info.name: info for info in gpu_fleet.signals}
    assert "xid:79" not in infos, "no outcome precedes itself"
    power = infos["gpu.power_w"]
    assert power.raw_names == ("DCGM_FI_DEV_POWER_USAGE",)
    assert power.interval_s == 60.0
    assert "temperature" in power.drives
    np.testing.assert_array_equal(gpu_fleet.load("gpu.power_w")[0], 500.0 + np.arange(60))


def test_events_are_counts_where_somebody_looked(store):
    made = fleets(store, store.incidents(OUTCOME), before_s=7200.0, outcome=Selector.parse("xid:48"))
    by_scope = {fleet.scope: fleet for fleet in made}
    names = {info.name for info in by_scope["host"].signals}
    assert "nfs:not_responding" in names
    assert "xid:79" not in names, "seen only twice: too rare to test"
    counts = by_scope["host"].load("nfs:not_responding")
    assert by_scope["host"].entities == ("cluster/node01", "cluster/node02")
    assert counts[0].tolist() == [float(minute in NFS) for minute in range(60)]
    assert counts[1].tolist() == [0.0] * 60, "its log was read, and nothing happened"


def test_thresholds_make_indicators_and_keep_gaps(gpu_fleet):
    claimed = with_claim(gpu_fleet, level("gpu.power_w") > 510)
    name = str(level("gpu.power_w") > 510)
    values = claimed.load(name)
    assert values[0].tolist() == [float(minute > 10) for minute in range(60)]
    assert np.isnan(values[2, 20:30]).all()
    faster = with_claim(gpu_fleet, rate("gpu.ecc_sbe_total", per="1m") > 5)
    assert faster.load("rate of gpu.ecc_sbe_total per 1m > 5")[1, :29].tolist() == [1.0] * 29
    steady = with_claim(gpu_fleet, change("gpu.power_w", over="10m"))
    np.testing.assert_array_equal(steady.load("change of gpu.power_w per 10m")[0, 10:], 10.0)
    with pytest.raises(UnknownNameError, match=r"gpu\.power_w"):
        with_claim(gpu_fleet, level("gpu.powr_w"))


def test_naming_signals_narrows_and_refuses_what_is_not_there(store):
    found = store.incidents(OUTCOME)
    (only,) = fleets(store, found, before_s=7200.0, signals=["gpu.power_w"], outcome=OUTCOME)
    assert [info.name for info in only.signals] == ["gpu.power_w"]
    with pytest.raises(UnknownNameError, match=r"gpu\.power_w"):
        fleets(store, found, before_s=7200.0, signals=["gpu.powerw"], outcome=OUTCOME)
