"""Findings as JSON: the seed that was used is the one that is written."""

from dataclasses import replace

from verdicts import TOLD, verdict

from workbench.model.findings import findings_json


def test_verdicts_of_an_earlier_run_keep_its_seed():
    assert findings_json([verdict(), verdict()], "case@1", 9, 2)["seed"] == 7
    mixed = [verdict(), verdict(provenance=replace(TOLD, seed=9))]
    assert findings_json(mixed, "case@1", 9, 2)["seed"] == 9
