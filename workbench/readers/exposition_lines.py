r"""Lines of the Prometheus text format taken apart: by column where they are plain, else one by one.

A plain line is ``name{label="value",...} value [stamp]`` without escapes. Everything else that the
format allows (escapes, blanks elsewhere, exemplars, quoted names) goes through a small parser.
Series are few where lines are many, so labels are read once a series.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from workbench.readers.text import rejected

__all__ = ["Parsed", "parse_odd", "taken_apart"]

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="[^"\\]*"'
_HEAD = rf"^(?:{_NAME})?(?:\{{(?:{_LABEL}(?:, ?{_LABEL})*,?)?)?$"
_ODD = re.compile(
    rf'[ \t]*(?:({_NAME})(?=[ \t{{]))?[ \t]*(?:\{{((?:[^"}}]|"(?:[^"\\]|\\.)*")*)\}})?[ \t]*'
    r"([^\s{}#]+)(?:[ \t]+([^\s{}#]+))?[ \t]*(?:[ \t]#[ \t]*\{.*)?$",
    re.ASCII,
)
_PAIR = re.compile(
    r'[ \t]*(?:([a-zA-Z_][a-zA-Z0-9_]*)|"((?:[^"\\]|\\.)*)")[ \t]*(?:=[ \t]*"((?:[^"\\]|\\.)*)")?[ \t]*(?:,|$)',
    re.ASCII,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SEED = 13
_MEANING = {"\\": "\\", '"': '"', "n": "\n"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Parsed:
    """Sample lines, taken apart.

    Attributes
    ----------
    samples : polars.DataFrame
        ``line``, ``id`` (a 64-bit hash of what names the series), ``value`` and ``stamp`` as
        written; ``text``.
    names : polars.DataFrame
        ``id``, ``metric`` and ``first`` (the first line of that series).
    labels : polars.DataFrame
        ``id``, ``label`` and ``value`` (unescaped): one row a label.
    rejects : polars.DataFrame
    """

    samples: pl.DataFrame
    names: pl.DataFrame
    labels: pl.DataFrame
    rejects: pl.DataFrame


def taken_apart(lines: pl.DataFrame, *, ascii_only: bool = False) -> Parsed:
    """Take sample lines apart.

    Parameters
    ----------
    lines : polars.DataFrame
        ``line`` and ``text``, without comments and blank lines.
    ascii_only : bool
        The caller knows that all of it is ASCII, which is faster.

    Examples
    --------
    >>> parsed = taken_apart(pl.DataFrame({"line": [4], "text": ['up{job="a b"} 1 1700000000000']}))
    >>> parsed.samples.select("value", "stamp").rows(), parsed.labels.select("label", "value").rows()
    ([('1', '1700000000000')], [('job', 'a b')])
    """
    braces = lines["text"].str.contains("{", literal=True)
    plain = ~lines["text"].str.contains(r"\\| # ")
    parts = [_halves(lines.filter(plain & which), mark, ascii_only) for which, mark in ((braces, "} "), (~braces, " "))]
    split = pl.concat(part for part in parts if part.height or part is parts[0])
    split = split.with_columns(
        pl.col("tail").str.splitn(" ", 3).struct.rename_fields(["value", "stamp", "more"]).struct.unnest(),
        id=pl.col("head").hash(_SEED),
    )
    heads = split.group_by("id", maintain_order=True).agg(pl.col("head").first(), first=pl.col("line").min())
    good = heads.filter(pl.col("head").str.contains(_HEAD))
    fits = split["more"].is_null() & (split["value"] != "").fill_null(value=False)
    if good.height < heads.height:
        fits &= split["id"].is_in(good["id"].implode())
    fast = split.select("line", "id", "value", "stamp", "text").filter(fits).sort("line")
    names, labels = _series_of(good)
    odd = pl.concat([lines.filter(~plain), split.filter(~fits).select("line", "text")]).sort("line")
    return _with_odd(Parsed(samples=fast, names=names, labels=labels, rejects=rejected(odd.clear(), "")), odd)


def _halves(lines: pl.DataFrame, mark: str, ascii_only: bool) -> pl.DataFrame:
    """Split lines at the first ``mark``: ``head`` and ``tail`` (null where there is none)."""
    text = pl.col("text")
    if not ascii_only:
        return lines.with_columns(text.str.splitn(mark, 2).struct.rename_fields(["head", "tail"]).struct.unnest())
    place = text.str.find(mark, literal=True)
    return lines.with_columns(place=place).select(
        "line", "text", head=text.str.slice(0, pl.col("place")), tail=text.str.slice(pl.col("place") + len(mark))
    )


def _series_of(heads: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read names and labels once a series."""
    pairs = heads.select("id", pair=pl.col("head").str.extract_all(_LABEL)).explode("pair", empty_as_null=False)
    parts = pl.col("pair").str.strip_suffix('"').str.splitn('="', 2).struct.rename_fields(["label", "value"])
    labels = pairs.select("id", parts.struct.unnest())
    written = pl.col("head").str.extract(rf"^({_NAME})")
    inside = labels.filter(pl.col("label") == "__name__").select("id", inside="value")
    named = heads.join(inside, on="id", how="left", maintain_order="left")
    names = named.select("id", written.fill_null(pl.col("inside")).alias("metric"), "first")
    return names, labels.filter(pl.col("label") != "__name__")


