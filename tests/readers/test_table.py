"""What single files show of the reader of tables; every fixture also runs the contract of all readers."""

import json
import random

import polars as pl
import pytest
from readings import read, read_bytes

from workbench.model.context import Columns, Context
from workbench.readers.source import open_source
from workbench.readers.table import READER
from workbench.timebase import parse_time


def _read(tmp_path, text, context=None, **how):
    data = text if isinstance(text, bytes) else text.encode()
    return read_bytes(READER, data, context or Context(), tmp_path, **how)


def _values(reading, metric):
    frame = reading.frame("samples").filter(metric=metric).sort("ts")
    return frame["value"].to_list()


def test_two_candidates_for_the_time_reject_every_record_with_one_reason(tmp_path):
    reading = _read(tmp_path, "time,timestamp,host,load\n1,2,n1,7\n3,4,n1,8\n\n")
    assert (reading.records, reading.rows, reading.skips()) == (4, 0, {"header": 1, "blank": 1})
    assert reading.rejects().select("line", "curable").rows() == [(2, "map"), (3, "map")]
    assert reading.rejects()["reason"].n_unique() == 1


def test_local_times_wait_for_a_zone_and_are_read_with_one(tmp_path):
    text = "timestamp,host,load\n2025-11-02 00:58:11,n1,7\n2025-11-02 02:30:00,n1,8\n"
    assert _read(tmp_path, text).rejects()["curable"].to_list() == ["clock", "clock"]
    reading = _read(tmp_path, text, Context(zone="America/Chicago"))
    assert reading.has("samples", {"ts": "2025-11-02T05:58:11Z", "value": 7.0})
    assert reading.has("samples", {"ts": "2025-11-02T08:30:00Z", "value": 8.0})


def test_the_repeated_hour_is_noted_where_it_stays_open(tmp_path):
    text = "timestamp,host,load\n2025-10-26 02:10:00,n1,7\n2025-10-26 02:50:00,n1,8\n"
    reading = _read(tmp_path, text, Context(zone="Europe/Berlin"))
    assert reading.notes == {"2 rows lie in the repeated hour of autumn; the earlier pass is taken"}
    events = _read(tmp_path, text.replace("load", "message"), Context(zone="Europe/Berlin")).frame("events")
    spans = (events["ts_high"] - events["ts_low"]).dt.total_microseconds().to_list()
    assert spans == [3600 * 10**6 + 999_999] * 2


def test_a_snapshot_takes_its_time_and_host_from_the_user(tmp_path):
    stated = Context(
        host="n1", taken_at_us=parse_time("2026-03-01T10:00:00Z"), columns=Columns(roles={"nic": "device"})
    )
    text = "device,port,counter,value\nmlx5_0,1,link_downed,255\nmlx5_1,1,symbol_error,18446744073709551615\n"
    reading = _read(tmp_path, text, stated)
    assert reading.has(
        "samples",
        {"ts": "2026-03-01T10:00:00Z", "host": "n1", "device_kind": "port", "device": "mlx5_0/1", "value_int": 255},
    )
    assert reading.has("samples", {"device": "mlx5_1/1", "value": 2.0**64, "value_int": None})
    assert "no column says when" in _read(tmp_path, text).rejects()["reason"][0]


def test_a_row_of_units_below_the_header(tmp_path):
    text = 'sep=;\n"when";"pdu";"power";"load"\n"";"";"kW";"%"\n"1772359200";"p1";"3,25";"61"\n'
    reading = _read(tmp_path, text)
    assert reading.skips() == {"metadata": 1, "header": 1, "unit row": 1}
    assert reading.has(
        "samples", {"device_kind": "pdu", "device": "p1", "host": None, "metric": "power", "unit": "kW", "value": 3.25}
    )
    assert reading.has("samples", {"metric": "load", "unit": "%", "value_int": 61})


