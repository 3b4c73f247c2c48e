"""How one value is written in a table: short, exact enough, absence said."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from numbers import Real

import numpy as np

from workbench.figures.text import visible

__all__ = ["ABSENT", "cell_text", "number_text", "p_text", "right_aligned"]

#: What stands where nothing was observed; never 0, never empty.
ABSENT = "–"


def number_text(value: float | Real) -> str:
    """Write a number with four significant digits; NaN is absence.

    Examples
    --------
    >>> number_text(0.0123456), number_text(1234567.0), number_text(float("nan")), number_text(12)
    ('0.01235', '1,234,567', '–', '12')
    """
    if isinstance(value, (int, np.integer)):
        return f"{int(value):,}"  # counters beyond 2^53 stay exact
    number = float(value)
    if math.isnan(number):
        return ABSENT
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    if number == round(number) and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.0f}" if 1e3 <= abs(number) < 1e15 else f"{number:.4g}"


def p_text(p: float) -> str:
    """Write a p-value with two significant digits.

    Examples
    --------
    >>> p_text(0.0312), p_text(1.2e-7), p_text(float("nan"))
    ('0.031', '1.2e-07', '–')
    """
    return ABSENT if math.isnan(p) else f"{p:.2g}"


def cell_text(value: object, limit: int = 200) -> str:
    """Write any cell as plain text (not yet escaped).

    Times are written in UTC with a ``Z``; what is longer than ``limit`` is cut and ends in ``…``.

    Examples
    --------
    >>> cell_text(datetime(2026, 3, 1, 12, tzinfo=UTC)), cell_text(None), cell_text(True)
    ('2026-03-01T12:00:00Z', '–', 'yes')
    """
    text = visible(_text_of(value))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _text_of(value: object) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Real):
        return number_text(value)
    if isinstance(value, datetime):
        utc = value.astimezone(UTC) if value.tzinfo else value
        return utc.replace(tzinfo=None).isoformat() + "Z"
    return _many_text(value)


def _many_text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_text_of(item)}" for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_text_of(item) for item in value)
    return str(value)


def right_aligned(column: Sequence[object]) -> bool:
    """Tell whether a column holds numbers, which line up at the right.

    Examples
    --------
    >>> right_aligned([1.5, None]), right_aligned(["a"]), right_aligned([])
    (True, False, False)
    """
    known = [value for value in column if value is not None]
    return bool(known) and all(isinstance(value, Real) and not isinstance(value, bool) for value in known)
