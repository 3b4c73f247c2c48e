"""Lines of text as columns, and the small things that every reader of text needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workbench.model import frames
from workbench.readers.source import Block

__all__ = [
    "UNTERMINATED",
    "Lines",
    "Seen",
    "json_object",
    "json_rows",
    "json_text",
    "lines_of",
    "matched_share",
    "nothing_to_escape",
    "rejected",
    "skipped",
]

UNTERMINATED = "last line has no newline: it may be cut"
_OVERLONG = "line is longer than 4 MiB; its first 200 bytes are kept"
_TO_ESCAPE = r'["\\\x00-\x1f]'
_SHOWN = 2000  # characters of a rejected line that are kept
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_ESCAPED |= {chr(code): f"\\u{code:04x}" for code in range(32) if chr(code) not in _ESCAPED}


@dataclass(frozen=True, eq=False, kw_only=True)
class Lines:
    r"""The lines of a block, as columns.

    Attributes
    ----------
    frame : polars.DataFrame
        ``line`` (number in the file) and ``text`` (no newline) of every line that is whole. Bytes
        that are not UTF-8 are shown as ``\xNN``, and NUL bytes before the text (what a crash
        leaves behind) are left out.
    rejects : polars.DataFrame
        Lines without end, and a last line that may be cut.
    records : int
        Lines of the block: those of ``frame`` and of ``rejects``.
    broken : tuple of int
        Numbers of the lines that held bytes that are not UTF-8.
    ascii : bool
        All of it is ASCII: bytes and characters are the same.
    """

    frame: pl.DataFrame
    rejects: pl.DataFrame
    records: int
    broken: tuple[int, ...] = ()
    ascii: bool = False


def lines_of(block: Block, *, complete: frozenset[str] = frozenset()) -> Lines:
    r"""Give the lines of a block.

    Parameters
    ----------
    block : Block
    complete : frozenset of str
        Last lines that cannot be cut, such as ``# EOF``.

    Examples
    --------
    >>> lines_of(Block(first_line=7, text=b"a\n\xff\n", unterminated=False)).frame.rows()
    [(7, 'a'), (8, '\\xff')]
    >>> lines_of(Block(first_line=9, text=b"b", unterminated=True)).rejects["reason"][0]
    'last line has no newline: it may be cut'
    """
    text, broken = _utf8(block)
    frame = _columns(text, block.first_line)
    if b"\0" in text:
        frame = frame.with_columns(pl.col("text").str.strip_chars_start("\0"))
    reasons: dict[int, str] = dict.fromkeys(block.overlong, _OVERLONG)
    if block.unterminated and frame["text"][-1] not in complete:
        reasons.setdefault(int(frame["line"][-1]), UNTERMINATED)
    if not reasons:
        none = frames.empty(frames.REJECTS)
        return Lines(frame=frame, rejects=none, records=frame.height, broken=broken, ascii=text.isascii())
    bad = pl.col("line").is_in(list(reasons))
    told = frame.filter(bad).with_columns(reason=pl.col("line").replace_strict(reasons, return_dtype=pl.String))
    rejects = rejected(told, pl.col("reason"))
    return Lines(frame=frame.filter(~bad), rejects=rejects, records=frame.height, broken=broken)


def _utf8(block: Block) -> tuple[bytes, tuple[int, ...]]:
    text = block.text
    if text.isascii():
        return text, ()
    try:
        text.decode()
    except UnicodeDecodeError:
        pass
    else:
        return text, ()
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    suspects = np.unique(np.searchsorted(ends, np.flatnonzero(data >= 0x80)))
    edges = [0, *(ends + 1).tolist(), len(text)]
    broken = [index for index in suspects.tolist() if not _decodes(text[edges[index] : edges[index + 1]])]
    clean = text.decode(errors="backslashreplace").encode()
    return clean, tuple(block.first_line + index for index in broken)


def _decodes(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _columns(text: bytes, first_line: int) -> pl.DataFrame:
    """Lay offsets over the bytes: no line is copied one by one."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
    edges = np.concatenate(([0], ends, [len(text)] if not text.endswith(b"\n") else [])).astype(np.int64)
    count = edges.size - 1
    array = pa.LargeStringArray.from_buffers(count, pa.py_buffer(edges), pa.py_buffer(text))
    lines = pl.Series("text", pl.from_arrow(array), dtype=pl.String).str.strip_suffix("\n")
    numbers = pl.int_range(first_line, first_line + count, dtype=pl.Int64, eager=True)
    return pl.DataFrame({"line": numbers, "text": lines})