def test_an_array_of_objects(tmp_path):
    columns = Columns(
        shape="events",
        roles={"ts": "event_time", "host": "node_id", "kind": "event_type"},
        epoch="d",
        epoch_origin_us=parse_time("2026-01-01T00:00:00Z"),
    )
    rows = [
        {"node_id": "n1", "event_time": 3.5, "event_type": "fault_start", "fault": {"Class": "GPU"}},
        7,
        {"node_id": "n1", "event_time": 4, "event_type": "fault_end"},
    ]
    reading = _read(tmp_path, json.dumps(rows, indent=1), Context(columns=columns))
    assert (reading.records, reading.rows) == (3, 2)
    assert reading.has(
        "events",
        {"ts": "2026-01-04T12:00:00Z", "kind": "fault_start", "host": "n1", "attributes": {"fault.Class": "GPU"}},
    )
    cut = _read(tmp_path, json.dumps(rows)[:-3], Context(columns=columns))
    assert (cut.rows, cut.rejects()["reason"].to_list()) == (0, ["the document is no whole JSON array: it may be cut"])


def test_numbers_without_a_unit_are_kept_apart_from_those_with_one(tmp_path):
    bare = "".join(f"{1772359200 + second},n1,{second}\n" for second in range(1, 11))
    reading = _read(tmp_path, "time,host,power\n" + bare + "1772359300,n1,11 W\n1772359301,n1,0\n")
    frame = reading.frame("samples").sort("ts")
    assert frame["value"].to_list() == [float(second) for second in range(1, 12)] + [0.0]
    assert frame["unit"].to_list() == [None] * 10 + ["W", "W"], "0 is 0 in watts, too"
    assert frame["labels"].to_list() == ['{"unit":"not stated"}'] * 10 + ["{}"] * 2
    assert reading.absent() == {}
    assert reading.notes == {
        (
            "power: 10 cells without a unit beside 2 in W: kept apart, as series without a unit; "
            "state its unit (units) in a mapping (--map) to join them"
        )
    }
    stated = _read(
        tmp_path, "time,host,power\n" + bare + "1772359300,n1,11 W\n", Context(columns=Columns(units={"power": "kW"}))
    )
    assert set(stated.frame("samples")["unit"]) == {"kW"}
    assert stated.notes == set()
    long = _read(
        tmp_path, "time,host,metric,value\n1772359200,n1,power,5\n1772359201,n1,power,6 W\n1772359200,n1,fan,7\n"
    )
    assert long.frame("samples").sort("metric", "ts").select("metric", "value", "unit", "labels").rows() == [
        ("fan", 7.0, None, "{}"), ("power", 5.0, None, '{"unit":"not stated"}'), ("power", 6.0, "W", "{}"),
    ]  # fmt: skip
    assert [note[:40] for note in long.notes] == ["power: 1 cell without a unit beside 1 in"]


ODD = ["oops", "oops", "oops", "1_000", "1e400", "5 apples", "<b>", "7"]


@pytest.mark.parametrize("block_bytes", [64, 10_000])
@pytest.mark.parametrize("shape", ["wide", "long", "json"])
def test_cells_that_hold_no_number_are_told(tmp_path, shape, block_bytes):
    times = range(1772359200, 1772359200 + len(ODD))
    rows = list(zip(times, ODD, strict=True))
    text = {
        "wide": "time,host,load\n" + "".join(f"{time},n1,{cell}\n" for time, cell in rows),
        "long": "time,host,metric,value\n" + "".join(f"{time},n1,load,{cell}\n" for time, cell in rows),
        "json": "".join(json.dumps({"time": time, "host": "n1", "load": cell}) + "\n" for time, cell in rows),
    }[shape]
    reading = _read(tmp_path, text, block_bytes=block_bytes)
    assert reading.notes == {
        "5 cells hold no number (3 x 'oops', 1 x '1_000', 1 x '<b>'): absent, see view absent",
        "1 cell beyond the range of a double (1 x '1e400'): absent, see view absent",
        (
            "1 cell unit not known, or of another kind than the column's (1 x '5 apples'): absent, see view absent; "
            "state its unit (units) in a mapping (--map)"
        ),
    }
    assert sum(reading.absent().values()) == 7
    assert _values(reading, "load") == [7.0]


