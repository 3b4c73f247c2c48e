"""OTLP as JSON: shapes of writers, flags, histograms against their definition."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.jsondoc import Document
from workbench.readers.otlp_json import READER
from workbench.readers.otlp_points import Place, metric_points

TIME = "1762053241000000000"
PLACE = Place(document=Document(line=1, value=None, why=None, text=""), labels={})


def document(metric):
    return json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}).encode()


def buckets_of(points):
    return {point.tags["le"]: int(point.fields["value"]) for point in points if point.measurement.endswith("_bucket")}


@given(
    st.integers(-2, 3),
    st.integers(-5, 5),
    st.lists(st.integers(0, 9), max_size=6),
    st.integers(0, 5),
    st.lists(st.integers(0, 9), max_size=6),
)
@settings(max_examples=80, deadline=None)
def test_buckets_of_exponential_histograms_hold_what_lies_below_their_bound(scale, offset, positive, zero, negative):
    """Against the definition: bucket i of base b holds what lies in (b**i, b**(i+1)]."""
    told = {
        "timeUnixNano": TIME,
        "scale": scale,
        "zeroCount": str(zero),
        "positive": {"offset": offset, "bucketCounts": [str(count) for count in positive]},
        "negative": {"offset": offset, "bucketCounts": negative},
    }
    metric = {"name": "m", "exponentialHistogram": {"aggregationTemporality": 2, "dataPoints": [told]}}
    ((points),) = metric_points(metric, PLACE)
    base = 2 ** (2.0**-scale)
    values = [(base ** (offset + place + 0.5), count) for place, count in enumerate(positive)]
    values += [(-(base ** (offset + place + 0.5)), count) for place, count in enumerate(negative)] + [(0.0, zero)]
    for bound, below in buckets_of(points).items():
        edge = math.inf if bound == "+Inf" else float(bound)
        assert below == sum(
            count for value, count in values if value <= edge * (1 + 1e-5 * math.copysign(1, edge) if edge else 1)
        )


@pytest.mark.parametrize(
    ("point", "value", "absent"),
    [
        ({"asInt": "5"}, 5.0, None),
        ({"asInt": 5}, 5.0, None),
        ({"asDouble": "NaN"}, None, "NaN"),
        ({"asDouble": 0.5, "flags": 1}, None, "no recorded value"),
        ({"asDouble": 0.5, "flags": "1"}, None, "no recorded value"),
        ({"asDouble": 0.5, "flags": 2}, 0.5, None),
        ({"as_double": -1e3}, -1000.0, None),
    ],
)
def test_numbers_in_all_their_spellings(tmp_path, point, value, absent):
    metric = {"name": "m", "gauge": {"dataPoints": [{"timeUnixNano": TIME, **point}]}}
    reading = read_bytes(READER, document(metric), Context(), tmp_path)
    assert reading.frame("samples")["value"].to_list() == ([] if value is None else [value])
    assert reading.absent() == ({} if absent is None else {f"m: {absent}": 1})


@pytest.mark.parametrize(
    ("temporality", "monotonic", "kind", "labels"),
    [
        (2, True, "counter", "{}"),
        ("AGGREGATION_TEMPORALITY_CUMULATIVE", True, "counter", "{}"),
        (2, False, "gauge", "{}"),
        (1, True, "gauge", '{"aggregation_temporality":"delta"}'),
        ("AGGREGATION_TEMPORALITY_DELTA", False, "gauge", '{"aggregation_temporality":"delta"}'),
    ],
)
def test_deltas_are_marked_and_never_counters(tmp_path, temporality, monotonic, kind, labels):
    body = {
        "aggregationTemporality": temporality,
        "isMonotonic": monotonic,
        "dataPoints": [{"asInt": "1", "timeUnixNano": TIME}],
    }
    reading = read_bytes(READER, document({"name": "m", "sum": body}), Context(), tmp_path)
    assert reading.frame("samples").select("kind", "labels").rows() == [(kind, labels)]
    assert any("sum them" in note for note in reading.notes) == (labels != "{}")


@pytest.mark.parametrize(
    "metric",
    [
        {"name": 5, "gauge": {"dataPoints": []}},
        {"name": "m", "gauge": []},
        {"name": "m", "gauge": {"dataPoints": [{"timeUnixNano": True, "asInt": "5"}]}},
        {"name": "m", "gauge": {"dataPoints": [{"timeUnixNano": TIME, "asInt": True}]}},
        {"name": "m", "histogram": {"dataPoints": [{"timeUnixNano": TIME, "bucketCounts": "no", "explicitBounds": 7}]}},
        {"name": "m", "exponentialHistogram": {"dataPoints": [{"timeUnixNano": TIME, "scale": "x"}]}},
        {
            "name": "m",
            "exponentialHistogram": {
                "dataPoints": [{"timeUnixNano": TIME, "scale": -9999, "positive": {"offset": 9, "bucketCounts": [[1]]}}]
            },
        },
        {
            "name": "m\ud800",
            "gauge": {"dataPoints": [{"timeUnixNano": TIME, "asDouble": "Infinity1", "attributes": [{"key": "a"}]}]},
        },
    ],
)
def test_odd_metrics_are_refused_and_harm_nobody(tmp_path, metric):
    reading = read_bytes(READER, document(metric), Context(), tmp_path)
    assert (reading.rows, reading.rejects().height) == (0, 1)
