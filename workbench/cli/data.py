"""ingest, info, events, sql, incidents: from dumps to questions."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from workbench.cli.common import JsonOption, StoreOption, existing_store, progress, say, show, write_json
from workbench.cli.events import events
from workbench.cli.templates import templates
from workbench.errors import SpecificationError, UsageError
from workbench.store.ingest import parse_bytes
from workbench.store.store import open as open_store
from workbench.store.walk import find_files

__all__ = ["incidents", "info", "ingest", "register", "sql"]

SqlFormat = StrEnum("SqlFormat", ["table", "csv", "json", "parquet"])
MANY_FILES = 24
#: Memory that a reading process takes; bytes of dumps from which starting some pays.
_BYTES_A_WORKER = 512_000_000
_WORTH_WORKERS = 32_000_000
ClockOption = Annotated[
    list[str], typer.Option("--clock", metavar="GLOB=ZONE", help="Zone of times that name none, by file.")
]


def _clocks(texts: list[str]) -> dict[str, str]:
    mistakes = [
        f"--clock {text}: expected GLOB=ZONE, such as 'bmc/*=America/Chicago'" for text in texts if "=" not in text
    ]
    if mistakes:
        raise SpecificationError("the command line", mistakes)
    return dict(text.rsplit("=", 1) for text in texts)


def ingest(
    paths: Annotated[list[str], typer.Argument(help="Files and folders of dumps.")],
    store: StoreOption,
    clock: ClockOption = [],  # noqa: B006 -- typer needs a literal default and copies it
    year: Annotated[int | None, typer.Option(help="Year of the first record, for stamps without one.")] = None,
    mapping: Annotated[
        Path | None, typer.Option("--map", help="TOML file that says what ambiguous columns mean.")
    ] = None,
    memory: Annotated[str, typer.Option(help="Bound on memory.")] = "2GB",
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, help="Processes that read files; the answer is the same for any.")
    ] = None,
    salvage: Annotated[
        bool, typer.Option("--salvage", help="Take also what compressed files gave whose checksum fails.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be read; write nothing.")] = False,
    json: JsonOption = None,
) -> int:
    """Load dumps into a store; the same content again is a no-op."""
    zones, fresh = _clocks(clock), not store.exists()
    if dry_run and fresh:
        store = Path(tempfile.mkdtemp(prefix="workbench-dry-run-")) / store.name
    target = open_store(store)
    try:
        with progress("ingest", unit_bytes=True) as tell:
            report = target.ingest(
                paths, clock=zones, year=year, mapping=mapping, memory=memory, dry_run=dry_run, progress=tell,
                salvage=salvage, engine=_engine(workers, paths, memory),
            )  # fmt: skip
    except UsageError:
        if fresh:
            shutil.rmtree(store)  # made a moment ago, and nothing came into it
        raise
    finally:
        if dry_run and fresh:
            shutil.rmtree(store.parent)
    if not write_json(report.to_json(), json):
        _show_files(report.table())
    say(report.summary)
    return report.exit_code


def _engine(workers: int | None, paths: list[str], memory: str) -> str:
    """Say where files are read; as many processes as cores and memory bear, where that pays."""
    if workers is None:
        sizes = [found.size for found in find_files(paths)]
        bear = min(os.cpu_count() or 1, parse_bytes(memory) // _BYTES_A_WORKER, len(sizes))
        workers = bear if sum(sizes) >= _WORTH_WORKERS else 1
    return "here" if workers < 2 else f"processes:{workers}"


def _show_files(files: pl.DataFrame) -> None:
    """Print files one by one, or by reader where they are many; those with something to say always."""
    columns = ["path", "status", "reader", "records", "rows", "skipped", "rejected", "reason"]
    if files.height <= MANY_FILES:
        show(files.select(columns), limit=MANY_FILES)
        return
    counts = [
        pl.len().alias("files"),
        *(pl.col(name).sum() for name in ("bytes", "records", "rows", "skipped", "rejected")),
    ]
    show(files.group_by("reader", "status", maintain_order=True).agg(counts))
    odd = files.filter(~pl.col("status").is_in(["loaded", "known", "recognised"])).select(columns)
    if odd.height:
        show(odd, title="not loaded whole")


def info(store: StoreOption, json: JsonOption = None) -> None:
    """Say what a store holds: span, entities, metrics, coverage, rejects, join hit rates."""
    facts = existing_store(store).info()
    if not write_json(facts.to_json(), json):
        for title, frame in facts.sections():
            show(frame, title=title)


def sql(
    query: Annotated[str, typer.Argument(help="One SELECT on samples, events, jobs, gpu, host ...")],
    store: StoreOption,
    form: Annotated[SqlFormat, typer.Option("--format", help="How to print.")] = SqlFormat.table,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of stdout.")] = None,
) -> None:
    """Ask the store in DuckDB SQL (read-only)."""
    source = existing_store(store)
    if out is not None and out.resolve().is_relative_to(source.path.resolve()):
        raise UsageError(f"{out} lies inside of the store; name a file outside of it.")
    frame = source.sql(query)
    try:
        _answer(frame, form, out)
    except OSError as error:
        raise UsageError(
            f"Cannot write {out}: {error.strerror or error}. Name a file in a folder that exists."
        ) from None


def _answer(frame: pl.DataFrame, form: SqlFormat, out: Path | None) -> None:
    if form is SqlFormat.table and out is None:
        show(frame, limit=200)
        return
    if form is SqlFormat.parquet:
        if out is None:
            raise UsageError("Parquet is binary; name a file with --out FILE.parquet.")
        frame.write_parquet(out)
    else:
        text = _text(frame, form)
        if out is None:
            sys.stdout.write(text)
            return
        out.write_text(text, encoding="utf-8")
    say(f"written: {out} ({frame.height} rows)")


def _text(frame: pl.DataFrame, form: SqlFormat) -> str:
    if form is SqlFormat.json:
        return frame.write_json() + "\n"
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    flat = frame.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name in nested)
    return flat.write_csv() if form is SqlFormat.csv else str(flat) + "\n"


def incidents(
    outcome: Annotated[str, typer.Option(help="kind[:code,code][@glob], such as xid:48,94,95.")],
    store: StoreOption,
    json: JsonOption = None,
) -> None:
    """List the incidents that a selector finds."""
    found = existing_store(store).incidents(outcome).table()
    if not write_json(found.to_dicts(), json):
        show(found.select("id", "ts", "kind", "code", "entity", "rack", "job"))


def register(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (ingest, info, events, templates, sql, incidents):
        app.command()(command)
