"""Looks with a real browser; skipped where there is none."""

import json
from pathlib import Path

import nbformat
import pytest
from fakestore import incident, shared_store
from lab import chromium, jupyterlab, open_notebook, run_all
from verdicts import one_of_each

import workbench as wb

pytestmark = pytest.mark.browser
HELPERS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Give a static view and a write-up of the same incident."""
    folder = tmp_path_factory.mktemp("pages")
    store = shared_store()
    wb.explore(incident(), store).to_html(folder / "explore.html")
    wb.write_up(store, incident=incident(), verdicts=one_of_each(), to=folder / "writeup.html")
    return folder


@pytest.mark.parametrize("name", ["explore.html", "writeup.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_open_offline_without_scripts_in_both_themes(pages, name, scheme):
    with chromium(java_script_enabled=False, color_scheme=scheme) as page:
        page.goto((pages / name).as_uri())
        assert page.locator("svg[data-t0]:visible").count() >= 1
        assert page.locator("table").first.is_visible()
        assert page.seen == {"errors": [], "foreign": []}


@pytest.mark.parametrize("name", ["explore.html", "writeup.html"])
def test_hostile_log_text_runs_nothing(pages, name):
    with chromium() as page:
        asked = []
        page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
        page.goto((pages / name).as_uri())
        page.wait_for_load_state("load")
        assert page.get_by_text('alert("x")').count() > 0
        assert asked == []
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0


def _notebook(folder):
    start = f"import sys; sys.path.insert(0, {str(HELPERS)!r})\nfrom fakestore import incident, shared_store\nimport workbench as wb"
    cells = [
        nbformat.v4.new_code_cell(source)
        for source in (start, "view = wb.explore(incident(), shared_store())\nview", "view.state")
    ]
    book = nbformat.v4.new_notebook(cells=cells)
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, folder / "look.ipynb")


def _facts(page):
    return page.locator(".wb-body .wb-facts").inner_text()


def _changes(page, act):
    before = _facts(page)
    act()
    page.wait_for_function(
        "b => document.querySelector('.wb-body .wb-facts').innerText !== b", arg=before, timeout=60_000
    )
    return _facts(page)


def test_the_linked_view_in_jupyterlab(tmp_path):
    _notebook(tmp_path)
    with jupyterlab(tmp_path) as (address, token), chromium(timezone_id="America/New_York") as page:
        open_notebook(page, address, token, "look.ipynb")
        assert run_all(page) == []
        page.wait_for_selector(".wb .wb-body svg[data-t0]", timeout=120_000)
        assert "2026-03-01T10:00:07Z .. 2026-03-01T12:30:07Z UTC" in _facts(page)
        box = page.locator(".wb-body svg[data-t0]").nth(1).bounding_box()

        def drag():
            page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] / 2)
            page.mouse.down()
            page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] / 2, steps=6)
            page.mouse.up()

        drawn = _changes(page, drag)
        assert "2026-03-01T11:" in drawn  # UTC, whatever the zone of the browser
        assert page.locator(".wb-strip").count() == 1
        _changes(page, lambda: page.keyboard.press("s"))
        shown = page.locator(".wb-body .wb-grid svg").count()
        page.locator(".wb-body tr[data-name='host.vendor_thing']").first.click()
        page.wait_for_function(
            "n => document.querySelectorAll('.wb-body .wb-grid svg').length !== n", arg=shown, timeout=60_000
        )
        page.keyboard.press("p")
        page.wait_for_function(
            "() => document.querySelector('.wb-told').textContent.startsWith('kept 1')", timeout=60_000
        )
        assert page.seen == {"errors": [], "foreign": []}
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_timeout(1000)
        _saved_book_is_readable(page, tmp_path, address, token)


def _saved_book_is_readable(page, folder, address, token):
    """After the kernel ended the copy beside the live view still shows pictures and numbers."""
    saved = json.loads((folder / "look.ipynb").read_text(encoding="utf-8"))
    kinds = [set(output["data"]) for output in saved["cells"][1]["outputs"]]
    assert any("text/html" in kind for kind in kinds)
    assert (folder / "look.ipynb").stat().st_size < 500_000
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.goto("about:blank")
    page.goto(f"{address}/doc/tree/look.ipynb?token={token}")
    page.wait_for_selector(".jp-NotebookPanel details summary", timeout=120_000)
    page.locator(".jp-NotebookPanel details summary").last.click()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-NotebookPanel details img')].filter(i => i.complete && i.naturalWidth > 100).length >= 3",
        timeout=60_000,
    )
