"""Every number that the reference formats state about the tools of GPUs."""

import json

import polars as pl
import pytest
from readings import read
from shared import shared_exists, shared_path

from workbench.model.context import Context
from workbench.readers.registry import recognise
from workbench.readers.source import open_source

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
