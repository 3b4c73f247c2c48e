"""workbench templates: what lines say that no rule knows."""

import json

import pytest
from commands import run, told


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("templates")
    lines = [f"2026-01-01T00:00:{n:02d}Z n{n % 3} bmcd[7]: cell {n} scrubbed \x1b[31m<b>late</b>\n" for n in range(12)]
    (folder / "messages").write_text("".join([*lines, "2026-01-01T00:01:00Z n1 bmcd[7]: stopped\n"]))
    told(run("ingest", "messages", "--store", "store", cwd=folder), 0)
    return folder


def test_a_table_for_people(folder):
    done = run("templates", "--store", "store", cwd=folder)
    told(done, 0, "template_id", "cell <num> scrubbed", "stopped", "messages")
    assert "\x1b" not in done.stdout


def test_json_holds_everything(folder):
    done = run("templates", "--store", "store", "--contains", "SCRUBBED", "--json", "-", cwd=folder)
    told(done, 0)
    (row,) = json.loads(done.stdout)
    assert (row["count"], row["hosts"], row["signal"], row["line"]) == (12, 3, True, 1)
    told(run("incidents", "--outcome", f"template:{row['template_id']}", "--store", "store", cwd=folder), 0, "n1")


def test_events_of_a_template_are_listed(folder):
    done = run("templates", "--store", "store", "--contains", "stopped", "--json", "-", cwd=folder)
    (row,) = json.loads(done.stdout)
    told(
        run("events", f"template:{row['template_id']}", "--store", "store", cwd=folder),
        0,
        "stopped",
        "2026-01-01 00:01:00Z",
    )


def test_mistakes_end_with_one_message(folder):
    told(
        run("incidents", "--outcome", "template:0123", "--store", "store", cwd=folder),
        2,
        "No template '0123'",
        "workbench templates",
    )
    told(run("templates", "--store", "nowhere", cwd=folder), 2)
