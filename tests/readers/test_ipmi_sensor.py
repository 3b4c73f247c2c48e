"""Sensors of a BMC: names that come twice, dumps that come twice, states that are no readings."""

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.ipmi_sensor import READER

STATED = Context(host="n1", taken_at_us=10**15)
NONE = "| na        | na        | na        | na        | na        | na        "


def reading_of(lines, tmp_path, context=STATED):
    return read_bytes(READER, "".join(f"{line}\n" for line in lines).encode(), context, tmp_path)


def sensor(name, cell, unit="degrees C", status="ok"):
    return f"{name:<16} | {cell:<10} | {unit:<10} | {status:<5} {NONE}"


def test_a_dump_that_comes_twice_is_told_once_and_names_that_come_twice_are_two(tmp_path):
    dump = [sensor(name, f"{place}.000") for place, name in enumerate(["A", "Temp", "Temp", "B", "C"])]
    later = [dump[0], *(line.replace(".000", ".500") for line in dump[1:])]
    reading = reading_of(dump + later, tmp_path)
    assert reading.rows == 5
    assert reading.skips() == {"duplicate": 1}
    assert [reason[:27] for reason in reading.reject_counts()] == ["the dump starts again here,"]
    labels = reading.frame("samples").filter(metric="Temp").sort("value")["labels"].to_list()
    assert labels == ["{}", '{"instance":"2"}']


def test_a_reading_of_zero_is_not_a_missing_one(tmp_path):
    reading = reading_of([sensor("FAN1", "0.000", "RPM", "cr"), sensor("FAN2", "na", "RPM", "na")], tmp_path)
    assert reading.frame("samples").select("metric", "value").rows() == [("FAN1", 0.0)]
    assert reading.absent() == {"FAN2: no reading": 1}
    assert reading.frame("events").select("code", "severity").rows() == [("critical", "cr")]


def test_a_discrete_sensor_is_its_state_not_a_reading(tmp_path):
    reading = reading_of([sensor("PSU1", "0x0", "discrete", "0x0980"), "PSU2 | 0x01 | ok", "PSU3,0x02,ok"], tmp_path)
    states = reading.frame("samples").select("metric", "value_int", "kind").rows()
    assert states == [("PSU1", 0x0980, "state"), ("PSU2", 1, "state"), ("PSU3", 2, "state")]


@pytest.mark.parametrize(("context", "curable"), [(Context(taken_at_us=5), "host"), (Context(host="n1"), "taken_at")])
def test_what_the_dump_does_not_say_is_asked_for(context, curable, tmp_path):
    reading = reading_of([sensor("A", "1.000")], tmp_path, context)
    assert reading.rejects()["curable"].to_list() == [curable]
