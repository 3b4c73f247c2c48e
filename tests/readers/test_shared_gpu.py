"""Every number that the reference formats state about the tools of GPUs."""

import json
import re

import polars as pl
import pytest
from readings import read
from shared import shared_exists, shared_path

from workbench.model.context import Context
from workbench.model.pci import normal_pci
from workbench.readers.plainpickle import plain_pickle
from workbench.readers.registry import recognise
from workbench.readers.smi_columns import columns_of
from workbench.readers.smi_stamp import iso_stamp
from workbench.readers.source import open_source
from workbench.readers.text import UNTERMINATED
from workbench.readers.xmldoc import xml_documents
from workbench.store.identity import Identity
from workbench.timebase import from_us, parse_time, to_us

STATED = Context(zone="UTC", host="node-x", taken_at_us=0, interval_s=1)


def expected_of(folder):
    return json.loads(shared_path("formats", folder, "expected.json").read_text(encoding="utf-8"))


def files_of(folder):
    if not shared_exists("formats"):
        return [pytest.param("", {}, marks=pytest.mark.skip("reference data are not here; set WORKBENCH_SHARED"))]
    return [pytest.param(name, told, id=f"{folder}/{name}") for name, told in expected_of(folder).items()]


def reading_of(folder, file, told, context=STATED):
    """Read a file by whatever reader claims it; all keys of ``told`` must be asked for."""
    path = shared_path("formats", folder, file)
    assert path.stat().st_size == told["bytes"]
    with open_source(path) as source:
        found = recognise(source.head(), context)
    assert found is not None
    assert found[0].name == folder, found[1].rule
    return read(found[0], path, context)


def asked(told, *keys):
    assert set(told) <= {*keys, "bytes", "note"}, "a key that no test asks for"


def stated_times(reading):
    return not reading.frame("samples").filter(pl.col("ts").dt.epoch("us") >= 10**9).is_empty()


@pytest.mark.parametrize(("file", "told"), files_of("dcgmi_dmon"))
def test_dcgmi_dmon(file, told):
    reading = reading_of("dcgmi_dmon", file, told)
    asked(
        told, "header_lines", "data_rows", "entities", "na_cells", "time_stamps_present", "samples_per_gpu",
        "gpu2_na_from_sample_index",
    )  # fmt: skip
    samples = reading.frame("samples")
    power = samples.filter(metric="dcgmi.POWER")
    assert reading.skips()["header"] + reading.skips()["repeated header"] == 2 * told["header_lines"], (
        "of two lines each"
    )
    assert reading.rows == told["data_rows"]
    assert sorted(f"GPU {name}" for name in samples["device"].unique()) == told["entities"]
    assert sum(reading.absent().values()) == told["na_cells"]
    assert stated_times(reading) == told["time_stamps_present"]
    assert power.filter(device="0").height == told["samples_per_gpu"]
    assert power.filter(device="2").height == told["gpu2_na_from_sample_index"]
    assert power.filter(device="2")["ts"].dt.epoch("s").to_list() == list(range(told["gpu2_na_from_sample_index"]))


@pytest.mark.parametrize(("file", "told"), files_of("nvidia_smi_dmon"))
def test_nvidia_smi_dmon(file, told):
    reading = reading_of("nvidia_smi_dmon", file, told)
    asked(told, "columns", "data_rows", "header_lines", "gpus", "missing_cells", "time_stamps_present", "exact_first")
    samples = reading.frame("samples")
    prefix = "pmon." if "pid" in told["columns"] else "dmon."
    labels = {"pid", "type", "command"} & set(told["columns"])
    metrics = {name.removeprefix(prefix) for batch in reading.batches for name in batch.series["metric"]}
    metrics |= {key.split(":")[0].removeprefix(prefix) for key in reading.absent()}
    assert metrics | labels | {"gpu"} == set(told["columns"])
    assert reading.rows == told["data_rows"]
    assert reading.skips()["header"] == told["header_lines"]
    assert samples["device"].unique().to_list() == told["gpus"]
    assert sum(reading.absent().values()) == told["missing_cells"]
    assert stated_times(reading) == told["time_stamps_present"]
    first = samples.filter(pl.col("ts").dt.epoch("us") == 0)
    for name, cell in told["exact_first"].items():
        own = first.filter(pl.col("metric") == prefix + name)
        if labels:  # the first row is the first process, which has no samples: it is another's that are here
            assert cell == "-" or name in labels or name == "gpu"
        elif name != "gpu":
            assert own["value_int"].to_list() == [int(cell)]


