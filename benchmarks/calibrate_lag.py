"""Measure how often lag correlation claims a link where there is none, and finds one that is there.

Writes the tables of docs/lag_correlation.md between its marks.

    python benchmarks/calibrate_lag.py --runs 400
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from marked import write_between
from scipy.stats import norm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from analyses import panel_of  # noqa: E402 - the worlds of the tests, with more runs
from nullworlds import SERIES, driven, first_order, series  # noqa: E402

from workbench.analysis.lag import lag_correlation  # noqa: E402
from workbench.analysis.lagresult import LagCorrelation  # noqa: E402

TRANSFORMS = ("raw", "difference", "prewhiten", "auto")
HALF = 6  # cells of ten minutes: lags up to an hour


def ask(pair: np.ndarray, seed: int, transform: str) -> LagCorrelation:
    """Search lags up to an hour on a grid of ten minutes."""
    names = {"x": "gpu.power_w", "y": "gpu.temperature_c"}
    return lag_correlation(panel_of(*pair, 600.0), **names, max_lag="1h", seed=seed, transform=transform)


def naive(pair: np.ndarray) -> bool:
    """Tell whether the largest r over lags has a Fisher p of at most .05, as it is often done."""
    x, y = pair[0][0], pair[1][0]
    size = x.size
    r = max(abs(np.corrcoef(x[: size - k], y[k:])[0, 1]) for k in range(HALF + 1))
    return bool(2 * norm.sf(np.arctanh(min(r, 1 - 1e-12)) * np.sqrt(size - 3)) <= 0.05)


def common(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """Two series that follow a third, which nobody recorded."""
    return 0.5 * first_order(rng, 0.9, (1, *shape[1:])) + rng.normal(size=shape)


def false_claims(runs: int, entities: int) -> list[str]:
    """One row per kind of series: p <= .05 / held / claimed, by transform."""
    rows = [
        f"| {'one series each' if entities == 1 else f'{entities} entities'} | largest r, Fisher p | "
        + " | ".join(TRANSFORMS)
        + " |",
        "|---|---|" + "---|" * len(TRANSFORMS),
    ]
    for kind in (*SERIES, "common cause"):
        told = {name: np.zeros(3) for name in TRANSFORMS}
        plain = 0
        for seed in range(runs):
            rng = np.random.default_rng([seed, 50, entities])
            pair = common(rng, (2, entities, 720)) if kind == "common cause" else series(kind, rng, (2, entities, 720))
            plain += naive(pair)
            for name in TRANSFORMS:
                found = ask(pair, seed, name)
                small = found.p <= 0.05
                told[name] += (small, found.holds, small and found.holds)
        cells = [" / ".join(f"{share:.2f}" for share in told[name] / runs) for name in TRANSFORMS]
        rows.append(f"| {kind} | {plain / runs:.2f} | " + " | ".join(cells) + " |")
        print(rows[-1], flush=True)
    return rows


def power(runs: int) -> list[str]:
    """One row per kind and size of a planted link: found, lag right, interval covers, its width."""
    rows = [
        "| link | transform | claimed | lag exact | interval covers | median width (cells) |",
        "|---|---|---|---|---|---|",
    ]
    for kind in ("iid", "ar90", "random walk", "daily rhythm"):
        for share in (0.1, 0.2, 0.4):
            for transform in ("raw", "auto"):
                told = []
                for seed in range(runs):
                    rng = np.random.default_rng([seed, 51])
                    lag = int(rng.integers(-HALF, HALF + 1))
                    found = ask(driven(kind, rng, lag=lag, share=share), seed, transform)
                    if found.holds and found.p <= 0.05:
                        inside = found.lag_low_s <= lag * 600 <= found.lag_high_s
                        told.append((found.lag_max_s == lag * 600, inside, (found.lag_high_s - found.lag_low_s) / 600))
                shares = np.array(told, dtype=float).reshape(-1, 3)
                tail = (
                    f"{shares[:, 0].mean():.2f} | {shares[:, 1].mean():.2f} | {np.median(shares[:, 2]):.0f}"
                    if told
                    else "– | – | –"
                )
                rows.append(f"| {kind}, {share} sd | {transform} | {len(told) / runs:.2f} | {tail} |")
                print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    page = options.docs / "lag_correlation.md"
    write_between(page, "false claims", [*false_claims(options.runs, 1), "", *false_claims(options.runs, 16)])
    write_between(page, "power", power(options.runs // 2))
    print(f"Wrote {page}.")


if __name__ == "__main__":
    main()
