"""Log records of OTLP as lines with labels."""

from __future__ import annotations

from typing import Any

from workbench.readers.jsonvalues import number_text, text_of
from workbench.readers.logrecords import LogRecord
from workbench.readers.otlp_points import Place, any_text, attributes_of, get

__all__ = ["log_record"]

#: First number of each range of severities (logs data model, "Severity fields").
_SEVERITIES = ((21, "fatal"), (17, "error"), (13, "warn"), (9, "info"), (5, "debug"), (1, "trace"))


def log_record(told: Any, place: Place) -> LogRecord:
    """Give one record; its time is when it happened, else when it was observed.

    Examples
    --------
    >>> from workbench.readers.jsondoc import Document
    >>> place = Place(document=Document(line=1, value=None, why=None, text=""), labels={"host.name": "n1"})
    >>> record = log_record({"timeUnixNano": "1762053241000000000", "body": {"stringValue": "x"}, "severityNumber": 17}, place)
    >>> record.ts_us, record.text, record.severity
    (1762053241000000, 'x', 'error')
    """
    moments = (_micros(get(told, name)) for name in ("timeUnixNano", "observedTimeUnixNano"))
    return LogRecord(
        line=place.document.line,
        ts_us=next((moment for moment in moments if moment), None),
        labels={**place.labels, **attributes_of(get(told, "attributes"))},
        text=(any_text(get(told, "body")) or "").rstrip("\n"),
        severity=text_of(get(told, "severityText")) or _severity(get(told, "severityNumber")),
    )


def _micros(value: Any) -> int | None:
    text = value if isinstance(value, str) else number_text(value)
    whole = text is not None and text.isascii() and text.isdigit() and len(text) <= 19
    return int(text) // 1000 if whole and text else None


def _severity(number: Any) -> str | None:
    if isinstance(number, bool) or not isinstance(number, int):
        return None
    return next((name for first, name in _SEVERITIES if first <= number <= 24), None)