def same_value(samples, metric, cell):
    """Whether a cell, as it was written, is the value of a metric; text that is no number is another's business."""
    number = cell.split()[0]
    return float(number) in samples.filter(metric=metric)["value"].to_list()


@pytest.mark.parametrize(("file", "told"), files_of("nvidia_smi_query_csv"))
def test_nvidia_smi_query_csv(file, told):
    reading = reading_of("nvidia_smi_query_csv", file, told)
    asked(
        told, "header_columns", "data_rows", "rows_with_all_columns", "entities_pci", "first_time_local", "missing_cells", "exact"
    )  # fmt: skip
    header = columns_of(shared_path("formats", "nvidia_smi_query_csv", file).read_text().splitlines()[0])
    assert len(header.names) == told["header_columns"]
    assert reading.rows == told["data_rows"]
    assert reading.rows == told["rows_with_all_columns"]
    entities = reading.frame("entities")
    pci = [json.loads(text)["pci"] for text in entities["attributes"]]
    assert pci == [normal_pci(name) for name in told["entities_pci"]]
    marks = ("[N/A]", "N/A", "[Requested functionality has been deprecated]", "empty")
    missing = {key: count for key, count in reading.absent().items() if key.split(": ", 1)[1] in marks}
    assert sum(missing.values()) == told["missing_cells"]
    seen = reading.frame("aliases")["valid_from"].to_list()
    assert {parse_time(told["first_time_local"].replace("/", "-").replace(" ", "T") + "Z")} == set(map(to_us, seen))
    for name, cell in told["exact"].items():
        if name == "name":
            assert json.loads(entities["attributes"][0])["model"] == cell
        else:
            assert same_value(reading.frame("samples"), name.split(" [")[0], cell)


@pytest.mark.parametrize(("file", "told"), files_of("nvidia_smi_xml"))
def test_nvidia_smi_xml(file, told):
    reading = reading_of("nvidia_smi_xml", file, told)
    asked(
        told, "attached_gpus", "gpu_elements", "timestamp_local", "driver", "entities_pci", "uuids", "exact", "na_leaves"
    )  # fmt: skip
    entities = reading.frame("entities")
    attributes = [json.loads(text) for text in entities["attributes"]]
    assert reading.rows == told["gpu_elements"]
    missing = int(told["attached_gpus"]) - told["gpu_elements"]
    assert reading.frame("events").filter(code="missing").height == (missing > 0)
    assert {part["driver_version"] for part in attributes} == {told["driver"]}
    assert [part["pci"] for part in attributes] == [normal_pci(name) for name in told["entities_pci"]]
    assert entities["device"].to_list() == told["uuids"]
    assert sum(count for key, count in reading.absent().items() if key.endswith(": N/A")) == told["na_leaves"]
    samples = reading.frame("samples")
    assert {to_us(ts) for ts in samples["ts"].unique()} == {parse_time(iso_stamp(told["timestamp_local"]) + "Z")}
    first = samples.filter(device=told["uuids"][0])
    names = {
        "gpu0.temp": "temperature.gpu_temp", "gpu0.ecc_agg": "ecc_errors.aggregate.dram_uncorrectable",
        "gpu0.sram_unc_vol": "ecc_errors.volatile.sram_uncorrectable_parity",
    }  # fmt: skip
    for key, cell in told["exact"].items():
        if key == "gpu0.name":
            assert attributes[0]["model"] == cell
        elif cell not in (None, "N/A"):
            assert same_value(first, names[key], cell)
        else:
            assert first.filter(metric=names[key]).is_empty(), "absent, or a field that this version does not have"


