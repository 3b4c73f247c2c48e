"""JSON of Slurm's own tools: ``sacct --json``, ``squeue --json``, ``sinfo --json``, ``scontrol show nodes --json``.

The shape is that of the data parser: a number is a number or ``{set, infinite, number}``, a state a
text, a list, or ``{current, reason}``. Times count from 1970; an end of 0 means that a job runs.
Lists printed as JSON lines by ``squeue -o '{"id": %A, ...}'`` are read too; their times are local.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.jsondoc import LIMIT, Document, outer_keys, streamed
from workbench.readers.jsonvalues import dicts, dig, number_text, text_of
from workbench.readers.slurm_fields import (
    JobRecords,
    flags_of,
    node_state,
    number_of,
    span_of_second,
    tell_state,
    text_or_none,
)
from workbench.readers.source import Source, damage_batches
from workbench.readers.timecells import TimeRule
from workbench.readers.told import Told

__all__ = ["READER"]

_LISTS = ("jobs", "nodes", "sinfo")
_LINE_KEYS = frozenset({"a", "id", "state", "end_time"})
_AT_ONCE = 20_000
_NO_LIST = "no answer of Slurm: it lists neither jobs nor nodes"
_UNTIMED = "some nodes are down or drained, since when the dump does not tell"
#: Field of a node: attribute of the host.
_FACTS = {
    "architecture": "architecture", "operating_system": "os", "slurmd_version": "slurmd version", "version": "slurmd version",
    "gres": "gres", "features": "features", "address": "address",
}  # fmt: skip


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    keys = outer_keys(head)
    early = head[:4096].lower()
    if "meta" in keys and b'"slurm"' in early:
        return Match(confidence=0.95, rule="JSON of a Slurm tool: an object with meta.Slurm")
    if keys & set(_LISTS) and {"errors", "warnings", "last_update"} & keys and b"slurm" in head.lower():
        return Match(confidence=0.8, rule="JSON with jobs or nodes, errors, and the word Slurm")
    if keys >= _LINE_KEYS:
        return Match(confidence=0.9, rule="JSON lines of squeue with account, id, state and end_time")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    reading = _Reading(context)
    for document in streamed(source, limit=4 * LIMIT):
        yield from reading.take(document)
    yield from reading.rest()
    yield from damage_batches(source)


class _Reading:
    """What is known from document to document."""

    def __init__(self, context: Context) -> None:
        self.told = Told()
        self.jobs = JobRecords(rule=TimeRule.of(context))

    def take(self, document: Document) -> Iterator[Batch]:
        """Take what a document lists."""
        value, line = document.value, document.line
        if document.why is not None and document.text.lstrip().startswith("#"):
            self.told.skip("comment")
        elif document.why is not None or not isinstance(value, dict):
            self.told.reject(line, document.why or _NO_LIST, document.text)
        elif value.keys() >= _LINE_KEYS:
            self.jobs.add(_job_of_line(value), line=line, text=document.text)
        elif not any(isinstance(value.get(name), list) for name in _LISTS):
            self.told.reject(line, _NO_LIST, document.text)
        else:
            yield from self._lists(value, line)
        if self.jobs.count >= _AT_ONCE:
            yield from self.rest()

    def _lists(self, value: dict[str, Any], line: int) -> Iterator[Batch]:
        self._complaints(value)
        items = [(name, item) for name in _LISTS if isinstance(value.get(name), list) for item in value[name]]
        if not items:
            self.told.skip("empty answer")
        for name, item in items:
            if not isinstance(item, dict):
                self.told.reject(line, f"one of the {name} is no object", str(item)[:200])
            elif name == "jobs":
                record = _job(item)
                self.jobs.add(record, line=line, text=f"job {record['job']} of the answer")
            else:
                self._node(item, line)
            if self.jobs.count >= _AT_ONCE:
                yield from self.rest()

    def _complaints(self, value: Mapping[str, Any]) -> None:
        for name in ("errors", "warnings"):
            for one in dicts(value.get(name))[:5]:
                what = text_or_none(one.get("error")) or text_or_none(one.get("description")) or "without a word"
                self.told.note(f"Slurm tells of {name} in this answer: {what[:200]}")

    def _node(self, item: dict[str, Any], line: int) -> None:
        listed = [item.get("name") or item.get("hostname"), *_list(dig(item, "nodes", "nodes"))]
        hosts = [name for one in listed if (name := text_or_none(one))]
        if not hosts:
            self.told.reject(line, "a node without a name", str(item)[:200])
            return
        self.told.row()
        why = item.get("reason")
        reason = text_or_none(dig(why, "description")) or text_or_none(why)
        by = text_or_none(item.get("reason_set_by_user")) or text_or_none(dig(why, "user"))
        stated = item["state"] if "state" in item else dig(item, "node", "state")
        state = node_state(flags_of(stated) + flags_of(item.get("state_flags")))
        since = span_of_second(number_of(item.get("reason_changed_at", dig(why, "time"))))
        for host in hosts:
            self._facts(host, item, line)
            if state.kind is not None and since is not None:
                tell_state(self.told, host, state, span=since, reason=reason, by=by, line=line)
            elif state.kind is not None:
                self.told.note(_UNTIMED)

    def _facts(self, host: str, item: Mapping[str, Any], line: int) -> None:
        found = {name: text for key, name in _FACTS.items() if (text := text_or_none(item.get(key)))}
        for key, name in (("cpus", "cpus"), ("real_memory", "memory_mb")):
            if (count := number_of(item.get(key))) is not None:
                found[name] = str(count)
        if partitions := [part for one in _list(item.get("partitions")) if (part := text_or_none(one))]:
            found["partitions"] = ",".join(partitions)
        self.told.graph.entity((host, "host", None), found)
        booted = span_of_second(number_of(item.get("boot_time")))
        if booted is not None:
            self.told.event(
                (host, "host", None), "boot", "node booted, as Slurm was told", span_us=booted, line=line, code="slurm"
            )

    def rest(self) -> Iterator[Batch]:
        """Give what was gathered."""
        yield self.told.batch()
        yield from self.jobs.batches()


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _job(item: Mapping[str, Any]) -> dict[str, str | None]:
    """Read a job of sacct (``time``, ``state``) or squeue (``start_time``, ``job_state``)."""
    number = number_of(item.get("job_id"))
    flags = flags_of(item["job_state"] if "job_state" in item else item.get("state"))
    killer = text_or_none(item.get("kill_request_user"))
    state = flags[0] if flags else None
    times = {
        "submitted": _second(item, "submit_time", "submission"),
        "start": _second(item, "start_time", "start"),
        "end": _second(item, "end_time", "end"),
    }
    return {
        "job": None if number is None else str(number),
        **times,
        "state": f"{state} by {killer}" if state == "CANCELLED" and killer else state,
        "exit": _exit(item.get("exit_code")),
        "user": text_or_none(item.get("user_name")) or text_or_none(item.get("user")) or text_or_none(dig(item, "association", "user")),
        "name": text_of(item.get("name")),
        "nodes": text_or_none(item.get("nodes")),
        "elapsed_s": number_text(number_of(dig(item, "time", "elapsed"))),
    }  # fmt: skip


def _second(item: Mapping[str, Any], flat: str, nested: str) -> str | None:
    seconds = number_of(item[flat] if flat in item else dig(item, "time", nested))
    return None if seconds is None or seconds <= 0 else str(seconds)


def _exit(value: Any) -> str | None:
    """Write an exit code as sacct does: ``code:signal``."""
    if isinstance(value, dict) and "return_code" in value:
        code = number_of(value.get("return_code"))
        signal = number_of(dig(value, "signal", "id")) or number_of(dig(value, "signal", "signal_id"))
        return None if code is None and signal is None else f"{code or 0}:{signal or 0}"
    status = number_of(value)  # of wait(2)
    return None if status is None or status < 0 else f"{status >> 8 & 0xFF}:{status & 0x7F}"


def _job_of_line(value: Mapping[str, Any]) -> dict[str, str | None]:
    """Read a line that ``squeue -o`` prints; where a job waits, its nodes hold the reason in brackets."""
    number, where, end = number_of(value.get("id")), text_or_none(value.get("r")), text_or_none(value.get("end_time"))
    flags = flags_of(value.get("state"))
    return {
        "job": None if number is None else str(number),
        "state": flags[0] if flags else None,
        "end": end,
        "nodes": None if where is None or where.startswith("(") else where,
    }


READER = Reader(name="slurm_json", recognise=_recognise, read=_read)
