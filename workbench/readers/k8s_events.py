"""Dumps of ``kubectl get events``, ``nodes`` and ``pods``: JSON, YAML of one or many documents, the table of events.

An event with a count is one of several: its first and its last occurrence are told, and how many
there were. Kubernetes forgets events after an hour, so that a dump without an event proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.jsondoc import Document, outer_keys, streamed
from workbench.readers.k8s_objects import Objects
from workbench.readers.k8s_table import EventTable, is_header
from workbench.readers.source import Source, damage_batches
from workbench.readers.told import Told
from workbench.readers.toldlines import line_batches
from workbench.readers.yamldoc import yaml_documents

__all__ = ["READER"]

_JSON_KIND = re.compile(rb'"kind"\s*:\s*"(?:Event|Node|Pod)(?:List)?"')
_YAML_BEGINS = re.compile(rb"(?:\s*(?:---.*|#.*)?\n)*(?:- )?(?:apiVersion|kind|items|metadata):(?:\s|$)")
_YAML_KIND = re.compile(rb"^[ -]*kind: *[\"']?(?:Event|Node|Pod)(?:List)?[\"']?\s*$", re.MULTILINE)
_FORGETS = "Kubernetes keeps events for an hour, as a rule: what is not here may have been forgotten"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    text = head.removeprefix(b"\xef\xbb\xbf")
    if text.lstrip()[:1] in (b"{", b"["):
        keys = outer_keys(head)
        right = {"kind", "apiVersion"} <= keys or {"type", "object"} <= keys
        found = right and _JSON_KIND.search(head)
        return Match(confidence=0.95, rule="JSON objects of Kubernetes: events, nodes or pods") if found else None
    if _YAML_BEGINS.match(text) and _YAML_KIND.search(head.replace(b"\r\n", b"\n")):
        return Match(confidence=0.95, rule="YAML objects of Kubernetes: events, nodes or pods")
    if is_header(text[:500].decode(errors="replace")):
        return Match(confidence=0.95, rule="header of the table of kubectl get events")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    head = source.head().removeprefix(b"\xef\xbb\xbf").lstrip()
    if is_header(head[:500].decode(errors="replace")):
        yield from line_batches(source, _Lines(context))
        return
    json = head[:1] in (b"{", b"[")
    yield from _documents(streamed(source) if json else yaml_documents(source), context)
    yield from damage_batches(source)


def _documents(documents: Iterator[Document], context: Context) -> Iterator[Batch]:
    told = Told()
    objects = Objects(told, context.taken_at_us)
    for document in documents:
        if document.why is not None:
            told.reject(document.line, document.why, document.text)
        else:
            objects.tell(document.value, line=document.line, text=document.text)
    batch = told.batch()
    yield batch
    if batch.events.height and (batch.events["kind"] == "k8s").any():
        yield Batch(records=0, rows=0, notes=(_FORGETS,))


class _Lines:
    """Lines of the table."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._table: EventTable | None = None

    def line(self, number: int, text: str, told: Told) -> None:
        """Take the next line."""
        if not text.strip():
            told.skip("blank")
        elif is_header(text):
            told.skip("header" if self._table is None else "repeated header")
            self._table = EventTable(text, self._context.taken_at_us)
        elif self._table is None:
            told.reject(number, "no header of kubectl get events before this line", text)
        else:
            self._table.row(number, text, told)

    def end(self, told: Told, *, cut: bool) -> None:
        """Nothing waits for the end."""


READER = Reader(name="k8s_events", recognise=_recognise, read=_read)
