"""The reference log of Fabric Manager, and the copy of it among the driver logs."""

import json

import pytest
from shared import shared_path

from workbench.model.context import Context
from workbench.readers.fabric_manager_log import READER
from workbench.readers.registry import recognise
from workbench.readers.source import open_source
from workbench.timebase import format_us

FILES = [
    ("formats", "fabric_manager_log", "fabricmanager.log"),
    ("data", "driver_logs", "accelerator_nvidia_fabric-manager_fabricmanager.log"),
]


@pytest.mark.parametrize("parts", FILES, ids=lambda parts: parts[1])
def test_reference_logs_are_read_whole(parts):
    path = shared_path(*parts)
    context = Context(zone="UTC", host="node01")
    reader, _ = recognise(path.read_bytes()[:65536], context)
    assert reader.name == "fabric_manager_log"
    with open_source(path) as source:
        batches = list(READER.read(source, context))
    assert sum(batch.records for batch in batches) == len(path.read_bytes().splitlines())
    assert sum(batch.rejects.height for batch in batches) == 0
    stamped = sum(line.startswith(b"[") for line in path.read_bytes().splitlines())
    assert sum(batch.rows for batch in batches) == sum(batch.events.height for batch in batches) == stamped


def test_times_and_lines_are_those_of_the_reference():
    path = shared_path("formats", "fabric_manager_log", "fabricmanager.log")
    expected = json.loads(path.with_name("expected.json").read_text())["fabricmanager.log"]
    with open_source(path) as source:
        batches = list(READER.read(source, Context(zone="UTC")))
    events = next(batch.events for batch in batches if batch.events.height)
    first = format_us(events["ts"].dt.timestamp("us")[0])
    assert first == expected["first_time_local"].replace(" ", "T") + "Z"
    blank = sum(batch.skips.filter(batch.skips["rule"] == "blank")["count"].sum() for batch in batches)
    assert sum(batch.records for batch in batches) - blank == expected["nonempty_lines"]
