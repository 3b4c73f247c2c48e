"""What ingest promises: whole files or nothing, nothing twice, nothing lost in silence, exact numbers."""

import gzip
import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from toyreader import TOY, read

import workbench as wb
from workbench.errors import InterruptedWorkError, NothingToDoError, ResourceError, StoreError, UsageError
from workbench.readers.base import Match, Reader
from workbench.store import ingest, parquet

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z


def one(store, query, parameters=None):
    return store.sql(query, parameters).row(0)[0]


def test_counts_add_up_and_every_file_is_accounted_for(store, dumps, write, load):
    write("a.txt", f"S {T0} n1 gpu 0 x_total 5", "what is this", "# note", f"E {T0} n1 - - xid 79 fell off")
    write("sub/b.txt", f"S {T0} n1 gpu 0 y 1.5")
    (dumps / "empty").write_bytes(b"")
    (dumps / "other.bin").write_bytes(b"\x00\x01\x02")
    report = load()
    assert [(Path(f.path).name, f.status) for f in report.files] == [
        ("a.txt", "loaded with rejects"), ("empty", "empty"), ("other.bin", "not recognised"), ("b.txt", "loaded"),
    ]  # fmt: skip
    files = store.sql("select * from files")
    assert files.height == 4
    assert (files["records"] == files["rows"] + files["skipped"] + files["rejected"]).all()
    assert report.total("records") == 7
    assert report.total("samples") == 2
    assert report.total("events") == 1
    assert one(store, "select count(*) from samples") == 2
    assert one(store, "select reason from rejects") == "KeyError"
    assert report.table().height == 4
    assert json.dumps(report.to_json())
    assert report.exit_code == 0


def test_the_same_content_again_is_a_no_op_under_any_name(store, dumps, tmp_path, write, load):
    write("a.txt", f"S {T0} n1 gpu 0 x 5.5", f"E {T0} n1 - - xid 79 x")
    load()
    before = store.version
    copy = tmp_path / "elsewhere" / "b.txt"
    copy.parent.mkdir()
    copy.write_bytes((dumps / "a.txt").read_bytes())
    again = load([dumps, copy])
    assert [f.status for f in again.files] == ["known", "known"]
    assert store.version == before
    assert one(store, "select count(*) from samples") == 1
    assert one(store, "select count(*) from events") == 1


def test_two_names_of_one_content_in_one_ingest_are_loaded_once(store, dumps, write, load):
    for name in ("a", "b"):
        write(name, f"S {T0} n1 gpu 0 x 5.5")
    assert [f.status for f in load().files] == ["loaded", "known"]
    assert one(store, "select count(*) from samples") == 1


def test_what_no_reader_knew_makes_no_new_version_every_time(store, dumps, load):
    (dumps / "other.bin").write_bytes(b"\x00")
    assert load().exit_code == 2
    version = store.version
    load()
    assert store.version == version
    assert one(store, "select count(*) from files") == 1


def test_curable_rejects_are_cured_and_replace_their_rows(store, dumps, write, load):
    write("a.txt", f"S {T0} n1 gpu 0 x 1.5", f"Z S {T0 + 60} n1 gpu 0 x 2.5", f"E {T0} n1 - - xid 79 x")
    write("b.txt", f"S {T0} n2 gpu 0 x 9.5")
    first = load()
    assert first.files[0].curable == 1
    assert "--clock" in first.summary
    assert one(store, "select count(*) from samples") == 2
    assert [f.status for f in load().files] == ["known", "known"]  # nothing is stated: nothing changes
    again = load(clock={"a.txt": "UTC"})
    assert [f.status for f in again.files] == ["loaded", "known"]
    assert store.sql("select value from samples order by value")["value"].to_list() == [1.5, 2.5, 9.5]
    assert one(store, "select count(*) from events") == 1
    assert one(store, "select count(*) from rejects") == 0
    assert store.catalog("x")["rows"].to_list() == [3]
    assert one(store, "select count(*) from files") == 2


def test_a_zone_stated_otherwise_replaces_and_stating_less_does_not(store, dumps, write, load):
    write("a.txt", f"Z S {T0} n1 gpu 0 x 1.5")
    load(clock={"*": "UTC"})
    assert load().files[0].status == "known"
    assert load(clock={"*": "Europe/Berlin"}).files[0].status == "loaded"
    assert one(store, "select count(*) from samples") == 1


def test_a_reader_that_fails_loses_its_file_only(store, dumps, write, load):
    write("a.txt", f"S {T0} n1 gpu 0 x 1", "CRASH")
    write("b.txt", f"S {T0} n1 gpu 0 x 2")
    report = load()
    assert [f.status for f in report.files] == ["unreadable", "loaded"]
    assert report.exit_code == 4
    assert "RuntimeError" in report.files[0].reason
    assert store.sql("select value from samples")["value"].to_list() == [2.0]


