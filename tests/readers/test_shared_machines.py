"""Dumps of BMCs, disks, storage and inventories: every key of the reference's ``expected.json`` is checked."""

import json
from collections import Counter

import polars as pl
import pytest
from readings import read
from shared import shared_exists, shared_path

from workbench.model.context import Columns, Context
from workbench.readers.registry import recognise
from workbench.readers.source import open_source
from workbench.timebase import format_us, parse_time

FOLDERS = ("ipmi", "redfish", "smartctl_json", "nvme_smart_log_json", "lustre_proc", "inventory", "fault_trace")
ORIGIN_US = parse_time("2025-01-01T00:00:00Z")
TAKEN_AT_US = parse_time("2026-01-01T00:00:00Z")
STATED = Context(host="node-x", taken_at_us=TAKEN_AT_US)
DEVICE = Context(host="node-x", taken_at_us=TAKEN_AT_US, columns=Columns(roles={"device": "=x0"}))
DAYS = Context(columns=Columns(epoch="d", epoch_origin_us=ORIGIN_US))
READERS = {
    "sel_info.txt": "ipmi_sel_info",
    "sensor.txt": "ipmi_sensor",
    "redfish_firmware_bios.json": "redfish",
    **dict.fromkeys(("sel_list.csv", "sel_list.txt", "sel_list_verbose.txt"), "ipmi_sel"),
}


def cases():
    if not shared_exists("formats"):
        return [pytest.param("", "", {}, marks=pytest.mark.skip("reference data are not here; set WORKBENCH_SHARED"))]
    return [
        pytest.param(folder, file, expected, id=f"{folder}/{file}")
        for folder in FOLDERS
        for file, expected in json.loads(shared_path("formats", folder, "expected.json").read_text()).items()
    ]


def context_of(folder):
    return {"nvme_smart_log_json": DEVICE, "lustre_proc": DEVICE, "fault_trace": DAYS}.get(folder, STATED)


def reading_of(folder, file):
    path, context = shared_path("formats", folder, file), context_of(folder)
    with open_source(path) as source:
        found = recognise(source.head(), context)
    assert found is not None
    assert found[0].name == READERS.get(file, folder), found[1].rule
    return read(found[0], path, context)


@pytest.mark.parametrize(("folder", "file", "expected"), cases())
def test_every_stated_fact_is_read(folder, file, expected):
    path, reading = shared_path("formats", folder, file), reading_of(folder, file)
    checks = CHECKS[folder]
    for key, value in expected.items():
        if key == "bytes":
            assert path.stat().st_size == value
        elif key == "ends_with_newline":
            assert path.read_bytes().endswith(b"\n") == value
        elif key == "nonempty_lines":
            _nonempty(path, reading, value)
        else:
            checks[key](reading, value, file)
    documents = file.endswith(".json")
    assert documents or reading.records == len(path.read_bytes().splitlines())


def _is(told):
    def check(reading, value, file):
        assert told(reading) == value

    return check


def _nonempty(path, reading, count):
    """Every line that is not blank is a row, a continuation or a named skip: none is rejected."""
    assert sum(bool(line.strip()) for line in path.read_bytes().splitlines()) == count
    assert reading.rejects().height == 0
    if not path.name.endswith(".json"):
        assert reading.records - reading.skips().get("blank", 0) == count


def _sel_events(reading, count, file):
    assert reading.frame("events").height + reading.rejects().height == count
    if file != "sel_list_verbose.txt":
        assert reading.frame("events").height == count - 1, "one is from before the BMC had a clock"


def _directions(kind):
    def check(reading, count, file):
        early = reading.rejects()["text"].str.contains("| Asserted", literal=True).sum() if kind == "sel" else 0
        assert reading.frame("events").filter(kind=kind).height + early == count

    return check


def _record_ids(place):
    def check(reading, number, file):
        told = reading.frame("events")["attributes"].str.json_path_match("$.record").cast(pl.Int64).to_list()
        early = [int(text.split("|")[0], 16) for text in reading.rejects()["text"]]
        assert sorted([*told, *early])[place] == int(number, 16)

    return check


def _first_time(reading, time, file):
    assert format_us(reading.frame("events").sort("line")["ts"].dt.epoch("us")[0]) == time


def _order_break(reading, told, file):
    (note,) = reading.notes
    assert "record e says 2025-11-02T01:59:30Z after 2025-11-02T03:21:58Z" in note
    assert "e and f are EARLIER (01:59:30, 02:00:05) than record d (03:21:58)" in told


def _pre_init(reading, count, file):
    assert reading.rejects()["curable"].to_list() == ["boot_at"] * count


def _time_lost(reading, told, file):
    assert told == "lost by the tool"
    assert reading.frame("events").height == 0
    assert sum("loses the time of day" in reason for reason in reading.rejects()["reason"]) == 14


def _same_as_text(reading, told, file):
    """FORMATS.md 3.6: two views of one log give equal events."""
    assert told == "same events as sel_list.txt"
    assert reading.table("events") == reading_of("ipmi", "sel_list.txt").table("events")


