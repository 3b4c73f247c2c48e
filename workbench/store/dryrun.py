"""What an ingest would do, from the first bytes of each file."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.model.context import Context
from workbench.readers.base import Reader
from workbench.readers.source import open_source
from workbench.store.ingest import Stated
from workbench.store.known import Known, known_files
from workbench.store.manifest import Snapshot
from workbench.store.read import choose_reader, fingerprint
from workbench.store.report import FileReport, IngestReport
from workbench.store.tables import read_fixed
from workbench.store.walk import Found, find_files

__all__ = ["dry_run"]

#: Bytes of text a second that readers and store get through together, as a rule of thumb.
_BYTES_A_SECOND = 25_000_000


def dry_run(
    root: Path,
    now: Snapshot,
    paths: Iterable[Path | str] | Path | str,
    *,
    stated: Stated,
    readers: Sequence[Reader] | None,
) -> IngestReport:
    """Look at the files; write nothing."""
    begin = time.monotonic()
    known = known_files(read_fixed(now, "files"))
    files = tuple(_look(found, stated.context(found), known, readers) for found in find_files(paths, inside=root))
    seconds = time.monotonic() - begin
    return IngestReport(files=files, store=str(root), version=str(now.seq), dry_run=True, seconds=seconds)


def _look(found: Found, context: Context, known: dict[str, Known], readers: Sequence[Reader] | None) -> FileReport:
    facts: dict[str, Any] = {"path": found.shown, "bytes": found.size}
    try:
        digest = fingerprint(found)
        there = known.get(digest)
        if there is not None and not there.read_again(context):
            return FileReport(**facts, status="known", digest=digest, reason="the same content is in the store already")
        with open_source(found.path) as source:
            head = source.head()
            container = source.container
    except (DataError, OSError) as error:
        return FileReport(**facts, status="unreadable", reason=str(error))
    if not head:
        return FileReport(**facts, status="empty", digest=digest, reason="the file holds nothing")
    chosen = choose_reader(head, context, readers)
    if chosen is None:
        return FileReport(**facts, status="not recognised", digest=digest, reason="no reader knows this content")
    reader, match = chosen
    text = found.size * (1 if container == "plain" else 8)
    lines = max(1, head.count(b"\n"))
    return FileReport(
        **facts, status="recognised", digest=digest, reader=reader.name, rule=match.rule, confidence=match.confidence,
        estimated_rows=max(1, round(text / len(head) * lines)) if text > len(head) else lines,
        estimated_s=round(text / _BYTES_A_SECOND, 2),
    )  # fmt: skip
