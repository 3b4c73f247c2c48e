"""Judging on a real store: the ledger outlives the program, and writers at once do not harm it."""

import subprocess
import sys

import pytest
from shared import ROOT
from smallstore import small_store

import workbench as wb
from workbench.errors import SpecificationError, UnknownNameError
from workbench.hypotheses.ledger import ledger

CLAIM = {"name": "power precedes", "when": wb.level("gpu.power_w"), "then": "xid:79", "within": "10m"}

APPEND = """
import sys
from datetime import UTC, datetime
import workbench as wb
from workbench.hypotheses.rows import METHOD, MEASURED, rows_frame
store = wb.open(sys.argv[1])
for number in range(10):
    name = f"{sys.argv[2]}{number}"
    store.append_ledger(rows_frame([{
        "status": MEASURED, "ledger_id": name, "registration": name, "kind": "judge", "hypothesis": name, "rows": name,
        "method": METHOD, "inputs": "1", "batch": name, "batch_size": 1, "name": name, "signal": name, "outcome": "xid",
        "seed": 7, "rule": "online", "p": 0.3,
    }]))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return small_store(tmp_path_factory.mktemp("judged")).path


def test_a_judgement_outlives_the_program_and_is_there_in_sql(path):
    verdict = wb.judge(wb.Hypothesis(**CLAIM), wb.open(path), seed=7)
    assert verdict.word == "UNDECIDED"  # two incidents prove nothing
    again = wb.judge(wb.Hypothesis(**CLAIM), wb.open(path), seed=8)
    assert (again.ledger_id, again.sentence) == (verdict.ledger_id, verdict.sentence)
    store = wb.open(path)
    (entry,) = wb.ledger(store).entries
    assert entry.verdict.sentence == verdict.sentence
    assert store.sql("select count(*) as n from ledger where status = 'judged'")["n"].item() == 1
    assert store.version == wb.open(path).version  # the ledger is no part of the version


def test_a_screen_of_a_real_store_is_recorded_and_found_again(path):
    store = wb.open(path)
    result = wb.screen(store, outcome="xid:79", before="10m", seed=7)
    entries = [entry for entry in ledger(store).entries if entry.kind == "screen"]
    assert len(entries) == len(result)
    wb.screen(wb.open(path), outcome="xid:79", before="10m", seed=8)
    assert len([entry for entry in ledger(store).entries if entry.kind == "screen"]) == len(result)
    other = wb.judge(wb.Hypothesis(**{**CLAIM, "within": "11m"}), store, seed=7)
    assert other.details["found_here"] is True


def test_unknown_names_come_with_the_nearest_ones(path):
    with pytest.raises(SpecificationError, match=r"did you mean gpu\.power_w"):
        wb.judge(wb.Hypothesis(**{**CLAIM, "when": wb.level("gpu.powr_w")}), wb.open(path), seed=7)
    with pytest.raises(UnknownNameError, match="scope"):
        wb.judge(wb.Hypothesis(**{**CLAIM, "scope": "rack"}), wb.open(path), seed=7)


def test_two_writers_at_once_lose_nothing_and_agree_on_the_order(path):
    before = len(wb.open(path).ledger_rows())
    writers = [
        subprocess.Popen([sys.executable, "-c", APPEND, str(path), name], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for name in ("a", "b")
    ]
    assert [(writer.communicate(timeout=120)[1], writer.returncode) for writer in writers] == [("", 0), ("", 0)]
    rows = wb.open(path).ledger_rows()
    assert rows.height == before + 20
    book = ledger(wb.open(path))
    names = [entry.name for entry in book.entries if entry.kind == "judge" and entry.p == 0.3]
    assert [name for name in names if name.startswith("a")] == [f"a{n}" for n in range(10)]
    assert sorted(names) == sorted(f"{w}{n}" for w in "ab" for n in range(10))
    assert all(entry.rejected is False for entry in book.entries if entry.p == 0.3)
