"""Every statement about the reference exports of Grafana, Datadog and collectd, of power and cooling, and of sysstat."""

import json

import polars as pl
import pytest
from readings import read
from shared import shared_path

from workbench.model.context import Columns, Context
from workbench.model.units import conversion
from workbench.readers.registry import recognise
from workbench.timebase import from_us, parse_time


def reading_of(folder, file, reader, **stated):
    told = json.loads(shared_path("formats", folder, "expected.json").read_text(encoding="utf-8"))[file]
    path = shared_path("formats", folder, file)
    assert path.stat().st_size == told["bytes"]
    context = Context(**stated)
    found = recognise(path.read_bytes()[:65536], context)
    assert found[0].name == reader
    return read(found[0], path, context), told, path.read_bytes()


def test_a_panel_with_formatted_values():
    reading, told, data = reading_of(
        "grafana_csv", "panel_excel_header_units.csv", "grafana_csv", zone="UTC", host="n1"
    )
    samples = reading.frame("samples").sort("ts")
    assert data.decode().splitlines()[0] == told["first_line"]
    assert told["delimiter"] in told["first_line"]
    assert samples.height == told["samples"]
    assert samples["value"].to_list() == told["watts"]
    assert set(samples["unit"]) == {"W"}


def test_a_panel_with_a_column_a_series():
    reading, told, data = reading_of("grafana_csv", "panel_series_to_columns.csv", "grafana_csv", zone="UTC")
    samples = reading.frame("samples")
    assert len(data.decode().splitlines()[1].split(",")) == told["header_columns"]
    assert reading.rows == told["data_rows"]
    assert samples.select("host", "device").n_unique() == told["series"]
    assert samples.height == told["samples"]
    assert (reading.absent()["value: empty"], reading.absent()["value: NaN"]) == (told["missing"], told["nan"])
    assert told["time_zone"] == "not in the file"
    without, _, _ = reading_of("grafana_csv", "panel_series_to_columns.csv", "grafana_csv")
    assert without.rejects()["curable"].to_list() == ["clock"] * told["data_rows"]


def test_queries_of_datadog():
    reading, told, data = reading_of("datadog_csv", "timeseries_export.csv", "datadog_csv")
    samples = reading.frame("samples")
    assert len(data.decode().splitlines()[1].split(",")) == told["header_columns"]
    assert (reading.rows, samples.height) == (told["data_rows"], told["samples"])
    assert sum(reading.absent().values()) == told["empty_cells"]
    named = samples.select(pl.concat_str("host", pl.lit("/"), "device_kind", "device"))["host"]
    assert sorted(named.unique()) == told["entities"]
    assert samples["ts"].min() == from_us(parse_time(told["first_time"]))
    assert samples["ts"].max() == from_us(parse_time(told["last_time"]))


@pytest.mark.parametrize("file", ["load__load-2026-11-30", "memory__memory-used-2026-11-30"])
def test_files_of_collectd(file):
    reading, told, data = reading_of("collectd_csv", file, "collectd_csv", host="n1", file_name=file)
    samples = reading.frame("samples")
    assert data.decode().splitlines()[0].split(",") == told["columns"]
    assert samples.group_by("metric").len()["len"].to_list() == [told["samples"]] * (len(told["columns"]) - 1)
    assert samples["ts"].min() == from_us(parse_time(told["first_time"]))
    assert samples["ts"].max() == from_us(parse_time(told["last_time"]))
    first = samples.filter(pl.col("ts") == pl.col("ts").min())
    assert first["value"].to_list() == [float(text) for text in told["exact_first"][1:]]
    assert from_us(round(float(told["exact_first"][0]) * 1e6)) == first["ts"][0]


@pytest.mark.parametrize("file", ["centos-7.7_mpstat-A-2-5.out", "ubuntu-18.04_iostat-1.out"])
def test_reports_of_sysstat(file):
    stated = {"taken_at_us": parse_time("2021-12-01T10:00:00Z"), "interval_s": 1.0}
    reading, told, data = reading_of(
        "sysstat_text", file, "sysstat_text", zone="UTC", columns=Columns(time_format="%m/%d/%Y"), **stated
    )
    assert data.endswith(b"\n") == told["ends_with_newline"]
    assert reading.records - reading.skips()["blank"] == told["nonempty_lines"]
    assert reading.rejects().is_empty()
    if file.startswith("centos"):
        idle = reading.frame("samples").filter(metric="mpstat.%idle", device_kind="host").sort("ts")
        assert idle["value"].to_list()[:3] == [99.5, 99.5, 99.5]
        assert idle["ts"][0] == from_us(parse_time("2022-03-11T15:16:17Z"))
        assert set(idle["host"]) == {"localhost"}
    else:
        idle = reading.frame("samples").filter(metric="iostat.%idle")
        assert idle["value"].to_list() == [98.99, 99.0]
        assert reading.skips()["since boot"] == 21


def test_a_cooling_unit():
    reading, told, data = reading_of(
        "power_cooling_csv", "cdu_trend.csv", "power_cooling_csv", zone="UTC", columns=Columns(time_format="%m/%d/%Y")
    )
    skips = reading.skips()
    assert skips["preamble"] + skips["blank"] == told["preamble_lines"]
    assert reading.rows == told["data_rows"]
    samples = reading.frame("samples")
    supply = samples.filter(metric="Supply Temp").sort("ts", maintain_order=True)
    times = samples.filter(metric="Return Temp")["ts"]
    assert times.len() - times.n_unique() == told["duplicate_times"]
    assert sum(reading.absent().values()) == told["bad_cells"]
    assert set(supply["unit"]) == {"°F"}
    step = conversion("°F", "C")
    celsius = [supply["value"][at] * step.factor + step.offset for at in (0, -1)]
    assert celsius == pytest.approx([told["exact"]["first supply C"], told["exact"]["last supply C"]])
    states = [line.rpartition(",")[2] for line in data.decode().splitlines()[-5:]]
    assert states == told["state_column"]
    changes = [(state, states[at + 1]) for at, state in enumerate(states[:-1]) if state != states[at + 1]]
    assert reading.frame("events")["code"].to_list() == [state for _, state in changes]
    first = reading.frame("events").row(0, named=True)
    assert told["event"].startswith("pump 1 off at 3:12")
    assert (first["message"], f"{first['ts']:%H:%M}") == ("Pump 1 Status: OFF, was ON", "03:12")


def test_outlets_of_a_german_pdu():
    reading, told, data = reading_of(
        "power_cooling_csv", "pdu_german_latin1.csv", "power_cooling_csv", zone="Europe/Berlin"
    )
    assert data.decode(told["encoding"]).splitlines()[0].count(told["delimiter"]) == 8
    assert told["decimal"] == ","
    assert (reading.rows, reading.skips()["total"]) == (told["data_rows"], told["total_row"])
    samples = reading.frame("samples").sort("ts")
    assert sorted(samples["device"].unique()) == told["entities"]
    local = samples["ts"].dt.convert_time_zone("Europe/Berlin").dt.strftime("%Y-%m-%d %H:%M:%S")
    assert (local[0], local[-1]) == (told["first_time_local"], told["last_time_local"])
    exact = told["exact"]
    for metric, unit, first, last in (
        ("Strom", "A", exact["first A"], exact["last A"]),
        ("Energie", "kWh", exact["first kWh"], exact["last kWh"]),
        ("cos phi", None, exact["cos phi"], exact["cos phi"]),
    ):
        values = samples.filter(metric=metric)
        assert (values["value"][0], values["value"][-1], values["unit"][0]) == (first, last, unit)
