r"""Lines of the Influx line protocol taken apart: by column where they are plain, else one by one.

Grammar: InfluxData, "Line protocol reference". Commas, blanks and ``=`` are escaped outside of
strings; a string may hold line breaks; quotes have a meaning in field values alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from workbench.readers.exposition_lines import Parsed
from workbench.readers.exposition_samples import mixed
from workbench.readers.points import TEXT, Point, parsed_points
from workbench.readers.text import rejected

__all__ = ["OpenStringError", "OpenStrings", "parse_point", "taken_apart"]

_STRING = r'="(?:[^"\\]|\\.)*"'
_CELL = (
    r'[^\s,="]+=(?:""|[+-]?\d+[iu]|[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[tTfF]|true|True|TRUE|false|False|FALSE)'
)
_PLAIN = rf'^[^\s,="#][^\s,="]*(?:,[^\s,="]+=[^\s,="]+)* {_CELL}(?:,{_CELL})*(?: -?\d+)?$'
_OPEN = r'="(?:[^"\\]|\\.)*$'
_WORD = r"(?:[^\s,=\\]|\\.|\\)+"
_MEASUREMENT = re.compile(r"(?:[^\s,\\]|\\.|\\)+")
_TAG = re.compile(rf",({_WORD})=({_WORD})")
_FIELD = re.compile(rf'({_WORD})=(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))', re.DOTALL)
_UNCLOSED = re.compile(rf'{_WORD}="(?:[^"\\]|\\.)*\\?\Z', re.DOTALL)
_STAMP = re.compile(r" *(-?\d+)? *\Z")
_ESCAPE = re.compile(r"\\([,= ])")
_TRUTH = {"t": "1", "T": "1", "true": "1", "True": "1", "TRUE": "1", "f": "0", "F": "0", "false": "0", "False": "0", "FALSE": "0"}  # fmt: skip
_BARE = {"gauge": "gauge", "counter": "counter"}
_SEED = 13
_MOST_LINES = 1000  # of one string
_NOT_CLOSED = "a string is not closed"


class OpenStringError(ValueError):
    """The line ends inside of a string: it goes on with the next one."""


def taken_apart(lines: pl.DataFrame) -> Parsed:
    """Take lines apart: one sample a field.

    Parameters
    ----------
    lines : polars.DataFrame
        ``line`` and ``text``, without comments and blank lines.

    Examples
    --------
    >>> parsed = taken_apart(pl.DataFrame({"line": [1], "text": ['m,host=a x=71i,on=t,s="a b" 1762053251']}))
    >>> parsed.samples.select("value", "stamp").rows()
    [('71', '1762053251'), ('1', '1762053251'), ('""', '1762053251')]
    """
    text = lines["text"]
    bare = text.str.replace_all(_STRING, '=""') if text.str.contains('"', literal=True).any() else text
    plain = bare.str.contains(_PLAIN) & ~text.str.contains("\\", literal=True)
    fast = _columns(lines.with_columns(bare=bare).filter(plain))
    odd = lines.filter(~plain)
    if odd.is_empty():
        return fast
    points: list[Point] = []
    refused: list[tuple[int, str, str]] = []
    for line, written in odd.iter_rows():
        try:
            points.append(parse_point(line, written))
        except ValueError as error:
            refused.append((line, written, str(error)))
    slow = parsed_points(points)
    bad = pl.DataFrame(refused, schema={"line": pl.Int64, "text": pl.String, "reason": pl.String}, orient="row")
    return Parsed(
        samples=pl.concat([fast.samples, slow.samples]).sort("line", maintain_order=True),
        names=pl.concat([fast.names, slow.names]),
        labels=pl.concat([fast.labels, slow.labels]),
        rejects=rejected(bad, pl.col("reason")),
    )


def _columns(lines: pl.DataFrame) -> Parsed:
    parts = pl.col("bare").str.splitn(" ", 3).struct.rename_fields(["head", "fields", "stamp"])
    split = lines.select("line", "text", parts.struct.unnest()).with_columns(
        pl.col("fields").str.split(","), of_head=pl.col("head").hash(_SEED)
    )
    cells = split.explode("fields", empty_as_null=False).with_columns(
        pl.col("fields").str.splitn("=", 2).struct.rename_fields(["field", "value"]).struct.unnest(),
    )
    ids = mixed(cells["of_head"].to_numpy() ^ mixed(cells["field"].hash(_SEED + 1).to_numpy()))
    cells = cells.with_columns(id=pl.Series(ids, dtype=pl.UInt64), value=_typed(cells["value"]))
    named = cells.group_by("id", maintain_order=True).agg(
        pl.col("head").first(), pl.col("field").first(), first=pl.col("line").min()
    )
    measurement = pl.col("head").str.extract(r"^([^,]+)")
    bare = pl.col("field").is_in(["value", *_BARE])
    names = named.select(
        "id",
        metric=pl.when(bare).then(measurement).otherwise(pl.concat_str(measurement, pl.lit("_"), "field")),
        first="first",
        kind=pl.col("field").replace_strict(_BARE, default=None, return_dtype=pl.String),
        unit=pl.lit(None, pl.String),
    )
    tags = named.select("id", tag=pl.col("head").str.split(",").list.slice(1)).explode("tag", empty_as_null=False)
    pair = pl.col("tag").str.splitn("=", 2).struct.rename_fields(["label", "value"])
    labels = tags.select("id", pair.struct.unnest())
    empty = parsed_points([])
    return Parsed(
        samples=cells.select("line", "id", "value", "stamp", "text").cast(empty.samples.schema),
        names=names,
        labels=labels,
        rejects=empty.rejects,
    )


def _typed(value: pl.Series) -> pl.Series:
    """Write values of the plain grammar as numbers."""
    if value.str.contains("^[tTfF]").any():
        value = value.replace(_TRUTH)
    return value.str.strip_suffix("i").str.strip_suffix("u")


def parse_point(line: int, text: str) -> Point:
    r"""Take one point apart.

    Raises
    ------
    OpenStringError
        Where it ends inside of a string.
    ValueError
        Where it is no point; says what is wrong.

    Examples
    --------
    >>> point = parse_point(1, r'weird\,name,tag\ key=va\=lue f\ 1=-0.5,g=F 17')
    >>> point.measurement, point.tags, point.fields, point.stamp
    ('weird,name', {'tag key': 'va=lue'}, {'f 1': '-0.5', 'g': '0'}, '17')
    """
    found = _MEASUREMENT.match(text)
    if found is None:
        raise ValueError("no measurement")
    place, tags = found.end(), {}
    while tag := _TAG.match(text, place):
        tags[_unescaped(tag[1])] = _unescaped(tag[2])
        place = tag.end()
    if text[place : place + 1] != " ":
        raise ValueError("tags are not name=value pairs")
    fields, place = _fields(text, place + len(text[place:]) - len(text[place:].lstrip(" ")))
    stamp = _STAMP.match(text, place)
    if stamp is None or (stamp[1] and text[place : place + 1] != " "):
        raise ValueError("time stamp is no whole number")
    return Point(line=line, measurement=_unescaped(found[0]), tags=tags, fields=fields, stamp=stamp[1], text=text)


def _fields(text: str, place: int) -> tuple[dict[str, str], int]:
    fields: dict[str, str] = {}
    while True:
        found = _FIELD.match(text, place)
        if found is None:
            if _UNCLOSED.match(text, place):
                raise OpenStringError(_NOT_CLOSED)
            raise ValueError("fields are not name=value pairs")
        value = found[3]
        fields[_unescaped(found[1])] = TEXT if value is None else _value(value)
        place = found.end()
        if text[place : place + 1] != ",":
            return fields, place
        place += 1


def _value(text: str) -> str:
    plain = text[:-1] if re.fullmatch(r"[+-]?[0-9]+[iu]", text) else text
    return _TRUTH.get(plain, plain)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(r"\1", text)


class OpenStrings:
    r"""Puts lines together that one string spans, over the ends of blocks.

    Examples
    --------
    >>> strings = OpenStrings()
    >>> strings.joined(pl.DataFrame({"line": [1], "text": ['m s="a']})).height
    0
    >>> strings.joined(pl.DataFrame({"line": [2, 3], "text": ['b" 5', "m x=1"]})).rows(), strings.continued
    ([(1, 'm s="a\nb" 5'), (3, 'm x=1')], 1)
    """

    def __init__(self) -> None:
        self._waiting: pl.DataFrame | None = None
        self.continued = 0

    def joined(self, lines: pl.DataFrame, *, last: bool = False) -> pl.DataFrame:
        """Give the lines that are whole; counts the lines that became part of one before them."""
        lines = lines if self._waiting is None else pl.concat([self._waiting, lines])
        self._waiting, self.continued = None, 0
        text = lines["text"]
        if not text.str.contains('"', literal=True).any():
            return lines
        suspect = text.str.replace_all(_STRING, '=""').str.contains(_OPEN) & ~text.str.starts_with("#")
        if not suspect.any():
            return lines
        return self._joined(lines, suspect.arg_true().to_list(), last=last)

    def _joined(self, lines: pl.DataFrame, suspects: list[int], *, last: bool) -> pl.DataFrame:
        texts, end = lines["text"].to_list(), lines.height
        gone: set[int] = set()
        for start in suspects:
            if start in gone:
                continue
            stop = _closing(texts, start)
            if stop is None and not last and lines.height - start <= _MOST_LINES:
                self._waiting, end = lines[start:], start
                break
            if stop is not None and stop > start:
                texts[start] = "\n".join(texts[start : stop + 1])
                gone.update(range(start + 1, stop + 1))
        self.continued = len(gone)
        kept = [place for place in range(end) if place not in gone]
        whole = lines.with_columns(text=pl.Series(texts, dtype=pl.String))
        return whole[kept]


def _closing(texts: list[str], start: int) -> int | None:
    """Give the line on which a point that begins at ``start`` ends; None where none is found."""
    for stop, text in _growing(texts, start):
        try:
            parse_point(0, text)
        except OpenStringError:
            continue
        except ValueError:
            return start  # no point in any case: it is refused alone
        return stop
    return None


def _growing(texts: list[str], start: int) -> Iterator[tuple[int, str]]:
    text = texts[start]
    yield start, text
    for stop in range(start + 1, min(len(texts), start + _MOST_LINES)):
        text = f"{text}\n{texts[stop]}"
        if '"' in texts[stop]:
            yield stop, text
