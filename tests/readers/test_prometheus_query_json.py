"""Answers of Prometheus: the stream against the document, and each trap of the format."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.prometheus_answers import is_stream
from workbench.readers.prometheus_query_json import READER
from workbench.readers.registry import recognise

NOTE = "values are resampled by the query"
texts = st.sampled_from(["1", "0.5", "NaN", "+Inf", "9223372036854775792", "-3", '"', "x,y", "\n", "]]", "ä", ""])
pairs = st.lists(st.tuples(st.sampled_from([1796071336, 1796071341.25, 0.001, -5, 1e17]), texts).map(list), max_size=4)
labels = st.dictionaries(
    st.sampled_from(["host", "gpu", "job", "__name__", 'a"b', "},"]),
    st.sampled_from(["n1", "0", '"},"values":[[', "\\", "\n"]),
)


def answer(result, **more):
    return {"status": "success", "data": {"resultType": "matrix", "result": result}, **more}


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


@given(st.lists(st.tuples(labels, pairs), min_size=1, max_size=4), st.integers(20, 400))
@settings(max_examples=40, deadline=None)
def test_the_stream_says_what_the_document_says(tmp_path_factory, series, size):
    folder = tmp_path_factory.mktemp("answers")
    value = answer([{"metric": told, "values": values} for told, values in series])
    stream, document = compact(value), json.dumps(value, indent=1).encode()
    assert is_stream(stream)
    assert not is_stream(document)
    one = read_bytes(READER, stream, Context(), folder, block_bytes=size)
    other = read_bytes(READER, document, Context(), folder)
    assert one.tables() == other.tables()
    assert (one.records, one.rows, one.skips(), one.reject_counts()) == (
        other.records,
        other.rows,
        other.skips(),
        other.reject_counts(),
    )
    assert one.absent() == other.absent()


def test_what_resampling_hides_is_said(tmp_path):
    data = compact(
        answer([{"metric": {"__name__": "up", "host": "n1"}, "values": [[1796071336, "1"]]}], warnings=["w"])
    )
    reading = read_bytes(READER, data, Context(), tmp_path)
    assert any(note.startswith(NOTE) for note in reading.notes)
    assert "the answer says: w" in reading.notes


def test_several_answers_in_one_file_are_read_and_an_error_among_them_is_told(tmp_path):
    one = compact(
        answer([{"metric": {"__name__": "up", "host": "n1"}, "values": [[1796071336, "1"], [1796071341, "0"]]}])
    )
    two = compact(answer([{"metric": {"__name__": "up", "host": "n2"}, "values": [[1796071336, "1"]]}]))
    error = compact({"status": "error", "errorType": "timeout", "error": "late"})
    reading = read_bytes(READER, b"\n".join([one, error, two, one]), Context(), tmp_path)
    assert reading.frame("samples").select("host", "value").rows() == [("n1", 1.0), ("n1", 0.0), ("n2", 1.0)]
    assert reading.skips() == {"duplicate": 2}
    assert reading.reject_counts() == {"another answer in this file is an error": 1}


def test_native_histograms_are_told_and_left_out(tmp_path):
    told = {"metric": {"__name__": "h"}, "histograms": [[1796071336, {"count": "5"}]]}
    plain = {"metric": {"__name__": "up", "host": "n1"}, "values": [[1796071336, "1"]]}
    reading = read_bytes(READER, compact(answer([plain, told, plain])), Context(), tmp_path)
    assert reading.reject_counts() == {"native histogram: only its classic form is read": 1}
    assert reading.rows == 1


def test_alerts_go_on_over_steps_longer_than_the_look_back(tmp_path):
    values = [[1796071336 + 900 * step, "1"] for step in (0, 1, 2, 5)]
    data = compact(
        answer([{"metric": {"__name__": "ALERTS", "alertname": "A", "alertstate": "firing"}, "values": values}])
    )
    events = read_bytes(READER, data, Context(), tmp_path).frame("events")
    assert events["ts"].dt.epoch("s").to_list() == [1796071336, 1796071336 + 900 * 5]


@pytest.mark.parametrize(
    "value",
    [
        {"status": "success", "data": {"resultType": "vector", "result": []}},
        {"status": "error", "errorType": "bad_data", "error": "x"},
        {"status": "success", "data": [{"__name__": "up", "job": "a"}]},
    ],
)
def test_answers_of_every_kind_are_recognised(value):
    found = recognise(compact(value), Context())
    assert found is not None
    assert found[0].name == READER.name


@pytest.mark.parametrize(
    "value",
    [
        5,
        {"status": "success"},
        {"status": "success", "data": {"resultType": "matrix", "result": {"a": 1}}},
        {"status": "success", "data": {"resultType": "matrix", "result": [1, None, {"metric": [], "values": 7}]}},
        {
            "status": "success",
            "data": {"resultType": "vector", "result": [{"metric": {"__name__": "a\ud800"}, "value": [True, "1"]}]},
        },
        {
            "status": "success",
            "data": {"resultType": "vector", "result": [{"metric": {"__name__": "a"}, "value": [10**400, "1"]}]},
        },
    ],
)
def test_documents_of_another_shape_are_refused(tmp_path, value):
    reading = read_bytes(READER, json.dumps(value).encode(), Context(), tmp_path)
    assert reading.rows == 0
    assert reading.rejects().height >= 1
