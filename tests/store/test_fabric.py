"""A port of a fabric is one entity under all its names, and its counters are one metric across tools."""

import pytest

import workbench as wb

GUID = "0x0a0b0c0300aa0001"
LEAF = "0xa1b2c30300c00010"
PORT = f"cluster/gpu001/port:{GUID}:1"
FILES = {
    "ports.txt": f"CA   101  1 {GUID} 4x NDR - SW    31 17 {LEAF} ( 'gpu001 mlx5_0' - 'MF0;leaf-1:OWN9700/U1' )\n",
    "counters.txt": "# Port extended counters: Lid 101 port 1\nLinkDownedCounter:...............3\n",
    "rdma.txt": "link mlx5_0/1 link_downed 4\n",
    "telemetry.json": f'{{"values": [{{"timestamp": 1767603720000000, "source_id": "x", "node_guid": "{GUID}", "port_num": 1, '
    '"Infiniband_LinkDowned_u_Errors": 5}]}\n',
    "database.csv": f"START_PM_INFO\nNodeGUID,PortNumber,LinkDownedCounter\n{GUID},1,6\nEND_PM_INFO\n",
}
MAPPING = """
[[file]]
glob = "*counters.txt"
taken_at = "2026-01-05T09:00:00Z"
[[file]]
glob = "*rdma.txt"
taken_at = "2026-01-05T09:01:00Z"
host = "gpu001"
[[file]]
glob = "*database.csv"
taken_at = "2026-01-05T09:03:00Z"
"""


@pytest.fixture(scope="module", params=[sorted(FILES), sorted(FILES, reverse=True)], ids=["in order", "topology last"])
def fabric(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fabric")
    (folder / "mapping.toml").write_text(MAPPING)
    store = wb.open(folder / "store")
    for name in request.param:
        path = folder / name
        path.write_text(FILES[name])
        store.ingest(path, mapping=folder / "mapping.toml")
    return store


def test_every_tool_tells_of_one_port(fabric):
    rows = fabric.sql("select entity, link_downed_total from port order by ts").rows()
    assert rows == [(PORT, 3), (PORT, 4), (PORT, 5), (PORT, 6)]
    (fact,) = fabric.catalog("port.link_downed_total").iter_rows(named=True)
    assert (fact["width_bits"], fact["saturates"], fact["series"]) == (8, True, 1)


def test_the_port_is_connected_to_its_switch_under_the_name_of_its_host(fabric):
    links = fabric.sql("select entity, to_entity from links where relation = 'connected'").rows()
    assert links == [(PORT, f"cluster/port:{LEAF}:17")]
