"""Rows gathered one by one, for dumps that are small or are no table: text of tools, JSON, XML.

What is bulk (samples by the million) is read by columns instead.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.readers.cells import parse_numbers, with_whole
from workbench.readers.graph import Graph, Node
from workbench.readers.text import skipped

__all__ = ["TAKEN_AT_MISSING", "Told"]

TAKEN_AT_MISSING = "the dump holds no time: state when it was taken (taken_at in a mapping, --map)"
_SHOWN = 2000  # characters of a rejected record that are kept


@dataclass(frozen=True, kw_only=True)
class _Series:
    metric: str
    who: Node
    labels: str
    unit: str | None
    kind: str | None


@dataclass(eq=False)
class Told:
    """What the records of a dump say so far; ``batch`` hands it over.

    Every record is counted once: by ``row``, ``skip`` or ``reject``.

    Examples
    --------
    >>> told = Told()
    >>> told.sample(("n1", "gpu", "0"), "power.draw", "631.95 W", ts_us=0)
    >>> told.sample(("n1", "gpu", "0"), "temperature.gpu", "N/A", ts_us=0)
    >>> told.row()
    >>> batch = told.batch()
    >>> batch.records, batch.samples["value"].to_list(), batch.series["unit"].to_list()
    (1, [631.95], ['W'])
    >>> batch.absent.rows()
    [('temperature.gpu', 'N/A', 1)]
    """

    rows: int = 0
    graph: Graph = field(default_factory=Graph)
    _skips: Counter[str] = field(default_factory=Counter)
    _rejects: list[tuple[int, str, str, str | None]] = field(default_factory=list)
    _samples: list[tuple[_Series, int, str | None]] = field(default_factory=list)
    _events: list[tuple[Any, ...]] = field(default_factory=list)
    _jobs: list[tuple[Any, ...]] = field(default_factory=list)
    _notes: dict[str, None] = field(default_factory=dict)
    _absent: Counter[tuple[str, str]] = field(default_factory=Counter)

    def row(self, count: int = 1) -> None:
        """Count records that ended as rows."""
        self.rows += count

    def skip(self, rule: str, count: int = 1) -> None:
        """Count records passed over on purpose."""
        self._skips[rule] += count

    def reject(self, line: int, reason: str, text: str = "", *, curable: str | None = None) -> None:
        """Count a record that was not understood, or waits for what ``curable`` names."""
        self._rejects.append((line, reason, text[:_SHOWN], curable))

    def note(self, text: str) -> None:
        """Say something of the file, once."""
        self._notes[text] = None

    def absent(self, metric: str, reason: str, count: int = 1) -> None:
        """Count a cell that holds no number."""
        self._absent[metric, reason] += count

    def sample(
        self,
        who: Node,
        metric: str,
        cell: str | float | None,
        *,
        ts_us: int,
        unit: str | None = None,
        kind: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Add one observation; a cell without a number (``N/A``, a sentinel) is counted as absent.

        Parameters
        ----------
        who : (host, device kind, device)
        metric : str
            Name as written.
        cell : str, int, float or None
            As written; with its unit, if it has one.
        ts_us : int
            UTC microseconds.
        unit : str, optional
            Unit of a cell that carries none, as the source states it.
        kind : str, optional
            ``gauge`` or ``counter``, where the source states it.
        labels : mapping, optional
            What else tells series apart.
        """
        text = None if cell is None else _clean(cell) if isinstance(cell, str) else repr(cell)
        series = _Series(metric=metric, who=who, labels=_json(labels or {}), unit=unit, kind=kind)
        self._samples.append((series, ts_us, text))

    def event(  # noqa: PLR0913 -- an event has as many parts
        self,
        who: Node,
        kind: str,
        message: str,
        *,
        span_us: tuple[int, int],
        line: int,
        code: str | None = None,
        severity: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        began_us: int | None = None,
    ) -> None:
        """Add one event.

        ``span_us`` is the earliest and the latest moment that its stamp can mean; ``began_us`` is
        since when it may have gone on before somebody said so.
        """
        low, high = span_us
        told = (
            low,
            low if began_us is None else min(began_us, low),
            high,
            *who,
            kind,
            code,
            severity,
            _clean(message),
            _json(attributes or {}),
            line,
        )
        self._events.append(told)

    def job(self, **parts: Any) -> None:
        """Add a job, with the columns of :data:`workbench.model.frames.JOBS`; times in microseconds."""
        unknown = set(parts) - set(frames.JOBS)
        assert not unknown, unknown
        self._jobs.append(tuple(parts.get(name) for name in frames.JOBS))

    def batch(self) -> Batch:
        """Give all of it, and begin anew."""
        series, samples = self._observed()
        absent = [(metric, reason, count) for (metric, reason), count in self._absent.items()]
        told = Batch(
            records=self.rows + self._skips.total() + len(self._rejects),
            rows=self.rows,
            series=series,
            samples=samples,
            events=_frame(self._events, frames.EVENTS),
            jobs=_frame(self._jobs, frames.JOBS),
            **self.graph.tables(),
            skips=skipped(self._skips),
            rejects=_frame(sorted(self._rejects, key=lambda reject: reject[0]), frames.REJECTS),
            absent=_frame(absent, frames.ABSENT),
            notes=tuple(self._notes),
        )
        fresh = Told()
        for part in fields(self):
            setattr(self, part.name, getattr(fresh, part.name))
        return told

    def _observed(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        if not self._samples:
            return frames.empty(frames.SERIES), frames.empty(frames.SAMPLES)
        numbers = with_whole(parse_numbers(pl.Series([text for *_, text in self._samples], dtype=pl.String)))
        columns = (numbers.reason, numbers.unit, numbers.value, numbers.exact)
        index: dict[_Series, int] = {}
        kept: list[tuple[int, int, float, int | None]] = []
        told = zip(self._samples, *(column.to_list() for column in columns), strict=True)
        for (series, ts_us, _), reason, unit, value, exact in told:
            if reason is not None:
                self._absent[series.metric, reason] += 1
                continue
            key = series if unit is None or unit == series.unit else replace(series, unit=unit)
            kept.append((index.setdefault(key, len(index)), ts_us, value, exact))
        rows = [(place, s.metric, *s.who, s.labels, s.unit, s.kind) for s, place in index.items()]
        return _frame(rows, frames.SERIES), _frame(kept, frames.SAMPLES)


def _frame(rows: list[tuple[Any, ...]], schema: pl.Schema) -> pl.DataFrame:
    """Lay rows under a schema; times are given as microseconds."""
    plain = {name: pl.Int64() if kind == frames.TS else kind for name, kind in schema.items()}
    try:
        frame = pl.DataFrame(rows, schema=plain, orient="row")
    except UnicodeEncodeError:  # a lone surrogate, which JSON may hold: rare, so looked for only then
        clean = [tuple(_clean(cell) if isinstance(cell, str) else cell for cell in row) for row in rows]
        frame = pl.DataFrame(clean, schema=plain, orient="row")
    return frame.cast(dict(schema))  # type: ignore[arg-type]  # polars names its own types


def _json(parts: Mapping[str, Any]) -> str:
    if not parts:
        return "{}"
    told = {
        key: _clean(value) if isinstance(value, str) else value for key, value in parts.items() if value is not None
    }
    return json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _clean(text: str) -> str:
    """Write lone surrogates, which JSON may hold and UTF-8 may not, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
