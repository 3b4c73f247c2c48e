"""mlxlink: lanes and ranges in a cell, an error rate that means none, and nothing of whose it is."""

import json

import pytest
from readings import read_bytes

from workbench.model.context import Columns, Context
from workbench.readers.mlxlink import READER

STATED = Context(host="n1", taken_at_us=1_767_603_600_000_000, columns=Columns(roles={"device": "=mlx5_0"}))


def _read(text, tmp_path, context=STATED):
    return read_bytes(READER, text.encode(), context, tmp_path)


def _section(name, **fields):
    return f"{name}\n----------------\n" + "".join(f"{key:<35}: {value}\n" for key, value in fields.items())


@pytest.mark.parametrize("cell", ["15E-255", "15e-255"])
def test_no_error_seen_is_absent_and_not_a_rate(cell, tmp_path):
    reading = _read(_section("Physical Counters and BER Info", **{"Symbol BER": cell}), tmp_path)
    assert reading.count("samples") == 0
    assert reading.absent() == {"mlxlink.symbol_ber: no error seen": 1}


@pytest.mark.parametrize(
    ("context", "cure"),
    [(Context(), "map"), (Context(columns=STATED.columns), "host"), (Context(columns=STATED.columns, host="n1"), "taken_at")],
)  # fmt: skip
def test_what_stands_on_the_command_line_is_asked_for(context, cure, tmp_path):
    text = _section("Physical Counters and BER Info", **{"Link Down Counter": 3})
    assert _read(text, tmp_path, context).rejects()["curable"].to_list() == [cure]


def test_text_and_json_say_the_same(tmp_path):
    fields = {"Raw Physical Errors Per Lane": "7,8", "Link Down Counter": "3", "Temperature [C]": "54 [-5..75]"}
    text = _read(_section("Physical Counters and BER Info", **fields), tmp_path)
    document = {"result": {"output": {"Physical Counters and BER Info": fields}}, "status": {}}
    assert _read(json.dumps(document), tmp_path).table("samples") == text.table("samples")


def test_the_next_dump_of_the_same_port_is_the_next_sample(tmp_path):
    text = _section("Operational Info", State="Active") + _section("Counters and BER Info", **{"Link Down Counter": 3})
    stated = Context(host="n1", taken_at_us=0, interval_s=60, columns=STATED.columns)
    assert _read(text * 2, tmp_path, stated).frame("samples")["ts"].dt.epoch("s").to_list() == [0, 60]


def test_odd_json_is_rejected_not_read(tmp_path):
    odd = [
        "[]",
        "7",
        '{"result": []}',
        '{"result": {"output": {"Module Info": [1]}}}',
        '{"result": {"output": {"A": {"B": {"values": 7}}}}}',
    ]
    reading = _read("\n".join(odd), tmp_path)
    assert reading.count("samples") == 0
    assert reading.records == len(odd)
