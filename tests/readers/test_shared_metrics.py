"""Dumps of metrics systems: every statement about each reference file, key by key."""

import json

import polars as pl
import pytest
from readings import read
from shared import shared_exists, shared_path

from workbench.model import metric
from workbench.model.context import Context
from workbench.readers.registry import recognise
from workbench.readers.source import open_source
from workbench.timebase import parse_time, to_us

FORMATS = {
    "dcgm_exporter_text": "prometheus_text",
    "prometheus_text": "prometheus_text",
    "openmetrics": "prometheus_text",
    "prometheus_query_json": "prometheus_query_json",
    "promtool_tsdb_dump": "promtool_tsdb_dump",
    "otlp_json": "otlp_json",
    "influx_line_protocol": "influx_line_protocol",
    "telegraf_json": "telegraf_json",
    "loki_json": "loki_json",
    "alertmanager_json": "alertmanager_json",
}
#: What is not read as stated, and why: the reason that our reader gives each record instead.
DEPARTURES = {
    # Its times are 0 to 240,000 ms: no telemetry is of 1970, and the common bound of times refuses them.
    "dump_test2.txt": "time outside of 2000 to 2100",
}
STATED = Context(taken_at_us=parse_time("2026-01-01T00:00:00Z"), host="node-x")


def cases():
    if not shared_exists("formats"):
        return [pytest.param("", "", {}, marks=pytest.mark.skip("reference data are not here; set WORKBENCH_SHARED"))]
    return [
        pytest.param(folder, file, expected, id=f"{folder}/{file}")
        for folder in FORMATS
        for file, expected in json.loads(shared_path("formats", folder, "expected.json").read_text("utf-8")).items()
    ]


