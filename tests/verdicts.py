"""Verdicts of every reading, written by hand."""

from workbench.model.provenance import Provenance
from workbench.model.verdict import Alarms, Effect, Lead, Observed, Reading, Verdict

TOLD = Provenance(function="wb.screen", inputs="case-042@7", parameters={"before": "2h"}, seed=7, version="0.1.0")


def verdict(reading: Reading = Reading.PRECURSOR, **changes: object) -> Verdict:
    """Give a verdict with numbers in every part."""
    values: dict[str, object] = {
        "reading": reading,
        "sentence": "gpu.ecc_sbe_total precedes xid:79, and is not explained by what was recorded.",
        "outcome": "xid:79",
        "signal": "gpu.ecc_sbe_total",
        "kind": "metric",
        "scope": "gpu",
        "incidents": 34,
        "episodes": 21,
        "tested": 412,
        "provenance": TOLD,
        "raw_names": ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",),
        "feature": "rate level, 10 to 25 min before",
        "direction": "up",
        "p": 0.000011,
        "q": 0.03,
        "q_candidate": 0.004,
        "bound_u": 1.4,
        "about": {Reading.PROXY: "gpu.power_w", Reading.CONFOUNDED: "load"}.get(reading, ""),
        "effect": Effect(
            share_affected=0.61, low=0.42, high=0.78, odds_ratio=8.1, odds_ratio_time_matched=9.0, shift_sd=2.1,
            shift_low=1.2, shift_high=3.0, shift_conditional_sd=1.8,
        ),
        "lead": Lead(median=2400.0, low=1500.0, high=3900.0, quality="step"),
        "alarms": Alarms(precision=0.31, recall=0.58, false_per_entity_day=0.02),
        "checks": {
            "guard": "passed", "placebo": "passed", "leave_one_out": "failed" if reading is Reading.UNSTABLE else "passed",
            "crossover": "passed", "reversed_time": "passed", "proxy": "not done",
        },
        "observed": Observed(cases=21, controls=210, coverage=0.97),
        "details": {"placebo": {"z": 5.1, "z_placebo": 0.3}, "leave_one_out": {"worst": "c1/node03", "p": 0.02}},
    }  # fmt: skip
    return Verdict(**{**values, **changes})  # type: ignore[arg-type]


def one_of_each() -> list[Verdict]:
    """Give a verdict of every reading."""
    return [verdict(reading, signal=f"gpu.signal_{number}") for number, reading in enumerate(Reading)]