def rejected(lines: pl.DataFrame, reason: str | pl.Expr, *, curable: str | None = None) -> pl.DataFrame:
    """Make rejects of lines; of a long one the first 2,000 characters are kept.

    Parameters
    ----------
    lines : polars.DataFrame
        With ``line`` and ``text``.
    reason : str or expression
    curable : str, optional
        What the user can state so that these lines are read.

    Examples
    --------
    >>> rejected(pl.DataFrame({"line": [3], "text": ["?"]}), "no stamp")["reason"].to_list()
    ['no stamp']
    """
    told = pl.lit(reason) if isinstance(reason, str) else reason
    return lines.select(
        pl.col("line").cast(pl.Int64),
        told.alias("reason"),
        pl.col("text").str.slice(0, _SHOWN),
        pl.lit(curable, pl.String).alias("curable"),
    )


def skipped(counts: Mapping[str, int]) -> pl.DataFrame:
    """Make the table of skips; rules that skipped nothing are left out.

    Examples
    --------
    >>> skipped({"blank": 2, "comment": 0}).rows()
    [('blank', 2)]
    """
    told = {rule: count for rule, count in counts.items() if count}
    return pl.DataFrame({"rule": list(told), "count": list(told.values())}, schema=frames.SKIPS)


def matched_share(head: bytes, pattern: str, *, at_least: int = 1) -> float:
    r"""Give the share of the whole, non-blank lines of ``head`` that match ``pattern``.

    0.0 where fewer than ``at_least`` match, or where the head holds NUL bytes in most lines
    (UTF-16, binary rubbish).

    Examples
    --------
    >>> matched_share(b"[ 1.0] a\n\nb\n[ 2.0] cu", r"^\[ ")
    0.5
    """
    lines, plain = _lines_of_head(head)
    hits = _hits(lines, plain, pattern) if lines.len() else 0
    return hits / lines.len() if hits >= at_least else 0.0


def _hits(lines: pl.Series, plain: pa.Array | None, pattern: str) -> int:
    """Count lines that match; of ASCII text with RE2, which says the same in a tenth of the time."""
    if plain is not None:
        try:
            return int(pc.sum(pc.match_substring_regex(plain, pattern)).as_py() or 0)
        except pa.ArrowInvalid:
            pass  # a syntax that RE2 does not have
    return int(lines.str.contains(pattern).sum())


@lru_cache(maxsize=4)
def _lines_of_head(head: bytes) -> tuple[pl.Series, pa.Array | None]:
    """Give the whole, non-blank lines of a head, if ASCII also for Arrow; every reader asks about the same head."""
    whole = head[: head.rfind(b"\n") + 1] or head
    if not whole:
        return pl.Series(dtype=pl.String), None
    text, _ = _utf8(Block(first_line=1, text=whole, unterminated=False))
    lines = _columns(text, 1)["text"]
    lines = lines.filter(lines.str.strip_chars() != "")
    return lines, lines.to_arrow().cast(pa.large_string()) if text.isascii() else None


