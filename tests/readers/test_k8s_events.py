"""Traps of Kubernetes dumps: null times, counts, bombs of aliases, YAML that guesses, ages."""

import json

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.k8s_events import READER
from workbench.readers.k8s_table import age_of
from workbench.readers.yamldoc import yaml_document

EVENT = {
    "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "uid": "u"}, "reason": "R", "message": "m", "type": "Warning",
    "involvedObject": {"kind": "Node", "name": "n1"},
}  # fmt: skip


def told(text, tmp_path, context=None):
    data = text if isinstance(text, bytes) else text.encode()
    return read_bytes(READER, data, context or Context(), tmp_path)


def of(tmp_path, **more):
    return told(json.dumps(EVENT | more), tmp_path).frame("events")


@pytest.mark.parametrize(
    ("times", "moments"),
    [
        ({"lastTimestamp": "2025-11-02T03:14:00Z", "firstTimestamp": "2025-11-02T03:14:00Z", "count": 1}, ["03:14:00"]),
        ({"lastTimestamp": None, "eventTime": "2025-11-02T03:14:01.5Z"}, ["03:14:01"]),
        ({"lastTimestamp": None, "eventTime": "2025-11-02T03:10:00Z", "series": {"count": 3, "lastObservedTime": "2025-11-02T03:14:02Z"}},
         ["03:10:00", "03:14:02"]),
        ({"deprecatedLastTimestamp": "2025-11-02T03:14:03+01:00", "deprecatedCount": 2}, ["02:14:03"]),
        ({"lastTimestamp": "2025-11-02T03:14:00"}, []),
        ({"lastTimestamp": 1762053240}, []),
        ({"lastTimestamp": "9999-12-31T23:59:59Z"}, []),
    ],
)  # fmt: skip
def test_an_event_has_the_times_that_its_version_writes(times, moments, tmp_path):
    assert [str(moment)[11:19] for moment in of(tmp_path, **times)["ts"]] == moments


def test_a_watched_event_that_repeats_is_told_once_a_time(tmp_path):
    text = ""
    for count, minute in ((1, 10), (2, 11), (3, 12), (3, 12)):
        more = {
            "firstTimestamp": "2025-11-02T03:10:00Z",
            "lastTimestamp": f"2025-11-02T03:{minute}:00Z",
            "count": count,
        }
        text += json.dumps({"type": "MODIFIED", "object": EVENT | more}) + "\n"
    found = told(text, tmp_path)
    assert [str(moment)[14:16] for moment in found.frame("events")["ts"]] == ["10", "11", "12"]
    assert (found.records, found.skips()) == (4, {"duplicate": 1})


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{after}: &{after} [{','.join(['*' + name] * 9)}]\n" for name, after in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "kind: Node\nmetadata: &m {name: *m}\n",
        "<<: *x\n",
        "[" * 5000,
        "- " * 3000 + "x",
        "{a: " * 900 + "1" + "}" * 900,
        "\x00",
        "? [1]\n: *b",
    ],
)
def test_documents_that_would_grow_or_nest_are_refused(text, tmp_path):
    assert yaml_document(text, 1).why is not None
    found = told(text, tmp_path)
    assert (found.rows, found.count("events")) == (0, 0)


def test_yaml_does_not_guess(tmp_path):
    value = yaml_document(
        "a: no\nb: 2025-11-02\nc: 1_000\nd: ~\ne: 'null'\nf: !!python/object/apply:os.system [x]\na: twice\n", 1
    ).value
    assert value == {"a": "no", "b": "2025-11-02", "c": "1_000", "d": None, "e": "null", "f": ["x"]}


def test_a_bad_document_spoils_only_itself(tmp_path):
    good = "apiVersion: v1\nkind: Node\nmetadata: {name: n%d}\n"
    found = told(good % 1 + "---\nkind: [\n---\n" + good % 2, tmp_path)
    assert (found.rows, found.rejects().height) == (2, 1)
    assert found.frame("entities")["host"].to_list() == ["n1", "n2"]


@pytest.mark.parametrize(("status", "code"), [("True", "ready"), ("False", "not_ready"), ("Unknown", "not_ready")])
def test_a_node_is_ready_or_not(status, code, tmp_path):
    condition = {"type": "Ready", "status": status, "lastTransitionTime": "2025-11-02T03:14:00Z"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"conditions": [condition]}}
    assert told(json.dumps(node), tmp_path).frame("events").select("kind", "code").rows() == [("node", code)]


def test_gpus_without_a_time_are_attributes_alone(tmp_path):
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"allocatable": {"nvidia.com/gpu": "7"}},
    }
    assert told(json.dumps(node), tmp_path).count("samples") == 0
    assert told(json.dumps(node), tmp_path, Context(taken_at_us=1_762_053_240_000_000)).count("samples") == 1


@pytest.mark.parametrize("text", ["", "5", "m", "-5m", "5 m", "99999999d", "<unknown>", "1e9s", "\u0665m"])
def test_what_is_no_age(text):
    assert age_of(text) is None


def test_values_of_the_wrong_kind_raise_nothing(tmp_path):
    odd = [None, True, 5, 1e999, "x\ud800", [], {}, [[[]]]]
    for value in odd:
        for key in (
            "kind",
            "metadata",
            "involvedObject",
            "items",
            "status",
            "reason",
            "count",
            "series",
            "message",
            "type",
        ):
            found = told(json.dumps(EVENT | {"lastTimestamp": "2025-11-02T03:14:00Z"} | {key: value}), tmp_path)
            assert found.records >= 1
        node = {
            "kind": "Node",
            "metadata": {"name": "n", "labels": value},
            "status": {
                "conditions": [value, {"type": value}],
                "capacity": value,
                "nodeInfo": value,
                "addresses": value,
            },
        }
        pod = {
            "kind": "Pod",
            "metadata": {"name": "n", "namespace": value},
            "spec": value,
            "status": {"containerStatuses": [value, {"state": value}]},
        }
        for thing in (node, pod):
            assert told(json.dumps({"apiVersion": "v1"} | thing), tmp_path).records == 1


@pytest.mark.parametrize(("last", "told"), [("2026-01-05T08:00:00Z", 1), ("2026-01-05T10:00:00Z", 0)])
def test_an_event_that_ends_before_it_begins_is_told(tmp_path, last, told):
    item = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a", "uid": "u"}, "count": 2, "reason": "BackOff",
        "involvedObject": {"kind": "Node", "name": "n1"}, "firstTimestamp": "2026-01-05T09:00:00Z", "lastTimestamp": last,
    }  # fmt: skip
    reading = read_bytes(READER, json.dumps(item).encode(), Context(), tmp_path)
    assert reading.frame("events").height == 2
    assert sum("before they were first seen" in note for note in reading.notes) == told
