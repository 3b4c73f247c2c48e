"""LLDP: the shapes of one JSON, and names that are none."""

import json

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.lldp import READER

CHASSIS = {"id": {"type": "mac", "value": "0c:4f:9b:c4:18:61"}}
PORT = {"id": {"type": "ifname", "value": "Ethernet1"}}
KEYED = {"chassis": {"leaf-1": CHASSIS}, "port": PORT}
NAMED = {"chassis": {"name": "leaf-1", **CHASSIS}, "port": PORT}
LISTED = {
    "name": "ens1",
    "chassis": [{"name": [{"value": "leaf-1"}], "id": [CHASSIS["id"]]}],
    "port": [{"id": [PORT["id"]]}],
}


def _read(value, tmp_path, host="gpu001"):
    text = value if isinstance(value, str) else json.dumps(value)
    return read_bytes(READER, text.encode(), Context(host=host), tmp_path)


@pytest.mark.parametrize(
    "interface",
    [[{"ens1": KEYED}], {"ens1": KEYED}, {"ens1": NAMED}, [{"ens1": [KEYED]}], {"ens1": [KEYED, KEYED]}, [{"name": "ens1", **NAMED}], [LISTED]],
)  # fmt: skip
def test_every_shape_gives_the_same_link(interface, tmp_path):
    for root in ({"interface": interface}, [{"interface": interface}]):
        links = _read({"lldp": root}, tmp_path).frame("links").filter(relation="connected")
        assert links.select("host", "device", "to_device").unique().rows() == [("gpu001", "ens1", "leaf-1/Ethernet1")]


def test_two_neighbours_of_one_interface_are_two_links(tmp_path):
    other = {"chassis": {"leaf-2": CHASSIS}, "port": PORT}
    links = _read({"lldp": {"interface": {"ens1": [KEYED, other]}}}, tmp_path).frame("links")
    assert links.filter(relation="connected").height == 2


@pytest.mark.parametrize(
    "odd", [{}, [], 7, "x", None, {"interface": [[[[[[1]]]]]]}, {"interface": {"ens1": {"chassis": 7, "port": []}}}]
)
def test_odd_documents_tell_no_link(odd, tmp_path):
    reading = _read({"lldp": odd}, tmp_path)
    assert reading.count("links") == 0


def test_no_link_joins_all_that_call_themselves_localhost(tmp_path):
    header = "Port       Neighbor Device ID             Neighbor Port ID           TTL\n"
    reading = _read(header + "Et1  localhost  Ethernet1  120\n", tmp_path, "leaf-1")
    assert reading.rows == 1
    assert reading.frame("links").filter(relation="connected").height == 0
    assert len(reading.notes) == 1


def test_the_host_of_the_dump_is_asked_for(tmp_path):
    reading = _read({"lldp": {"interface": {"ens1": KEYED}}}, tmp_path, None)
    assert reading.rejects()["curable"].to_list() == ["host"]
