import json

import pytest
from readings import read_bytes

from workbench.model.context import Columns, Context
from workbench.readers.registry import recognise
from workbench.readers.topology import READER


def _read(tmp_path, text, context=None):
    data = text.encode() if isinstance(text, str) else json.dumps(text).encode()
    return read_bytes(READER, data, context or Context(), tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "host,rack\nn1,r1\n",
        "node,switch,pdu_a,pdu_b\nn1,s1,p1,p2\n",
        "parent,child\nrack:r1,host:n1\n",
        "host,gpu_uuid,gpu_index\nn1,GPU-1f,0\n",
        '{"racks": [{"name": "r1", "hosts": ["n1"]}]}',
        '{"nodes": [], "edges": []}',
        '[{"parent": "rack:r1", "child": "host:n1"}]',
    ],
)
def test_what_stands_where_is_recognised(text):
    found = recognise(text.encode(), Context())
    assert found is not None
    assert found[0].name == "topology", found[1].rule


@pytest.mark.parametrize(
    "text",
    [
        "time,host,rack,temp\n1772359200,n1,r1,5\n",
        "host,rack,value,metric\nn1,r1,5,temp\n",
        "job_id,host,start,end\n1,n1,2,3\n",
        '{"meta": {"Slurm": {}}, "nodes": [{"name": "n1"}]}',
        '{"apiVersion": "v1", "nodes": []}',
        '{"status": "success", "data": {}}',
        "a,b\n1,2\n",
    ],
)
def test_other_tables_and_documents_are_not_taken_for_one(text):
    found = recognise(text.encode(), Context())
    assert found is None or found[0].name != "topology"


def test_kinds_of_edges_may_be_stated(tmp_path):
    stated = Columns(
        shape="topology", roles={"parent": "enclosure", "child": "box", "parent_kind": "=rack", "child_kind": "=host"}
    )
    reading = _read(tmp_path, "enclosure,box\nr1,n1\n", Context(columns=stated))
    assert reading.has(
        "links", {"host": "n1", "device_kind": "host", "relation": "in", "to_kind": "rack", "to_device": "r1"}
    )
    assert _read(tmp_path, "parent,child\nr1,n1\n").rejects()["curable"].to_list() == ["map"]


def test_edges_of_a_graph_are_connections(tmp_path):
    reading = _read(tmp_path, "source,target\nn1/mlx5_0,switch:s1\n")
    assert reading.has(
        "links", {"host": "n1", "device_kind": "nic", "device": "mlx5_0", "relation": "connected", "to_kind": "switch"}
    )


def test_inventories_give_every_name_of_a_device(tmp_path):
    text = "host,nic,guid,pci_bus_id,fw\nn1,mlx5_0,0x9c05,0000:5E:00.0,28.39\n"
    reading = _read(tmp_path, text)
    assert reading.has("aliases", {"host": "n1", "device_kind": "nic", "device": "0x9c05", "same_as": "mlx5_0"})
    assert reading.has("aliases", {"device_kind": "nic", "device": "0000:5e:00", "same_as": "mlx5_0"})
    assert reading.has("entities", {"device_kind": "nic", "device": "mlx5_0", "attributes": {"fw": "28.39"}})
    hosts = _read(tmp_path, "host,fqdn,rack\nn1,n1.cluster.local,r1\n")
    assert hosts.has("aliases", {"host": None, "device_kind": "host", "device": "n1.cluster.local", "same_as": "n1"})


def test_an_inventory_of_one_host_needs_its_name(tmp_path):
    text = "index, uuid, serial, pci.bus_id\n0, GPU-1f, 165, 00000000:18:00.0\n"
    assert _read(tmp_path, text).rejects()["curable"].to_list() == ["host"]
    assert _read(tmp_path, text, Context(host="n1")).has(
        "aliases", {"host": "n1", "device": "0000:18:00", "same_as": "GPU-1f"}
    )


def test_what_several_rows_say_of_one_thing_is_said_once(tmp_path):
    reading = _read(tmp_path, "host,rack,model\nn1,r1,a\nn1,r1,b\nn2,r1,c\n")
    hosts = [row["host"] for row in reading.frame("entities").iter_rows(named=True) if row["device_kind"] == "host"]
    assert sorted(hosts) == ["n1", "n2"]
    assert reading.count("links") == 2


@pytest.mark.parametrize(
    "document",
    [
        {"racks": {"r1": ["n1", "n2"]}},
        {"racks": {"r1": {"hosts": ["n1", "n2"]}}},
        {"topology": {"racks": [{"id": "r1", "nodes": [{"hostname": "n1"}, "n2"]}]}},
        {"hosts": [{"name": "n1", "rack": "r1"}, {"name": "n2", "rack": "r1"}]},
        {
            "nodes": [{"id": "n1", "kind": "host"}, {"id": "n2", "kind": "host"}, {"id": "r1", "kind": "rack"}],
            "links": [{"child": "n1", "parent": "r1"}, {"child": "n2", "parent": "r1"}],
        },
        [{"host": "n1", "rack": "r1"}, {"host": "n2", "rack": "r1"}],
    ],
)
def test_every_way_to_nest_says_the_same(tmp_path, document):
    reading = _read(tmp_path, document)
    assert reading.rejects().is_empty()
    for host in ("n1", "n2"):
        assert reading.has(
            "links", {"host": host, "device_kind": "host", "relation": "in", "to_kind": "rack", "to_device": "r1"}
        )


def test_a_bottomless_document_ends(tmp_path):
    inner: dict[str, object] = {"name": "x"}
    for _ in range(200):
        inner = {"name": "x", "racks": [inner]}
    reading = _read(tmp_path, {"racks": [inner]})
    assert reading.rejects()["reason"].str.contains("nested deeper").all()
    assert reading.rejects().height == 1


def test_a_document_that_is_none_is_one_reject(tmp_path):
    assert _read(tmp_path, '{"racks": [').rejects()["reason"].to_list() == [
        "the document is no whole JSON: it may be cut"
    ]
    reading = _read(tmp_path, '{"racks": 5, "hosts": null, "edges": [3, ["a", "b"]], "nodes": []}')
    assert reading.records == reading.rejects().height