class Seen:
    """Which records were met before, over the blocks of a file; forgets nothing up to its limit.

    Records are told apart by a 64-bit hash: at the limit, two different ones among four million
    meet with a probability below one in a million.

    Examples
    --------
    >>> seen = Seen()
    >>> seen.is_new(pl.Series(["a", "b", "a"])).to_list(), seen.is_new(pl.Series(["b", "c"])).to_list()
    ([True, True, False], [False, True])
    """

    LIMIT = 4_000_000
    _SEED = 11
    _SHIFT = np.uint64(64 - 24)

    def __init__(self, limit: int | None = LIMIT) -> None:
        self._limit = limit  # None: remember all
        # Sorted runs, each more than twice the next: a block is merged log times, never all each time.
        self._runs: list[NDArray[np.uint64]] = []
        self._later: list[NDArray[np.uint64]] = []  # to be sorted once somebody asks
        # By the upper bits of a hash: whether any such was met. Memory is taken where it is written to.
        self._marks = np.zeros(1 << 24, dtype=bool)

    def is_new(self, keys: pl.Series) -> pl.Series:
        """Tell of each key whether it is met for the first time."""
        hashes = keys.hash(self._SEED)
        found = np.sort(hashes.to_numpy())
        double = found[1:] == found[:-1]
        if double.any():
            fresh = hashes.is_first_distinct()
            found = found[np.concatenate(([True], ~double))]
        else:
            fresh = pl.repeat(True, hashes.len(), dtype=pl.Boolean, eager=True)
        known = self._known(found)
        if known.any():
            fresh &= ~hashes.is_in(pl.Series(found[known]).implode())
            found = found[~known]
        if not self._full():
            self._keep(found)
        return fresh

    def is_new_in_order(self, keys: pl.Series, order: pl.Series) -> pl.Series:
        """Tell the same of keys that ascend in an order in which no earlier call came as far.

        Parameters
        ----------
        keys : (row,) String
        order : (row,) Int64
            Ascends, and belongs to the key: rows of another order have another key.

        Examples
        --------
        >>> Seen().is_new_in_order(pl.Series(["1 a", "1 b", "1 a", "2 a"]), pl.Series([1, 1, 1, 2])).to_list()
        [True, True, False, True]
        """
        places = order.to_numpy()
        same = places[1:] == places[:-1]
        fresh = pl.repeat(True, keys.len(), dtype=pl.Boolean, eager=True)
        if same.any():
            near = pl.Series(np.flatnonzero(np.append(same, False) | np.insert(same, 0, False)))
            fresh = fresh.scatter(near, keys.gather(near).is_first_distinct())
        if not self._full():
            self._later.append(keys.filter(fresh).hash(self._SEED).to_numpy())
        return fresh

    def _full(self) -> bool:
        return self._limit is not None and sum(run.size for run in (*self._runs, *self._later)) >= self._limit

    def is_known(self, keys: pl.Series) -> pl.Series:
        """Tell of each key whether it was met in an earlier call."""
        return pl.Series(self._known(keys.hash(self._SEED).to_numpy()))

    def _known(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        known = np.zeros(hashes.size, dtype=bool)
        for run in self._later:
            self._keep(np.sort(run))
        self._later = []
        if not self._runs:
            return known
        near = np.flatnonzero(self._marks[hashes >> self._SHIFT])  # few of those that are new
        asked = hashes[near]
        for run in self._runs:
            place = np.searchsorted(run, asked)
            known[near] |= run[np.minimum(place, run.size - 1)] == asked
        return known

    def _keep(self, run: NDArray[np.uint64]) -> None:
        if run.size:
            self._marks[run >> self._SHIFT] = True
        while self._runs and self._runs[-1].size <= 2 * run.size:
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        if run.size:
            self._runs.append(run)


def json_text(text: pl.Expr) -> pl.Expr:
    r"""Write strings as JSON strings, with the quotes.

    Examples
    --------
    >>> pl.DataFrame({"a": ['say "\t"']}).select(json_text(pl.col("a")).alias("json"))["json"][0]
    '"say \\"\\t\\""'
    """
    odd = text.str.contains(_TO_ESCAPE)
    clean = pl.when(odd).then(text.str.replace_many(list(_ESCAPED), list(_ESCAPED.values()))).otherwise(text)
    return pl.concat_str(pl.lit('"'), clean, pl.lit('"'))


def nothing_to_escape(frame: pl.DataFrame, names: Iterable[str]) -> frozenset[str]:
    r"""Give the columns of text that stand in JSON as they are, but for the quotes.

    Examples
    --------
    >>> nothing_to_escape(pl.DataFrame({"a": ["b c", None], "d": ['"', ""], "e": [1, 2]}), ["a", "d", "e"])
    frozenset({'a'})
    """
    texts = [name for name in names if frame.schema[name] == pl.String]
    odd = frame.select(pl.col(name).str.contains(_TO_ESCAPE).any() for name in texts)
    return frozenset(name for name in texts if not odd[name].item())


def json_rows(frame: pl.DataFrame, columns: Iterable[str], *, raw: str | None = None) -> pl.Series:
    r"""Write columns of a frame as :func:`json_object` does; quick where nothing is null and nothing to escape.

    Parameters
    ----------
    frame : polars.DataFrame
    columns : iterable of str
    raw : str, optional
        Name of the one that holds JSON already.

    Examples
    --------
    >>> json_rows(pl.DataFrame({"b": ["x", "y"], "a": [1, 2], "c": [None, None]}), ["a", "b", "c"]).to_list()
    ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}']
    >>> json_rows(pl.DataFrame({"b": ['"', None], "a": [1, 2], "n": ["[]", "[3]"]}), ["a", "b", "n"], raw="n").to_list()
    ['{"a":1,"b":"\\"","n":[]}', '{"a":2,"n":[3]}']
    """
    nulls = {name: frame[name].null_count() for name in sorted(columns)}
    known = [name for name, count in nulls.items() if count < frame.height]
    texts = [name for name in known if frame.schema[name] == pl.String and name != raw]
    plain = nothing_to_escape(frame, texts)
    if not known:
        return pl.repeat("{}", frame.height, dtype=pl.String, eager=True)
    if len(plain) < len(texts) or any(nulls[name] for name in known):
        kinds = {name: pl.String() if name in texts else pl.Int64() for name in known}
        return frame.select(json_object(kinds, plain=plain).alias("json")).to_series()
    parts, before = [], "{"
    for name in known:
        quote = '"' if name in plain else ""
        parts += [pl.lit(f'{before}"{name}":{quote}'), pl.col(name).cast(pl.String)]
        before = f"{quote},"
    return frame.select(pl.concat_str(*parts, pl.lit(f"{before[:-1]}}}")).alias("json")).to_series()


def json_object(
    columns: Mapping[str, pl.DataType | type[pl.DataType]], *, plain: frozenset[str] = frozenset()
) -> pl.Expr:
    """Write columns as one canonical JSON object a row: keys in order, nulls left out.

    Parameters
    ----------
    columns : mapping of column name to data type
        String columns are quoted; integers and booleans are written as they are.
    plain : frozenset of str
        String columns with nothing to escape in them, which is not looked for again.

    Examples
    --------
    >>> frame = pl.DataFrame({"pid": [7, None], "name": ["a", None]})
    >>> frame.select(json_object(dict(frame.schema)).alias("json"))["json"].to_list()
    ['{"name":"a","pid":7}', '{}']
    """
    parts = []
    for name in sorted(columns):
        if name in plain:
            parts.append(pl.concat_str(pl.lit(f'"{name}":"'), name, pl.lit('"')))
            continue
        written = json_text(pl.col(name)) if columns[name] == pl.String else pl.col(name).cast(pl.String)
        parts.append(pl.concat_str(pl.lit(f'"{name}":'), written))
    if not parts:
        return pl.lit("{}")
    return pl.concat_str(pl.lit("{"), pl.concat_str(parts, separator=",", ignore_nulls=True), pl.lit("}"))
