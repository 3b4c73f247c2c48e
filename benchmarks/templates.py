"""Grouping accuracy and speed of templates beside drain3, on lines of known templates and on reference logs.

``python benchmarks/templates.py [--write]``; ``--write`` puts the table into docs/templates.md. drain3 (MIT) is no
dependency: where it is not importable, its columns are left out. Reference logs come from ``WORKBENCH_SHARED``.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import polars as pl

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from heldout_logs import HELD_OUT  # noqa: E402
from loglines import grouping_accuracy  # noqa: E402 - of the tests
from marked import write_between  # noqa: E402
from shared import shared_path  # noqa: E402

import workbench as wb  # noqa: E402
from workbench.model.logtemplates import mine  # noqa: E402
from workbench.model.masking import masked  # noqa: E402
from workbench.simulator.daemon_text import TEMPLATES, labelled_lines  # noqa: E402

Grouper = Callable[[Sequence[str]], list[object]]
SEEDS = range(101, 106)
_SIZES = (500, 2000, 20_000)
_FORMATS = (
    "kernel_log",
    "syslog_generic",
    "slurmctld_log",
    "journald_json",
    "fabric_manager_log",
    "ipmi",
    "k8s_events",
)


def ours(lines: Sequence[str]) -> list[object]:
    """Group by the template of each line."""
    found = dict(mine(pl.Series(lines)).select("message", "template_id").iter_rows())
    return [found.get(line) for line in lines]


def drain(lines: Sequence[str]) -> list[object]:
    """Group with drain3, its settings as they come."""
    from drain3 import TemplateMiner
    from drain3.template_miner_config import TemplateMinerConfig

    miner = TemplateMiner(config=TemplateMinerConfig())
    return [miner.add_log_message(line)["cluster_id"] for line in lines]


def drain_masked(lines: Sequence[str]) -> list[object]:
    """Group with drain3 what is left of lines once our masks have been put in."""
    return drain(pl.DataFrame({"m": lines}).select(masked(pl.col("m")))["m"].to_list())


def groupers() -> dict[str, Grouper]:
    """Give what there is to compare."""
    found: dict[str, Grouper] = {"workbench": ours}
    if importlib.util.find_spec("drain3") is not None:
        found |= {"drain3": drain, "drain3, our masks": drain_masked}
    return found


def reference(folder: Path) -> tuple[list[str], list[str]]:
    """Give messages of reference logs that a reader knows, with kind and code."""
    paths = [
        path
        for name in _FORMATS
        for path in sorted(shared_path("formats", name).iterdir())
        if path.suffix != ".md" and path.name != "expected.json"
    ]
    store = wb.open(folder / "store")
    store.ingest(paths, clock={"*": "UTC"}, year=2025)
    known = store.frame(
        "select message, kind, code from events_told where message is not null and not (kind = 'log' and code is null) "
        "order by source, line, ts, entity"
    )
    return known["message"].to_list(), (known["kind"] + ":" + known["code"].fill_null("")).to_list()


def row(name: str, sets: Sequence[tuple[Sequence[str], Sequence[object]]], all_groupers: dict[str, Grouper]) -> str:
    """Give a line of the table: medians over the sets."""
    cells = [name, str(len(sets[0][0])), str(int(median(len(set(labels)) for _, labels in sets)))]
    for group in all_groupers.values():
        right, rates = [], []
        for lines, labels in sets:
            start = time.process_time()
            found = group(lines)
            rates.append(len(lines) / max(1e-9, time.process_time() - start))
            right.append(grouping_accuracy(found, labels))
        spread = f" ({min(right):.3f} to {max(right):.3f})" if len(sets) > 1 else ""
        cells += [f"{median(right):.3f}{spread}", f"{median(rates):,.0f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Measure and print, or write into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table into docs/templates.md")
    asked = parser.parse_args()
    all_groupers = groupers()
    ours(labelled_lines(200, seed=1)[0])  # expressions compiled, libraries loaded
    heads = [
        "lines",
        "number",
        "templates",
        *(f"{n}: {w}" for n in all_groupers for w in ("accuracy", "lines per CPU s")),
    ]
    table = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for name, templates in (("simulated", TEMPLATES), ("held out", HELD_OUT)):
        for size in _SIZES:
            sets = [labelled_lines(size, seed=seed, templates=templates) for seed in SEEDS]
            table += [row(name, sets, all_groupers)]
    with tempfile.TemporaryDirectory() as folder:
        table.append(row("reference", [reference(Path(folder))], all_groupers))
    if asked.write:
        write_between(ROOT / "docs" / "templates.md", "templates", table)
    sys.stdout.write("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