def test_json_numbers_beyond_a_double_and_truth_values_are_no_numbers(tmp_path):
    lines = [
        f'{{"time": {1772359200 + at}, "host": "n1", "a": {cell}}}\n'
        for at, cell in enumerate(["1", "1e999", "true", "Infinity"])
    ]
    reading = _read(tmp_path, "".join(lines))
    assert _values(reading, "a") == [1.0, float("inf")]
    assert reading.absent() == {"a: beyond the range of a double": 1, "a: not a number": 1}


def test_thousands_and_decimal_commas_of_one_column_are_not_told_apart(tmp_path):
    text = (
        'time,host,a,b\n1772359200,n1,"1,234","1,234"\n1772359201,n1,"1,5","12,345,678"\n1772359202,n1,"2,345.5","7"\n'
    )
    reading = _read(tmp_path, text)
    assert _values(reading, "a") == [2345.5]
    assert _values(reading, "b") == [1234.0, 12345678.0, 7.0]
    assert reading.absent() == {"a: ambiguous: thousands or decimal comma": 2}
    assert reading.notes == {
        (
            "2 cells ambiguous: thousands or decimal comma (1 x '1,234', 1 x '1,5'): absent, see view absent; "
            "state decimal, ',' or '.', in a mapping (--map)"
        ),
        "1 cell such as '1,234' read as thousands; state decimal in a mapping (--map) if the mark is that of decimals",
    }
    comma = _read(tmp_path, text, Context(columns=Columns(decimal=",")))
    assert _values(comma, "a")[:2] == [1.234, 1.5]
    point = _read(tmp_path, text, Context(columns=Columns(decimal=".")))
    assert _values(point, "a") == [1234.0, 2345.5]


def test_hexadecimal_cells_are_numbers_only_in_a_column_of_their_own(tmp_path):
    text = "time,host,reasons,load\n1772359200,n1,0x1F,7\n1772359201,n1,0x0000000000000004,0x1F\n1772359202,n1,0x20,8\n"
    reading = _read(tmp_path, text)
    assert _values(reading, "reasons") == [31.0, 4.0, 32.0]
    assert _values(reading, "load") == [7.0, 8.0]
    assert reading.absent() == {"load: hexadecimal in a column of decimal numbers": 1}
    assert len(reading.notes) == 1


@pytest.mark.parametrize("shape", ["csv", "json"])
def test_times_in_several_units_are_told(tmp_path, shape):
    times = [1772359200, 1772359201, 1772359202, 1772359203000]
    text = {
        "csv": "time,host,a\n" + "".join(f"{time},n1,5\n" for time in times),
        "json": "".join(json.dumps({"time": time, "host": "n1", "a": 5}) + "\n" for time in times),
    }[shape]
    assert _read(tmp_path, text).notes == {"times in s and ms are mixed: 3 and 1 cells"}
    assert _read(tmp_path, text.replace("3000", "3")).notes == set()


def test_a_device_that_is_no_gpu_is_not_taken_for_one(tmp_path):
    text = "time,host,device,temp\n1772359200,n1,sda,40\n1772359200,n1,gpu3,54\n1772359200,n1,GPU-1f0c2c55-0b1e,55\n"
    reading = _read(tmp_path, text)
    assert reading.frame("samples").select("device_kind", "device").rows() == [
        ("gpu", "gpu3"),
        ("gpu", "GPU-1f0c2c55-0b1e"),
    ]
    assert reading.rejects()["curable"].to_list() == ["map"]
    disks = _read(tmp_path, text, Context(columns=Columns(device_kind="disk"))).frame("samples")
    assert set(disks["device_kind"]) == {"disk"}


