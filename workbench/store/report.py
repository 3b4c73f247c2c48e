"""What an ingest did, file by file; the numbers add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from workbench.figures.text import escape
from workbench.model.frames import TS
from workbench.timebase import format_us, to_us

__all__ = ["FileReport", "IngestReport", "html_table"]

_FAILED = ("damaged", "unreadable")
_TAKEN = ("loaded", "loaded with rejects", "damaged", "known", "recognised")
_SHOWN_ROWS = 60


@dataclass(frozen=True, kw_only=True)
class FileReport:
    """One file of an ingest.

    Attributes
    ----------
    path : str
        As given.
    status : str
        ``loaded``, ``loaded with rejects``, ``damaged`` (what could be read of it is loaded),
        ``known`` (the same content is there already), ``not recognised``, ``unreadable``,
        ``empty``; in a dry run ``recognised``.
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
    skips, reasons, cures : mapping of word to count
        Skipped by rule; rejected by reason; curable by what must be stated.
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
    skips: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)
    cures: Mapping[str, int] = field(default_factory=dict)
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
        "first": TS, "last": TS, "reason": pl.String(), "estimated_rows": pl.Int64(), "estimated_s": pl.Float64(),
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
        """0 done; 2 nothing that any reader knows; 4 some file could not be read to its end, the others are loaded."""
        if self.count(*_FAILED):
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
        cures: dict[str, int] = {}
        for file in self.files:
            for cure, count in file.cures.items():
                cures[cure] = cures.get(cure, 0) + count
        if nameless := sum(file.hostless > 0 for file in self.files):
            lines.append(f"{nameless} files name devices without their host: state it with --map FILE")
        lines += [
            f"{count:,} rejected records wait for {_CURES.get(cure, cure)}" for cure, count in sorted(cures.items())
        ]
        return "\n".join([*lines, *self.notes])

    def table(self) -> pl.DataFrame:
        """One row per file; times in UTC, sizes in bytes."""
        return pl.DataFrame([{name: getattr(file, name) for name in _COLUMNS} for file in self.files], schema=_COLUMNS)

    def details(self) -> pl.DataFrame:
        """One row per file and rule: what was skipped, rejected and noted, with counts."""
        rows = [
            {"path": file.path, "what": what, "detail": word, "count": count}
            for file in self.files
            for what, counts in (("skipped", file.skips), ("rejected", file.reasons), ("curable", file.cures))
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
        names = ("bytes", "records", "rows", "skipped", "rejected", "curable", "samples", "events", "jobs", "repeated")
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


_CURES = {
    "clock": "a time zone: --clock GLOB=ZONE", "year": "a year: --year Y", "host": "a host name: --map FILE",
    "boot_at": "the time of the boot they count from: --map FILE", "taken_at": "the time they were taken at: --map FILE", "map": "the meaning of their columns: --map FILE",
}  # fmt: skip


def _plain(file: FileReport) -> dict[str, Any]:
    facts = {name: getattr(file, name) for name in FileReport.__dataclass_fields__}
    moments = {name: None if facts[name] is None else format_us(to_us(facts[name])) for name in ("first", "last")}
    words = {name: dict(facts[name]) for name in ("skips", "reasons", "cures")}
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
