r"""Logs of training jobs: steps of Megatron, NeMo, DeepSpeed, Hugging Face; torchrun, NCCL and its watchdog; nccl-tests.

Steps become metrics of the job, checkpoints and failed collectives events. What has no stamp of its
own has that of the line before. Lines that say neither are counted and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import polars as pl

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers import stamps
from workbench.readers.base import Match, Reader
from workbench.readers.graph import Node
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import Lines, lines_of, matched_share
from workbench.readers.told import TAKEN_AT_MISSING, Told
from workbench.readers.training_hangs import Hangs, Ranks, Report, report_of
from workbench.readers.training_lines import first_year, parted, timed, walled
from workbench.readers.training_rules import LIKELY, Said, said_of
from workbench.readers.training_steps import Step, step_of
from workbench.timebase import MICROS, LocalClock, YearClock, format_us

__all__ = ["READER"]

Span = tuple[int, int]
_BEFORE = r"^(?:\[default\d+\]: ?|\[rank\d+\]: ?|[A-Za-z][\w-]*\d[\w.-]*: |\d{1,6}: |\[\d{1,8}\] )*\s*"
_STRONG = (
    _BEFORE
    + r"(?:\[[\d T:.,-]{19,26}\]\s+)?(?:iteration\s+\d+/\s*\d+ \||\[(?:INFO|WARNING|ERROR)\] \[\w+\.py:\d+:\w+\]|"
    r"[\w.-]+:\d+:\d+ \[\d+\] NCCL (?:INFO|WARN) |\[?[IWEF]\d{3,4} \d\d:\d\d:\d\d\.\d+ (?:\d+ torch/|ProcessGroupNCCL)|"
    r"# nThread \d+ nGpus \d|\[NeMo [IWE] \d{4}-|\{'loss': |Epoch \d+: .*(?:reduced_train_loss|train_step_timing)|"
    r"Training epoch \d+, iteration \d+/\d+ \|)|Watchdog caught collective operation timeout: WorkNCCL"
)
_JOB = re.compile(
    rb"SLURM_JOB_?ID['\"]?[=:\s'\"]{1,4}(\d{1,12})|srun: job (\d{1,12}) |\*\*\* JOB (\d{1,12}) ON |rdzv_id['\"]?[=:\s'\"]{1,8}(\w[\w.-]{0,60})"
)
_UNKNOWN = "unknown"
_UNNAMED = (
    "the log does not name its job: what it tells is of the job 'unknown'; state job = \"=ID\" under [file.columns]"
)
_CARRIED = "some lines have no time of their own: they have that of the line before them"
_COUNTED = "times are the stated one and the step times since: pauses between steps are not in them"
_RESTARTED = "the steps start again, and when is not told: cut the file here, and state when each part was taken"
_BUS = re.compile(
    r"^# (?:Avg bus bandwidth\s*: (?P<bandwidth>\S+)|Out of bounds values : (?P<wrong>\d{1,12}) (?P<word>\w+))"
)
_BUS_HOST = re.compile(rb"#\s+Rank\s+\d+ .{0,120}? on\s+(\S+) device", re.ASCII)

_OF_DAEMONS = r"^(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) \S+ [\w./-]+(?:\[\d+\])?: "


def _recognise(head: bytes, context: Context) -> Match | None:
    share = matched_share(head.replace(b"\r", b"\n"), _STRONG)
    if share == 0.0:
        return None
    rule = f"{share:.0%} of the first lines are steps, launcher or NCCL lines of a training job"
    if _stated_job(context):  # else a table would be what columns are stated of
        return Match(confidence=0.97, rule=rule)
    if matched_share(head, _OF_DAEMONS) >= 0.5:  # a log of the whole host, in which a job writes too
        return Match(confidence=0.45, rule=rule)
    return Match(confidence=0.9 if share >= 0.1 else 0.75, rule=rule)


def _read(source: Source, context: Context) -> Iterator[Batch]:
    log = _Log(context, source.head())
    for block in source.blocks():
        yield log.batch(lines_of(block))
    yield from log.end()
    yield from damage_batches(source)


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A part of a line that may be of account, and when it was written, as far as that is known."""

    line: int
    text: str
    node: str | None
    rank: int | None
    span: Span | None
    before: Span | None
    why: str | None
    cure: str | None


