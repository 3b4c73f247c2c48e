"""Rows of the ledger as the store keeps them: append-only, one per step of a judgement.

A claim leaves up to three rows: ``registered`` before data are read, ``tested`` when its p is
known (this row holds its place in the online sequence), ``judged`` with the verdict; or ``known``
in place of the last two, where the rows turn out to be those of an earlier entry. A screen leaves
one ``screened`` row for each signal that it tested.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl

from workbench.model.frames import TS
from workbench.model.selector import Selector

__all__ = [
    "JUDGED",
    "METHOD",
    "REGISTERED",
    "ROWS",
    "SCREENED",
    "MEASURED",
    "entry_id",
    "in_order",
    "outcome_key",
    "rows_frame",
]

#: Changes where the same claim on the same rows may get another answer.
METHOD = "matched precursor test 1"

REGISTERED, MEASURED, JUDGED, KNOWN, SCREENED = "registered", "tested", "judged", "known", "screened"

ROWS = pl.Schema(
    {
        "status": pl.String(),
        "at": TS,
        "ledger_id": pl.String(),  # digest of hypothesis, rows and method; of the registration until rows are known
        "registration": pl.String(),
        "kind": pl.String(),  # judge | screen
        "hypothesis": pl.String(),  # digest
        "rows": pl.String(),  # digest of what was read; null until it was
        "method": pl.String(),
        "inputs": pl.String(),  # version of the store
        "batch": pl.String(),
        "batch_size": pl.Int64(),
        "name": pl.String(),
        "signal": pl.String(),
        "outcome": pl.String(),
        "scope": pl.String(),
        "family": pl.String(),
        "expected": pl.String(),
        "seed": pl.Int64(),
        "rule": pl.String(),  # online | batch | screen
        "p": pl.Float64(),
        "q": pl.Float64(),
        "tested": pl.Int64(),
        "alpha_t": pl.Float64(),
        "rejected": pl.Boolean(),
        "wealth": pl.Float64(),
        "word": pl.String(),
        "reading": pl.String(),
        "provenance": pl.String(),
        "verdict": pl.String(),
    }
)


def entry_id(*parts: str) -> str:
    """Give the short digest of a key.

    Examples
    --------
    >>> entry_id("hypothesis", "rows", "method")
    '027eff22dab7'
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def outcome_key(outcome: Selector | str) -> str:
    """Write an outcome so that the order of its codes says nothing.

    Examples
    --------
    >>> outcome_key("xid:79,48")
    'xid:48,79'
    """
    selector = Selector.parse(outcome) if isinstance(outcome, str) else outcome
    return str(Selector(selector.kind, tuple(sorted(set(selector.codes))), selector.where))


def rows_frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Make rows for the store; what a row does not name is null."""
    now = datetime.now(UTC)
    unknown = {key for row in rows for key in row if key not in ROWS}
    assert not unknown, f"the ledger has no column {unknown}"
    return pl.DataFrame(
        [{"at": now, **{name: row.get(name) for name in ROWS if name in row}} for row in rows], schema=ROWS
    )


def in_order(stored: pl.DataFrame) -> list[dict[str, Any]]:
    """Read the store's rows in the order of their commits, whatever columns an older version wrote."""
    missing = [pl.lit(None, kind).alias(name) for name, kind in ROWS.items() if name not in stored.columns]
    return stored.with_columns(missing).select(list(ROWS)).to_dicts()
