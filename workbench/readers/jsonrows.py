"""JSON objects as rows of a table: one a line, or an array of them in one document.

A block of lines that are plain JSON is parsed as a whole; where one line is not (a bare NaN, a cut
line), the lines go one by one, so that it costs itself alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
import polars as pl

from workbench.readers.jsontwice import key_said_twice, said_twice
from workbench.readers.source import HEAD_BYTES

__all__ = ["JsonHead", "documents", "flat", "json_frame", "rows_frame", "sniff_json", "written_like"]

_WHOLE = 2**53
_SURROGATE = r"\\u[dD][89a-fA-F]"  # Polars reads a lone one as NUL
_VALUE = r'"[ \t]*:[ \t]*(?:"(?:[^"\\]|\\.)*"|[^,{}\[\]"]+)'
_MOST_KEYS = 5000
_LABELS = ("labels", "tags")
_MEMBER = re.compile(
    r"""(?P<before> *(?P<mark>[{,]) *"(?P<key>[^"\\\x00-\x1f]+)" *: *)(?:"[^"\\\x00-\x1f]*"|-?\d[\d.eE+-]*)"""
)


@dataclass(frozen=True, kw_only=True)
class JsonHead:
    """What the first bytes of a file of JSON objects tell.

    Attributes
    ----------
    array : bool
        One document, an array of objects; else an object a line.
    names : tuple of str
        Keys, nested ones parted by dots.
    rows : polars.DataFrame
        The objects that the head holds.
    share : float
        Of the lines of the head, how many are objects.
    """

    array: bool
    names: tuple[str, ...]
    rows: pl.DataFrame
    share: float


@lru_cache(maxsize=4)
def sniff_json(head: bytes) -> JsonHead | None:
    r"""Tell whether a file holds JSON objects, by its first bytes; several readers ask about the same ones.

    Examples
    --------
    >>> sniff_json(b'{"t": 1, "gpu": {"temp": 5}}\n{"t": 2}\n').names
    ('t', 'gpu.temp')
    >>> sniff_json(b'[\n {"t": 1},\n {"t": 2}').array, sniff_json(b"t,u\n") is None
    (True, True)
    """
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        whole = text[: text.rfind(b"\n")] if len(head) >= HEAD_BYTES and b"\n" in text else text
        lines = [line for line in whole.decode(errors="replace").split("\n") if line.strip()][:500]
        found = [row for line in lines if (row := _object(line)) is not None]
        if not found or _object(lines[0]) is None:
            return None
        return _head(found, array=False, share=len(found) / len(lines))
    if text.startswith(b"["):
        found = list(_elements(text[1:].decode(errors="replace")))
        return _head(found, array=True, share=1.0) if found else None
    return None


def _head(found: Sequence[Mapping[str, Any]], *, array: bool, share: float) -> JsonHead:
    rows = rows_frame([flat(row) for row in found])
    return JsonHead(array=array, names=tuple(rows.columns), rows=rows, share=share)


def _elements(text: str) -> Iterable[dict[str, Any]]:
    """Give the whole objects at the start of an array."""
    decoder, position = json.JSONDecoder(), 0
    while len(found := text[position:].lstrip(", \t\r\n")) and position < HEAD_BYTES:
        start = len(text) - len(found)
        try:
            item, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return
        if not isinstance(item, dict):
            return
        yield item


def _object(line: str) -> dict[str, Any] | None:
    """Read one line as an object; bare NaN and Infinity, which Python writes, pass."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            found = json.loads(line, parse_float=_float)
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) else None


def _float(text: str) -> float | str:
    """Read a number; one that is too large for a double stays text, for it is not infinite."""
    value = float(text)
    return value if math.isfinite(value) else text


def documents(data: bytes) -> list[dict[str, Any] | None] | None:
    """Read an array; None where it is none, and None in place of what is no object.

    Examples
    --------
    >>> documents(b'[{"a": NaN}, 3]'), documents(b'[{"a":')
    ([{'a': nan}, None], None)
    """
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            found = json.loads(data, parse_float=_float)
        except (ValueError, RecursionError):
            return None
    return [item if isinstance(item, dict) else None for item in found] if isinstance(found, list) else None


