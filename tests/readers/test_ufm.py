"""UFM: one event once, links named as everybody names them, and two clocks in one document."""

import json

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.ufm import READER

HEADER = '"Event ID","Timestamp","Severity","Event Name","Source","Source Type","Description"\n'


def _read(text, tmp_path, zone="UTC"):
    return read_bytes(READER, text.encode(), Context(zone=zone), tmp_path)


def _event(number, source="a1b2c30300c00010_17", kind="Link", message="Link went down", stamp="2026-01-05 10:00:00"):
    return f'"{number}","{stamp}","Critical","Link is Down","{source}","{kind}","{message}"\n'


def test_the_same_event_again_is_no_second_event_and_another_id_is(tmp_path):
    reading = _read(HEADER + _event(1) + _event(1) + _event(2), tmp_path)
    assert (reading.count("events"), reading.skips()["duplicate"]) == (2, 1)


def test_local_times_wait_for_a_zone(tmp_path):
    assert _read(HEADER + _event(1), tmp_path, None).rejects()["curable"].to_list() == ["clock"]


@pytest.mark.parametrize(
    ("source", "kind", "who"),
    [
        ("a1b2c30300c00010_17", "Link", (None, "port", "0xa1b2c30300c00010/17")),
        ("a1b2c30300c00010", "Switch", (None, "switch", "0xa1b2c30300c00010")),
        ("a1b2c30300c00010", "Computer", (None, "nic", "0xa1b2c30300c00010")),
        ("gpu001", "Computer", ("gpu001", "host", None)), ("default", "Grid", (None, "cluster", None)), ("", "", (None, "cluster", None)),
    ],
)  # fmt: skip
def test_the_source_says_whose_event_it_is(source, kind, who, tmp_path):
    events = _read(HEADER + _event(1, source, kind), tmp_path).frame("events")
    assert events.select("host", "device_kind", "device").rows() == [who]


def test_the_epoch_is_the_time_and_the_local_text_is_not(tmp_path):
    record = {"timestamp": 1709652347161873, "node_guid": "0x1", "port_num": 1, "Infiniband_LinkDowned_u_Errors": 1}
    text = json.dumps({"timestamp": "2024-03-05 16:26:11", "values": [record]})
    assert _read(text, tmp_path, None).has("samples", {"ts": "2024-03-05T15:25:47.161873Z"})


@pytest.mark.parametrize("odd", [True, "7", None, -1, 10**30, 1.5])
def test_a_record_whose_place_or_time_is_odd_is_rejected(odd, tmp_path):
    good = {"timestamp": 1709652347161873, "node_guid": "0x1", "port_num": 1, "Infiniband_LinkDowned_u_Errors": 1}
    for key in ("timestamp", "port_num"):
        reading = _read(json.dumps({"values": [{**good, key: odd}]}), tmp_path)
        assert (reading.rows, reading.rejects().height) == (0, 1)
