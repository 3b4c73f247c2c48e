"""Measure how often recurrence claims repetition and lemons where all fail alike, and finds lemons that are planted.

Writes the tables of docs/recurrence.md between its marks.

    python benchmarks/calibrate_recurrence.py --runs 400
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402 - after the number of threads is set
from marked import write_between  # noqa: E402
from scipy.stats import poisson  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from nullworlds import FAILING, failing  # noqa: E402 - of the tests

from workbench.analysis.occurrences import Rules  # noqa: E402
from workbench.analysis.recurrence import recurrence_of  # noqa: E402
from workbench.analysis.recurrenceresult import Recurrence  # noqa: E402

World = tuple[Any, Any, Any, Any]


def ask(world: World, seed: int) -> Recurrence:
    """Hold failures against chance with the exposure that is known."""
    failures, places, exposure, span_us = world
    return recurrence_of(failures, places, span_us=span_us, seed=seed, exposure=exposure, rules=Rules(shifts=199))


def naive(world: World) -> bool:
    """Tell whether any count is too large for one rate of all hosts, Bonferroni over hosts."""
    counts = np.bincount(world[0].place, minlength=200)
    return bool(poisson.sf(counts.max() - 1, counts.mean()) * counts.size <= 0.05)


def nulls(runs: int) -> list[str]:
    """One row per world."""
    rows = ["| world | one Poisson rate for all | p of recurrence | any host stands out |", "|---|---|---|---|"]
    for kind in FAILING:
        told = np.zeros(3)
        for seed in range(runs):
            world = failing(kind, np.random.default_rng([seed, 130]))
            found = ask(world, seed)
            told += (naive(world), found.holds, found.standing_out.height > 0)
        rows.append(f"| {kind} | " + " | ".join(f"{share:.2f}" for share in told / runs) + " |")
        print(rows[-1], flush=True)
    return rows


def _covered(found: Recurrence, factor: float) -> tuple[float, float, float]:
    """Shares of hosts whose true ratio lies within: exact bounds of lemons, shrunken ones of all, of lemons."""
    table = found.lemons.sort("place")
    true = np.where(np.arange(200) < 3, factor, 1.0) * 200 / (3 * factor + 197)
    days = table["exposure_days"].to_numpy() / table["expected"].to_numpy()
    exact = [table[name].to_numpy() * days for name in ("rate_low", "rate_high")]
    drawn = [table[name].to_numpy() for name in ("shrunken_low", "shrunken_high")]
    inside = [(low <= true) & (true <= high) for low, high in (exact, drawn)]
    return float(inside[0][:3].mean()), float(inside[1].mean()), float(inside[1][:3].mean())


def power(runs: int) -> list[str]:
    """One row per world, number of failures and factor."""
    names = ["world", "failures", "factor", "p of recurrence", "lemons found", "others named, per run"]
    names += ["exact bounds cover, lemons", "shrunken covers, all hosts", "shrunken covers, lemons"]
    rows = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for kind in ("unrelated", "came late"):
        for count in (60, 200):
            for factor in (5.0, 10.0, 20.0):
                told, covers = np.zeros(3), []
                for seed in range(runs):
                    rng = np.random.default_rng([seed, 131])
                    found = ask(failing(kind, rng, lemons=3, factor=factor, count=count), seed)
                    named = set(found.standing_out["place"].to_list())
                    truth = {f"c1/node{at:03d}" for at in range(3)}
                    told += (found.holds, len(named & truth) / 3, len(named - truth))
                    if kind == "unrelated":  # all observed alike, so the ratio to expected is known
                        covers.append(_covered(found, factor))
                covered = " | ".join(f"{share:.2f}" for share in np.mean(covers, axis=0)) if covers else "– | – | –"
                shares = " | ".join(f"{share:.2f}" for share in told / runs)
                rows.append(f"| {kind} | {count} | {factor:g} | {shares} | {covered} |")
                print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    page = options.docs / "recurrence.md"
    write_between(page, "false claims", nulls(options.runs))
    write_between(page, "power", power(options.runs // 4))
    print(f"Wrote {page}.")


if __name__ == "__main__":
    main()
