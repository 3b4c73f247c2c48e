"""Ingest: from folders of dumps to committed batches, one step after the other."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from workbench.errors import InterruptedWorkError, UsageError
from workbench.execution import check_engine, map_tasks
from workbench.model.context import Context
from workbench.model.mapping import Mapping as MappingFile
from workbench.model.mapping import load_mapping
from workbench.readers.base import Reader
from workbench.readers.tellingnames import telling_name
from workbench.store.archive import with_members
from workbench.store.compact import MANY_FILES, compact, crowded
from workbench.store.cures import idle
from workbench.store.known import LOADED, Known, context_json, known_files, same_known
from workbench.store.look import look_or_reason
from workbench.store.manifest import Snapshot, snapshot
from workbench.store.plan import Item
from workbench.store.read import ReadTask, failed_item, read_elsewhere, read_file, superseded_item
from workbench.store.report import FileReport, IngestReport
from workbench.store.sift import Candidate, Shelf, longer_of
from workbench.store.staging import staging
from workbench.store.stating import state_aliases
from workbench.store.step import commit_step
from workbench.store.tables import read_fixed
from workbench.store.walk import Found, clock_for, find_files
from workbench.timebase import from_us, zone_of

__all__ = ["Progress", "Stated", "ingest", "looked", "parse_bytes"]

Progress = Callable[[float, float, str], None]
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(k|m|g|t)?i?b?\s*", re.ASCII | re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_LEAST_MEMORY = 64 * 2**20
#: A step is committed when it holds so many files, or so many bytes of rows on disk.
_FILES_A_STEP = 4000
#: Files read over processes at once; their rows wait on disk.
_FILES_A_ROUND = 512
_BYTES_A_STEP = 8 * 2**30


def parse_bytes(text: str | int) -> int:
    """Give the bytes of ``2GB``, ``512MiB`` or a number.

    Raises
    ------
    UsageError
        Where it is no amount, or less than 64 MiB.

    Examples
    --------
    >>> parse_bytes("2GB"), parse_bytes("512MiB")
    (2000000000, 536870912)
    """
    amount = _amount(text) if isinstance(text, str) else text
    if amount < _LEAST_MEMORY:
        raise UsageError(f"{text} of memory is not enough; allow 64MiB at least (2GB is usual).")
    return amount


def _amount(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"'{text}' is not an amount of memory; write it as 2GB or 512MiB.")
    base = 1024 if "i" in text.lower() else 1000
    return int(float(match[1]) * base ** _POWER[(match[2] or "").lower()])


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What the user states about the files.

    Attributes
    ----------
    clocks : sequence of (glob, zone)
    year : int or None
    mapping : Mapping or None
    salvage : bool
        Take what compressed files give although their checksums fail.
    """

    clocks: Sequence[tuple[str, str]] = ()
    year: int | None = None
    mapping: MappingFile | None = None
    salvage: bool = False

    @classmethod
    def of(
        cls, clock: Mapping[str, str] | None, year: int | None, mapping: Path | str | None, *, salvage: bool = False
    ) -> Stated:
        """Check and keep what was stated."""
        clocks = tuple((clock or {}).items())
        for _, zone in clocks:
            zone_of(zone)
        if year is not None and not 1970 <= year <= 2200:
            raise UsageError(f"Year {year} is out of range; state the year of the first record, such as 2026.")
        rules = None if mapping is None else load_mapping(mapping)
        return cls(clocks=clocks, year=year, mapping=rules, salvage=salvage)

    def context(self, found: Found) -> Context:
        """Give what is stated about one file."""
        zone, name = clock_for(found.relative, self.clocks), telling_name(found.relative)
        base = Context(zone=zone, year=self.year, file_name=name)
        return base if self.mapping is None else self.mapping.context_for(found.relative, base)


