"""Records of faults: traces with starts and ends (``fault_start``), and drills that were planned.

A trace counts days from nothing that it says: state ``epoch`` and ``epoch_origin``. A drill is labelled truth: what
was broken on purpose, where and when; it is an event ``drill``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.change_fields import change_of, roles_of
from workbench.readers.installed import word
from workbench.readers.jsoncells import inside, plain_text
from workbench.readers.jsondoc import documents_of, outer_keys
from workbench.readers.source import Source, damage_batches
from workbench.readers.told import Told
from workbench.readers.toldtimes import Span, Waiting

__all__ = ["READER"]

_KEYS = frozenset({"node_id", "event_time", "event_type"})
_DRILL = re.compile(rb'"kind"\s*:\s*"(?:drill|fault_injection|injection)"')
_DRILLS = frozenset({"drill", "fault_injection", "injection"})
_WHAT = ("drill", "fault", "injected", "fault_type", "what", "name", "code")
_KINDS = {"fault_start": "fault", "fault_end": "fault.end"}
_ORIGIN = "days that count from no stated moment: state epoch and epoch_origin in a mapping (--map)"
_NO_RECORD = "no record of a fault or a drill"
_FARTHEST = 1_000_000  # days; more is no count of days but a moment
_DIGITS = 9


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    keys = outer_keys(head)
    if keys >= _KEYS:
        return Match(confidence=0.97, rule="JSON with node_id, event_time and event_type: a trace of faults")
    roles = roles_of(tuple(keys))
    if {"time", "target"} <= set(roles) and (keys & {"drill", "injected"} or _DRILL.search(head[:4096])):
        return Match(confidence=0.97, rule="JSON of drills: what was broken on purpose, where and when")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    trace = _Trace(context)
    for document in documents_of(source):
        if document.why is not None:
            trace.told.reject(document.line, document.why, document.text)
            continue
        values = document.value if isinstance(document.value, list) else [document.value]
        for place, value in enumerate(values or [None], start=1):
            line = place if isinstance(document.value, list) else document.line
            trace.record(value, line)
    yield trace.end()
    yield from damage_batches(source)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Fault:
    """A start or an end."""

    line: int
    record: Mapping[str, Any]
    node: str
    kind: str
    days: float | None


@dataclass(eq=False)
class _Trace:
    """Records so far; decimals of all of them say how exact a day is."""

    context: Context
    told: Told = field(default_factory=Told)
    _faults: list[_Fault] = field(default_factory=list)
    _moments: Waiting = field(init=False)
    _open: Counter[tuple[str, str]] = field(default_factory=Counter)
    _lone: int = 0

    def __post_init__(self) -> None:
        self._moments = Waiting(self.context)

    def record(self, value: Any, line: int) -> None:
        """Take a record."""
        if isinstance(value, dict) and _KINDS.get(str(value.get("event_type"))) and plain_text(value.get("node_id")):
            time = value.get("event_time")
            counted = isinstance(time, (int, float)) and not isinstance(time, bool) and abs(time) < _FARTHEST
            node = plain_text(value["node_id"]) or ""
            kind = _KINDS[str(value["event_type"])]
            days = float(time) if counted and time is not None else None
            self._faults.append(_Fault(line=line, record=value, node=node, kind=kind, days=days))
        elif isinstance(value, dict) and _is_drill(value):
            self._drill(value, line)
        else:
            self.told.reject(line, _NO_RECORD, repr(value)[:300])

    def end(self) -> Batch:
        """Tell all of it."""
        days = [fault for fault in self._faults if fault.days is not None]
        for fault in self._faults:
            if fault.days is None:
                self._wait(self._moments, fault, fault.record.get("event_time"))
        if days and self.context.columns.epoch_origin_us is None:
            for fault in days:
                self.told.reject(fault.line, _ORIGIN, _shown(fault), curable="map")
        elif days:
            self._tell_days(days)
        self._moments.tell(self.told)
        if self._lone or +self._open:
            still = sum((+self._open).values())
            self.told.note(f"{self._lone} ends have no start in this file, and {still} starts no end")
        return self.told.batch()

    def _tell_days(self, faults: list[_Fault]) -> None:
        """Tell faults whose days count from the stated moment; all are as exact as the most exact."""
        columns = self.context.columns
        counted = replace(self.context, columns=replace(columns, epoch=columns.epoch or "d", time_format=None))
        waiting = Waiting(counted)
        digits = max(len(repr(fault.days).partition(".")[2]) for fault in faults)
        for fault in faults:
            self._wait(waiting, fault, f"{fault.days:.{min(digits, _DIGITS)}f}")
        waiting.tell(self.told)

    def _wait(self, waiting: Waiting, fault: _Fault, stamp: Any) -> None:
        waiting.add(fault.line, stamp, _shown(fault), tell=lambda span: self._fault(fault, span))

    def _fault(self, fault: _Fault, span: Span) -> None:
        what = inside(fault.record, "fault_type")
        named = plain_text(what.get("Class")) or plain_text(fault.record.get("fault_type")) or ""
        words = plain_text(what.get("Desc")) or named
        key = (fault.node, repr(what))
        if fault.kind == "fault":
            self._open[key] += 1
        elif self._open[key]:
            self._open[key] -= 1
        else:
            self._lone += 1
        self.told.row()
        self.told.event(
            (fault.node, "host", None),
            fault.kind,
            words,
            span_us=span,
            line=fault.line,
            code=word(named),
            severity=plain_text(what.get("Level")),
            attributes={"class": named or None},
        )

    def _drill(self, value: Mapping[str, Any], line: int) -> None:
        """Take a drill."""
        plan = change_of(value, self.context.host)
        text = repr(value)[:300]
        if plan.why is not None:
            self.told.reject(line, plan.why.replace("change", "drill"), text, curable="host")
            return
        named = next((told for key in _WHAT if (told := plain_text(value.get(key)))), None)
        known = {key: told for key, part in value.items() if (told := plain_text(part)) and len(key) <= 40}

        def tell(span: Span) -> None:
            self.told.row()
            for who in plan.targets:
                self.told.event(
                    who, "drill", named or "drill", span_us=span, line=line, code=word(named or ""), attributes=known
                )

        self._moments.add(line, plan.start, text, tell=tell)


def _is_drill(value: Mapping[str, Any]) -> bool:
    return bool({"drill", "injected"} & set(value)) or word(plain_text(value.get("kind")) or "") in _DRILLS


def _shown(fault: _Fault) -> str:
    return f"{fault.kind} of {fault.node} at {plain_text(fault.record.get('event_time'))}"


READER = Reader(name="fault_trace", recognise=_recognise, read=_read)
