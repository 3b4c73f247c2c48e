"""What the write-up rests on: files, rows, skips, rejects, coverage, versions, and how to run it again."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import polars as pl

from workbench.version import __version__
from workbench.figures.text import shorten
from workbench.model.provenance import Provenance
from workbench.model.verdict import Verdict
from workbench.timebase import format_us, to_us

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["data_account", "rerun", "versions"]

_PARTS = ("polars", "duckdb", "pyarrow", "deltalake", "numpy", "scipy", "statsmodels", "numba")
_MOST_FILES, _MOST_REJECTS, _MOST_REASONS = 200, 20, 40
_FILE_COLUMNS = ("path", "reader", "rule", "status", "records", "rows", "skipped", "rejected", "curable", "digest")


def versions() -> dict[str, str]:
    """Give the version of everything that computes."""
    return {"workbench": __version__, "python": platform.python_version(), **{name: version(name) for name in _PARTS}}


def data_account(store: Store) -> dict[str, Any]:
    """Account for every record that was handed in.

    Returns
    -------
    dict
        ``files`` (at most 200, with the total), ``totals``, ``reasons`` (rejects by reason),
        ``rejects`` (a few as they stand), ``metrics``, ``sources`` (when somebody was looking).
    """
    files = store.sql("select * from files order by path")
    known = [name for name in _FILE_COLUMNS if name in files.columns]
    totals = {
        name: int(files[name].sum())
        for name in ("records", "rows", "skipped", "rejected", "curable")
        if name in files.columns
    }
    reasons = store.sql(
        "select reason, curable, count(*) as count from rejects group by all order by count desc, reason "
        f"limit {_MOST_REASONS}"
    )
    examples = store.sql(
        "select f.path, r.line, r.reason, r.text from rejects r left join "
        "(select source, min(path) as path from files group by source) f on r.source = f.source "
        f"order by f.path, r.line limit {_MOST_REJECTS}"
    )
    return {
        "files": _rows(files.select(known).head(_MOST_FILES)),
        "files_total": files.height,
        "totals": totals,
        "reasons": _rows(reasons),
        "rejects": _rows(examples),
        "metrics": _metrics(store.catalog()),
        "sources": _sources(store.observed()),
    }


def _rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [{name: _plain(value) for name, value in row.items()} for row in frame.iter_rows(named=True)]


def _plain(value: Any) -> Any:
    if hasattr(value, "tzinfo"):
        return format_us(to_us(value))
    return shorten(value, 400) if isinstance(value, str) else value


def _metrics(catalog: pl.DataFrame) -> dict[str, Any]:
    unknown = catalog.filter(pl.col("unit").is_null() | (pl.col("unit") == ""))["metric"].to_list()
    first, last = (catalog["first"].min(), catalog["last"].max()) if catalog.height else (None, None)
    return {
        "count": catalog.height,
        "samples": int(catalog["rows"].sum()) if catalog.height else 0,
        "first": _plain(first),
        "last": _plain(last),
        "unit_unknown": unknown,
    }


def _sources(observed: pl.DataFrame) -> list[dict[str, Any]]:
    if observed.is_empty():
        return []
    kept = observed.group_by("reader", "what").agg(
        pl.col("entity").n_unique().alias("entities"),
        pl.col("start").min().alias("first"),
        pl.col("end").max().alias("last"),
        (pl.col("end") - pl.col("start")).sum().dt.total_seconds().alias("observed_s"),
    )
    return _rows(kept.sort("reader", "what").head(60))


def rerun(store: Store, verdicts: Sequence[Verdict], incident: str | None, outcome: str | None) -> list[dict[str, str]]:
    """Give the commands that give the same results again, each with what it is for."""
    name = shlex.quote(store.path.name)
    steps = [{"what": "see what the store holds", "command": f"workbench info --store {name}"}]
    seen: set[str] = set()
    for verdict in verdicts:
        command = _command(verdict, name)
        if command not in seen:
            seen.add(command)
            steps.append({"what": _purpose(verdict.provenance), "command": command})
    if incident is not None and outcome is not None:
        command = (
            f"workbench report --store {name} --outcome {shlex.quote(outcome)} --incident {incident} --out again.html"
        )
        steps.append({"what": "write this page again from the ledger", "command": command})
    return steps


def _purpose(told: Provenance) -> str:
    seed = "" if told.seed is None else f", seed {told.seed}"
    return f"{told.function} on {told.inputs}{seed}, workbench {told.version or __version__}"


def _command(verdict: Verdict, store: str) -> str:
    told = verdict.provenance
    seed = f" --seed {told.seed}" if told.seed is not None else ""
    if verdict.hypothesis is None and "screen" in told.function:
        before = _length(told.parameters)
        return f"workbench screen --outcome {shlex.quote(verdict.outcome)} --store {store}{before}{seed}"
    if verdict.hypothesis is not None:
        return f"workbench judge {shlex.quote(_file_name(verdict.hypothesis))} --store {store}{seed}"
    return f"{told.function}  # {told.to_json()}"


def _length(parameters: Mapping[str, Any]) -> str:
    if "before_s" in parameters:
        return f" --before {float(parameters['before_s']):g}s"
    return f" --before {parameters['before']}" if "before" in parameters else ""


def _file_name(title: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in title.lower()).strip("-") + ".toml"