@dataclass
class _Run:
    """One ingest under way."""

    root: Path
    stated: Stated
    memory: int
    readers: Sequence[Reader] | None
    progress: Progress | None
    batch: str
    folder: Path
    known: dict[str, list[Known]]
    shelf: Shelf
    told: dict[str, str]
    unread: dict[str, set[str]]
    total: int
    done: int = 0
    waiting: list[Item] = field(default_factory=list)
    replaced: set[str] = field(default_factory=set)
    superseded: dict[str, str] = field(default_factory=dict)
    reports: dict[str, FileReport] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    steps: int = 0
    held: int = 0
    on_disk: int = 0

    def tell(self, inside: int, path: str) -> None:
        if self.progress is not None:
            self.progress(float(self.done + inside), float(self.total), path)

    def take(self, one: Candidate) -> None:
        """Read one file, unless its content is there; commit when enough waits."""
        self.tell(0, one.found.shown)
        if self._to_read(one):
            item = read_file(
                one, self._source(one), folder=self._folder(one), limit_bytes=self.memory // 16, readers=self.readers,
                tell=lambda at: self.tell(at, one.found.shown),
            )  # fmt: skip
            self._read(one, item)
        self.done += one.found.size

    def take_elsewhere(self, several: Sequence[Candidate], engine: str) -> None:
        """Read some files over processes; the answers are taken in the order of the files."""
        tasks: dict[str, ReadTask] = {}
        later: list[Candidate] = []
        for one in several:
            if one.look is not None and (self._source(one) in tasks or one.longer is not None):
                later.append(one)  # a second name of content that is being read, or the beginning of another file
                continue
            if self._to_read(one):
                limit, source = self.memory // 16, self._source(one)
                tasks[source] = ReadTask(
                    one=one, source=source, folder=self._folder(one), limit_bytes=limit, readers=self.readers
                )
            self.done += one.found.size
        answers = map_tasks(read_elsewhere, list(tasks.values()), engine=engine)
        for task, item in zip(tasks.values(), answers, strict=True):
            self._read(task.one, item)
            self.tell(0, task.one.found.shown)
        for one in later:
            self.take(one)

    def _folder(self, one: Candidate) -> Path:
        return self.folder / f"f{one.number:06d}"

    def _known(self, one: Candidate) -> Known | None:
        assert one.look is not None
        return same_known(self.known.get(one.look.digest, ()), one.found.shown, one.context)

    def _source(self, one: Candidate) -> str:
        known = self._known(one)
        return one.source if known is None else known.source

    def _to_read(self, one: Candidate) -> bool:
        """Tell whether a file must be read; else say what becomes of it."""
        if one.look is None:
            self._wait(failed_item(one.found, one.trouble, one.context, self._folder(one)))
            return False
        known = self._known(one)
        if known is not None and not known.read_again(one.context):
            self.reports[one.found.shown] = _known_report(one.found, one.look.digest, known)
            return False
        longer = self._longer(one)
        if longer:
            reason = f"{longer} begins with all of it, and is in the store"
            reason += f"; this copy is damaged: {one.look.damage}" if one.look.damage else ""
            self._wait(superseded_item(one, self._source(one), self._folder(one), reason))
        return not longer

    def _longer(self, one: Candidate) -> str:
        """Give the path of a file in the store that begins with all of this one; "" where there is none."""
        if one.longer is not None and one.longer.found.shown in self.reports:
            report, there = self.reports[one.longer.found.shown], self._known(one.longer)
            if (report.status in LOADED or report.status == "known") and not (there and there.nameless):
                return report.path
        known = self.shelf.longer(one)
        return "" if known is None else known.path

    def _read(self, one: Candidate, item: Item) -> None:
        """Take a file that was read; what it begins with gives way to it."""
        if item.status in LOADED:
            shorter = [known for known in self.shelf.shorter(one) if known.source != item.source]
            for known in shorter:
                kept = known.kept_beside(item.shown, item.reader)
                if not kept:
                    item.supersedes += (known.source,)
                    self.superseded[known.source] = f"{item.shown} begins with all of it, and is in the store"
                item.stage.notes.append(kept or f"takes the place of {known.path}, with which it begins")
        self._wait(item)

    def _wait(self, item: Item) -> None:
        if item.status not in LOADED and self.told.get(item.source) == item.status:
            self.reports[item.shown] = _report(item)  # nothing new to say of it: no new version
            return
        if item.status in LOADED:
            self.known.setdefault(item.digest, []).insert(0, _taken(item))
        self.waiting.append(item)
        # What was read of this content before, and what was said of this path while it could not be read, gives way.
        self.replaced |= ({item.source} & set(self.told)) | self.unread.get(item.shown, set()) | set(item.supersedes)
        self.reports[item.shown] = _report(item)
        self.held += item.stage.bytes
        self.on_disk += item.stage.disk_bytes
        if len(self.waiting) >= _FILES_A_STEP or self.held > self.memory // 8 or self.on_disk > _BYTES_A_STEP:
            self.commit()

    def commit(self) -> None:
        """Commit what waits."""
        items, self.waiting = self.waiting, []
        self.held = self.on_disk = 0
        replaced, self.replaced = self.replaced, set()
        superseded, self.superseded = self.superseded, {}
        if not items:
            return
        self.steps += 1
        batch = f"{self.batch}{self.steps:04d}"
        done = commit_step(
            self.root, items, batch=batch, folder=self.folder, budget_bytes=self.memory // 8, replaced=replaced,
            superseded=superseded,
        )  # fmt: skip
        self.notes += [note for note in done.notes if note not in self.notes]
        late = {id(item) for item in done.known}
        for item in items:
            self.reports[item.shown] = _report(item, late=id(item) in late)
            shutil.rmtree(item.stage.folder, ignore_errors=True)


