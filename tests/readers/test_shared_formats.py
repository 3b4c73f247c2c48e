"""Dumps of real tools, with counts and values that were taken from them by other means."""

import json
import re

import polars as pl
import pytest
from readings import read
from shared import shared_exists, shared_path

from workbench.model.context import Context
from workbench.readers.registry import BUILT_IN, readers, recognise
from workbench.readers.source import open_source
from workbench.timebase import from_us, parse_time, to_us

STATED = Context(
    zone="UTC",
    year=2025,
    host="node-x",
    taken_at_us=parse_time("2026-01-01T00:00:00Z"),
    boot_at_us=parse_time("2025-10-23T09:00:40Z"),
)
METRICS = ("dcgm_exporter_text", "prometheus_text", "openmetrics", "compressed")
LOGS = ("kernel_log", "journald_json", "syslog_generic")


def cases(*folders):
    if not shared_exists("formats"):
        return [pytest.param("", "", {}, marks=pytest.mark.skip("reference data are not here; set WORKBENCH_SHARED"))]
    return [
        pytest.param(folder, file, expected, id=f"{folder}/{file}")
        for folder in folders
        for file, expected in json.loads(
            shared_path("formats", folder, "expected.json").read_text(encoding="utf-8")
        ).items()
        if file.endswith((".prom", ".om", ".prom.gz")) or folder in LOGS
    ]


def reading_of(*parts, context=STATED):
    path = shared_path(*parts)
    with open_source(path) as source:
        found = recognise(source.head(), context)
    assert found is not None, path
    return found[0].name, read(found[0], path, context)


def text_lines(folder, file):
    return shared_path("formats", folder, file).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(("folder", "file", "expected"), cases(*METRICS))
def test_counts_of_an_exposition(folder, file, expected):
    name, reading = reading_of("formats", folder, file)
    assert name == "prometheus_text"
    samples = reading.frame("samples")
    absent = sum(reading.absent().values())
    assert samples.height + absent == expected.get("samples", expected.get("samples_after_decompression"))
    assert reading.rejects().height == expected.get("unparsable_lines", 0)
    assert sum(batch.series.height for batch in reading.batches) == expected.get("distinct_series", samples.height)
    assert reading.skips().get("end marker", 0) == int(expected.get("eof_marker", False))
    stated = samples.filter(pl.col("ts").dt.epoch("us") != STATED.taken_at_us).height + absent
    assert stated == expected.get("time_stamps_present", 0)
    assert samples["value"].is_finite().all() == (expected.get("nan_or_inf", 0) == 0)
    if "entities" in expected:
        assert samples["device"].n_unique() == expected["entities"]
    if "entity" in expected:
        assert samples["device"].unique().to_list() == [expected["entity"]]
    if expected.get("host_label_is_pod"):
        assert samples["host"].unique().to_list() == ["node-x"], "stated, for a Hostname that is a pod is none"
        labels = samples["labels"].str.json_decode(pl.Struct({"pod": pl.String, "Hostname": pl.String})).struct.unnest()
        assert labels["pod"].unique().to_list() == [expected["exact"]["pod"]]
        assert labels["Hostname"].null_count() == 0
    if "families_with_TYPE" in expected:
        types = {line.split()[2] for line in text_lines(folder, file) if line.startswith("# TYPE ")}
        assert len(types) == expected["families_with_TYPE"]


def gpu_value(reading, metric, index):
    names = reading.frame("aliases").filter(pl.col("device") == index)["same_as"].unique().to_list()
    rows = reading.frame("samples").filter((pl.col("metric") == f"DCGM_FI_{metric}") & pl.col("device").is_in(names))
    return rows["value_int"].to_list()


def test_exact_values_of_a_bare_metal_exporter():
    _, reading = reading_of("formats", "dcgm_exporter_text", "h100x4_bare_metal.prom")
    exact = json.loads(shared_path("formats", "dcgm_exporter_text", "expected.json").read_text())[
        "h100x4_bare_metal.prom"
    ]["exact"]
    assert gpu_value(reading, "DEV_XID_ERRORS", "3") == [exact["XID_ERRORS gpu3"]]
    assert gpu_value(reading, "DEV_PCIE_REPLAY_COUNTER", "2") == [exact["PCIE_REPLAY gpu2"]]
    assert gpu_value(reading, "DEV_GPU_UTIL", "3") == [exact["GPU_UTIL gpu3"]]
    assert gpu_value(reading, "PROF_DRAM_ACTIVE", "3") == [], exact["DRAM_ACTIVE gpu3"]
    assert gpu_value(reading, "PROF_DRAM_ACTIVE", "2") != []
    series = reading.batches[0].series
    assert series.filter(metric="DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION")["kind"].unique().to_list() == ["counter"]
    assert series.filter(metric="DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION")["unit"].unique().to_list() == ["mJ"]
    assert series["host"].unique().to_list() == ["node-a01"]
    assert reading.frame("aliases").filter(pl.col("rule") == "label pci_bus_id").height == 4