def _sensor_values(reading, told, file):
    for name, value in told.items():
        if name.endswith(" status"):
            assert reading.has("events", {"severity": value, "attributes": {"sensor": name.removesuffix(" status")}})
        else:
            assert reading.has("samples", {"metric": name, "value": value, "host": "node-x"})


def _of_kind(kind):
    def check(reading, count, file):
        assert reading.frame("samples").filter(kind=kind).height == count

    return check


def _columns(reading, count, file):
    lines = shared_path("formats", "ipmi", file).read_text().splitlines()
    assert {len(line.split(",")) for line in lines} == {count}


IPMI = {
    "events": _sel_events,
    "header": _is(lambda reading: "header" in reading.skips()),
    "columns": _columns,
    "note": _same_as_text,
    "record_ids_are_hex": _is(lambda reading: reading.has("events", {"attributes": {"record": 0xF}})),
    "first_id": _record_ids(0),
    "last_id": _record_ids(-1),
    "pre_init": _pre_init,
    "asserted": _directions("sel"),
    "deasserted": _directions("sel.cleared"),
    "first_time": _first_time,
    "order_break": _order_break,
    "time_of_day": _time_lost,
    "rows": _is(lambda reading: reading.rows),
    "readings_numeric": _of_kind("gauge"),
    "missing": _is(lambda reading: sum(reading.absent().values())),
    "discrete": _of_kind("state"),
    "exact": _sensor_values,
}


def _in_unit(unit):
    def check(reading, count, file):
        assert reading.frame("samples").filter(unit=unit).height == count

    return check


def _sample_value(column):
    def check(reading, value, file):
        assert reading.frame("samples")[column].to_list() == [value]

    return check


def _entries(column):
    def check(reading, values, file):
        frame = reading.frame("events")
        told = frame[column] if column == "severity" else frame["ts"].dt.epoch("us").map_elements(format_us, pl.String)
        assert told.to_list() == values

    return check


def _type_of_reading(reading, value, file):
    assert json.loads(shared_path("formats", "redfish", file).read_text()).get("ReadingType") == value
    if value == "Power":
        stamp = reading.frame("samples")["ts"].dt.epoch("us")[0]
        assert format_us(stamp) == "2019-08-12T22:14:33Z", "its own time; the others have that of the dump"


def _declared(reading, count, file):
    (note,) = reading.notes
    assert "goes on at another page" in note
    assert reading.rows == count


REDFISH = {
    "temperatures": _in_unit("C"),
    "fans": _in_unit("RPM"),
    "null_readings": _is(lambda reading: sum(reading.absent().values())),
    "exact": _sensor_values,
    "members": _is(lambda reading: reading.rows),
    "declared": _declared,
    "created": _entries("ts"),
    "severity": _entries("severity"),
    "sensor": _sample_value("metric"),
    "reading": _sample_value("value"),
    "units": _sample_value("unit"),
    "type": _type_of_reading,
    "state": _is(lambda reading: "Enabled" if reading.count("samples") == 1 else None),
}


def _alias(reading, device, file):
    (alias,) = reading.frame("aliases").iter_rows(named=True)
    assert (alias["device"], alias["rule"]) == (device.removeprefix("/dev/"), "serial_number")


def _attribute(name):
    def check(reading, value, file):
        told = [json.loads(text).get(name) for text in reading.frame("entities")["attributes"]]
        assert told == [value]

    return check


def _sample_times(reading, time, file):
    assert {format_us(us) for us in reading.frame("samples")["ts"].dt.epoch("us")} == {time}


def _disk_metric(name):
    def check(reading, value, file):
        assert reading.has("samples", {"metric": name, "value": float(value)})

    return check


def _ata_attributes(reading, count, file):
    document = json.loads(shared_path("formats", "smartctl_json", file).read_text())
    table = document.get("ata_smart_attributes", {}).get("table", [])
    names = {entry["name"] for entry in table}
    assert reading.frame("samples").filter(pl.col("metric").is_in(names)).height == len(table) == count


def _nvme_keys(reading, count, file):
    """Every key of the log is a metric; a list of sensors has one for each; temperature comes once."""
    log = json.loads(shared_path("formats", "smartctl_json", file).read_text()).get(
        "nvme_smart_health_information_log", {}
    )
    assert len(log) == count
    metrics = set(reading.frame("samples")["metric"])
    odd = {"temperature": "temperature_c", "temperature_sensors": "temperature_sensor_1_c"}
    assert {odd.get(key, key) for key in log} <= metrics


SMART = {
    "device": _alias,
    "protocol": _attribute("protocol"),
    "serial": _is(lambda reading: reading.frame("samples")["device"].unique().item()),
    "time": _sample_times,
    "exit_status": _disk_metric("smartctl_exit_status"),
    "smart_passed": _disk_metric("smart_passed"),
    "temperature_c": _disk_metric("temperature_c"),
    "ata_attributes": _ata_attributes,
    "nvme_log_keys": _nvme_keys,
}


