"""Data points of OTLP metrics as points: gauges, sums, histograms of both kinds, summaries.

Fields are those of the protocol's ``metrics.proto``. Histograms become the series that Prometheus
would have: ``_bucket`` with cumulative counts below ``le``, ``_count``, ``_sum``, and ``_min`` and
``_max`` where they are told.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.readers.jsondoc import Document
from workbench.readers.jsonvalues import clean, dicts, number_text, text_of
from workbench.readers.points import NO_VALUE, Point

__all__ = ["Place", "any_text", "attributes_of", "get", "metric_points"]

_DELTA = (1, "1", "AGGREGATION_TEMPORALITY_DELTA", "DELTA")
_NUMBER = re.compile(r"[+-]?\d{1,400}(?:\.\d{0,400})?(?:[eE][+-]?\d{1,4})?")
_SPECIAL = {"NaN": "NaN", "Infinity": "+Inf", "-Infinity": "-Inf"}
_SHAPES = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
_MOST_BUCKETS = 10_000
_NO_NAME = "a metric without a name"
_NO_SHAPE = "a metric of no kind that is known: gauge, sum, histogram, exponentialHistogram, summary"
_NO_TIME = "a data point without a time"
_NO_BUCKETS = "buckets and their bounds do not fit together"


def get(value: Any, name: str) -> Any:
    """Give a field, in camelCase as the standard has it, else in snake_case.

    Examples
    --------
    >>> get({"time_unix_nano": "5"}, "timeUnixNano"), get([], "a")
    ('5', None)
    """
    if not isinstance(value, dict):
        return None
    return value[name] if name in value else value.get(re.sub(r"([A-Z])", r"_\1", name).lower())


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where points and records stand: their document, and what their resource and scope say."""

    document: Document
    labels: Mapping[str, str]

    @classmethod
    def of(cls, resource: Any, scope: Any, document: Document) -> Place:
        """Take the attributes of a resource, and the name of the scope."""
        labels = attributes_of(get(get(resource, "resource"), "attributes"))
        name = text_of(get(get(scope, "scope"), "name"))
        return cls(document=document, labels={**labels, **({"otel.scope.name": name} if name else {})})


def attributes_of(value: Any) -> dict[str, str]:
    """Give attributes as texts.

    Examples
    --------
    >>> attributes_of([{"key": "a", "value": {"intValue": "5"}}, {"key": "b", "value": {"boolValue": True}}])
    {'a': '5', 'b': 'true'}
    """
    told = {}
    for pair in dicts(value):
        key, text = text_of(pair.get("key")), any_text(pair.get("value"))
        if key and text is not None:
            told[key] = text
    return told


def any_text(value: Any) -> str | None:
    """Write an ``AnyValue`` as text; what is a list or a map as JSON."""
    if not isinstance(value, dict) or not value:
        return None
    (told,) = itertools.islice(value.values(), 1)
    if isinstance(told, str):
        return clean(told)
    if isinstance(told, bool):
        return "true" if told else "false"
    return number_text(told) or clean(json.dumps(told, sort_keys=True, default=repr, ensure_ascii=False))


def metric_points(metric: Mapping[str, Any], place: Place) -> Iterator[list[Point] | str]:
    """Give the points of each data point of a metric, or why there is none."""
    name = text_of(metric.get("name"))
    shape = next((shape for shape in _SHAPES if isinstance(get(metric, shape), dict)), None)
    if not name or shape is None:
        yield _NO_SHAPE if name else _NO_NAME
        return
    body = get(metric, shape)
    make = {"gauge": _number, "sum": _number, "summary": _summary}.get(shape, _histogram)
    delta = get(body, "aggregationTemporality") in _DELTA
    counts = shape != "gauge" and not delta and (shape != "sum" or get(body, "isMonotonic") is True)
    family = _Family(
        name=name, unit=text_of(metric.get("unit")), kind="counter" if counts else "gauge", delta=delta, place=place
    )
    for point in dicts(get(body, "dataPoints")):
        stamp = get(point, "timeUnixNano")
        if stamp in (None, 0, "0", ""):
            yield _NO_TIME
        else:
            yield make(point, family)


@dataclass(frozen=True, kw_only=True)
class _Family:
    name: str
    unit: str | None
    kind: str
    delta: bool
    place: Place

    def point(self, told: Any, ending: str, value: str, **more: str | None) -> Point:
        """Make a point with one value; ``more`` are its kind, and labels of its own."""
        stamp = get(told, "timeUnixNano")
        kind = more.pop("kind", self.kind)
        tags = {**self.place.labels, **attributes_of(get(told, "attributes")), **more}
        if self.delta:
            tags["aggregation_temporality"] = "delta"
        return Point(
            line=self.place.document.line,
            measurement=self.name + ending,
            tags={name: text for name, text in tags.items() if text is not None},
            fields={"value": value},
            stamp=stamp if isinstance(stamp, str) else number_text(stamp) or "no number",
            text=self.place.document.text,
            kind=kind,
            unit=self.unit if ending not in ("_count", "_bucket") else None,
        )


