"""Event signals end to end: the Azure sample, whose rule is known (five true pairs, fifteen decoys)."""

import azurepdm as azure
import pytest
from shared import shared_path

from workbench.analysis.screen import screen
from workbench.model.verdict import Reading, Word


@pytest.fixture(scope="module")
def fleet():
    return azure.azure_fleet(shared_path("data", "azure_pdm"))


@pytest.mark.parametrize("component", azure.COMPONENTS)
def test_errors_before_failures_of_a_component(fleet, component):
    incidents = azure.azure_incidents(shared_path("data", "azure_pdm"), component)
    result = screen([fleet], incidents, f"replaced:{component}", before_s=azure.BEFORE_S, seed=7)
    true = {name for name, target in azure.TRUE.items() if target == component}
    for verdict in result.verdicts:
        name = verdict.signal.removeprefix("error:")
        if name not in true:
            assert verdict.word is not Word.SUPPORTED, verdict.sentence
            continue
        proxy_of_true = verdict.reading is Reading.PROXY and verdict.about.removeprefix("error:") in true
        assert verdict.word is Word.SUPPORTED or proxy_of_true, verdict.sentence
        assert verdict.direction == "up"
        # published: recall .958 to .988, precision .179 to .497 over the whole year
        assert verdict.alarms.recall > 0.85
        assert 0.1 < verdict.alarms.precision < 0.6
        assert verdict.effect.low > 0.8
