"""Traps of exports for people: formatted values, legends for names, clocks of browsers, paths that hold the meaning."""

import pytest
from readings import read_bytes

from workbench.model.context import Columns, Context
from workbench.readers import collectd_csv, datadog_csv, grafana_csv
from workbench.readers.registry import recognise
from workbench.readers.tellingnames import collectd_name, telling_name

UTC = Context(zone="UTC", host="n9")


def _read(reader, text, tmp_path, context=UTC):
    return read_bytes(reader.READER, text.encode(), context, tmp_path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_times_of_a_browser_wait_for_a_zone(tmp_path, delimiter):
    text = f'"Time"{delimiter}"a"\n2026-03-01 11:00:00{delimiter}1\n'
    assert recognise(text.encode(), Context())[0].name == "grafana_csv"
    reading = _read(grafana_csv, text, tmp_path, Context(host="n1"))
    assert reading.rejects()["curable"].to_list() == ["clock"]
    assert _read(grafana_csv, text, tmp_path, Context(zone="UTC")).rejects()["curable"].to_list() == ["host"]
    assert _read(grafana_csv, text, tmp_path).frame("samples")["host"].to_list() == ["n9"]


def test_a_plain_table_with_a_column_time_is_none_of_grafana():
    assert recognise(b"Time,host,temp\n1772359200,n1,5\n", Context())[0].name == "table"
    assert recognise(b"time,host,temp\n1772359200,n1,5\n", Context())[0].name == "table"
    assert recognise(b"epoch,host\n1772359200,n1\n", Context(columns=Columns(shape="wide")))[0].name == "table"


def test_what_a_legend_leaves_out_is_told(tmp_path):
    text = '"Time","GPU 0"\n2026-03-01T11:00:00Z,1\n'
    reading = _read(grafana_csv, text, tmp_path)
    assert reading.frame("samples").select("metric", "device").rows() == [("value", "0")]
    assert [note for note in reading.notes if "panel's title" in note]
    named = _read(
        grafana_csv, text, tmp_path, Context(host="n9", file_name="Power-data-as-joinbyfield-2026-03-01 12_00_00.csv")
    )
    assert named.frame("samples")["metric"].to_list() == ["Power"]
    assert not named.notes
    stated = _read(grafana_csv, text, tmp_path, Context(host="n9", columns=Columns(roles={"metric": "=power"})))
    assert stated.frame("samples")["metric"].to_list() == ["power"]


@pytest.mark.parametrize(
    ("query", "metric", "host", "device"),
    [
        ("avg:dcgm.power{host:n1} by {gpu}, gpu:3", "dcgm.power", "n1", "3"),
        ("avg:dcgm.power{*} by {host,gpu}, gpu:3, host:n1", "dcgm.power", "n1", "3"),
        ("max:system.load.1{env:prod} by {host}.rollup(max, 60), host:n1", "system.load.1", "n1", None),
        ("p95:trace.step{host:n1}", "trace.step", "n1", None),
        ("avg:dcgm.power{host:n*}", "dcgm.power", "n9", None),
    ],
)
def test_queries_of_datadog(tmp_path, query, metric, host, device):
    text = f'time,"{query}"\n2026-03-01T11:00:00Z,7\n'
    assert recognise(text.encode(), Context())[0].name == "datadog_csv"
    reading = _read(datadog_csv, text, tmp_path)
    assert reading.frame("samples").select("metric", "host", "device", "value").rows() == [(metric, host, device, 7.0)]


@pytest.mark.parametrize(
    ("path", "metric", "host", "labels"),
    [
        ("n1/load/load-2026-11-30", "collectd_load", "n1", "{}"),
        ("a/n1.site/cpu-3/cpu-idle-2026-11-30", "collectd_cpu", "n1.site", '{"cpu":"3","type":"idle"}'),
        ("n1/df-var-log/df_complex-free-2026-11-30", "collectd_df_df_complex", "n1", '{"df":"var-log","type":"free"}'),
        ("n1__interface__if_octets-eth0-2026-11-30", "collectd_interface_if_octets", "n1", '{"interface":"eth0"}'),
        ("memory__memory-used-2026-11-30", "collectd_memory", "n9", '{"memory":"used"}'),
    ],
)
def test_paths_of_collectd(tmp_path, path, metric, host, labels):
    """Names as write_prometheus makes them: plugin, type where it is another, part where it is not ``value``."""
    reading = _read(collectd_csv, "epoch,value\n1772359200.5,7\n", tmp_path, Context(host="n9", file_name=path))
    assert reading.frame("samples").select("metric", "host", "labels").rows() == [(metric, host, labels)]
    parts = _read(collectd_csv, "epoch,rx\n1772359200.5,7\n", tmp_path, Context(host="n9", file_name=path))
    assert parts.frame("samples")["metric"].to_list() == [f"{metric}_rx"]


@pytest.mark.parametrize(
    "path", ["", "load-2026-11-30", "n1/load/load.csv", "n1/load/load-2026", "n1/lo ad/2026-11-30"]
)
def test_other_paths_tell_nothing(tmp_path, path):
    assert collectd_name(path) is None
    assert telling_name(path) is None
    reading = _read(collectd_csv, "epoch,value\n1772359200,7\n", tmp_path, Context(host="n9", file_name=path))
    assert reading.rows == 0
