"""nvidia-smi nvlink: ranges, counters that stick, GPUs without links, dumps that come again."""

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.model.metric import describe
from workbench.readers.nvidia_smi_nvlink import READER

STATED = Context(host="n1", taken_at_us=10**15)
GPU = "GPU 0: Test GPU (UUID: GPU-52e6b438-0000-0000-0000-0c5ca6a3a450)"


def reading_of(lines, tmp_path, context=STATED):
    return read_bytes(READER, "".join(f"{line}\n" for line in lines).encode(), context, tmp_path)


@pytest.mark.parametrize(
    ("links", "count"),
    [("Link 3", 1), ("Links 0-2, 4-5", 5), ("Links 0-17", 18), ("Links 5-2", None), ("Links 0-999", None)],
)
def test_links_in_one_line(links, count, tmp_path):
    reading = reading_of([GPU, f"\t {links}: Replay Errors: 7"], tmp_path)
    assert reading.frame("samples")["value_int"].to_list() == [7] * (count or 0)
    assert reading.rejects().height == (count is None)


def test_a_count_at_its_maximum_is_told_with_a_note(tmp_path):
    reading = reading_of([GPU, "\t Link 0: CRC Errors: 65535"], tmp_path)
    metric = describe("nvlink.CRC Errors", "link")
    assert (metric.id, metric.saturates, metric.bits) == ("link.crc_errors_total", True, 16)
    assert any("stuck at the maximum" in note for note in reading.notes)


def test_what_a_gpu_says_in_place_of_its_links(tmp_path):
    lines = [GPU, "Nvlink queries are not supported for Devices in MIG mode", GPU, "NVML: Unable to retrieve NvLink information as all links are inActive"]  # fmt: skip
    reading = reading_of(lines, tmp_path)
    assert reading.count("samples") == 0
    assert len(reading.absent()) == 2
    assert reading.rejects().is_empty()


def test_a_dump_that_comes_again_with_other_values_is_not_mixed_in(tmp_path):
    lines = [GPU, "\t Link 0: Replay Errors: 1", "\t Link 1: Replay Errors: 2"]
    reading = reading_of([*lines, lines[0], lines[1], "\t Link 1: Replay Errors: 3"], tmp_path)
    assert reading.skips() == {"duplicate": 1}
    assert [reason[:27] for reason in reading.reject_counts()] == ["the dump starts again here,"]
    assert reading.frame("samples")["value_int"].to_list() == [1, 2]


def test_what_is_not_stated_is_asked_for(tmp_path):
    lines = [GPU, "\t Link 0: Replay Errors: 1"]
    assert reading_of(lines, tmp_path, Context(taken_at_us=0)).rejects()["curable"].to_list() == ["host", "host"]
    assert reading_of(lines, tmp_path, Context(host="n1")).rejects()["curable"].to_list() == ["taken_at"]
