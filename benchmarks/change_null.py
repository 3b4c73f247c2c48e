"""Simulate how large a penalty still finds a change where there is none, and print the table of kernels/changenull.py.

    python benchmarks/change_null.py --runs 4000

For white noise of length ``ratio`` times the least piece: the largest penalty (in units of the
variance) at which the cheapest partition has more than one piece. Its distribution turns a penalty
into a p-value.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from workbench.kernels.changenull import SHARES
from workbench.kernels.segment import constant_pieces, straight_pieces

RATIOS = {"constant": (2, 3, 5, 10, 20, 50, 100, 300, 1000), "straight": (2, 3, 5, 10, 20, 50, 100)}
LEAST = {"constant": 30, "straight": 20}
MOST_CELLS = 2_000_000  # of a row of the table, over all its runs
FIND = {"constant": constant_pieces, "straight": straight_pieces}


def largest_penalty(values: np.ndarray, find: Callable[..., np.ndarray], least: int) -> float:
    """Halve the interval of penalties, on a scale of logarithms, to 0.1 %."""
    low, high = 0.01, 200.0
    while high > 1.001 * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if find(values, middle, least=least).size else (low, middle)
    return (low * high) ** 0.5


def main() -> None:
    """Print one row per ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--model", choices=sorted(RATIOS), nargs="*", default=sorted(RATIOS))
    options = parser.parse_args()
    print("quantiles at p =", SHARES)
    for model in options.model:
        for ratio in RATIOS[model]:
            size = ratio * LEAST[model]
            runs = max(400, min(options.runs, 40 * MOST_CELLS // size))
            rng = np.random.default_rng([ratio, len(model)])
            found = [largest_penalty(rng.normal(size=size), FIND[model], LEAST[model]) for _ in range(runs)]
            cells = np.quantile(found, 1 - np.array(SHARES))
            print(model, ratio, runs, ", ".join(f"{cell:.2f}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
