"""Whole or not at all: writers that die, writers that meet, and what the next one finds."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from toyreader import TOY

import workbench as wb
from workbench.errors import ResourceError, StoreError
from workbench.store import delta, manifest
from workbench.store.layout import lock_file, table_folder
from workbench.store.lock import held, try_hold

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z
TESTS = Path(__file__).resolve().parents[1]
LOADER = """
import sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
import workbench as wb
from toyreader import TOY
store = wb.open(sys.argv[2])
print("ready", flush=True)
for file in sorted(Path(sys.argv[3]).iterdir()):
    store.ingest(file, readers=[TOY])
    print(file.name, flush=True)
"""


def loader(store: Path, dumps: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", LOADER, str(TESTS), str(store), str(dumps)], stdout=subprocess.PIPE, text=True
    )


def dump(folder: Path, name: str, number: int) -> None:
    folder.mkdir(exist_ok=True)
    lines = [f"S {T0 + 60 * n} n{number} gpu 0 m{n % 3}_{number % 4} {n}" for n in range(30)]
    lines += [f"E {T0 + n} n{number} - - log - message {n}" for n in range(5)]
    (folder / name).write_text("toy\n" + "\n".join(lines) + "\n")


def check_whole(store) -> int:
    """Every file that the store tells of is there wholly, in every table; gives how many."""
    files = store.sql("select source, samples from files where status = 'loaded'")
    counted = dict(store.sql("select source, count(*) as n from samples group by source").iter_rows())
    events = dict(store.sql("select source, count(*) as n from events group by source").iter_rows())
    assert counted == dict.fromkeys(files["source"], 30)
    assert events == dict.fromkeys(files["source"], 5)
    assert store.sql("select coalesce(sum(count), 0)::bigint as n from series")["n"][0] == 30 * files.height
    return files.height


def test_kill_at_any_moment_leaves_whole_files_only(tmp_path):
    dumps, path = tmp_path / "dumps", tmp_path / "store"
    for number in range(30):
        dump(dumps, f"d{number:02d}", number)
    wb.open(path)
    rng, told, before = random.Random(11), set(), 0
    for _ in range(3):
        process = loader(path, dumps)
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.05, 0.8))
        os.kill(process.pid, signal.SIGKILL)
        told |= set(process.stdout.read().split())
        process.stdout.close()
        process.wait()
        seen = check_whole(wb.open(path))
        assert max(len(told), before) <= seen <= 30
        before = seen
    store = wb.open(path)
    store.ingest(dumps, readers=[TOY])
    assert check_whole(store) == 30
    assert not list((path / "staging").iterdir())
    for table in ("gpu", "events", "series"):
        folder = table_folder(path, table)
        listed = {str(folder / file.path) for file in delta.files(folder)}
        assert listed == set(store._now.paths(table))
        assert {str(file) for file in folder.rglob("*.parquet")} >= listed


def test_two_ingests_at_once_lose_and_double_nothing(tmp_path):
    path, both = tmp_path / "store", []
    for side in range(2):
        for number in range(8):
            # Half of the content is the same on both sides; metrics overlap too.
            dump(tmp_path / f"dumps{side}", f"d{number:02d}", number if number < 4 else number + 10 * side)
    wb.open(path)
    both = [loader(path, tmp_path / f"dumps{side}") for side in range(2)]
    for process in both:
        process.communicate(timeout=60)
        assert process.returncode == 0
    store = wb.open(path)
    assert check_whole(store) == 12
    assert store.sql('select count(*) = count(distinct ("table", metric)) as ok from metrics')["ok"][0]


def test_a_commit_that_died_half_way_is_taken_back_by_the_next(store, write, load):
    write("a", f"S {T0} n1 gpu 0 x 1.5", f"E {T0} n1 - - log - x")
    load()
    gpu = table_folder(store.path, "gpu")
    (gpu / "day=2026-03-01" / "orphan.parquet").write_bytes(next(gpu.rglob("b*.parquet")).read_bytes())
    listed = delta.files(gpu)[0]
    stray = delta.DataFile(path="day=2026-03-01/orphan.parquet", bytes=listed.bytes, rows=1, day=listed.day)
    delta.apply(gpu, pq.read_schema(gpu / stray.path), [stray])  # committed to the table, not in the manifest
    new = table_folder(store.path, "port")
    new.mkdir()
    pq.write_table(pa.table({"entity": ["x"]}), new / "x.parquet")
    delta.apply(new, pa.schema([("entity", pa.string())]), [delta.DataFile(path="x.parquet", bytes=1, rows=1)])
    fresh = wb.open(store.path)
    assert fresh.sql("select count(*) as n from gpu")["n"][0] == 1
    assert "port" not in fresh.sql("show tables")["name"].to_list()
    write("b", f"S {T0 + 9} n1 gpu 0 x 2.5")
    load()
    assert {file.path for file in delta.files(gpu)}.isdisjoint({stray.path})
    assert store.sql("select count(*) as n from gpu")["n"][0] == 2
    assert not new.exists()


def test_what_a_dead_ingest_staged_is_swept_and_what_a_live_one_stages_is_not(store, write, load):
    dead, live = (store.path / "staging" / name for name in ("b1", "b2"))
    for folder in (dead, live):
        folder.mkdir(parents=True)
        (folder / "rows.arrow").write_bytes(b"x")
    moved = table_folder(store.path, "events") / "b1-000001-events.parquet"
    moved.parent.mkdir(parents=True)
    write("a", f"E {T0} n1 - - log - x")
    with try_hold(live / "alive") as mine:
        assert mine
        load()
        moved.write_bytes(b"half a file")
        dead.mkdir(parents=True, exist_ok=True)
        write("b", f"E {T0} n2 - - log - x")
        load()
    assert live.exists()
    assert not dead.exists()
    assert not moved.exists()


def test_a_lock_that_is_held_is_waited_for_and_then_told_of(tmp_path):
    with (
        held(lock_file(tmp_path)),
        pytest.raises(StoreError, match="Another process"),
        held(lock_file(tmp_path), wait_s=0.1),
    ):
        pass
    with held(lock_file(tmp_path), wait_s=0.1):
        pass


def test_a_type_that_does_not_fit_is_refused_before_the_commit(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    for name, kind in (("a", pa.int64()), ("b", pa.float64())):
        pq.write_table(pa.table({"x": pa.array([1], kind)}), folder / f"{name}.parquet")
    delta.apply(folder, pa.schema([("x", pa.int64())]), [delta.DataFile(path="a.parquet", bytes=1, rows=1)])
    with pytest.raises(StoreError, match="does not fit"):
        delta.apply(folder, pa.schema([("x", pa.float64())]), [delta.DataFile(path="b.parquet", bytes=1, rows=1)])
    assert len(delta.files(folder)) == 1


def test_versions_stand_in_the_rows_of_the_manifest(store, write, load):
    write("a", f"S {T0} n1 gpu 0 x 1.5")
    load()
    rows = manifest.history(store.path)
    assert rows["seq"].to_list() == [1]
    assert json.loads(rows["versions"][0])["gpu"] == delta.latest_version(table_folder(store.path, "gpu"))
    assert store.versions()["what"].to_list() == ["ingest"]


def test_a_damaged_manifest_is_a_store_error(store, write, load):
    write("a", f"S {T0} n1 gpu 0 x 1.5")
    load()
    for file in table_folder(store.path, "batches").glob("*.parquet"):
        file.write_bytes(b"garbage")
    with pytest.raises(StoreError, match="manifest"):
        wb.open(store.path)


def test_a_disk_that_fills_up_during_the_commit_leaves_the_version_before(store, write, load, monkeypatch):
    write("a", f"S {T0} n1 gpu 0 x 1.5")
    load()
    apply, count = delta.apply, []

    def failing(*arguments, **named):
        count.append(1)
        if len(count) == 4:
            raise OSError("Generic LocalFileSystem error")
        return apply(*arguments, **named)

    monkeypatch.setattr(delta, "apply", failing)
    monkeypatch.setattr(manifest, "_NO_SPACE", 2**62)
    write("b", f"S {T0 + 9} n1 gpu 0 x 2.5", f"E {T0} n1 - - log - x")
    with pytest.raises(ResourceError, match="is full"):
        load()
    assert wb.open(store.path).sql("select count(*) as n from samples")["n"][0] == 1
    assert wb.open(store.path).sql("select count(*) as n from events")["n"][0] == 0
    load()
    assert store.sql("select count(*) as n from samples")["n"][0] == 2
    assert store.check().table().is_empty()
