"""Alerts and log lines of the monitoring stack: the traps of their formats."""

import json

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers import alertmanager_json, loki_json
from workbench.readers.registry import recognise

ALERTS, LOKI = alertmanager_json.READER, loki_json.READER
ALERT = {"labels": {"alertname": "A", "host": "n1"}, "startsAt": "2026-01-01T00:00:00Z"}


def events_of(reader, value, folder):
    return read_bytes(reader, json.dumps(value).encode(), Context(), folder).frame("events")


@pytest.mark.parametrize(
    ("more", "end"),
    [
        ({"endsAt": "2026-01-01T00:05:00Z", "updatedAt": "2026-01-01T00:01:00Z"}, None),
        ({"endsAt": "2026-01-01T00:05:00Z", "updatedAt": "2026-01-01T00:06:00Z"}, "2026-01-01T00:05:00Z"),
        ({"endsAt": "0001-01-01T00:00:00Z", "status": "firing"}, None),
        ({"endsAt": "2026-01-01T00:05:00Z", "status": "firing"}, None),
        ({"endsAt": "2026-01-01T01:05:00+01:00", "status": "resolved"}, "2026-01-01T00:05:00Z"),
    ],
)
def test_an_alert_has_ended_only_where_it_is_resolved(tmp_path, more, end):
    (attributes,) = events_of(ALERTS, [{**ALERT, **more}], tmp_path)["attributes"]
    assert json.loads(attributes).get("end") == end


def test_rules_of_prometheus_hold_alerts_too(tmp_path):
    alert = {"labels": {"alertname": "A"}, "activeAt": "2026-01-01T00:00:00.5Z", "state": "pending", "value": "NaN"}
    value = {"status": "success", "data": {"groups": [{"rules": [{"name": "r", "alerts": [alert]}, {"name": "s"}]}]}}
    assert recognise(json.dumps(value).encode(), Context())[0].name == "alertmanager_json"
    events = events_of(ALERTS, value, tmp_path)
    assert events.select("code", "message").rows() == [("A", "A")]
    assert json.loads(events["attributes"][0])["state"] == "pending"


@pytest.mark.parametrize(
    "odd",
    [
        5,
        {
            "labels": {"a": 5, "b\ud800": "\udfff"},
            "startsAt": "2026-01-01T00:00:00Z",
            "annotations": [],
            "status": {"silencedBy": 7},
        },
        {"labels": {}, "startsAt": 5},
        {"labels": [], "startsAt": "x"},
        {"labels": {"alertname": None}, "startsAt": "2026-13-01T00:00:00Z"},
    ],
)
def test_odd_alerts_harm_nobody(tmp_path, odd):
    reading = read_bytes(ALERTS, json.dumps([ALERT, odd]).encode(), Context(), tmp_path)
    assert reading.records == 2
    assert reading.frame("events")["code"][0] == "A"


def streams(values, **labels):
    return {"status": "success", "data": {"resultType": "streams", "result": [{"stream": labels, "values": values}]}}


def test_lines_come_in_the_order_of_their_times(tmp_path):
    values = [[str(1762053241 - second) + "000000000", f"line {second}"] for second in range(5)]
    events = events_of(LOKI, streams(values, host="n1"), tmp_path)
    assert events["message"].to_list() == [f"line {second}" for second in (4, 3, 2, 1, 0)]


def test_a_common_limit_is_told(tmp_path):
    values = [[f"17620532410000{place:05d}", f"line {place}"] for place in range(100)]
    assert any(
        "100 lines" in note
        for note in read_bytes(LOKI, json.dumps(streams(values)).encode(), Context(), tmp_path).notes
    )
    assert not read_bytes(LOKI, json.dumps(streams(values[1:])).encode(), Context(), tmp_path).notes


@pytest.mark.parametrize(
    ("labels", "text", "kind"),
    [
        ({"job": "kernel"}, "[ 12.345678] NVRM: Xid (PCI:0000:18:00): 79, x", "xid"),
        ({"job": "varlogs"}, "NVRM: Xid (PCI:0000:18:00): 79, x", "xid"),
        ({"job": "varlogs"}, "2025-11-02T03:14:01.1+01:00 n1 kernel: NVRM: Xid (PCI:0000:18:00): 79, x", "xid"),
        ({"app": "chat"}, "somebody said NVRM: Xid (PCI:0000:18:00): 79, x", "log"),
        ({"app": "rsyslogd"}, "imjournal: 17 messages lost due to rate-limiting", "log.lost"),
    ],
)
def test_messages_follow_the_rules_of_all_logs(tmp_path, labels, text, kind):
    events = events_of(LOKI, streams([["1762053241000000000", text]], host="n1", **labels), tmp_path)
    assert events.select("kind", "host").rows() == [(kind, "n1")]


@pytest.mark.parametrize(
    "odd",
    [
        streams([["1762053241000000000", 5], [True, "x"], "no", [10**30, "x"], ["1762053241", "seconds"]]),
        streams({"a": 1}),
        {"status": "success", "data": {"resultType": "streams", "result": [1, None]}},
        {"streams": [{"stream": {"a": 1}, "values": [["1762053241000000000", "lone \ud800"]]}]},
    ],
)
def test_odd_streams_harm_nobody(tmp_path, odd):
    reading = read_bytes(LOKI, json.dumps(odd).encode(), Context(), tmp_path)
    assert reading.records == reading.rows + reading.rejects().height >= 1


@pytest.mark.parametrize("text", ["user login", "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."])
def test_equal_lines_of_two_nanoseconds_are_two(tmp_path, text):
    stamps = ["1767603600123456789", "1767603600123456790", "1767603600123456790"]
    stream = {"stream": {"host": "n1"}, "values": [[stamp, text] for stamp in stamps]}
    answer = {"status": "success", "data": {"resultType": "streams", "result": [stream]}}
    written = [
        {"labels": {"host": "n1"}, "line": text, "timestamp": f"2026-01-05T09:00:00.{stamp[-9:]}Z"} for stamp in stamps
    ]
    for document in (json.dumps(answer), "\n".join(map(json.dumps, written)) + "\n"):
        reading = read_bytes(loki_json.READER, document.encode(), Context(), tmp_path)
        assert (reading.rows, reading.skips()) == (2, {"duplicate": 1})
        assert reading.frame("events").height == 2
