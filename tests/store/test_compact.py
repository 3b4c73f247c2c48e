"""Compaction changes files, never answers; check tells of damage; vacuum removes what nobody needs."""

from pathlib import Path

import polars as pl
import pytest

import workbench as wb
from workbench.errors import StoreError
from workbench.store import compact, ingest

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z
VIEWS = ("samples", "events", "jobs", "links", "files", "rejects", "absent", "metrics", "gpu")
A = "GPU-aaaaaaaa-0000-0000-0000-000000000001"


@pytest.fixture
def scattered(store, write, load):
    for number in range(6):
        at = T0 + 43_200 * number
        write(
            f"d{number}",
            *[f"S {at + 10 * n} n{h} gpu 0 m{number % 3}_total {2**53 + n + number}" for n in range(20) for h in range(2)],
            *[f'S {at + 10 * n} n1 host - c {n}.5 {{"cpu":"{n % 2}"}}' for n in range(6)],
            f"E {at} n1 - - xid 79 x", f"J {number} {at} {at + 60} n1 COMPLETED", "L n1 host - rack r1", "what", f"A n1 gpu 0 {A} {at} {at + 9}",
            f"S {at} n1 gpu 0 y nan",
        )  # fmt: skip
        load()
    return store


def answers(store):
    found = {view: store.sql(f"select * from {view} order by all") for view in VIEWS}
    found["catalog"], found["observed"] = store.catalog(), store.observed().sort("entity", "what", "start")
    return found


def test_compaction_changes_no_answer_and_leaves_one_file_a_day(scattered):
    before, version = answers(scattered), scattered.version
    report = scattered.compact()
    after = answers(scattered)
    for name, frame in before.items():
        assert frame.equals(after[name]), name
    assert (report["files_after"] == 1).all()
    days = {file.day for file in scattered._now.files("gpu")}
    assert len(scattered._now.files("gpu")) == len(days) == 3
    assert len(scattered._now.files("events")) == 1
    assert answers(scattered.at(version))["samples"].equals(before["samples"])
    assert scattered.compact().is_empty()


def test_a_crowded_store_is_compacted_by_the_ingest(store, write, load, monkeypatch):
    for module in (compact, ingest):
        monkeypatch.setattr(module, "MANY_FILES", 3)
    for number in range(6):
        write(f"d{number}", f"S {T0 + number} n1 gpu 0 x {number}.5")
        load()
    assert store.sql("select x from gpu order by ts")["x"].to_list() == [n + 0.5 for n in range(6)]
    assert len(store._now.files("gpu")) <= 3
    assert "compact" in store.versions()["what"].to_list()


def test_check_finds_what_is_missing_cut_or_left_over(scattered):
    assert scattered.check().sound
    assert scattered.check().table().is_empty()
    paths = scattered._now.paths("gpu")
    Path(paths[0]).write_bytes(Path(paths[0]).read_bytes()[:100])
    Path(paths[1]).unlink()
    (scattered.path / "staging" / "b1").mkdir(parents=True)
    found = wb.open(scattered.path).check()
    assert not found.sound
    assert found.table().height == 3
    assert "missing" in found.table()["problem"].to_list()
    assert "damaged" in found._repr_html_()


def test_vacuum_keeps_what_kept_versions_need(scattered):
    scattered.compact()
    assert scattered.vacuum().is_empty()
    listed = scattered.vacuum(keep=1, dry_run=True)
    assert listed.height > 6
    before = answers(scattered)
    assert scattered.vacuum(keep=1).equals(listed)
    fresh = wb.open(scattered.path)
    assert answers(fresh)["samples"].equals(before["samples"])
    assert fresh.check().sound
    with pytest.raises(StoreError):
        fresh.at(2).sql("select count(*) from gpu where m0_total > 0")


def test_compacted_rows_are_in_order(scattered):
    scattered.compact()
    for path in scattered._now.paths("gpu"):
        rows = pl.read_parquet(path).select("entity", "ts")
        assert rows.equals(rows.sort("entity", "ts"))