def test_exact_values_of_one_gpu():
    _, reading = reading_of("formats", "dcgm_exporter_text", "l40s_k8s_upcloud.prom")
    exact = json.loads(shared_path("formats", "dcgm_exporter_text", "expected.json").read_text())[
        "l40s_k8s_upcloud.prom"
    ]["exact"]
    for metric, value in exact.items():
        assert gpu_value(reading, f"DEV_{metric}", "0") == [value]


def test_a_rounded_sentinel_is_absent_and_a_federated_host_is_the_exporter_s():
    _, reading = reading_of("formats", "prometheus_text", "federate.prom")
    assert reading.absent() == {"DCGM_FI_DEV_MEMORY_TEMP: DCGM blank": 1}
    assert reading.frame("samples")["host"].unique().to_list() == ["node-a01"]
    assert reading.has(
        "samples", {"metric": "up", "ts": "2026-11-30T20:44:58.6Z", "labels": {"cluster": "lab-a", "job": "dcgm"}}
    )


@pytest.mark.parametrize(("folder", "file", "expected"), cases(*LOGS))
def test_counts_of_a_log(folder, file, expected):
    name, reading = reading_of("formats", folder, file)
    assert name == {"syslog_generic": "syslog"}.get(folder, folder)
    events, blank = reading.frame("events"), reading.skips().get("blank", 0)
    if "nonempty_lines" in expected:
        assert reading.records - blank == expected["nonempty_lines"]
        cut = reading.reject_counts().get("last line has no newline: it may be cut", 0)
        assert cut == int(not expected["ends_with_newline"])
    if "records" in expected or "lines" in expected:
        assert reading.records == expected.get("records", expected.get("lines"))
    xids = events.filter(kind="xid").sort("line")
    told = expected.get("xid_events", [])
    wanted = [entry[-2:] for entry in told] if told or "xid_events" in expected else []
    assert [[device, int(code)] for device, code in xids.select("device", "code").iter_rows()] == wanted
    if told and len(told[0]) == 3:
        assert [host.split(".")[0] for host in xids["host"]] == [entry[0] for entry in told]
    if "sxid_events" in expected:
        assert events.filter(kind="sxid").height == expected["sxid_events"]
    if "hosts" in expected:
        assert sorted({host.split(".")[0] for host in events["host"]}) == expected["hosts"]
    if "lost_messages" in expected:
        lost = events.filter(kind="log.lost")["attributes"].str.json_path_match("$.count").to_list()
        assert lost == [str(expected["lost_messages"])]
    if "repeated" in expected:
        assert reading.has("events", {"kind": "nfs", "attributes": {"repeated": expected["repeated"]}})


PATTERNS = {
    r"NVRM: Xid \(PCI:": ("xid", None),
    r"AER:": ("aer", None),
    r"Link (?:down|up)": ("link", None),
    r"invoked oom-killer": ("oom", None),
    r"not responding": ("nfs", "not_responding"),
}


@pytest.mark.parametrize(("folder", "file", "expected"), cases("kernel_log"))
def test_lines_that_match_a_pattern_are_events_of_its_kind(folder, file, expected):
    _, reading = reading_of("formats", folder, file)
    events = reading.frame("events")
    for pattern, count in expected["lines_matching"].items():
        assert sum(bool(re.search(pattern, line)) for line in text_lines(folder, file)) == count
        kind, code = PATTERNS.get(pattern, (None, None))
        if kind is not None:
            rows = events.filter((pl.col("kind") == kind) & (pl.col("code") == code if code else pl.lit(value=True)))
            assert rows.height == count


def test_a_mixed_kernel_log_is_grouped_and_times_are_right():
    expected = json.loads(shared_path("formats", "kernel_log", "expected.json").read_text())[
        "dmesg_boot_relative_mixed.log"
    ]
    _, reading = reading_of("formats", "kernel_log", "dmesg_boot_relative_mixed.log")
    events = reading.frame("events")
    assert (reading.rows, reading.skips()) == (20, {"continuation": 10})
    assert events.filter(kind="sxid").height == expected["sxid_events"]
    for state, uptime in expected["link_flap"]["ibp94s0"].items():
        row = events.filter((pl.col("kind") == "link") & (pl.col("code") == state)).row(0, named=True)
        assert (to_us(row["ts"]) - STATED.boot_at_us) / 1e6 == uptime
        assert json.loads(row["attributes"])["netdev"] == "ibp94s0"
    assert events.filter(kind="mce").height == 1, "four lines"
    root = events.filter(kind="xid").row(0, named=True)
    assert (root["device"], root["code"]) == ("0000:18:00", "79"), expected["root_candidate"]


