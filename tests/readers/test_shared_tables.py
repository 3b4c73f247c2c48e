"""Every number that the reference formats state about tables, Parquet, accounting dumps and inventories."""

import json

import polars as pl
import pytest
from readings import read
from shared import ROOT, shared_path

from workbench.model.context import Columns, Context
from workbench.model.mapping import load_mapping
from workbench.readers import parquet, slurm_sacct, table, topology
from workbench.readers.registry import recognise
from workbench.readers.sacctlines import header_of
from workbench.timebase import parse_time

UTC = Context(zone="UTC")


def _expected(folder, file):
    told = json.loads(shared_path("formats", folder, "expected.json").read_text(encoding="utf-8"))[file]
    path = shared_path("formats", folder, file)
    assert path.stat().st_size == told["bytes"]
    return path, told


def _claimed(path, context=None):
    found = recognise(path.read_bytes()[:65536], context or Context())
    return None if found is None else found[0].name


def _balanced(reading):
    return reading.records == reading.rows + sum(reading.skips().values()) + reading.rejects().height


def test_long_mixed_eol_dup_header():
    path, told = _expected("wide_long_generic", "long_mixed_eol_dup_header.csv")
    reading = read(table.READER, path, Context())
    assert _claimed(path) == "table"
    assert reading.records == len(path.read_bytes().splitlines())
    assert reading.rows + reading.skips()["duplicate"] == told["valid_rows"]
    assert reading.skips()["repeated header"] == told["repeated_headers"]
    assert reading.skips()["duplicate"] == told["exact_duplicates"]
    assert reading.absent()["temp: empty"] == told["empty_values"]
    infinite = reading.frame("samples")["value"].is_infinite().sum()
    assert reading.absent()["temp: NaN"] + infinite == told["non_finite"]
    assert (
        reading.rejects()["reason"].to_list()
        == ["last line has no newline: it may be cut"] * told["truncated_last_row"]
    )
    assert reading.has(
        "samples", {"ts": told["first_time"], "host": "node-a01", "device_kind": "gpu", "device": "0", "value": 54.0}
    )
    last = path.read_text().replace("\r", "").split("\n")[-2].split(",")
    assert int(last[0]) * 10**6 == parse_time(told["last_time"])  # of a row whose value is not finite


def test_superbench_monitor_wide():
    path, told = _expected("wide_long_generic", "superbench_monitor_wide.jsonl")
    reading = read(table.READER, path, Context(zone="UTC", host="n1"))
    assert (reading.records, reading.rows) == (told["records"], told["records"])
    frame = reading.frame("samples")
    assert frame.select("metric", "device").n_unique() == told["columns"] - 1
    assert str(frame["ts"].min())[:19] == told["first_time_local"]
    assert str(frame["ts"].max())[:19] == told["last_time_local"]
    for name, value in told["exact_first"].items():
        metric, _, device = name.partition(":")
        row = {
            "metric": metric,
            "device_kind": "gpu",
            "device": device,
            "value_int": value,
            "ts": "2021-12-06T04:19:35Z",
        }
        assert reading.has("samples", row)
    assert set(read(table.READER, path, Context(zone="UTC")).rejects()["curable"]) == {"host"}
    assert set(read(table.READER, path, Context(host="n1")).rejects()["curable"]) == {"clock"}


def test_wide_units_in_cells():
    path, told = _expected("wide_long_generic", "wide_units_in_cells.csv")
    reading = read(table.READER, path, Context())
    assert (reading.rows, reading.skips()) == (told["rows"], {"header": 1})
    assert sum(reading.absent().values()) == told["missing"]
    keys = [("2025-11-02T03:14:00Z", "0"), ("2025-11-02T03:14:00Z", "1"), ("2025-11-02T03:14:30Z", "0")]
    frame = reading.frame("samples")
    for metric, unit, values, scale in (
        ("power", "W", told["watts"], 1),
        ("temp", "C", told["celsius"], 1),
        ("fb_used", "B", told["mib"], 2**20),
    ):
        assert set(frame.filter(metric=metric)["unit"]) == {unit}
        for (ts, gpu), value in zip(keys, values, strict=True):
            found = frame.filter(metric=metric, device=gpu, ts=pl.lit(parse_time(ts)).cast(pl.Datetime("us", "UTC")))[
                "value"
            ].to_list()
            assert found == ([] if value is None else [pytest.approx(value * scale, rel=1e-12)])


def test_remote_write_map_labels():
    path, told = _expected("parquet", "remote_write_map_labels.parquet")
    reading = read(parquet.READER, path, Context())
    assert (reading.records, reading.rows) == (told["rows"], told["rows"])
    frame = reading.frame("samples")
    assert frame.select("metric", "host", "device").n_unique() == told["series"]
    assert sum(reading.absent().values()) == told["nan"]
    assert frame["ts"].min() == pl.Series([parse_time(told["first_time"])]).cast(frame["ts"].dtype)[0]
    assert frame["ts"].max() == pl.Series([parse_time(told["last_time"])]).cast(frame["ts"].dtype)[0]
    assert reading.has(
        "samples",
        {"metric": "DCGM_FI_DEV_GPU_TEMP", "host": "node-a01", "device_kind": "gpu", "device": "1", "labels": {}},
    )


