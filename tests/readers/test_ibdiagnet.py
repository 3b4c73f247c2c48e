"""ibdiagnet: numbers of two bases, counters that are not there, and a local time."""

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.model.metric import find
from workbench.readers.ibdiagnet import READER

BERLIN = Context(zone="Europe/Berlin")
GUID = "0xa1b2c30300c00010"


def _table(name, header, *rows):
    return "\n".join([f"START_{name}", header, *rows, f"END_{name}", ""])


def _counters(**cells):
    header = ",".join(["NodeGUID", "PortNumber", *cells])
    return "# Run time : 2026-01-05 10:00:00\n" + _table("PM_INFO", header, ",".join([GUID, "1", *cells.values()]))


def _read(text, tmp_path, context=BERLIN):
    return read_bytes(READER, text.encode(), context, tmp_path)


@pytest.mark.parametrize(("cell", "value"), [("0x10", 16), ("16", 16), ("0XF", None), ("0x", None), ("1e3", 1000)])
def test_both_bases_are_read(cell, value, tmp_path):
    reading = _read(_counters(LinkDownedCounter=cell), tmp_path)
    values = reading.frame("samples")["value"].to_list()
    assert values == ([] if value is None else [value])


@pytest.mark.parametrize("cell", ["NA", "N/A", "", "0xfffffffffffffffe", "0xffffffffffffffff", "18446744073709551614"])
def test_a_counter_that_a_port_does_not_have_is_absent_and_never_zero(cell, tmp_path):
    reading = _read(_counters(PortXmitWaitExt=cell), tmp_path)
    assert reading.count("samples") == 0
    assert sum(reading.absent().values()) == 1


def test_saturated_counters_are_kept_raw_and_the_catalogue_knows_that_they_stick(tmp_path):
    full = {"LinkDownedCounter": 8, "SymbolErrorCounter": 16, "PortRcvErrors": 16, "PortXmitDiscard": 16}
    reading = _read(_counters(**{name: str(2**bits - 1) for name, bits in full.items()}), tmp_path)
    for metric, value in reading.frame("samples").select("metric", "value_int").rows():
        assert (find(metric).bits, find(metric).saturates) == (full[metric], True)
        assert value == 2 ** find(metric).bits - 1


def test_without_a_zone_counters_wait_and_the_fabric_is_told(tmp_path):
    nodes = _table("NODES", "NodeDesc,NodeType,NodeGUID", f"leaf-1,2,{GUID}")
    reading = _read(_counters(LinkDownedCounter="1") + nodes, tmp_path, Context())
    assert reading.rejects()["curable"].to_list() == ["clock"]
    assert reading.has("entities", {"device": GUID, "device_kind": "switch"})


def test_a_log_without_a_time_asks_for_one(tmp_path):
    text = "-I- Discovering\n-E- Bad link found\n"
    assert _read(text, tmp_path, Context()).rejects()["curable"].to_list() == ["taken_at"]
    assert _read(text, tmp_path, Context(taken_at_us=0)).count("events") == 1
