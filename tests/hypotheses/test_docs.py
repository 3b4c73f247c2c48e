"""The reference page says what the code does: every key and control, examples that load, the digest."""

import hashlib
import json
import re

import pytest
from shared import ROOT

from workbench.hypotheses.fields import CONTROLS, FIELDS, examine
from workbench.hypotheses.spec import Hypothesis
from workbench.hypotheses.toml import load_hypotheses

PAGE = (ROOT / "docs" / "hypotheses.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def rows(title):
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    return [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| ")][1:]


def test_every_key_stands_on_the_page_once_and_none_is_invented():
    assert [row[0].strip(" `") for row in rows("Keys")] == list(FIELDS)


def test_defaults_on_the_page_are_those_of_the_code():
    values, problems = examine({"name": "a", "when": {"event": "aer"}, "then": "xid"})
    assert not problems
    told = {row[0].strip(" `"): row[2].strip(" `") for row in rows("Keys")}
    assert told["within"] == values["within"]
    assert told["direction"] == values["direction"]
    assert {key for key, default in told.items() if default == "required"} == {"name", "when", "then"}


def test_every_control_stands_on_the_page_with_its_check():
    told = {}
    for names, check, _ in rows("Controls"):
        for name in re.findall(r"`(\w+)`", names):
            told[name] = check.strip(" `")
    assert told == CONTROLS


def test_examples_on_the_page_load_and_say_the_same():
    (text,) = blocks("toml")
    claim = Hypothesis.from_toml(text)
    scope = {}
    exec(blocks("python")[0], scope)  # the page's own code
    assert scope["claim"] == claim
    (canonical,) = blocks("json")
    assert hashlib.sha256(canonical.strip().encode()).hexdigest() == claim.digest
    assert json.loads(canonical)["schema"] == "workbench.hypothesis/1"


def test_every_form_of_a_signal_on_the_page_is_read():
    forms = [row[0].strip(" `") for row in rows("Signals")]
    assert len(forms) == 4
    for form in forms:
        assert Hypothesis.from_toml(f'name = "a"\nwhen = {form}\nthen = "xid"\n')


@pytest.mark.parametrize("file", ["first_incident.toml", "forms.toml"])
def test_example_files_load(file):
    assert load_hypotheses([ROOT / "examples" / file])