def test_wide_gauge_and_wrapping_u32():
    path, told = _expected("parquet", "wide_gauge_and_wrapping_u32.parquet")
    stated = Columns(
        pattern=r"gpu(?P<device>\d+)_(?P<metric>.*)", units={"energy_mj": "mJ"}, kinds={"energy_mj": "counter"}
    )
    reading = read(parquet.READER, path, Context(columns=stated))
    assert reading.rows == told["rows"]
    assert reading.absent() == {"temp: empty": told["nulls"]["gpu1_temp"]}
    energy = reading.frame("samples").filter(metric="energy_mj").sort("ts")
    assert (set(energy["unit"]), set(energy["kind"]), energy["value_int"].null_count()) == ({"mJ"}, {"counter"}, 0)
    drops = (energy["value_int"].diff() < 0).arg_true().to_list()
    wrap = told["wrap"]
    assert drops == [wrap["at_row"]]
    before, after = energy["value_int"][wrap["at_row"] - 1], energy["value_int"][wrap["at_row"]]
    assert after - before + 2 ** wrap["bits"] == wrap["step"]
    plain = read(parquet.READER, path, Context()).frame("samples")
    assert plain["metric"].n_unique() == told["columns"] - 2
    assert str(plain["ts"].min())[:19].replace(" ", "T") + "Z" == told["first_time"]
    assert str(plain["ts"].max())[:19].replace(" ", "T") + "Z" == told["last_time"]


@pytest.mark.parametrize(
    "file", ["sacct_midnight_small.txt", "sacct_multiline_comment.txt", "sacct_parsable2_all_columns.txt"]
)
def test_sacct_lines_and_headers(file):
    path, told = _expected("slurm_sacct", file)
    header = header_of(path.read_bytes()[:65536])
    reading = read(slurm_sacct.READER, path, UTC)
    assert _claimed(path) == "slurm_sacct"
    assert (header.delimiter, len(header.names)) == (told["delimiter"], told["header_columns"])
    assert reading.records == told["physical_lines"]
    assert reading.rejects().is_empty()
    joined = reading.skips().get("continuation", 0)
    logical = reading.records - 1 - joined
    assert logical == told.get("logical_records", logical)
    assert reading.records - 1 - 2 * joined == told["lines_with_full_column_count"]
    assert told["lines_not_matching"] == 2 * joined
    assert any("UTF-8" in note for note in reading.notes) != told["valid_utf8"]


def test_sacct_jobs():
    path, _ = _expected("slurm_sacct", "sacct_midnight_small.txt")
    reading = read(slurm_sacct.READER, path, UTC)
    assert reading.frame("jobs").select("job", "state").rows() == [
        (str(job), "CANCELLED") for job in (39125549, 39125551, 39125552)
    ]
    assert reading.skips() == {"header": 1, "job step": 8}
    assert reading.has(
        "events",
        {"code": "CANCELLED", "device": "39125549", "ts": "2021-04-07T23:59:38Z", "attributes": {"by": "1185300516"}},
    )
    path, told = _expected("slurm_sacct", "sacct_multiline_comment.txt")
    jobs = {row["job"]: row for row in read(slurm_sacct.READER, path, UTC).frame("jobs").iter_rows(named=True)}
    assert told["physical_lines_without_header"] == told["physical_lines"] - 1
    assert {job: row["state"] for job, row in jobs.items()} == {
        "201729": "FAILED",
        "201844": "REQUEUED",
        "200131": None,
    }
    assert {job: len(row["nodes"]) for job, row in jobs.items()} == {
        "201729": 128,
        "201844": 32,
        "200131": 256,
    }  # NNodes


def test_sixty_eight_step_rows_of_one_job():
    path, told = _expected("slurm_sacct", "sacct_parsable2_all_columns.txt")
    reading = read(slurm_sacct.READER, path, UTC)
    jobs = reading.frame("jobs")
    assert reading.rows + reading.skips()["duplicate"] == told["records"]
    assert jobs["job"].n_unique() == told["distinct_job_ids"]
    assert str(jobs["start"][0])[:19].replace(" ", "T") == told["first_start_local"]
    assert str(jobs["end"][0])[:19].replace(" ", "T") == told["last_end_local"]
    assert jobs["nodes"][0].to_list() == told["nodes"]


def test_sacct_json_is_no_table():
    path, _ = _expected("slurm_sacct", "sacct_json_v0.0.37.json")
    assert _claimed(path) not in ("slurm_sacct", "table", "topology")
    for reader in (slurm_sacct, table, topology):
        reading = read(reader.READER, path, UTC)
        assert reading.rows == 0
        assert _balanced(reading)


