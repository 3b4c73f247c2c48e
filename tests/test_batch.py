"""A batch of files: isolated items, exit codes, findings, JUnit with hostile text."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from memorystore import MemoryStore, world_fleet

from workbench.batch import BatchItem, BatchResult, junit_xml, run_batch
from workbench.errors import NothingToDoError, SpecificationError
from workbench.hypotheses.spec import Hypothesis
from workbench.hypotheses.toml import write_hypotheses
from workbench.model.provenance import Provenance
from workbench.model.verdict import Reading, Verdict
from workbench.simulator.world import make_world

#: The loader's module; as an attribute, workbench.panel may be the function of that name.
LOADER = import_module("workbench.panel.load")
NAMES = ("shift_60", "noise_ar99_1", "noise_walk_1")
HOSTILE = "<script>\"&' ]]> \x00\x1b[31m \ufffe \U0001f600 " + chr(0x202E)


@pytest.fixture(scope="module")
def world():
    return make_world(seed=7, failures=30, hosts=48, days=2)


@pytest.fixture
def store(world, monkeypatch):
    monkeypatch.setattr(LOADER, "fleets", lambda store, incidents, **_: store.fleets)
    return MemoryStore(
        metrics=NAMES, kinds=("failure",), incidents=world.incidents(), fleets=(world_fleet(world, *NAMES),)
    )


def claim(metric, **more):
    return Hypothesis(**{"name": f"{metric} precedes", "when": {"level": metric}, "then": "failure", **more})


def files(tmp_path, *groups):
    paths = []
    for number, claims in enumerate(groups):
        path = tmp_path / f"claims{number}.toml"
        path.write_text(write_hypotheses(claims), encoding="utf-8")
        paths.append(path)
    return paths


def test_a_batch_over_files_is_one_batch(store, tmp_path):
    paths = files(tmp_path, [claim("noise_ar99_1"), claim("shift_60", expect="SUPPORTED")], [claim("noise_walk_1")])
    told = []
    result = run_batch(paths, store, seed=7, progress=lambda *step: told.append(step))
    assert [item.file for item in result.items] == [str(paths[0])] * 2 + [str(paths[1])]
    assert [v.signal for v in result.verdicts] == ["noise_ar99_1", "shift_60", "noise_walk_1"]
    assert all(v.tested == 3 for v in result.verdicts)
    assert result.exit_code == 0
    assert result.failed == ()
    assert len(told) == 3
    commits = len(store.commits)
    again = run_batch(paths, store, seed=8)
    assert len(store.commits) == commits
    assert again.table().drop("file").equals(result.table().drop("file"))


def test_findings_are_one_object_of_plain_json(store, tmp_path):
    result = run_batch(files(tmp_path, [claim("shift_60", expect="SUPPORTED"), claim("noise_walk_1")]), store, seed=7)
    whole = json.loads(json.dumps(result.findings(), allow_nan=False))
    assert (whole["schema"], whole["seed"], whole["tested"]) == ("workbench.findings/1", 7, 2)
    first = whole["findings"][0]
    assert first["verdict"] == "SUPPORTED"
    assert first["expected"] == "SUPPORTED"
    assert first["hypothesis"] == "shift_60 precedes"
    assert first["digest"] == claim("shift_60").digest
    assert first["ledger_id"]
    assert set(first["checks"]) >= {"guard", "placebo", "leave_one_out", "crossover", "reversed_time", "proxy"}


def test_a_verdict_that_is_not_expected_gives_exit_code_one(store, tmp_path):
    result = run_batch(files(tmp_path, [claim("shift_60", expect="REFUTED"), claim("noise_walk_1")]), store, seed=7)
    assert result.exit_code == 1
    (case, _) = ET.fromstring(junit_xml(result)).iter("testcase")
    assert case.find("failure").get("message") == "SUPPORTED (precursor); expected REFUTED"


def test_an_item_that_fails_inside_gives_exit_code_four_and_the_others_are_written(store, tmp_path):
    fleet = store.fleets[0]

    def load(name):
        if name == "noise_walk_1":
            raise ZeroDivisionError("a defect inside")
        return fleet.load(name)

    store.fleets = (replace(fleet, load=load),)
    paths = files(tmp_path, [claim("shift_60", expect="REFUTED"), claim("noise_walk_1"), claim("no_such_metric")])
    result = run_batch(paths, store, seed=7)
    assert result.exit_code == 4
    assert [name for name, _ in result.failed] == ["noise_walk_1 precedes", "no_such_metric precedes"]
    assert "ZeroDivisionError: a defect inside" in dict(result.failed)["noise_walk_1 precedes"]
    assert "no metric 'no_such_metric' in the store" in dict(result.failed)["no_such_metric precedes"]
    assert len(result.verdicts) == 1
    assert result.table()["error"].null_count() == 1


def test_mistakes_in_any_file_stop_the_batch_before_anything_is_judged(store, tmp_path):
    paths = files(tmp_path, [claim("shift_60")], [claim("shift_60")])
    paths[1].write_text(paths[1].read_text() + "oops = 1\n")
    with pytest.raises(SpecificationError) as caught:
        run_batch(paths, store, seed=7)
    assert len(caught.value.mistakes) == 2  # the name twice, and the key
    assert store.commits == []
    with pytest.raises(NothingToDoError):
        run_batch([], store, seed=7)


def _verdict(**more):
    facts = {
        "reading": Reading.CANDIDATE, "sentence": "s", "outcome": "xid", "signal": "gpu.power_w", "kind": "metric", "scope": "gpu",
        "incidents": 3, "episodes": 2, "tested": 1, "provenance": Provenance(function="wb.judge", inputs="case@1", seed=7),
    }  # fmt: skip
    return Verdict(**{**facts, **more})


def _result(*items):
    return BatchResult(
        items=items, store_version="1", seed=7, provenance=Provenance(function="run_batch", inputs="case@1")
    )


def test_junit_holds_hostile_text_and_still_parses():
    hostile = Hypothesis(
        name=HOSTILE.replace("\x00", "").replace("\x1b", "").replace("\ufffe", "").replace(chr(0x202E), ""),
        when={"level": "a.b"},
        then="xid",
        expect="SUPPORTED",
    )
    result = _result(
        BatchItem(file=HOSTILE, claim=hostile, verdict=_verdict(sentence=HOSTILE)),
        BatchItem(file=HOSTILE, claim=hostile, error=HOSTILE),
    )
    root = ET.fromstring(junit_xml(result))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "1")
    one, two = root.iter("testcase")
    assert one.get("name") == hostile.name
    assert "\\x00\\x1b[31m" in one.find("failure").text
    assert "\U0001f600" in two.find("error").text
    assert "<script>" not in junit_xml(result)
    assert "<script>" not in result._repr_html_()


def test_an_empty_result_is_fine():
    result = _result()
    assert (result.exit_code, result.table().height, result.verdicts) == (0, 0, ())
    assert ET.fromstring(junit_xml(result)).get("tests") == "0"


def test_a_batch_draws_the_effects_that_were_measured():
    claimed = Hypothesis(name="a", when={"level": "a.b"}, then="xid")
    effect = replace(_verdict().effect, shift_sd=1.0, shift_low=0.5, shift_high=1.5)
    result = _result(
        BatchItem(file="f", claim=claimed, verdict=_verdict(effect=effect)),
        BatchItem(file="f", claim=claimed, verdict=_verdict()),
    )
    assert sum(np.size(trace.x) for trace in result.plot().data) == 1
