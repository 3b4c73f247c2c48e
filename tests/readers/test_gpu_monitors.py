"""dcgmi dmon and nvidia-smi dmon: no times, odd entities, headers that come again and change."""

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.model.metric import describe
from workbench.readers import dcgmi_dmon, nvidia_smi_dmon

STATED = Context(host="n1", taken_at_us=0, interval_s=1)
DCGMI = "#Entity   POWER   TMPTR\nID            W       C\n"
SMI = "# gpu   pwr\n# Idx     W\n"


def reading_of(reader, text, tmp_path, context=STATED, **more):
    return read_bytes(reader.READER, text.encode(), context, tmp_path, **more)


@pytest.mark.parametrize(
    ("reader", "text"), [(dcgmi_dmon, DCGMI + "GPU 0  5.0  40\n" * 3), (nvidia_smi_dmon, SMI + "0 5\n" * 3)]
)
def test_what_a_dump_without_times_waits_for(reader, text, tmp_path):
    def waits(context):
        return reading_of(reader, text, tmp_path, context).rejects()["curable"].to_list()

    assert waits(Context(taken_at_us=0, interval_s=1)) == ["host"] * 3
    assert waits(Context(host="n1")) == ["taken_at"] * 3
    assert waits(Context(host="n1", taken_at_us=0)) == ["interval"] * 2, "the first sample is at the time of the dump"
    assert waits(STATED) == []


def test_a_header_that_changes_holds_for_the_lines_below_it(tmp_path):
    text = DCGMI + "GPU 0  5.0  40\n" + "#Entity  SMACT\nId\nGPU 0  0.5\n"
    samples = reading_of(dcgmi_dmon, text, tmp_path).frame("samples").sort("ts", "metric")
    assert samples.select("metric", "value", "unit").rows() == [
        ("dcgmi.POWER", 5.0, "W"), ("dcgmi.TMPTR", 40.0, "C"), ("dcgmi.SMACT", 0.5, None),
    ]  # fmt: skip


def test_rows_before_any_header_are_rejected(tmp_path):
    reading = reading_of(dcgmi_dmon, "GPU 0  5.0\n" + DCGMI + "GPU 0  5.0  40\n", tmp_path)
    assert reading.rejects()["reason"].to_list() == ["no header before this line: what its columns mean is not known"]
    assert reading.rows == 1


@pytest.mark.parametrize(
    ("entity", "kind", "device"),
    [("GPU 12", "gpu", "12"), ("GPU 1 LINK 3", "link", "1:3"), ("GPU-CI 0", "compute_instance", "dcgm-0"), ("Switch 2", "nvswitch", "2"),
     ("Switch 2 LINK 5", "switch_link", "2:5"), ("CPU 0", "cpu", "0")],
)  # fmt: skip
def test_entities_with_spaces(entity, kind, device, tmp_path):
    reading = reading_of(dcgmi_dmon, f"{DCGMI}{entity}   5.0   40\n", tmp_path)
    assert reading.frame("samples").select("device_kind", "device").unique().rows() == [(kind, device)]


def test_samples_go_on_over_the_blocks_of_a_file(tmp_path):
    text = DCGMI + "GPU 0  5.0  40\nGPU 1  5.0  40\n" * 50
    whole, parts = (reading_of(dcgmi_dmon, text, tmp_path, block_bytes=size) for size in (1 << 20, 97))
    assert whole.table("samples") == parts.table("samples")
    assert whole.frame("samples")["ts"].n_unique() == 50


def test_a_time_without_a_date_is_no_time(tmp_path):
    reading = reading_of(
        nvidia_smi_dmon, "#Time  gpu  pwr\n#HH:MM:SS Idx W\n10:00:00 0 5\n", tmp_path, Context(host="n1", zone="UTC")
    )
    assert reading.rejects()["curable"].to_list() == ["map"]


@pytest.mark.parametrize(
    ("name", "metric"),
    [("dcgmi.POWER", "gpu.power_w"), ("dcgmi.GTEMP", "gpu.temperature_c"), ("dcgmi.DRAMA", "gpu.dram_active_ratio"), ("dmon.pwr", "gpu.power_w"),
     ("dmon.temp", "gpu.temperature_c"), ("dmon.gtemp", "gpu.temperature_c"), ("dmon.sm", "gpu.util_percent"), ("dmon.fb", "gpu.memory_used_mib")],
)  # fmt: skip
def test_short_names_lead_to_the_metrics_of_the_catalogue(name, metric):
    assert describe(name, "gpu").id == metric


def test_a_slice_has_the_family_of_its_gpu():
    gpu, part = describe("dcgmi.SMACT", "gpu"), describe("dcgmi.SMACT", "gpu_instance")
    assert (gpu.column, gpu.unit, gpu.kind) == (part.column, part.unit, part.kind)
    assert part.id == "gpu_instance.sm_active_ratio"