@pytest.mark.parametrize(("file", "told"), files_of("nvidia_smi_q_text"))
def test_nvidia_smi_q_text(file, told):
    reading = reading_of("nvidia_smi_q_text", file, told)
    text = shared_path("formats", "nvidia_smi_q_text", file).read_text()
    asked(
        told, "attached_gpus", "gpu_blocks", "mig_devices", "timestamp_local", "key_value_lines", "exact", "nonempty_lines",
        "ends_with_newline", "lines_matching",
    )  # fmt: skip
    samples = reading.frame("samples")
    assert reading.rows == told.get("gpu_blocks", 1) == told.get("attached_gpus", 1)
    assert samples.filter(device_kind="gpu_instance").height == told.get("mig_devices", 0)
    assert reading.rejects().is_empty()
    assert reading.records - reading.skips()["blank"] == told.get(
        "nonempty_lines", reading.records - reading.skips()["blank"]
    )
    assert text.endswith("\n") == told.get("ends_with_newline", True)
    for pattern, count in told.get("lines_matching", {}).items():
        assert len(re.findall(pattern, text, re.MULTILINE)) == count == samples["device"].n_unique()
    if "key_value_lines" in told:
        lines = re.findall(r"^ *[A-Za-z0-9 .]+ +: ", text, re.MULTILINE)
        assert len(lines) == told["key_value_lines"] <= reading.skips()["continuation"] + reading.skips()["metadata"]
    if "timestamp_local" in told:
        assert {to_us(ts) for ts in samples["ts"].unique()} == {parse_time(iso_stamp(told["timestamp_local"]) + "Z")}
        names = {"gpu_current_temp": "Temperature/GPU Current Temp", "power": "GPU Power Readings/Average Power Draw"}
        assert all(same_value(samples, names[key], cell) for key, cell in told["exact"].items())


@pytest.mark.parametrize(("file", "told"), files_of("nvidia_smi_nvlink"))
def test_nvidia_smi_nvlink(file, told):
    reading = reading_of("nvidia_smi_nvlink", file, told)
    asked(told, "gpus", "link_lines", "nonzero", "speed_lines", "inactive", "na")
    samples = reading.frame("samples")
    counts = samples.filter(kind="counter")
    cut = reading.reject_counts().get(UNTERMINATED, 0)  # a line without a newline is never taken for whole
    assert cut == reading.rejects().height <= 1
    assert reading.frame("entities").filter(device_kind="gpu").height == told["gpus"]
    assert reading.rows + cut == told["gpus"] + told["link_lines"]
    rows = counts.filter(pl.col("value") > 0).sort("device").iter_rows(named=True)
    nonzero = [
        [row["device"].rpartition(":")[2], row["metric"].split(".")[1].removesuffix(" Errors"), str(row["value_int"])] for row in rows
    ]  # fmt: skip
    assert sorted(nonzero) == sorted(told["nonzero"])
    assert samples.filter(metric="nvlink.speed").height + cut == told["speed_lines"]
    assert samples.filter(metric="nvlink.active", value=0.0).height == told["inactive"]
    assert sum(reading.absent().values()) == told["na"]


def test_entity_map_every_name_of_a_device_leads_to_one():
    told = expected_of("entity_map")
    context = Context(host="node-a01", zone="UTC", taken_at_us=10**15, boot_at_us=10**15 - 10**12)
    identity, links = Identity(), []
    for file, facts in told.items():
        path = shared_path("formats", "entity_map", file)
        assert path.stat().st_size == facts["bytes"]
        lines = path.read_text().splitlines()
        reading = read(recognise(path.read_bytes(), context)[0], path, context)
        assert reading.rejects().is_empty()
        if file.endswith(".csv"):
            asked(facts, "header_columns", "data_rows", "alias_groups")
            assert len(columns_of(lines[0]).names) == facts["header_columns"]
            assert reading.rows == facts["data_rows"]
        else:
            asked(facts, "nonempty_lines", "ends_with_newline")
            assert len([line for line in lines if line.strip()]) == facts["nonempty_lines"]
            assert path.read_text().endswith("\n") == facts["ends_with_newline"]
            assert file.endswith(".json") or reading.records == facts["nonempty_lines"]
        identity.learn(reading.frame("aliases"))
        links += (
            reading.frame("links")
            .select("host", "device_kind", "device", "relation", "to_host", "to_kind", "to_device")
            .rows()
        )
    resolved = {
        (identity.resolve(link[:3]).entity, link[3], identity.resolve(link[4:]).entity) for link in links
    }  # fmt: skip
    for group in told["node-a01.nvidia_smi.csv"]["alias_groups"]:
        for kind, names in group.items():
            own = [name for name in names if not name.startswith(("lid ", "leaf-01 port "))]
            found = [identity.resolve(written(kind, name)).entity for name in own]
            assert len(set(found)) == 1, dict(zip(own, found, strict=True))
            if len(own) < len(names):  # a port of the NIC, and the port of the switch that it is connected to
                port = identity.resolve((None, "port", "lid:647/1")).name
                ends = {(child.rpartition(f"port:{port}")[1], relation, parent) for child, relation, parent in resolved}
                assert (f"port:{port}", "in", found[0]) in ends
                assert (f"port:{port}", "connected", identity.resolve((None, "port", "leaf-01/17")).entity) in ends


