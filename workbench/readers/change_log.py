"""What was changed, when and where: a log of configuration and firmware changes, JSON (lines) or CSV.

A row says a time, what kind of thing was changed, its targets or a scope (a list of hosts, racks, a
share, ``all``), and what it was before and after; ``docs/machines.md`` lists the spellings. Each
target gets an event ``change``; a share of unnamed hosts is an event of the cluster. Rows of kind
``inventory`` say what is: where two of them differ, there was a change between their times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.change_fields import NOBODY, Change, change_of, roles_of
from workbench.readers.delimited import Parsed, Splitter
from workbench.readers.dialect import sniff
from workbench.readers.graph import Node
from workbench.readers.jsondoc import documents_of, outer_keys
from workbench.readers.jsonrows import sniff_json
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import skipped
from workbench.readers.told import Told
from workbench.readers.toldtimes import Span, Waiting

__all__ = ["READER"]

_TELLING = ("what", "kind", "component", "file")
_FOREIGN = frozenset({"metric", "job_id", "jobid", "job", "severity", "code", "node_id", "event_type", "entity_kind"})
_State = tuple[Span, int, Change]
_NO_ROW = "no row of a change log: a time and a target or scope are needed"
_NO_HEADER = "no line is a header: a change log needs one that names its columns"


def _recognise(head: bytes, context: Context) -> Match | None:
    if b"\0" in head or context.columns.shape is not None:
        return None
    found = sniff_json(head)
    dialect = None if found is not None else sniff(head, context)
    names = tuple(outer_keys(head)) if found is not None else tuple(dialect.names) if dialect is not None else ()
    roles = roles_of(names)
    if "time" not in roles or {name.lower() for name in names} & _FOREIGN:
        return None
    turned = {"from", "to"} <= set(roles) and any(role in roles for role in _TELLING)
    rolled = ("scope" in roles or "percent" in roles) and any(role in roles for role in ("what", "component", "file"))
    if not turned and not rolled:
        return None
    return Match(confidence=0.8, rule=f"a change log: columns that say {', '.join(roles)}")


def _read(source: Source, context: Context) -> Iterator[Batch]:
    log = _Log(context)
    text = source.head().removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"{", b"[")):
        for document in documents_of(source):
            if document.why is not None:
                log.told.reject(document.line, document.why, document.text)
                continue
            values = document.value if isinstance(document.value, list) else [document.value]
            for value in values or [None]:
                log.row(value, document.line, document.text)
        yield log.end()
    else:
        yield from _read_table(source, context, log)
    yield from damage_batches(source)


def _read_table(source: Source, context: Context, log: _Log) -> Iterator[Batch]:
    dialect = sniff(source.head(), context)
    if dialect is None:
        for block in source.blocks():
            for number, text in enumerate(block.text.decode(errors="backslashreplace").splitlines(), block.first_line):
                log.told.reject(number, _NO_HEADER, text)
        yield log.end()
        return
    splitter = Splitter(dialect)
    for block in source.blocks():
        yield log.table(splitter.take(block))
    yield log.table(splitter.finish())
    yield log.end()


@dataclass(eq=False)
class _Log:
    """Rows so far; they are told at the end, since local times need the order of the file."""

    context: Context
    told: Told = field(default_factory=Told)
    _waiting: Waiting = field(init=False)
    _ends: Waiting = field(init=False)
    _states: list[_State] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._waiting = Waiting(self.context)
        self._ends = Waiting(self.context)

    def table(self, parsed: Parsed) -> Batch:
        """Take rows of a table; what is no row is told at once."""
        for row, (line, text) in zip(parsed.cells.to_dicts(), parsed.lines.iter_rows(), strict=True):
            self.row(row, line, text)
        skips = skipped(parsed.skips)
        records = int(skips["count"].sum()) + parsed.rejects.height
        return Batch(records=records, rows=0, skips=skips, rejects=parsed.rejects, notes=tuple(parsed.notes))

    def row(self, row: Any, line: int, text: str) -> None:
        """Take a row."""
        if not isinstance(row, dict):
            self.told.reject(line, _NO_ROW, text)
            return
        change = change_of(row, self.context.host)
        if change.why is not None:
            curable = "host" if change.why == NOBODY else None
            self.told.reject(line, change.why if "time" in roles_of(list(row)) else _NO_ROW, text, curable=curable)
            return
        self._waiting.add(line, change.start, text, tell=lambda span: self._started(change, span, line, text))

    def _started(self, change: Change, span: Span, line: int, text: str) -> None:
        """Tell a row whose start is known; one that took a while waits for its end."""
        if change.end is None:
            self._timed(change, span, line)
            return

        def ended(last: Span) -> None:
            if last[1] < span[0]:
                self.told.reject(line, "the change ends before it starts", text)
            else:
                self._timed(change, (span[0], last[1]), line)

        self._ends.add(line, change.end, text, tell=ended)

    def _timed(self, change: Change, span: Span, line: int) -> None:
        self.told.row()
        if change.is_state:
            self._states.append((span, line, change))
        else:
            for who in change.targets:
                self.told.event(
                    who,
                    "change",
                    change.message,
                    span_us=span,
                    line=line,
                    code=change.code,
                    attributes=change.attributes,
                )

    def end(self) -> Batch:
        """Tell all of it."""
        self._waiting.tell(self.told)
        self._ends.tell(self.told)
        before: dict[tuple[Node, str | None], tuple[Span, str | None]] = {}
        for span, line, change in sorted(self._states, key=lambda state: state[:2]):
            for who in change.targets:
                self._seen(who, before.get((who, change.code)), (span, line, change))
                before[who, change.code] = (span, change.to)
        return self.told.batch()

    def _seen(self, who: Node, before: tuple[Span, str | None] | None, state: _State) -> None:
        """Tell what was found on one thing; and that it changed since it was looked at before."""
        span, line, change = state
        attributes = dict(change.attributes)
        self.told.event(
            who,
            "inventory",
            change.message.replace("? -> ", ""),
            span_us=span,
            line=line,
            code=change.code,
            attributes=attributes,
        )
        if before is not None and before[1] != change.to:
            self.told.event(
                who,
                "change",
                f"{change.code}: {before[1]} -> {change.to}",
                span_us=(before[0][0], span[1]),
                line=line,
                code=change.code,
                attributes={**attributes, "from": before[1], "to": change.to},
            )


READER = Reader(name="change_log", recognise=_recognise, read=_read)
