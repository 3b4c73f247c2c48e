"""Reading one file: which reader takes it, and everything it gives, kept aside."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import ResourceError, SpecificationError
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.registry import readers as all_readers
from workbench.readers.registry import recognise
from workbench.readers.source import Damage, Source, damage_batches, open_source
from workbench.store.known import SUPERSEDED
from workbench.store.plan import Item
from workbench.store.sift import Candidate
from workbench.store.stage import Stage
from workbench.store.walk import Found

__all__ = [
    "ReadTask", "choose_reader", "failed_item", "path_id", "read_elsewhere", "read_file", "superseded_item",
]  # fmt: skip

Tell = Callable[[int], None]


def choose_reader(head: bytes, context: Context, among: Sequence[Reader] | None) -> tuple[Reader, Match] | None:
    """Choose the reader by content, or take the one that the user stated.

    Raises
    ------
    SpecificationError
        Where the user stated a reader that there is not.
    """
    if context.reader is None:
        return recognise(head, context, among)
    known = all_readers() if among is None else tuple(among)
    for reader in known:
        if reader.name == context.reader:
            return reader, Match(confidence=1.0, rule="stated by the user")
    raise SpecificationError(
        "the mapping", [f"reader '{context.reader}' is not one of {', '.join(r.name for r in known)}"]
    )


_PACKED = {
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf": "7-Zip",
    b"\x1f\x8b": "gzip inside of gzip",
}


def _unknown(head: bytes) -> str:
    packed = next((name for magic, name in _PACKED.items() if head.startswith(magic)), None)
    if packed is not None:
        return f"packed by {packed}, which is not read: unpack it first"
    return "no reader knows this content; state one, and what its columns mean, with --map FILE"


def failed_item(found: Found, reason: str, context: Context, folder: Path) -> Item:
    """Give what the store keeps of a file that could not be read."""
    digest = ""
    stage = Stage(folder, 1)
    return Item(
        found.path,
        found.shown,
        digest,
        path_id(found.shown),
        found.size,
        context,
        stage,
        status="unreadable",
        reason=reason,
    )


def path_id(shown: str) -> str:
    """Give the id of a file that has no content to name it by."""
    return hashlib.sha256(shown.encode("utf-8")).hexdigest()[:16]


def superseded_item(one: Candidate, source: str, folder: Path, reason: str) -> Item:
    """Give what the store keeps of a file whose whole content stands at the beginning of another one."""
    assert one.look is not None
    found, stage = one.found, Stage(folder, 1)
    return Item(
        found.path, found.shown, one.look.digest, source, found.size, one.context, stage,
        status=SUPERSEDED, reason=reason, look=one.look,
    )  # fmt: skip


def read_file(
    one: Candidate, source: str, *, folder: Path, limit_bytes: int, readers: Sequence[Reader] | None, tell: Tell
) -> Item:
    """Read a file to its end into a stage; problems of the file end in its status, never in an exception.

    Parameters
    ----------
    one : Candidate
        That was looked at.
    source : str
        Id that its rows carry.

    Raises
    ------
    ResourceError
        Where the disk is full.
    """
    assert one.look is not None
    found, look = one.found, one.look
    folder.mkdir(parents=True, exist_ok=True)
    stage = Stage(folder, limit_bytes)
    item = Item(found.path, found.shown, look.digest, source, found.size, one.context, stage, look=look)
    before = _facts(found.path)
    try:
        with open_source(
            found.path, member=found.member, trusted=None if look.trusted else look.size, damage=look.damage
        ) as content:
            _read(item, content, readers, tell)
    except OSError as error:
        _give_up(item, f"cannot be read: {error.strerror or error}")
    if item.status != "unreadable" and _facts(found.path) != before:
        _give_up(item, "changed while it was read; ingest it again once it is complete")
    if item.status == "unreadable":
        shutil.rmtree(folder, ignore_errors=True)
    return item


@dataclass(frozen=True, kw_only=True)
class ReadTask:
    """A file to read in another process; everything in it travels."""

    one: Candidate
    source: str
    folder: Path
    limit_bytes: int
    readers: Sequence[Reader] | None


def read_elsewhere(task: ReadTask) -> Item:
    """Read a file in another process; its rows come back as files."""
    item = read_file(
        task.one, task.source, folder=task.folder, limit_bytes=task.limit_bytes, readers=task.readers, tell=_nobody
    )
    item.stage.to_disk()
    return item


def _nobody(position: int) -> None:
    """Progress inside a file is not told over processes."""


def _facts(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns


def _read(item: Item, source: Source, readers: Sequence[Reader] | None, tell: Tell) -> None:
    head = source.head()
    if not head:
        if source.damage is None:
            item.status, item.reason = "empty", "the file holds nothing"
            item.source = path_id(item.shown)
        else:
            item.status, item.reason = "damaged", source.damage.reason
            for batch in damage_batches(source):
                item.stage.add(batch)
        return
    item.stage.notes += source.notes
    if item.look is not None and item.look.salvaged:
        item.stage.notes.append(
            "read although its checksum fails or it does not decode: any of its rows may be invented"
        )
    chosen = choose_reader(head, item.context, readers)
    if chosen is None and source.damage is not None:
        item.status = "damaged"
        item.reason = f"{source.damage.reason}; the {len(head):,} bytes before tell no format"
        return
    if chosen is None:
        item.status = "not recognised"
        item.reason = _unknown(head)
        return
    reader, match = chosen
    item.reader, item.rule, item.confidence = reader.name, match.rule, match.confidence
    try:
        for batch in reader.read(source, item.context):
            item.stage.add(batch)
            tell(source.position)
        item.stage.finish()
        item.hostless, item.entities = item.stage.named()
    except (ResourceError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 -- a reader, perhaps a plug-in, failed: the other files must not be lost
        _give_up(
            item, f"reader {reader.name} failed after {item.stage.records} records: {type(error).__name__}: {error}"
        )
        return
    item.status, item.reason = _status(item.stage, source.damage)


def _status(stage: Stage, damage: Damage | None) -> tuple[str, str]:
    """Say what became of a file that was read to its end, or as far as it goes."""
    if damage is not None:
        if "cut inside" in damage.reason:
            stage.notes.append("cut short: its whole lines are kept, which no checksum vouches for")
        return "damaged", damage.reason
    if stage.records and not stage.rows:
        if stage.rejected:
            why, count = stage.reasons.most_common(1)[0]
            return "no rows", f"no row of {stage.records:,} records could be read; {count:,} times: {why}"
        rules = ", ".join(rule for rule, _ in stage.skips.most_common(3))
        return "no rows", f"none of its {stage.records:,} records holds a row, all are passed over: {rules}"
    return ("loaded with rejects" if stage.rejected else "loaded"), ""


def _give_up(item: Item, reason: str) -> None:
    """Drop all that was read of a file: it is loaded whole or not at all."""
    item.status, item.reason = "unreadable", reason
    item.stage = Stage(item.stage.folder, item.stage.limit_bytes)