def test_names_of_one_gpu_in_one_row_are_aliases_over_the_span_seen(tmp_path):
    text = "time,host,index,uuid,pci.bus_id,temp\n1772359200,n1,0,GPU-1f0c2c55,00000000:18:00.0,54\n1772359260,n1,0,GPU-1f0c2c55,00000000:18:00.0,55\n"
    reading = _read(tmp_path, text)
    span = {"valid_from": "2026-03-01T10:00:00Z", "valid_to": "2026-03-01T10:01:00Z"}
    assert reading.has(
        "aliases", {"host": "n1", "device_kind": "gpu", "device": "0", "same_as": "GPU-1f0c2c55", **span}
    )
    assert reading.has("aliases", {"device": "0000:18:00", "same_as": "GPU-1f0c2c55"})
    assert set(reading.frame("samples")["metric"]) == {"temp"}


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_delimiters(tmp_path, mark):
    text = mark.join(["time", "host", "a b", "c"]) + "\n" + mark.join(["1772359200", "n1", "1.5", "2"]) + mark + "\n"
    reading = _read(tmp_path, text)
    assert _values(reading, "a b") == [1.5]
    assert reading.rejects().is_empty()


def test_quotes_that_do_not_close_cost_their_own_line(tmp_path):
    text = 'time,host,message\n1772359200,n1,a 5" disk\n1772359201,n1,"x, y"\n1772359202,n1,"open\n1772359203,n1,z\n'
    reading = _read(tmp_path, text)
    assert reading.records == 5
    messages = reading.frame("events").sort("ts")["message"].to_list()
    assert messages[0] == 'a 5" disk'
    assert messages[1] == "x, y"
    assert messages[-1] == "z"


def test_columns_of_one_name_keep_apart(tmp_path):
    reading = _read(tmp_path, "time,host,temp,temp,\n1772359200,n1,1,2,\n")
    assert _values(reading, "temp") == [1.0]
    assert _values(reading, "temp#2") == [2.0]


def test_markup_and_sql_pass_as_text(tmp_path):
    evil = "<img src=x onerror=alert(1)>'; drop table samples; --"
    reading = _read(tmp_path, f'time,host,kind,message,"{evil}"\n1772359200,"{evil}","{evil}","{evil}",1\n')
    event = reading.frame("events").row(0, named=True)
    assert (event["host"], event["message"]) == (evil, evil)
    assert json.loads(event["attributes"]) == {evil: "1", "kind": evil}
    assert event["kind"].isascii()
    assert "<" not in event["kind"]


def test_a_file_that_the_mapping_says_is_a_table_but_is_none(tmp_path):
    stated = Context(columns=Columns(roles={"ts": "t", "host": "h"}))
    assert "column 't' is ts" in _read(tmp_path, "a,b\n1,2\n", stated).rejects()["reason"][0]
    assert "no line is a header" in _read(tmp_path, "1\n2\n", stated).rejects()["reason"][0]


def test_prose_is_not_claimed():
    for text in (
        b"[   12.3] foo, bar\n[   12.4] baz\n" * 9,
        b"Hello, world.\nHow are you?\n" * 9,
        b"# HELP a b\n# TYPE a gauge\na 1\n" * 9,
    ):
        assert READER.recognise(text, Context()) is None


def test_blocks_of_any_size_give_one_answer_over_many_rows(tmp_path):
    """Long enough for several blocks, with everything that goes its own way in them."""
    rng = random.Random(3)
    lines = ["time,host,gpu,power,note"]
    for number in range(1500):
        cells = [
            str(1772359200 + number),
            f"n{rng.randrange(3)}",
            str(rng.randrange(8)),
            f"{rng.randrange(700)} W",
            rng.choice(["", '"a\nb"', '"x, y"', "N/A"]),
        ]
        lines.append(",".join(cells) if number % 97 else "time,host,gpu,power,note")
    data = ("\n".join(lines) + "\n").encode()
    whole = _read(tmp_path, data)
    for size in (3000, 9000):
        part = _read(tmp_path, data, block_bytes=size)
        assert part.tables() == whole.tables()
        assert (part.records, part.skips()) == (whole.records, whole.skips())
    assert whole.rows == 1500 - 16
    assert whole.count("samples") == whole.rows