class _Log:
    """What is known from block to block."""

    def __init__(self, context: Context, head: bytes) -> None:
        self._context = context
        self._clock = None if context.zone is None else LocalClock(context.zone)
        year = context.year or first_year(head)
        self._years = None if year is None else YearClock(year)
        self._fold = stamps.FoldWait(self._clock, self._walls)
        self._told = Told()
        self._ranks, self._hangs = Ranks(), Hangs()
        self._job: Node = (None, "job", _job_of(context, head))
        self._bus: Node = _bus_of(context, head, self._job)
        self._before: Span | None = None
        self._why: tuple[str | None, str | None] = (None, None)
        self._at_us = context.taken_at_us
        self._iteration: int | None = None
        self._last_step: Step | None = None
        self._restarted = False
        self._saving: dict[int | None, int] = {}

    def batch(self, lines: Lines) -> Batch:
        """Read a block."""
        for number, reason, text, _ in lines.rejects.iter_rows():
            self._told.reject(number, reason, text)
        self._take(self._fold.ready(lines.frame))
        return self._told.batch()

    def end(self) -> Iterator[Batch]:
        """Read what waited, and tell what only the whole log tells: who was silent."""
        if (waiting := self._fold.rest()) is not None:
            self._take(waiting)
        self._hangs.tell(self._ranks, self._job, self._told)
        if self._job[2] == _UNKNOWN:
            self._told.note(_UNNAMED)
        hosts = sorted(set(self._ranks.hosts.values()))
        world = max(self._ranks.world or 0, len(self._ranks.hosts))
        if world:
            about = {"ranks": str(world)} | ({"hosts": ",".join(hosts[:1000])} if hosts else {})
            self._told.graph.entity(self._job, about)
        yield self._told.batch()

    def _walls(self, lines: pl.DataFrame) -> pl.DataFrame:
        found = walled(parted(lines), copy(self._years))
        return found.filter(pl.col("offset").is_null()).select("line", "wall").drop_nulls()

    def _take(self, lines: pl.DataFrame) -> None:
        if not lines.height:
            return
        parts = parted(lines).with_row_index("at")
        found = timed(parts, self._clock, self._years).select("at", "ts_low", "ts_high", "reason", "curable")
        parts = parts.join(found, on="at", how="left", maintain_order="left")
        for node, rank in (
            parts.select("node", "rank").filter(pl.col("rank").is_not_null()).unique(maintain_order=True).iter_rows()
        ):
            self._ranks.learn("", node, rank)
        state: dict[int, bool] = {}
        for part in self._likely(parts):
            kept = self._line(part)
            if kept is not None:
                state[part.line] = kept or state.get(part.line, False)
        self._count(lines, {line for line, kept in state.items() if kept}, set(state))

    def _likely(self, parts: pl.DataFrame) -> Iterator[_Line]:
        """Give the parts of account, each with the stamp before it; then keep the last stamp."""
        stamped = pl.col("ts_low").is_not_null()
        earlier = parts.with_columns(
            low=pl.col("ts_low").forward_fill().shift(1), high=pl.col("ts_high").forward_fill().shift(1)
        )
        some = earlier.filter(pl.col("text").str.contains_any(list(LIKELY)))
        start, why = self._before, parts.filter(pl.col("reason").is_not_null())
        if why.height:
            self._why = why.select("reason", "curable").row(0)
        columns = ("line", "text", "node", "rank", "ts_low", "ts_high", "reason", "curable", "low", "high")
        for line, text, node, rank, low, high, reason, cure, low_before, high_before in some.select(
            columns
        ).iter_rows():
            span = None if low is None else (low, high)
            before = start if low_before is None else (low_before, high_before)
            yield _Line(line=line, text=text, node=node, rank=rank, span=span, before=before, why=reason, cure=cure)
        last = parts.filter(stamped).tail(1)
        if last.height:
            self._before = last.select("ts_low", "ts_high").row(0)

    def _count(self, lines: pl.DataFrame, kept: set[int], known: set[int]) -> None:
        blank = int((lines["text"].str.strip_chars() == "").sum())
        self._told.row(len(kept))
        self._told.skip("blank", blank)
        self._told.skip("other line", lines.height - blank - len(known))

    def _line(self, part: _Line) -> bool | None:
        """Tell a line; True: it is a row, False: it was rejected, None: it says nothing that is kept."""
        where = self._ranks.learn(part.text, part.node, part.rank)
        report = report_of(part.text)
        step = None if report is not None else step_of(part.text)
        said = None if report is not None or step is not None else said_of(part.text)
        bus = _BUS.match(part.text)
        if report is None and step is None and said is None and bus is None:
            return True if where else None
        span = self._when(part, step)
        if span is None:
            return False
        if report is not None:
            self._report(report, part, span)
        elif step is not None:
            self._step(step, part, span)
        elif said is not None:
            self._said(said, part, span)
        elif bus is not None:
            self._bandwidth(bus, part, span)
        return True

    def _when(self, part: _Line, step: Step | None) -> Span | None:
        """Give when a line was written; else reject it."""
        if part.span is not None:
            return part.span
        if part.why is None and part.before is not None:
            self._told.note(_CARRIED)
            return part.before
        why, cure = (part.why, part.cure) if part.why is not None else self._why
        if why is not None:
            self._told.reject(part.line, why, part.text, curable=cure)
            return None
        if self._at_us is None:
            self._told.reject(part.line, TAKEN_AT_MISSING, part.text, curable="taken_at")
            return None
        going_on = step is None or step.iteration is None or step.iteration > (self._iteration or -1)
        self._restarted |= not going_on and step != self._last_step
        if self._restarted:
            self._told.reject(part.line, _RESTARTED, part.text)
            return None
        return self._counted(step)

    def _counted(self, step: Step | None) -> Span:
        """Go on from the stated time by the steps done since."""
        assert self._at_us is not None
        if step is not None and step.iteration is not None:
            cell, unit = step.numbers.get("elapsed_time_per_iteration", ("", None))
            seconds = _number(cell) * {"ms": 1e-3}.get(unit or "", 1.0)
            done = 0 if self._iteration is None else max(step.iteration - self._iteration, 0)
            self._at_us += int(done * seconds * MICROS)
            self._told.note(_COUNTED)
        return self._at_us, self._at_us

    def _step(self, step: Step, part: _Line, span: Span) -> None:
        if step == self._last_step:
            return  # a progress bar draws itself again
        self._last_step, self._iteration = step, step.iteration
        if step.iteration is not None:
            self._told.sample(self._job, "iteration", step.iteration, ts_us=span[0], kind="counter")
        for name, (cell, unit) in step.numbers.items():
            infinite = cell.lower().lstrip("+-").startswith("inf")
            if infinite:
                self._told.absent(name, "infinite")
            else:
                self._told.sample(self._job, name, cell, ts_us=span[0], unit=unit, kind=step.kind_of(name))
            if "loss" in name and name != "loss_scale" and (infinite or cell.lower() == "nan"):
                attributes = {"metric": name, "iteration": step.iteration}
                message = f"{name} is {cell} at iteration {step.iteration}"
                self._told.event(
                    self._job, "loss", message, span_us=span, line=part.line, code="nan", attributes=attributes
                )

    def _report(self, report: Report, part: _Line, span: Span) -> None:
        self._ranks.seen.add(report.rank)
        began = self._hangs.add(report, span, part.line)
        attributes: dict[str, Any] = {
            "rank": report.rank, "sequence": report.sequence, "operation": report.operation, "ran_ms": report.ran_ms,
            "timeout_ms": report.timeout_ms, "began": format_us(began), "host": self._ranks.hosts.get(report.rank),
        }  # fmt: skip
        self._told.event(
            self._job, "nccl.timeout", part.text.strip(), span_us=span, line=part.line, code=report.operation,
            severity="error", attributes=attributes, began_us=began,
        )  # fmt: skip

    def _said(self, said: Said, part: _Line, span: Span) -> None:
        attributes = dict(said.attributes)
        if said.kind == "checkpoint":
            self._checkpoint(said, attributes, span)
        rank = attributes.get("rank", part.rank)
        attributes |= {
            "rank": rank,
            "node": part.node or (self._ranks.hosts.get(rank) if isinstance(rank, int) else None),
        }
        if said.who is not None:
            attributes["job"] = self._job[2]
        self._told.event(
            said.who or self._job, said.kind, part.text.strip(), span_us=span, line=part.line, code=said.code,
            attributes=attributes,
        )  # fmt: skip

    def _checkpoint(self, said: Said, attributes: dict[str, Any], span: Span) -> None:
        """Find how long a save took: as told, or from its first line to its last."""
        number, seconds = attributes.get("iteration"), said.duration_s
        if said.code == "begin" and len(self._saving) < 10_000:
            self._saving.setdefault(number, span[0])
        elif said.code == "end" and (began := self._saving.pop(number, None)) is not None and began <= span[0]:
            seconds = attributes["duration_s"] = (span[0] - began) / MICROS
        if seconds is not None:
            self._told.sample(self._job, "checkpoint_save", seconds, ts_us=span[0], unit="s", kind="gauge")

    def _bandwidth(self, found: re.Match[str], part: _Line, span: Span) -> None:
        """Tell the result of nccl-tests."""
        if found["bandwidth"] is not None:
            self._told.sample(self._bus, "nccl_avg_busbw", found["bandwidth"], ts_us=span[0], unit="GB/s", kind="gauge")
        else:
            self._told.sample(
                self._bus, "nccl_out_of_bounds", int(found["wrong"]), ts_us=span[0], unit="1", kind="gauge"
            )
        del part


def _number(cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        return 0.0
    return number if 0 <= number < 1e7 else 0.0


def _stated_job(context: Context) -> str | None:
    stated = context.columns.roles.get("job", "")
    return stated[1:] if stated.startswith("=") else None


def _job_of(context: Context, head: bytes) -> str:
    if (stated := _stated_job(context)) is not None:
        return stated
    found = _JOB.search(head)
    return next(group for group in found.groups() if group).decode() if found else _UNKNOWN


def _bus_of(context: Context, head: bytes, job: Node) -> Node:
    """Give whose bandwidth nccl-tests measured: one host's, or the job's."""
    hosts = {name.decode(errors="replace") for name in _BUS_HOST.findall(head)}
    if len(hosts) > 1:
        return job
    named = next(iter(hosts - {"localhost"}), None)
    host = named or context.host
    return job if host is None else (host, "host", None)


READER = Reader(name="training_log", recognise=_recognise, read=_read)
