"""A reader of a tiny text format, so that tests of the store need no real one.

Lines: ``S ts host kind device metric value [labels-json]``, ``E ts host kind device event code message``,
``J job start end nodes state``, ``A host kind device same_as [from to]``, ``L host kind device to_kind to_device``,
``Z ...`` is rejected until a zone is stated, ``#`` is a comment, ``CRASH`` makes the reader fail.
``-`` is null; times are seconds; integers are exact.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.source import Source, damage_batches

FIRST = b"toy\n"


def _null(text: str) -> str | None:
    return None if text == "-" else text


def _us(text: str | None) -> int | None:
    return None if text in (None, "-") else round(float(text) * 1e6)


def table(rows: list[dict[str, object]], schema: pl.Schema) -> pl.DataFrame:
    """Rows whose times are microseconds, in a shape of ``frames``."""
    moments = [name for name, kind in schema.items() if isinstance(kind, pl.Datetime)]
    plain = {name: pl.Int64() if name in moments else kind for name, kind in schema.items()}
    full = [{name: row.get(name) for name in schema} for row in rows]
    frame = pl.DataFrame(full, schema=plain)
    return frame.with_columns(pl.col(name).cast(pl.Datetime("us")).dt.replace_time_zone("UTC") for name in moments)


class _Rows:
    def __init__(self) -> None:
        self.series: dict[tuple[str | None, ...], int] = {}
        self.kinds = {"S": [], "E": [], "J": [], "A": [], "L": []}

    def sample(self, words: list[str], line: int) -> None:
        del line
        ts, host, kind, device, metric, value, *labels = words
        key = (metric, _null(host), _null(kind), _null(device), labels[0] if labels else "{}")
        number = self.series.setdefault(key, len(self.series))
        whole = value.lstrip("-").isdigit() and -(2**63) <= int(value) < 2**63
        self.kinds["S"].append(
            {"series": number, "ts": _us(ts), "value": float(value), "value_int": int(value) if whole else None}
        )

    def event(self, words: list[str], line: int) -> None:
        ts, host, kind, device, event, code, *message = words
        self.kinds["E"].append(
            {
                "ts": _us(ts), "host": _null(host), "device_kind": _null(kind), "device": _null(device), "kind": event,
                "code": _null(code), "severity": "err", "message": " ".join(message), "attributes": "{}", "line": line,
            }
        )  # fmt: skip

    def job(self, words: list[str], line: int) -> None:
        job, start, end, nodes, state = words
        self.kinds["J"].append(
            {
                "job": job,
                "attempt": 1,
                "start": _us(start),
                "end": _us(end),
                "nodes": nodes.split(","),
                "state": state,
                "line": line,
            }
        )

    def alias(self, words: list[str], line: int) -> None:
        host, kind, device, same, *span = words
        start, end = span or (None, None)
        self.kinds["A"].append(
            {
                "host": _null(host), "device_kind": kind, "device": device, "same_as": same, "rule": f"line {line}",
                "valid_from": _us(start), "valid_to": _us(end),
            }
        )  # fmt: skip

    def link(self, words: list[str], line: int) -> None:
        del line
        host, kind, device, to_kind, to_device = words
        self.kinds["L"].append(
            {
                "host": _null(host),
                "device_kind": _null(kind),
                "device": _null(device),
                "relation": "in",
                "to_kind": to_kind,
                "to_device": to_device,
            }
        )


def read(source: Source, context: Context) -> Iterator[Batch]:
    for block in source.blocks():
        rows, rejects, comments, records = _Rows(), [], 0, 0
        take = {"S": rows.sample, "E": rows.event, "J": rows.job, "A": rows.alias, "L": rows.link}
        for number, text in enumerate(block.text.decode("utf-8", "replace").split("\n"), block.first_line):
            if not text:
                continue
            records += 1
            word, *rest = text.split(" ")
            if word == "CRASH":
                raise RuntimeError("the reader has a defect")
            if word == "Z" and context.zone is None:
                rejects.append({"line": number, "reason": "no zone", "text": text, "curable": "clock"})
                continue
            if word in ("toy", "#"):
                comments += 1
                continue
            if word == "Z":
                word, rest = rest[0], rest[1:]
            try:
                take[word](rest, number)
            except (KeyError, ValueError) as error:
                rejects.append({"line": number, "reason": f"{type(error).__name__}", "text": text, "curable": None})
        series = [
            dict(zip(("metric", "host", "device_kind", "device", "labels"), key, strict=True)) | {"series": number}
            for key, number in rows.series.items()
        ]
        yield Batch(
            records=records,
            rows=sum(map(len, rows.kinds.values())),
            series=table(series, frames.SERIES),
            samples=table(rows.kinds["S"], frames.SAMPLES),
            events=table(rows.kinds["E"], frames.EVENTS),
            jobs=table(rows.kinds["J"], frames.JOBS),
            aliases=table(rows.kinds["A"], frames.ALIASES),
            links=table(rows.kinds["L"], frames.LINKS),
            skips=pl.DataFrame({"rule": ["comment"], "count": [comments]}, schema=frames.SKIPS),
            rejects=table(rejects, frames.REJECTS),
        )
    yield from damage_batches(source)


def recognise(head: bytes, context: Context) -> Match | None:
    del context
    return Match(confidence=0.9, rule="first line is toy") if head.startswith(FIRST) else None


TOY = Reader(name="toy", recognise=recognise, read=read)