def test_wide_blocks_are_cut_into_bounded_batches(tmp_path):
    names = [f"m{number}" for number in range(1000)]
    text = ",".join(["time", "host", *names]) + "\n"
    text += "".join(f"{1772359200 + row},n1," + ",".join(["1"] * 1000) + "\n" for row in range(2100))
    path = tmp_path / "wide.csv"
    path.write_text(text)
    with open_source(path) as source:
        heights = [batch.samples.height for batch in READER.read(source, Context())]
    assert sum(heights) == 2_100_000
    assert max(heights) <= 2_048_000


def test_json_integers_and_decimals_of_one_key_stay_what_they_are(tmp_path):
    rows = [{"time": 1772359200, "host": "n1", "a": 9007199254740993}, {"time": 1772359201, "host": "n1", "a": 0.5}]
    reading = _read(tmp_path, "\n".join(json.dumps(row) for row in rows))
    frame = reading.frame("samples").sort("ts")
    assert frame["value_int"].to_list() == [9007199254740993, None]
    assert frame["value"].to_list() == [9007199254740992.0, 0.5]
    assert reading.rejects().is_empty()  # a closed object cannot be cut


def test_json_numbers_are_the_same_whatever_stands_beside_them(tmp_path):
    """26 and 26.0 are one number in JSON, and a spoiled line sends the others another way."""
    rows = [
        {"time": 1772359200, "host": "n1", "a": 26.0, "b": 5},
        {"time": 1772359201, "host": "n1", "a": 0.5, "b": 0.25},
    ]
    good = "".join(json.dumps(row) + "\n" for row in rows)
    plain, spoiled = _read(tmp_path, good), _read(tmp_path, good + "{]\n")
    assert plain.tables() == spoiled.tables()
    assert plain.has("samples", {"metric": "a", "value": 26.0, "value_int": 26})
    assert plain.has("samples", {"metric": "b", "value": 5.0, "value_int": 5})


def test_parts_are_linked_to_what_they_are_in(tmp_path):
    text = "time,host,gpu,mig,nic,port,load\n1772359200,n1,0,3,,,1\n1772359200,n1,,,mlx5_0,1,2\n"
    reading = _read(tmp_path, text)
    slice_ = {
        "host": "n1",
        "device_kind": "gpu_instance",
        "device": "0:3",
        "relation": "in",
        "to_host": "n1",
        "to_kind": "gpu",
        "to_device": "0",
    }
    assert reading.has("links", slice_)
    assert reading.has(
        "links",
        {
            "host": "n1",
            "device_kind": "port",
            "device": "mlx5_0/1",
            "to_host": "n1",
            "to_kind": "nic",
            "to_device": "mlx5_0",
        },
    )
    outlet = _read(tmp_path, "time,pdu,outlet,load\n1772359200,p1,4,1\n")
    assert outlet.has(
        "links", {"host": None, "device_kind": "outlet", "device": "p1/4", "to_kind": "pdu", "to_device": "p1"}
    )


def test_reading_is_the_same_through_the_path_and_through_bytes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"time,host,a\n1772359200,n1,1\n")
    assert read(READER, path, Context()).tables() == _read(tmp_path, path.read_bytes()).tables()
    assert isinstance(read(READER, path, Context()).frame("samples"), pl.DataFrame)


