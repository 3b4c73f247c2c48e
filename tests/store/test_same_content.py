"""Content counts, not files: packed or plain, grown or cut, the same samples are in the store once."""

import gzip
import shutil
from dataclasses import replace

import polars as pl
import pytest
import zstandard
from toyreader import TOY, read

import workbench as wb
from workbench.errors import InterruptedWorkError
from workbench.readers.base import Reader

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z


def lines(first, last):
    return [
        line
        for n in range(first, last)
        for line in (
            f"S {T0 + n} n1 gpu {n % 3} x {n}.5",
            f'S {T0 + n} n1 host - cpu_total {n} {{"cpu":"0"}}',
            f'S {T0 + n} n1 gpu {n % 3} y {n} {{"pod":"a"}}',
            f"E {T0 + n} n1 - - xid 79 fell off {n}",
        )
    ]


def sums(store):
    """All that the store tells in sums, and the samples themselves."""
    return {
        "samples": store.sql("select * exclude (source) from samples order by all").rows(),
        "events": store.sql("select * exclude (source) from events_told order by all").rows(),
        "catalog": store.catalog().select("metric", "series", "first", "last", "rows", "labels").rows(),
        "series": store.sql("select entity, metric, labels, first, last, count from series order by all").rows(),
        "observed": store.observed().select("entity", "what", "start", "end", "count").sort(pl.all()).rows(),
        "totals": store.sql('select sum(records), sum("rows"), sum(rejected), sum(samples) from files').row(0),
    }


def fresh(tmp_path, path):
    store = wb.open(tmp_path / "fresh")
    store.ingest(path, readers=[TOY])
    return sums(store)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("packed_first", [True, False])
def test_packed_and_plain_are_one_file(store, dumps, write, load, pack, packed_first):
    plain = write("b.txt", *lines(0, 20))
    packed = dumps / ("a.gz" if packed_first else "c.gz")
    packed.write_bytes(pack(plain.read_bytes()))
    assert [f.status for f in load().files] == ["loaded", "known"]
    assert [f.status for f in load().files] == ["known", "known"]
    assert store.sql("select count(*) from samples").row(0) == (60,)


@pytest.mark.parametrize("pack", [None, gzip.compress])
@pytest.mark.parametrize("count", [1, 4, 200])  # openings of 16, 256 and 4096 bytes
def test_a_dump_that_has_grown_takes_the_place_of_the_shorter_one(tmp_path, store, write, load, count, pack):
    path = write("day.txt", *lines(0, count))
    load()
    write("day.txt", *lines(0, 3 * count))
    expected = fresh(tmp_path, path)
    if pack is not None:
        path = path.rename(path.with_suffix(".gz"))
        path.write_bytes(pack(path.read_bytes()))
    report = load()
    assert report.files[0].status == "loaded"
    assert "takes the place of" in report.files[0].notes[0]
    assert sums(store) == expected
    assert sorted(store.sql("select status from files")["status"]) == ["loaded", "superseded"]
    store.compact()
    assert sums(store) == expected
    again = tmp_path / "old.txt"
    again.write_text("toy\n" + "".join(f"{line}\n" for line in lines(0, count)))
    assert load(again).files[0].status == "known"
    assert store.at(1).sql("select count(*) from samples").row(0) == (3 * count,)


def test_beginnings_in_the_same_folder_are_read_once_in_any_order(tmp_path, store, write, load):
    write("a-long.txt", *lines(0, 90))
    write("b-short.txt", *lines(0, 30))
    longest = write("c-longest.txt", *lines(0, 120))
    write("d-other.txt", *lines(500, 510))
    report = load()
    assert [f.status for f in report.files] == ["superseded", "superseded", "loaded", "loaded"]
    assert all("c-longest.txt begins with all of it" in f.reason for f in report.files[:2])
    assert report.exit_code == 0
    longest.rename(tmp_path / "moved.txt")
    assert [f.status for f in load().files] == ["known", "known", "known"]
    assert store.sql("select count(*) from samples").row(0) == (390,)


def test_an_older_copy_that_comes_later_adds_nothing_while_the_longer_file_is_there(store, write, load, tmp_path):
    write("new.txt", *lines(0, 90))
    load()
    before = sums(store)
    write("old.txt", *lines(0, 60))
    assert {f.status for f in load().files} == {"known", "superseded"}
    assert sums(store) == before


