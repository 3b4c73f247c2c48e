"""Influx line protocol and Telegraf's JSON: the columns against the small parser, and each trap."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from readings import read_bytes

from workbench.model.context import Context
from workbench.model.metric import describe
from workbench.readers import influx_line_protocol, telegraf_json
from workbench.readers.influx_lines import OpenStringError, parse_point, taken_apart

LINES = influx_line_protocol.READER
JSON = telegraf_json.READER
words = st.text(st.sampled_from('ab,= "\\é.'), min_size=1, max_size=4).filter(
    lambda word: not word.endswith("\\") and not word.startswith((" ", "#")) and not word.endswith(" ")
)
values = st.sampled_from(["1i", "2u", "-0.5", "1e3", "t", "FALSE", '"a b"', '"x,y=1"', '"q \\" q"'])


def escaped(word):
    return (
        word.replace("\\", "\\\\x").replace(",", "\\,").replace("=", "\\=").replace(" ", "\\ ").replace("\\\\x", "\\")
    )


@given(
    st.lists(
        st.tuples(
            words.filter(lambda word: "=" not in word),
            st.dictionaries(words, words, max_size=2),
            st.dictionaries(words, values, min_size=1, max_size=3),
            st.sampled_from(["", " 1762053241"]),
        ),
        max_size=6,
    )
)
@settings(max_examples=80, deadline=None)
def test_columns_and_the_small_parser_read_the_same(points):
    texts = []
    for measurement, tags, fields, stamp in points:
        head = ",".join([escaped(measurement), *(f"{escaped(key)}={escaped(value)}" for key, value in tags.items())])
        texts.append(head + " " + ",".join(f"{escaped(key)}={value}" for key, value in fields.items()) + stamp)
    parsed = taken_apart(
        pl.DataFrame({"line": range(len(texts)), "text": texts}, schema={"line": pl.Int64, "text": pl.String})
    )
    wanted = []
    for line, text in enumerate(texts):
        try:
            point = parse_point(line, text)
        except ValueError:
            assert line in parsed.rejects["line"].to_list()
            continue
        wanted += [(line, value, point.stamp) for value in point.fields.values()]
    assert parsed.samples.select("line", "value", "stamp").rows() == wanted


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (",a=b x=1", "no measurement"),
        ("m,a x=1", "tags are not"),
        ("m", "tags are not"),
        ("m x", "fields are not"),
        ("m x=1,", "fields are not"),
        ("m x=1 1.5", "time stamp is no whole number"),
        ("m x=1 now", "time stamp is no whole number"),
        ('m x="a"b', "time stamp is no whole number"),
    ],
)
def test_what_is_no_point_says_why(text, reason):
    with pytest.raises(ValueError, match=reason):
        parse_point(1, text)


def test_a_string_that_does_not_end_is_told_from_what_is_wrong():
    with pytest.raises(OpenStringError):
        parse_point(1, 'm note="one')
    assert parse_point(1, 'm note="one\ntwo \\" three",x=1i 5').fields == {"note": '""', "x": "1"}


def test_quotes_in_tags_are_plain_characters(tmp_path):
    text = b'm,a="x,host=n1 v=1 1762053241\nm,a=b\\ "c,host=n1 v=2 1762053241\n'
    reading = read_bytes(LINES, text, Context(), tmp_path)
    assert sorted(json.loads(told)["a"] for told in reading.frame("samples")["labels"]) == ['"x', 'b "c']


def test_a_string_over_many_lines_is_one_point_wherever_blocks_end(tmp_path):
    text = b'm,host=n1 s="' + b'line, with x=1 and \\"\n' * 40 + b'",v=4 1762053241\nm,host=n1 v=5 1762053242\n'
    for size in (50, 100_000):
        reading = read_bytes(LINES, text, Context(), tmp_path, block_bytes=size)
        assert reading.frame("samples")["value_int"].to_list() == [4, 5]
        assert (reading.records, reading.skips()) == (42, {"continuation": 40})


@pytest.mark.parametrize(
    ("stamp", "told"),
    [
        ("1762053241", "2025-11-02T03:14:01"),
        ("1762053241120", "2025-11-02T03:14:01.120"),
        ("1762053241120023", "2025-11-02T03:14:01.120023"),
        ("1762053241120023000", "2025-11-02T03:14:01.120023"),
    ],
)
def test_the_precision_is_told_by_magnitude(tmp_path, stamp, told):
    reading = read_bytes(LINES, f"m,host=n v=1 {stamp}\n".encode(), Context(), tmp_path)
    assert reading.frame("samples")["ts"].dt.strftime("%Y-%m-%dT%H:%M:%S%.f").to_list() == [told]


def test_no_time_is_not_now(tmp_path):
    text = b"m,host=n v=1\n"
    assert read_bytes(LINES, text, Context(), tmp_path).rejects()["curable"].to_list() == ["taken_at"]
    stated = read_bytes(LINES, text, Context(taken_at_us=10**15), tmp_path)
    assert stated.frame("samples")["ts"].dt.epoch("us").to_list() == [10**15]


def test_a_batch_of_telegraf_over_lines_is_read(tmp_path):
    value = {
        "metrics": [{"name": "m\ud800", "tags": {"host": "n\udfff"}, "fields": {"v": 2**63}, "timestamp": 1762053241}]
    }
    for text in (json.dumps(value), json.dumps(value, indent=2)):
        reading = read_bytes(JSON, text.encode(), Context(), tmp_path)
        assert reading.frame("samples")["metric"].to_list() == ["m\\ud800_v"]
        assert reading.frame("samples")["value"].to_list() == [2.0**63]


def test_points_that_come_twice_are_one_and_new_fields_are_added(tmp_path):
    text = b"m,host=n a=1 1762053241\nm,host=n a=1,b=2 1762053241\nm,host=n a=3,b=2 1762053241\nm,host=n a=4,c=1 1762053241\n"
    reading = read_bytes(LINES, text, Context(), tmp_path)
    assert reading.frame("samples").select("metric", "value").rows() == [("m_a", 1.0), ("m_b", 2.0), ("m_c", 1.0)]
    assert reading.reject_counts() == {"same series and time as an earlier point, with other values": 1}
    assert "1 fields conflict with an earlier point of the same series and time: the first holds" in reading.notes


@pytest.mark.parametrize(
    ("name", "kind", "known"),
    [
        ("nvidia_smi_power_draw", "gpu", "gpu.power_w"),
        ("nvidia_smi_memory_used", "gpu", "gpu.memory_used_mib"),
        ("mem_available", "host", "host.memory_available_bytes"),
        ("system_load1", "host", "host.load1"),
    ],
)
def test_the_catalogue_knows_what_telegraf_calls_metrics(name, kind, known):
    assert describe(name, kind).id == known
