"""Flight records: nothing is run, nothing is built by name, and what is outstanding is told per group."""

import os
import pickle
import pickletools

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.nccl_flight_recorder import READER
from workbench.readers.plainpickle import PickleRefusedError, plain_pickle

STATED = Context(host="n1")
T = 1_758_610_505_947_721_376


def dump_of(status, entries=1):
    told = [
        {"record_id": n, "process_group": ("0", "default_pg"), "collective_seq_id": n, "state": "completed", "time_created_ns": T + n * 10**9}
        for n in range(1, entries + 1)
    ]  # fmt: skip
    return {
        "version": "2.9",
        "pg_config": {"0": {"name": "0", "desc": "default_pg"}},
        "pg_status": {"0": status},
        "entries": told,
    }


def status(enqueued, completed, started=-1):
    return {
        "last_enqueued_collective": enqueued,
        "last_started_collective": started,
        "last_completed_collective": completed,
    }


def outstanding(reading):
    events = reading.frame("events").filter(code="outstanding")
    return events["attributes"].str.json_path_match("$.outstanding").to_list()


@pytest.mark.parametrize(
    ("enqueued", "completed", "left"),
    [(5, 3, ["2"]), (5, 5, []), (5, -1, ["5"]), (-1, -1, []), (3, 5, []), (None, 3, []), (True, 0, [])],
)
def test_what_is_enqueued_and_not_completed_is_outstanding(enqueued, completed, left, tmp_path):
    reading = read_bytes(READER, pickle.dumps(dump_of(status(enqueued, completed), 5)), STATED, tmp_path)
    assert outstanding(reading) == left


def test_it_began_when_the_first_of_them_was_enqueued(tmp_path):
    reading = read_bytes(READER, pickle.dumps(dump_of(status(5, 3), 5)), STATED, tmp_path)
    event = reading.frame("events").filter(code="outstanding")
    assert event["ts_low"].dt.epoch("us").to_list() == [(T + 4 * 10**9) // 1000]
    assert event["ts_high"].dt.epoch("us").to_list() == [(T + 5 * 10**9) // 1000]


@pytest.mark.parametrize("protocol", range(1, 6))
@pytest.mark.parametrize(
    "value", [{"a": [1, -1, 2**40, 2.5, None, True, "ü", b"x", (), (1,), (1, 2), (1, 2, 3, 4), {}, {1: []}]}, [[[]]], 7]
)
def test_plain_containers_are_read_in_every_binary_protocol(value, protocol):
    data = pickle.dumps(value, protocol)
    if protocol < 3 and b"_codecs" in data:
        pytest.skip("this protocol writes bytes by calling a function")
    assert plain_pickle(data) == (value, len(data))


class _Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/never",)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "value",
    [_Evil(), {"entries": [_Evil()]}, print, os.path.join, {1, 2}, frozenset([1]), complex(1, 2), bytearray(b"x")],
)
def test_whatever_names_something_is_refused(value, protocol, monkeypatch):
    data = pickle.dumps(value, protocol)
    monkeypatch.setattr(os, "system", lambda *_: pytest.fail("it was called"))
    with pytest.raises(PickleRefusedError):
        plain_pickle(data)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x80\x04", b"\x80\x04.", b"\x80\x04)", b"\x80\x04a.", b"\x80\x04(.", b"\x80\x04h\x05.", b"\x80\x04}(K\x01u.", b"\x80\x04}](s.",
        b"\x80\x04]K\x01K\x02s.", b"\x80\x04Xxxxx", b"\x80\x04r\xff\xff\xff\xff.", b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x80\x04\x8b\xff\xff\xff\x7f.", b"\x80\x04}]K\x01s.", b"cos\nsystem\n.", b"Vx\n.", b"\x80\x04Pid\n.", b"\x80\x04K\x01Q.",
        b"\x80\x04\x8f(K\x01\x90.", b"\x80\x02\x82\x01.", b"\x80\x04\x8b\xe9\x03\x00\x00" + b"\x01" * 1001 + b".",
    ],
)  # fmt: skip
def test_broken_and_odd_pickles_are_refused(data):
    with pytest.raises(PickleRefusedError):
        plain_pickle(data)


def test_deep_wide_and_circular_ones_do_no_harm(tmp_path):
    deep = b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b"."
    value, _ = plain_pickle(deep)
    assert isinstance(value, list)
    circular = []
    circular.append(circular)
    assert plain_pickle(pickle.dumps(circular))[0][0][0][0] != 1
    bomb = [0]
    for _ in range(60):
        bomb = [bomb] * 10
    reading = read_bytes(
        READER, pickle.dumps({**dump_of(status(1, 1)), "entries": bomb, "pg_status": {"0": bomb}}), STATED, tmp_path
    )
    assert reading.rejects().height == 1
    assert reading.rows == 0


def test_only_opcodes_that_build_plain_values_are_known():
    known = {"PROTO", "FRAME", "STOP"}
    for opcode in pickletools.opcodes:
        if opcode.name in known or opcode.proto > 5:
            continue
        named = opcode.name in {"GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4"}  # fmt: skip
        if named:
            argument = {"GLOBAL": b"os\nsystem\n", "INST": b"os\nsystem\n", "PERSID": b"1\n", "EXT1": b"\1", "EXT2": b"\1\0", "EXT4": b"\1\0\0\0"}.get(opcode.name, b"")  # fmt: skip
            with pytest.raises(PickleRefusedError, match=opcode.name):
                plain_pickle(b"\x80\x04NNN" + opcode.code.encode("latin-1") + argument + b".")


def test_who_it_is_must_be_known(tmp_path):
    data = pickle.dumps(dump_of(status(5, 3), 2))
    assert read_bytes(READER, data, Context(), tmp_path).rejects()["curable"].to_list() == ["host"] * 3
    ranked = read_bytes(READER, pickle.dumps({**dump_of(status(5, 3), 2), "rank": 7}), Context(), tmp_path)
    assert ranked.frame("events")["device"].unique().to_list() == ["7"]
