"""A clock that is off is found from what hosts saw together; stored times stay, and a view takes it off."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import workbench as wb
from workbench.store.clocks import CLOCKS, clock_shifts

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z
DEMO = Path(__file__).parents[2] / "data_samples" / "first_incident"


def teardowns(ahead, moments=12, hosts=6):
    """Lines of a fleet whose hosts write the same Xid within 3 s of each other, 12 times."""
    rng = np.random.default_rng(11)
    return [
        f"E {T0 + m * 5000 + rng.uniform(0, 3) + ahead.get(h, 0.0):.6f} n{h} gpu {g} xid 45 Ch 8"
        for m in range(moments)
        for h in range(hosts)
        for g in (0, 1)
    ]


@pytest.fixture(scope="module")
def fast(make_store):
    return make_store(*teardowns({2: 90.0}))


def test_the_fast_clock_of_the_demo_is_found_and_no_other(tmp_path):
    store = wb.open(tmp_path / "case")
    store.ingest([DEMO / "dumps" / "kernel", DEMO / "dumps" / "syslog"], mapping=_logs(tmp_path))
    planted = json.loads((DEMO / "truth.json").read_text())["clocks"]
    (off,) = store.clocks().filter("off").to_dicts()
    assert off["host"] == f"cluster/{planted['fast_host']}"
    assert off["low_s"] < planted["fast_by_s"] < off["high_s"]
    assert store.clocks().filter(pl.col("clock") == "os").height == 40
    assert store.info().to_json()["clocks off"] == "1"


def _logs(folder):
    """The mapping of the demo for folders given one by one: paths begin below each."""
    text = (DEMO / "mapping.toml").read_text().replace("kernel/(?P", "(?P").replace("syslog/messages", "messages")
    file = folder / "map.toml"
    file.write_text(text)
    return file


def test_one_fast_clock_is_off_and_the_others_are_not(fast):
    told = fast.clocks()
    assert told.schema == CLOCKS
    assert told.filter("off")["host"].to_list() == ["cluster/n2"]
    assert told.height == 6
    (found,) = told.filter("off").to_dicts()
    assert found["low_s"] < 90.0 < found["high_s"]
    assert found["high_s"] - found["low_s"] < 15.0


def test_recorded_times_stay_and_the_aligned_view_has_them_together(fast):
    recorded = fast.sql("select ts from events where entity like '%/n2/%' order by ts")["ts"]
    aligned = fast.sql("from events_aligned where entity like '%/n2/%' order by ts_recorded")
    assert aligned["ts_recorded"].to_list() == recorded.to_list()
    assert set(aligned["clock_shift_s"].round(0)) == {90.0}
    spread = fast.sql(
        "select epoch(max(ts)) - epoch(min(ts)) as s from events_aligned group by (epoch(ts_recorded)::bigint - 1772323200) // 5000"
    )["s"]
    assert spread.max() <= 6
    assert fast.sql("select count(*) as n from events_aligned where ts not between ts_low and ts_high").item() == 0
    others = fast.sql("select count(*) as n from events_aligned where clock_shift_s = 0 and ts <> ts_recorded").item()
    assert others == 0


def test_a_store_without_shared_events_says_nothing(make_store):
    lonely = make_store(f"E {T0} n1 gpu 0 xid 79 x", f"E {T0 + 9000} n2 gpu 0 xid 79 x")
    assert lonely.clocks().is_empty()
    assert lonely.sql("select count(*) as n from events_aligned").item() == 2
    assert make_store(f"S {T0} n1 gpu 0 x 1").clocks().is_empty()


def test_the_answer_does_not_hang_on_the_order_of_files(make_store, fast):
    again = make_store(*reversed(teardowns({2: 90.0})))
    assert_frame_equal(again.clocks(), fast.clocks())


def test_scrapes_whose_stamps_are_ahead_of_the_kernel_are_told_by_the_xid_gauge(make_store):
    lines = []
    for k in range(6):
        at = T0 + 3600 * k + 17.0
        lines.append(f"E {at} n1 gpu GPU-aaaaaaaa-0000-0000-0000-000000000001 xid {[48, 79][k % 2]} x")
        scrapes = at - at % 30 + np.arange(-60, 90, 30)
        lines += [
            f"S {t + 600:.3f} n1 gpu GPU-aaaaaaaa-0000-0000-0000-000000000001 DCGM_FI_DEV_XID_ERRORS "
            f"{([48, 79][k % 2] if t > at else [79, 48][k % 2])}"
            for t in scrapes
        ]
    (found,) = make_store(*lines).clocks().to_dicts()
    assert (found["clock"], found["against"], found["off"]) == ("metrics", "os", True)
    assert found["low_s"] <= 600 <= found["high_s"]


def test_a_bmc_beside_a_fast_system_is_shifted_by_both():
    row = dict.fromkeys(CLOCKS.names()) | {"host": "c/n1", "shared": 9, "noise_s": 0.0, "off": True, "confidence": 0.99}
    told = pl.DataFrame(
        [
            row | {"clock": "os", "against": "other hosts", "offset_s": 90.0, "low_s": 88.0, "high_s": 92.0},
            row | {"clock": "bmc", "against": "os", "offset_s": -30.0, "low_s": -35.0, "high_s": -25.0},
        ],
        schema=CLOCKS,
    )
    assert clock_shifts(told).select("clock", "shift_us").rows() == [("bmc", 60_000_000), ("os", 90_000_000)]
