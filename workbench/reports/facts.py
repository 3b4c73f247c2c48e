"""Everything a write-up says, as plain values: the page, the Markdown and the JSON are made of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from workbench.hypotheses.ledger import ledger
from workbench.model.incident import Incident
from workbench.model.verdict import Verdict, Word
from workbench.panel.lanes import event_rows, folded, job_rows, moment_of
from workbench.reports.account import claims, data_account, rerun, versions
from workbench.reports.evidence import evidence, in_detail, machine_verdict, row_of
from workbench.reports.language import LIMITS, METHOD, meaning, tally
from workbench.timebase import MICROS, format_us, to_us

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["SCHEMA", "collect", "judged_already", "span_around"]

SCHEMA = "workbench.writeup/1"
_BEFORE_US, _AFTER_US = 7200 * MICROS, 1800 * MICROS
_MOST_EVENTS, _MOST_ENTRIES, _MOST_UNITS, _MOST_TOLD = 200, 500, 12, 8
_LEDGER_COLUMNS = (
    "sequence",
    "id",
    "time",
    "kind",
    "status",
    "name",
    "signal",
    "outcome",
    "seed",
    "p",
    "q",
    "word",
    "reading",
)


def span_around(incident: Incident) -> tuple[int, int]:
    """Give the stretch of time that a write-up shows: two hours before to half an hour after."""
    at = to_us(incident.ts) // MICROS * MICROS
    return at - _BEFORE_US, at + _AFTER_US


def judged_already(store: Store) -> list[Verdict]:
    """Give the verdicts that the ledger holds, in its order."""
    found = (entry.verdict for entry in ledger(store).entries)
    return [verdict for verdict in found if verdict is not None]


def collect(store: Store, incident: Incident | None, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Collect what a write-up says.

    Parameters
    ----------
    store : Store
    incident : Incident or None
    verdicts : sequence of Verdict
        Everything that was tested.

    Returns
    -------
    dict
        Texts, numbers, lists and dicts only.
    """
    account = data_account(store)
    outcome = None if incident is None else _outcome(incident)
    return {
        "schema": SCHEMA,
        "title": _title(store, incident, verdicts),
        "store": {"name": store.path.name, "version": store.version},
        "versions": versions(),
        "incident": None if incident is None else _incident(incident),
        "summary": _summary(incident, verdicts),
        "timeline": None if incident is None else _timeline(store, incident),
        "tested": {
            "tally": tally(verdicts),
            "count": len(verdicts),
            "rows": [row_of(verdict) for verdict in verdicts],
            "ledger": _ledger(store),
        },
        "verdicts": [evidence(verdict) for verdict in in_detail(verdicts)],
        "unknown": [*_unknown(incident, verdicts, account), *_clocks(store, incident)],
        "method": list(METHOD),
        "limits": list(LIMITS),
        "claims": claims(verdicts),
        "rerun": rerun(store, verdicts, None if incident is None else incident.id, outcome),
        "account": account,
        "machine": [machine_verdict(verdict) for verdict in verdicts],
    }


def _outcome(incident: Incident) -> str:
    return f"{incident.kind}:{incident.code}" if incident.code else incident.kind


def _title(store: Store, incident: Incident | None, verdicts: Sequence[Verdict]) -> str:
    if incident is not None:
        return f"{moment_of(incident).label}, {format_us(to_us(incident.ts))}"
    outcomes = list(dict.fromkeys(verdict.outcome for verdict in verdicts))
    return f"What precedes {', '.join(outcomes)}" if outcomes else f"What is in {store.path.name}"


def _incident(incident: Incident) -> dict[str, Any]:
    plain = {
        name: getattr(incident, name) for name in ("id", "kind", "code", "entity", "host", "rack", "job", "message")
    }
    times = {name: format_us(to_us(getattr(incident, name))) for name in ("ts", "ts_low", "ts_high")}
    return plain | times