@pytest.mark.parametrize("name", ["Hostname", "hostname", "HostName", "Host Name", "host"])
def test_the_host_of_a_metric_is_found_however_its_column_is_spelt(tmp_path, name):
    reading = _read(tmp_path, f"time,{name},queue_depth\n1762053240,n1,5\n1762053240,n2,6\n")
    found = reading.frame("samples").select("host", "device_kind", "value").rows()
    assert found == [("n1", "host", 5.0), ("n2", "host", 6.0)]


@pytest.mark.parametrize("mark", [",", "\t", ";", "|"])
@pytest.mark.parametrize("size", [0, 40_000])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_header_with_other_columns_ends_what_is_read(tmp_path, mark, size, quote):
    rows = [f"2026-01-05T09:00:00.{n:06d}Z,n1,1,100" for n in range(size + 1)]
    other = ",".join(f"{quote}{name}{quote}" for name in ("ts", "host", "power_w", "temp_c"))
    below = [f"2026-01-05T10:00:00.{n:06d}Z,n1,200,2" for n in range(size + 1)]
    lines = ["ts,host,temp_c,power_w", *rows, "ts,host,temp_c,power_w", other, *below, "ts,host,temp_c,power_w"]
    reading = _read(tmp_path, "".join(line.replace(",", mark) + "\n" for line in lines), block_bytes=1_100_000)
    at, rejects = size + 4, reading.rejects()
    assert set(rejects["reason"]) == {f"another header stands at line {at}, with other columns: split the file there"}
    assert rejects["line"].to_list() == list(range(at, at + size + 3))
    assert rejects["curable"].null_count() == rejects.height
    assert (reading.records, reading.rows) == (len(lines), size + 1)
    assert set(reading.frame("samples")["value"]) == {1.0, 100.0}


def test_a_row_of_words_is_no_header(tmp_path):
    text = "host,ts,state,temp_c\nhost,2026-01-05T09:00:00Z,ok,1\nhost,2026-01-05T09:00:01Z,state,2\n"
    reading = _read(tmp_path, text)
    assert (reading.rows, reading.rejects().height) == (2, 0)


def test_a_signed_index_is_no_gpu(tmp_path):
    rows = "".join(
        f"2026-01-05T09:00:00Z,n1,{gpu},{50 + place}\n" for place, gpu in enumerate(["-1", "1", "--1", "+2"])
    )
    reading = _read(tmp_path, f"ts,host,gpu,temp\n{rows}")
    assert reading.frame("samples")["value"].to_list() == [51.0]
    assert reading.rejects().select("line", "reason").rows() == [(line, "no index of a GPU") for line in (2, 4, 5)]
    assert _read(tmp_path, f"ts,host,device,temp\n{rows}").rejects()["line"].to_list() == [2, 4, 5]


@pytest.mark.parametrize("form", ["lines", "odd lines", "array"])
def test_a_key_said_twice_is_refused(tmp_path, form):
    rows = [
        '{"ts": "2026-01-05T09:00:00Z", "host": "n1", "temp": 1}',
        '{"ts": "2026-01-05T09:00:01Z", "host": "n1", "temp": 2, "temp": 3}',
        '{"ts": "2026-01-05T09:00:02Z", "host": "n1", "temp": 4, "note": "\\"temp\\": 1, \\"temp\\": 2"}',
        '{"ts": "2026-01-05T09:00:03Z", "host": "n1", "x": {"a": 5, "a": 5}}',
        '{"ts": "2026-01-05T09:00:04Z", "host": "n1", "temp": 6, "x": {"a": 7}}',
    ]
    if form == "odd lines":
        rows.append('{"ts": "2026-01-05T09:00:05Z", "host": "n1", "temp": NaN, "y": [1, 2]}')
    text = "[" + ",\n".join(rows) + "]" if form == "array" else "\n".join(rows) + "\n"
    reading = _read(tmp_path, text)
    assert reading.rejects().select("line", "reason").rows() == [(2, "key 'temp' twice"), (4, "key 'a' twice")]
    assert _values(reading, "temp")[:3] == [1.0, 4.0, 6.0]
    assert reading.records == len(rows)
