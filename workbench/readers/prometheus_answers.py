"""Series as the query API of Prometheus answers them: labels, and pairs of a time and a text.

A compact matrix, which is how Prometheus and its kin write it, is read as a stream: series by
series at the bytes that cannot stand inside of a JSON string, and the pairs of many series as one
table. What is written in another way is read as a document.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
import polars as pl

from workbench.readers.jsondoc import LIMIT, document_at
from workbench.readers.jsonvalues import clean, dig, number_text
from workbench.readers.source import Source

__all__ = ["Answer", "answer_of", "is_stream", "streamed_answers"]

_BEGIN = b'{"metric":{'
_VALUES = b'},"values":[['
_NEXT = b"],["
_COMPACT = re.compile(rb'\{"status":"success",[^\[]{0,300}"resultType":"matrix","result":\[\{"metric":\{')
_TOLD = re.compile(rb'"(?:warnings|infos)":(\[[^\]]*\])')
_ERROR = re.compile(rb'\{"status":"error",.*')
_PAIRS = {"t": pl.Float64(), "v": pl.String()}
_NO_LABELS = "labels are no object of texts"
_NO_NAME = "series without a name: the answer to an expression does not say what it measures"
_NO_PAIRS = "values are no list of times and texts"
_HISTOGRAM = "native histogram: only its classic form is read"


@dataclass(eq=False)
class Answer:
    """Some series of an answer.

    Attributes
    ----------
    labels : list of dict
        One a series, with ``__name__``.
    counts : list of int
        Pairs of each series.
    lines : list of int
        Where each series stands.
    pairs : list of polars.DataFrame
        ``t`` (seconds) and ``v`` (text), series after series.
    refused : list of (line, reason, text)
    skips : list of str
        Rules for what is passed over.
    notes : list of str
    """

    labels: list[dict[str, str]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    pairs: list[pl.DataFrame] = field(default_factory=list)
    refused: list[tuple[int, str, str]] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def records(self) -> int:
        """Pairs, and series that are none, so far."""
        return sum(self.counts) + len(self.refused) + len(self.skips)

    def add(self, labels: Any, values: Any, line: int) -> None:
        """Add a series of a document: its pairs are taken one by one."""
        text = _json_text(labels)
        if not isinstance(labels, dict) or not all(isinstance(told, str) for told in labels.values()):
            self.refused.append((line, _NO_LABELS, text))
        elif "__name__" not in labels:
            self.refused.append((line, _NO_NAME, text))
        elif not isinstance(values, list):
            self.refused.append((line, _NO_PAIRS, text))
        else:
            good = [pair for pair in map(_pair, values) if pair is not None]
            self.refused += [(line, _NO_PAIRS, text)] * (len(values) - len(good))
            if good:
                self._keep({clean(name): clean(told) for name, told in labels.items()}, len(good), line)
                self.pairs.append(pl.DataFrame(good, schema=_PAIRS, orient="row"))

    def add_many(self, labels: list[bytes], pairs: list[bytes], lines: list[int]) -> None:
        """Add series of a stream: their pairs, ``1796071336,"52"],[1796071341,"53"``, are one table."""
        counts = [part.count(_NEXT) + 1 for part in pairs]
        table = _table(b"\n".join(pairs).replace(_NEXT, b"\n"), sum(counts))
        named = [_labels(part) for part in labels]
        if table is None or any(told is None for told in named):
            for place, part in enumerate(labels):
                whole = document_at(b'{"metric":{' + part + _VALUES + pairs[place] + b"]]}", lines[place])
                if whole.why is not None:
                    self.refused.append((lines[place], whole.why, whole.text))
                else:
                    self.add(whole.value["metric"], whole.value["values"], lines[place])
            return
        for told, count, line in zip(named, counts, lines, strict=True):
            self._keep(told or {}, count, line)
        self.pairs.append(table)

    def _keep(self, labels: dict[str, str], count: int, line: int) -> None:
        self.labels.append(labels)
        self.counts.append(count)
        self.lines.append(line)

    def table(self) -> pl.DataFrame:
        """Give ``place`` (of the series), ``t`` and ``v``."""
        pairs = pl.concat(self.pairs) if self.pairs else pl.DataFrame(schema=_PAIRS)
        places = np.repeat(np.arange(len(self.counts)), self.counts)
        return pairs.with_columns(place=pl.Series(places, dtype=pl.Int64))


def _json_text(value: Any) -> str:
    """Write a value for a reject; what cannot be written is shown as Python shows it."""
    try:
        return orjson.dumps(value).decode()[:2000]
    except (TypeError, orjson.JSONEncodeError):
        return clean(repr(value))[:2000]


def _pair(value: Any) -> tuple[float, str] | None:
    if not isinstance(value, list) or len(value) != 2 or isinstance(value[0], bool):
        return None
    moment, told = value
    written = clean(told) if isinstance(told, str) else number_text(told)
    if not isinstance(moment, (int, float)) or written is None:
        return None
    return (float(moment) if abs(moment) < 1e308 else float("inf")), written


def _labels(part: bytes) -> dict[str, str] | None:
    """Read labels; None where they need a closer look."""
    try:
        told = orjson.loads(b"{" + part + b"}")
    except orjson.JSONDecodeError:
        return None
    if "__name__" not in told or not all(isinstance(value, str) for value in told.values()):
        return None
    return {str(name): value for name, value in told.items()}


def _table(text: bytes, count: int) -> pl.DataFrame | None:
    """Read lines of ``time,"text"``; None where they need a closer look."""
    if text.count(b'"') != 2 * count or text.count(b",") != count or b"\\" in text:
        return None
    try:
        table = pl.read_csv(io.BytesIO(text), has_header=False, schema=_PAIRS)
    except pl.exceptions.PolarsError:
        return None
    return table if table.height == count and not table["t"].null_count() and not table["v"].null_count() else None


def is_stream(head: bytes) -> bool:
    """Tell whether a file begins with a compact matrix."""
    return _COMPACT.match(head.removeprefix(b"\xef\xbb\xbf").lstrip()) is not None


def streamed_answers(source: Source) -> Iterator[Answer]:
    """Read a file of compact matrices; then ``source.damage`` is known."""
    rest, line, begun = b"", 1, False
    for chunk in source.chunks():
        *parts, rest = (rest + chunk).split(_BEGIN)
        if not parts and len(rest) <= LIMIT:
            continue
        found, line = _answer(parts, line, begun=begun)
        begun = begun or bool(parts)
        if len(rest) > LIMIT:
            found.refused.append((line, f"one series is larger than {LIMIT} bytes", ""))
            rest, begun = b"", False  # what follows it counts again from the next beginning on
        yield found
    yield _answer([rest], line, begun=begun)[0]


def _answer(parts: list[bytes], line: int, *, begun: bool) -> tuple[Answer, int]:
    """Read what stands between one beginning of a series and the next."""
    answer = Answer()
    labels: list[bytes] = []
    pairs: list[bytes] = []
    lines: list[int] = []
    for place, part in enumerate(parts):
        if place == 0 and not begun:
            _between(part, line, answer)
        else:
            end = _cut(part)
            if end is None:
                _odd(part, line, answer)
            else:
                labels.append(part[: end[0]])
                pairs.append(part[end[0] + len(_VALUES) : end[1]])
                lines.append(line)
                _between(part[end[1] + 3 :], line, answer)
        line += part.count(b"\n")
    if labels:
        answer.add_many(labels, pairs, lines)
    return answer, line


def _cut(part: bytes) -> tuple[int, int] | None:
    """Give where the labels end and where the pairs end, of a series that is plain."""
    labels = part.find(_VALUES)
    end = part.find(b"]]", labels)
    return (labels, end) if 0 <= labels < end and part[end + 2 : end + 3] == b"}" else None


def _odd(part: bytes, line: int, answer: Answer) -> None:
    """Read a series that is cut, empty, or has histograms."""
    found = document_at(_BEGIN + part, line, whole=False)
    if found.why is not None:
        answer.refused.append((line, found.why, found.text))
        return
    _series(found.value, line, answer)
    _between(part, line, answer)


def _between(text: bytes, line: int, answer: Answer) -> None:
    """Take what the end of a document says beside its series."""
    if len(text) < 3:
        return
    for told in _TOLD.findall(text[-100_000:]):
        answer.notes += [note for note in _texts(told) if note not in answer.notes]
    if (failed := _ERROR.search(text)) is not None:
        answer.refused.append(
            (line, "another answer in this file is an error", failed[0][:2000].decode(errors="replace"))
        )


def _texts(told: bytes) -> list[str]:
    found = document_at(told, 1).value
    return [f"the answer says: {clean(text)}" for text in found or [] if isinstance(text, str)]


def _series(told: dict[str, Any], line: int, answer: Answer) -> None:
    if told.get("histograms"):
        answer.refused.append((line, _HISTOGRAM, _json_text(told.get("metric"))))
    if "value" in told:
        answer.add(told.get("metric"), [told["value"]], line)
    elif told.get("values"):
        answer.add(told.get("metric"), told["values"], line)
    elif not told.get("histograms"):
        answer.skips.append("series without values")


def answer_of(value: Any, line: int, answer: Answer) -> Answer:
    """Add the answer that one document holds.

    Examples
    --------
    >>> told = {"metric": {"__name__": "up"}, "value": [1796071502.5, "1"]}
    >>> value = {"status": "success", "data": {"resultType": "vector", "result": [told]}}
    >>> answer = answer_of(value, 1, Answer())
    >>> answer.labels, answer.table().rows()
    ([{'__name__': 'up'}], [(1796071502.5, '1', 0)])
    """
    before = answer.records
    data = dig(value, "data")
    result, kind = dig(data, "result"), dig(data, "resultType")
    if dig(value, "status") != "success":
        reason = f"the query failed: {dig(value, 'errorType')}: {dig(value, 'error')}"
        answer.refused.append((line, clean(reason)[:500], _json_text(value)))
    elif isinstance(data, list):
        answer.skips += ["series without values"] * len(data)
    elif kind in ("matrix", "vector") and isinstance(result, list):
        for told in result:
            if isinstance(told, dict):
                _series(told, line, answer)
            else:
                answer.refused.append((line, _NO_LABELS, _json_text(told)))
    elif kind in ("scalar", "string"):
        answer.refused.append((line, f"a {kind} has no name: it does not say what it measures", _json_text(result)))
    else:
        answer.refused.append((line, "no answer of a Prometheus query", _json_text(value)))
    if answer.records == before:
        answer.skips.append("empty answer")
    for key in ("warnings", "infos"):
        told_ = dig(value, key)
        answer.notes += [f"the answer says: {clean(text)}" for text in told_ or [] if isinstance(text, str)]
    if dig(value, "isPartial") is True:
        answer.notes.append("the answer is partial")
    return answer
