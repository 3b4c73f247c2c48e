"""Measure how often a screen of pairs over lags claims any pair where there is none, and finds one that is there.

Writes a table of docs/lag_correlation.md between its marks.

    python benchmarks/calibrate_lag_screen.py --runs 400
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

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from nullworlds import first_order  # noqa: E402 - the worlds of the tests, with more runs

from workbench.analysis.lagscreen import LagScreen, lag_screen  # noqa: E402
from workbench.model.panel import Panel  # noqa: E402
from workbench.model.provenance import Provenance  # noqa: E402

STEP_S = 60.0


def ask(values: np.ndarray, seed: int, **more: Any) -> LagScreen:
    """Search lags up to six cells."""
    panel = Panel(
        values=values,
        entities=tuple(f"c1/node{at:02d}" for at in range(values.shape[0])),
        metrics=tuple(f"m{at}" for at in range(values.shape[1])),
        ts_us=np.arange(values.shape[2]) * round(STEP_S * 1e6),
        step_s=STEP_S,
        provenance=Provenance(function="-", inputs="-"),
    )
    return lag_screen(panel, max_lag=6 * STEP_S, seed=seed, **more)


def noise(rng: np.random.Generator, kind: str, shape: tuple[int, int, int] = (3, 5, 400)) -> np.ndarray:
    """Give (entity, metric, time) in which no metric has to do with another of its entity."""
    if kind == "heavy tail":
        return rng.standard_t(2, size=shape)
    if kind == "random walk":
        return np.cumsum(rng.normal(size=shape), axis=2)
    values = first_order(rng, {"iid": 0.0, "ar90": 0.9}[kind], shape)
    return np.asarray(values)


def nulls(runs: int) -> list[str]:
    """One row per kind of noise and way of asking."""
    rows = ["| nothing to be found | pairs | any claim at 5 % | at 1 % |", "|---|---|---|---|"]
    asked: list[tuple[str, str, dict[str, Any]]] = [
        (f"{kind}, {'one with all' if one else 'all pairs'}", kind, {"x": "m0"} if one else {})
        for kind in ("iid", "ar90", "random walk", "heavy tail")
        for one in (True, False)
    ]
    asked += [("common part, all pairs", "iid", {}), ("common part taken out, all pairs", "iid", {"remove": "fleet"})]
    for name, kind, how in asked:
        told, pairs = np.zeros(2), 0
        for seed in range(runs):
            rng = np.random.default_rng([seed, 80])
            values = noise(rng, kind, (10, 5, 400) if "common" in name else (3, 5, 400))
            if "common" in name:
                values = values + 2 * first_order(rng, 0.8, (1, 1, 400))
            found = ask(values, seed, **how)
            family = found.pairs["p_family"].to_numpy()
            least, pairs = np.nanmin(family, initial=1.0), found.pairs.height
            told += (least <= 0.05, least <= 0.01)
        rows.append(f"| {name} | {pairs} | " + " | ".join(f"{share:.2f}" for share in told / runs) + " |")
        print(rows[-1], flush=True)
    return rows


def power(runs: int) -> list[str]:
    """One row per number of pairs: planted pair claimed, its lag right, any other claimed."""
    rows = ["| planted | pairs | claimed | lag exact | any other pair claimed |", "|---|---|---|---|---|"]
    for kind in ("iid", "ar90", "random walk"):
        for metrics in (3, 10):
            told = np.zeros(3)
            for seed in range(runs):
                values = noise(np.random.default_rng([seed, 81]), kind, (3, metrics, 400))
                scale = 0.3 * values[:, 1].std() / values[:, 0].std()
                values[:, 1] += scale * np.roll(values[:, 0], 4, axis=1)
                claims = ask(values, seed).claims.select("x", "y", "lag_s").rows()
                hit = [row for row in claims if row[:2] == ("m0", "m1")]
                told += (bool(hit), bool(hit) and hit[0][2] == 4 * STEP_S, len(claims) > len(hit))
            pairs = metrics * (metrics - 1) // 2
            rows.append(f"| {kind}, 0.3 sd | {pairs} | " + " | ".join(f"{share:.2f}" for share in told / runs) + " |")
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    page = options.docs / "lag_correlation.md"
    write_between(page, "screen", [*nulls(options.runs), "", *power(options.runs // 4)])
    print(f"Wrote {page}.")


if __name__ == "__main__":
    main()