def ingest(
    root: Path,
    paths: Iterable[Path | str] | Path | str,
    *,
    stated: Stated,
    memory: str | int = "2GB",
    readers: Sequence[Reader] | None = None,
    progress: Progress | None = None,
    engine: str = "here",
) -> tuple[IngestReport, Snapshot]:
    """Load dumps into a store.

    Parameters
    ----------
    root : pathlib.Path
        Of the store.
    paths : path or several
    stated : Stated
    memory : str or int
        Bound on the memory that rows take while they wait.
    readers : sequence of Reader or None
        In place of the registered ones.
    progress : callable or None
        ``(done_bytes, total_bytes, path)``.
    engine : str
        ``here``, ``processes:N`` or ``dask:ADDRESS``: where files are read; the answer is the same.

    Raises
    ------
    InterruptedWorkError
        Stopped by the user; files read to their end are committed, and the same call goes on.
    """
    begin = time.monotonic()
    check_engine(engine)
    found = find_files(paths, inside=root)
    with staging(root) as (batch, folder):
        found = with_members(found, folder / "archives", salvage=stated.salvage)
        if stated.mapping is not None:
            state_aliases(root, stated.mapping.aliases, batch=batch, folder=folder)
        files = read_fixed(snapshot(root), "files")
        known = known_files(files)
        run = _Run(
            root=root, stated=stated, memory=parse_bytes(memory), readers=readers, progress=progress, batch=batch, folder=folder,
            known=known, shelf=Shelf(one for same in known.values() for one in same), told=dict(files.select("source", "status").iter_rows()),
            unread=_unread(files), total=sum(one.size for one in found),
        )  # fmt: skip
        run.notes += idle(stated.clocks, stated.mapping, [one.relative for one in found])
        try:
            candidates = looked(found, stated)
            if engine == "here":
                for one in candidates:
                    run.take(one)
            else:
                for start in range(0, len(candidates), _FILES_A_ROUND):
                    run.take_elsewhere(candidates[start : start + _FILES_A_ROUND], engine)
            run.commit()
        except KeyboardInterrupt:
            _interrupted(run, len(found))
    if crowded(snapshot(root), MANY_FILES):
        compact(root, more_than=MANY_FILES)
    now = snapshot(root)
    run.tell(0, "")
    told = tuple(run.reports[one.shown] for one in found)
    report = IngestReport(
        files=told, store=str(root), version=str(now.seq), notes=tuple(run.notes), seconds=time.monotonic() - begin
    )
    return report, now


def looked(found: Sequence[Found], stated: Stated) -> list[Candidate]:
    """Look at all files; those that stand at the beginning of others come last."""
    candidates = []
    for number, one in enumerate(found):
        look, trouble = look_or_reason(one, salvage=stated.salvage)
        context = stated.context(one)
        if look is not None and look.salvaged:
            context = replace(context, salvage=True)
        candidates.append(Candidate(number=number, found=one, context=context, look=look, trouble=trouble))
    longer_of(candidates)
    return sorted(candidates, key=lambda one: one.longer is not None)


def _taken(item: Item) -> Known:
    """Note content that this ingest has read itself: a second file of it says nothing new."""
    return Known(
        source=item.source,
        status=item.status,
        context=context_json(item.context),
        path=item.shown,
        taken=True,
        hostless=item.hostless,
        curable=item.stage.curable,
    )


def _unread(files: pl.DataFrame) -> dict[str, set[str]]:
    """Give the ids under which the store tells of paths that gave no rows."""
    rows = files.filter(~pl.col("status").is_in(list(LOADED))).select("path", "source")
    found: dict[str, set[str]] = {}
    for path, source in rows.iter_rows():
        found.setdefault(path, set()).add(source)
    return found


def _interrupted(run: _Run, total: int) -> None:
    """Keep what was read to its end, then stop."""
    kept = "the files read so far"
    try:
        run.commit()
    except KeyboardInterrupt:  # twice: at once
        kept = "the files committed before"
    done = sum(report.status in LOADED or report.status == "known" for report in run.reports.values())
    raise InterruptedWorkError(
        f"Stopped after {done} of {total} files; {kept} are in the store. Run the same command again to go on."
    ) from None


def _report(item: Item, *, late: bool = False) -> FileReport:
    stage, absences = item.stage, item.absences()
    return FileReport(
        path=item.shown, status="known" if late else item.status,
        reason="another ingest committed the same content meanwhile" if late else item.reason,
        reader=item.reader, rule=item.rule, confidence=item.confidence, bytes=item.size, digest=item.digest, source=item.source,
        records=stage.records, rows=stage.rows, skipped=stage.skips.total(), rejected=stage.rejected, curable=stage.curable, hostless=item.hostless,
        samples=stage.samples, events=stage.rows_of["events"].rows, jobs=stage.rows_of["jobs"].rows, repeated=item.repeated,
        absent=sum(absences.values()), absences=dict([*absences.items()][:20]), entities=item.entities, skips=dict(sorted(stage.skips.items())), reasons=dict(stage.reasons.most_common(20)), cures=dict(stage.curable_kinds),
        notes=tuple(stage.notes), first=None if stage.first_us is None else from_us(stage.first_us),
        last=None if stage.last_us is None else from_us(stage.last_us),
    )  # fmt: skip


def _known_report(found: Found, digest: str, known: Known) -> FileReport:
    reason = "the same content is in the store already"
    if known.curable:
        reason += f"; {known.curable} of its records still wait for something to be stated"
    return FileReport(
        path=found.shown, status="known", reason=reason, bytes=found.size, digest=digest, source=known.source
    )
