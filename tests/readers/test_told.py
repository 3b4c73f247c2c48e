"""Rows gathered one by one: every record counted, every cell a number or a counted absence."""

import json

import pytest

from workbench.readers.told import Told

GPU = ("n1", "gpu", "0")


def test_every_record_is_counted_once():
    told = Told()
    told.row(3)
    told.skip("blank", 2)
    told.reject(9, "not understood", "x" * 5000, curable="clock")
    told.reject(2, "no time")
    batch = told.batch()
    assert (batch.records, batch.rows) == (7, 3)
    assert batch.skips.rows() == [("blank", 2)]
    assert batch.rejects["line"].to_list() == [2, 9]
    assert batch.rejects["text"].str.len_chars().to_list() == [0, 2000]
    assert told.batch().records == 0, "handed over once"


@pytest.mark.parametrize(
    ("cell", "value", "exact"),
    [
        ("18446744073709551615", 1.8446744073709552e19, None),
        (9007199254740993, 9007199254740992.0, 9007199254740993),
        (26.0, 26.0, 26),
        ("0.5", 0.5, None),
        ("1.2 kW", 1200.0, 1200),
    ],
)
def test_numbers_are_exact(cell, value, exact):
    told = Told()
    told.sample(GPU, "m", cell, ts_us=5)
    samples = told.batch().samples
    assert samples["value"].to_list() == [value]
    assert samples["value_int"].to_list() == [exact]


@pytest.mark.parametrize("cell", [None, "N/A", "", float("nan"), 9223372036854775794, "oops", "1e400"])
def test_what_is_no_number_is_counted_as_absent(cell):
    told = Told()
    told.sample(GPU, "m", cell, ts_us=5)
    batch = told.batch()
    assert batch.samples.height == 0
    assert batch.absent["count"].to_list() == [1]


def test_a_series_is_told_by_metric_device_labels_and_unit():
    told = Told()
    for cell in ("1 W", "2 W", "3"):
        told.sample(GPU, "p", cell, ts_us=0, labels={"rail": "a"})
    series = told.batch().series
    assert series["unit"].to_list() == ["W", None]
    assert series["labels"].unique().to_list() == ['{"rail":"a"}']


def test_events_keep_what_hostile_text_says():
    told = Told()
    hostile = "<script>\ud800'; drop table"
    told.event(GPU, "log", hostile, span_us=(1, 5), line=3, attributes={"a": "\udfff", "b": None, "n": 7})
    (event,) = told.batch().events.iter_rows(named=True)
    assert event["message"] == "<script>\\ud800'; drop table"
    assert json.loads(event["attributes"]) == {"a": "\\udfff", "n": 7}
    assert (event["ts"], event["ts_high"].microsecond) == (event["ts_low"], 5)


def test_lone_surrogates_are_escaped_wherever_they_stand():
    told = Told()
    told.sample(("n\ud800", "gpu", "0"), "m\udfff", "\ud800", ts_us=5)
    told.sample(("n\ud800", "gpu", "0"), "m\udfff", 7, ts_us=5)
    told.event(GPU, "log", "m", span_us=(1, 5), line=3, code="\ud800", severity="\ud800")
    told.reject(1, "not understood", "\ud800")
    batch = told.batch()
    assert batch.series["metric"].to_list() == ["m\\udfff"]
    assert batch.events["code"].to_list() == ["\\ud800"]
    assert batch.rejects["text"].to_list() == ["\\ud800"]
    assert batch.absent["count"].to_list() == [1]
