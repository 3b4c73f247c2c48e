"""One Xid told by a kernel log, the exporter's gauge and a BMC: who tells of it, and who does not."""

from datetime import UTC, datetime

import polars as pl
import pytest

import workbench as wb
from workbench.store.reconcile import RECONCILED, reconciled

T0_MS = 1_772_323_200_000  # 2026-03-01T00:00:00Z
MAPPING = """
[[file]]
match = "kern.log"
host = "node01"
"""


def gauge(codes):
    """Codes that the gauge of each GPU holds, a sample a minute."""
    lines = ["# TYPE DCGM_FI_DEV_XID_ERRORS gauge"]
    for gpu, told in enumerate(codes):
        who = f'gpu="{gpu}",UUID="GPU-node01-{gpu}",pci_bus_id="00000000:{gpu + 1:02X}:00.0",Hostname="node01"'
        lines += [
            f"DCGM_FI_DEV_XID_ERRORS{{{who}}} {code} {T0_MS + 60_000 * minute}" for minute, code in enumerate(told)
        ]
    return "\n".join(lines) + "\n"


def kernel(*told):
    """Lines of (second, gpu, code)."""
    rows = [
        f"kern  :err   : 2026-03-01T00:{second // 60:02d}:{second % 60:02d},000000+00:00 "
        f"NVRM: Xid (PCI:0000:{gpu + 1:02x}:00): {code}, pid=1, name=x"
        for second, gpu, code in told
    ]
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reconcile")
    dumps = folder / "dumps"
    dumps.mkdir()
    codes = [
        [0, 0, 0, 79, 79, 79, 79, 79],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 13, 13, 13, 31, 31],
        [0, 0, 45, 45, 45, 45, 45, 45],
    ]
    (dumps / "gpu.prom").write_text(gauge(codes))
    (dumps / "kern.log").write_text(kernel((150, 0, 79), (170, 1, 94), (330, 0, 79), (140, 2, 43), (145, 2, 13)))
    (dumps / "bmc.csv").write_text(
        "time,host,kind,severity,message\n2026-03-01T00:02:33Z,node01,sel,critical,GPU_SXM_1 fell: Xid 79\n"
    )
    (folder / "map.toml").write_text(MAPPING)
    store = wb.open(folder / "store")
    store.ingest(dumps, mapping=folder / "map.toml")
    return reconciled(store)


def one(answer, gpu, second):
    at = datetime(2026, 3, 1, 0, second // 60, second % 60, tzinfo=UTC)
    (row,) = answer.filter(
        pl.col("entity").str.ends_with(f"GPU-node01-{gpu}"), pl.col("ts_low") <= at, pl.col("ts_high") >= at
    ).to_dicts()
    return row


def test_three_sources_make_one_event(answer):
    row = one(answer, 0, 150)
    assert row["told_by"] == ["bmc", "exporter", "log"]
    assert row["silent"] == []
    assert row["code"] == "79"
    assert row["apart_s"] == pytest.approx(3.0), "the BMC wrote it three seconds later; the gauge's minute holds it"


def test_a_gauge_that_does_not_show_it_is_silent(answer):
    row = one(answer, 1, 170)
    assert (row["told_by"], row["silent"]) == (["log"], ["exporter"])


def test_a_sticky_gauge_cannot_show_the_same_code_again(answer):
    row = one(answer, 0, 330)
    assert (row["told_by"], row["silent"]) == (["log"], [])
    assert "cannot show it again" in row["note"]


def test_of_two_between_samples_the_gauge_holds_the_last(answer):
    assert one(answer, 2, 145)["told_by"] == ["exporter", "log"]
    first = one(answer, 2, 140)
    assert (first["told_by"], first["silent"]) == (["log"], [])
    assert "another Xid came before" in first["note"]


def test_what_only_the_gauge_knows_is_told_with_its_span(answer):
    (row,) = answer.filter(pl.col("entity").str.ends_with("GPU-node01-3")).to_dicts()
    assert (row["told_by"], row["silent"], row["code"]) == (["exporter"], ["log"], "45")
    assert (row["ts_high"] - row["ts_low"]).total_seconds() == 60
    assert answer.filter(code="31")["told_by"].to_list() == [["exporter"]]


def test_nothing_is_told_twice(answer):
    assert answer.height == 7
    assert answer.schema == RECONCILED
