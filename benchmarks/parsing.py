"""CPU and peak memory of each reader beside the routes through kept libraries, on the same files in one run.

Usage: python benchmarks/parsing.py [--mb 60] [--runs 3] [--only generic_csv ...] [--write]

Each measurement is a process of its own with one thread; routes take turns, medians are shown.
Ours does more: labels become entities, every line is accounted for, duplicates and sentinels are
told. Memory is measured at two sizes: ours must not grow with the file. Peers that are not
installed are left out. ``--write`` puts the rows into docs/performance.md. Machines and their load
differ: read the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from parsing_dumps import DUMPS, START_S, write
from parsing_peers import PEERS

OURS = "workbench"
SLOW = ("prometheus_client", "line-protocol-parser")  # timed on a small file; the rate is what counts
WARM = 3_000_000  # bytes: enough that what is loaded for large files only is loaded before the clock starts
DOC = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- parsing table -->", "<!-- end of the parsing table -->"


def ours(path: Path) -> int:
    """Read a file as an ingest does, up to the batches."""
    from workbench.model.context import Context
    from workbench.readers.registry import recognise
    from workbench.readers.source import open_source

    stated = Context(zone="UTC", year=2026, host="node0", boot_at_us=START_S * 10**6)
    rows = 0
    with open_source(path) as source:
        found = recognise(source.head(), stated)
        assert found is not None, path
        for batch in found[0].read(source, stated):
            rows += batch.samples.height + batch.events.height + batch.jobs.height
            assert not batch.rejects.height, batch.rejects.head(3).rows()
    return rows


def measure(name: str, route: str, path: Path, warm: Path) -> None:
    """Run one route in this process; the small file first, which pays for imports."""
    run = ours if route == OURS else PEERS[name][route]
    run(warm)
    begin, before = time.process_time(), time.perf_counter()
    rows = run(path)
    facts = {
        "rows": rows,
        "cpu_s": time.process_time() - begin,
        "wall_s": time.perf_counter() - before,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(facts))


def timed(name: str, route: str, path: Path, warm: Path) -> dict[str, float] | None:
    """Run one route in a process of its own; None where it is not installed."""
    command = [sys.executable, __file__, "--measure", name, route, str(path), str(warm)]
    threads = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **threads})
    if done.returncode:
        if "ModuleNotFoundError" not in done.stderr:
            print(done.stderr[-1500:], file=sys.stderr)
        return None
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def compared(name: str, folder: Path, mb: float, runs: int) -> list[str]:
    """Give the rows of the table for one format."""
    size = int(mb * 1e6)
    warm, path, large = (write(name, folder, part) for part in (max(size // 30, WARM), size, 3 * size))
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(runs):
        for route in (OURS, *PEERS[name]):
            told = timed(name, route, warm if route in SLOW else path, warm)
            if told is not None:
                told["mb"] = (warm if route in SLOW else path).stat().st_size / 1e6
                found.setdefault(route, []).append(told)
    peak = {route: timed(name, route, large, warm) for route in found if route not in SLOW}
    own = rate(found[OURS])
    rows = []
    for route, facts in found.items():
        more = peak.get(route)
        memory = f"{facts[0]['peak_mb']:.0f}" + (f" / {more['peak_mb']:.0f}" if more else "")
        ratio = "" if route == OURS else f"{own / rate(facts):.2f}x"
        rows.append(f"| {name} | {route} | {rate(facts):.0f} | {ratio} | {memory} |")
    for file in (warm, path, large):
        file.unlink()
    return rows


def rate(facts: list[dict[str, float]]) -> float:
    """Give megabytes of the file per CPU second."""
    return facts[0]["mb"] / statistics.median(fact["cpu_s"] for fact in facts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=60.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=list(DUMPS), default=list(DUMPS))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--measure", nargs=4, metavar=("FORMAT", "ROUTE", "FILE", "WARM"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        name, route, path, warm = options.measure
        measure(name, route, Path(path), Path(warm))
        return
    head = [
        f"| format | route | MB per CPU s | ours is | peak MB at {options.mb:.0f} / {3 * options.mb:.0f} MB |",
        "| --- | --- | --- | --- | --- |",
    ]
    print("\n".join(head))
    told: dict[str, list[str]] = {}
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            rows = compared(name, Path(folder), options.mb, options.runs)
        print("\n".join(rows), flush=True)
        told[name] = rows
    if options.write:
        text = DOC.read_text(encoding="utf-8")
        before, (table, after) = text.split(BEGIN)[0], text.split(BEGIN)[1].split(END)
        kept = [line for line in table.splitlines() if line.startswith("| ")]  # of formats that were not measured
        for name in DUMPS:
            told.setdefault(name, [line for line in kept if line.startswith(f"| {name} |")])
        lines = [*head, *(line for name in DUMPS for line in told[name])]
        DOC.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
