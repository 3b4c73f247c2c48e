"""Influx line protocol: ``measurement,tag=value field=1i 1762053241120023000``.

The precision of the times is not in the file: each is told by its magnitude, and what no magnitude
tells waits for the user to state it. A point without a time means "now" to Influx and is refused
unless it is stated when the dump was taken. Text is no sample.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.influx_lines import OpenStrings, taken_apart
from workbench.readers.points import Points
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import Lines, lines_of, matched_share, rejected

__all__ = ["READER"]

_VALUE = r'(?:[+-]?[0-9][0-9.eE+-]*[iu]?|[tTfF]|true|false|True|False|TRUE|FALSE|"(?:[^"\\]|\\.)*"?)'
_KEY = r"(?:[^\s,=\\\"]|\\.)+"
_HEAD = rf"^(?:[^\s,=#\"{{}}\[\]|;:\\]|\\.)+(?:,{_KEY}={_KEY})*"
_LINE = rf"{_HEAD} {_KEY}={_VALUE}(?:,{_KEY}={_VALUE})*(?: -?\d+)?$"
_TOLD = rf"{_HEAD} {_KEY}={_VALUE}(?:,{_KEY}={_VALUE})*(?: -?\d{{9,19}})$"
_TAGGED = r"^(?:[^\s,=#\"]|\\.)+,"
_NOT_UTF8 = "not UTF-8"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    share = matched_share(head, _LINE)
    if share < 0.5:
        return None
    sure = matched_share(head, _TOLD) > 0 or matched_share(head, rf"{_TAGGED}.*=") >= 0.5
    return Match(
        confidence=0.85 if sure else 0.35, rule=f"{share:.0%} of the first lines are points of the line protocol"
    )


def _read(source: Source, context: Context) -> Iterator[Batch]:
    points, strings = Points(context), OpenStrings()
    empty = None
    for block in source.blocks():
        lines = lines_of(block)
        empty = lines.frame.clear()
        yield _batch(lines, points, strings)
    if empty is not None:
        rest = strings.joined(empty, last=True)
        yield points.batch(taken_apart(rest), {"continuation": strings.continued})
    yield points.end()
    yield from damage_batches(source)


def _batch(lines: Lines, points: Points, strings: OpenStrings) -> Batch:
    broken = pl.col("line").is_in(list(lines.broken))
    bad = rejected(lines.frame.filter(broken), _NOT_UTF8)
    frame = strings.joined(lines.frame.filter(~broken) if lines.broken else lines.frame)
    text = frame["text"].str.strip_chars(" \t\r")
    blank, comment = text == "", text.str.starts_with("#")
    parsed = taken_apart(frame.filter(~(blank | comment)))
    counts = {"blank": int(blank.sum()), "comment": int(comment.sum()), "continuation": strings.continued}
    return points.batch(parsed, counts, [lines.rejects, bad])


READER = Reader(name="influx_line_protocol", recognise=_recognise, read=_read)
