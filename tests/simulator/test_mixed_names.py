"""Every source names every device otherwise: each row joins, or is counted; none joins wrongly."""

import json

import polars as pl
import pytest

import workbench as wb
from workbench.errors import UsageError
from workbench.simulator.dumps import simulate


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return simulate(tmp_path_factory.mktemp("names") / "sim", seed=3, scenario="names", hosts=7, days=0.75)


@pytest.fixture(scope="module")
def store(made, tmp_path_factory):
    case = wb.open(tmp_path_factory.mktemp("names") / "case")
    report = case.ingest(made.path / "dumps", mapping=made.path / "mapping.toml")
    assert report.total("rejected") == 0
    assert report.count("loaded") == len(report.files)
    return case


@pytest.fixture(scope="module")
def truth(made):
    return json.loads((made.path / "truth.json").read_text())


def rows_of(store, metric):
    return store.sql("select entity, value from samples where metric = ?", [metric]).with_columns(
        host=pl.col("entity").str.extract("^cluster/(node[^/]+)/"), uuid=pl.col("entity").str.extract("(GPU-.*)$")
    )


@pytest.mark.parametrize("metric", ["gpu.temperature_c", "gpu.sm_clock_mhz", "gpu.power_w"])
def test_no_row_of_a_gpu_joins_another_one(store, truth, metric):
    """The value says of which GPU the row is, whatever name it came under."""
    right = {gpu["value"]: (gpu["host"], gpu["uuid"]) for gpu in truth["gpus"]}
    rows = rows_of(store, metric)
    wrong = [
        row
        for row in rows.iter_rows(named=True)
        if (row["uuid"] is not None and row["uuid"] != right[row["value"]][1])
        or (row["host"] is not None and row["host"] != right[row["value"]][0])
    ]
    assert not wrong


def test_every_row_joins_or_is_one_that_cannot(store, truth):
    open_rows = truth["unjoined"]
    collector = rows_of(store, "gpu.sm_clock_mhz").filter(pl.col("uuid").is_null())
    assert dict(collector.group_by("host").len().iter_rows()) == open_rows["collector_rows"]
    exporter = rows_of(store, "gpu.temperature_c")
    assert exporter["uuid"].null_count() == 0
    assert exporter["host"].null_count() == open_rows["exporter_rows"]
    assert store.info().kinds.filter(pl.col("kind") == "gpu")["unresolved"].item() == 4 + 4 + 4  # index, address, index


def test_losses_are_those_of_the_truth(store, truth):
    found = {
        (row["ts"].isoformat(), row["entity"])
        for row in store.events("xid:79").with_columns(pl.col("ts").dt.convert_time_zone("UTC")).iter_rows(named=True)
    }
    told = {
        (
            wb_time(loss["kernel_log_says"]),
            f"cluster/{loss['host']}/gpu:{loss['uuid'] if loss['joins'] else loss['pci']}",
        )
        for loss in truth["failures"]
    }
    assert found == told


def wb_time(text):
    return pl.Series([text]).str.to_datetime(time_zone="UTC", time_unit="us")[0].isoformat()


def test_hosts_of_jobs_bmcs_exporters_and_logs_are_one(store, truth):
    hosts = {f"cluster/{gpu['host']}" for gpu in truth["gpus"]}
    stray = f"cluster/{truth['unjoined']['bmc']}"
    assert set(store.entities().filter(pl.col("kind") == "host")["entity"]) == hosts | {stray}
    assert set(store.jobs()["entities"].explode()) <= hosts
    assert set(store.events("sel")["entity"]) == (hosts - {"cluster/node01"}) | {stray}
    joins = {(a, b): (rate, missing) for a, b, _, _, rate, missing in store.info().joins.iter_rows()}
    assert joins["hosts of BMCs", "hosts of other sources"] == (6 / 7, [stray])
    assert joins["hosts of jobs", "hosts with samples"] == (1.0, [])


def test_an_adapter_is_one_under_address_hca_and_netdev(store, truth):
    pci = truth["adapter"]["pci"]
    ids = {f"cluster/{gpu['host']}/nic:{pci}" for gpu in truth["gpus"]}
    assert set(store.events("link")["entity"]) == ids
    for metric in ("node_network_mtu_bytes", "node_infiniband_info"):
        assert set(rows_of(store, metric)["entity"]) == ids
    assert set(store.entities().filter(pl.col("kind") == "nic")["entity"]) == ids


def test_the_fast_clock_is_found_and_no_other(store, truth):
    (off,) = store.clocks().filter("off").to_dicts()
    assert off["host"] == f"cluster/{truth['clocks']['fast_host']}"
    assert off["low_s"] < truth["clocks"]["fast_by_s"] < off["high_s"]


def test_gpu_metrics_of_pods_can_be_aligned(store):
    assert store.catalog("gpu.temperature_c")["column"].to_list() == ["temperature_c"]


def test_the_same_seed_gives_the_same_bytes(made, tmp_path):
    again = simulate(tmp_path / "again", seed=3, scenario="names", hosts=7, days=0.75)
    assert again.files == made.files
    assert all((again.path / name).read_bytes() == (made.path / name).read_bytes() for name in made.files)


@pytest.mark.parametrize("size", [{"hosts": 5}, {"hosts": 100}, {"days": 0.1}])
def test_a_cluster_too_small_for_its_story_is_refused(tmp_path, size):
    with pytest.raises(UsageError, match="6 to 99 hosts"):
        simulate(tmp_path / "x", seed=1, scenario="names", **size)
