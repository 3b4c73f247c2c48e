"""Alerts of Alertmanager (API v1 and v2, webhooks) and of Prometheus (alerts, rules): JSON.

One event an alert, at the time it began. ``endsAt`` is when an alert ended only where it is
resolved: of one that goes on it is a time in the future, or the year 1. Alerts that were resolved
before the dump are not in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers import exposition_who
from workbench.readers.base import Match, Reader
from workbench.readers.exposition_lines import Parsed
from workbench.readers.exposition_series import LabelledSeries
from workbench.readers.jsondoc import Document, outer_keys, streamed
from workbench.readers.jsonvalues import clean, dicts, dig, text_of
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import Seen, rejected, skipped
from workbench.readers.timecells import Clocks, TimeRule, read_times

__all__ = ["READER"]

_ALERT = ("startsAt", "activeAt")
_NEVER = "0001-01-01"
_NO_ALERT = "no alert: it has no labels"
_NO_START = "alert without a start"
_RESOLVED = "alerts that were resolved before the dump was taken are not in it"
_AT_ONCE = 20_000
_TOLD = ("summary", "description", "message")


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    keys = outer_keys(head)
    if {"labels", "fingerprint"} <= keys or ("labels" in keys and keys & set(_ALERT)):
        return Match(confidence=0.95, rule="JSON objects with labels and the start of an alert")
    if "alerts" in keys and ({"groupLabels", "receiver"} & keys):
        return Match(confidence=0.95, rule="a webhook message with alerts")
    if keys <= {"status", "data"} and keys and any(f'"{name}"'.encode() in head for name in _ALERT):
        return Match(confidence=0.93, rule="an answer of Prometheus or Alertmanager with alerts")
    if keys == {"status", "data"} and (b'"alerts":[' in head[:300] or b'"groups":[' in head[:300]):
        return Match(confidence=0.9, rule="an answer of Prometheus that lists alerts")
    return None


@dataclass
class _Found:
    """Alerts and what is none, so far."""

    alerts: list[tuple[int, dict[str, Any], str]] = field(default_factory=list)
    refused: list[tuple[int, str, str, str | None]] = field(default_factory=list)
    empty: int = 0


def _read(source: Source, context: Context) -> Iterator[Batch]:
    reading, found = _Reading(context), _Found()
    for document in streamed(source):
        _gather(document, found)
        if len(found.alerts) >= _AT_ONCE:
            yield reading.batch(found)
            found = _Found()
    yield reading.batch(found)
    yield Batch(records=0, rows=0, notes=(*reading.series.told(), *reading.notes))
    yield from damage_batches(source)


def _gather(document: Document, found: _Found) -> None:
    if document.why is not None:
        found.refused.append((document.line, document.why, document.text, None))
        return
    before = len(found.alerts) + len(found.refused)
    for item in _items(document.value):
        if isinstance(item, dict) and isinstance(item.get("labels"), dict):
            found.alerts.append((document.line, item, document.text))
        else:
            found.refused.append((document.line, _NO_ALERT, document.text, None))
    found.empty += len(found.alerts) + len(found.refused) == before


def _items(value: Any) -> list[Any]:
    data = value.get("data", value) if isinstance(value, dict) else value
    if isinstance(data, list):
        return data
    if isinstance(dig(data, "groups"), list):
        rules = [rule for group in dicts(dig(data, "groups")) for rule in dicts(group.get("rules"))]
        return [alert for rule in rules for alert in dicts(rule.get("alerts"))]
    alerts = dig(data, "alerts")
    return alerts if isinstance(alerts, list) else [data]


class _Reading:
    def __init__(self, context: Context) -> None:
        self.series = LabelledSeries(host=context.host)
        self.notes: dict[str, None] = {}
        self._clocks = Clocks(rule=TimeRule.of(context))
        self._seen = Seen()

    def batch(self, found: _Found) -> Batch:
        """Make a batch of alerts."""
        rows = pl.DataFrame([_row(place, *told) for place, told in enumerate(found.alerts)], schema=_ROWS, orient="row")
        times = read_times(rows["start"], self._clocks)
        ends = read_times(rows["end"], self._clocks)["ts"].cast(frames.TS).dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ")
        none = rows["start"].is_null()
        rows = rows.with_columns(
            times["ts", "ts_low", "ts_high", "curable"],
            reason=pl.when(none).then(pl.lit(_NO_START)).otherwise(times["reason"]),
            end=ends,
        )
        good = rows.filter(pl.col("ts").is_not_null())
        bad = rows.filter(pl.col("ts").is_null())
        fresh = self._seen.is_new(
            good.select(pl.concat_str("key", "start", "state", pl.col("end").fill_null(""))).to_series()
        )
        new = good.filter(fresh)
        if new.height:
            self.notes[_RESOLVED] = None
        who = self._who(found, new)
        refused = pl.DataFrame(found.refused, schema=frames.REJECTS, orient="row")
        odd = rejected(bad, pl.col("reason")).with_columns(curable=bad["curable"])
        skips = skipped({"duplicate": int((~fresh).sum()), "empty answer": found.empty})
        return Batch(
            records=rows.height + refused.height + found.empty,
            rows=new.height,
            events=_events(new, who, found),
            entities=exposition_who.entity_rows(who),
            links=exposition_who.link_rows(who),
            aliases=exposition_who.alias_rows(who),
            skips=skips,
            rejects=pl.concat([refused, odd]).sort("line", maintain_order=True),
        )

    def _who(self, found: _Found, new: pl.DataFrame) -> pl.DataFrame:
        """Tell whose alerts these are, as of series with their labels."""
        ids = new.select(id=pl.col("place").cast(pl.UInt64))
        told = [
            (place, clean(label), clean(value))
            for place in new["place"]
            for label, value in found.alerts[place][1]["labels"].items()
            if isinstance(value, str)
        ]
        labels = pl.DataFrame(told, schema={"id": pl.UInt64, "label": pl.String, "value": pl.String}, orient="row")
        names = ids.with_columns(metric=pl.lit("ALERTS"), first=new["line"])
        who = self.series.identified(
            Parsed(
                samples=names.clear(),
                names=names,
                labels=labels.unique(["id", "label"], keep="first", maintain_order=True),
                rejects=frames.empty(frames.REJECTS),
            )
        )
        return who.with_columns(low=new["ts"], high=new["ts"])


_ROWS = dict.fromkeys(("start", "end", "state", "code", "severity", "message", "key", "text"), pl.String) | {
    "place": pl.Int64,
    "line": pl.Int64,
}


def _row(place: int, line: int, alert: dict[str, Any], text: str) -> tuple[Any, ...]:
    labels, notes = alert["labels"], alert.get("annotations")
    status = alert.get("status")
    state = text_of(alert.get("state")) or text_of(status) or text_of(dig(status, "state")) or "firing"
    start = next((told for name in _ALERT if (told := _time(alert.get(name)))), None)
    code = text_of(labels.get("alertname"))
    message = next((told for name in _TOLD if (told := text_of(dig(notes, name)))), code)
    key = text_of(alert.get("fingerprint")) or clean(json.dumps(labels, sort_keys=True, default=repr))
    end = _end(alert, state)
    return start, end, state, code, text_of(labels.get("severity")), message, key, text, place, line


def _time(value: Any) -> str | None:
    told = text_of(value)
    return None if told is None or told.startswith(_NEVER) else told


def _end(alert: dict[str, Any], state: str) -> str | None:
    """Give when an alert ended; None while it goes on, whatever ``endsAt`` says of the future."""
    end, updated = _time(alert.get("endsAt")), _time(alert.get("updatedAt"))
    if end is None or state == "resolved" or updated is None:
        return end if state == "resolved" else None
    times = read_times(pl.Series([end, updated]), Clocks(rule=TimeRule()))["ts"]
    return end if times.null_count() == 0 and times[0] <= times[1] else None


def _events(new: pl.DataFrame, who: pl.DataFrame, found: _Found) -> pl.DataFrame:
    attributes = [
        _attributes(found.alerts[place][1], state, end, labels)
        for place, state, end, labels in zip(new["place"], new["state"], new["end"], who["labels"], strict=True)
    ]
    told = new.select(
        *(pl.col(name).cast(frames.TS) for name in ("ts", "ts_low", "ts_high")),
        who["host"],
        who["device_kind"],
        who["device"],
        pl.lit("alert").alias("kind"),
        "code",
        "severity",
        "message",
        pl.Series("attributes", attributes, dtype=pl.String),
        "line",
    )
    return told.cast(dict(frames.EVENTS))  # type: ignore[arg-type]  # polars names its own types


def _attributes(alert: dict[str, Any], state: str, end: str | None, labels: str) -> str:
    told: dict[str, Any] = {"state": state, "labels": json.loads(labels)}
    notes = alert.get("annotations")
    if isinstance(notes, dict) and notes:
        told["annotations"] = {clean(name): clean(text) for name, text in notes.items() if isinstance(text, str)}
    if end is not None:
        told["end"] = end
    for name, key in (("silenced_by", "silencedBy"), ("inhibited_by", "inhibitedBy")):
        if by := dig(alert.get("status"), key):
            told[name] = [clean(one) for one in by if isinstance(one, str)] if isinstance(by, list) else []
    if value := text_of(alert.get("value")):
        told["value"] = value
    return json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


READER = Reader(name="alertmanager_json", recognise=_recognise, read=_read)