def written(kind, name):
    """Give host, kind and device as a source would write this name."""
    return (name, "host", None) if kind == "host" else ("node-a01", kind, name.removeprefix("node-a01/"))


@pytest.mark.parametrize(("file", "told"), files_of("gpu_topology"))
def test_gpu_topology(file, told):
    reading = reading_of("gpu_topology", file, told)
    asked(told, "ansi_escapes", "gpus", "cpu_affinity", "root", "cpus", "pci", "nics")
    text = shared_path("formats", "gpu_topology", file).read_text()
    entities = reading.frame("entities")
    kinds = dict(entities.group_by("device_kind").len().iter_rows())
    assert reading.rejects().is_empty()
    assert ("\x1b[" in text) == told.get("ansi_escapes", False)
    if "root" not in told:
        assert kinds["gpu"] == told["gpus"]
        assert json.loads(entities["attributes"][0])["cpu_affinity"] == told["cpu_affinity"]
        return
    root = next(xml_documents(text.encode())).root
    assert root.tag == told["root"]
    assert kinds["numa"] == told["cpus"]
    addresses = entities.filter(pl.col("device").str.contains(r"^[0-9a-f]{4}:") & (pl.col("attributes") != "{}"))
    assert addresses.height == told["pci"], (
        "every <pci> is an entity; ends of NVLinks that are no <pci> have no attributes"
    )
    assert entities.filter(device_kind="gpu")["attributes"].str.contains('"sm":').sum() == told["gpus"]
    named = entities.filter((pl.col("device_kind") == "nic") & ~pl.col("device").str.contains(":"))
    assert named.height == told["nics"]


@pytest.mark.parametrize(("file", "told"), files_of("rocm_smi_json"))
def test_rocm_smi_json(file, told):
    reading = reading_of("rocm_smi_json", file, told)
    text = shared_path("formats", "rocm_smi_json", file).read_text()
    document = json.loads(text)
    asked(told, "nonempty_lines", "ends_with_newline")
    assert len([line for line in text.splitlines() if line.strip()]) == told["nonempty_lines"]
    assert text.endswith("\n") == told["ends_with_newline"]
    assert reading.rejects().is_empty()
    assert reading.rows == sum(name.startswith("card") for name in document)
    samples = reading.frame("samples")
    first = reading.frame("aliases").filter(device="0")["same_as"][0]
    for metric in ("Temperature (Sensor edge) (C)", "Voltage (mV)", "VRAM Total Memory (B)"):
        assert same_value(samples.filter(device=first), metric, document["card0"][metric])


@pytest.mark.parametrize(("file", "told"), files_of("nccl_flight_recorder"))
def test_nccl_flight_recorder(file, told):
    if not shared_exists("formats", "nccl_flight_recorder", file):
        pytest.skip("the expectation is here, its dump is not")
    reading = reading_of("nccl_flight_recorder", file, told)
    asked(told, "kind", "load", "version", "entries", "states", "last_entry", "pg5_status", "pg_configs")
    dump, _ = plain_pickle(shared_path("formats", "nccl_flight_recorder", file).read_bytes())
    assert dump["version"] == told["version"]
    assert len(dump["pg_config"]) == told["pg_configs"]
    events = reading.frame("events")
    entries = events.filter(pl.col("code") != "outstanding")
    assert entries.height == told["entries"]
    assert dict(entries.group_by("code").len().iter_rows()) == told["states"]
    last = entries.sort("line").row(-1, named=True)
    attributes = json.loads(last["attributes"])
    wanted = told["last_entry"]
    assert attributes["record"] == wanted["record_id"]
    assert [attributes["group"], attributes["group_name"]] == wanted["pg"]
    assert attributes["sequence"] == wanted["collective_seq_id"]
    assert last["message"] == wanted["op"]
    assert last["ts"] == from_us(parse_time(wanted["created"][:26] + "Z"))
    behind = [json.loads(text) for text in events.filter(code="outstanding")["attributes"]]
    assert any(
        part["enqueued"] == told["pg5_status"]["last_enqueued"] and part["completed"] == told["pg5_status"]["last_completed"]
        for part in behind
    )  # fmt: skip
