"""Measure how often coincidence holds where there is nothing, and where a precursor is planted.

Writes the tables of docs/coincidence.md between its marks.

    python benchmarks/calibrate_coincidence.py --runs 400
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from marked import write_between

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from nullworlds import EVENTS, SPAN_US, T0_US, UNSOLVED, events, places, preceded  # noqa: E402 - of the tests

from workbench.analysis.coincidence import Coincidence, Occurrences, Rules, coincidence_of  # noqa: E402

Make = Callable[[np.random.Generator], tuple[Occurrences, Occurrences]]


def ask(pair: tuple[Occurrences, Occurrences], seed: int) -> Coincidence:
    """Within an hour, 64 hosts, four days."""
    span_us = (T0_US, T0_US + SPAN_US)
    return coincidence_of(*pair, places(), span_us=span_us, within_s=3600.0, seed=seed, rules=Rules(shifts=199))


def row(name: str, make: Make, runs: int, stream: int) -> str:
    """Shares of runs: naive, shifted, matched p at most .05; holds."""
    told = np.zeros(4)
    for seed in range(runs):
        found = ask(make(np.random.default_rng([seed, stream])), seed)
        told += (found.p_naive <= 0.05, found.p_shift <= 0.05, found.p_matched <= 0.05, found.holds)
    line = f"| {name} | " + " | ".join(f"{share:.2f}" for share in told / runs) + " |"
    print(line, flush=True)
    return line


HEAD = ["| world | naive Poisson p | shifted p | matched p | holds |", "|---|---|---|---|---|"]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    page = options.docs / "coincidence.md"
    nulls = [row(kind, lambda rng, kind=kind: events(kind, rng), options.runs, 60) for kind in (*EVENTS, *UNSOLVED)]
    write_between(page, "false claims", [*HEAD, *nulls])
    truths = [
        row(
            f"{share:.0%} of {b} b preceded",
            lambda rng, share=share, b=b: preceded(rng, share=share, b=b),
            options.runs // 2,
            61,
        )
        for share in (0.1, 0.2, 0.4)
        for b in (10, 20, 40)
    ]
    write_between(page, "power", [*HEAD, *truths])
    print(f"Wrote {page}.")


if __name__ == "__main__":
    main()
