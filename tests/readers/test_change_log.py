"""Changes: who was changed, as far as the log says it; nobody is guessed."""

import json

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.change_fields import change_of
from workbench.readers.change_log import READER
from workbench.readers.registry import recognise

ROW = {"time": "2026-01-05T09:00:00Z", "kind": "config", "what": "x", "from": 1, "to": 2}
CLUSTER = ((None, "cluster", None),)


def reading_of(rows, tmp_path, context=Context()):  # noqa: B008 -- frozen
    return read_bytes(READER, "".join(json.dumps(row) + "\n" for row in rows).encode(), context, tmp_path)


@pytest.mark.parametrize(
    ("fields", "targets"),
    [
        ({"hosts": "n[01-02],x"}, [("n01", "host", None), ("n02", "host", None), ("x", "host", None)]),
        ({"hosts": "a; b c"}, [("a", "host", None), ("b", "host", None), ("c", "host", None)]),
        ({"targets": ["n1/gpu0", "rack:r7", "n2"]}, [("n1", "gpu", "0"), (None, "rack", "r7"), ("n2", "host", None)]),
        ({"scope": "rack:r7"}, [(None, "rack", "r7")]),
        ({"scope": {"racks": ["r1", "r2"]}}, [(None, "rack", "r1"), (None, "rack", "r2")]),
        ({"scope": ["n1", "n2"]}, [("n1", "host", None), ("n2", "host", None)]),
        ({"scope": {"hosts": ["n1"], "percent": 25}}, [("n1", "host", None)]),
        ({"scope": "10 % of hosts"}, list(CLUSTER)),
        ({"percent": 10}, list(CLUSTER)),
        ({"scope": "*"}, list(CLUSTER)),
        ({"targets": "all"}, list(CLUSTER)),
        ({"scope": "canary"}, []),
        ({"percent": 1000}, []),
        ({"targets": []}, []),
    ],
)
def test_scopes(fields, targets):
    assert list(change_of({**ROW, **fields}, None).targets) == targets


@pytest.mark.parametrize(
    "odd", [None, True, [], {}, [[]], float("nan"), 10**400, "\ud800", "n[1-9999999999]", {"a": {"b": {}}}]
)
@pytest.mark.parametrize("key", ["time", "kind", "what", "from", "to", "targets", "scope", "end", "file"])
def test_any_field_may_be_odd(key, odd, tmp_path):
    reading = reading_of([{**ROW, "targets": "n1", key: odd}], tmp_path)
    assert reading.records == reading.rows + reading.rejects().height == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"kind": "firmware"}, "firmware"),
        ({"kind": "update", "component": "NIC firmware"}, "nic_firmware"),
        ({"kind": "rollout", "file": "/etc/a"}, "config"),
        ({"kind": "Change"}, "x"),
    ],
)
def test_the_code_says_what_was_changed(fields, code):
    assert change_of({**ROW, **fields, "hosts": "n1"}, None).code == code


def test_versions_are_text(tmp_path):
    reading = reading_of([{**ROW, "targets": "n1", "from": "96.00.74.00.0b", "to": "1.10"}], tmp_path)
    assert reading.has("events", {"attributes": {"from": "96.00.74.00.0b", "to": "1.10"}})


def test_two_inventories_that_differ_are_a_change_between_their_times(tmp_path):
    rows = [
        {
            "time": f"2026-01-0{day}T00:00:00Z",
            "kind": "inventory",
            "component": "vbios",
            "host": "n1",
            "version": version,
        }
        for day, version in [(5, "b"), (1, "a"), (3, "a")]
    ]
    events = reading_of(rows, tmp_path).frame("events").filter(kind="change")
    assert events.select(events["ts_low"].dt.day(), events["ts_high"].dt.day()).rows() == [(3, 5)]


def test_a_table_of_something_else_is_not_claimed():
    for other in (
        b"time,host,metric,value\n2026-01-05T09:00:00Z,n1,x,1\n",
        b"time,host,kind,message\n2026-01-05T09:00:00Z,n1,xid,text\n",
        b'{"time": "2026-01-05T09:00:00Z", "node_id": "n1", "event_type": "fault_start", "from": 1, "to": 2}\n',
    ):
        found = recognise(other, Context())
        assert found is None or found[0].name != "change_log"