def flat(row: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Give nested objects one level, their keys parted by dots; lists and label sets become JSON text.

    Examples
    --------
    >>> flat({"a": {"b": 1}, "c": [1, "x"], "labels": {"gpu": "0"}})
    {'a.b': 1, 'c': '[1,"x"]', 'labels': '{"gpu":"0"}'}
    """
    found: dict[str, Any] = {}
    for key, value in row.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and key.lower() not in _LABELS and depth < 8:
            found.update(flat(value, f"{name}.", depth + 1))
        elif isinstance(value, (dict, list)):
            found[name] = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        else:
            found[name] = value
    return found


def rows_frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Lay flat objects out as columns: integers exact, mixed columns as text.

    Examples
    --------
    >>> rows_frame([{"a": 9007199254740993, "b": "x"}, {"a": 0.5}]).to_dicts()
    [{'a': '9007199254740993', 'b': 'x'}, {'a': '0.5', 'b': None}]
    """
    names = list(dict.fromkeys(name for row in rows for name in row))[:_MOST_KEYS]
    return pl.DataFrame([_column(name, [row.get(name) for row in rows]) for name in names])


def _column(name: str, values: list[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds == {int} and all(value is None or -(2**63) <= value < 2**63 for value in values):
        return pl.Series(name, values, dtype=pl.Int64)
    if kinds and kinds <= {int, float} and all(abs(value) <= _WHOLE for value in values if isinstance(value, int)):
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    return pl.Series(name, [_text(value) for value in values], dtype=pl.String)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # a lone surrogate is no text


def written_like(line: bytes) -> tuple[list[str], list[str]] | None:
    r"""Give the keys of a flat object of texts and numbers, and what stands before each value and after the last.

    Examples
    --------
    >>> written_like(b'{"a": 1, "b": "x"}')
    (['a', 'b'], ['{"a": ', ', "b": ', '}\n'])
    >>> written_like(b'{"a": [1]}') is None
    True
    """
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return None
    names: list[str] = []
    between: list[str] = []
    at, mark = 0, "{"
    while found := _MEMBER.match(text, at):
        if found["mark"] != mark or len(names) > _MOST_KEYS:
            return None
        names.append(found["key"])
        between.append(found["before"])
        at, mark = found.end(), ","
    unlike = len(set(names)) < len(names)
    return (
        None
        if not names or unlike or text[at:].strip(" ") != "}" or text[-1] != "}"
        else (names, [*between, text[at:] + "\n"])
    )


def json_frame(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Read lines of JSON objects.

    Parameters
    ----------
    lines : polars.DataFrame
        ``line`` and ``text``, without blank ones.

    Returns
    -------
    polars.DataFrame, polars.DataFrame, polars.DataFrame
        Columns; ``line`` and ``text`` of their rows; those of the lines that are no objects, with
        ``why`` where more can be said: of two values of one key, nobody knows which is meant.

    Examples
    --------
    >>> lines = pl.DataFrame({"line": [1, 2, 3], "text": ['{"a": 1}', '{"a": NaN}', '{"a": 2']})
    >>> rows, kept, wrong = json_frame(lines)
    >>> rows["a"].to_list(), wrong["line"].to_list()
    ([1.0, nan], [3])
    """
    whole = _at_once(lines["text"])
    if whole is not None and not _any_twice(lines["text"]):
        return whole, lines, lines.clear().with_columns(why=pl.lit(None, pl.String))
    texts = lines["text"].to_list()
    rows = [_object(text) for text in texts]
    why = [None if row is None else said_twice(row, text) for row, text in zip(rows, texts, strict=True)]
    kept = [row is not None and reason is None for row, reason in zip(rows, why, strict=True)]
    good = pl.Series(kept, dtype=pl.Boolean)
    frame = rows_frame([flat(row) for row, fine in zip(rows, kept, strict=True) if fine and row is not None])
    wrong = lines.with_columns(pl.Series("why", why, dtype=pl.String)).filter(~good)
    return frame, lines.filter(good), wrong


def _any_twice(text: pl.Series) -> bool:
    """Tell whether an object says a key twice; of lines that have the same keys, one is looked at."""
    kinds = pl.DataFrame({"text": text, "keys": text.str.replace_all(_VALUE, '":')}).unique("keys", keep="any")
    return any(key_said_twice(line) is not None for line in kinds["text"])


def _at_once(text: pl.Series) -> pl.DataFrame | None:
    """Parse all lines together; None where they need more care than that."""
    fits = text.str.starts_with("{") & text.str.ends_with("}")
    if not text.len() or not fits.all() or text.str.contains(_SURROGATE).any():
        return None
    data = "\n".join(text.to_list()).encode()
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
        large = [name for name, dtype in frame.schema.items() if dtype.is_float() and _rounded(frame[name])]
        if large:
            # Perhaps long integers beside decimals: read as text, they keep their digits.
            frame = frame.with_columns(pl.read_ndjson(data, schema=dict.fromkeys(large, pl.String())))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    if frame.height != text.len() or frame.width > _MOST_KEYS:
        return None
    return _unnested(frame)


def _rounded(values: pl.Series) -> bool:
    largest = values.abs().max()
    return isinstance(largest, float) and largest > _WHOLE


def _unnested(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Flatten as :func:`flat` does; None where names would clash."""
    for _ in range(8):
        nested = [
            name
            for name, dtype in frame.schema.items()
            if isinstance(dtype, pl.Struct) and name.rpartition(".")[2].lower() not in _LABELS
        ]
        if not nested:
            break
        columns: list[pl.Series] = []
        for name in frame.columns:
            inner = frame[name].struct.unnest() if name in nested else None
            columns += [frame[name]] if inner is None else [inner[key].alias(f"{name}.{key}") for key in inner.columns]
        if len({column.name for column in columns}) < len(columns) or len(columns) > _MOST_KEYS:
            return None
        frame = pl.DataFrame(columns)
    odd = [name for name, dtype in frame.schema.items() if dtype.is_nested() and not _is_labels(name, dtype)]
    return None if odd else frame


def _is_labels(name: str, dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.Struct) and name.rpartition(".")[2].lower() in _LABELS
