"""The ledger of a store: every judgement ever made on it, and what the online rule says of them."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from workbench.errors import UnknownNameError, UsageError, nearest
from workbench.hypotheses.families import Decision, Rule, Tried, decide_in_order
from workbench.hypotheses.rows import JUDGED, KNOWN, MEASURED, METHOD, REGISTERED, SCREENED, in_order
from workbench.hypotheses.verdicts import verdict_from_json
from workbench.kernels.online import alpha_spending, lord_plus_plus, saffron
from workbench.model.frames import TS
from workbench.model.provenance import Provenance
from workbench.model.verdict import Verdict

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from workbench.store.store import Store

__all__ = ["Ledger", "LedgerEntry", "RULES", "SUMMARY", "ledger"]

#: Online rules by name; judgements are made by the first. No level is ever above 5 %.
RULES: Mapping[str, Rule] = {
    "saffron": partial(saffron, ceiling=0.05),
    "lord": lord_plus_plus,
    "alpha-spending": alpha_spending,
}
#: Columns that fit on a screen.
SUMMARY = ("sequence", "id", "kind", "status", "name", "signal", "outcome", "p", "q", "alpha_t", "word", "reading")
_SHOWN = 200
_TEXTS = (
    *("kind", "hypothesis", "rows", "method", "batch", "name", "signal", "outcome", "scope", "rule"),
    *("word", "reading", "provenance"),
)


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One judgement, keyed by hypothesis, rows read and method.

    Attributes
    ----------
    id : str
        Short digest of the key; of the registration where nothing was read yet.
    sequence : int
        Number of the registration, from 1, in order of commits; it never changes. A number is
        missing where a claim was judged before on the same rows: that is no new entry.
    time : datetime
        UTC, of the newest step.
    kind : str
        ``judge`` or ``screen``.
    status : str
        ``registered``, ``tested`` or ``judged``.
    hypothesis, rows, method : str
        Digest of the claim, digest of the rows read, version of the method: the key.
    versions : tuple of str
        Versions of the store at which these rows were found; the first was judged.
    batch : str
        Claims judged together, or signals screened together.
    batch_size : int
        How many they were.
    name, signal, outcome, scope : str
    family, expected : str or None
    seed : int
        Of the first try; another seed is no new one.
    rule : str
        ``online``, ``batch`` or ``screen``: which correction the p went through.
    p, q : float
        NaN until tested, or where no test was possible.
    tested : int
        Everything that was tested beside it (M).
    word, reading : str
        Empty until judged.
    alpha_t, wealth : float
        Level of the online rule and wealth after it; NaN for what did not go through it.
    rejected : bool or None
        None for what did not go through the online rule.
    registered_at, judged_at : datetime or None
    provenance : str
        JSON.
    verdict_json : str
        The verdict; while ``tested``, the evidence that waits for its correction.
    """

    id: str
    sequence: int
    time: datetime
    kind: str
    status: str
    hypothesis: str
    rows: str
    method: str
    versions: tuple[str, ...]
    batch: str
    batch_size: int
    name: str
    signal: str
    outcome: str
    scope: str
    family: str | None
    expected: str | None
    seed: int
    rule: str
    p: float
    q: float
    tested: int
    word: str
    reading: str
    alpha_t: float = math.nan
    rejected: bool | None = None
    wealth: float = math.nan
    registered_at: datetime | None = None
    judged_at: datetime | None = None
    provenance: str = ""
    verdict_json: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict as it was given; None until judged."""
        return verdict_from_json(self.verdict_json) if self.status == JUDGED and self.verdict_json else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Ledger:
    """Every judgement ever made on a store, oldest first.

    Attributes
    ----------
    entries : tuple of LedgerEntry
        With the online rule worked out anew from the sequence.
    rule : str
        Name of that rule.
    provenance : Provenance
    """

    entries: tuple[LedgerEntry, ...]
    rule: str
    provenance: Provenance

    def __repr__(self) -> str:
        return f"Ledger of {len(self)} entries; .table() lists them, .plot() draws what is left to spend"

    def __len__(self) -> int:
        return len(self.entries)

    def entry(self, name: str) -> LedgerEntry:
        """Give the entry whose id is, or uniquely starts with, ``name``.

        Raises
        ------
        UnknownNameError
            Where none or several do.
        """
        found = [entry for entry in self.entries if entry.id.startswith(name)]
        if len(found) != 1 or not name:
            raise UnknownNameError("ledger entry", name, [entry.id for entry in self.entries], "See workbench ledger.")
        return found[0]

    def of(self, hypothesis: str, *, rows: str | None = None, version: str | None = None) -> LedgerEntry | None:
        """Find what was said already of a claim on these rows, or at this version of the store.

        The first entry counts, whatever its seed; entries of another method do not.
        """
        for entry in self.entries:
            same = entry.kind == "judge" and entry.hypothesis == hypothesis and entry.method == METHOD
            if same and entry.status != REGISTERED and (entry.rows == rows or version in entry.versions):
                return entry
        return None

    def screened(self, signal: str, outcome: str) -> Mapping[str, float]:
        """Give p by signal of every screen that tested ``signal`` for ``outcome``; empty where none did.

        A signal that was screened several times counts once, with its smallest p.
        """
        screens = [entry for entry in self.entries if entry.kind == "screen" and entry.outcome == outcome]
        batches = {entry.batch for entry in screens if entry.signal == signal}
        smallest: dict[str, float] = {}
        for entry in screens:
            if entry.batch in batches:
                key = f"{entry.scope}/{entry.signal}"
                p = 1.0 if math.isnan(entry.p) else entry.p
                smallest[key] = min(p, smallest.get(key, 1.0))
        return smallest

    def tried(self) -> list[tuple[str, Tried]]:
        """Give id and test of everything that went through the online rule, in order."""
        return [(e.id, _tried(e)) for e in self.entries if e.rule == "online" and not math.isnan(e.p)]

    def table(self) -> pl.DataFrame:
        """One row per entry, times in UTC; the columns of ``SUMMARY`` first."""
        all_of_them = [f.name for f in fields(LedgerEntry) if f.name not in ("verdict_json", "provenance", "versions")]
        columns = [*SUMMARY, *(name for name in all_of_them if name not in SUMMARY)]
        kinds: dict[str, Any] = dict.fromkeys(("sequence", "batch_size", "seed", "tested"), pl.Int64())
        kinds |= dict.fromkeys(("p", "q", "alpha_t", "wealth"), pl.Float64())
        kinds |= dict.fromkeys(("time", "registered_at", "judged_at"), TS)
        schema = {name: kinds.get(name, pl.Boolean() if name == "rejected" else pl.String()) for name in columns}
        rows = [{name: getattr(entry, name) for name in columns} for entry in self.entries]
        return pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))

    def plot(self) -> Figure:
        """Draw p, level and wealth of the claims that went through the online rule, in order."""
        from workbench.figures.ledger import ledger_figure

        tests = [entry for entry in self.entries if entry.rejected is not None]
        decided = decide_in_order([_tried(entry) for entry in tests], rule=RULES[self.rule])
        return ledger_figure(
            [entry.name for entry in tests],
            p=np.array([decision.p_family for decision in decided], dtype=np.float64),
            level=np.array([decision.level for decision in decided], dtype=np.float64),
            wealth=np.array([decision.wealth for decision in decided], dtype=np.float64),
            rule=self.rule,
        )

    def _repr_html_(self) -> str:
        newest = self.table().select(SUMMARY).tail(_SHOWN)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in SUMMARY)
        body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in newest.iter_rows())
        cut = f"<p>The newest {_SHOWN} of {len(self)} entries; see .table().</p>" if len(self) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{cut}"


def ledger(store: Store, *, rule: str = "saffron") -> Ledger:
    """Read every judgement ever made on a store.

    Parameters
    ----------
    store : Store
    rule : str
        Online rule to work out: ``saffron`` (by which judgements are made), ``lord`` (for tests
        that may depend on one another) or ``alpha-spending``. Another rule changes no verdict.

    Returns
    -------
    Ledger

    Raises
    ------
    UsageError
        Where the rule is not known.
    """
    if rule not in RULES:
        near = nearest(rule, RULES, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"'{rule}' is no online rule; expected one of {', '.join(RULES)}.{hint}")
    entries = _entries(in_order(store.ledger_rows()))
    sequence = [entry for entry in entries if entry.rule == "online" and not math.isnan(entry.p)]
    decided = dict(
        zip((e.id for e in sequence), decide_in_order([_tried(e) for e in sequence], rule=RULES[rule]), strict=True)
    )
    return Ledger(
        entries=tuple(_with_decision(entry, decided.get(entry.id)) for entry in entries),
        rule=rule,
        provenance=Provenance(function="wb.ledger", inputs=f"{store.path}@{store.version}", parameters={"rule": rule}),
    )


def _tried(entry: LedgerEntry) -> Tried:
    return Tried(entry.p, (entry.signal, entry.outcome), entry.family)


def _with_decision(entry: LedgerEntry, decision: Decision | None) -> LedgerEntry:
    if decision is None:
        return entry
    return replace(entry, alpha_t=decision.level, rejected=decision.rejected, wealth=decision.wealth)


def _entries(rows: Iterable[Mapping[str, Any]]) -> list[LedgerEntry]:
    """Put the steps of each judgement together; the first row of a step counts, later ones do not."""
    registered: dict[str, datetime] = {}
    open_: dict[str, Mapping[str, Any]] = {}
    entries: dict[str, LedgerEntry] = {}
    numbers: dict[str, int] = {}
    for row in rows:
        status, key = row["status"], row["ledger_id"]
        numbers.setdefault(row["registration"], len(numbers) + 1)
        if status == REGISTERED:
            registered.setdefault(row["registration"], row["at"])
            open_.setdefault(row["registration"], row)
        elif status in (MEASURED, SCREENED) and key not in entries:
            open_.pop(row["registration"], None)
            entries[key] = _entry(row, registered.get(row["registration"], row["at"]), numbers[row["registration"]])
        elif status == KNOWN and key in entries:
            open_.pop(row["registration"], None)
            entries[key] = replace(entries[key], versions=(*entries[key].versions, row["inputs"]))
        elif status == JUDGED and key in entries and entries[key].status != JUDGED:
            entries[key] = _judged(entries[key], row)
    waiting = [_entry(row, row["at"], numbers[row["registration"]]) for row in open_.values()]
    return [*entries.values(), *waiting]


def _entry(row: Mapping[str, Any], registered_at: datetime, number: int) -> LedgerEntry:
    done = row["status"] == SCREENED
    named: dict[str, Any] = {name: row[name] or "" for name in _TEXTS}
    return LedgerEntry(
        **named,
        id=row["ledger_id"],
        sequence=number,
        time=row["at"],
        status=JUDGED if done else row["status"],
        versions=(row["inputs"] or "",),
        batch_size=row["batch_size"] or 0,
        family=row["family"],
        expected=row["expected"],
        seed=row["seed"],
        p=_number(row["p"]),
        q=_number(row["q"]),
        tested=row["tested"] or 0,
        registered_at=registered_at,
        judged_at=row["at"] if done else None,
        verdict_json=row["verdict"] or "",
    )


def _judged(entry: LedgerEntry, row: Mapping[str, Any]) -> LedgerEntry:
    return replace(
        entry,
        status=JUDGED,
        time=row["at"],
        judged_at=row["at"],
        q=_number(row["q"]),
        tested=row["tested"] or 0,
        word=row["word"] or "",
        reading=row["reading"] or "",
        provenance=row["provenance"] or "",
        verdict_json=row["verdict"] or "",
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _cell(value: object) -> str:
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return html.escape(text)
