"""ibnetdiscover: what is one thing told twice, and what may not be taken for a name."""

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.ib_topology import READER

LEAF = "0xa1b2c30300c00010"


def _listed(kind, guid, port, name, *, peer=None):
    left = f"{kind}   7 {port} {guid} 4x "
    if peer is None:
        return f"{left}???            '{name}'\n"
    other, other_port, other_name = peer
    return f"{left}NDR - SW 31 {other_port} {other} ( '{name}' - '{other_name}' )\n"


def _read(text, tmp_path, context=None):
    return read_bytes(READER, text.encode(), context or Context(), tmp_path)


def test_two_adapters_of_one_description_get_no_host(tmp_path):
    text = "".join(
        _listed("CA", f"0x{number:016x}", 1, "gpu001 mlx5_0", peer=(LEAF, number, "leaf-1")) for number in (1, 2)
    )
    reading = _read(text, tmp_path)
    assert reading.frame("entities").filter(device_kind="nic")["host"].to_list() == [None, None]
    assert not reading.has("aliases", {"device": "mlx5_0"})
    assert reading.notes == {"2 adapters are called 'gpu001 mlx5_0': no host is told"}


@pytest.mark.parametrize("name", ["localhost HCA-1", "MT4129 ConnectX7 Mellanox Technologies", "gpu001", ""])
def test_a_description_that_names_no_host_gives_none(name, tmp_path):
    reading = _read(_listed("CA", "0x1", 1, name, peer=(LEAF, 1, "leaf-1")), tmp_path)
    (host,) = reading.frame("entities").filter(device_kind="nic")["host"]
    assert host is None


def test_the_parts_of_one_chassis_are_not_called_by_its_name(tmp_path):
    text = _listed("SW", LEAF, 1, "MF0;core:CS8500/L01/U1") + _listed("SW", "0xb", 1, "MF0;core:CS8500/L02/U1")
    reading = _read(text, tmp_path)
    assert reading.frame("entities").filter(device_kind="switch").height == 2
    assert not reading.has("aliases", {"device": "core"})


def test_the_local_time_of_the_comment_is_never_guessed(tmp_path):
    text = "# Topology file: generated on Mon Jan  5 10:00:00 2026\n" + _listed("SW", LEAF, 1, "leaf-1")
    reading = _read(text, tmp_path)
    assert reading.frame("aliases")["valid_from"].null_count() == reading.count("aliases") > 0
    (note,) = reading.notes
    assert "state the zone" in note
    dated = _read(text, tmp_path, Context(zone="UTC"))
    assert dated.has("aliases", {"device": "lid:7/1", "valid_from": "2026-01-05T10:00:00Z"})


def test_a_port_that_is_connected_to_itself_or_has_no_guid_is_no_link(tmp_path):
    text = _listed("SW", LEAF, 1, "leaf-1", peer=(LEAF, 1, "leaf-1")) + _listed("CA", "0x0", 1, "n1 mlx5_0")
    reading = _read(text, tmp_path)
    assert reading.rows == 2
    assert reading.frame("links").filter(relation="connected").height == 0
    assert not reading.has("entities", {"device_kind": "nic"})