def _summary(incident: Incident | None, verdicts: Sequence[Verdict]) -> list[str]:
    said = []
    if incident is not None:
        said.append(f"{_outcome(incident)} on {incident.entity} at {format_us(to_us(incident.ts))}: {incident.message}")
    said.append(f"{tally(verdicts).capitalize()}.")
    for word in (Word.SUPPORTED, Word.REFUTED):
        told = [verdict for verdict in verdicts if verdict.word is word][:_MOST_TOLD]
        said += [f"{one.hypothesis or one.signal}: {meaning(one)}" for one in told]
    if not verdicts:
        said.append("This page shows what was recorded; that is no evidence of what led to it.")
    elif not any(verdict.word is Word.SUPPORTED for verdict in verdicts):
        said.append("Nothing that was tested is supported as a precursor.")
    return said


def _timeline(store: Store, incident: Incident) -> dict[str, Any]:
    span = span_around(incident)
    events = event_rows(store, incident, span, limit=_MOST_EVENTS)
    jobs = job_rows(store, incident, span)
    return {
        "from": format_us(span[0]),
        "to": format_us(span[1]),
        "events": [_plain_row(row) for row in folded(events)],
        "note": events.note,
        "jobs": [_plain_row(row) for row in jobs.frame.iter_rows(named=True)],
        "sql": events.sql,
    }


def _plain_row(row: dict[str, Any]) -> dict[str, Any]:
    return {name: format_us(to_us(value)) if hasattr(value, "tzinfo") else value for name, value in row.items()}


def _ledger(store: Store) -> dict[str, Any]:
    book = ledger(store)
    table = book.table()
    shown = table.select([name for name in _LEDGER_COLUMNS if name in table.columns]).tail(_MOST_ENTRIES)
    return {
        "count": table.height,
        "shown": shown.height,
        "rule": book.rule,
        "judged": int(table.filter(pl.col("kind") == "judge").height),
        "screened": int(table.filter(pl.col("kind") == "screen").height),
        "rows": [_plain_row(row) for row in shown.iter_rows(named=True)],
    }


def _clocks(store: Store, incident: Incident | None) -> list[str]:
    """Say which clocks are off: of the incident's hosts, else of any."""
    off = store.clocks().filter("off")
    if incident is not None:
        off = off.filter(pl.col("host").is_in([host for host in (*incident.hosts, incident.host) if host]))
    said = [
        f"The clock ({row['clock']}) of {row['host']} is {abs(row['offset_s']):.3g} s {'ahead' if row['offset_s'] > 0 else 'behind'} "
        f"({row['low_s']:.3g} to {row['high_s']:.3g} s; {row['shared']} {row['method']}): times here are as recorded."
        for row in off.head(_MOST_TOLD).iter_rows(named=True)
    ]
    return said + ([f"{off.height - _MOST_TOLD} more clocks are off."] if off.height > _MOST_TOLD else [])


def _unknown(incident: Incident | None, verdicts: Sequence[Verdict], account: dict[str, Any]) -> list[str]:
    said = []
    if incident is not None and incident.ts_low < incident.ts_high:
        low, high = (format_us(to_us(moment)) for moment in (incident.ts_low, incident.ts_high))
        said.append(f"When exactly it happened: between {low} and {high}.")
    if incident is not None:
        missing = [name for name in ("host", "rack", "job") if getattr(incident, name) is None]
        said += [f"The {name} of the incident is not recorded." for name in missing]
    undecided = [verdict for verdict in verdicts if verdict.word is Word.UNDECIDED]
    by_reading: dict[str, int] = {}
    for verdict in undecided:
        by_reading[verdict.reading.value] = by_reading.get(verdict.reading.value, 0) + 1
    for reading, count in sorted(by_reading.items(), key=lambda pair: (-pair[1], pair[0])):
        said.append(f"{count} of {len(verdicts)} tested stay undecided: {reading}.")
    totals = account["totals"]
    if totals.get("rejected"):
        said.append(
            f"{totals['rejected']:,} of {totals['records']:,} records were not understood "
            f"({totals.get('curable', 0):,} of them wait for something that can be stated, such as a zone)."
        )
    unknown = account["metrics"]["unit_unknown"]
    if unknown:
        more = f" and {len(unknown) - _MOST_UNITS} more" if len(unknown) > _MOST_UNITS else ""
        said.append(f"The unit of {len(unknown)} metrics is not known: {', '.join(unknown[:_MOST_UNITS])}{more}.")
    return said
