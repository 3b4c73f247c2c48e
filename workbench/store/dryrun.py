"""What an ingest would do, from the first bytes of each file."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from workbench.readers.base import Reader
from workbench.readers.source import open_source
from workbench.store.archive import with_members
from workbench.store.ingest import Stated, looked
from workbench.store.known import SUPERSEDED, Known, known_files, same_known
from workbench.store.manifest import Snapshot
from workbench.store.read import choose_reader
from workbench.store.report import FileReport, IngestReport
from workbench.store.sift import Candidate
from workbench.store.tables import read_fixed
from workbench.store.walk import find_files

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
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        found = with_members(find_files(paths, inside=root), Path(folder), salvage=stated.salvage)
        reports = {one.found.shown: _look(one, known, readers) for one in looked(found, stated)}
    files = tuple(reports[one.shown] for one in found)
    seconds = time.monotonic() - begin
    return IngestReport(files=files, store=str(root), version=str(now.seq), dry_run=True, seconds=seconds)


def _look(one: Candidate, known: dict[str, list[Known]], readers: Sequence[Reader] | None) -> FileReport:
    found, look, context = one.found, one.look, one.context
    facts: dict[str, Any] = {"path": found.shown, "bytes": found.size}
    if look is None:
        return FileReport(**facts, status="unreadable", reason=one.trouble)
    told = _settled(one, known)
    if told is not None:
        return told
    facts["digest"] = look.digest
    try:
        with open_source(
            found.path, member=found.member, trusted=None if look.trusted else look.size, damage=look.damage
        ) as source:
            head = source.head()
    except OSError as error:
        return FileReport(**facts, status="unreadable", reason=str(error))
    chosen = choose_reader(head, context, readers) if head else None
    if chosen is None:
        why = look.damage or "no reader knows this content"
        return FileReport(**facts, status="damaged" if look.damage else "not recognised", reason=why)
    reader, match = chosen
    text = look.size
    lines = max(1, head.count(b"\n"))
    return FileReport(
        **facts, status="recognised", reader=reader.name, rule=match.rule, confidence=match.confidence,
        estimated_rows=max(1, round(text / len(head) * lines)) if text > len(head) else lines,
        estimated_s=round(text / _BYTES_A_SECOND, 2),
    )  # fmt: skip


def _settled(one: Candidate, known: dict[str, list[Known]]) -> FileReport | None:
    """Give the report of a file that need not be opened again."""
    assert one.look is not None
    facts: dict[str, Any] = {"path": one.found.shown, "bytes": one.found.size, "digest": one.look.digest}
    there = same_known(known.get(one.look.digest, ()), one.found.shown, one.context)
    if there is not None and not there.read_again(one.context):
        return FileReport(**facts, status="known", reason="the same content is in the store already")
    if one.longer is not None:
        return FileReport(**facts, status=SUPERSEDED, reason=f"{one.longer.found.shown} begins with all of it")
    if not one.look.size and not one.look.damage:
        return FileReport(**facts, status="empty", reason="the file holds nothing")
    return None
