"""screen, judge, hypothesis, ledger: from questions to verdicts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from workbench.batch import junit_xml, run_batch
from workbench.cli.common import (
    JsonOption,
    SeedOption,
    StoreOption,
    existing_store,
    progress,
    say,
    show,
    writable,
    write_json,
)
from workbench.errors import UsageError
from workbench.hypotheses.ledger import SUMMARY
from workbench.hypotheses.ledger import ledger as read_ledger
from workbench.hypotheses.record import screen as run_screen
from workbench.hypotheses.toml import load_hypotheses, template
from workbench.model.findings import findings_json
from workbench.model.verdict import Verdict

__all__ = ["check", "judge", "ledger", "new", "register", "screen", "show_claim", "verdict_table"]

EngineOption = Annotated[str, typer.Option(help="here, processes:N or dask:ADDRESS; the answer is the same.")]
ReportOption = Annotated[Path | None, typer.Option(help="Write a self-contained HTML write-up.")]


def screen(
    outcome: Annotated[str, typer.Option(help="kind[:code,code][@glob], such as xid:48,94,95.")],
    store: StoreOption,
    seed: SeedOption,
    before: Annotated[str, typer.Option(help="How long before the outcome to look.")] = "2h",
    json: JsonOption = None,
    report: ReportOption = None,
    engine: EngineOption = "here",
) -> None:
    """Ask of every signal whether it precedes the outcome; each try is recorded in the ledger."""
    source = existing_store(store)
    writable(report, "--report")
    with progress("screen") as tell:
        result = run_screen(source, outcome=outcome, before=before, seed=seed, engine=engine, progress=tell)
    if not write_json(findings_json(result.verdicts, source.version, seed, result.tested), json):
        show(verdict_table(result.verdicts))
    for verdict in result.verdicts:
        if verdict.word == "SUPPORTED":
            say(verdict.sentence)
    _say_known(result.verdicts, seed)
    if report is not None:
        _write(source, report, verdicts=result.verdicts)


def judge(
    files: Annotated[list[Path], typer.Argument(help="Hypothesis files (TOML).")],
    store: StoreOption,
    seed: SeedOption,
    json: JsonOption = None,
    junit: Annotated[Path | None, typer.Option(help="Write the verdicts as JUnit XML.")] = None,
    report: ReportOption = None,
    engine: EngineOption = "here",
) -> int:
    """Judge hypotheses; exit code 1 where a verdict is not as its file expects."""
    source = existing_store(store)
    writable(report, "--report")
    writable(junit, "--junit")
    with progress("judge") as tell:
        result = run_batch(files, source, seed=seed, engine=engine, progress=tell)
    if not write_json(result.findings(), json) and result.verdicts:
        show(verdict_table(result.verdicts))
    for verdict in result.verdicts:
        say(verdict.sentence)
        if verdict.expected and verdict.expected != verdict.word:
            say(
                f"{verdict.hypothesis or verdict.signal}: its file expects {verdict.expected}, the verdict is {verdict.word}"
            )
    _say_known(result.verdicts, seed)
    for name, reason in result.failed:
        say(f"{name} failed: {reason}")
    if junit is not None:
        junit.write_text(junit_xml(result), encoding="utf-8")
    if report is not None:
        _write(source, report, verdicts=result.verdicts)
    return result.exit_code


def _say_known(verdicts: tuple[Verdict, ...], seed: int) -> None:
    others = sorted({str(v.provenance.seed) for v in verdicts if v.provenance.seed not in (None, seed)})
    known = sum(verdict.provenance.seed not in (None, seed) for verdict in verdicts)
    if known:
        say(
            f"{known} of {len(verdicts)} were tested before on the same rows (seed {', '.join(others)}): "
            "the first verdict stands, another seed is no new try."
        )


def verdict_table(verdicts: tuple[Verdict, ...]) -> pl.DataFrame:
    """One row per verdict, as printed."""
    rows = [
        {
            "verdict": str(v.word),
            "reading": v.reading_text,
            "signal": v.hypothesis or v.signal,
            "scope": v.scope,
            "episodes": v.episodes,
            "p": v.p,
            "q": v.q,
            "U": v.bound_u,
            "share": v.effect.share_affected,
            "lead_s": v.lead.median,
            "feature": f"{v.direction} {v.feature}".strip(),
        }
        for v in verdicts
    ]
    return pl.DataFrame(rows, infer_schema_length=None).fill_nan(None)


def _write(source: object, to: Path, *, verdicts: tuple[Verdict, ...]) -> None:
    from workbench.reports.writeup import write_up

    say(f"written: {write_up(source, verdicts=verdicts, to=to)}")  # type: ignore[arg-type]


hypothesis = typer.Typer(help="Write, check and show hypothesis files.", no_args_is_help=True)


@hypothesis.command("new")
def new(file: Annotated[Path, typer.Argument(help="File to write.")]) -> None:
    """Write a commented template."""
    if file.exists():
        raise UsageError(f"{file} exists already; name another file.")
    writable(file, "hypothesis new")
    file.write_text(template(), encoding="utf-8")
    say(f"written: {file}; edit it, then: workbench hypothesis check {file}")


@hypothesis.command("check")
def check(
    files: Annotated[list[Path], typer.Argument(help="Hypothesis files (TOML).")],
    store: Annotated[Path | None, typer.Option("--store", help="Also check the names against this store.")] = None,
) -> None:
    """Report every mistake of every file at once."""
    claims = load_hypotheses(files, store=None if store is None else existing_store(store))
    say(f"{len(claims)} hypotheses are well formed")


@hypothesis.command("show")
def show_claim(file: Annotated[Path, typer.Argument(help="Hypothesis file (TOML).")]) -> None:
    """Say a hypothesis in words, with its digest."""
    for claim in load_hypotheses([file]):
        sys.stdout.write(f"{claim}\ndigest {claim.digest}\n")


def ledger(store: StoreOption, json: JsonOption = None) -> None:
    """List every judgement ever made on this store."""
    entries = read_ledger(existing_store(store)).table()
    if not write_json(entries.to_dicts(), json):
        show(entries.select(SUMMARY))


def register(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (screen, judge, ledger):
        app.command()(command)
    app.add_typer(hypothesis, name="hypothesis")