def test_without_the_boot_nothing_is_guessed_but_the_hint_is_told():
    name, reading = reading_of("formats", "kernel_log", "dmesg_boot_relative_mixed.log", context=Context())
    assert (name, reading.rows) == ("kernel_log", 0)
    assert reading.rejects()["curable"].unique().to_list() == ["boot_at"]
    assert [note for note in reading.notes if "2025-11-02T03:14:01Z" in note and "2025-10-23T09:00:39" in note]


def test_journal_times_follow_the_rule():
    expected = json.loads(shared_path("formats", "journald_json", "expected.json").read_text())["journal_o_json.jsonl"]
    _, reading = reading_of("formats", "journald_json", "journal_o_json.jsonl")
    events = reading.frame("events").sort("line")
    assert abs(to_us(events["ts"][0]) - parse_time(expected["first_source_time"])) < 1000, (
        "received within a millisecond"
    )
    assert r"\xff\xfe" in events["message"][expected["binary_message_index"]]
    assert "\n" in events["message"][expected["multiline_message_index"]]
    assert events["ts"][2] == from_us(1762053241500000), "programs state their own time"


def test_syslog_times_without_zone_and_year_wait():
    expected = json.loads(shared_path("formats", "syslog_generic", "expected.json").read_text())[
        "rsyslog_aggregated_skew.log"
    ]
    _, reading = reading_of("formats", "syslog_generic", "rsyslog_aggregated_skew.log", context=Context())
    known = {
        line: parse_time(time)
        for line, time in enumerate(expected["times_utc_where_known"], start=1)
        if time is not None
    }
    assert {line: to_us(ts) for line, ts in reading.frame("events").select("line", "ts").iter_rows()} == known
    waiting = reading.rejects()
    assert (waiting["line"].to_list(), waiting["curable"].to_list()) == ([3], ["clock"])


LOG_FILES = {
    "accelerator_nvidia_nccl_dmesg.decode.iso.log": {"segfault": 1},
    "accelerator_nvidia_xid_dmesg-with-xid-119.log": {"xid": 5},
    "kmsg_kmsg.1.log": {},
    "kmsg_kmsg.2.peermem.log": {"peermem": 7},
    "memory_dmesg.decode.iso.log": {"xid": 17, "oom": 6},
    "os_dmesg.decode.iso.log": {},
    "pstore_7530486857247_dmesg.txt": {"panic": 1, "link": 1, "log.lost": 4},
}


@pytest.mark.parametrize("file", LOG_FILES)
def test_driver_logs_are_read_whole(file):
    name, reading = reading_of("data", "driver_logs", file)
    assert name == "kernel_log"
    assert reading.records == len(shared_path("data", "driver_logs", file).read_bytes().splitlines())
    assert reading.records == reading.rows + sum(reading.skips().values()) + reading.rejects().height
    assert set(reading.reject_counts()) <= {"last line has no newline: it may be cut"}
    kinds = dict(reading.frame("events")["kind"].value_counts().iter_rows())
    assert {kind: kinds.get(kind, 0) for kind in LOG_FILES[file]} == LOG_FILES[file]


def test_a_format_without_a_reader_is_claimed_by_none():
    head = shared_path("data", "driver_logs", "accelerator_nvidia_fabric-manager_fabricmanager.log").read_bytes()
    logs = [
        reader for reader in readers() if reader.name in ("kernel_log", "syslog", "journald_json", "prometheus_text")
    ]
    assert recognise(head, STATED, among=logs) is None


def test_log_readers_claim_no_other_format():
    """Every file of the reference formats: text that looks like a log is not therefore one."""
    own = {"kernel_log": {"kernel_log"}, "syslog_generic": {"syslog"}, "journald_json": {"journald_json"}}
    own |= {folder: {"prometheus_text"} for folder in METRICS}
    own |= {"entity_map": {"prometheus_text", "kernel_log"}, "promtool_tsdb_dump": {"prometheus_text"}}
    logs = [
        reader for reader in readers() if reader.name in ("kernel_log", "syslog", "journald_json", "prometheus_text")
    ]
    assert len(logs) == 4
    assert set(BUILT_IN) >= {reader.name for reader in logs}
    wrong = {}
    for path in sorted(shared_path("formats").glob("*/*")):
        if path.name in ("expected.json", "PROVENANCE.md"):
            continue
        with open_source(path) as source:
            found = recognise(source.head(), STATED, among=logs)
        if found is not None and found[0].name not in own.get(path.parent.name, set()):
            wrong[f"{path.parent.name}/{path.name}"] = (found[0].name, found[1].rule)
    assert not wrong
