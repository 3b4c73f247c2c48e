"""nvidia-smi as CSV, text and XML: one moment is one set of values, whichever of the three tells it."""

import polars as pl
import pytest
from readings import read, read_bytes
from shared import ROOT

from workbench.model.context import Context
from workbench.model.metric import describe
from workbench.readers import nvidia_smi_q_text, nvidia_smi_query_csv, nvidia_smi_xml, prometheus_text

STATED = Context(host="n1", zone="Europe/Berlin")
FIXTURES = ROOT / "data_samples" / "fixtures"
UUID = "GPU-1f0c2c55-0b1e-4a3e-9d55-7c1f6b8a9d10"


def values(reader, file):
    """Values by device and metric, after the renaming of the catalogue, in its units."""
    reading = read(reader.READER, FIXTURES / reader.READER.name / file, STATED)
    found = {}
    for row in reading.frame("samples").iter_rows(named=True):
        metric = describe(row["metric"], row["device_kind"])
        if metric.known_by == "catalogue":
            step = metric.written_as(row["metric"], row["unit"])
            found[row["ts"], row["device"], metric.id] = row["value"] * step.factor + step.offset
    return found


def test_query_csv_and_text_and_xml_of_one_moment_say_the_same():
    csv, text, xml = (
        values(reader, f"moment.{suffix}")
        for reader, suffix in ((nvidia_smi_query_csv, "csv"), (nvidia_smi_q_text, "txt"), (nvidia_smi_xml, "xml"))
    )
    assert len({metric for *_, metric in xml}) == 14
    assert len({device for _, device, _ in xml}) == 2
    assert {key: csv[key] for key in xml} == xml
    shared = csv.keys() & text.keys()
    assert {key: text[key] for key in shared} == {key: csv[key] for key in shared}
    assert shared == xml.keys()


def test_the_three_give_one_gpu_the_same_names():
    names = [
        set(read(reader.READER, FIXTURES / reader.READER.name / file, STATED).frame("aliases").select("device", "same_as").rows())
        for reader, file in ((nvidia_smi_query_csv, "moment.csv"), (nvidia_smi_q_text, "moment.txt"), (nvidia_smi_xml, "moment.xml"))
    ]  # fmt: skip
    assert names[0] == names[1] == names[2]


@pytest.mark.parametrize(
    ("reader", "file"),
    [(nvidia_smi_query_csv, "moment.csv"), (nvidia_smi_q_text, "moment.txt"), (nvidia_smi_xml, "moment.xml")],
)
def test_what_is_not_stated_is_asked_for(reader, file):
    def waits(context):
        return set(read(reader.READER, FIXTURES / reader.READER.name / file, context).rejects()["curable"])

    assert waits(Context(host="n1")) == {"clock"}
    assert waits(Context(zone="UTC")) == {"host"}


def csv_of(text, tmp_path, context=STATED):
    return read_bytes(nvidia_smi_query_csv.READER, text.encode(), context, tmp_path)


def test_units_in_cells_or_in_the_header_alone(tmp_path):
    header = "timestamp, uuid, power.draw [W], memory.used [MiB]\n"
    row = f"2026/07/14 08:12:53.353, {UUID}, 631.95{{}}, 100{{}}\n"
    rows = [
        csv_of(header + row.format(*units), tmp_path).frame("samples").sort("metric")
        for units in ((" W", " MiB"), ("", ""))
    ]
    assert rows[0].equals(rows[1])
    assert rows[0].select("metric", "value", "unit").rows() == [
        ("memory.used", 100.0, "MiB"),
        ("power.draw", 631.95, "W"),
    ]


def test_a_deprecated_cell_and_a_mask(tmp_path):
    header = "timestamp, pci.bus_id, clocks_event_reasons.active, clocks.applications.graphics [MHz]\n"
    row = (
        "2026/07/14 08:12:53.353, 00000000:18:00.0, 0x00000000000000C0, [Requested functionality has been deprecated]\n"
    )
    reading = csv_of(header + row, tmp_path)
    assert reading.frame("samples").select("device", "value_int", "kind").rows() == [("0000:18:00", 192, "state")]
    assert reading.absent() == {"clocks.applications.graphics: [Requested functionality has been deprecated]": 1}


