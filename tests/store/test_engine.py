"""Files read over processes give the same store, and the same report."""

import tarfile

import polars as pl
from toyreader import TOY

import workbench as wb

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z


def test_processes_give_the_same_answer(tmp_path, dumps, write):
    for number in range(4):
        write(
            f"d{number}",
            *[f"S {T0 + n} n{number} gpu 0 x{n % 3} {n}.5" for n in range(50)],
            f"E {T0} n{number} - - log - x",
            "bad",
        )
    write("twin", *[f"S {T0 + n} n0 gpu 0 x{n % 3} {n}.5" for n in range(50)], f"E {T0} n0 - - log - x", "bad")
    write("y", "CRASH")
    write("z", "CRASH")
    (dumps / "empty").write_bytes(b"")
    (dumps / "beginning").write_bytes((dumps / "d1").read_bytes()[:300])
    with tarfile.open(dumps / "packed.tgz", "w:gz") as made:
        made.add(write("gone", f"S {T0} n9 gpu 0 x 1.5"), "n9/dump")
    (dumps / "gone").unlink()
    answers = []
    for number, engine in enumerate(("here", "processes:2")):
        store = wb.open(tmp_path / f"s{number}")
        report = store.ingest(dumps, readers=[TOY], engine=engine)
        frames = [
            store.sql(f"select * from {view} order by all")
            for view in ("samples", "events", "rejects", "entities", "series")
        ]
        files = store.sql("select * exclude (batch, ingested) from files order by path")
        again = store.ingest(dumps, readers=[TOY], engine=engine)
        answers.append((report.table(), report.details(), *frames, files, again.table()))
    for here, there in zip(*answers, strict=True):
        assert isinstance(here, pl.DataFrame)
        assert here.equals(there)
