"""Text of Slurm's tools on nodes and jobs: ``scontrol show node``, ``show job``, and tables of ``sinfo``.

A drained or failed node gives an event at the time that its reason was set; attributes and the boot
are told of every node. Times are local to the controller and name no zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.model.nodelist import expand
from workbench.readers.base import Match, Reader
from workbench.readers.jobrows import job_times
from workbench.readers.scontrol_fields import NodeRow, SinfoHeader, fields_of, node_of, sinfo_header
from workbench.readers.slurm_fields import JobRecords, flags_of, node_state, tell_state, text_or_none
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import lines_of, matched_share
from workbench.readers.timecells import TimeRule
from workbench.readers.told import Told

__all__ = ["READER"]

_BEGINS = re.compile(r"(NodeName|JobId)=\S")
_GOES_ON = re.compile(r"\s+\S")
_LIKELY = r"^(?:(?:NodeName|JobId)=\S|\s+[A-Z][\w/:.]*=)"
_NONE = re.compile(
    r"(?:No jobs in the system|No nodes? (?:in the system|found)|slurm_load_\w+ error|Node \S+ not found|Invalid job id)"
)
_DATE_LINE = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \d{4}")
_AT_ONCE = 20_000
_MOST_NODES = 100_000
_MOST_OF_ALL = 2_000_000
_NO_RECORD = "neither a record of scontrol nor a row of sinfo"
_CELLS = "row of sinfo with another number of cells than its header"
_CUT = "the file ends inside of this record"
_TOO_MANY = "the file names more than 2,000,000 nodes"
_UNTIMED = "some nodes are down or drained, since when the dump does not tell"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    share = matched_share(head, _LIKELY)
    if share >= 0.6 and matched_share(head, rf"^{_BEGINS.pattern}"):
        return Match(confidence=0.9, rule=f"{share:.0%} of the first lines are fields of scontrol show node or job")
    for line in head[:20_000].decode(errors="replace").splitlines()[:3]:
        if sinfo_header(line.lstrip("\ufeff")) is not None:
            return Match(confidence=0.9, rule="header of a table of sinfo")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    machine, cut = _Machine(context), False
    for block in source.blocks():
        lines = lines_of(block)
        cut |= block.unterminated
        for number, reason, text, _ in lines.rejects.iter_rows():
            machine.told.reject(number, reason, text)
        for number, text in lines.frame.iter_rows():
            machine.line(number, text)
            if machine.waits >= _AT_ONCE:
                yield from machine.batches()
    machine.finish(cut=cut or source.damage is not None)
    yield from machine.batches()
    yield from damage_batches(source)


@dataclass(eq=False)
class _Record:
    line: int
    text: str
    fields: dict[str, str] = field(default_factory=dict)


class _Machine:
    """What is known from line to line."""

    def __init__(self, context: Context) -> None:
        self.told = Told()
        self._rule = TimeRule.of(context)
        self._jobs = JobRecords(rule=self._rule)
        self._open: _Record | None = None
        self._header: SinfoHeader | None = None
        self._nodes: list[tuple[int, str, NodeRow]] = []
        self._named = 0
        self._said: set[tuple[str, str | None, int]] = set()

    @property
    def waits(self) -> int:
        """How many records wait for their times."""
        return self._jobs.count + len(self._nodes)

    def line(self, number: int, text: str) -> None:
        """Take the next line."""
        if not text.strip():
            self.finish()
            self.told.skip("blank")
        elif _BEGINS.match(text):
            self.finish()
            self._header = None
            self._open = _Record(number, text, fields_of(text))
        elif self._open is not None and _GOES_ON.match(text):
            for name, value in fields_of(text).items():
                self._open.fields.setdefault(name, value)
            self.told.skip("continuation")
        else:
            self.finish()
            self._other(number, text)

    def _other(self, number: int, text: str) -> None:
        header = sinfo_header(text)
        if header is not None:
            self.told.skip("header" if header != self._header else "repeated header")
            self._header = header
        elif _NONE.match(text) or _DATE_LINE.fullmatch(text.strip()):
            self.told.skip("metadata")
        elif self._header is None:
            self.told.reject(number, _NO_RECORD, text)
        elif (row := self._header.row(text)) is None:
            self.told.reject(number, _CELLS, text)
        else:
            self._nodes.append((number, text, row))

    def finish(self, *, cut: bool = False) -> None:
        """Take the record whose lines are over; of one that is cut it is not known what is missing."""
        record, self._open = self._open, None
        if record is None:
            return
        if cut:
            self.told.reject(record.line, _CUT, record.text)
        elif "NodeName" in record.fields:
            self._nodes.append((record.line, record.text, node_of(record.fields)))
        else:
            self._jobs.add(_job(record.fields), line=record.line, text=record.text)

    def batches(self) -> Iterator[Batch]:
        """Tell what was gathered."""
        self._tell_nodes()
        yield self.told.batch()
        yield from self._jobs.batches()

    def _tell_nodes(self) -> None:
        rows, self._nodes = self._nodes, []
        if not rows:
            return
        columns = [pl.Series([getattr(row, name) for *_, row in rows], dtype=pl.String) for name in ("since", "booted")]
        since, booted = (job_times(column, self._rule).rows(named=True) for column in columns)
        for (line, text, row), changed, boot in zip(rows, since, booted, strict=True):
            wrong = next((time for time in (changed, boot) if time["reason"] is not None), None)
            hosts = _hosts(row.nodes) if self._named <= _MOST_OF_ALL else _TOO_MANY
            if wrong is not None:
                self.told.reject(line, wrong["reason"], text, curable=wrong["curable"])
            elif isinstance(hosts, str):
                self.told.reject(line, hosts, text)
            else:
                self.told.row()
                self._named += len(hosts)
                for host in hosts:
                    self._tell(host, line, row, (_span(changed), _span(boot)))

    def _tell(
        self, host: str, line: int, row: NodeRow, spans: tuple[tuple[int, int] | None, tuple[int, int] | None]
    ) -> None:
        since, boot = spans
        self.told.graph.entity((host, "host", None), row.facts)
        if boot is not None:
            message = "node booted, as Slurm was told"
            self.told.event((host, "host", None), "boot", message, span_us=boot, line=line, code="slurm")
        state = node_state(flags_of(row.state), row.reason)
        if state.kind is None:
            return
        if since is None:
            self.told.note(_UNTIMED)
        elif (host, state.kind, since[0]) not in self._said:  # a node is listed once for each partition
            self._said.add((host, state.kind, since[0]))
            tell_state(self.told, host, state, span=since, reason=row.reason, by=row.by, line=line)


def _hosts(nodes: str) -> list[str] | str:
    try:
        return expand(nodes, limit=_MOST_NODES)
    except ValueError as error:
        return str(error)


def _span(time: dict[str, int | None]) -> tuple[int, int] | None:
    low, high = time["ts_low"], time["ts_high"]
    return None if low is None or high is None else (low, high)


def _job(fields: dict[str, str]) -> dict[str, str | None]:
    user = text_or_none(fields.get("UserId"))
    return {
        "job": text_or_none(fields.get("JobId")),
        "submitted": text_or_none(fields.get("SubmitTime")),
        "start": text_or_none(fields.get("StartTime")),
        "end": text_or_none(fields.get("EndTime")),
        "state": text_or_none(fields.get("JobState")),
        "exit": text_or_none(fields.get("ExitCode")),
        "user": None if user is None else user.partition("(")[0],
        "name": text_or_none(fields.get("JobName")),
        "nodes": text_or_none(fields.get("NodeList")),
    }


READER = Reader(name="slurm_nodes", recognise=_recognise, read=_read)