def test_rows_that_name_no_gpu_or_no_time(tmp_path):
    reading = csv_of("timestamp, temperature.gpu, power.draw [W]\n2026/07/14 08:12:53.353, 5, 6 W\n", tmp_path)
    assert reading.rejects()["reason"].to_list() == ["row does not name its GPU: query uuid, pci.bus_id or index too"]
    reading = csv_of(f"uuid, temperature.gpu\n{UUID}, 5\n", tmp_path)
    assert reading.rejects()["curable"].to_list() == ["taken_at"]


def test_a_header_that_gains_a_column_holds_from_there(tmp_path):
    first = f"timestamp, uuid, temperature.gpu\n2026/07/14 08:12:53.353, {UUID}, 5\n"
    second = f"timestamp, uuid, temperature.gpu, pstate\n2026/07/14 08:12:54.353, {UUID}, 6, P8\n"
    samples = csv_of(first + second, tmp_path).frame("samples").sort("ts", "metric")
    assert samples.select("metric", "value_int").rows() == [
        ("temperature.gpu", 5),
        ("pstate", 8),
        ("temperature.gpu", 6),
    ]


def test_slices_are_told_with_the_names_of_their_gpu():
    for reader, file in ((nvidia_smi_xml, "lost_and_old.xml"), (nvidia_smi_q_text, "mig.txt")):
        samples = read(reader.READER, FIXTURES / reader.READER.name / file, STATED).frame("samples")
        part = samples.filter(pl.col("device_kind") == "gpu_instance")
        assert [describe(name, "gpu_instance").id for name in part["metric"]] == ["gpu_instance.memory_used_mib"]


@pytest.mark.parametrize(
    "bad",
    [
        b'<!DOCTYPE x [<!ENTITY a "b">]><nvidia_smi_log>&a;</nvidia_smi_log>', b"<nvidia_smi_log>" * 200, b"<nvidia_smi_log/>",
        b"<nvidia_smi_log><gpu></nvidia_smi_log>", b'<?xml version="1.0" encoding="klingon"?><nvidia_smi_log><gpu/></nvidia_smi_log>',
        b"<nvidia_smi_log><gpu id='\xff'><timestamp>\xfe</timestamp></gpu></nvidia_smi_log>",
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><nvidia_smi_log><timestamp>&x;</timestamp></nvidia_smi_log>',
    ],
)  # fmt: skip
def test_hostile_xml_is_refused_and_counted(bad, tmp_path):
    reading = read_bytes(nvidia_smi_xml.READER, bad, STATED, tmp_path)
    assert reading.records == 1
    assert reading.rows == 0
    assert reading.count("samples") == 0


def test_a_slice_is_one_entity_for_nvidia_smi_and_the_exporter(tmp_path):
    text = f'DCGM_FI_DEV_FB_USED{{gpu="0",UUID="{UUID}",GPU_I_ID="2",GPU_I_PROFILE="3g.40gb",Hostname="n1"}} 37 1784016773000\n'
    exporter = read_bytes(prometheus_text.READER, text.encode(), STATED, tmp_path)
    smi = read(nvidia_smi_xml.READER, FIXTURES / "nvidia_smi_xml" / "lost_and_old.xml", STATED)
    for reading in (exporter, smi):
        part = reading.frame("samples").filter(device_kind="gpu_instance")
        assert part.select("host", "device", "value_int").rows() == [("n1", f"{UUID}:2", 37)]
        assert reading.has("links", {"device": f"{UUID}:2", "relation": "in", "to_kind": "gpu", "to_device": UUID})
        assert [describe(name, "gpu_instance").id for name in part["metric"]] == ["gpu_instance.memory_used_mib"]
