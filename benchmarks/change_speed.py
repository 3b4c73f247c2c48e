"""Measure the search for change points beside other libraries, in one run; writes a table of docs/performance.md.

    pip install fastcpd ruptures
    python benchmarks/change_speed.py

Libraries that are not installed are left out and named. CPU seconds of one thread, the median of several runs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402 - after the number of threads is set
from marked import write_between  # noqa: E402

from workbench.kernels.change import find_changes  # noqa: E402
from workbench.kernels.changenull import penalty_at  # noqa: E402
from workbench.kernels.segment import constant_pieces  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
Search = Callable[[np.ndarray], Sequence[int]]


def planted(seed: int, size: int, changes: int) -> tuple[np.ndarray, np.ndarray]:
    """White noise of sd 1 with steps of 1.5 to 3 at random places, at least 50 cells apart."""
    rng = np.random.default_rng([seed, size])
    at = np.sort(rng.choice(np.arange(50, size - 50, 50), changes, replace=False))
    levels = np.cumsum(rng.choice([-1, 1], changes + 1) * rng.uniform(1.5, 3, changes + 1))
    return rng.normal(size=size) + levels[np.searchsorted(at, np.arange(size), side="right")], at


def ours(values: np.ndarray) -> Sequence[int]:
    """Search only, with the noise known, as the others do it."""
    scale = float(np.median(np.abs(np.diff(values)))) / 0.6745
    return constant_pieces(values, penalty_at(0.01, values.size / 5, "constant") * scale**2 / 2, least=5).tolist()


def ours_whole(values: np.ndarray) -> Sequence[int]:
    """Everything: noise, p of each change, intervals, and what else explains the series."""
    return find_changes(values, least=5).at.tolist()


def peers(size: int) -> dict[str, Search]:
    """Give what is installed; ruptures' default only where it ends within a minute."""
    found: dict[str, Search] = {}
    if find_spec("fastcpd"):
        from fastcpd import detect_mean

        found["fastcpd mean"] = lambda values: [int(at) for at in np.ravel(detect_mean(values.reshape(-1, 1)).cp_set)]
    if find_spec("ruptures"):
        import ruptures

        bound = 3 * np.log(size)
        found["ruptures KernelCPD linear"] = lambda values: (
            ruptures.KernelCPD("linear").fit(values).predict(pen=bound)[:-1]
        )
        if size <= 2000:
            found["ruptures Pelt l2 (default)"] = lambda values: ruptures.Pelt("l2").fit(values).predict(pen=bound)[:-1]
    return found


def score(told: Sequence[int], true: np.ndarray) -> float:
    """F1 with a margin of ten cells."""
    hits = sum(bool(np.any(np.abs(np.asarray(told) - at) <= 10)) for at in true) if len(told) else 0
    return 2 * hits / (len(told) + true.size)


def measured(search: Search, size: int, changes: int, runs: int) -> tuple[float, float]:
    """Give median CPU seconds and mean F1."""
    seconds, scores = [], []
    search(planted(0, size, changes)[0])  # compile
    for seed in range(1, runs + 1):
        values, true = planted(seed, size, changes)
        start = time.process_time()
        told = search(values)
        seconds.append(time.process_time() - start)
        scores.append(score(told, true))
    return statistics.median(seconds), statistics.fmean(scores)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    rows = ["| cells, steps | search | CPU ms | ours is | F1 |", "|---|---|---|---|---|"]
    for size, changes, runs in ((2_000, 6, 21), (20_000, 20, 11)):
        told = {"workbench, search": measured(ours, size, changes, runs)}
        told["workbench, with p, intervals and rivals"] = measured(ours_whole, size, changes, runs)
        for name, search in peers(size).items():
            told[name] = measured(search, size, changes, 3 if "Pelt" in name else runs)
        base = told["workbench, search"][0]
        for name, (seconds, f1) in told.items():
            ratio = "" if name == "workbench, search" else f"{seconds / base:,.2f}x"
            rows.append(f"| {size:,}, {changes} | {name} | {seconds * 1e3:,.2f} | {ratio} | {f1:.2f} |")
            sys.stderr.write(rows[-1] + "\n")
    missing = [name for name in ("fastcpd", "ruptures") if not find_spec(name)]
    rows += ["", f"Not installed, so not measured: {', '.join(missing)}."] if missing else []
    write_between(options.docs / "performance.md", "change points", rows)


if __name__ == "__main__":
    main()
