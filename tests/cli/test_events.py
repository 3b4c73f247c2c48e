"""workbench events: kinds, events with their sources, bursts, what follows what, noise."""

import json

import pytest
from commands import run, told

XID = "NVRM: Xid (PCI:0000:18:00): {}, pid=7, name=a, {}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("events")
    (folder / "dumps").mkdir()
    lines = [
        (5.0, XID.format(79, "GPU has fallen off the bus.")),
        (5.1, XID.format(154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")),
        (9.0, "mlx5_core 0000:9d:00.0: Port: 1 Link INIT"),
        (9.5, "mlx5_core 0000:9d:00.0: Port: 1 Link INIT"),
    ]
    (folder / "dumps" / "dmesg.log").write_text("".join(f"[{at:12.6f}] {text}\n" for at, text in lines))
    syslog = "".join(f"2026-01-01T00:00:0{int(at)}Z n1 kernel: {text}\n" for at, text in lines[:2])
    (folder / "dumps" / "messages").write_text(syslog)
    (folder / "map.toml").write_text('[[file]]\nglob = "dmesg.log"\nhost = "n1"\nboot_at = "2026-01-01T00:00:00Z"\n')
    told(run("ingest", "dumps", "--store", "store", "--map", "map.toml", cwd=folder), 0)
    return folder


def answer(folder, *arguments):
    done = run("events", *arguments, "--store", "store", "--json", "-", cwd=folder)
    told(done, 0)
    return json.loads(done.stdout)


def test_kinds_say_what_they_mean(folder):
    done = run("events", "--store", "store", cwd=folder)
    told(done, 0, "GPU fell off the bus", "recovery action changed", "teardown", "per_1000_entity_days")
    rows = {(row["kind"], row["code"]): row for row in answer(folder)}
    assert (rows["link", "init"]["count"], rows["link", "init"]["noise"]) == (2, 2)
    assert rows["xid", "79"]["origin"] == "hardware"


def test_an_event_of_two_logs_is_listed_once(folder):
    (row,) = answer(folder, "xid:79")
    assert (row["told_by"], len(row["sources"]), row["name"]) == (2, 2, "GPU fell off the bus")


def test_bursts(folder):
    (row,) = answer(folder, "link", "--bursts", "1")
    assert (row["count"], row["code"], row["noise"]) == (2, "init", True)


def test_what_follows_what(folder):
    (row,) = answer(folder, "--follows")
    assert (row["code"], row["after_code"], row["rule"]) == ("154", "79", "xid 154 follows xid:79 on the same device")
    assert answer(folder, "link", "--follows") == []


def test_noise_of_one_s_own(folder):
    (folder / "own.toml").write_text('[[noise]]\nkind = "xid"\ncodes = ["154"]\n')
    rows = {(row["kind"], row["code"]): row["noise"] for row in answer(folder, "--noise", "own.toml")}
    assert rows["xid", "154"] == rows["xid", "79"] + rows["xid", "154"] > 0


def test_mistakes_are_told(folder):
    told(run("events", "--store", "store", "--follows", "--bursts", "1", cwd=folder), 2, "different questions")
    told(run("events", "--store", "store", "--noise", "none.toml", cwd=folder), 2, "no file of noise rules")
    (folder / "bad.toml").write_text("[[noise]]\n")
    told(run("events", "--store", "store", "--noise", "bad.toml", cwd=folder), 2, "name the kind of event")
