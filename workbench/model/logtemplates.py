"""Templates of log lines: the words that lines of one kind share, with marks for what varies."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl

from workbench.kernels.templates import variable_positions
from workbench.model.masking import masked

__all__ = ["OPEN", "TEMPLATE", "mine", "template_id"]

#: Kind of the events of a template, in selectors: ``template:ID``.
TEMPLATE = "template"
#: Mark of a variable of no known type.
OPEN = "<*>"
_PIECE = r"[^\s=:,;()\[\]{}\"'|]+"
_CUT = rf"{_PIECE}(?::{_PIECE})*"  # a colon inside of a word is part of it: host:port, queue:number
_ODD = r"<|[^.]\.[^.]|[/@\\]"
_MOST_TOKENS = 200
#: So many different words in one place, all else equal, are a variable; fewer mean something (up, down).
_WORDS = 6
#: ... where a name follows: 2; where a value follows a ``=``: 3, unless the key says that it means something.
_WORDS_NAMED, _WORDS_VALUE = 2, 3
_NAME_NEXT = frozenset(
    [
        "user",
        "for",
        "by",
        "from",
        "on",
        "node",
        "host",
        "server",
        "device",
        "disk",
        "container",
        "pod",
        "partition",
        "feature",
        "job",
        "task",
        "comm",
        "program",
        "process",
        "service",
        "unit",
        "interface",
        "group",
        "account",
        "queue",
        "volume",
        "filesystem",
        "image",
    ]
)
_MEANS = frozenset(
    ["severity", "state", "status", "level", "type", "result", "action", "event", "code", "reason", "mode", "health"]
)
_ID_DIGITS = 12


def template_id(template: str) -> str:
    """Give the name of a template: the first 12 hex digits of the SHA-256 of its text.

    Examples
    --------
    >>> template_id("link <*> is down")
    'ad78c426e4d1'
    """
    return hashlib.sha256(template.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]


def mine(messages: pl.Series) -> pl.DataFrame:
    """Find the templates of messages.

    The answer depends on the set of messages alone: not on their order, their number, or the pieces
    in which they came. Typed values are masked first (:mod:`workbench.model.masking`), then lines of
    the same punctuation that differ in one or two words are held together
    (:func:`workbench.kernels.templates.variable_positions`).

    Parameters
    ----------
    messages : polars.Series
        Strings; nulls and messages without any character are left out.

    Returns
    -------
    polars.DataFrame
        ``message`` (each once), ``template``, ``template_id``, sorted by message.

    Examples
    --------
    >>> lines = ["nfs: server a1 not responding", "nfs: server b2 not responding", "nfs: server b2 OK"]
    >>> mine(pl.Series(lines))["template"].to_list()
    ['nfs: server <*> not responding', 'nfs: server b<num> OK', 'nfs: server <*> not responding']
    """
    lines = pl.DataFrame({"message": messages.cast(pl.String).drop_nulls().unique().sort()})
    lines = lines.with_columns(masked(pl.col("message")).alias("skeleton")).filter(pl.col("skeleton") != "")
    skeletons = lines.select(pl.col("skeleton").unique().sort())
    found = skeletons.with_columns(pl.Series("template", _templates(skeletons["skeleton"]), dtype=pl.String))
    ids = found.select(pl.col("template").unique())
    ids = ids.with_columns(pl.Series("template_id", [template_id(text) for text in ids["template"]], dtype=pl.String))
    return (
        lines.join(found, on="skeleton", how="left", maintain_order="left")
        .join(ids, on="template", how="left", maintain_order="left")
        .select("message", "template", "template_id")
    )


def _templates(skeletons: pl.Series) -> list[str]:
    """Give the template of each skeleton; all differ."""
    templates = skeletons.to_list()
    cut = pl.DataFrame({"skeleton": skeletons}).select(
        pl.col("skeleton").str.extract_all(_CUT).alias("tokens"),
        pl.col("skeleton").str.replace_all(_CUT, "\x00").alias("shape"),
    )
    cut = cut.with_row_index("row").filter(
        pl.col("tokens").list.len().is_between(2, _MOST_TOKENS) & (pl.len().over("shape") > 1)
    )
    vocabulary = cut.select(pl.col("tokens").explode(empty_as_null=False).unique().sort())["tokens"]
    if vocabulary.is_empty():
        return templates
    odd = vocabulary.str.contains(_ODD).to_numpy()
    lower = vocabulary.str.to_lowercase()
    names, means = (lower.is_in(list(words)).to_numpy() for words in (_NAME_NEXT, _MEANS))
    number = pl.DataFrame({"tokens": vocabulary}).with_row_index("number")
    numbered = (
        cut.explode("tokens")
        .join(number, on="tokens", how="left", maintain_order="left")
        .group_by("row", maintain_order=True)
        .agg(pl.col("number"), pl.col("shape").first())
    )
    for (shape,), group in numbered.group_by("shape"):
        tokens = np.array(group["number"].to_list(), np.int64)
        least = _least(str(shape), names[tokens], means[tokens])
        variable = variable_positions(tokens, odd, least)
        for row, marks, own in zip(group["row"], variable, tokens, strict=True):
            if marks.any():
                templates[row] = _written(str(shape), own, marks, vocabulary)
    return templates


def _least(shape: str, name: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Give how many different words make a variable, by line and position."""
    least = np.full(name.shape, _WORDS, np.int64)
    for position, before in enumerate(shape.split("\x00")[1:-1], start=1):
        if before == " ":
            least[name[:, position - 1], position] = _WORDS_NAMED
        elif before == "=":
            least[~means[:, position - 1], position] = _WORDS_VALUE
    return least


def _written(shape: str, tokens: np.ndarray, variable: np.ndarray, vocabulary: pl.Series) -> str:
    parts = shape.split("\x00")
    said = [OPEN if open_ else vocabulary[int(token)] for token, open_ in zip(tokens, variable, strict=True)]
    return parts[0] + "".join(token + after for token, after in zip(said, parts[1:], strict=True))
