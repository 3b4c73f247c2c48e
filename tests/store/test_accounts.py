"""What the report, the summary and the table ``files`` say of every file: exact counts, and how to cure."""

import gzip
import json

import pytest
import zstandard

import workbench as wb
from workbench.errors import UsageError
from workbench.store.stage import MOST_A_REASON

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z
SAMPLE = "# TYPE a gauge\n" + "".join(f'a{{gpu="{n}"}} {n}.5 {T0}000\n' for n in range(50))


def real(store, path, **stated):
    """Ingest with the registered readers."""
    return store.ingest(path, **stated)


def row(store, columns):
    return store.sql(f"select {columns} from files").row(0)


def test_rejects_are_all_counted_and_a_few_of_each_reason_kept(store, dumps, write, load):
    count = 3 * MOST_A_REASON
    write("a.txt", *["S broken"] * count, "what is this", f"S {T0} n1 gpu 0 x 1")
    report = load().files[0]
    assert report.records == report.rows + report.skipped + report.rejected
    assert report.rejected == count + 1
    assert sorted(report.reasons.values()) == [1, count]
    kept = dict(store.sql("select reason, count(*) from rejects group by all").iter_rows())
    assert sorted(kept.values()) == [1, MOST_A_REASON]
    assert f"{MOST_A_REASON + 1:,} of {count + 1:,} rejected records are kept with their text" in report.notes
    assert json.loads(row(store, "reasons")[0]) == dict(report.reasons)


def test_a_file_without_one_row_says_so_and_the_exit_code_tells(store, dumps, write, load):
    write("a.txt", "what", "is", "this")
    report = load()
    assert report.files[0].status == "no rows"
    assert report.files[0].reason.startswith("no row of 4 records could be read; 3 times: ")
    assert report.files[0].reason in report.summary
    assert report.exit_code == 4
    assert row(store, "status, records, rows") == ("no rows", 4, 0)
    assert load().files[0].status == "known"


def test_a_file_of_comments_only_says_so_and_is_no_failure(store, dumps, write, load):
    write("a.txt", "# one", "# two")
    report = load()
    assert (report.files[0].status, report.exit_code) == ("no rows", 0)
    assert "comment" in report.files[0].reason


def test_cells_without_a_number_notes_and_entities_are_told(store, write, load):
    write("a.txt", f"S {T0} n1 gpu 0 x nan", f"S {T0} n1 gpu 1 DCGM_FI_DEV_MEMORY_TEMP 0", f"E {T0} n2 - - xid 79 x")
    report = load()
    file = report.files[0]
    assert file.absent == 2
    assert sorted(file.absences.values()) == [1, 1]
    assert "x: NaN" in file.absences
    assert file.entities == 3
    assert "2 cells of 1 files hold no number" in report.summary
    told = report.to_json()
    assert told["totals"]["absent"] == 2
    assert {
        "reader",
        "rule",
        "confidence",
        "skips",
        "reasons",
        "absences",
        "first",
        "last",
        "entities",
        "notes",
    } <= set(told["files"][0])
    assert row(store, "absent, entities") == (2, 3)
    assert ("absent", "x: NaN", 1) in report.details().select("what", "detail", "count").rows()


def test_the_summary_ends_with_what_to_state_by_pattern_of_file(store, dumps, write, load):
    for number in range(3):
        write(f"node{number}-old.log", f"Z S {T0} n{number} gpu 0 x 2.5", f"S {T0} n1 gpu 0 y{number} 1")
    report = load()
    assert report.summary.splitlines()[-1] == (
        "3 rejected records wait for a time zone: --clock 'node*-old.log=ZONE' (such as Europe/Berlin); 3 files"
    )
    assert load(clock={"node*-old.log": "UTC"}).total("curable") == 0


@pytest.mark.parametrize("memory", ["0", 0, "1MB", "-5", "nonsense"])
def test_memory_that_cannot_do_is_refused_also_by_a_dry_run(store, write, dumps, memory):
    write("a.txt")
    for dry_run in (True, False):
        with pytest.raises(UsageError, match="memory"):
            store.ingest(dumps, memory=memory, dry_run=dry_run)


@pytest.mark.parametrize("paths", ["", " ", ["a", ""]])
def test_an_empty_path_is_not_the_folder_one_is_in(store, paths):
    with pytest.raises(UsageError, match="empty"):
        store.ingest(paths)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_compressed_file_cut_before_its_format_shows_is_damaged(store, dumps, pack):
    (dumps / "a.csv.gz").write_bytes(pack(SAMPLE.encode())[:60])
    report = real(store, dumps)
    assert report.files[0].status == "damaged"
    assert "cut inside a" in report.files[0].reason


@pytest.mark.parametrize("odd", [b"a\0b,\0\n", bytes(60) + b"\n", b"[" * 9000 + b"\n", b'{"a":' * 5000 + b"\n"])
@pytest.mark.parametrize("where", [0, 2])
def test_one_odd_line_costs_that_line_only(store, dumps, odd, where):
    lines = [b"timestamp,host,power_w\n", *[b"2026-03-01T00:00:%02dZ,n1,%d\n" % (n, n) for n in range(50)]]
    (dumps / "a.csv").write_bytes(b"".join([*lines[:where], odd, *lines[where:]]))
    file = real(store, dumps).files[0]
    assert (file.reader, file.samples) == ("table", 50), file


@pytest.mark.parametrize(
    "written", [SAMPLE.replace("\n", "\r").encode(), SAMPLE.encode("utf-16"), SAMPLE.encode("utf-16-le")]
)
def test_old_line_ends_and_wide_characters_lose_nothing(tmp_path, dumps, written):
    (dumps / "a.prom").write_bytes(written)
    store = wb.open(tmp_path / "s")
    report = real(store, dumps)
    assert report.files[0].status == "loaded"
    assert report.total("samples") == 50
    assert report.files[0].notes
