"""What a user should know of the cells of one table, counted from block to block and told at the end of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl

from workbench.readers.cells import NOT_NUMBER, OTHER_UNIT, TOO_LARGE
from workbench.readers.habits import AMBIGUOUS, HEXADECIMAL, THOUSANDS

__all__ = ["Tally"]

#: Reasons that no source writes on purpose: somebody should look.
_ODD = (NOT_NUMBER, OTHER_UNIT, TOO_LARGE, AMBIGUOUS, HEXADECIMAL)
_MOST_TEXTS = 2000
_MOST_METRICS = 20_000
_SHOWN_TEXTS = 3
_SHOWN = 30  # characters of a cell
_CURES = {
    OTHER_UNIT: "state its unit (units) in a mapping (--map)",
    AMBIGUOUS: "state decimal, ',' or '.', in a mapping (--map)",
    HEXADECIMAL: "its column holds decimal numbers",
}
_ORDER = ("s", "ms", "us", "ns")


@dataclass(eq=False)
class Tally:
    """Counts of what is odd in the cells of a file.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.unreadable(pl.Series(["oops", "5", "oops"]), pl.Series([NOT_NUMBER, None, NOT_NUMBER]))
    >>> tally.epochs({"s": 5})
    >>> tally.epochs({"ms": 2})
    >>> for note in tally.notes():
    ...     print(note)
    2 cells hold no number (2 x 'oops'): absent, see view absent
    times in s and ms are mixed: 5 and 2 cells
    """

    _texts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _reasons: Counter[str] = field(default_factory=Counter)
    _epochs: Counter[str] = field(default_factory=Counter)
    _bare: Counter[str] = field(default_factory=Counter)
    _united: Counter[str] = field(default_factory=Counter)
    _units: dict[str, str] = field(default_factory=dict)
    _grouped: int = 0
    _group: str = ""

    def unreadable(self, cells: pl.Series, reason: pl.Series) -> None:
        """Count the cells that should be numbers and are none.

        Parameters
        ----------
        cells : (row,) as written
        reason : (row,) String
        """
        odd = reason.is_in(_ODD).fill_null(value=False)
        if not odd.any():
            return
        picked = cells.filter(odd)
        if picked.dtype.is_nested() or picked.dtype == pl.Binary:
            picked = pl.repeat(str(picked.dtype), picked.len(), eager=True)
        text = picked.cast(pl.String).fill_null("?").str.strip_chars().str.slice(0, _SHOWN)
        pairs = pl.DataFrame({"reason": reason.filter(odd), "text": text})
        for why, shown, count in pairs.group_by("reason", "text", maintain_order=True).len().iter_rows():
            self._reasons[why] += count
            if (why, shown) in self._texts or len(self._texts) < _MOST_TEXTS:
                self._texts[why, shown] += count

    def units(self, metric: str, *, united: int, bare: int, unit: str | None) -> None:
        """Count the numbers of a metric that have a unit in the cell, and those without one."""
        if metric not in self._bare and len(self._bare) >= _MOST_METRICS:
            return
        self._united[metric] += united
        self._bare[metric] += bare
        if unit is not None:
            self._units.setdefault(metric, unit)

    def epochs(self, counts: Mapping[str, int]) -> None:
        """Count times that are numbers, by their unit."""
        self._epochs.update(counts)

    def thousands(self, cells: pl.Series, flags: pl.Series) -> None:
        """Count the cells whose commas (or points) were taken to part thousands."""
        grouped = (flags == THOUSANDS).fill_null(value=False)
        if count := int(grouped.sum()):
            self._group = self._group or str(cells.filter(grouped)[0])[:_SHOWN]
            self._grouped += count

    def notes(self) -> tuple[str, ...]:
        """Tell it."""
        return (*self._odd_notes(), *self._unit_notes(), *self._other_notes())

    def _odd_notes(self) -> Iterable[str]:
        for why, total in self._reasons.items():
            texts = [(shown, count) for (reason, shown), count in self._texts.items() if reason == why]
            texts.sort(key=lambda pair: (-pair[1], pair[0]))
            some = ", ".join(f"{count} x {shown!r}" for shown, count in texts[:_SHOWN_TEXTS])
            more = " ..." if len(texts) > _SHOWN_TEXTS else ""
            cure = f"; {_CURES[why]}" if why in _CURES else ""
            told = (
                f"{_cells(total)} hold{'s' * (total == 1)} no number" if why == NOT_NUMBER else f"{_cells(total)} {why}"
            )
            yield f"{told} ({some}{more}): absent, see view absent{cure}"

    def _unit_notes(self) -> Iterable[str]:
        for metric, bare in self._bare.items():
            united = self._united[metric]
            if bare and united:
                unit = self._units[metric]
                yield (
                    f"{metric}: {_cells(bare)} without a unit beside {united} in {unit}: kept apart, as series without "
                    f"a unit; state its unit (units) in a mapping (--map) to join them"
                )

    def _other_notes(self) -> Iterable[str]:
        found = [unit for unit in _ORDER if self._epochs[unit]]
        if len(found) > 1:
            yield (
                f"times in {' and '.join(found)} are mixed: "
                f"{' and '.join(str(self._epochs[unit]) for unit in found)} cells"
            )
        if self._grouped:
            yield (
                f"{_cells(self._grouped)} such as {self._group!r} read as thousands; state decimal in a mapping "
                f"(--map) if the mark is that of decimals"
            )


def _cells(count: int) -> str:
    return f"{count} cell" if count == 1 else f"{count} cells"