def _with_odd(parsed: Parsed, odd: pl.DataFrame) -> Parsed:
    """Add the lines that need the small parser; take out series that no name or two values name."""
    twice = parsed.labels.filter(pl.struct("id", "label").is_duplicated())["id"]
    wrong = pl.concat([parsed.names.filter(pl.col("metric").is_null())["id"], twice]).unique()
    if wrong.len():
        bad = pl.col("id").is_in(wrong.to_list())
        odd = pl.concat([odd, parsed.samples.filter(bad).select("line", "text")]).sort("line")
        parsed = Parsed(
            samples=parsed.samples.filter(~bad),
            names=parsed.names.filter(~bad),
            labels=parsed.labels.filter(~bad),
            rejects=parsed.rejects,
        )
    return parsed if odd.is_empty() else _joined(parsed, odd)


def _joined(parsed: Parsed, odd: pl.DataFrame) -> Parsed:
    samples: list[tuple[int, str, str, str | None, str]] = []
    names: dict[str, tuple[str, str, int]] = {}
    labels: list[tuple[str, str, str]] = []
    refused: list[tuple[int, str, str]] = []
    for line, text in odd.iter_rows():
        try:
            metric, pairs, value, stamp = parse_odd(text)
        except ValueError as error:
            refused.append((line, text, str(error)))
            continue
        head = f"{metric}\0{pairs!r}"
        if head not in names:
            names[head] = (head, metric, line)
            labels.extend((head, label, told) for label, told in pairs)
        samples.append((line, head, value, stamp, text))
    bad = pl.DataFrame(refused, schema={"line": pl.Int64, "text": pl.String, "reason": pl.String}, orient="row")
    return Parsed(
        samples=pl.concat([parsed.samples, _hashed(samples, parsed.samples.schema)]).sort("line"),
        names=pl.concat([parsed.names, _hashed(list(names.values()), parsed.names.schema)]),
        labels=pl.concat([parsed.labels, _hashed(labels, parsed.labels.schema)]),
        rejects=pl.concat([parsed.rejects, rejected(bad, pl.col("reason"))]),
    )


def _hashed(rows: Sequence[tuple[str | int | None, ...]], schema: pl.Schema) -> pl.DataFrame:
    """Make a frame of rows that hold, in place of the ``id``, what it is the hash of."""
    written = pl.DataFrame(rows, schema={**schema, "id": pl.String()}, orient="row")
    return written.with_columns(pl.col("id").hash(_SEED))


def parse_odd(text: str) -> tuple[str, list[tuple[str, str]], str, str | None]:
    r"""Take one sample line apart: name, labels in order, value and stamp as written.

    Raises
    ------
    ValueError
        Where the line is no sample; says what is wrong.

    Examples
    --------
    >>> parse_odd('up {path="C:\\\\",} 1 # {trace="a"} 1')
    ('up', [('path', 'C:\\')], '1', None)
    """
    match = _ODD.match(text)
    if match is None:
        raise ValueError("not a sample of the Prometheus text format")
    name, body, value, stamp = match.groups()
    pairs: list[tuple[str, str]] = []
    position = 0
    while body is not None and position < len(body.rstrip(" \t")):
        pair = _PAIR.match(body, position)
        if pair is None:
            raise ValueError('labels are not name="value" pairs')
        position = pair.end()
        label = pair[1] if pair[1] is not None else _unescaped(pair[2])
        if pair[3] is not None:
            pairs.append((label, _unescaped(pair[3])))
        elif name is None and pair[1] is None:
            name = label  # Prometheus 3 writes names that are no identifiers so
        else:
            raise ValueError(f"label {label} has no value")
    name = name if name is not None else dict(pairs).get("__name__")
    if name is None:
        raise ValueError("no metric name")
    pairs = [pair for pair in pairs if pair[0] != "__name__"]
    if len(dict(pairs)) < len(pairs):
        raise ValueError("one label stands twice")
    return name, pairs, value, stamp


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    unknown = {found for found in _ESCAPE.findall(text) if found not in _MEANING}
    if unknown:
        raise ValueError(f"a label holds the unknown escape \\{min(unknown)}")
    return _ESCAPE.sub(lambda found: _MEANING[found[1]], text)
