"""Verdicts as JSON and back, so that the ledger returns the very answer that it was given."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from workbench.model.provenance import Provenance
from workbench.model.verdict import Alarms, Effect, Lead, Observed, Reading, Verdict

__all__ = ["verdict_from_json", "verdict_to_json"]

_PARTS = {"effect": Effect, "lead": Lead, "alarms": Alarms, "observed": Observed, "provenance": Provenance}
_INFINITE = {math.inf: "inf", -math.inf: "-inf"}


def verdict_to_json(verdict: Verdict) -> str:
    """Write a verdict as one canonical JSON object; NaN is null, infinite numbers are words.

    Examples
    --------
    >>> verdict = Verdict(reading=Reading.NOT_ENOUGH, sentence="2 episodes", outcome="xid", signal="gpu.power_w",
    ...                   kind="metric", scope="gpu", incidents=2, episodes=2, tested=1, bound_u=math.inf,
    ...                   provenance=Provenance(function="wb.judge", inputs="case@1", seed=7))
    >>> again = verdict_from_json(verdict_to_json(verdict))
    >>> again.reading, again.bound_u, again.p, again.provenance.seed
    (<Reading.NOT_ENOUGH: 'not enough episodes'>, inf, nan, 7)
    """
    return json.dumps(_plain(asdict(verdict)), sort_keys=True, separators=(",", ":"), allow_nan=False)


def verdict_from_json(text: str) -> Verdict:
    """Read what :func:`verdict_to_json` wrote; fields that this version does not know are dropped.

    Raises
    ------
    ValueError
        Where the text is no verdict.
    """
    table = json.loads(text)
    if not isinstance(table, dict) or "reading" not in table:
        raise ValueError("not a verdict: a JSON object with a 'reading' is expected")
    values = _known(Verdict, table)
    for name, part in _PARTS.items():
        values[name] = part(**_known(part, table.get(name) or {}))
    values["reading"] = Reading(table["reading"])
    values["raw_names"] = tuple(table.get("raw_names") or ())
    return Verdict(**values)


def _known(kind: type, table: Mapping[str, Any]) -> dict[str, Any]:
    return {
        field.name: _number(table[field.name]) if field.type == "float" else table[field.name]
        for field in fields(kind)
        if field.name in table
    }


def _number(value: object) -> float:
    return math.nan if value is None else float(str(value))


def _plain(value: Any) -> Any:
    """Turn enums, tuples and numpy values into what JSON has."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return _INFINITE.get(value)
    return str(value) if isinstance(value, str) else value
