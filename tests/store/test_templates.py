"""Templates of a store: where their lines stand, whatever the batches, and no text of a log acts."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

import workbench as wb
from workbench.errors import UnknownNameError
from workbench.simulator.daemon_text import labelled_lines

T0 = datetime(2026, 3, 1, tzinfo=UTC)
HOSTILE = [
    "<script>alert('x')</script> <img src=x onerror=alert(1)>",
    "'; drop table events; select '",
    "colours \x1b[31mred\x1b[0m and \u202egnp.exe",
    "a line of four megabytes " + "blob " * 800_000,
]


def syslog(lines, *, minute=0):
    stamps = (T0 + timedelta(minutes=minute, seconds=number) for number in range(len(lines)))
    return "".join(
        f"{stamp.isoformat()} n{number % 4} daemon[7]: {text}\n"
        for number, (stamp, text) in enumerate(zip(stamps, lines, strict=True))
    )


@pytest.fixture(scope="module")
def lines():
    told_elsewhere = ("NCCL", "iteration", "Watchdog caught", "loss scale")  # of training jobs: another format
    return [line for line in labelled_lines(900, seed=5)[0] if not any(word in line for word in told_elsewhere)]


def stored(folder, *pieces):
    """Ingest each piece by itself."""
    store = wb.open(folder / "store")
    for number, piece in enumerate(pieces):
        (folder / f"messages{number}").write_text(piece, encoding="utf-8")
        assert store.ingest([folder / f"messages{number}"]).exit_code == 0
    return store


def test_batches_and_their_order_change_nothing(lines, tmp_path):
    parts = [syslog(lines[:300]), syslog(lines[300:450], minute=10), syslog(lines[450:], minute=20)]
    made = []
    for name, pieces in (("once", ["".join(parts)]), ("parts", parts), ("turned", parts[::-1])):
        (tmp_path / name).mkdir()
        made.append(stored(tmp_path / name, *pieces).templates().table().drop("path", "line"))
    assert made[0].height > 40
    assert made[0].equals(made[1])
    assert made[0].equals(made[2])


def test_a_template_says_how_often_who_when_and_where(tmp_path):
    text = syslog(
        ["cell 7 scrubbed", "cell 8 scrubbed", "cell 9 scrubbed", "said once", "cell 10 scrubbed", "cell 11 scrubbed"]
    )
    store = stored(tmp_path, text)
    row = store.templates().table().row(0, named=True)
    assert (row["template"], row["count"], row["hosts"]) == ("cell <num> scrubbed", 5, 3)
    assert (row["first"], row["last"]) == (T0, T0 + timedelta(seconds=5))
    assert (row["example"], row["line"]) == ("cell 7 scrubbed", 1)
    assert row["path"].endswith("messages0")
    assert not row["signal"]
    events = store.events(f"template:{row['template_id']}")
    assert events["message"].to_list() == [
        "cell 7 scrubbed",
        "cell 8 scrubbed",
        "cell 9 scrubbed",
        "cell 10 scrubbed",
        "cell 11 scrubbed",
    ]
    assert events.columns == store.events("log").columns
    assert store.events("template").height == 6
    assert store.events(f"template:{row['template_id']}@host:n0")["line"].to_list() == [1, 5]
    assert len(store.incidents(f"template:{row['template_id']}")) == 3, "five lines, three hosts, within 5 s"
    (burst,) = store.bursts(f"template:{row['template_id']}@host:n0", gap_s=10).to_dicts()
    assert (burst["kind"], burst["code"], burst["count"]) == ("template", row["template_id"], 2)
    with pytest.raises(UnknownNameError, match="No template 'abc'"):
        store.templates().text("abc")


def test_signals_are_frequent_and_widespread(tmp_path):
    often = [f"scrubbed cell {n}" for n in range(40)]  # on four hosts
    text = syslog(often) + "".join(f"{T0.isoformat()} n9 daemon[7]: on one host alone, time {n}\n" for n in range(40))
    found = stored(tmp_path, text).templates()
    assert [found.text(name) for name in found.signals] == ["scrubbed cell <num>"]
    assert found.table().height == 2


def test_hostile_lines_stay_text(tmp_path):
    store = stored(tmp_path, syslog(HOSTILE))
    found = store.templates()
    page = found._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "\x1b" not in page
    assert len(page) < 100_000
    assert found.table()["example"].str.len_chars().max() <= 300
    for name in found.table()["template_id"]:
        assert store.events(f"template:{name}").height == 1
    assert store.events("log").height == found.table()["count"].sum()


def test_answers_do_not_move_until_data_do(tmp_path):
    store = stored(tmp_path, syslog(["nfs server home OK 1"]))
    before = store.templates()
    assert store.templates() is before
    assert before.provenance.inputs.endswith("@1")
    (tmp_path / "more").write_text(syslog(["entirely different words"], minute=5))
    store.ingest([tmp_path / "more"])
    assert store.templates().table().height == 2
    assert isinstance(before.table(), pl.DataFrame)
