"""Measure how often propagation holds where no kind has to do with another, and finds pairs that are planted.

Writes the tables of docs/propagation.md between its marks.

    python benchmarks/calibrate_propagation.py --runs 400
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402 - after the number of threads is set
from marked import write_between  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from nullworlds import MIXED, SPAN_US, T0_US, mixed, places  # noqa: E402 - of the tests

from workbench.analysis.mixedevents import MixedEvents  # noqa: E402
from workbench.analysis.occurrences import Rules  # noqa: E402
from workbench.analysis.propagation import propagation_of  # noqa: E402
from workbench.analysis.propagationresult import Propagation  # noqa: E402

PAIRS = {("kind:0", "kind:1"), ("kind:2", "kind:3")}


def ask(events: MixedEvents, seed: int) -> Propagation:
    """Within half an hour, 64 hosts, four days."""
    span_us = (T0_US, T0_US + SPAN_US)
    return propagation_of(events, places(), span_us=span_us, within_s=1800.0, seed=seed, rules=Rules(shifts=199))


def nulls(runs: int) -> list[str]:
    """One row per world."""
    rows = ["| world | shifted, any pair | matched, any pair | any pair holds |", "|---|---|---|---|"]
    for kind in MIXED:
        told = np.zeros(3)
        for seed in range(runs):
            found = ask(mixed(kind, np.random.default_rng([seed, 110])), seed)
            family, q = (found.pairs[name].to_numpy() for name in ("p_family", "q"))
            told += (np.any(family <= 0.05), np.any(q <= 0.05), found.holding.height > 0)
        rows.append(f"| {kind} | " + " | ".join(f"{share:.2f}" for share in told / runs) + " |")
        print(rows[-1], flush=True)
    return rows


def power(runs: int) -> list[str]:
    """One row per world and share of a that brings on b."""
    rows = [
        "| world | share of a that brings on b | planted pairs found | interval of delay covers | other pairs that hold, per run |",
        "|---|---|---|---|---|",
    ]
    for kind in ("unrelated", "bursts", "lemon hosts"):
        for share in (0.1, 0.2, 0.4):
            hits, other, covers = 0, 0, []
            for seed in range(runs):
                planted = ((0, 1, share, 120.0), (2, 3, share, 300.0))
                events = mixed(kind, np.random.default_rng([seed, 111]), planted=planted)
                for row in ask(events, seed).holding.iter_rows(named=True):
                    if (row["a"], row["b"]) not in PAIRS:
                        other += 1
                        continue
                    hits += 1
                    middle = 1 + (120.0 if row["a"] == "kind:0" else 300.0) * np.log(2)
                    if np.isfinite(row["delay_low_s"]):
                        covers.append(row["delay_low_s"] <= middle <= row["delay_high_s"])
            covered = f"{np.mean(covers):.2f}" if covers else "–"
            rows.append(f"| {kind} | {share} | {hits / 2 / runs:.2f} | {covered} | {other / runs:.2f} |")
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    page = options.docs / "propagation.md"
    write_between(page, "false claims", nulls(options.runs))
    write_between(page, "power", power(options.runs // 4))
    print(f"Wrote {page}.")


if __name__ == "__main__":
    main()
