"""Times above samples: with a zone, local, and none."""

import polars as pl
import pytest

from workbench.model.context import Context
from workbench.readers.rounds import Rounds, dated
from workbench.readers.timecells import Clocks, TimeRule, read_times


@pytest.mark.parametrize(
    "stamp",
    ["2025-11-02T03:14:00Z", "2025-11-02 03:14:00.5+0100", "2025-11-02T03:14:00,25-09:30", "2025-02-30T00:00:00Z",
     "2025-11-02T25:00:00Z", "1999-11-02T03:14:00Z", "2100-01-01T00:00:00Z", "2025-11-02T03:14:00+19:00", "1762053240"],
)  # fmt: skip
def test_the_short_way_says_what_the_column_says(stamp):
    rounds = Rounds(Context())
    rounds.say(stamp)
    moment = rounds.sample("x")
    ts, why, cure = read_times(pl.Series([stamp]), Clocks(rule=TimeRule())).select("ts", "reason", "curable").row(0)
    assert (moment.ts_us, moment.why, moment.cure) == (ts, why or "", cure)


def test_local_times_in_the_repeated_hour_are_told_apart_by_their_order():
    rounds = Rounds(Context(zone="Europe/Berlin"))
    moments = []
    for clock in ("02:30:00", "02:59:00", "02:01:00", "03:05:00"):
        rounds.say(f"2025-10-26 {clock}")
        moments.append(rounds.sample("x").ts_us)
    assert moments == sorted(moments)


@pytest.mark.parametrize("line", ["", "#", "rx_packets: 7", "2025-11-02", "# Lid 7 port 1", "12:00:00", "x" * 900])
def test_other_lines_are_no_times(line):
    assert dated(line) is None