def test_a_cut_file_gives_way_to_the_whole_one(tmp_path, store, dumps, write, load):
    path = write("whole.txt", *lines(0, 900))
    packed = gzip.compress(path.read_bytes())
    path.unlink()
    (dumps / "cut.gz").write_bytes(packed[: len(packed) // 2])
    first = load()
    assert first.files[0].status == "damaged"
    assert 0 < first.total("samples") < 2700
    assert any("no checksum vouches" in note for note in first.files[0].notes)
    (dumps / "whole.gz").write_bytes(packed)
    assert {f.status for f in load().files} == {"known", "loaded"}
    assert sums(store) == fresh(tmp_path, dumps / "whole.gz")


def test_what_is_stated_for_one_only_keeps_both(store, write, load):
    write("a.txt", *lines(0, 30), f"Z S {T0} n1 gpu 0 x 2.5")
    load(clock={"*": "UTC"})
    write("b.txt", *lines(0, 30), f"Z S {T0} n1 gpu 0 x 2.5", *lines(30, 40))
    assert [f.status for f in load().files] == ["known", "loaded with rejects"]
    assert sorted(store.sql("select status from files")["status"]) == ["loaded", "loaded with rejects"]


def test_a_file_that_others_share_rows_with_is_stripped_alone(tmp_path, store, write, load):
    write("other.txt", *lines(1000, 1050), f"Z S {T0} n1 gpu 0 x 2.5")
    write("day.txt", *lines(0, 50))
    load()
    (tmp_path / "both").mkdir()
    path = write("day.txt", *lines(0, 70))
    load()
    for name in ("other.txt", "day.txt"):
        shutil.copy(path.parent / name, tmp_path / "both" / name)
    assert sums(store) == fresh(tmp_path, tmp_path / "both")


def test_nothing_is_lost_where_the_ingest_stops_between(store, write, load):
    write("day.txt", *lines(0, 50))
    load()
    before = sums(store)
    write("day.txt", *lines(0, 90))

    def stop(source, context):
        yield from read(source, context)
        raise KeyboardInterrupt

    with pytest.raises(InterruptedWorkError):
        store.ingest(write("day.txt", *lines(0, 90)), readers=[Reader(name="toy", recognise=TOY.recognise, read=stop)])
    store.refresh()
    assert sums(store) == before


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor(write_checksum=True).compress])
def test_what_fails_its_checksum_is_not_taken_unless_asked(store, dumps, pack):
    good = ("toy\n" + "".join(f"{line}\n" for line in lines(0, 10))).encode()
    bad = bytearray(pack("".join(f"{line}\n" for line in lines(10, 900)).encode()))
    bad[-2 if pack is gzip.compress else -1] ^= 0x40
    (dumps / "a.gz").write_bytes(pack(good) + bytes(bad))
    report = store.ingest(dumps, readers=[TOY])
    file = report.files[0]
    assert (file.status, file.samples, file.rejected, report.exit_code) == ("damaged", 30, 1, 4)
    assert file.cures == {"salvage": 1}
    assert report.summary.endswith("--salvage; 1 file")
    assert store.ingest(dumps, readers=[TOY]).files[0].status == "known"
    if pack is gzip.compress:
        again = store.ingest(dumps, readers=[TOY], salvage=True).files[0]
        assert (again.status, again.samples) == ("damaged", 2700)
        assert any("may be invented" in note for note in again.notes)
        assert store.sql("select count(*) from samples").row(0) == (2700,)
        assert store.ingest(dumps, readers=[TOY], salvage=True).files[0].status == "known"
    else:
        (dumps / "whole.gz").write_bytes(pack(good))
        assert store.ingest(dumps, readers=[TOY]).files[0].status == "known"


def test_nothing_is_taken_of_a_single_member_that_fails_and_two_such_files_are_two(store, dumps):
    for number in range(2):
        bad = bytearray(gzip.compress(("toy\n" + f"S {T0} n{number} gpu 0 x 1\n" * 50).encode()))
        bad[-6] ^= 1
        (dumps / f"{number}.gz").write_bytes(bytes(bad))
    report = store.ingest(dumps, readers=[TOY])
    assert [(f.status, f.records, f.rows, f.rejected) for f in report.files] == [("damaged", 1, 0, 1)] * 2
    assert store.sql("select count(*) from samples").row(0) == (0,)
    assert store.sql("select count(*) from rejects").row(0) == (2,)


