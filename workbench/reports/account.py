"""What the write-up rests on: files, rows, skips, rejects, coverage, versions, and how to run it again."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import polars as pl

from workbench.errors import SpecificationError
from workbench.figures.text import shorten
from workbench.hypotheses.spec import Hypothesis
from workbench.model.provenance import Provenance
from workbench.model.signal import Signal
from workbench.model.verdict import Verdict
from workbench.reports.evidence import store_name
from workbench.timebase import format_us, to_us
from workbench.version import __version__

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["claims", "data_account", "rerun", "versions"]

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
    short = _below(files["path"].to_list())
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
        "files": [{**row, "path": short[row["path"]]} for row in files.select(known).head(_MOST_FILES).to_dicts()],
        "files_total": files.height,
        "totals": totals,
        "reasons": _rows(reasons),
        "rejects": [{**row, "path": short.get(row["path"], "")} for row in _rows(examples)],
        "metrics": _metrics(store.catalog()),
        "sources": _sources(store.observed()),
    }


def _below(paths: Sequence[str]) -> dict[str, str]:
    """Write paths from the folder on that all share: where it stood says nothing of the data.

    Examples
    --------
    >>> _below(["/data/x/dumps/a.log", "/data/x/dumps/k/b.log"])["/data/x/dumps/k/b.log"]
    'dumps/k/b.log'
    """
    split = {path: PurePath(path).parts for path in paths}
    folders = [parts[:-1] for parts in split.values()]
    shared = 0
    while folders and all(len(parts) > shared and parts[shared] == folders[0][shared] for parts in folders):
        shared += 1
    rooted = 1 if folders and PurePath(*folders[0]).anchor else 0
    return {path: PurePath(*parts[max(shared - 1, rooted) :]).as_posix() for path, parts in split.items()}


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


def claims(verdicts: Sequence[Verdict]) -> list[dict[str, str]]:
    """Give the claims that were judged as hypothesis files, each with its digest.

    Only those whose file has the digest that was judged: a file that differs would not run again
    what is told here.
    """
    result: dict[str, dict[str, str]] = {}
    for verdict in verdicts:
        claim = _claim(verdict)
        if claim is not None and claim.digest == verdict.digest:
            file = _file_name(claim.name)
            result[file] = {"file": file, "digest": claim.digest, "toml": claim.to_toml()}
    return list(result.values())


def _claim(verdict: Verdict) -> Hypothesis | None:
    spec = verdict.provenance.parameters.get("hypothesis")
    if verdict.hypothesis is None or not isinstance(spec, Mapping):
        return None
    plain = ("then", "adjust_for", "controls", "smallest_effect", "direction", "scope")
    try:
        values = {name: spec[name] for name in plain}
        return Hypothesis(
            name=verdict.hypothesis,
            when=Signal(**spec["when"]),
            within=spec["within_s"],
            guard=spec["guard_s"],
            expect=verdict.expected,
            **values,
        )
    except (SpecificationError, TypeError, KeyError):  # written by another version of workbench
        return None


def _purpose(told: Provenance) -> str:
    seed = "" if told.seed is None else f", seed {told.seed}"
    return f"{told.function} on {store_name(told.inputs)}{seed}, workbench {told.version or __version__}"


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
