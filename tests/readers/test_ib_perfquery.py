"""perfquery: whose counters they are, when, and how wide."""

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.model.metric import find
from workbench.readers.ib_perfquery import READER

TAKEN = Context(taken_at_us=1_767_603_600_000_000)


def _section(kind="Port extended", lid=31, port=1, **counters):
    lines = [f"{name}:{'.' * (33 - len(name))}{value}" for name, value in counters.items()]
    return "\n".join([f"# {kind} counters: Lid {lid} port {port}", *lines, ""])


def _read(text, tmp_path, context=TAKEN):
    return read_bytes(READER, text.encode(), context, tmp_path)


def test_two_ports_are_one_sample_and_the_same_port_again_is_the_next(tmp_path):
    text = _section(port=1, PortXmitData=1) + _section(port=2, PortXmitData=2) + _section(port=1, PortXmitData=3)
    once = _read(text, tmp_path)
    assert once.rows == 2
    assert once.rejects()["curable"].to_list() == ["interval"]
    stated = Context(taken_at_us=TAKEN.taken_at_us, interval_s=30)
    times = _read(text, tmp_path, stated).frame("samples")["ts"].dt.epoch("s").to_list()
    assert [time - times[0] for time in times] == [0, 0, 30]


def test_without_a_time_nothing_is_read_and_taken_at_cures_it(tmp_path):
    reading = _read(_section(PortXmitData=1), tmp_path, Context())
    assert (reading.rows, reading.rejects()["curable"].to_list()) == (0, ["taken_at"])


@pytest.mark.parametrize("name", ["PortXmitData", "PortRcvPkts", "PortXmitWait"])
def test_a_full_counter_of_32_bits_is_not_the_one_of_64(name, tmp_path):
    text = _section("Port", **{name: 2**32 - 1}) + _section("Port extended", **{name: 2**33})
    metrics = [find(metric) for metric in _read(text, tmp_path).frame("samples")["metric"].to_list()]
    assert (metrics[0].bits, metrics[0].saturates) == (32, True)
    assert (metrics[1].bits, metrics[1].saturates) == (64, False)
    assert metrics[0].id != metrics[1].id


def test_words_of_four_octets_become_bytes_once(tmp_path):
    for kind in ("Port", "Port extended"):
        (name,) = _read(_section(kind, PortXmitData=7), tmp_path).frame("samples")["metric"]
        step = find(name).written_as(name, None)
        assert (find(name).unit, step.factor) in {("B", 4.0), ("4 B", 1.0)}


def test_what_is_no_number_of_64_bits_is_none(tmp_path):
    values = {"LinkDownedCounter": "-1", "PortRcvErrors": "1e9", "PortXmitWait": "9" * 39, "VL15Dropped": "NaN"}
    reading = _read(_section(**values), tmp_path)
    assert reading.rows == 0
    assert reading.reject_counts() == {"the counter holds no number": 4}


def test_an_error_ends_the_counters_of_its_port(tmp_path):
    text = _section(PortXmitData=1) + "ibwarn: [7] _do_madrpc: recv failed: Connection timed out\nPortRcvData:....2\n"
    assert _read(text, tmp_path).reject_counts() == {"the query failed": 1, "a counter of no port": 1}
