import re

import pytest
from fakestore import gpus, hosts, incident, shared_store
from hypothesis import given
from hypothesis import strategies as st
from verdicts import one_of_each, verdict

import workbench as wb
from workbench.reports.redact import Pseudonyms
from workbench.reports.verify import verify


@pytest.fixture(scope="module")
def store():
    return shared_store()


@pytest.mark.parametrize("ending", ["html", "md"])
def test_no_known_name_is_left(store, tmp_path, ending):
    told = [
        *one_of_each(),
        verdict(
            sentence="alice moved job 8841 to NODE05",
            details={"leave_one_out": {"c1/node03": 0.2}, "guard": "node07.dc.example, once spare7"},
        ),
    ]
    to = wb.write_up(store, incident=incident(), verdicts=told, to=tmp_path / f"r.{ending}", redact=True)
    text = to.read_text(encoding="utf-8")
    names = [name.rsplit("/", 1)[-1].rpartition(":")[2] for name in (*hosts(), *gpus())]
    names += ["alice", "8841", "llama", "c1/", "dc.example", "spare7"]
    assert not [name for name in names if re.search(re.escape(name), text, re.IGNORECASE)]
    assert verify(to).unaltered


def test_the_same_name_has_the_same_stand_in_everywhere(store, tmp_path):
    facts = verify(wb.write_up(store, incident=incident(), to=tmp_path / "r.html", redact=True)).facts
    host = facts["incident"]["host"].rsplit("/", 1)[-1]
    assert re.fullmatch(r"host-\d\d", host)
    assert host != "host-04", "a stand-in that keeps the order of names would tell them"
    assert facts["incident"]["entity"].split("/")[1] == host
    assert any(row["entity"].endswith(host) for row in facts["timeline"]["events"])
    assert facts["timeline"]["jobs"][0]["job"] == "job-1"
    assert facts["incident"]["job"].endswith("job:job-1")


def test_numbers_times_and_signals_stay(store, tmp_path):
    plain = verify(wb.write_up(store, incident=incident(), verdicts=[verdict()], to=tmp_path / "p.html")).facts
    hidden = verify(
        wb.write_up(store, incident=incident(), verdicts=[verdict()], to=tmp_path / "r.html", redact=True)
    ).facts
    assert hidden["tested"] == plain["tested"]
    assert hidden["incident"]["ts"] == plain["incident"]["ts"]
    assert hidden["machine"][0]["signal"] == "gpu.ecc_sbe_total"
    assert hidden["verdicts"][0]["numbers"] == plain["verdicts"][0]["numbers"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node1 node10 node1x", "host-2 host-1 node1x"),
        ("/logs/node10/kern.log", "/logs/host-1/kern.log"),
        ("node10-kern.log.gz", "host-1-kern.log.gz"),
        ("NODE1.dc.example", "host-2.dc.example"),
        ("user bob; job=77 jobid 78", "user user-1; job=job-1 jobid job-x"),
        ("node1:0000:9b:00.0", "host-2:0000:9b:00.0"),
        ("GPU Board Serial Number: 1650000000044", "GPU Board Serial Number: serial-x"),
        ("0000:9b:00.1 fell", "gpu-1 fell"),
        ("10 of 77 tested at 10.5", "10 of 77 tested at 10.5"),
    ],
)
def test_names_inside_of_longer_text(text, expected):
    names = Pseudonyms(
        {"host": ["node1", "node10"], "user": ["bob"], "job": ["77"], "gpu": ["0000:9b:00.1", "10", "0"]}
    )
    assert names.text(text) == expected


def test_other_names_of_a_host_get_its_stand_in():
    names = Pseudonyms({"host": ["node1"], "domain": ["dc.example"]}, same={"spare7": "node1"})
    assert names.text("spare7 was node1.dc.example.log") == "host-1 was host-1.domain-1.log"


@given(st.text(max_size=80))
def test_text_without_known_names_is_untouched(text):
    names = Pseudonyms({"host": ["zqxhost"]})
    if "zqxhost" not in text.lower() and not re.search(r"(?i)\bjob|\d\.\d", text):
        assert names.text(text) == text


def test_a_user_named_as_a_key_breaks_no_page(store, tmp_path, monkeypatch):
    jobs = store.jobs().with_columns(user=store.jobs()["user"].replace("alice", "title"))
    monkeypatch.setitem(store._tables, "jobs", jobs)
    facts = verify(wb.write_up(store, incident=incident(), to=tmp_path / "k.html", redact=True)).facts
    assert "title" in facts
