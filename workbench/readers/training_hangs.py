"""Collectives that hang: which ranks reported, and which did not, and so are the suspects.

The watchdog of a rank reports a collective that did not finish. Who reports waited; who stayed
behind, or says nothing, was waited for. What went wrong began before the time-out did.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.readers.graph import Node
from workbench.readers.told import Told

__all__ = ["Hangs", "Ranks", "Report", "report_of"]

_MOST_RANKS = 1_000_000
_MOST_TOLD = 64
_APART_US = 600 * 1_000_000
_REPORT = re.compile(
    r"\[Rank (?P<rank>\d{1,7})\] Watchdog caught collective operation timeout: WorkNCCL\((?P<work>[^()]*(?:\([^()]*\)[^()]*)*)\) "
    r"ran for (?P<ran>\d{1,12}) milliseconds"
)
_MAPPING = re.compile(r"global_rank_mapping=defaultdict\([^{]*(\{.{2,200000}?\})\)")
_WORLD = re.compile(r"\b(?:dist_world_size|world_size|world size|nranks|WORLD_SIZE)[=: .]{1,40}(\d{1,7})\b")
_COMM = re.compile(
    r"^(?P<host>[\w.-]{1,255}):\d+:\d+ \[(?P<device>\d{1,3})\] NCCL INFO .*\brank (?P<rank>\d{1,7}) nranks (?P<world>\d{1,7})\b"
)


@dataclass(eq=False)
class Ranks:
    """What is known of ranks: how many there are, and where they run."""

    hosts: dict[int, str] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    world: int | None = None

    def learn(self, text: str, node: str | None, rank: int | None) -> bool:
        """Take what a line says; True where it is a statement of where ranks run."""
        if rank is not None and len(self.seen) < _MOST_RANKS:
            self.seen.add(rank)
            if node is not None:
                self.hosts.setdefault(rank, node)
        if (comm := _COMM.match(text)) is not None:
            self.hosts.setdefault(int(comm["rank"]), comm["host"])
            self.world = max(self.world or 0, int(comm["world"]))
            return True
        if (world := _WORLD.search(text)) is not None:
            self.world = max(self.world or 0, int(world[1]))
        found = _MAPPING.search(text)
        return found is not None and self._mapped(found[1])

    def _mapped(self, text: str) -> bool:
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return False
        for host, ranks in value.items() if isinstance(value, dict) else ():
            if isinstance(host, str) and isinstance(ranks, list) and len(self.hosts) < _MOST_RANKS:
                self.hosts |= {rank: host for rank in ranks if type(rank) is int and 0 <= rank < _MOST_RANKS}
        return bool(self.hosts)

    def all_of(self, reported: set[int]) -> tuple[set[int], bool]:
        """Give all ranks, and whether that is stated or only what was seen."""
        stated = max(self.world or 0, len(self.hosts))
        largest = max(self.seen | reported, default=-1) + 1
        return set(range(min(max(stated, largest), _MOST_RANKS))), stated >= largest and stated > 0


@dataclass(frozen=True, kw_only=True)
class Report:
    """What the watchdog of a rank says.

    Attributes
    ----------
    rank, sequence : int
    operation : str or None
    ran_ms, timeout_ms : int
    """

    rank: int
    sequence: int | None
    operation: str | None
    ran_ms: int
    timeout_ms: int | None


def report_of(text: str) -> Report | None:
    """Read a report of the watchdog.

    Examples
    --------
    >>> work = "WorkNCCL(SeqNum=48211, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=1800000)"
    >>> report_of(f"[Rank 3] Watchdog caught collective operation timeout: {work} ran for 1800042 milliseconds before")
    Report(rank=3, sequence=48211, operation='ALLREDUCE', ran_ms=1800042, timeout_ms=1800000)
    """
    found = _REPORT.search(text)
    if found is None:
        return None
    work = dict(part.strip().split("=", 1) for part in found["work"].split(",") if "=" in part)
    return Report(
        rank=int(found["rank"]),
        sequence=_whole(work.get("SeqNum")),
        operation=work.get("OpType"),
        ran_ms=int(found["ran"]),
        timeout_ms=_whole(work.get("Timeout(ms)")),
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"\d{1,18}", text, re.ASCII) else None


@dataclass(eq=False)
class _Hang:
    first: tuple[int, int]
    line: int
    began_us: int
    reports: dict[int, Report] = field(default_factory=dict)


@dataclass(eq=False)
class Hangs:
    """Reports of time-outs, gathered by the hang that they are of: all within ten minutes of the first."""

    _hangs: list[_Hang] = field(default_factory=list)

    def add(self, report: Report, span: tuple[int, int], line: int) -> int:
        """Take a report; give when the collective began to hang."""
        began = span[0] - report.ran_ms * 1000
        hang = next((one for one in self._hangs if abs(span[0] - one.first[0]) <= _APART_US), None)
        if hang is None:
            hang = _Hang(span, line, began)
            self._hangs.append(hang)
        if len(hang.reports) < _MOST_RANKS:
            hang.reports.setdefault(report.rank, report)
        hang.began_us = min(hang.began_us, began)
        return began

    def tell(self, ranks: Ranks, job: Node, told: Told) -> None:
        """Tell each hang, and its suspects."""
        for hang in self._hangs:
            everyone, stated = ranks.all_of(set(hang.reports))
            silent = sorted(everyone - set(hang.reports))
            sequences = {rank: one.sequence for rank, one in hang.reports.items() if one.sequence is not None}
            furthest = max(sequences.values(), default=None)
            behind = {rank: number for rank, number in sequences.items() if furthest is not None and number < furthest}
            attributes: dict[str, Any] = {
                "sequence": furthest, "reported": len(hang.reports), "ranks": len(everyone), "ranks_stated": stated,
                "silent": silent[:_MOST_TOLD], "silent_count": len(silent), "behind": {str(rank): number for rank, number in sorted(behind.items())[:_MOST_TOLD]},
            }  # fmt: skip
            message = f"collective {furthest} hung: {len(hang.reports)} of {len(everyone)} ranks reported"
            told.event(
                job,
                "nccl.hang",
                message,
                span_us=hang.first,
                line=hang.line,
                attributes=attributes,
                began_us=hang.began_us,
            )
            why = dict.fromkeys(silent, "silent") if len(silent) <= len(everyone) // 2 else {}
            why |= dict.fromkeys(behind, "behind")
            _tell_suspects(hang, why, (ranks.hosts, job), told)
        self._hangs.clear()


def _tell_suspects(hang: _Hang, why: Mapping[int, str], places: tuple[Mapping[int, str], Node], told: Told) -> None:
    hosts, job = places
    for rank, reason in sorted(why.items())[:_MOST_TOLD]:
        host = hosts.get(rank)
        who: Node = job if host is None else (host, "host", None)
        message = f"rank {rank} is a suspect of the hang: it is {reason}"
        attributes = {"rank": rank, "job": job[2]}
        told.event(
            who, "nccl.suspect", message, span_us=hang.first, line=hang.line, code=reason, attributes=attributes,
            began_us=hang.began_us,
        )  # fmt: skip
