"""ethtool -S: whose counters they are, and when; nothing of that stands inside."""

import pytest
from readings import read_bytes

from workbench.model.context import Columns, Context
from workbench.readers.ethtool_s import READER
from workbench.readers.registry import recognise

TAKEN = Context(host="n1", taken_at_us=1_767_603_600_000_000)
BLOCK = "NIC statistics:\n     rx_packets: 7\n"


def _read(text, tmp_path, context=TAKEN):
    return read_bytes(READER, text.encode(), context, tmp_path)


def test_an_interface_that_nobody_names_is_not_guessed(tmp_path):
    reading = _read(BLOCK, tmp_path)
    assert (reading.rows, reading.rejects()["curable"].to_list()) == (0, ["map"])
    stated = Context(host="n1", taken_at_us=0, columns=Columns(roles={"device": "=ens1f0"}))
    assert _read(BLOCK, tmp_path, stated).has("samples", {"device": "ens1f0", "value_int": 7})


@pytest.mark.parametrize(
    "heading",
    ["ethtool -S ens1f0", "$ sudo ethtool -S ens1f0", "=== ens1f0 ===", "Interface: ens1f0", "ens1f0:", "# ens1f0",
     "# 2026-01-05T09:00:00Z n1 ens1f0", "2026-01-05T09:00:00Z ens1f0"],
)  # fmt: skip
def test_headings_name_the_interface(heading, tmp_path):
    assert _read(f"{heading}\n{BLOCK}", tmp_path).has("samples", {"device": "ens1f0", "host": "n1"})


@pytest.mark.parametrize(
    "error", ["no stats available", "Cannot get stats strings information: Operation not supported"]
)
def test_what_follows_the_error_of_an_interface_is_not_taken_for_the_one_before(error, tmp_path):
    reading = _read(f"ens1f0:\n{BLOCK}ens1f1:\n{error}\n{BLOCK}", tmp_path)
    assert reading.rows == 1
    assert reading.reject_counts()["the interface gave an error"] == 1


def test_two_blocks_of_one_interface_need_an_interval(tmp_path):
    text = f"ens1f0:\n{BLOCK}{BLOCK}"
    assert _read(text, tmp_path).rejects()["curable"].to_list() == ["interval"]
    stated = Context(host="n1", taken_at_us=0, interval_s=15)
    assert _read(text, tmp_path, stated).frame("samples")["ts"].dt.epoch("s").to_list() == [0, 15]


def test_a_local_time_above_a_block_waits_for_its_zone(tmp_path):
    reading = _read(f"# Sun Nov  2 03:14:00 2025 \nens1f0:\n{BLOCK}", tmp_path)
    assert reading.rejects()["curable"].to_list() == ["clock"]


def test_it_is_recognised_with_the_loop_around_it():
    found = recognise(f"# 2026-01-05T09:00:00Z n1 ens1f0\n{BLOCK}".encode(), Context())
    assert found is not None
    assert found[0].name == "ethtool_s"
