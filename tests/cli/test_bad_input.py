"""What users get wrong: one clear message each (what, where, next step), the right exit code, nothing half-written."""

import gzip

import pytest
from commands import run, told
from smallstore import exposition, small_store


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("case")
    small_store(folder)
    return folder


def test_missing_path_and_empty_folder_leave_no_store(tmp_path):
    told(run("ingest", "missing", "--store", "s", cwd=tmp_path), 2, "missing", "check the path")
    (tmp_path / "empty").mkdir()
    told(run("ingest", "empty", "--store", "s", cwd=tmp_path), 2, "no files in empty")
    assert not (tmp_path / "s").exists()


def test_a_bad_file_does_not_lose_the_folder(tmp_path):
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    (dumps / "good.prom").write_text(exposition())
    (dumps / "cut.prom.gz").write_bytes(gzip.compress(exposition().encode())[:700])
    (dumps / "rubbish.bin").write_bytes(bytes(range(256)) * 40)
    (dumps / "nothing.csv").touch()
    (dumps / "dangling.log").symlink_to(tmp_path / "nowhere")
    (dumps / "old.log").write_text("Nov  2 03:14:01 node01 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, lost\n")
    done = run("ingest", "dumps", "--store", "s", cwd=tmp_path)
    told(done, 4, "damaged", "not recognised", "empty", "unreadable", "--clock")
    counted = run(
        "sql",
        "select sum(records) = sum(rows) + sum(skipped) + sum(rejected) as whole from files",
        "--store",
        "s",
        "--format",
        "csv",
        cwd=tmp_path,
    )
    assert counted.stdout == "whole\ntrue\n"
    good = run(
        "sql",
        "select count(*) n from samples where source like '%good%' or true",
        "--store",
        "s",
        "--format",
        "csv",
        cwd=tmp_path,
    )
    assert int(good.stdout.split()[1]) >= 440


def test_a_log_without_zone_waits_and_is_read_once_it_is_stated(tmp_path):
    (tmp_path / "old.log").write_text("Nov  2 03:14:01 node01 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, lost\n")
    told(run("ingest", "old.log", "--store", "s", cwd=tmp_path), 4, "1 rejected records wait for a time zone: --clock")
    stated = run("ingest", "old.log", "--store", "s", "--clock", "*.log=Europe/Berlin", "--year", "2025", cwd=tmp_path)
    told(stated, 0, "0 rejected")
    asked = run("sql", "select ts from events", "--store", "s", "--format", "csv", cwd=tmp_path)
    assert "2025-11-02T02:14:01" in asked.stdout.replace(" ", "T")
    told(run("ingest", "old.log", "--store", "s", "--clock", "old.log", cwd=tmp_path), 2, "GLOB=ZONE")
    told(run("ingest", "old.log", "--store", "s", "--clock", "*=Mars/Base", cwd=tmp_path), 2, "Mars/Base", "IANA")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sql", "select powr_w from gpu"], ["power_w"]),
        (["sql", "drop table gpu"], ["only read"]),
        (["sql", "select * from read_csv('/etc/passwd')"], ["disabled"]),
        (["sql", "attach 'x.db'"], ["only read"]),
        (["sql", "select 1; select 2"], ["one"]),
        (["incidents", "--outcome", "xdi"], ["xid"]),
        (["incidents", "--outcome", "xid:99"], ["79"]),
        (["incidents", "--outcome", "xid:79@rack:r9"], ["r9"]),
        (["screen", "--outcome", "xid:", "--seed", "1"], ["no code"]),
        (["screen", "--outcome", "xid:79", "--seed", "1", "--before", "2 parsecs"], ["15m"]),
        (["screen", "--outcome", "xid:79"], ["seed"]),
        (["nonsense"], ["--help"]),
    ],
)
def test_wrong_questions(case, arguments, words):
    extra = [] if arguments == ["nonsense"] else ["--store", "store"]
    told(run(*arguments, *extra, cwd=case), 2, *words)


def test_no_store_is_said_with_the_command_that_makes_one(tmp_path):
    told(run("info", "--store", "nope", cwd=tmp_path), 2, "no store at nope", "workbench ingest")
    assert not (tmp_path / "nope").exists()


def test_five_mistakes_are_five_lines(case):
    claim = case / "five.toml"
    claim.write_text(
        '[[hypothesis]]\nname = 3\nwhen = { rate = "gpu.powr_w", per = "1 lightyear" }\nwithn = "2h"\ncontrols = ["time_shft"]\n'
    )
    done = run("judge", "five.toml", "--store", "store", "--seed", "1", cwd=case)
    told(done, 2, "five.toml", "mistakes", "within", "time_shift", "lightyear", "then")
    assert (
        len([line for line in done.stderr.splitlines() if line.lstrip()[:2] in ("1.", "2.", "3.", "4.", "5.", "6.")])
        >= 5
    )
    assert "0 entries" in run("ledger", "--store", "store", cwd=case).stderr + run(
        "ledger", "--store", "store", "--json", "-", cwd=case
    ).stdout.replace("[]", "0 entries")


def test_unknown_metric_in_a_claim_names_the_nearest(case):
    claim = case / "typo.toml"
    claim.write_text('[[hypothesis]]\nname = "x"\nwhen = { level = "gpu.powr_w" }\nthen = "xid:79"\n')
    told(run("hypothesis", "check", "typo.toml", "--store", "store", cwd=case), 2, "gpu.power_w")


