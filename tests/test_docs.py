"""Pages lead where they say."""

import importlib.util
import re

import pytest
from shared import ROOT

PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "data_samples" / "README.md",
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    assert not [target for target in targets if target and "//" not in target and not (page.parent / target).exists()]


def test_the_list_of_formats_is_that_of_the_readers():
    path = ROOT / "docs" / "make_formats.py"
    spec = importlib.util.spec_from_file_location("make_formats", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.PAGE.read_text(encoding="utf-8") == made.page_with(made.listed()), "run python docs/make_formats.py"
