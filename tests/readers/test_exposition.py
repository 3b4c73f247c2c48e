"""The columnar reading of the Prometheus text format against its small parser, and exact numbers."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.exposition_lines import parse_odd, taken_apart
from workbench.readers.exposition_samples import SeenSamples, stamped, valued
from workbench.readers.prometheus_text import READER
from workbench.timebase import parse_time

names = st.from_regex(r"[a-z_:][a-z0-9_:]{0,5}", fullmatch=True)
labels = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,4}", fullmatch=True), st.text(max_size=8), max_size=4)
AT = Context(taken_at_us=parse_time("2026-01-01T00:00:00Z"))


def escaped(text):
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def line_of(name, told, value, stamp):
    body = ",".join(f'{label}="{escaped(text)}"' for label, text in told.items())
    return f"{name}{{{body}}} {value}{stamp}" if told else f"{name} {value}{stamp}"


def series_of(parsed):
    """(line, name, labels, value, stamp) of every sample."""
    names_ = dict(parsed.names.select("id", "metric").iter_rows())
    told = {}
    for series, label, value in parsed.labels.iter_rows():
        told.setdefault(series, {})[label] = value
    rows = parsed.samples.select("line", "id", "value", "stamp").iter_rows()
    return [(line, names_[series], told.get(series, {}), value, stamp) for line, series, value, stamp in rows]


@given(
    st.lists(
        st.tuples(names, labels, st.sampled_from(["1", "-2.5", "1e9", "NaN", "+Inf"]), st.sampled_from(["", " 17"])),
        max_size=8,
    )
)
@settings(max_examples=80, deadline=None)
def test_columns_and_the_small_parser_read_the_same(samples):
    samples = [
        (name, {k: v for k, v in told.items() if k != "__name__" and "\r" not in v}, *rest)
        for name, told, *rest in samples
    ]
    lines = [line_of(*sample) for sample in samples]
    for ascii_only in {False, all(line.isascii() for line in lines)}:
        parsed = taken_apart(
            pl.DataFrame({"line": range(len(lines)), "text": lines}, schema={"line": pl.Int64, "text": pl.String}),
            ascii_only=ascii_only,
        )
        expected = [
            (line, name, told, value, stamp.strip() or None) for line, (name, told, value, stamp) in enumerate(samples)
        ]
        assert parsed.rejects.is_empty()
        assert series_of(parsed) == expected
        one_by_one = [parse_odd(line) for line in lines]
        assert [(name, dict(pairs), value, stamp) for name, pairs, value, stamp in one_by_one] == [
            row[1:] for row in expected
        ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a sample"),
        ("name", "no metric name"),
        ("9name 1", "no metric name"),
        ('name{a="b" 1', "not a sample"),
        ('name{a="b"} 1 2 3', "not a sample"),
        ("name{a=b} 1", "labels are not"),
        ("name{a} 1", "label a has no value"),
        ('name{a="\\x"} 1', "unknown escape"),
        ('name{a="1",a="2"} 1', "one label stands twice"),
        ('{a="1"} 1', "no metric name"),
    ],
)
def test_what_is_no_sample_says_why(text, reason):
    with pytest.raises(ValueError, match=reason):
        parse_odd(text)
    refused = taken_apart(pl.DataFrame({"line": [1], "text": [text]})).rejects
    assert refused["reason"].str.contains(reason).to_list() == [True]


def test_quoted_names_of_prometheus_3_and_tabs_are_read():
    assert parse_odd('{"my.metric", "label.name"="v"} 1') == ("my.metric", [("label.name", "v")], "1", None)
    assert parse_odd('\tup\t{ a = "b" , }\t1\t-3982045 ') == ("up", [("a", "b")], "1", "-3982045")


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=20))
@settings(max_examples=100, deadline=None)
def test_integers_are_exact_or_told_to_be_too_wide(numbers):
    told = valued(pl.DataFrame({"value": [str(number) for number in numbers], "dcgm": [False] * len(numbers)}))
    fits = [-(2**63) <= number < 2**63 for number in numbers]
    assert told["value_int"].to_list() == [number if fit else None for number, fit in zip(numbers, fits, strict=True)]
    assert told["value"].to_list() == [float(number) for number in numbers]
    assert told["wide"].to_list() == [not fit for fit in fits]
    assert not told["wrong"].any()


@pytest.mark.parametrize(
    ("written", "value", "value_int"),
    [
        ("1.977268e+07", 19772680.0, 19772680),
        ("9007199254740993", 9007199254740992.0, 9007199254740993),
        ("1e300", 1e300, None),
        ("0.5", 0.5, None),
        ("-0", -0.0, 0),
        ("+Inf", float("inf"), None),
    ],
)
def test_whole_numbers_keep_their_integer(written, value, value_int):
    told = valued(pl.DataFrame({"value": [written], "dcgm": [False]})).row(0, named=True)
    assert (told["value"], told["value_int"]) == (value, value_int)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("9223372036854775792", "DCGM blank"),
        ("9223372036854775793", "DCGM not found"),
        ("9223372036854775794", "DCGM not supported"),
        ("9223372036854775795", "DCGM not permitted"),
        ("9.223372036854776e+18", "DCGM blank"),
        ("140737488355328.000000", "DCGM blank"),
        ("1.4073748835533e+14", "DCGM not supported"),
        ("2147483634", "DCGM not supported"),
        ("NaN", "NaN"),
        ("9223372036854775791", None),
        ("2147483631", None),
        ("140737488355327", None),
        ("0", None),
    ],
)
def test_sentinels_of_dcgm_are_absent_with_their_reason(written, reason):
    told = valued(pl.DataFrame({"value": [written] * 2, "dcgm": [True, False]}))
    assert told["absent"].to_list() == [reason, "NaN" if written == "NaN" else None]
    assert (told["value"][0] is None) == (reason is not None)
    assert (told["value_int"][0] is None) == (reason is not None)


@pytest.mark.parametrize(
    ("stamp", "us"),
    [
        ("1395066363000", 1395066363000000),
        ("-3982045", None),
        ("0", None),
        ("1520879607.789", 1520879607789000),
        ("1520879607", 1520879607000000),
        ("1520879607789123", 1520879607789123),
        ("1520879607789123456", 1520879607789123),
        ("1e400", None),
        ("99999999999999999999", None),
        ("12x", None),
        ("NaN", None),
    ],
)
def test_stamps_are_told_apart_by_magnitude(stamp, us):
    assert stamped(pl.DataFrame({"stamp": [stamp]}), 5)["ts"].to_list() == [us]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4), st.sampled_from("ab")), max_size=40), st.integers(1, 7))
@settings(max_examples=100, deadline=None)
def test_samples_met_before_are_known_wherever_blocks_end(rows, size):
    first, expected = {}, []
    for series, ts, value in rows:
        known = first.setdefault((series, ts), value) if (series, ts) in first else None
        first.setdefault((series, ts), value)
        expected.append(None if known is None else "duplicate" if known == value else "conflict")
    seen = SeenSamples()
    frame = pl.DataFrame(rows, schema={"key": pl.UInt64, "ts": pl.Int64, "written": pl.String}, orient="row")
    told = [verdict for start in range(0, len(rows), size) for verdict in seen.verdict(frame[start : start + size])]
    assert told == expected


def test_scrapes_without_times_conflict_and_say_so(tmp_path):
    reading = read_bytes(READER, b"up 1\nup 1\nup 0\n", AT, tmp_path)
    assert (reading.rows, reading.skips()) == (1, {"duplicate": 1})
    assert reading.rejects()["reason"].to_list() == [
        "same series and time as an earlier line, with another value: several scrapes without times?"
    ]


def test_a_type_holds_from_its_line_on_and_a_second_one_is_noted(tmp_path):
    text = b"a 1\n# TYPE a counter\na 2 5\n# TYPE a gauge\nb_total 3\n# TYPE b counter\nb_total 4 5\n"
    reading = read_bytes(READER, text, AT, tmp_path)
    assert "a has two TYPEs; the first, counter, holds" in reading.notes
    kinds = {(metric, kind) for metric, kind in reading.frame("samples").select("metric", "kind").iter_rows()}
    assert kinds == {("a", None), ("b_total", None)}, "a series has the kind that stood before its first line"


def test_a_type_does_not_reach_back_to_lines_that_need_the_small_parser(tmp_path):
    text = b'm{path="C:\\\\"} 1\n# TYPE m counter\nm{path="d"} 2\nm{path="\\n"} 3\n'
    reading = read_bytes(READER, text, AT, tmp_path)
    assert sorted(reading.frame("samples").select("value", "kind").rows()) == [
        (1.0, None),
        (2.0, "counter"),
        (3.0, "counter"),
    ]


def test_node_name_of_uname_is_for_series_that_name_no_host(tmp_path):
    text = b'node_load1 1\nnode_load1{instance="10.0.0.9:9100"} 2\nnode_uname_info{nodename="node-f01"} 1\n'
    hosts = read_bytes(READER, text, AT, tmp_path).frame("samples").select("metric", "value", "host").rows()
    assert hosts == [
        ("node_load1", 1.0, "node-f01"),
        ("node_load1", 2.0, "10.0.0.9"),
        ("node_uname_info", 1.0, "node-f01"),
    ]
    both = read_bytes(READER, text + text.replace(b"f01", b"f02").replace(b"load1", b"load5"), AT, tmp_path)
    assert both.frame("samples").filter(metric="node_load5", value=1.0)["host"].to_list() == [None]
    assert any("several nodename labels" in note for note in both.notes)


def test_a_host_that_the_user_states_is_for_pods_and_scrapes_of_localhost(tmp_path):
    text = b'DCGM_FI_DEV_GPU_TEMP{gpu="1",UUID="GPU-x",Hostname="pod-7",pod="a"} 1\nup{instance="localhost:9100"} 1\n'
    for host in (None, "node-f07"):
        context = Context(taken_at_us=AT.taken_at_us, host=host)
        reading = read_bytes(READER, text, context, tmp_path)
        assert reading.frame("samples")["host"].to_list() == [host, host]
        assert [json.loads(told).get("Hostname") for told in reading.frame("samples")["labels"]] == ["pod-7", None]
    assert read_bytes(READER, text, AT, tmp_path).frame("aliases").is_empty(), "names without a host are of no use"


@pytest.mark.parametrize("count", [3, 90])
def test_labels_that_are_left_are_canonical_json(tmp_path, count):
    told = {
        "id": "/kubepods",
        "0": "",
        "value": "v",
        "labels": "{}",
        **{f"l{place}": f"<{place}>\n" for place in range(count)},
    }
    told = {name if name.isidentifier() else f"_{name}": text for name, text in told.items()}
    line = line_of("m", dict(reversed(told.items())), "1", "") + "\n"
    (labels,) = read_bytes(READER, line.encode() + b"n 2\n", AT, tmp_path).frame("samples").filter(metric="m")["labels"]
    told.pop("_0")  # an empty label is the same as none
    assert labels == json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def test_lines_that_are_not_utf_8_are_refused_alone(tmp_path):
    reading = read_bytes(READER, b'a{b="\xff"} 1\na{b="\xc3\xa9"} 2\n', AT, tmp_path)
    assert reading.frame("samples").select("labels", "value").rows() == [('{"b":"é"}', 2.0)]
    assert reading.rejects().select("line", "reason").rows() == [(1, "not UTF-8")]


def test_samples_behind_the_end_marker_belong_to_nothing(tmp_path):
    text = b"up 1\n# EOF\n\nup 2\nx 3\n"
    for size in (4, 4096):
        reading = read_bytes(READER, text, AT, tmp_path, block_bytes=size)
        assert reading.frame("samples")["value"].to_list() == [1.0]
        assert reading.rejects().select("line", "reason").rows() == [
            (line, "after the end marker (# EOF): only metadata begins another exposition") for line in (4, 5)
        ]


def test_scrapes_appended_behind_an_end_marker_are_read_and_told(tmp_path):
    text = b"# TYPE a gauge\na 1 1700000000.0\n# EOF\n# TYPE a gauge\na 2 1700000010.0\n# EOF\n"
    for size in (7, 4096):
        reading = read_bytes(READER, text, AT, tmp_path, block_bytes=size)
        assert reading.frame("samples")["value"].to_list() == [1.0, 2.0]
        assert {note for note in reading.notes if "appended" in note} == {
            "1 expositions follow the end marker of another (# EOF): scrapes were appended"
        }


def test_units_are_those_of_what_is_measured_not_of_counts(tmp_path):
    text = (
        b"# TYPE t_seconds histogram\n# UNIT t_seconds seconds\n# UNIT odd bytes\n"
        b't_seconds_bucket{le="+Inf"} 4\nt_seconds_count 4\nt_seconds_sum 2.5 # {a="b"} 1\nt_seconds_created 1605281325.0\n'
    )
    reading = read_bytes(READER, text, AT, tmp_path)
    units = dict(reading.frame("samples").select("metric", "unit").iter_rows())
    assert units == {
        "t_seconds_bucket": None,
        "t_seconds_count": None,
        "t_seconds_sum": "seconds",
        "t_seconds_created": "s",
    }
    assert "UNIT of odd says bytes, which its name does not end with" in reading.notes
    assert "OpenMetrics without # EOF at its end: the exposition may be cut" in reading.notes


@pytest.mark.parametrize(
    ("labels", "host"),
    [
        ('host="node-1",instance="10.0.0.9:9100"', "node-1"),
        ('Hostname="node-2"', "node-2"),
        ('node="node-3",host="virtual"', "node-3"),
        ('host="shop.example/path"', None),
        ('host="pod-1",pod="pod-1"', None),
    ],
)
def test_a_label_that_names_a_host_names_it_outside_of_pods(tmp_path, labels, host):
    reading = read_bytes(READER, f"some_metric{{{labels}}} 1\n".encode(), AT, tmp_path)
    assert reading.frame("samples")["host"].to_list() == [host]


@pytest.mark.parametrize(
    ("labels", "device"),
    [
        ('host="n",gpu="3"', ("gpu", "3")),
        ('host="n",device="mlx5_3",port="1"', ("port", "mlx5_3/1")),
        ('host="n",device="sda"', ("host", None)),
        ('host="n",gpu="all of them"', ("host", None)),
    ],
)
def test_labels_of_any_exporter_name_devices_where_they_are_plain(tmp_path, labels, device):
    reading = read_bytes(READER, f"some_metric{{{labels}}} 1\n".encode(), AT, tmp_path)
    assert reading.frame("samples").select("device_kind", "device").rows() == [device]


def test_a_number_beyond_a_double_is_absent_and_an_infinity_is_one(tmp_path):
    text = b'a{host="n"} 1e400 1772323200000\na{host="n"} +Inf 1772323260000\na{host="n"} 2 1772323320000\n'
    reading = read_bytes(READER, text, Context(), tmp_path)
    assert reading.frame("samples")["value"].to_list() == [float("inf"), 2.0]
    assert reading.absent() == {"a: beyond the range of a double": 1}