def test_dumps_of_idle_hosts_are_alike_and_both_count(store, dumps, write, load, tmp_path):
    for host in ("n1", "n2"):
        write(f"{host}/dump.txt", f"S {T0} - gpu 0 x 0.5")
    mapping = tmp_path / "map.toml"
    mapping.write_text("[[file]]\nmatch = '^(?P<host>[^/]+)/'\n")

    def with_host(source, context):
        for batch in read(source, context):
            fill = batch.series.with_columns(pl.col("host").fill_null(context.host))
            object.__setattr__(batch, "series", fill)
            yield batch

    reader = Reader(name="toy", recognise=TOY.recognise, read=with_host)
    for _ in range(2):
        report = store.ingest(dumps, readers=[reader], mapping=mapping)
        assert store.sql("select entity from gpu order by entity")["entity"].to_list() == [
            "cluster/n1/gpu:0", "cluster/n2/gpu:0",
        ]  # fmt: skip
    assert [f.status for f in report.files] == ["known", "known"]


def test_files_of_one_content_are_two_where_their_paths_say_what_they_measure(tmp_path):
    """Counters that stay zero give the same file for every interface."""
    for name in ("eth0", "eth1"):
        folder = tmp_path / "csv" / "n1" / "interface"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"if_errors-{name}-2026-03-01").write_text("epoch,rx,tx\n1772359200.5,0,0\n1772359210.5,0,0\n")
    store = wb.open(tmp_path / "store")
    store.ingest([tmp_path / "csv"])
    labels = store.sql("SELECT DISTINCT labels FROM series ORDER BY labels")["labels"].to_list()
    assert labels == ['{"interface":"eth0"}', '{"interface":"eth1"}']
    assert store.sql("SELECT count(*) AS n FROM samples")["n"][0] == 8
    again = store.ingest([tmp_path / "csv"])
    assert {file.samples for file in again.files} == {0}
    assert store.sql("SELECT count(*) AS n FROM samples")["n"][0] == 8


NAMELESS = [f"E {T0 + n} - gpu {n} xid 79 fell off" for n in range(4)]


def of_host(source, context):
    """Read as the toy does; who has no host is of the one that is stated."""
    for batch in read(source, context):
        fill = pl.col("host").fill_null(pl.lit(context.host, pl.String))
        yield replace(batch, events=batch.events.with_columns(fill), series=batch.series.with_columns(fill))


HOSTED = Reader(name="toy", recognise=TOY.recognise, read=of_host)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("short_first", [True, False])
def test_dumps_of_no_stated_host_do_not_take_each_others_place(tmp_path, store, dumps, write, together, short_first):
    files = [write("n1.log", *NAMELESS[:2]), write("n2.log", *NAMELESS)]
    for paths in [files] if together else [[path] for path in (files if short_first else files[::-1])]:
        assert all(f.status == "loaded" for f in store.ingest(paths, readers=[HOSTED]).files)
    assert store.sql("select count(*) from events_told").item() == 6
    mapping = tmp_path / "map.toml"
    mapping.write_text("[[file]]\nmatch = '^(?P<host>[^/.]+)\\.log$'\n")
    assert [f.status for f in store.ingest(dumps, readers=[HOSTED], mapping=mapping).files] == ["loaded", "loaded"]
    told = store.sql("select split_part(entity, '/', 2), count(*)::int from events group by all order by all")
    assert told.rows() == [("n1", 2), ("n2", 4)]


def test_a_dump_of_no_stated_host_takes_its_own_place_when_it_has_grown(store, write):
    path = write("n1.log", *NAMELESS[:2])
    store.ingest(path, readers=[HOSTED])
    write("n1.log", *NAMELESS)
    assert "takes the place of" in store.ingest(path, readers=[HOSTED]).files[0].notes[0]
    assert store.sql("select count(*) from events").item() == 4


def test_what_gave_way_is_read_once_its_host_is_stated(tmp_path, store, dumps, write, load):
    write("n1.log", *lines(0, 4))
    write("n2.log", *lines(0, 9))
    assert [f.status for f in load().files] == ["superseded", "loaded"]
    assert store.sql("select count(*) from events").item() == 9
    assert [f.status for f in store.ingest(dumps, readers=[TOY], clock={"*": "UTC"}).files] == ["superseded", "known"]
    assert [f.status for f in store.ingest(dumps / "n1.log", readers=[TOY], year=2026).files] == ["superseded"]
    mapping = tmp_path / "map.toml"
    mapping.write_text("[[file]]\nglob = 'n1.log'\nhost = 'n1'\n")
    assert [f.status for f in store.ingest(dumps, readers=[TOY], mapping=mapping).files] == ["loaded", "known"]
    assert store.sql("select count(*) from files where status = 'loaded'").item() == 2
