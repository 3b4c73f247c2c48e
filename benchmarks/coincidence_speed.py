"""Measure the count of coincidences of all kinds with all kinds beside DuckDB and numpy, in one run; writes docs/performance.md.

    python benchmarks/coincidence_speed.py

CPU seconds of one thread, the median of several runs; the counts are compared and must be equal.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import duckdb  # noqa: E402 - after the number of threads is set
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
from marked import write_between  # noqa: E402

from workbench.kernels.propagate import Kinded, pair_counts, pair_null  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
KINDS, EVENTS, SPAN_US, WINDOW = 500, 100_000, 365 * 86_400_000_000, (1, 600_000_000)
Counts = np.ndarray


def events(seed: int, places: int) -> Kinded:
    """Events of 500 kinds, anywhere, at any time of a year."""
    rng = np.random.default_rng([seed, 140])
    return Kinded(
        kind=rng.integers(0, KINDS, EVENTS),
        place=rng.integers(0, places, EVENTS),
        time=rng.integers(0, SPAN_US, EVENTS),
    )


def table(one: Kinded) -> pa.Table:
    """The same as Arrow."""
    return pa.table({"id": np.arange(one.kind.size), "kind": one.kind, "place": one.place, "ts": one.time})


def by_duckdb(a: Kinded, b: Kinded) -> Callable[[], Counts]:
    """Range join, each b counted once for each kind of a before it."""
    connection = duckdb.connect()
    connection.execute("set threads = 1")
    for name, one in (("a", a), ("b", b)):
        connection.register(f"_{name}", table(one))
        connection.execute(f"create table {name} as from _{name}")
    query = f"""
        select a_kind, b_kind, count(*) from (
            select distinct a.kind as a_kind, b.kind as b_kind, b.id from b join a
            on a.place = b.place and a.ts between b.ts - {WINDOW[1]} and b.ts - {WINDOW[0]})
        group by all
    """

    def run() -> Counts:
        found = connection.sql(query).fetchnumpy()
        counts = np.zeros((KINDS, KINDS), np.int64)
        counts[found["a_kind"], found["b_kind"]] = found["count_star()"]
        return counts

    return run


def by_numpy(a: Kinded, b: Kinded) -> Callable[[], Counts]:
    """One binary search of all b in the sorted events of each kind of a."""
    stride = 3 * SPAN_US

    def run() -> Counts:
        keys = b.place * stride + b.time + SPAN_US
        counts = np.zeros((KINDS, KINDS), np.int64)
        for kind in range(KINDS):
            own = a.kind == kind
            ordered = np.sort(a.place[own] * stride + a.time[own] + SPAN_US)
            hit = np.searchsorted(ordered, keys - WINDOW[0], "right") > np.searchsorted(
                ordered, keys - WINDOW[1], "left"
            )
            counts[kind] = np.bincount(b.kind[hit], minlength=KINDS)
        return counts

    return run


def ours(a: Kinded, b: Kinded) -> Callable[[], Counts]:
    """All pairs in one walk; on a circle wider than the events, so that the ends do not meet."""
    return lambda: pair_counts(a, b, kinds=KINDS, window=WINDOW, span=SPAN_US + 4 * WINDOW[1])


def timed(run: Callable[[], Counts], repeats: int) -> tuple[float, Counts]:
    """Median CPU seconds and the counts."""
    counts = run()  # compiles, and fills caches
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds), counts


def surrogates(a: Kinded, b: Kinded) -> float:
    """CPU seconds of 1,000 circular shifts with p of each pair and the family-wise maximum."""
    shifts = np.random.default_rng(7).integers(SPAN_US // 10, SPAN_US - SPAN_US // 10, 1000)
    start = time.process_time()
    pair_null(a, b, kinds=KINDS, window=WINDOW, span=SPAN_US, shifts=shifts, tested=np.ones((KINDS, KINDS), bool))
    return time.process_time() - start


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    rows = ["| places | route | CPU ms | ours is |", "|---|---|---|---|"]
    for places in (1, 1000):
        a, b = events(1, places), events(2, places)
        told = {
            "workbench": timed(ours(a, b), 9),
            "DuckDB range join": timed(by_duckdb(a, b), 3),
            "numpy searchsorted per kind": timed(by_numpy(a, b), 3),
        }
        base, counts = told["workbench"]
        for name, (seconds, theirs) in told.items():
            if not np.array_equal(counts, theirs):
                raise SystemExit(f"{name} counts otherwise at {places} places")
            ratio = "" if name == "workbench" else f"{seconds / base:,.0f}x"
            rows.append(f"| {places:,} | {name} | {seconds * 1e3:,.1f} | {ratio} |")
        thousand = surrogates(a, b)
        rows.append(
            f"| {places:,} | workbench, 1,000 shifts, p and family-wise maximum of all pairs | {thousand * 1e3:,.0f} | |"
        )
        sys.stderr.write("\n".join(rows[-4:]) + "\n")
    write_between(options.docs / "performance.md", "coincidence", rows)


if __name__ == "__main__":
    main()
