"""What an ingest did, file by file; the numbers add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from workbench.figures.text import escape
from workbench.model.frames import TS
from workbench.store.cures import advice
from workbench.timebase import format_us, to_us

__all__ = ["FileReport", "IngestReport", "html_table"]

_FAILED = ("damaged", "unreadable")
_TAKEN = ("loaded", "loaded with rejects", "damaged", "no rows", "known", "superseded", "recognised")
_COUNTED = ("skipped", "rejected", "curable", "absent")
_SHOWN_ROWS = 60
_SHOWN_FILES = 12


@dataclass(frozen=True, kw_only=True)
class FileReport:
    """One file of an ingest.

    Attributes
    ----------
    path : str
        As given.
    status : str
        ``loaded``, ``loaded with rejects``, ``no rows`` (none of its records became a row),
        ``damaged`` (what could be read of it is loaded), ``known`` (the same content is there
        already), ``superseded`` (another file begins with all of it), ``not recognised``,
        ``unreadable``, ``empty``; in a dry run ``recognised``.
    reason : str
        Why it is not loaded, or what the status does not say.
    reader, rule, confidence
        Which reader took it, by which sign, how sure.
    records, rows, skipped, rejected : int
        ``records = rows + skipped + rejected``.
    curable : int
        Rejected records that are read once the user states something.
    hostless : int
        Names of GPUs and the like that the file gives without a host.
    samples, events, jobs : int
    repeated : int
        Samples that only said again what another one of the file said.
    absent : int
        Cells that hold no number: sentinels, ``N/A``, NaN.
    entities : int
        Names of hosts, devices and jobs that the file speaks of.
    skips, reasons, cures, absences : mapping of word to count
        Skipped by rule; rejected by reason; curable by what must be stated; absent by metric and
        reason (the 20 most).
    first, last : datetime or None
        Span of the rows, UTC.
    """

    path: str
    status: str
    reason: str = ""
    reader: str = ""
    rule: str = ""
    confidence: float = 0.0
    bytes: int = 0
    digest: str = ""
    source: str = ""
    records: int = 0
    rows: int = 0
    skipped: int = 0
    rejected: int = 0
    curable: int = 0
    hostless: int = 0
    samples: int = 0
    events: int = 0
    jobs: int = 0
    repeated: int = 0
    absent: int = 0
    entities: int = 0
    skips: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)
    cures: Mapping[str, int] = field(default_factory=dict)
    absences: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    first: datetime | None = None
    last: datetime | None = None
    estimated_rows: int | None = None
    estimated_s: float | None = None


_COLUMNS = pl.Schema(
    {
        "path": pl.String(), "status": pl.String(), "reader": pl.String(), "rule": pl.String(), "confidence": pl.Float64(),
        "bytes": pl.Int64(), "records": pl.Int64(), "rows": pl.Int64(), "skipped": pl.Int64(), "rejected": pl.Int64(),
        "curable": pl.Int64(), "hostless": pl.Int64(), "samples": pl.Int64(), "events": pl.Int64(), "jobs": pl.Int64(), "repeated": pl.Int64(),
        "absent": pl.Int64(), "entities": pl.Int64(), "first": TS, "last": TS, "reason": pl.String(), "estimated_rows": pl.Int64(), "estimated_s": pl.Float64(),
    }
)  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class IngestReport:
    """What an ingest did.

    Attributes
    ----------
    files : tuple of FileReport
        In the order they were read.
    store : str
        Folder of the store.
    version : str
        Of the store afterwards.
    dry_run : bool
        Nothing was written; the files were only looked at.
    notes : tuple of str
        What concerns more than one file, such as host names that had to be kept apart.
    seconds : float
        Wall time.
    """

    files: tuple[FileReport, ...]
    store: str
    version: str
    dry_run: bool = False
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def total(self, name: str) -> int:
        """Give the sum of a count, such as ``samples``, over the files."""
        return sum(int(getattr(file, name) or 0) for file in self.files)

    def count(self, *statuses: str) -> int:
        """Give how many files have one of these statuses."""
        return sum(file.status in statuses for file in self.files)

    @property
    def exit_code(self) -> int:
        """0 done; 2 nothing that any reader knows; 4 some file could not be read to its end, or all it holds was rejected.

        With 4, the other files are loaded. Rejected records beside rows of the same file leave 0.
        """
        if self.count(*_FAILED) or any(file.status == "no rows" and file.rejected for file in self.files):
            return 4
        return 0 if self.count(*_TAKEN) else 2

    @property
    def summary(self) -> str:
        """Say in a few lines what was loaded, and what must be stated for the rest."""
        statuses = dict.fromkeys(file.status for file in self.files)
        counted = ", ".join(f"{self.count(status)} {status}" for status in statuses)
        lines = [f"{len(self.files)} files: {counted}"]
        if not self.dry_run:
            lines.append(
                f"{self.total('samples'):,} samples, {self.total('events'):,} events, {self.total('jobs'):,} jobs; "
                f"{self.total('records'):,} records = {self.total('rows'):,} rows + {self.total('skipped'):,} skipped "
                f"+ {self.total('rejected'):,} rejected"
            )
        if absent := self.total("absent"):
            holders = sum(file.absent > 0 for file in self.files)
            lines.append(
                f"{absent:,} cells of {holders} files hold no number (N/A, sentinels): null, see the view absent"
            )
        fruitless = [file for file in self.files if file.status == "no rows"]
        lines += [f"{file.path}: {file.reason}" for file in fruitless[:_SHOWN_FILES]]
        if len(fruitless) > _SHOWN_FILES:
            lines.append(f"no rows either in {len(fruitless) - _SHOWN_FILES} more files")
        lines += self._noted() + list(self.notes)
        if nameless := sum(file.hostless > 0 for file in self.files):
            lines.append(f"{nameless} files name devices without their host: state it with --map FILE")
        return "\n".join([*lines, *advice((file.path, file.cures) for file in self.files)])

    def _noted(self) -> list[str]:
        """Give what readers note, once for all files of which they note it."""
        files: dict[str, list[str]] = {}
        for file in self.files:
            for note in file.notes:
                files.setdefault(note, []).append(file.path)
        lines = []
        for note, paths in list(files.items())[:_SHOWN_FILES]:
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            lines.append(f"{paths[0]}{more}: {note}")
        if len(files) > _SHOWN_FILES:
            lines.append(f"{len(files) - _SHOWN_FILES} more notes: see --json")
        return lines

    def table(self) -> pl.DataFrame:
        """One row per file; times in UTC, sizes in bytes."""
        return pl.DataFrame([{name: getattr(file, name) for name in _COLUMNS} for file in self.files], schema=_COLUMNS)

    def details(self) -> pl.DataFrame:
        """One row per file and rule: what was skipped, rejected and noted, with counts."""
        rows = [
            {"path": file.path, "what": what, "detail": word, "count": count}
            for file in self.files
            for what, counts in zip(_COUNTED, (file.skips, file.reasons, file.cures, file.absences), strict=True)
            for word, count in counts.items()
        ]
        rows += [
            {"path": file.path, "what": "note", "detail": note, "count": None}
            for file in self.files
            for note in file.notes
        ]
        return pl.DataFrame(rows, schema={"path": pl.String, "what": pl.String, "detail": pl.String, "count": pl.Int64})

    def to_json(self) -> dict[str, Any]:
        """Give everything as one JSON object."""
        names = (
            "bytes",
            "records",
            "rows",
            "skipped",
            "rejected",
            "curable",
            "samples",
            "events",
            "jobs",
            "repeated",
            "absent",
        )
        return {
            "schema": "workbench.ingest/1", "store": self.store, "store_version": self.version, "dry_run": self.dry_run,
            "seconds": round(self.seconds, 3), "totals": {"files": len(self.files)} | {name: self.total(name) for name in names},
            "notes": list(self.notes), "files": [_plain(file) for file in self.files],
        }  # fmt: skip

    def _repr_html_(self) -> str:
        shown = self.table().select(
            "path", "status", "reader", "rows", "skipped", "rejected", "samples", "events", "reason"
        )
        return f"<p>{escape(self.summary).replace('␊', '<br>')}</p>{html_table(shown)}"


def _plain(file: FileReport) -> dict[str, Any]:
    facts = {name: getattr(file, name) for name in FileReport.__dataclass_fields__}
    moments = {name: None if facts[name] is None else format_us(to_us(facts[name])) for name in ("first", "last")}
    words = {name: dict(facts[name]) for name in ("skips", "reasons", "cures", "absences")}
    return facts | moments | words | {"notes": list(file.notes)}


def html_table(frame: pl.DataFrame, limit: int = _SHOWN_ROWS) -> str:
    """Write a small table as HTML, every cell as plain text.

    Examples
    --------
    >>> html_table(pl.DataFrame({"a": ["<b>"]}))
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in frame.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row) + "</tr>"
        for row in frame.head(limit).iter_rows()
    )
    more = f"<p>{frame.height - limit} more rows: see .table()</p>" if frame.height > limit else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, datetime):
        return format_us(to_us(value))
    return str(value)[:300]
