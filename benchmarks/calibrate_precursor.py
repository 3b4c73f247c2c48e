"""Measure the error rates of the screen on worlds with planted truth; writes docs/calibration.md and .json.

Resumable: every world's outcome is a small file below ``--work``; a second run continues.

    python benchmarks/calibrate_precursor.py --worlds 100 --nulls 200 --processes 2
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from naive import before_after_flags, best_lag_flags

from workbench.analysis.screen import screen
from workbench.model.verdict import Reading, Word
from workbench.panel.simulated import world_fleets
from workbench.simulator.plants import null_plants
from workbench.simulator.world import World, make_world
from workbench.version import __version__

ROOT = Path(__file__).resolve().parents[1]
WINDOW_S = 7200.0
EPISODES = 50
SMALL = {"hosts": 64, "days": 3.0, "failures": 30}
FIRST_SEED = {"full": 10_000, "null": 20_000}
UNSOLVABLE = ("hidden",)  # drives the hazard and is recorded nowhere else: it truly precedes
RIVALS: dict[str, Callable[..., Any]] = {
    "best-lag Pearson, Bonferroni": best_lag_flags,
    "before/after Kolmogorov-Smirnov, BH": before_after_flags,
}


@dataclass(frozen=True)
class Task:
    """One world to screen: ``full`` (60 signals, 50 episodes) or ``null`` (no true precursor, smaller fleet)."""

    kind: str
    seed: int
    folder: str

    @property
    def path(self) -> Path:
        return Path(self.folder) / f"{self.kind}-{self.seed}.json"


def world_of(kind: str, seed: int) -> World:
    """Make the world of a task."""
    if kind == "full":
        return make_world(seed=seed, failures=EPISODES, episodes=EPISODES)
    return make_world(seed=seed, plants=null_plants(), **SMALL)


def measure(kind: str, seed: int) -> dict[str, Any]:
    """Screen one world, run the rivals on it, and note the truth beside each answer."""
    world = world_of(kind, seed)
    fleets = world_fleets(world)
    start = time.process_time()
    result = screen(fleets, world.incidents(), "failure", before_s=WINDOW_S, seed=seed)
    seconds = time.process_time() - start
    fleet = fleets[0]
    names = [info.name for info in fleet.signals]
    row = np.array([failure.entity for failure in world.failures])
    end = np.array([failure.recorded_us for failure in world.failures]) - int(world.ts_us[0])
    signals = [fleet.load(name) for name in names]
    flags = {name: rival(signals, row, end // 60_000_000) for name, rival in RIVALS.items()}
    rows = []
    for verdict in result.verdicts:
        truth = world.truth[verdict.signal]
        rows.append(
            {
                "signal": verdict.signal,
                "role": str(truth.role),
                "precursor": truth.is_precursor,
                "share": _number(truth.share),
                "lead_true_s": _number(truth.median_lead_s),
                "reading": verdict.reading.value,
                "word": str(verdict.word),
                "p": _number(verdict.p),
                "share_found": [
                    _number(x) for x in (verdict.effect.share_affected, verdict.effect.low, verdict.effect.high)
                ],
                "lead_s": [_number(x) for x in (verdict.lead.median, verdict.lead.low, verdict.lead.high)],
                "lead_quality": verdict.lead.quality,
                "rivals": {name: bool(flag[names.index(verdict.signal)]) for name, flag in flags.items()},
            }
        )
    return {"kind": kind, "seed": seed, "episodes": world.episodes, "seconds": seconds, "rows": rows}


def run(task: Task) -> str:
    """Measure one world and keep the outcome; the file appears whole or not at all."""
    outcome = measure(task.kind, task.seed)
    partial = task.path.with_suffix(".partial")
    partial.write_text(json.dumps(outcome))
    partial.replace(task.path)
    return task.path.name


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean over worlds with its 95 % interval (normal, worlds as units), cut at 0."""
    x = np.array(values)
    half = 1.96 * x.std(ddof=1) / math.sqrt(x.size) if x.size > 1 else math.nan
    return float(x.mean()), max(0.0, float(x.mean() - half)), float(x.mean() + half)


def share_interval(found: int, count: int) -> tuple[float, float, float]:
    """Share with its exact 95 % interval (Clopper and Pearson)."""
    from scipy.stats import beta

    low = float(beta.ppf(0.025, found, count - found + 1)) if found else 0.0
    high = float(beta.ppf(0.975, found + 1, count - found)) if found < count else 1.0
    return found / count, low, high


