"""Redfish: what a BMC without a clock, without sensors or without manners writes."""

import json

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.redfish import READER

STATED = Context(host="n1", taken_at_us=10**15)
ENTRY = {"@odata.type": "#LogEntry.v1_9_0.LogEntry", "Id": "1", "EntryType": "SEL", "Message": "m"}
SENSOR = {"@odata.type": "#Sensor.v1_6_0.Sensor", "Id": "S", "ReadingUnits": "Cel"}


def reading_of(value, tmp_path, context=STATED):
    return read_bytes(READER, json.dumps(value).encode() + b"\n", context, tmp_path)


@pytest.mark.parametrize(
    "created", ["1970-01-01T00:00:09Z", "1999-12-31T23:59:59Z", "0000-00-00T00:00:00Z", "0001-01-01T00:00:00Z"]
)
def test_entries_of_a_bmc_without_a_clock_are_kept_apart(created, tmp_path):
    reading = reading_of({**ENTRY, "Created": created}, tmp_path)
    assert reading.reject_counts() == {"the BMC had no clock when it wrote this": 1}


@pytest.mark.parametrize(
    "odd", [None, True, [], {}, 10**400, float("nan"), "9" * 5000, "\ud800", "2026-99-99T00:00:00Z"]
)
@pytest.mark.parametrize(
    "key", ["Created", "Message", "MessageId", "EntryCode", "Severity", "Links", "MessageArgs", "EntryType", "Id"]
)
def test_any_field_of_an_entry_may_be_odd(key, odd, tmp_path):
    reading = reading_of({**ENTRY, "Created": "2026-01-05T09:00:00Z", key: odd}, tmp_path)
    assert reading.records == 1
    assert reading.rows == (key != "Created")


@pytest.mark.parametrize("odd", [None, True, [], {}, float("nan"), float("inf"), "text", "\udfff"])
def test_a_reading_that_is_no_number_is_absent(odd, tmp_path):
    reading = reading_of({**SENSOR, "Reading": odd}, tmp_path)
    assert (reading.rows, reading.count("samples"), sum(reading.absent().values())) == (1, 0, 1)


def test_an_absent_sensor_has_no_reading_even_where_one_is_written(tmp_path):
    reading = reading_of({**SENSOR, "Reading": 0, "Status": {"State": "Absent"}}, tmp_path)
    assert reading.absent() == {"S: state Absent": 1}


def test_a_collection_in_itself_ends(tmp_path):
    value = {"Members": [{**SENSOR, "Reading": 1}]}
    for _ in range(20):
        value = {"Members": [value], "@odata.id": "/redfish/v1/x"}
    reading = reading_of(value, tmp_path)
    assert (reading.records, reading.rows) == (1, 0)


def test_a_map_from_paths_and_a_list_are_read(tmp_path):
    value = [{"/redfish/v1/a": {**SENSOR, "Reading": 1}, "/redfish/v1/b": {**ENTRY, "Created": "2026-01-05T09:00:00Z"}}]
    reading = reading_of(value, tmp_path)
    assert (reading.rows, reading.count("samples"), reading.count("events")) == (2, 1, 1)


def test_a_gpu_module_is_not_an_index(tmp_path):
    value = {
        **SENSOR,
        "Id": "HGX_GPU_SXM_12_TEMP_0",
        "Reading": 1,
        "@odata.id": "/redfish/v1/Chassis/HGX_GPU_SXM_12/Sensors/x",
    }
    reading = reading_of(value, tmp_path)
    assert reading.frame("samples").select("device_kind", "device", "metric").rows() == [
        ("gpu", "module:12", "HGX_GPU_TEMP_0")
    ]
    assert set(reading.frame("aliases")["rule"]) == {"module id"}


def test_without_host_or_time_a_reading_waits_and_an_entry_does_not(tmp_path):
    sensor = {**SENSOR, "Reading": 1}
    assert reading_of(sensor, tmp_path, Context(taken_at_us=1)).rejects()["curable"].to_list() == ["host"]
    assert reading_of(sensor, tmp_path, Context(host="n1")).rejects()["curable"].to_list() == ["taken_at"]
    assert reading_of({**ENTRY, "Created": "2026-01-05T09:00:00Z"}, tmp_path, Context()).rows == 1
