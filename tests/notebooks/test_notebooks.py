"""Every notebook runs from top to bottom, and says what it should."""

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from shared import ROOT

FOLDER = ROOT / "notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", BOOKS, ids=[path.name for path in BOOKS])
def test_notebooks_are_kept_without_outputs(path):
    book = nbformat.read(path, as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert "widgets" not in book.metadata


def _run(path, *more):
    """Run a notebook and some cells after it; give the text that the last of them printed."""
    book = nbformat.read(path, as_version=4)
    book.cells += [nbformat.v4.new_code_cell(source) for source in more]
    NotebookClient(
        book,
        timeout=600,
        kernel_name="python3",
        store_widget_state=False,
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute()
    return book


def _texts(book):
    return ["".join(output.get("text", "") for output in cell.get("outputs", [])) for cell in book.cells]


def test_the_first_incident(monkeypatch):
    monkeypatch.delenv("WORKBENCH_STORE", raising=False)
    ask = """import json
from workbench.reports.verify import verify
told = verify(page)
print(json.dumps({"unaltered": told.unaltered, "tested": told.facts["tested"]["count"], "word": verdict.word.value,
    "screened": len(screen.verdicts), "stand_out": view.table("stand_out")["metric"][0], "rejected": int(report.table().height > 0),
    "supported": sorted({one.signal for one in screen.verdicts if one.word == "SUPPORTED"})}))"""
    book = _run(FOLDER / "01_first_incident.ipynb", ask)
    said = json.loads(_texts(book)[-1])
    assert said["unaltered"]
    assert said["tested"] == said["screened"] + 1
    truth = json.loads((Path(ROOT) / "data_samples/first_incident/truth.json").read_text(encoding="utf-8"))
    planted = {one["signal"] for one in truth["signals"] if one["is_precursor"]}
    allowed = {one["signal"] for one in truth["signals"] if "SUPPORTED" in one["expected"]["xid:48,94,95"]}
    assert "gpu.ecc_sbe_total" in planted
    assert said["word"] == "SUPPORTED"
    assert set(said["supported"]) <= allowed
    assert said["stand_out"] == "gpu.ecc_sbe_total"
    shown = [output for cell in book.cells for output in cell.get("outputs", [])]
    copies = [
        output
        for output in shown
        if "copy for reading without a kernel" in str(output.get("data", {}).get("text/html", ""))
    ]
    assert len(copies) == 1
    assert len(nbformat.writes(book)) < 2_000_000


def test_exploring(monkeypatch):
    monkeypatch.delenv("WORKBENCH_STORE", raising=False)
    ask = """import json
print(json.dumps({"pairs": pairs.sentence, "flow": flow.believed.height, "again": again.sentence, "noisy": noisy.sentence,
    "before": before.sentence, "off": clocks.filter(clocks["off"])["host"].to_list()}))"""
    said = json.loads(_texts(_run(FOLDER / "02_explore.ipynb", ask))[-1])
    assert "gpu.temperature_c and gpu.power_w go together" in said["pairs"]
    assert said["flow"] == 0, "nothing was planted in the coolant flow"
    assert "nfs:ok come after nfs:not_responding" in said["before"]
    assert said["again"].startswith("No sign"), "losses were planted on devices at random"
    assert "comes back to the same entity" in said["noisy"], "xid:31 was planted as one bad device"
    truth = json.loads((Path(ROOT) / "data_samples/first_incident/truth.json").read_text(encoding="utf-8"))
    assert len(said["off"]) == 1
    assert said["off"][0].endswith(truth["clocks"]["fast_host"])