def _text(value: Any) -> str | None:
    """Give a number, which may be written as text, as text; None for what is none."""
    if isinstance(value, str):
        return _SPECIAL.get(value) or (value if _NUMBER.fullmatch(value) else None)
    return number_text(value)


def _no_value(told: Any) -> bool:
    """Tell whether the flag says that no value was recorded."""
    flags = _text(told.get("flags"))
    return flags is not None and flags.isdigit() and int(flags) & 1 == 1


def _number(told: Any, family: _Family) -> list[Point] | str:
    if _no_value(told):
        return [family.point(told, "", NO_VALUE)]
    value = _text(get(told, "asInt")) or _text(get(told, "asDouble"))
    return "a data point without a number" if value is None else [family.point(told, "", value)]


def _summary(told: Any, family: _Family) -> list[Point] | str:
    points = _sums(told, family)
    for quantile in dicts(get(told, "quantileValues")):
        share, value = _text(quantile.get("quantile")), _text(quantile.get("value"))
        if value is not None:
            points.append(family.point(told, "", value, kind="gauge", quantile=share or "0"))
    return points


def _sums(told: Any, family: _Family) -> list[Point]:
    """Give count and sum, and minimum and maximum where they are told."""
    if _no_value(told):
        return [family.point(told, "_count", NO_VALUE)]
    points = [family.point(told, "_count", _text(told.get("count")) or "0")]
    for name in ("sum", "min", "max"):
        value = _text(told.get(name))
        if value is not None:
            kind = family.kind if name == "sum" else "gauge"
            points.append(family.point(told, f"_{name}", value, kind=kind))
    return points


def _histogram(told: Any, family: _Family) -> list[Point] | str:
    points = _sums(told, family)
    if _no_value(told):
        return points
    exponential = get(told, "scale") is not None or get(told, "positive") is not None
    buckets = _exponential(told) if exponential else _explicit(told)
    if buckets is None:
        return _NO_BUCKETS
    below = 0
    for upper, count in buckets:
        below += count
        points.append(
            family.point(told, "_bucket", str(below), kind="histogram" if not family.delta else "gauge", le=upper)
        )
    return points


def _explicit(told: Any) -> list[tuple[str, int]] | None:
    """Give upper bound and count of each bucket; None where they do not fit together."""
    counts = _whole_numbers(get(told, "bucketCounts"))
    written = get(told, "explicitBounds") or []
    bounds = [_text(bound) for bound in written] if isinstance(written, list) else [None]
    if counts is None or any(bound is None for bound in bounds) or (counts and len(counts) != len(bounds) + 1):
        return None
    return list(zip([*(f"{float(bound or 0):g}" for bound in bounds), "+Inf"], counts, strict=True)) if counts else []


def _exponential(told: Any) -> list[tuple[str, int]] | None:
    """Give the buckets of an exponential histogram in order: negative, zero, positive."""
    scale = _whole(get(told, "scale") or 0)
    negative, positive = _side(get(told, "negative")), _side(get(told, "positive"))
    zero = _whole(get(told, "zeroCount") or 0)
    if scale is None or zero is None or negative is None or positive is None:
        return None
    (low, less), (high, more) = negative, positive
    found = [(-_power(low + place, scale), count) for place, count in reversed(list(enumerate(less)))]
    found.append((float(_text(get(told, "zeroThreshold")) or 0), zero))
    found += [(_power(high + place + 1, scale), count) for place, count in enumerate(more)]
    return [*((f"{upper:g}", count) for upper, count in found), ("+Inf", 0)]


def _side(value: Any) -> tuple[int, list[int]] | None:
    if not value:
        return 0, []
    offset, counts = _whole(get(value, "offset") or 0), _whole_numbers(get(value, "bucketCounts"))
    return None if offset is None or counts is None else (offset, counts)


def _power(index: int, scale: int) -> float:
    """Give the bound ``2 ** (index / 2 ** scale)``; infinity where no float holds it."""
    try:
        return float(2.0 ** (index * 2.0**-scale))
    except OverflowError:
        return float("inf")


def _whole(value: Any) -> int | None:
    text = _text(value)
    return int(text) if text is not None and re.fullmatch(r"[+-]?\d{1,20}", text) else None


def _whole_numbers(value: Any) -> list[int] | None:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > _MOST_BUCKETS:
        return None
    found = [_whole(item) for item in value]
    return None if any(item is None for item in found) else [item or 0 for item in found]