LUSTRE = {"jobs": _is(lambda reading: reading.frame("samples")["labels"].n_unique()), "snapshot_time": _sample_times}


def _firmwares(reading, told, file):
    found = [json.loads(text) for text in reading.frame("entities")["attributes"]]
    for number, wanted in told.items():
        has = found[int(number) - 1]
        assert has["FW"] == wanted["FW"]
        assert has.get("FW available") == wanted["available"]
        for key in ("psid", "guid"):
            assert wanted.get(key) in (None, has[key])


def _of_host(name):
    def check(reading, value, file):
        (text,) = reading.frame("entities").filter(device_kind="host")["attributes"]
        assert json.loads(text)[name] == value

    return check


def _names(reading, rule):
    rows = reading.frame("aliases").filter(rule=rule)
    return dict(rows.select("same_as", "device").iter_rows())


def _odd_vbios(reading, index, file):
    gpus = reading.frame("entities").filter(device_kind="gpu")
    versions = {row["device"]: json.loads(row["attributes"])["vbios"] for row in gpus.iter_rows(named=True)}
    counts = Counter(versions.values())
    (odd,) = [uuid for uuid, version in versions.items() if counts[version] == 1]
    assert _names(reading, "column index")[odd] == str(index)


def _modules(reading, told, file):
    modules = _names(reading, "module id")
    found = {
        index: int(modules[uuid].removeprefix("module:")) for uuid, index in _names(reading, "column index").items()
    }
    assert found == told


INVENTORY = {
    "devices": _is(lambda reading: reading.frame("entities").filter(device_kind="nic").height),
    "exact": _firmwares,
    "driver": _of_host("driver"),
    "cuda": _of_host("cuda"),
    "gpus": _is(lambda reading: reading.frame("entities").filter(device_kind="gpu").height),
    "odd_vbios": _odd_vbios,
    "index_to_module": _modules,
}


def _fault_kinds(reading, told, file):
    kinds = dict(reading.frame("events")["kind"].value_counts().iter_rows())
    assert kinds == {"fault": told["fault_start"], "fault.end": told["fault_end"]}


def _day(place):
    def check(reading, day, file):
        stamps = reading.frame("events").sort("ts")["ts"].dt.epoch("us")
        assert (stamps[place] - ORIGIN_US) / 86_400e6 == pytest.approx(day, abs=1e-9)

    return check


FAULTS = {
    "events": _is(lambda reading: reading.count("events")),
    "event_types": _fault_kinds,
    "nodes": _is(lambda reading: reading.frame("events")["host"].n_unique()),
    "first_day": _day(0),
    "last_day": _day(-1),
}
CHECKS = {
    "ipmi": IPMI,
    "redfish": REDFISH,
    "smartctl_json": SMART,
    "nvme_smart_log_json": {},
    "lustre_proc": LUSTRE,
    "inventory": INVENTORY,
    "fault_trace": FAULTS,
}


def test_kelvin_and_counters_beyond_64_bits():
    samples = reading_of("nvme_smart_log_json", "nvme_cli_smart_log.json").frame("samples")
    told = {row["metric"]: row for row in samples.iter_rows(named=True)}
    assert (told["temperature_c"]["value"], told["temperature_c"]["unit"]) == (349.0, "K")
    assert told["data_units_written"]["value_int"] == 9007199254740993
    assert told["data_units_read"]["value"] == 18446744073709551999.0
    assert told["percent_used"]["value"] == 103.0
    text = reading_of("nvme_smart_log_json", "nvme_cli_smart_log.txt").frame("samples")
    told = {row["metric"]: row for row in text.iter_rows(named=True)}
    assert told["data_units_written"]["value_int"] == 136157684
    assert (told["temperature_c"]["value"], told["temperature_c"]["unit"]) == (310.0, "K")
    assert told["data_units_written"]["device"] == "nvme3n1"


def test_lustre_sums_are_exact():
    reading = reading_of("lustre_proc", "ost_stats.txt")
    assert reading.has("samples", {"metric": "read_bytes_total", "value_int": 78026117632000, "unit": "B"})
    assert reading.has("samples", {"metric": "ping_samples_total", "value_int": 78020757, "kind": "counter"})
    assert reading.has("samples", {"metric": "ping_samples_total", "ts": "2015-08-04T12:57:44.430544Z"})


def test_the_bios_is_text_and_the_log_is_not_full():
    bios = reading_of("inventory", "redfish_firmware_bios.json")
    assert bios.has("entities", {"host": "node-x", "attributes": {"firmware BIOS": "P79 v1.45"}})
    reading = reading_of("ipmi", "sel_info.txt")
    for metric, value in {
        "SEL Entries": 15.0,
        "SEL Free Space": 15760.0,
        "SEL Percent Used": 1.0,
        "SEL Overflow": 0.0,
    }.items():
        assert reading.has("samples", {"metric": metric, "value": value})