def test_a_cut_stream_is_loaded_as_far_as_it_goes(store, dumps, load):
    text = "toy\n" + "".join(f"S {T0 + n} n1 gpu 0 x {n}\n" for n in range(5000))
    (dumps / "a.gz").write_bytes(gzip.compress(text.encode())[:-2000])
    report = load()
    assert report.files[0].status == "damaged"
    assert report.files[0].rejected == 1
    assert one(store, "select count(*) from samples") == report.files[0].samples > 0


def test_missing_and_empty_paths_say_so(store, tmp_path, load):
    with pytest.raises(NothingToDoError, match="There is no"):
        load(tmp_path / "nowhere")
    (tmp_path / "void").mkdir()
    with pytest.raises(NothingToDoError, match="no files"):
        load(tmp_path / "void")


def test_links_out_of_the_folder_and_pipes_are_not_read(store, dumps, tmp_path, write, load):
    outside = tmp_path / "secret.txt"
    outside.write_text(f"toy\nS {T0} n1 gpu 0 x 1\n")
    (dumps / "link").symlink_to(outside)
    os.mkfifo(dumps / "pipe")
    write("ok.txt", f"S {T0} n1 gpu 0 x 2")
    statuses = {Path(f.path).name: f.status for f in load().files}
    assert statuses == {"link": "unreadable", "pipe": "unreadable", "ok.txt": "loaded"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_rights_is_unreadable(store, dumps, write, load):
    write("a.txt").chmod(0)
    assert load().files[0].status == "unreadable"


def test_a_file_that_was_unreadable_is_no_longer_told_of_once_it_is_read(store, dumps, write, load):
    write("a.txt", "CRASH")
    load()
    write("a.txt", f"S {T0} n1 gpu 0 x 2")
    load()
    assert store.sql("select status from files")["status"].to_list() == ["loaded"]


@pytest.mark.parametrize("value", [9_007_199_254_740_993, 2**63 - 1, -(2**63), 0])
def test_64_bit_counters_are_exact(store, dumps, value, write, load):
    write("a.txt", f"S {T0} n1 gpu 0 DCGM_FI_DEV_ECC_SBE_VOL_TOTAL {value}")
    load()
    assert one(store, "select ecc_sbe_total from gpu") == value
    assert one(store, "select value_int from samples where metric = 'gpu.ecc_sbe_total'") == value


def test_what_does_not_fit_the_type_of_a_column_is_kept_exactly_beside_it(store, dumps, write, load):
    write("a.txt", f"S {T0} n1 gpu 0 c_total 7", f"S {T0} n1 gpu 0 level 0.5")
    load()
    write("b.txt", f"S {T0 + 1} n1 gpu 0 c_total 7.25", f"S {T0 + 1} n1 gpu 0 level 9007199254740993")
    report = load()
    assert any(
        "samples_long" in note for note in store.sql("select notes from files")["notes"].explode().to_list() if note
    )
    assert report.total("samples") == 2
    rows = store.sql("select metric, value, value_int from samples order by ts, metric").rows()
    assert rows == [
        ("c_total", 7.0, 7),
        ("level", 0.5, None),
        ("c_total", 7.25, None),
        ("level", 9007199254740992.0, 9007199254740993),
    ]
    assert dict(store.catalog().select("metric", "rows").iter_rows()) == {"c_total": 2, "level": 2}


def test_nan_is_absent_and_never_stored(store, dumps, write, load):
    write("a.txt", f"S {T0} n1 gpu 0 x nan", f"S {T0} n1 gpu 0 y inf", f"S {T0} n1 gpu 0 z 1")
    load()
    assert store.sql("select metric, value from samples order by metric").rows() == [("y", float("inf")), ("z", 1.0)]
    assert store.sql("select metric, reason, count from absent").rows() == [("x", "NaN", 1)]


def test_sentinels_of_the_catalogue_are_absent(store, dumps, write, load):
    write("a.txt", f"S {T0} n1 gpu 0 DCGM_FI_DEV_MEMORY_TEMP 0", f"S {T0} n1 gpu 0 DCGM_FI_DEV_GPU_TEMP 0")
    load()
    assert store.sql("select metric from samples")["metric"].to_list() == ["gpu.temperature_c"]
    assert one(store, "select reason from absent").startswith("no sensor")


def test_units_are_converted_once_and_whole_factors_stay_exact(store, dumps, write, load):
    words = 2**61 + 1
    write("a.txt", f"S {T0} n1 port mlx5_0/1 port_xmit_data {words}", f"S {T0} n1 port mlx5_0/1 port_rcv_data 3")
    load()
    assert one(store, "select rcv_bytes_total from port") == 12
    assert store.sql("select value, value_int from samples where metric = 'port.xmit_bytes_total'").rows() == [
        (float(words * 4), None)
    ]


def test_two_values_of_one_cell_both_stay_with_their_source(store, dumps, write, load):
    write("a.txt", f"S {T0} n1 gpu 0 x 1.5", f"S {T0} n1 gpu 0 x 1.5", f"S {T0} n1 gpu 0 x 2.5")
    write("b.txt", f"S {T0} n1 gpu 0 x 3.5")
    report = load()
    rows = store.sql("select value, source from samples order by value")
    assert rows["value"].to_list() == [1.5, 2.5, 3.5]
    assert rows["source"].n_unique() == 2
    assert [f.repeated for f in report.files] == [1, 0]


HOSTILE = [
    "ts",
    "Entity",
    "source",
    'a"b',
    "x'); drop table gpu; --",
    "<script>alert(1)</script>",
    "Ärger%",
    "n" * 3000,
    "A_b",
    "a_B",
    "a.b:c",
]


def test_hostile_metric_names_survive(store, dumps, write, load):
    lines = [f"S {T0} n1 gpu 0 {name.replace(' ', '_')} {number}.5" for number, name in enumerate(HOSTILE)]
    write("a.txt", *lines)
    load()
    found = dict(store.sql("select metric, value from samples").iter_rows())
    assert found == {name.replace(" ", "_"): number + 0.5 for number, name in enumerate(HOSTILE)}
    for metric, column in store.catalog().select("metric", "column").iter_rows():
        quoted = '"' + column.replace('"', '""') + '"'
        assert one(store, f"select {quoted} from gpu") == found[metric]
    assert "<script>" not in store._repr_html_()


def test_hostile_messages_survive(store, dumps, write, load):
    message = "'; drop table events; -- <b> \u202e \x1b[31m " + "x" * 100_000
    write("a.txt", f"E {T0} n1 - - log - {message}")
    load()
    assert one(store, "select message from events") == message


def test_labels_and_strange_kinds_lie_long(store, dumps, write, load):
    write(
        "a.txt", f'S {T0} n1 host - cpu_total 5 {{"cpu":"0"}}', f"S {T0} n1 events e7 x 1", f"S {T0} n1 Odd;kind d x 2"
    )
    load()
    rows = store.sql("select entity, metric, labels, value_int from samples_long order by entity").rows()
    assert rows == [
        ("cluster/n1", "cpu_total", '{"cpu":"0"}', 5), ("cluster/n1/Odd;kind:d", "x", "{}", 2), ("cluster/n1/events:e7", "x", "{}", 1),
    ]  # fmt: skip
    assert one(store, "select count(*) from samples") == 3


def test_progress_ends_at_the_total(store, dumps, write):
    write("a.txt", f"S {T0} n1 gpu 0 x 1")
    seen = []
    store.ingest(dumps, readers=[TOY], progress=lambda done, total, path: seen.append((done, total)))
    assert seen[0][0] == 0
    assert seen[-1][0] == seen[-1][1] == (dumps / "a.txt").stat().st_size


def test_an_interrupt_keeps_whole_files_and_the_same_call_goes_on(store, dumps, write, load):
    for name in "abc":
        write(name, f"S {T0} n1 gpu 0 x_{name} 1")

    def stop(source, context):
        if b"x_b" in source.head():
            raise KeyboardInterrupt
        yield from read(source, context)

    breaking = Reader(name="toy", recognise=TOY.recognise, read=stop)
    with pytest.raises(InterruptedWorkError, match="1 of 3 files"):
        store.ingest(dumps, readers=[breaking])
    store.refresh()
    assert store.sql("select metric from samples")["metric"].to_list() == ["x_a"]
    assert sorted(f.status for f in load().files) == ["known", "loaded", "loaded"]
    assert not list((store.path / "staging").iterdir())


def test_a_full_disk_leaves_nothing_visible(store, dumps, monkeypatch, write, load):
    write("a.txt", f"S {T0} n1 gpu 0 x 1", f"E {T0} n1 - - xid 79 x")

    def full(self, table):
        raise parquet._full(self.path, OSError(28, "No space left on device"))

    monkeypatch.setattr(parquet.FileWriter, "write", full)
    with pytest.raises(ResourceError, match="No space left"):
        load()
    monkeypatch.undo()
    store.refresh()
    assert store.version == "0"
    assert one(store, "select count(*) from files") == 0
    assert not list((store.path / "staging").iterdir())
    assert load().files[0].status == "loaded"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_store_is_read_but_not_written(store, dumps, write, load):
    write("a.txt", f"S {T0} n1 gpu 0 x 1")
    load()
    store.path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert wb.open(store.path).catalog().height == 1
        with pytest.raises(StoreError, match="Cannot write"):
            wb.open(store.path).ingest(write("b.txt"), readers=[TOY])
    finally:
        store.path.chmod(0o755)


def test_a_dry_run_writes_nothing(store, dumps, write):
    write("a.txt", *[f"S {T0 + n} n1 gpu 0 x {n}" for n in range(100)])
    (dumps / "b").write_bytes(b"\x00")
    report = store.ingest(dumps, readers=[TOY], dry_run=True)
    assert [(f.status, f.reader) for f in report.files] == [("recognised", "toy"), ("not recognised", "")]
    assert report.files[0].estimated_rows == 101
    assert report.dry_run
    assert store.version == "0"
    assert not (store.path / "tables").exists()


def test_memory_is_bounded_by_spilling_and_the_answer_is_the_same(dumps, tmp_path, write, monkeypatch):
    lines = [
        f"S {T0 + 30 * t} n{h} gpu {g} m{m}_total {t * m}"
        for t in range(200)
        for h in range(3)
        for g in range(2)
        for m in range(8)
    ]
    write("a.txt", *lines)
    write("b.txt", *[f'S {T0 + 30 * t} n1 host - c {t}.5 {{"cpu":"{c}"}}' for t in range(50) for c in range(4)])
    frames = []
    for number in range(2):
        store = wb.open(tmp_path / f"s{number}")
        store.ingest(dumps, readers=[TOY])
        frames.append(store.sql("select * from samples order by all"))
        monkeypatch.setattr(ingest, "parse_bytes", lambda text: 20_000)
    assert frames[0].height == len(lines) + 200
    assert frames[0].equals(frames[1])


@pytest.mark.parametrize("clock", [{"*": "Mars/Base"}])
def test_a_wrong_zone_is_refused_before_anything_is_read(store, dumps, clock, write, load):
    write("a.txt")
    with pytest.raises(UsageError, match="not a time zone"):
        load(clock=clock)


def test_a_plug_in_that_breaks_its_contract_is_named(store, dumps, write):
    def wrong(source, context):
        for batch in read(source, context):
            object.__setattr__(batch, "series", pl.DataFrame({"series": [1]}))
            yield batch

    write("a.txt", f"S {T0} n1 gpu 0 x 1")
    reader = Reader(name="wrong", recognise=lambda head, context: Match(confidence=1.0, rule="any"), read=wrong)
    report = store.ingest(dumps, readers=[reader])
    assert report.files[0].status == "unreadable"
    assert "another shape" in report.files[0].reason


def test_names_without_a_host_are_told_of_and_placed_once_it_is_stated(store, dumps, write, load, tmp_path):
    write("n7.log", f"E {T0} - gpu 0000:18:00 xid 79 x", f"S {T0} - gpu 0 x 1.5")
    write("other", f"S {T0} n1 gpu 0 x 2.5")
    first = load()
    assert [f.hostless for f in first.files] == [2, 0]
    assert "--map" in first.summary
    mapping = tmp_path / "map.toml"
    mapping.write_text("[[file]]\nmatch = '^(?P<host>[^/.]+)\\.log$'\n")

    def with_host(source, context):
        for batch in read(source, context):
            fill = pl.col("host").fill_null(context.host)
            yield replace(batch, events=batch.events.with_columns(fill), series=batch.series.with_columns(fill))

    reader = Reader(name="toy", recognise=TOY.recognise, read=with_host)
    again = store.ingest(dumps, readers=[reader], mapping=mapping)
    assert [f.status for f in again.files] == ["loaded", "known"]
    assert store.sql("select entity from gpu order by entity")["entity"].to_list() == [
        "cluster/n1/gpu:0",
        "cluster/n7/gpu:0",
    ]
    assert store.sql("select entity from events")["entity"].to_list() == ["cluster/n7/gpu:0000:18:00"]
    assert store.sql("select entity from entities where entity like 'cluster/gpu%'").is_empty()
    assert store.observed()["entity"].str.starts_with("cluster/gpu").sum() == 0


def test_labels_of_the_scraper_leave_a_series_wide_and_stand_with_it(store, write, load):
    write(
        "a",
        f'S {T0} n1 gpu 0 x 1.5 {{"job":"dcgm","pod":"a"}}', f'S {T0 + 60} n1 gpu 0 x 2.5 {{"job":"dcgm","pod":"b"}}',
        f'S {T0} n1 host - load 3 {{"pod":"a"}}',
    )  # fmt: skip
    load()
    assert store.sql("select x from gpu order by ts")["x"].to_list() == [1.5, 2.5]
    labels = dict(store.sql("select metric, labels from series").iter_rows())
    assert labels == {"x": '{"job":"dcgm","pod":["a","b"]}', "load": '{"pod":"a"}'}
    assert dict(store.catalog().select("metric", "labels").iter_rows()) == {"x": False, "load": True}