@pytest.mark.parametrize(
    ("file", "kind", "count"), [("PdM_errors.csv", "error", 3919), ("PdM_failures.csv", "failure", 761)]
)
def test_azure_errors_and_failures_load_with_the_example_mapping(file, kind, count):
    path = shared_path("data", "azure_pdm", file)
    context = load_mapping(ROOT / "examples" / "mapping.toml").context_for(f"azure_pdm/{file}")
    reading = read(table.READER, path, context)
    assert _claimed(path, context) == "table"
    assert (reading.rows, reading.skips()) == (count, {"header": 1})
    events = reading.frame("events")
    assert set(events["kind"]) == {kind}
    assert events["host"].n_unique() <= 100
    assert set(events["device_kind"]) == {"host"}
    told = path.read_text(encoding="utf-8").splitlines()[1].replace('"', "").split(",")
    row = events.row(0, named=True)
    assert (str(row["ts"])[:19], row["host"], row["code"]) == tuple(told)
    unmapped = read(table.READER, path, Context())
    assert (unmapped.rows, unmapped.rejects().height, set(unmapped.rejects()["curable"])) == (0, count, {"host"})


@pytest.mark.parametrize(("file", "count"), [("PdM_machines.csv", 100), ("PdM_maint.csv", 3286)])
def test_other_azure_tables_are_rejected_with_a_reason(file, count):
    reading = read(table.READER, shared_path("data", "azure_pdm", file), UTC)
    assert (reading.rows, reading.rejects().height) == (0, count)
    assert reading.rejects()["reason"].n_unique() == 1


def test_stepfun_faults():
    path = shared_path("data", "stepfun_faults", "fault_trace.json")
    plain = read(table.READER, path, Context())
    assert (plain.records, plain.rows, set(plain.rejects()["curable"])) == (1168, 0, {"map"})
    context = load_mapping(ROOT / "examples" / "mapping.toml").context_for("stepfun/fault_trace.json")
    reading = read(table.READER, path, context)
    events = reading.frame("events")
    assert (reading.records, reading.rows) == (1168, 1168)
    assert dict(events["kind"].value_counts().iter_rows()) == {"fault_start": 584, "fault_end": 584}
    assert events["host"].n_unique() == 231
    assert (events["ts"].max() - events["ts"].min()).days <= 348
    summary = read(table.READER, shared_path("data", "stepfun_faults", "fault_statistics.json"), Context())
    assert summary.rows == 0
    assert _balanced(summary)


def test_infiniband_snapshot():
    path = shared_path("data", "driver_logs", "infiniband_sysfs_snapshot.csv")
    plain = read(table.READER, path, Context())
    assert (plain.records, plain.rejects().height, set(plain.rejects()["curable"])) == (460, 459, {"map"})
    roles = {"nic": "device", "metric": "name", "value": "value"}
    stated = Columns(
        shape="long", roles=roles, kinds={"link_downed": "counter"}, ignore=("group",), labels=("snapshot",)
    )
    reading = read(
        table.READER, path, Context(host="h100", taken_at_us=parse_time("2026-03-01T10:00:00Z"), columns=stated)
    )
    assert reading.rows == 459
    assert reading.count("samples") + sum(reading.absent().values()) == 459
    stuck = reading.frame("samples").filter(pl.col("value_int") == 255)
    assert stuck.height
    assert set(stuck["device_kind"]) == {"port"}


def test_units_in_brackets_latin_1_and_a_total_of_a_real_layout():
    path = shared_path("formats", "power_cooling_csv", "pdu_german_latin1.csv")
    roles = {"outlet": "Outlet", "pdu": "PDU"}
    context = Context(
        zone="Europe/Berlin", columns=Columns(time_format="%d.%m.%Y %H:%M:%S", roles=roles, ignore=("Phase",))
    )
    reading = read(table.READER, path, context)
    assert reading.has(
        "samples",
        {"ts": "2025-11-02T02:14:00Z", "device": "PDU-R12-A/1", "metric": "Strom", "unit": "A", "value": 14.2},
    )
    assert reading.has("samples", {"metric": "Energie", "unit": "kWh", "value": 12345.678})
    assert reading.has("samples", {"metric": "Gehäuse", "unit": "°C", "value": 31.5})
    assert _balanced(reading)


def test_an_inventory_of_nvidia_smi_gives_the_aliases_of_the_entity_map():
    path, _ = _expected("entity_map", "node-a01.nvidia_smi.csv")
    groups = json.loads(shared_path("formats", "entity_map", "expected.json").read_text(encoding="utf-8"))[
        "node-a01.nvidia_smi.csv"
    ]
    reading = read(topology.READER, path, Context(host="node-a01"))
    assert reading.rows == groups["data_rows"]
    for index, uuid, serial, address, *_ in (group["gpu"] for group in groups["alias_groups"] if "gpu" in group):
        pci = address.lower().removeprefix("0000").removesuffix(".0")
        for name in (index.partition("/")[2], serial, pci):
            assert reading.has("aliases", {"host": "node-a01", "device_kind": "gpu", "device": name, "same_as": uuid})
