"""Every file that the simulator writes is taken by the reader it is meant for, and nothing is lost."""

from collections import Counter

import polars as pl
import pytest

from workbench.model.mapping import load_mapping
from workbench.readers.registry import recognise
from workbench.readers.source import open_source
from workbench.simulator.dumps import simulate

READER = {
    "dcgm": "prometheus_text",
    "node_exporter": "prometheus_text",
    "kernel": "kernel_log",
    "syslog": "syslog",
    "slurm": "slurm_sacct",
    "facility": "table",
    "bmc": "table",
    "topology.csv": "topology",
}


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """What the readers make of a small dump: (dump, reader of each file, batches of each file)."""
    made = simulate(tmp_path_factory.mktemp("read") / "traps", seed=3, scenario="traps", hosts=12, days=1, step="5m")
    mapping = load_mapping(made.path / "mapping.toml")
    readers, batches = {}, {}
    for name in made.files:
        if name.startswith("dumps/"):
            context = mapping.context_for(name.removeprefix("dumps/"))
            with open_source(made.path / name) as source:
                found = recognise(source.head(), context)
                assert found is not None, name
                readers[name], batches[name] = found[0].name, list(found[0].read(source, context))
    return made, readers, batches


def of(batches, folder, attribute):
    return [getattr(b, attribute) for name, many in batches.items() if name.startswith(f"dumps/{folder}") for b in many]


def test_each_file_goes_to_its_reader_and_nothing_is_rejected(taken):
    _, readers, batches = taken
    for name, reader in readers.items():
        assert reader == READER[name.split("/")[1]], name
        assert sum(batch.rejects.height for batch in batches[name]) == 0, name
        assert sum(batch.records for batch in batches[name]) > 0, name


def test_all_samples_come_through(taken):
    made, _, batches = taken
    read = sum(frame.height for folder in ("dcgm", "node_exporter") for frame in of(batches, folder, "samples"))
    assert read == made.samples


def test_all_losses_come_through_as_xids_at_their_times(taken):
    made, _, batches = taken
    events = pl.concat([*of(batches, "kernel", "events"), *of(batches, "syslog", "events")])
    xids = events.filter(pl.col("kind") == "xid")
    for failure in made.truth["failures"]:
        at = pl.lit(failure["kernel_log_says"]).str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_zone="UTC")
        near = xids.filter(
            (pl.col("host").str.to_lowercase() == failure["host"])
            & (pl.col("device") == failure["pci"])
            & ((pl.col("ts") - at).dt.total_milliseconds().is_between(-1000, 2000))
        )
        assert set(map(str, failure["xids"])) <= set(near["code"].to_list())


def test_jobs_come_through_with_their_ends(taken):
    made, _, batches = taken
    jobs = pl.concat(of(batches, "slurm", "jobs"))
    assert jobs.height == jobs["job"].n_unique()
    ends = dict(zip(jobs["job"], jobs["state"], strict=True))
    assert Counter(ends[failure["job"]] in ("NODE_FAIL", "FAILED") for failure in made.truth["failures"]) == {
        True: len(made.truth["failures"])
    }
    sizes = jobs["nodes"].list.len()
    assert sizes.min() >= 1
    assert sizes.max() <= made.truth["hosts"]


def test_topology_puts_every_host_in_its_rack(taken):
    made, _, batches = taken
    links = pl.concat(of(batches, "topology", "links"))
    racks = links.filter((pl.col("relation") == "in") & (pl.col("to_kind") == "rack"))
    assert racks["host"].n_unique() == made.truth["hosts"]