class Found:
    """What our readers make of a file; one method a key of expected.json."""

    def __init__(self, folder, file):
        self.path = shared_path("formats", folder, file)
        with open_source(self.path) as source:
            name, _ = recognise(source.head(), STATED)
        assert name.name == FORMATS[folder]
        self.folder, self.file = folder, file
        self.reading = read(name, self.path, STATED)
        self.frame = self.reading.frame("samples").sort("ts", maintain_order=True)
        self.events = self.reading.frame("events")

    def text(self):
        return self.path.read_text("utf-8")

    def values(self, name, **labels):
        rows = self.frame.filter(pl.col("metric").str.contains(f"_{name}(?:_COUNTER)?$"))
        for column, value in labels.items():
            rows = rows.filter(pl.col(column) == value)
        return rows["value"].to_list()

    def gpu(self, index):
        aliases = self.reading.frame("aliases").filter(pl.col("device") == index)
        return aliases["same_as"][0]

    # counts
    def bytes(self, told):
        assert self.path.stat().st_size == told

    def samples(self, told):
        assert self.frame.height + sum(self.reading.absent().values()) == told

    def unparsable_lines(self, told):
        assert self.reading.rejects().height == told

    def families_with_TYPE(self, told):  # noqa: N802 - as the key is called
        assert len({line.split()[2] for line in self.text().splitlines() if line.startswith("# TYPE ")}) == told

    def distinct_series(self, told):
        assert sum(batch.series.height for batch in self.reading.batches) == told

    def series(self, told):
        absent = {key.split(": ")[0] for key in self.reading.absent()}
        identity = ["metric", "host", "device", "labels"]
        whole = self.frame.select(identity).unique().height
        assert whole <= told <= whole + len(absent)

    def eof_marker(self, told):
        assert self.reading.skips().get("end marker", 0) == int(told)

    def time_stamps_present(self, told):
        assert (
            self.frame.filter(pl.col("ts").dt.epoch("us") != STATED.taken_at_us).height
            + sum(self.reading.absent().values()) * bool(told)
            == told
        )

    def nan_or_inf(self, told):
        infinite = self.frame.filter(pl.col("value").is_infinite()).height
        assert infinite + sum(n for key, n in self.reading.absent().items() if key.endswith("NaN")) == told

    non_finite = nan_values = nan_or_inf

    def last_line_cut(self, told):
        assert ("last line has no newline: it may be cut" in self.reading.reject_counts()) == told

    # who
    def entities(self, told):
        assert self.frame["device"].n_unique() == told

    def entity(self, told):
        assert self.frame["device"].unique().to_list() == [told]

    def host_label_is_pod(self, told):
        assert told
        assert self.frame["host"].unique().to_list() == ["node-x"]

    def value_semantics(self, told):
        xid = metric.describe("DCGM_FI_DEV_XID_ERRORS", "gpu")
        assert "sticky" in told["XID_ERRORS"]
        assert xid.kind == "sticky"
        energy = self.frame.filter(pl.col("metric").str.contains("ENERGY"))
        assert told["TOTAL_ENERGY_CONSUMPTION"] == f"{energy['kind'][0]} {energy['unit'][0]}"

    def exact(self, told):
        for key, value in told.items():
            getattr(self, f"exact_{self.folder}")(key, value)

    def exact_dcgm_exporter_text(self, key, value):
        name, _, index = key.partition(" gpu")
        if key == "pod":
            assert {json.loads(labels)["pod"] for labels in self.frame["labels"]} == {value}
        elif value == "absent, not zero":
            assert self.values(name, device=self.gpu(index)) == []
        else:
            assert self.values(name, **({"device": self.gpu(index)} if index else {})) == [value]

    def exact_influx_line_protocol(self, key, value):
        point, field = key.split(".")
        place = {"p1": "2025-11-02T03:14:01.120023Z", "p2": "2025-11-02T03:14:11Z"}[point]
        rows = self.frame.filter(pl.col("ts").dt.epoch("us") == parse_time(place))
        assert rows.filter(pl.col("metric") == f"nvidia_smi_{field}")["value"].to_list() == [value]

    # when
    def first_time(self, told):
        ts = self.frame["ts"].min() if self.frame.height else self.events["ts"].min()
        assert to_us(ts) == parse_time(told)

    def last_time(self, told):
        ts = self.frame["ts"].max() if self.frame.height else self.events["ts"].max()
        assert to_us(ts) == parse_time(told)

    def time(self, told):
        assert {to_us(ts) for ts in self.frame["ts"]} == {parse_time(told)}

    def sorted_globally_by_time(self, told):
        assert self.reading.frame("samples")["ts"].is_sorted() == told

    # answers of Prometheus
    def status(self, told):
        assert (told == "error") == any("the query failed" in reason for reason in self.reading.reject_counts())

    def error_type(self, told):
        assert any(f"failed: {told}:" in reason for reason in self.reading.reject_counts())

    def error(self, told):
        assert any(reason.endswith(told) for reason in self.reading.reject_counts())

    def result_type(self, told):
        assert (self.frame["ts"].n_unique() == 1) == (told == "vector")

    def metric_names(self, told):
        assert sorted(self.frame["metric"].unique()) == told

    def exact_first(self, told):
        moment, value = told["value"]
        rows = self.frame.filter((pl.col("metric") == told["metric"]) & (pl.col("ts").dt.epoch("us") == moment * 1e6))
        assert float(value) in rows["value"].to_list()

    def note(self, told):
        assert "ALERTS" in told
        assert self.events["kind"].unique().to_list() == ["alert"]
        assert any("stale marker" in note and "look the same" in note for note in self.reading.notes)

    # OTLP
    def metrics(self, told):
        if isinstance(told, int):
            assert self.reading.rows == told
        else:
            written = self.frame["metric"].str.replace("_(?:count|sum|min|max|bucket)$", "")
            assert set(written) == set(told)

    def data_points(self, told):
        assert self.reading.rows == told

    # Influx and Telegraf
    def points(self, told):
        assert self.reading.rows == told

    def comments(self, told):
        assert self.reading.skips()["comment"] == told

    def time_units(self, told):
        assert sorted(told) == ["ms", "none", "ns", "s"]
        stated = STATED.taken_at_us
        moments = {to_us(ts) for ts in self.frame["ts"]} - {stated}
        assert {moment // 10**6 for moment in moments} == {1762053241, 1762053251}
        assert self.frame.filter(pl.col("ts").dt.epoch("us") == stated)["metric"].to_list() == ["nvidia_smi_x"]

    def tags_p1(self, told):
        rows = self.frame.filter(pl.col("metric") == "nvidia_smi_power_draw")
        assert rows.select("host", "device").rows() == [(told["host"], told["uuid"])]
        assert self.reading.has("aliases", {"host": told["host"], "device": told["index"], "same_as": told["uuid"]})
        assert self.reading.has("entities", {"device": told["uuid"], "attributes": {"model": told["name"]}})

    def p3(self, told):
        assert "line break" in told
        assert self.reading.absent()["nvidia_smi_note: text"] == 1
        assert self.reading.skips()["continuation"] == 1

    def p4_measurement(self, told):
        rows = self.frame.filter(pl.col("metric").str.starts_with(told))
        assert rows.select("metric", "value").rows() == [(f"{told}_f 1", -0.5), (f"{told}_g", 0.0)]

    def physical_lines(self, told):
        assert self.reading.records - self.reading.skips().get("blank", 0) == told

    def measurements(self, told):
        assert {name for name in told for metric_ in self.frame["metric"] if metric_.startswith(f"{name}_")} == set(
            told
        )
        assert all(any(metric_.startswith(f"{name}_") for name in told) for metric_ in self.frame["metric"])

    def fields(self, told):
        assert self.frame.height + sum(self.reading.absent().values()) == told

    # Loki and alerts
    def streams(self, told):
        assert len(json.loads(self.text())["data"]["result"]) == told

    def entries(self, told):
        assert self.reading.records == told

    def exact_duplicates(self, told):
        assert self.reading.skips() == {"duplicate": told}

    def order(self, told):
        assert told == "newest first"
        assert self.events.sort("line")["ts"].is_sorted()

    def alerts(self, told):
        assert self.events.height == self.reading.rows == told

    def items(self, told):
        for item in told:
            assert self.reading.has(
                "events", {"kind": "alert", "code": item["alertname"], "attributes": {"state": item["state"]}}
            )
            row = self.events.filter(pl.col("code") == item["alertname"])
            assert to_us(row["ts"][0]) == parse_time(item["startsAt"])


@pytest.mark.parametrize(("folder", "file", "expected"), cases())
def test_every_statement_about_a_reference_file_holds(folder, file, expected):
    found = Found(folder, file)
    if file in DEPARTURES:
        assert found.reading.reject_counts() == {DEPARTURES[file]: expected["samples"]}
        return
    for key, told in expected.items():
        getattr(found, key)(told)
