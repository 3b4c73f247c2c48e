"""The event log of a BMC: one log, however it was printed, is one set of events."""

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.ipmi_sel import READER
from workbench.timebase import parse_time

RECORDS = [
    (0x2, "11/02/25", "06:59:58", "Memory #0x30", "Correctable ECC", "Asserted"),
    (0x1F, "11/02/25", "07:30:00", "Fan #0x71", "Lower Critical going low ", "Asserted"),
    (0x20, "12/24/25", "23:59:59", "Fan #0x71", "Lower Critical going low ", "Deasserted"),
]
IN_CHICAGO = ["11/02/25 | 01:59:58 CDT", "11/02/25 | 01:30:00 CST", "12/24/25 | 17:59:59 CST"]


def events_of(lines, tmp_path, **stated):
    reading = read_bytes(
        READER, "".join(f"{line}\n" for line in lines).encode(), Context(host="n1", **stated), tmp_path
    )
    return reading, reading.table("events")


def test_csv_in_utc_and_text_in_another_zone_are_equal_events(tmp_path):
    """The hour that autumn repeats is told by the printed name of the zone."""
    csv = [f"{number:x},{day},{clock} UTC,{','.join(rest)}" for number, day, clock, *rest in RECORDS]
    text = [
        f"{number:4x} | {stamp} | {' | '.join(rest)}"
        for (number, _, _, *rest), stamp in zip(RECORDS, IN_CHICAGO, strict=True)
    ]
    _, one = events_of(csv, tmp_path)
    _, other = events_of(text, tmp_path, zone="America/Chicago")
    assert sum(one.values()) == 3
    assert one == other


def test_fields_and_lines_are_equal_events(tmp_path):
    fields = [
        line
        for number, day, clock, sensor, what, direction in RECORDS
        for line in (
            f"SEL Record ID          : {number:04x}",
            f" Timestamp             : {day} {clock} UTC",
            f" Sensor Type           : {sensor.partition(' #')[0]}",
            f" Sensor Number         : {sensor[-2:]}",
            f" Event Direction       : {direction[:-2]}ion Event",
            " Event Data            : a00005",
            f" Description           : {what}",
            "",
        )
    ]
    lines = [f"{number:4x} | {day} | {clock} UTC | {' | '.join(rest)}" for number, day, clock, *rest in RECORDS]
    _, one = events_of(fields, tmp_path)
    _, other = events_of(lines, tmp_path)
    assert one == other
    assert sum(one.values()) == 3


@pytest.mark.parametrize(
    ("stamp", "zone", "ts"),
    [
        ("11/02/25 | 03:14:07 UTC", None, "2025-11-02T03:14:07Z"),
        ("11/02/2025 | 03:14:07", "Europe/Berlin", "2025-11-02T02:14:07Z"),
        ("07/02/25 | 03:14:07 CEST", "Europe/Berlin", "2025-07-02T01:14:07Z"),
        ("11/02/25 | 03:14:07 +0530", None, "2025-11-01T21:44:07Z"),
        ("11/02/25 | 03:14:07 -03", "UTC", "2025-11-02T06:14:07Z"),
        ("11/02/25 | 03:14:07 CST", "Asia/Shanghai", "2025-11-01T19:14:07Z"),
    ],
)
def test_zones(stamp, zone, ts, tmp_path):
    reading, _ = events_of([f"1 | {stamp} | Fan #0x71 | Failure | Asserted"], tmp_path, zone=zone)
    (found,) = reading.frame("events")["ts"].dt.epoch("us").to_list()
    assert found == parse_time(ts)


@pytest.mark.parametrize(
    ("stamp", "zone"), [("03:14:07", None), ("03:14:07 CET", None), ("03:14:07 CEST", "Europe/Berlin")]
)
def test_a_time_that_is_open_waits_for_its_zone(stamp, zone, tmp_path):
    reading, _ = events_of([f"1 | 12/02/25 | {stamp} | Fan #0x71 | Failure | Asserted"], tmp_path, zone=zone)
    assert (reading.rows, reading.rejects()["curable"].to_list()) == (0, ["clock"])


def test_a_clock_that_was_set_back_is_told(tmp_path):
    lines = [
        f"{n:x} | 11/02/25 | {clock} UTC | Fan #0x71 | Failure | Asserted"
        for n, clock in enumerate(["03:00:00", "02:00:00"], 9)
    ]
    reading, _ = events_of(lines, tmp_path)
    assert reading.rows == 2
    (note,) = reading.notes
    assert "record a says 2025-11-02T02:00:00Z after 2025-11-02T03:00:00Z" in note


def test_records_from_before_the_clock_count_from_one_stated_start(tmp_path):
    lines = [
        "1 |  Pre-Init  |0000000010| Fan #0x71 | Failure | Asserted",
        "2 |  Pre-Init  |0000000012| Fan #0x71 | Failure | Asserted",
        "3 | 11/02/25 | 03:00:00 UTC | Fan #0x71 | Failure | Asserted",
        "4 |  Pre-Init  |0000000013| Fan #0x71 | Failure | Asserted",
        "5 | Pre-Init Time-stamp   | Power Unit #0xff | Power off/down",
    ]
    reading, _ = events_of(lines, tmp_path, boot_at_us=parse_time("2025-11-01T00:00:00Z"))
    assert reading.frame("events")["line"].sort().to_list() == [1, 2, 3]
    assert reading.rejects()["line"].to_list() == [4, 5]


@pytest.mark.parametrize("count", [3, 4, 200])
def test_records_of_hosts_behind_one_another_are_told_apart(count, tmp_path):
    lines = [f"n{n}: 1 | 11/02/25 | 03:00:00 UTC | Fan #0x71 | Failure | Asserted" for n in range(count)]
    reading, _ = events_of(lines, tmp_path)
    assert reading.frame("events")["host"].n_unique() == count
    assert not reading.notes
