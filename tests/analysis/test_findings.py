"""The JSON of findings: exactly the promised keys, plain values, no NaN."""

import json
import math

from workbench.model.findings import findings_json
from workbench.model.provenance import Provenance
from workbench.model.verdict import Reading, Verdict

KEYS = {
    *("rank", "outcome", "incidents", "episodes", "hypothesis", "digest", "ledger_id", "expected", "status", "signal"),
    *(
        "raw_names",
        "kind",
        "scope",
        "scale",
        "feature",
        "direction",
        "verdict",
        "reading",
        "p",
        "q",
        "bound_u",
        "effect",
        "lead_s",
    ),
    *("alarms", "checks", "observed"),
}
PARTS = {
    "effect": {"share_affected", "low", "high", "odds_ratio", "odds_ratio_time_matched"},
    "lead_s": {"median", "low", "high", "quality"},
    "alarms": {"precision", "recall", "false_per_entity_day"},
    "checks": {"guard", "placebo", "leave_one_out", "crossover", "reversed_time", "proxy"},
    "observed": {"cases", "controls", "coverage"},
}


def test_an_empty_verdict_has_every_key_and_nulls():
    verdict = Verdict(
        reading=Reading.PROXY,
        about="gpu.power_w",
        sentence="s",
        outcome="xid:79",
        signal="gpu.x",
        kind="metric",
        scope="gpu",
        incidents=3,
        episodes=2,
        tested=5,
        bound_u=math.inf,
        provenance=Provenance(function="wb.screen", inputs="case@1", seed=7),
    )
    whole = findings_json([verdict], "case@1", 7, 5)
    again = json.loads(json.dumps(whole, allow_nan=False))
    assert set(again) == {"schema", "workbench", "store_version", "seed", "tested", "findings"}
    assert (again["schema"], again["store_version"], again["seed"], again["tested"]) == (
        "workbench.findings/1",
        "case@1",
        7,
        5,
    )
    (finding,) = again["findings"]
    assert finding.keys() == KEYS
    for name, keys in PARTS.items():
        assert finding[name].keys() == keys
    assert finding["reading"] == "proxy of gpu.power_w"
    assert finding["verdict"] == "UNDECIDED"
    assert finding["p"] is finding["bound_u"] is finding["effect"]["low"] is None
    assert set(finding["checks"].values()) == {"not done"}
