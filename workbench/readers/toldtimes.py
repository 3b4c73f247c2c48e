"""Records of a dump whose times are read together, in the order of the file: local times need it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from workbench.model.context import Context
from workbench.readers.timecells import Clocks, TimeRule, read_times
from workbench.readers.told import Told

__all__ = ["Span", "Waiting"]

#: The earliest and the latest moment that a stamp can mean, in UTC microseconds.
Span = tuple[int, int]
_NO_TIME = "the record has no time"
#: Dates of clocks that were never set: all before 2000.
_UNSET = re.compile(r"[01]\d{3}-\d\d-\d\d")


@dataclass(frozen=True, kw_only=True)
class _Record:
    line: int
    stamp: str
    text: str
    tell: Callable[[Span], None]


@dataclass(eq=False)
class Waiting:
    """Records that wait for their times.

    Parameters
    ----------
    context : Context
        What the user stated of times.
    unset_us : int, optional
        Times before this are those of a clock that was never set.
    unset : str
        The reason to reject them for.

    Examples
    --------
    >>> told, waiting = Told(), Waiting(Context())
    >>> waiting.add(1, "2025-11-02T03:14:00Z", "", tell=lambda span: told.row())
    >>> waiting.add(2, "2025-11-02 03:14:00", "", tell=lambda span: told.row())
    >>> waiting.tell(told)
    >>> batch = told.batch()
    >>> batch.rows, batch.rejects["curable"].to_list()
    (1, ['clock'])
    """

    context: Context
    unset_us: int | None = None
    unset: str = ""
    _clocks: Clocks = field(init=False)
    _records: list[_Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._clocks = Clocks(rule=TimeRule.of(self.context))

    @property
    def count(self) -> int:
        """How many records wait."""
        return len(self._records)

    def add(self, line: int, stamp: object, text: str, *, tell: Callable[[Span], None]) -> None:
        """Let a record wait; ``tell`` counts it as a row once its time is known."""
        number = isinstance(stamp, (str, int, float)) and not isinstance(stamp, bool)
        written = str(stamp).encode("utf-8", "replace").decode() if number else ""
        self._records.append(_Record(line=line, stamp=written, text=text, tell=tell))

    def tell(self, told: Told) -> None:
        """Tell them, or reject those whose time is none or is open."""
        records, self._records = self._records, []
        if not records:
            return
        times = read_times(pl.Series([record.stamp for record in records], dtype=pl.String), self._clocks)
        columns = times.select("ts_low", "ts_high", "reason", "curable").iter_rows()
        for record, (low, high, reason, curable) in zip(records, columns, strict=True):
            never = _UNSET.match(record.stamp) is not None or (
                low is not None and self.unset_us is not None and low < self.unset_us
            )
            if never and self.unset:
                told.reject(record.line, self.unset, record.text)
            elif not record.stamp:
                told.reject(record.line, _NO_TIME, record.text)
            elif low is None or reason is not None:
                told.reject(record.line, reason or _NO_TIME, record.text, curable=curable)
            else:
                record.tell((low, high))
