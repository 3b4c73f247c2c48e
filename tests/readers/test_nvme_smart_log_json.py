"""One NVMe health log, as JSON and as text, is one set of numbers."""

import json

import pytest
from readings import read_bytes

from workbench.model.context import Columns, Context
from workbench.readers.nvme_smart_log_json import READER

STATED = Context(host="n1", taken_at_us=10**15, columns=Columns(roles={"device": "=nvme3n1"}))
LOG = {"critical_warning": 0, "temperature": 310, "data_units_read": 9898518, "media_errors": 3, "power_on_hours": 4974}
TEXT = """Smart Log for NVME device:nvme3n1 namespace-id:ffffffff
critical_warning\t\t\t: 0
temperature\t\t\t\t: {temperature}
Data Units Read\t\t\t\t: 9,898,518 (5.07 TB)
media_errors\t\t\t\t: 3
power_on_hours\t\t\t\t: 4,974
"""


def numbers(data, tmp_path, context=STATED):
    reading = read_bytes(READER, data.encode(), context, tmp_path)
    frame = reading.frame("samples")
    return reading, {row["metric"]: (round(row["value"], 6), row["device"]) for row in frame.iter_rows(named=True)}


@pytest.mark.parametrize("temperature", ["37 °C (310 K)", "310 K", "36.85 C", "98.33 °F", "98 °F (310 K)"])
def test_text_and_json_agree(temperature, tmp_path):
    _, one = numbers(json.dumps({**LOG, "avail_spare": 1}) + "\n", tmp_path)
    _, other = numbers(TEXT.format(temperature=temperature), tmp_path)
    one.pop("avail_spare")
    assert one.keys() == other.keys()
    assert all(one[metric][0] == pytest.approx(other[metric][0], abs=0.01) for metric in one)
    assert {device for _, device in other.values()} == {"nvme3n1"}


@pytest.mark.parametrize("value", [12, 12.0, "12", "12.0", " 12 "])
def test_a_number_may_be_written_in_any_way(value, tmp_path):
    _, found = numbers(json.dumps({**LOG, "media_errors": value}), tmp_path)
    assert found["media_errors"][0] == 12


@pytest.mark.parametrize("value", [True, None, "N/A", float("nan"), "\ud800", [], "9" * 5000])
def test_what_is_no_number_is_absent(value, tmp_path):
    reading, found = numbers(json.dumps({**LOG, "media_errors": value}), tmp_path)
    assert reading.rows == 1
    assert "media_errors" not in found


@pytest.mark.parametrize(
    ("context", "curable"),
    [
        (Context(host="n", taken_at_us=1), "map"),
        (Context(taken_at_us=1, columns=STATED.columns), "host"),
        (Context(host="n", columns=STATED.columns), "taken_at"),
    ],
)
def test_what_the_dump_does_not_say_is_asked_for(context, curable, tmp_path):
    reading, _ = numbers(json.dumps(LOG), tmp_path, context)
    assert reading.rejects()["curable"].to_list() == [curable]
