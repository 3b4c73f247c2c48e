"""Measure how often change points are claimed where there are none, and found where there are some.

Writes the tables of docs/change_points.md between its marks.

    python benchmarks/calibrate_change.py --runs 400
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from marked import write_between
from scipy.stats import ks_2samp

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from nullworlds import STILL, WANDERING, one_series  # noqa: E402 - the worlds of the tests, with more runs

from workbench.kernels.change import find_changes, find_spread_changes  # noqa: E402
from workbench.kernels.segment import constant_pieces  # noqa: E402

CELLS = 2000
SHARED = Path(os.environ.get("WORKBENCH_SHARED", ROOT.parent / "shared"))


def usual_penalty(values: np.ndarray) -> bool:
    """PELT's usual penalty on squared errors: 2 log n times the variance of the differences by 2."""
    penalty = 2 * np.log(values.size) * max(float(np.diff(values).var()) / 2, 1e-12)
    return bool(constant_pieces(values, penalty, least=2).size)


def windows(values: np.ndarray) -> bool:
    """Kolmogorov and Smirnov beside each other on windows of 100 cells, at 5 % over the number of windows."""
    edges = range(100, values.size - 99, 100)
    p = [ks_2samp(values[at - 100 : at], values[at : at + 100]).pvalue for at in edges]
    return bool(min(p) <= 0.05)


def false_claims(runs: int) -> list[str]:
    """One row per kind of series: share with any claim at 5 % and at 1 %, and share that could be judged."""
    rows = [
        "| series | KS windows | PELT, usual penalty | level or slope, 5 % | 1 % | of these, excursions | spread, 5 % | can be judged |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind in (*STILL, *WANDERING):
        told = np.zeros(7)
        for seed in range(runs):
            values = one_series(kind, np.random.default_rng([seed, 90]), CELLS)
            found, spread = find_changes(values), find_spread_changes(values)
            lasting = found.holds and bool((~found.returns).any())
            strong = found.holds and bool((found.p[~found.returns] <= 0.01).any())
            away = found.holds and bool(found.returns.any())
            wide = spread.holds and spread.at.size > 0
            told += (windows(values), usual_penalty(values), lasting, strong, away, wide, found.holds)
        cells = " | ".join(f"{share:.3f}" for share in told / runs)
        rows.append(f"| {kind} | {cells} |")
        print(rows[-1], flush=True)
    return rows


def power(runs: int) -> list[str]:
    """One row per noise and size of a step: found within 40 cells, and its interval covers."""
    rows = ["| noise | step (sd) | found | interval covers | median width (cells) |", "|---|---|---|---|---|"]
    for kind in ("iid", "ar50", "ar90", "heavy tail"):
        for size in (0.5, 1.0, 2.0):
            told = []
            for seed in range(runs):
                rng = np.random.default_rng([seed, 91])
                values, at = one_series(kind, rng, CELLS), int(rng.integers(300, 1700))
                values[at:] += size * float(np.subtract(*np.percentile(values, [84, 16]))) / 2
                found = find_changes(values)
                near = np.abs(found.at - at) if found.holds and found.kind == "level" else np.empty(0)
                if near.size and near.min() <= 40:
                    one = int(near.argmin())
                    told.append((found.low[one] <= at <= found.high[one], found.high[one] - found.low[one]))
            covers = f"{np.mean([c for c, _ in told]):.2f} | {np.median([w for _, w in told]):.0f}" if told else "– | –"
            rows.append(f"| {kind} | {size} | {len(told) / runs:.2f} | {covers} |")
            print(rows[-1], flush=True)
    return rows


def f1(annotations: list[set[int]], told: set[int]) -> float:
    """Score of the benchmark of van den Burg and Williams (2020): margin of 5, 0 is always a change."""
    told = told | {0}
    marked = [one | {0} for one in annotations]
    precision = _hits(set().union(*marked), told) / len(told)
    recall = float(np.mean([_hits(one, told) / len(one) for one in marked]))
    return 2 * precision * recall / (precision + recall)


def _hits(true: set[int], told: set[int]) -> int:
    left, count = set(told), 0
    for at in sorted(true):
        near = [one for one in left if abs(one - at) <= 5]
        if near:
            left.discard(min(near, key=lambda one: abs(one - at)))
            count += 1
    return count


def cover(annotations: list[set[int]], told: set[int], size: int) -> float:
    """Mean over annotators of how well each of their pieces is covered (Jaccard, weighted by length)."""

    def pieces(changes: set[int]) -> list[tuple[int, int]]:
        edges = [0, *sorted(changes - {0}), size]
        return list(pairwise(edges))

    scores = []
    for one in annotations:
        best = [
            (end - start)
            * max(max(0, min(end, b) - max(start, a)) / (max(end, b) - min(start, a)) for a, b in pieces(told))
            for start, end in pieces(one)
        ]
        scores.append(sum(best) / size)
    return float(np.mean(scores))


def public(find: Callable[[np.ndarray], set[int]]) -> list[str]:
    """Mean scores on the series of TCPD beside the published ones of the same series."""
    folder = SHARED / "data" / "tcpd"
    if not folder.is_dir():
        return ["The public series are not here (WORKBENCH_SHARED)."]
    annotations = json.loads((folder / "annotations.json").read_text())
    with (folder / "published_default_scores.csv").open() as file:
        published = {row["series"]: row for row in csv.DictReader(file)}
    ours: dict[str, tuple[float, float]] = {}
    for path in sorted((folder / "datasets").glob("*.json")):
        series = json.loads(path.read_text())
        if series["n_dim"] != 1:
            continue
        raw = np.array(
            [np.nan if value in (None, "NaN") else value for value in series["series"][0]["raw"]], dtype=float
        )
        marks = [set(one) for one in annotations[series["name"]].values()]
        told = find(raw)
        ours[series["name"]] = (f1(marks, told), cover(marks, told, raw.size))
    methods = ("binseg", "pelt", "amoc", "bocpd", "segneigh", "zero")
    whole = [name for name in ours if all(published[name][f"f1_{method}"] for method in methods)]
    rows = [f"| method ({len(whole)} series) | F1 | cover |", "|---|---|---|"]
    mean = np.mean([ours[name] for name in whole], axis=0)
    rows.append(f"| workbench, what it believes | {mean[0]:.3f} | {mean[1]:.3f} |")
    for method in methods:
        told = [np.mean([float(published[name][f"{score}_{method}"]) for name in whole]) for score in ("f1", "cover")]
        rows.append(f"| {method}, default (published) | {told[0]:.3f} | {told[1]:.3f} |")
    return rows


def believed(raw: np.ndarray) -> set[int]:
    """Give the changes that are believed, as cells of the series with its gaps."""
    seen = np.flatnonzero(np.isfinite(raw))
    found = find_changes(raw[seen])
    return {int(seen[at]) for at in found.at} if found.holds else set()


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    page = options.docs / "change_points.md"
    write_between(page, "public series", public(believed))
    write_between(page, "false claims", false_claims(options.runs))
    write_between(page, "power", power(options.runs // 2))
    print(f"Wrote {page}.")


if __name__ == "__main__":
    main()
