"""What the tools of Slurm share: numbers and states in all their spellings, nodes, jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from workbench.model.batch import Batch
from workbench.readers.jobrows import Attempts, job_parts
from workbench.readers.jsonvalues import text_of
from workbench.readers.tablestate import Part, batch_of, refused
from workbench.readers.timecells import TimeRule
from workbench.readers.told import Told

__all__ = [
    "JobRecords",
    "NodeState",
    "flags_of",
    "node_state",
    "number_of",
    "span_of_second",
    "tell_state",
    "text_or_none",
]

_SECOND_US = 1_000_000
_MARKS = "*~#!%$@^-+"  # behind a state in sinfo: not responding, powering, maintenance, ...
_NOTHING = frozenset({"", "none", "(null)", "n/a", "unknown", "null"})
_LARGEST = 4_102_444_800  # seconds; what Slurm writes for "infinite" or "no value" is larger
#: A job in these states has no end yet: what stands as its end is its limit.
_GOES_ON = frozenset(
    {"RUNNING", "PENDING", "SUSPENDED", "CONFIGURING", "RESIZING", "REQUEUE_HOLD", "REQUEUE_FED"}
    | {"RESV_DEL_HOLD", "SIGNALING", "STOPPED", "SPECIAL_EXIT"}
)
_NOT_BEGUN = frozenset({"PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"})
#: Words of states as sinfo cuts them.
_SHORT = {
    "ALLOC": "ALLOCATED", "COMP": "COMPLETING", "DRAIN": "DRAIN", "DRAINED": "DRAIN", "DRAINING": "DRAIN", "DRNG": "DRAIN",
    "FAILG": "FAIL", "FAILING": "FAIL", "MIX": "MIXED", "UNK": "UNKNOWN", "RESV": "RESERVED", "MAINT": "MAINTENANCE",
    "NO_RESPOND": "NOT_RESPONDING", "POW_DN": "POWERED_DOWN",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class NodeState:
    """What a node is good for.

    Attributes
    ----------
    kind, code : str or None
        Of the event that a node in this state has: ``drain``, or ``node`` with the code ``down`` or
        ``fail``; None for a node that works.
    flags : tuple of str
    """

    kind: str | None
    code: str | None
    flags: tuple[str, ...]


def number_of(value: Any) -> int | None:
    """Give a whole number as any version of the data parser writes it; None where it is not set or infinite.

    Examples
    --------
    >>> number_of(7), number_of({"set": True, "infinite": False, "number": 7}), number_of("7")
    (7, 7, 7)
    >>> number_of({"set": False, "infinite": False, "number": 0}), number_of({"set": True, "infinite": True, "number": 0})
    (None, None)
    >>> number_of(True), number_of(float("nan")), number_of(None)
    (None, None, None)
    """
    if isinstance(value, dict):
        if value.get("infinite") is True or value.get("set") is False:
            return None
        value = value.get("number")
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value, re.ASCII):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if abs(value) < 2**63 and value == value // 1 else None


def flags_of(value: Any) -> tuple[str, ...]:
    """Give the words of a state, the base first: a text, a list, or an object with ``current``.

    Examples
    --------
    >>> flags_of("IDLE+DRAIN"), flags_of(["DOWN", "DRAIN"]), flags_of({"current": ["FAILED"], "reason": "None"})
    (('IDLE', 'DRAIN'), ('DOWN', 'DRAIN'), ('FAILED',))
    >>> flags_of("down*"), flags_of("drng"), flags_of(None)
    (('DOWN', 'NOT_RESPONDING'), ('DRAIN',), ())
    """
    if isinstance(value, dict):
        value = value.get("current")
    parts = value if isinstance(value, list) else [value]
    words: list[str] = []
    for part in parts[:32]:
        for text in (text_of(part) or "").split("+"):
            word = text.strip().upper()
            bare = word.rstrip(_MARKS)
            words += [_SHORT.get(bare, bare)] if bare else []
            words += ["NOT_RESPONDING"] if word.endswith("*") else []
    return tuple(dict.fromkeys(words))


def node_state(flags: tuple[str, ...], reason: str | None = None) -> NodeState:
    """Tell what a state means for a node; where only a reason is known, the reason tells.

    Examples
    --------
    >>> node_state(("IDLE", "DRAIN")).kind, node_state(("DOWN", "NOT_RESPONDING")).code, node_state(("IDLE",)).kind
    ('drain', 'down', None)
    >>> node_state((), "Not responding").code, node_state((), "Xid 79 GPU0").kind
    ('down', 'drain')
    """
    if not flags and reason:
        down = re.match(r"(?i)not responding|node unexpectedly rebooted|.*unexpectedly rebooted", reason)
        return NodeState(kind="node" if down else "drain", code="down" if down else None, flags=flags)
    if {"DOWN", "ERROR"} & set(flags):
        return NodeState(kind="node", code="down", flags=flags)
    if "DRAIN" in flags:
        return NodeState(kind="drain", code=None, flags=flags)
    if "FAIL" in flags:
        return NodeState(kind="node", code="fail", flags=flags)
    return NodeState(kind=None, code=None, flags=flags)


def text_or_none(value: Any) -> str | None:
    """Give a text that says something.

    Examples
    --------
    >>> text_or_none(" a "), text_or_none("(null)"), text_or_none(3)
    ('a', None, None)
    """
    text = (text_of(value) or "").strip()
    return None if text.lower() in _NOTHING else text


def span_of_second(seconds: int | None) -> tuple[int, int] | None:
    """Give the span, in microseconds, of a whole second since 1970; None for what is no time of this century.

    Examples
    --------
    >>> span_of_second(1_762_053_240), span_of_second(0), span_of_second(2**63)
    ((1762053240000000, 1762053240999999), None, None)
    """
    if seconds is None or not 946_684_800 <= seconds < _LARGEST:
        return None
    return seconds * _SECOND_US, seconds * _SECOND_US + _SECOND_US - 1


def tell_state(
    told: Told,
    host: str,
    state: NodeState,
    *,
    span: tuple[int, int],
    reason: str | None,
    by: str | None,
    line: int,
) -> None:
    """Tell that a node is drained or down since a time."""
    assert state.kind is not None
    what = state.code or "drained"
    attributes: dict[str, Any] = {"reason": reason, "by": by}
    if state.flags:
        attributes["state"] = "+".join(state.flags)
    told.event(
        (host, "host", None), state.kind, f"node {host} is {what}: {reason or 'no reason given'}",
        span_us=span, line=line, code=state.code, attributes=attributes,
    )  # fmt: skip


@dataclass(eq=False)
class JobRecords:
    """Jobs as tools list them, gathered to be turned into tables together.

    Parameters
    ----------
    rule : TimeRule
        How their times are to be read.
    """

    rule: TimeRule
    _attempts: Attempts = field(default_factory=Attempts)
    _rows: list[dict[str, str | None]] = field(default_factory=list)
    _lines: list[tuple[int, str]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many wait."""
        return len(self._rows)

    def add(self, record: Mapping[str, str | None], *, line: int, text: str) -> None:
        """Take a job: ``job submitted start end state exit user name nodes elapsed_s``, as written.

        A job that goes on has no end, whatever limit stands there; one that waits has no start.
        """
        job = dict(record)
        state = (job.get("state") or "").split(" ")[0]
        if state in _GOES_ON:
            job["end"] = None
        if state in _NOT_BEGUN:
            job["start"] = job["nodes"] = None
        self._rows.append(job)
        self._lines.append((line, text[:2000]))

    def batches(self) -> Iterator[Batch]:
        """Give them, and begin anew."""
        if not self._rows:
            return
        fields = pl.DataFrame(self._rows, schema=dict.fromkeys(_FIELDS, pl.String()))
        lines = pl.DataFrame(self._lines, schema={"line": pl.Int64(), "text": pl.String()}, orient="row")
        self._rows, self._lines = [], []
        for tables, told in job_parts(fields, lines, self.rule, self._attempts):
            refusals = refused(told, told["reason"], told["curable"])
            yield batch_of(
                Part(rows=told.height - refusals.height, rejects=refusals, tables=tables), {}, refusals.clear()
            )


_FIELDS = ("job", "submitted", "start", "end", "state", "exit", "user", "name", "nodes", "elapsed_s")
