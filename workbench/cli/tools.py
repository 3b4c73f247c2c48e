"""report, simulate, formats, doctor, lab: write-ups, practice data, what is read, and the state of the installation."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from workbench.cli.common import JsonOption, existing_store, say, show, writable, write_json
from workbench.errors import UsageError

__all__ = ["doctor", "formats", "lab", "register", "report", "simulate"]

_PARTS = (
    "workbench",
    "polars",
    "duckdb",
    "pyarrow",
    "deltalake",
    "numpy",
    "scipy",
    "numba",
    "statsmodels",
    "plotly",
    "ipywidgets",
    "anywidget",
    "jupyterlab",
)
MOST_HOSTS, MOST_DAYS = 10_000, 366
_EXTRAS = {"distributed": "dask", "kaleido": "export", "playwright": "browser"}


def report(
    store: Annotated[Path | None, typer.Option("--store", help="Folder of the store.")] = None,
    incident: Annotated[
        str | None, typer.Option(help="Id of the incident, or its first letters; needs --outcome.")
    ] = None,
    outcome: Annotated[
        str | None,
        typer.Option(help="Selector that finds the incident; the first one unless --incident names another."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write, .html or .md.")] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Replace host, user and job names by stand-ins.")] = False,
    verify: Annotated[Path | None, typer.Option(help="Check that a write-up is unaltered.")] = None,
) -> int:
    """Write one self-contained page on an incident and all that was judged, or verify one."""
    from workbench.reports.verify import verify as check
    from workbench.reports.writeup import write_up

    if verify is not None:
        result = check(verify)
        say(result.sentence)
        return 0 if result.unaltered else 1
    missing = [name for name, value in (("--store", store), ("--out", out)) if value is None]
    if missing or store is None or out is None:
        raise UsageError(f"report needs {' and '.join(missing)}; or --verify FILE.html.")
    if incident is not None and outcome is None:
        raise UsageError(
            "--incident needs --outcome SELECTOR, which says what counts as an incident; see workbench incidents."
        )
    source = existing_store(store)
    writable(out, "--out")
    chosen = None
    if outcome is not None:
        found = source.incidents(outcome)
        chosen = found[0] if incident is None else found.by_id(incident)
        if incident is None and len(found) > 1:
            say(f"{len(found)} incidents are found; this is the first, {chosen.id}. Name another with --incident.")
    say(f"written: {write_up(source, incident=chosen, to=out, redact=redact)}")
    return 0


def simulate(
    out: Annotated[Path, typer.Option(help="Folder to write; must be empty or new.")],
    seed: Annotated[int, typer.Option(help="Seed of every random draw.")] = 1,
    scenario: Annotated[
        str, typer.Option(help="What to plant: first_incident, traps, null or names.")
    ] = "first_incident",
    hosts: Annotated[
        int | None, typer.Option(help="Number of servers; the scenario's own number if not given.")
    ] = None,
    days: Annotated[float | None, typer.Option(help="Span in days; the scenario's own if not given.")] = None,
) -> None:
    """Write raw dumps of a made-up cluster, with truth.json saying what was planted."""
    from workbench.simulator.dumps import simulate as make

    if hosts is not None and not 1 <= hosts <= MOST_HOSTS:
        raise UsageError(f"--hosts {hosts} is none; expected 1 to {MOST_HOSTS:,}.")
    if days is not None and not 0 < days <= MOST_DAYS:  # also not a number
        raise UsageError(f"--days {days} is none; expected more than 0, up to {MOST_DAYS}.")
    try:
        truth = make(out, scenario=scenario, hosts=hosts, days=days, seed=seed)
    except OSError as error:
        raise UsageError(f"Cannot write to {out}: {error.strerror}. Name a folder that you may write to.") from None
    say(f"written: {out} ({truth})")


def formats(json: JsonOption = None) -> None:
    """List the formats that ingest recognises, by content."""
    from workbench.readers.registry import about, readers

    rows = [{"format": reader.name, "what": about(reader)} for reader in readers()]
    if not write_json(rows, json):
        show(pl.DataFrame(rows), limit=len(rows))


def doctor(json: JsonOption = None) -> int:
    """Say which versions are here, how much memory and disk, and what is missing."""
    rows = [{"part": name, "state": _version(name)} for name in _PARTS]
    rows += [
        {
            "part": name,
            "state": version(name)
            if importlib.util.find_spec(name)
            else f"not installed (optional: pip install 'workbench[{extra}]')",
        }
        for name, extra in _EXTRAS.items()
    ]
    rows.append({"part": "python", "state": platform.python_version()})
    rows.append({"part": "cores", "state": str(os.cpu_count())})
    rows.append({"part": "free disk here", "state": f"{shutil.disk_usage('.').free / 1e9:.1f} GB"})
    if not write_json(rows, json):
        show(pl.DataFrame(rows))
    missing = [row["part"] for row in rows if row["state"] == "missing"]
    if missing:
        say(f"missing: {', '.join(missing)}; install workbench again with pip")
    return 2 if missing else 0


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def lab(
    store: Annotated[Path | None, typer.Option("--store", help="Store that the notebooks open.")] = None,
    folder: Annotated[Path, typer.Option(help="Folder with notebooks.")] = Path("notebooks"),
) -> None:
    """Start JupyterLab on the notebooks."""
    if not folder.is_dir():
        raise UsageError(f"No folder {folder} here; name one with --folder, or run this in a checkout of workbench.")
    if store is not None:
        os.environ["WORKBENCH_STORE"] = str(existing_store(store).path)
    arguments = [sys.executable, "-m", "jupyterlab", f"--notebook-dir={folder}"]
    os.execv(sys.executable, arguments)  # noqa: S606 -- no shell; replaces this process by JupyterLab


def register(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (report, simulate, formats, doctor, lab):
        app.command()(command)
