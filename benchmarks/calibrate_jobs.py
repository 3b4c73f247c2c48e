"""Measure how often jobs are told apart where no member departs, how often where one does, and who is ranked first.

Writes the tables of docs/jobs.md between its marks.

    python benchmarks/calibrate_jobs.py --seeds 80
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from marked import write_between  # noqa: E402 - after the number of threads is set
from scipy.stats import binomtest  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from jobworlds import TRAPS, sick_job, world  # noqa: E402 - of the tests

from workbench.analysis.jobmembers import measure_jobs  # noqa: E402
from workbench.analysis.ranking import rank_members_of  # noqa: E402
from workbench.timebase import to_us  # noqa: E402

#: (jobs, share with a member that departs, sd, measured before: share with p <= .05 and <= .01)
POWER = (
    (5, 0.3, 3.0, "0.35 / 0.14"), (5, 0.6, 3.0, "0.42 / 0.28"), (10, 0.3, 3.0, "0.49 / 0.26"), (10, 0.6, 3.0, "0.74 / 0.46"),
    (20, 0.3, 3.0, "0.53 / 0.25"), (20, 0.6, 3.0, "0.88 / 0.76"), (40, 0.3, 3.0, "0.78 / 0.65"), (20, 0.6, 1.5, "0.24 / 0.11"),
    (10, 1.0, 3.0, "0.96 / 0.89"), (10, 0.6, 6.0, "0.95 / 0.91"),
)  # fmt: skip
RANKED = {
    (6, 1.5): "0.31 / 0.71", (6, 3.0): "0.70 / 0.91", (6, 6.0): "0.97 / 1.00", (24, 1.5): "0.21 / 0.41", (24, 3.0): "0.55 / 0.81",
    (24, 6.0): "0.97 / 1.00", (48, 1.5): "0.15 / 0.29", (48, 3.0): "0.56 / 0.81", (48, 6.0): "0.97 / 0.99",
}  # fmt: skip


def told(hits: int, runs: int) -> str:
    """Share with its exact 95 % bounds."""
    bounds = binomtest(hits, runs).proportion_ci(0.95, method="exact")
    return f"{hits / runs:.2f} ({bounds.low:.2f} to {bounds.high:.2f})"


def seeds_text(seeds: int) -> str:
    """Say which seeds."""
    return f"Seeds 0 to {seeds - 1}; exact 95 % bounds."


def asked(seeds: int, **how: object) -> tuple[str, str]:
    """Share of worlds with p up to .05, and up to .01."""
    p = []
    for seed in range(seeds):
        view, hits = world(seed, **how)
        p.append(measure_jobs(view, hits, before_s=7200.0, seed=seed, hypotheses=1)[0].p)
    return told(sum(one <= 0.05 for one in p), seeds), told(sum(one <= 0.01 for one in p), seeds)


def nulls(seeds: int) -> list[str]:
    """One row per trap."""
    rows = ["| world, 20 jobs, no member departs | p <= .05 | p <= .01 |", "|---|---|---|"]
    for trap in TRAPS:
        rows.append(f"| {trap} | {' | '.join(asked(seeds, trap=trap))} |")
        print(rows[-1], flush=True)
    return rows


def power(seeds: int) -> list[str]:
    """One row per number of jobs, share and size."""
    rows = [
        "| jobs | share with a member that departs | sd | p <= .05 | p <= .01 | first measured |",
        "|---|---|---|---|---|---|",
    ]
    for jobs, share, delta, before in POWER:
        five, one = asked(seeds, incidents=jobs, share=share, delta=delta)
        rows.append(f"| {jobs} | {share} | {delta} | {five} | {one} | {before} |")
        print(rows[-1], flush=True)
    return rows


def ranked(seeds: int) -> list[str]:
    """One row per size of the job and of the departure."""
    rows = ["| members | sd | first | among three | first measured |", "|---|---|---|---|---|"]
    for (members, delta), before in RANKED.items():
        first = three = 0
        for seed in range(seeds):
            view, hit, culprit = sick_job(seed, members=members, delta=delta)
            names = rank_members_of(view, view.runs[0], to_us(hit.ts)).members["member"].to_list()
            first, three = first + (names[0] == culprit), three + (culprit in names[:3])
        rows.append(f"| {members} | {delta} | {told(first, seeds)} | {told(three, seeds)} | {before} |")
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    page = options.docs / "jobs.md"
    write_between(page, "ranking", [seeds_text(2 * options.seeds), "", *ranked(2 * options.seeds)])
    write_between(page, "false claims", [seeds_text(options.seeds), "", *nulls(options.seeds)])
    write_between(page, "power", [seeds_text(options.seeds // 2), "", *power(options.seeds // 2)])
    print(f"Wrote {page}.")


if __name__ == "__main__":
    main()