def test_a_full_disk_leaves_nothing_half_visible(case, tmp_path):
    """A limit on the size of files stands for a disk that fills up while a file is written."""
    (tmp_path / "big.prom").write_text(exposition())
    assert run("ingest", "big.prom", "--store", "s", cwd=tmp_path).returncode == 0
    before = run("sql", "select count(*) n from samples", "--store", "s", "--format", "csv", cwd=tmp_path).stdout
    (tmp_path / "more.prom").write_text(exposition().replace("node01", "node07"))
    done = run("ingest", "more.prom", "--store", "s", cwd=tmp_path, limit_bytes=512)
    assert done.returncode in (2, 4)
    assert "Traceback" not in done.stderr
    assert "disk" in done.stderr.lower() or "write" in done.stderr.lower()
    assert (
        run("sql", "select count(*) n from samples", "--store", "s", "--format", "csv", cwd=tmp_path).stdout == before
    )
    assert run("ingest", "more.prom", "--store", "s", cwd=tmp_path).returncode == 0


def test_json_that_cannot_be_written_is_said(case):
    told(run("events", "--store", "store", "--json", "no/such/folder.json", cwd=case), 2, "Cannot write")


def test_hostile_text_is_shown_not_obeyed(tmp_path):
    hostile = "kern  :err   : 2026-03-01T00:00:01,000000+00:00 \x1b[2J<script>alert(1)</script>'); drop table events;-- \u202egpj"
    (tmp_path / "x.log").write_text(hostile + "\n")
    assert run("ingest", "x.log", "--store", "s", cwd=tmp_path).returncode == 0
    shown = run("sql", "select message from events", "--store", "s", cwd=tmp_path)
    assert "\x1b[2J" not in shown.stdout
    assert "\u202e" not in shown.stdout
    assert "<script>" in shown.stdout
    assert "drop table events" in shown.stdout


def test_a_dry_run_tells_and_leaves_nothing(tmp_path):
    (tmp_path / "a.prom").write_text(exposition())
    told(run("ingest", "a.prom", "--store", "s", "--dry-run", cwd=tmp_path), 0, "prometheus_text", "recognised")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.prom"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("screen", "--outcome", "xid:79", "--seed", "1", "--before", "0s"), ("before='0s'", "1ms to 3650d")),
        (("screen", "--outcome", "xid:79", "--seed", "1", "--before", "99999d"), ("3650d",)),
        (("screen", "--outcome", "xid:79", "--seed", "-1"), ("--seed",)),
        (("screen", "--outcome", "xid:79", "--seed", str(2**70)), ("--seed",)),
        (("sql", "select 1 a, 2 a"), ("name of its own",)),
        (("sql", "select 'infinity'::timestamptz t"), ("infinity",)),
        (("sql", "select 1", "--out", "store/inside.csv", "--format", "csv"), ("inside of the store",)),
        (("sql", "select 1", "--out", "no/such/folder.csv", "--format", "csv"), ("Cannot write no/such/folder.csv",)),
    ],
)
def test_questions_that_cannot_be_asked_say_why(case, arguments, words):
    told(run(*arguments, "--store", "store", cwd=case), 2, *words)


def test_text_that_looks_like_an_emoji_stays_as_it_is(case):
    done = run("sql", "select ':fire: [bold]x' as t", "--store", "store", cwd=case)
    told(done, 0, ":fire: [bold]x")


def test_an_empty_path_and_too_little_memory_are_refused_and_leave_no_store(tmp_path):
    (tmp_path / "a.prom").write_text(exposition())
    told(run("ingest", "", "--store", "s", cwd=tmp_path), 2, "path is empty")
    told(run("ingest", "a.prom", "--store", "s", "--memory", "0", cwd=tmp_path), 2, "64MiB")
    assert not (tmp_path / "s").exists()


def test_any_number_of_workers_gives_the_same_answer(tmp_path):
    (tmp_path / "dumps").mkdir()
    for number in range(3):
        (tmp_path / "dumps" / f"{number}.prom").write_text(exposition().replace("node01", f"node{number}"))
    answers = []
    for workers in (1, 2):
        told(run("ingest", "dumps", "--store", f"s{workers}", "--workers", workers, cwd=tmp_path), 0)
        query = "select * from samples order by all"
        answers.append(run("sql", query, "--store", f"s{workers}", "--format", "csv", cwd=tmp_path).stdout)
    assert answers[0] == answers[1]
    told(run("ingest", "dumps", "--store", "s3", "--workers", "0", cwd=tmp_path), 2, "--workers")


@pytest.mark.parametrize(
    "arguments",
    [
        ("hypothesis", "new", "no/such/x.toml"),
        ("report", "--outcome", "xid:79", "--store", "store", "--out", "no/such/r.html"),
        ("screen", "--outcome", "xid:79", "--seed", "1", "--store", "store", "--report", "no/such/r.html"),
        ("judge", "claim.toml", "--seed", "1", "--store", "store", "--junit", "no/such/r.xml"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(case, arguments):
    told(run(*arguments, cwd=case), 2, "there is no folder", "exists")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--days", "nan"), "--days"),
        (("--hosts", "1000000000"), "--hosts"),
        (("--hosts", "-1"), "--hosts"),
        (("--days", "-2"), "--days"),
    ],
)
def test_practice_data_have_bounds(tmp_path, arguments, word):
    told(run("simulate", "--out", "x", *arguments, cwd=tmp_path), 2, word, "expected")
    assert not (tmp_path / "x").exists()


def test_practice_data_cannot_be_written_everywhere(tmp_path):
    (tmp_path / "file").write_text("")
    told(run("simulate", "--out", "file/x", cwd=tmp_path), 2, "Cannot write to file/x")
