"""Records that were not understood, or wait for something that the user must state."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from workbench.figures.text import escape
from workbench.store.report import html_table

__all__ = ["REJECTS", "REJECT_COUNTS", "Quarantine"]

REJECTS = """
select f.path, r.line, r.reason, r.curable, r.text, r.source from rejects r left join
(select source, min(path) as path from files group by source) f on r.source = f.source order by f.path, r.line
"""
REJECT_COUNTS = "select path, status, rejected, curable, reason from files where rejected > 0 or status not in ('loaded', 'empty') order by path"


@dataclass(frozen=True, eq=False, kw_only=True)
class Quarantine:
    """Rejected records and unread files.

    Attributes
    ----------
    frame : polars.DataFrame
        ``path, line, reason, curable, text, source`` of the records whose text is kept.
    counts : polars.DataFrame
        ``path, status, rejected, curable, reason`` of the files with any.
    """

    frame: pl.DataFrame
    counts: pl.DataFrame

    def table(self) -> pl.DataFrame:
        """One row per rejected record; ``curable`` says what to state so that it is read."""
        return self.frame

    def files(self) -> pl.DataFrame:
        """One row per file with rejected records, or that could not be read."""
        return self.counts

    def _repr_html_(self) -> str:
        head = f"{int(self.counts['rejected'].sum()):,} rejected records in {self.counts.height} files"
        return f"<p>{escape(head)}</p>{html_table(self.counts)}{html_table(self.frame.drop('source'), 30)}"
