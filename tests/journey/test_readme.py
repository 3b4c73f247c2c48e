"""Every command and every line of Python in the README runs, in its order, from the checkout's root."""

import os
import re
import subprocess
import sys

import pytest
from shared import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line[2:]
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ workbench")
]
PYTHON = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder that looks like the checkout from inside, with an out/ of its own."""
    folder = tmp_path_factory.mktemp("desk")
    for name in ("data_samples", "examples", "docs"):
        (folder / name).symlink_to(ROOT / name, target_is_directory=True)
    (folder / "out").mkdir()
    return folder


@pytest.fixture(scope="module")
def toured(desk):
    """Run the commands once, in order."""
    results = {}
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    for command in COMMANDS:
        shell_free = re.findall(r'"[^"]*"|\S+', command)
        arguments = [part.strip('"') for part in shell_free[1:]]
        results[command] = subprocess.run(
            [sys.executable, "-m", "workbench", *arguments],
            cwd=desk,
            capture_output=True,
            text=True,
            timeout=300,
            env=environment,
        )
    return results


def test_there_is_a_tour():
    assert len(COMMANDS) >= 10
    assert {command.split()[1] for command in COMMANDS} >= {
        "ingest",
        "info",
        "sql",
        "events",
        "incidents",
        "screen",
        "judge",
        "ledger",
        "report",
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_command_does_what_the_tour_says(toured, command):
    done = toured[command]
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr


def test_the_sentences_beside_the_commands_are_true(toured, desk):
    import orjson

    told = next(done for command, done in toured.items() if " ingest " in command)
    assert "0 rejected" in told.stderr
    findings = orjson.loads((desk / "out" / "findings.json").read_bytes())["findings"]
    supported = {finding["signal"] for finding in findings if finding["verdict"] == "SUPPORTED"}
    assert supported == {"gpu.ecc_sbe_total"}, "one signal is SUPPORTED: corrected memory errors"


def test_python_of_the_tour_runs(toured, desk):
    done = subprocess.run(
        [sys.executable, "-c", PYTHON + "\nprint(verdict.word)"], cwd=desk, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] in ("SUPPORTED", "UNDECIDED")


def test_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert not [target for target in targets if "//" not in target and not (ROOT / target).exists()]


def test_no_figure_is_quoted_that_is_not_checked_elsewhere():
    """Numbers in the prose are the tour's own facts: 40 servers and two days of the sample."""
    prose = re.sub(r"```.*?```|\(https?:[^)]*\)|\]\([^)]*\)|`[^`]*`", "", README, flags=re.DOTALL)
    numbers = set(re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", prose))
    assert numbers <= {"3.11", "40", "2.0"}, numbers
