"""Accounting dumps of Slurm (``sacct --parsable2``): jobs, and how each attempt ended.

The record of the allocation is the job. Its steps repeat it and are skipped; of a job whose
allocation is not in the file, the steps tell start, end and hosts, and no state. The raw id is the
key, since the other one is that of the array or the heterogeneous job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.jobrows import Attempts, job_parts
from workbench.readers.sacctlines import Records, SacctSplitter, header_of
from workbench.readers.source import Source, damage_batches
from workbench.readers.tablestate import Part, batch_of, refused
from workbench.readers.text import Seen
from workbench.readers.timecells import TimeRule

__all__ = ["READER"]

#: Field of sacct: column of a job.
_COLUMNS = {
    "submit": "submitted",
    "start": "start",
    "end": "end",
    "state": "state",
    "exitcode": "exit",
    "user": "user",
    "jobname": "name",
    "nodelist": "nodes",
    "elapsedraw": "elapsed_s",
}
_WANTED = ("jobid", "jobidraw", "elapsed", *_COLUMNS)
_BACKWARDS = "jobs end before they start: the times stand as they are written"
_ONLY_STEPS = "jobs are known by their steps alone: start, end and hosts are those of the steps, the state is not known"


def _recognise(head: bytes, context: Context) -> Match | None:  # noqa: ARG001 - every reader has this shape
    header = header_of(head)
    if header is None:
        return None
    rule = f"header of sacct with {len(header.names)} fields, delimited by '{header.delimiter}'"
    return Match(confidence=0.9, rule=rule)


@dataclass(eq=False)
class _State:
    """What must be known from block to block."""

    rule: TimeRule
    attempts: Attempts = field(default_factory=Attempts)
    allocated: Seen = field(default_factory=lambda: Seen(limit=None))
    #: The first step of each job without an allocation so far, with the span of all of its steps.
    waiting: pl.DataFrame | None = None
    backwards: int = 0


def _read(source: Source, context: Context) -> Iterator[Batch]:
    yield Batch(records=0, rows=0)  # so that an empty file gives something, too
    header = header_of(source.head())
    if header is None:
        reason = "no header of sacct among the first lines: export with a header and --parsable2"
        yield from _refused(source, reason)
    else:
        splitter, state = SacctSplitter(header, _WANTED), _State(rule=TimeRule.of(context))
        for block in source.blocks():
            yield from _batches(splitter.take(block), state)
        yield from _batches(splitter.finish(), state)
        yield from _left(state)
        if state.backwards:
            yield Batch(records=0, rows=0, notes=(f"{state.backwards} {_BACKWARDS}",))
    yield from damage_batches(source)


def _refused(source: Source, reason: str) -> Iterator[Batch]:
    from workbench.readers.text import lines_of, rejected

    for block in source.blocks():
        found = lines_of(block)
        told = pl.concat([found.rejects, rejected(found.frame, reason)])
        yield Batch(records=found.records, rows=0, rejects=told.sort("line"))


def _batches(records: Records, state: _State) -> Iterator[Batch]:
    """Give the batches of some records; skips and rejects of other lines ride with the first."""
    skips, rejects, notes = Counter(records.skips), records.rejects, tuple(records.notes)
    frame = _fields(records)
    step = frame["jobid"].str.contains(".", literal=True).fill_null(value=False)
    jobs = _with_elapsed(frame.filter(~step))
    state.allocated.is_new(jobs["job"])
    skips["job step"] += _hold(frame, step, state)
    parts = job_parts(jobs.drop("line", "text", "jobid"), jobs.select("line", "text"), state.rule, state.attempts)
    aliases = _aliases(jobs)
    for tables, told in parts:
        state.backwards += tables["jobs"].filter(pl.col("end") < pl.col("start")).height
        refusals = refused(told, told["reason"], told["curable"])
        part = Part(rows=told.height - refusals.height, rejects=refusals, tables={**tables, "aliases": aliases})
        yield batch_of(part, skips, rejects, notes)
        skips, rejects, notes, aliases = Counter(), rejects.clear(), (), aliases.clear()
    if rejects.height or sum(skips.values()) or notes:
        yield batch_of(Part(rows=0, rejects=rejects.clear()), skips, rejects, notes)


def _fields(records: Records) -> pl.DataFrame:
    """Give records the columns that jobs have, beside ``jobid``, ``line`` and ``text``."""
    cells = records.cells
    missing = [pl.lit(None, pl.String).alias(name) for name in _WANTED if name not in cells.columns]
    cells = cells.with_columns(missing).with_columns(pl.col(name).str.strip_chars() for name in ("jobid", "jobidraw"))
    return cells.select(
        job=_before_dot(pl.coalesce("jobidraw", "jobid")),
        jobid=pl.coalesce("jobid", "jobidraw"),
        **{column: pl.col(name) for name, column in _COLUMNS.items()},
        elapsed="elapsed",
    ).hstack(records.lines.select("line", "text"))


def _before_dot(ident: pl.Expr) -> pl.Expr:
    """Give the job of ``7.batch``."""
    dot = ident.str.find(".", literal=True)
    return pl.when(dot.is_null()).then(ident).otherwise(ident.str.head(dot))


def _with_elapsed(jobs: pl.DataFrame) -> pl.DataFrame:
    """Put the elapsed time in seconds in the place of what is written."""
    whole = jobs["elapsed_s"].cast(pl.Int64, strict=False)
    if whole.null_count() and jobs["elapsed"].null_count() < jobs.height:
        whole = whole.fill_null(jobs.select(_seconds(pl.col("elapsed"))).to_series())
    return jobs.drop("elapsed").with_columns(whole.alias("elapsed_s"))


def _seconds(elapsed: pl.Expr) -> pl.Expr:
    """Read ``1-04:59:53`` and ``04:59:53``."""
    parts = elapsed.str.extract_groups(r"^(?:(\d+)-)?(\d+):(\d\d):(\d\d)")
    days, hours, minutes, seconds = (parts.struct.field(str(n)).cast(pl.Int64, strict=False) for n in (1, 2, 3, 4))
    return ((days.fill_null(0) * 24 + hours) * 60 + minutes) * 60 + seconds


def _hold(frame: pl.DataFrame, step: pl.Series, state: _State) -> int:
    """Hold back one step of each job without an allocation; give how many steps are skipped now."""
    before = 0 if state.waiting is None else state.waiting.height
    job = frame["job"].filter(step)
    rest = step.arg_true().filter(~state.allocated.is_known(job))
    steps = frame[rest].drop("elapsed")
    parts = [steps] if state.waiting is None else [state.waiting, steps]
    known = pl.concat(parts)
    known = known.filter(~state.allocated.is_known(known["job"]))
    if not known.height:
        state.waiting = known
        return before + job.len()
    longest = pl.col("nodes").sort_by(pl.col("nodes").str.len_bytes().fill_null(0), descending=True).first()
    state.waiting = known.group_by("job", maintain_order=True).agg(
        pl.col("jobid", "elapsed_s", "submitted", "state", "exit", "user", "name", "line", "text").first(),
        _span("start", last=False),
        _span("end", last=True),
        longest,
    ).select(steps.columns)  # fmt: skip
    return before + job.len() - state.waiting.height


def _span(name: str, *, last: bool) -> pl.Expr:
    """Give the first or last time as written, which sorts as time does; ``Unknown`` is none."""
    stamp = pl.when(pl.col(name).str.contains(r"^\d")).then(name)
    return stamp.max() if last else stamp.min()


def _left(state: _State) -> Iterator[Batch]:
    """Give the jobs of which the file held steps only."""
    if state.waiting is None or not state.waiting.height:
        return
    jobs = state.waiting.with_columns(pl.lit(None, pl.String).alias(name) for name in ("state", "exit", "name"))
    fields = jobs.drop("line", "text", "jobid", "elapsed_s")
    notes: tuple[str, ...] = (f"{jobs.height} {_ONLY_STEPS}",)
    for tables, told in job_parts(fields, jobs.select("line", "text"), state.rule, state.attempts):
        state.backwards += tables["jobs"].filter(pl.col("end") < pl.col("start")).height
        refusals = refused(told, told["reason"], told["curable"])
        part = Part(rows=told.height - refusals.height, rejects=refusals, tables=tables, notes=notes)
        yield batch_of(part, {}, refusals.clear())
        notes = ()


def _aliases(jobs: pl.DataFrame) -> pl.DataFrame:
    """Say which job of an array or heterogeneous job has which raw id."""
    differs = jobs.filter((pl.col("jobid") != pl.col("job")) & pl.col("job").is_not_null())
    return (
        differs.select(
            host=pl.lit(None, pl.String),
            device_kind=pl.lit("job"),
            device="jobid",
            same_as="job",
            rule=pl.lit("JobID and JobIDRaw of one record"),
            valid_from=pl.lit(None, frames.TS),
            valid_to=pl.lit(None, frames.TS),
        )
        .unique(maintain_order=True)
        .cast(frames.ALIASES)
    )


READER = Reader(name="slurm_sacct", recognise=_recognise, read=_read)
