"""Measure lag correlation beside pandas and beside the bare transforms, in one run; writes a table of docs/performance.md.

    pip install pandas
    python benchmarks/lag_speed.py

CPU seconds of one thread, the median of several runs; with gaps the result is compared with that of pandas.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402 - after the number of threads is set
from marked import write_between  # noqa: E402
from scipy.fft import irfft, next_fast_len, rfft  # noqa: E402

from workbench.kernels.lag import correlate  # noqa: E402
from workbench.kernels.shifted import shift_null  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
ROWS, WIDTH, HALF = 128, 4000, 500
LAGS = np.arange(-HALF, HALF + 1, dtype=np.int64)


def series(seed: int, gaps: float) -> tuple[np.ndarray, np.ndarray]:
    """Two sets of walks, so that the digits are asked for; a share of cells is missing."""
    rng = np.random.default_rng([seed, 150])
    x, y = np.cumsum(rng.normal(size=(2, ROWS, WIDTH)), axis=2)
    for one in (x, y):
        one[rng.random(one.shape) < gaps] = np.nan
    return x, y


def seconds(run: Callable[[], object], repeats: int = 7) -> float:
    """Median CPU seconds."""
    run()
    told = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        told.append(time.process_time() - start)
    return statistics.median(told)


def bare(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Two transforms and one back, padded as ours are."""
    size = next_fast_len(WIDTH + HALF, real=True)
    return np.asarray(irfft(np.conj(rfft(x, size, axis=1)) * rfft(y, size, axis=1), size, axis=1))


def by_pandas(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """One correlation of shifted series per lag, of the first series."""
    import pandas as pd

    first, second = pd.Series(x[0]), pd.Series(y[0])
    return np.array([first.corr(second.shift(-int(lag))) for lag in LAGS])


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    whole, gappy = series(1, 0.0), series(1, 0.1)
    shifts = np.arange(2 * HALF + 1, 2 * HALF + 1001, dtype=np.int64)
    cost = {
        "gap-free": seconds(lambda: correlate(*whole, LAGS)) / ROWS,
        "10 % missing": seconds(lambda: correlate(*gappy, LAGS)) / ROWS,
        "bare transforms, gap-free": seconds(lambda: bare(*whole)) / ROWS,
        "1,000 shifts with their largest r over lags, gap-free": seconds(lambda: shift_null(*whole, HALF, shifts))
        / ROWS,
        "1,000 shifts with their largest r over lags, 10 % missing": seconds(lambda: shift_null(*gappy, HALF, shifts))
        / ROWS,
    }
    beside = {
        "gap-free": f"{cost['bare transforms, gap-free'] / cost['gap-free']:.0%} of the speed of the bare transforms",
        "10 % missing": f"{cost['10 % missing'] / cost['gap-free']:.1f}x the gap-free cost",
    }
    for name, value in cost.items():
        if name.startswith("1,000"):
            observed = "gap-free" if "free" in name else "10 % missing"
            beside[name] = f"{value / cost[observed]:.1f}x the observed statistic"
    if find_spec("pandas"):
        start = time.process_time()
        theirs = by_pandas(*gappy)
        cost["pandas, 10 % missing"] = time.process_time() - start
        apart = float(np.abs(theirs - correlate(gappy[0][:1], gappy[1][:1], LAGS)[0][0]).max())
        ratio = cost["pandas, 10 % missing"] / cost["10 % missing"]
        beside["pandas, 10 % missing"] = f"ours is {ratio:,.0f}x; largest difference {apart:.0e}"
    rows = ["| 4,000 cells, lags of 500 cells either way, per series | CPU ms | |", "|---|---|---|"]
    rows += [f"| {name} | {value * 1e3:,.3f} | {beside.get(name, '')} |" for name, value in cost.items()]
    rows += [] if find_spec("pandas") else ["", "Not installed, so not measured: pandas."]
    sys.stderr.write("\n".join(rows) + "\n")
    write_between(options.docs / "performance.md", "lag correlation", rows)


if __name__ == "__main__":
    main()
