"""Dumps made to break a loader: nothing raised, nothing invented, every record accounted for."""

import json

from commands import run, told


def answer(folder, query):
    done = run("sql", query, "--store", "s", "--format", "json", cwd=folder)
    told(done, 0)
    return json.loads(done.stdout)


def test_a_lone_surrogate_and_a_link_to_itself_do_not_end_an_ingest(tmp_path):
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    rows = [{"time": f"2026-03-01T00:00:0{n}Z", "host": "n1", "event": "note", "message": "x\ud800y"} for n in range(3)]
    (dumps / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (dumps / "loop.log").symlink_to("loop.log")
    told(run("ingest", "dumps", "--store", "s", cwd=tmp_path), 4, "loop.log", "unreadable")
    assert answer(tmp_path, "select distinct message from events") == [{"message": "x\\ud800y"}]


def test_an_offset_that_no_zone_has_makes_no_time(tmp_path):
    lines = [
        f"2026-03-01T00:00:0{n}{offset} n1 kernel: eth0: link is down\n"
        for n, offset in enumerate(("+01:00", "+99:00", "-15:00"))
    ]
    (tmp_path / "iso.log").write_text("".join(lines))
    run("ingest", "iso.log", "--store", "s", cwd=tmp_path)
    counted = answer(tmp_path, "select records, rows, rejected from files")
    assert counted == [{"records": 3, "rows": 1, "rejected": 2}]
    assert answer(tmp_path, "select distinct reason from rejects") == [{"reason": "impossible time"}]


def test_what_no_reader_can_read_says_what_to_do(tmp_path):
    (tmp_path / "a.log.xz").write_bytes(b"\xfd7zXZ\x00" + bytes(range(200)))
    told(run("ingest", "a.log.xz", "--store", "s", cwd=tmp_path), 2, "packed by xz", "unpack it first")
    (tmp_path / "b.log").write_text("2026-03-01T00:00:00+00:00 n1 kernel: eth0: link is down\n")
    told(run("ingest", "b.log", "--store", "one", cwd=tmp_path), 0)
    told(run("ingest", "one", "--store", "two", cwd=tmp_path), 2, "one is a store")