def false_share(
    rows: Iterable[dict[str, Any]], flagged: Callable[[dict[str, Any]], bool], ignore: tuple[str, ...]
) -> float:
    """False discoveries among those flagged in one world; 0 where nothing is flagged."""
    found = [row for row in rows if flagged(row) and row["role"] not in ignore]
    return sum(not row["precursor"] for row in found) / max(1, len(found))


def supported(row: dict[str, Any]) -> bool:
    return row["reading"] == Reading.PRECURSOR.value


def rival(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda row: row["rivals"][name]


def summarise(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    """Rates of the screen and of the rivals."""
    full = [o["rows"] for o in outcomes if o["kind"] == "full"]
    null = [o["rows"] for o in outcomes if o["kind"] == "null"]
    procedures = {"workbench, SUPPORTED": supported, **{name: rival(name) for name in RIVALS}}
    table = {}
    for name, flagged in procedures.items():
        strong = [flagged(row) for rows in full for row in rows if row["signal"].endswith("_60")]
        weak = [flagged(row) for rows in full for row in rows if row["signal"].endswith("_30")]
        bad_worlds = sum(any(flagged(row) for row in rows) for rows in null)
        table[name] = {
            "fdp": mean_interval([false_share(rows, flagged, UNSOLVABLE) for rows in full]),
            "fdp_hidden_counted_false": mean_interval([false_share(rows, flagged, ()) for rows in full]),
            "fdp_without_proxy_and_hidden": mean_interval(
                [false_share(rows, flagged, (*UNSOLVABLE, "proxy")) for rows in full]
            ),
            "power_60": share_interval(sum(strong), len(strong)),
            "power_30": share_interval(sum(weak), len(weak)),
            "null_worlds_with_any": share_interval(bad_worlds, len(null)) if null else None,
        }
    planted = [row for rows in full for row in rows if row["precursor"]]
    refuted = sum(row["word"] == Word.REFUTED.value for row in planted)
    return {
        "workbench": __version__,
        "worlds": len(full),
        "null_worlds": len(null),
        "seconds_per_world": float(np.median([o["seconds"] for o in outcomes if o["kind"] == "full"])),
        "procedures": table,
        "planted_refuted": share_interval(refuted, len(planted)),
        "readings": _readings(full),
        "estimates": _estimates(full),
        "level": _level(full),
    }


def _readings(full: list[list[dict[str, Any]]]) -> dict[str, dict[str, float]]:
    by_class: dict[str, Counter[str]] = defaultdict(Counter)
    for rows in full:
        for row in rows:
            shape = row["share"] is not None and row["precursor"]
            by_class[f"{row['role']} {row['share']:.0%}" if shape else row["role"]][row["reading"]] += 1
    return {
        name: {reading: count / sum(counts.values()) for reading, count in counts.most_common()}
        for name, counts in sorted(by_class.items())
    }


def _estimates(full: list[list[dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """Share and lead of supported precursors against what was planted."""
    answer = {}
    for role in ("ramp", "burst", "shift", "var"):
        rows = [r for w in full for r in w if r["role"] == role and r["precursor"] and supported(r)]
        rows = [r for r in rows if r["share"] == 0.6 and r["lead_s"][0] is not None]
        if not rows:
            continue
        error = np.array([r["lead_s"][0] - r["lead_true_s"] for r in rows])
        answer[role] = {
            "n": len(rows),
            "lead_error_median_s": float(np.median(np.abs(error))),
            "lead_bias_s": float(np.median(error)),
            "lead_interval_covers": float(
                np.mean([r["lead_s"][1] <= r["lead_true_s"] <= r["lead_s"][2] for r in rows])
            ),
            "share_median": float(np.median([r["share_found"][0] for r in rows])),
            "share_interval_covers": float(np.mean([r["share_found"][1] <= 0.6 <= r["share_found"][2] for r in rows])),
        }
    return answer


def _level(full: list[list[dict[str, Any]]]) -> dict[str, float]:
    """Rejections of pure noise at nominal levels."""
    p = np.array([r["p"] for rows in full for r in rows if r["role"] == "noise" and r["p"] is not None])
    return {f"p <= {level:g}": float((p <= level).mean()) for level in (0.05, 0.01, 0.001)} | {"n": int(p.size)}


def _cell(triple: Sequence[float] | None) -> str:
    return "not run" if triple is None else f"{triple[0]:.3f} ({triple[1]:.3f} to {triple[2]:.3f})"


def page(summary: dict[str, Any]) -> str:
    """Write the numbers for people."""
    columns = (
        *("procedure", "FDP", "FDP, hidden counted as false", "FDP without proxies and hidden"),
        *("found, before 60 %", "found, before 30 %", "null worlds with any finding"),
    )
    sizes = (
        f"{summary['worlds']} worlds of 128 hosts, 4 days, 60 signals, {EPISODES} episodes or a few more; "
        f"{summary['null_worlds']} worlds without any true precursor ({SMALL['hosts']} hosts, {SMALL['days']:g} days, "
        f"{SMALL['failures']} failures, traps and noise). Median {summary['seconds_per_world']:.1f} CPU seconds a world."
    )
    lines = [
        "# Calibration of the screen",
        "",
        "Measured on simulated fleets with planted truth, written by `make calibrate`; the numbers stand in",
        "`calibration.json` too. One simulator, by the hand that wrote the test: rates rank methods and show",
        "where they break, they are no promise for a real fleet.",
        "",
        sizes,
        "",
        "| " + " | ".join(columns) + " |",
        "|---" * len(columns) + "|",
    ]
    lines += [
        f"| {name} | {_cell(r['fdp'])} | {_cell(r['fdp_hidden_counted_false'])} | {_cell(r['fdp_without_proxy_and_hidden'])} "
        f"| {_cell(r['power_60'])} | {_cell(r['power_30'])} | {_cell(r['null_worlds_with_any'])} |"
        for name, r in summary["procedures"].items()
    ]
    lines += [
        "",
        "Brackets: 95 % intervals; means over worlds with worlds as units, shares exact. FDP: false findings among the",
        "findings of a world, averaged over worlds. A *hidden* signal follows a driver of the failures that is recorded",
        "nowhere else. It does precede, and no data at hand can explain it, so to the words of the verdict it is no false",
        "finding; the second column counts it as one. A *proxy* follows a driver that is recorded: it counts as false in",
        "the first two columns.",
        "",
        f"Planted precursors that were REFUTED: {_cell(summary['planted_refuted'])}.",
        "",
        "Pure noise: "
        + ", ".join(f"{k}: {v:.3f}" for k, v in summary["level"].items() if k != "n")
        + f" (n = {summary['level']['n']}).",
        "",
        "## Readings by what was planted",
        "",
    ]
    kinds = [reading.value for reading in Reading]
    lines += ["| planted | " + " | ".join(kinds) + " |", "|---|" + "---|" * len(kinds)]
    for name, shares in summary["readings"].items():
        lines.append(f"| {name} | " + " | ".join(f"{shares[k]:.2f}" if k in shares else "" for k in kinds) + " |")
    lines += [
        "",
        "## Estimates of supported precursors planted before 60 %",
        "",
        "| shape | n | lead: median error | bias | interval covers | share: median | interval covers |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {role} | {e['n']} | {e['lead_error_median_s'] / 60:.1f} min | {e['lead_bias_s'] / 60:+.1f} min | "
        f"{e['lead_interval_covers']:.2f} | {e['share_median']:.2f} | {e['share_interval_covers']:.2f} |"
        for role, e in summary["estimates"].items()
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--nulls", type=int, default=200)
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "calibration")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    counts = {"full": options.worlds, "null": options.nulls}
    tasks = [Task(kind, FIRST_SEED[kind] + k, str(options.work)) for kind, n in counts.items() for k in range(n)]
    missing = [task for task in tasks if not task.path.exists()]
    print(f"{len(tasks) - len(missing)} of {len(tasks)} worlds are there; {len(missing)} to go.", flush=True)
    if options.processes > 1:
        with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
            for name in pool.map(run, missing):
                print(name, flush=True)
    else:
        for task in missing:
            print(run(task), flush=True)
    summary = summarise([json.loads(task.path.read_text()) for task in tasks])
    (options.docs / "calibration.json").write_text(json.dumps(summary, indent=1) + "\n")
    (options.docs / "calibration.md").write_text(page(summary))
    print(f"Wrote {options.docs / 'calibration.md'} and calibration.json.")


if __name__ == "__main__":
    main()
