"""workbench store check, compact, vacuum; and stores that are damaged."""

import json
import shutil

import pytest
from commands import run, told
from smallstore import exposition, small_store


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    small_store(folder)
    return folder / "store"


@pytest.fixture
def case(sound, tmp_path):
    shutil.copytree(sound, tmp_path / "s")
    return tmp_path


def test_a_sound_store_is_called_sound(case):
    told(run("store", "check", "--store", "s", cwd=case), 0, "files, sound")


def test_every_damaged_file_is_named_and_a_damaged_log_hides_no_other(case):
    file = next((case / "s" / "tables" / "gpu").glob("*/*.parquet"))
    file.write_bytes(file.read_bytes()[:100])
    next((case / "s" / "tables" / "jobs").rglob("*.parquet")).unlink()
    (case / "s" / "tables" / "events" / "_delta_log" / "00000000000000000000.json").write_text("rubbish{")
    done = run("store", "check", "--store", "s", "--json", "-", cwd=case)
    told(done, 4)
    found = json.loads(done.stdout)
    assert not found["sound"]
    problems = {problem["table"]: problem for problem in found["problems"]}
    assert set(problems) == {"gpu", "jobs", "events"}
    assert problems["jobs"]["problem"] == "missing"
    assert problems["gpu"]["file"].endswith(file.name)
    assert "pthread" not in done.stdout, "no native backtrace"
    told(run("info", "--store", "s", cwd=case), 2, "events/_delta_log from a copy", "workbench store check")


@pytest.mark.parametrize(
    "marker", ["[]", '{"format": "x"}', '{"format": 1e400}', "null", "", '{"format": true}', "\xff"]
)
def test_a_damaged_marker_says_what_belongs_there(case, marker):
    (case / "s" / "workbench.json").write_bytes(marker.encode("latin-1"))
    told(run("info", "--store", "s", cwd=case), 2, "workbench.json is damaged", '{"format": 1')


def test_compact_and_vacuum_change_no_answer(case):
    dumps = case / "more"
    dumps.mkdir()
    for minute in range(3):
        (dumps / f"{minute}.prom").write_text(exposition(later_ms=4_000_000 * (minute + 1)))
        told(run("ingest", "more", "--store", "s", cwd=case), 0)
    question = ("sql", "select count(*) n, sum(value) v from samples", "--store", "s", "--format", "csv")
    before = run(*question, cwd=case).stdout
    told(run("store", "compact", "--store", "s", cwd=case), 0, "files became")
    assert run(*question, cwd=case).stdout == before
    listed = json.loads(
        run("store", "vacuum", "--store", "s", "--keep", "1", "--dry-run", "--json", "-", cwd=case).stdout
    )
    assert listed
    assert all((case / "s" / "tables" / row["table"] / row["file"]).exists() for row in listed)
    told(run("store", "vacuum", "--store", "s", "--keep", "1", cwd=case), 0, "removed")
    assert not any((case / "s" / "tables" / row["table"] / row["file"]).exists() for row in listed)
    assert run(*question, cwd=case).stdout == before
    told(run("store", "vacuum", "--store", "s", "--keep", "0", cwd=case), 2, "--keep")


def test_damage_inside_of_a_file_and_a_lost_manifest_are_found(case):
    file = next((case / "s" / "tables" / "files").rglob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[50:58] = b"damaged!"
    file.write_bytes(content)
    done = run("store", "check", "--store", "s", "--json", "-", cwd=case)
    told(done, 4)
    assert [problem["table"] for problem in json.loads(done.stdout)["problems"]] == ["files"]
    shutil.rmtree(case / "s" / "tables" / "batches")
    told(run("store", "check", "--store", "s", cwd=case), 4, "batches", "missing, while", "damaged")
