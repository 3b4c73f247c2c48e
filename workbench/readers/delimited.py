"""Lines of a delimited table as rows of cells: every line ends as a row, a skip or a reject.

Lines without quotes are counted and parted as columns; records that hold line breaks in quotes, and
lines whose quotes are odd, go one by one.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import polars as pl

from workbench.model import frames
from workbench.readers.cellgrid import Grid, table
from workbench.readers.dialect import Dialect, decoded
from workbench.readers.headeragain import OtherHeader
from workbench.readers.source import Block
from workbench.readers.text import UNTERMINATED, Seen, lines_of, rejected

__all__ = ["LARGE_BYTES", "Parsed", "Splitter"]

_TOTALS = "total|totals|sum|summe|gesamt|average|avg|mean|min|max|minimum|maximum|mittelwert|grand total"
_CLOSED = r'"(?:[^"]|"")*"'
#: A record in quotes that is longer than this is a stray quote, not a record.
_MOST_LINES = 1000
_MOST_TEXT = 1 << 20
#: A smaller block is not worth the compiled loops.
LARGE_BYTES = 1 << 20
_CAREFUL = (b'"', b"\r", b"\0")


@dataclass(eq=False, kw_only=True)
class Parsed:
    """Rows of a stretch of a file.

    Attributes
    ----------
    cells : polars.DataFrame
        String columns, by the names of the dialect.
    lines : polars.DataFrame
        ``line`` and ``text`` of each row.
    skips : Counter of rule
    rejects : polars.DataFrame
    notes : list of str
    grid : Grid or None
        In place of ``cells`` and ``lines``: the rows are where they were found.
    """

    cells: pl.DataFrame
    lines: pl.DataFrame
    skips: Counter[str] = field(default_factory=Counter)
    rejects: pl.DataFrame = field(default_factory=lambda: frames.empty(frames.REJECTS))
    notes: list[str] = field(default_factory=list)
    grid: Grid | None = None

    def taken_out(self) -> Parsed:
        """Give the same with ``cells`` and ``lines`` as columns."""
        if self.grid is None:
            return self
        cells = self.grid.frame(list(self.grid.names))
        return replace(self, cells=cells, lines=self.grid.line_frame(), grid=None)


class Splitter:
    r"""Parts the lines of one file.

    Parameters
    ----------
    dialect : Dialect
    ts : str or None
        Column of the time: a row that has a word such as ``Total`` in its place is no row.

    Examples
    --------
    >>> from workbench.model.context import Context
    >>> from workbench.readers.dialect import sniff
    >>> text = b'a,b\n1,"x\ny"\n\na,b\n1,2,3\n'
    >>> parsed = Splitter(sniff(text, Context())).take(Block(first_line=1, text=text, unterminated=False))
    >>> parsed.cells.rows(), dict(+parsed.skips)
    ([('1', 'x\ny')], {'header': 1, 'blank': 1, 'repeated header': 1, 'continuation': 1})
    >>> parsed.rejects.select("line", "reason").rows()
    [(6, '3 cells where the header has 2')]
    """

    def __init__(self, dialect: Dialect, *, ts: str | None = None) -> None:
        self._dialect = dialect
        self._ts = ts
        self._seen = Seen()
        self._open = pl.DataFrame(schema={"line": pl.Int64(), "text": pl.String()})
        self._latin = False
        self._cut: int | None = None
        self._other = OtherHeader(dialect.header_text, dialect.delimiter, ts)
        self._other_at: int | None = None

    def parts(self, block: Block) -> Iterator[Parsed]:
        """Part the next block as :meth:`take`, where it is large and plain without taking the cells out."""
        before, rest = self._behind_prelude(block)
        found = None
        if self._is_plain(rest) and not self._open.height and not self._has_other(rest):
            names, header = self._dialect.names, self._dialect.header_text
            mark = self._dialect.delimiter
            found = table(rest.text, rest.first_line, names, delimiter=mark, header=header)
        if found is None:
            yield self.take(block)
            return
        if before.text:
            yield self.take(before)
        for stretch in found:
            if stretch.grid is not None:
                yield self._new_rows(stretch.grid)
            else:
                yield self.take(Block(first_line=stretch.first_line, text=stretch.text, unterminated=False))

    def _behind_prelude(self, block: Block) -> tuple[Block, Block]:
        last = max(self._dialect.prelude, default=0)
        at = 0
        for _ in range(block.first_line, last + 1):
            at = block.text.find(b"\n", at) + 1
            if not at:
                return block, replace(block, text=b"")
        line = max(block.first_line, last + 1)
        return replace(block, text=block.text[:at]), replace(block, text=block.text[at:], first_line=line)

    def _has_other(self, block: Block) -> bool:
        return self._other_at is not None or self._other.may_be_in(block.text)

    def _is_plain(self, block: Block) -> bool:
        """Tell whether a block is large, and one line the one record without anything that needs care."""
        text, dialect = block.text, self._dialect
        if len(text) < LARGE_BYTES or block.unterminated or block.overlong or not text.endswith(b"\n"):
            return False
        if not dialect.delimiter.isascii() or not dialect.header_text or any(mark in text for mark in _CAREFUL):
            return False
        return text.isascii() or not decoded(text)[1]

    def _new_rows(self, grid: Grid) -> Parsed:
        """Leave out rows met before, and totals in the place of a time."""
        keep = self._seen.is_new(grid.line_texts())
        skips = Counter({"duplicate": int((~keep).sum())})
        if self._ts is not None:
            found = grid.distinct([self._ts])
            stamps = grid.cells(self._ts, None if found is None else found[1])
            word = _is_total(stamps)
            if word.any():
                rows = word if found is None else pl.Series(word.to_numpy()[found[0]])
                skips["total"] = int((rows & keep).sum())
                keep &= ~rows
        kept = grid if keep.all() else grid.filtered(keep)
        none = pl.DataFrame(schema={"line": pl.Int64(), "text": pl.String()})
        return Parsed(cells=pl.DataFrame(), lines=none, skips=skips, grid=kept if kept.height else None)

    def take(self, block: Block) -> Parsed:
        """Part the next block."""
        text, latin = decoded(block.text)
        found = lines_of(replace(block, text=text.encode() if latin else block.text, unterminated=False))
        parsed = self._parse(pl.concat([self._open, found.frame]), last=False)
        parsed.rejects = pl.concat([found.rejects, parsed.rejects])
        if latin and not self._latin:
            self._latin = True
            parsed.notes.append(
                f"text from line {block.first_line} on is not all UTF-8: such lines are read as Latin-1"
            )
        if block.unterminated:
            self._cut = block.first_line
            self._without_end(parsed, block.first_line)
        return parsed

    def finish(self) -> Parsed:
        """Give what a quote that never closes has held back."""
        parsed = self._parse(self._open, last=True)
        if self._cut is not None:
            self._without_end(parsed, self._cut)
        return parsed

    def _without_end(self, parsed: Parsed, line: int) -> None:
        """Reject a last line without a newline: a number cut short looks like a number."""
        cut = pl.col("line") == line
        parsed.rejects = parsed.rejects.with_columns(reason=pl.when(cut).then(pl.lit(UNTERMINATED)).otherwise("reason"))
        if parsed.cells.height and parsed.lines["line"][-1] + parsed.lines["text"][-1].count("\n") == line:
            more = parsed.lines["text"][-1].count("\n")
            parsed.skips["continuation"] -= more
            parsed.rejects = pl.concat([parsed.rejects, *[rejected(parsed.lines.tail(1), UNTERMINATED)] * (more + 1)])
            parsed.cells, parsed.lines = parsed.cells.head(-1), parsed.lines.head(-1)

    def _parse(self, frame: pl.DataFrame, *, last: bool) -> Parsed:
        skips: Counter[str] = Counter()
        frame = self._without_prelude(frame, skips)
        plain, joined = self._records(frame, last=last)
        plain, joined, behind = self._up_to_other(plain, joined, skips)
        plain = self._without_idle(plain, skips)
        dialect = self._dialect
        width = len(dialect.names)
        count = _cell_count(plain["text"], dialect.delimiter)
        fits = count == width
        if fits.all() and not joined.height:
            cells, ragged = self._cells(plain), frames.empty(frames.REJECTS)
        else:
            cells, ragged = self._mixed(plain, joined, (count, fits), skips)
        lines = cells.select(pl.col("@line").alias("line"), pl.col("@text").alias("text"))
        rejects = pl.concat([ragged, behind]) if behind.height else ragged
        parsed = Parsed(cells=cells.drop("@line", "@text"), lines=lines, skips=skips, rejects=rejects)
        return self._without_doubles(parsed)

    def _mixed(
        self, plain: pl.DataFrame, joined: pl.DataFrame, counted: tuple[pl.Series, pl.Series], skips: Counter[str]
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Part lines of which some end in a delimiter, are ragged, or go over several lines."""
        (count, fits), mark = counted, self._dialect.delimiter
        ends_open = (count == len(self._dialect.names) + 1) & plain["text"].str.ends_with(mark)
        trimmed = pl.when(ends_open).then(pl.col("text").str.strip_suffix(mark)).otherwise("text")
        plain = plain.with_columns(trimmed.alias("text"))
        whole = self._cells(plain.filter(fits | ends_open))
        odd = pl.concat([joined, plain.filter(~(fits | ends_open)).with_columns(lines=pl.lit(1, pl.Int64))])
        single, ragged = self._one_by_one(odd, skips)
        return (pl.concat([whole, single]).sort("@line") if single.height else whole), ragged

    def _without_prelude(self, frame: pl.DataFrame, skips: Counter[str]) -> pl.DataFrame:
        """Count what stands before the first row."""
        prelude = self._dialect.prelude
        if not frame.height or frame["line"][0] > max(prelude):
            return frame
        for line in frame["line"].filter(frame["line"] <= max(prelude)).to_list():
            skips[prelude.get(line, "preamble")] += 1
        return frame.filter(pl.col("line") > max(prelude))

    def _records(self, frame: pl.DataFrame, *, last: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Part single lines from records that go over several (``lines`` says how many)."""
        joined = pl.DataFrame(schema={"line": pl.Int64(), "text": pl.String(), "lines": pl.Int64()})
        self._open = frame.clear()
        odd = _open_lines(frame)
        if not odd:
            return frame, joined
        texts, first = frame["text"], 0
        numbers = frame["line"].to_list()
        records: list[tuple[int, str, int]] = []
        taken: set[int] = set()
        while first < len(odd):
            start = odd[first]
            stop = odd[first + 1] if first + 1 < len(odd) else None
            if stop is None:
                if not last and frame.height - start <= _MOST_LINES:
                    self._open = frame.slice(start)
                break
            text = "\n".join(texts.slice(start, stop - start + 1).to_list()) if stop - start < _MOST_LINES else ""
            if text and len(text) <= _MOST_TEXT and self._row(text) is not None:
                records.append((numbers[start], text, stop - start + 1))
                taken.update(range(start, stop + 1))
                first += 2
            else:
                first += 1
        held = self._open.height
        rest = frame.head(frame.height - held) if held else frame
        if taken:
            rest = rest.filter(~pl.Series(range(rest.height)).is_in(sorted(taken)))
        return rest, pl.DataFrame(records, schema=joined.schema, orient="row")

    def _up_to_other(
        self, plain: pl.DataFrame, joined: pl.DataFrame, skips: Counter[str]
    ) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        """Give what stands above a header with other columns, and that header and all below it as rejects."""
        if self._other_at is None and (place := self._other.first(plain["text"])) is not None:
            self._other_at = plain["line"][place]
        if self._other_at is None:
            return plain, joined, frames.empty(frames.REJECTS)
        below = pl.col("line") >= self._other_at
        blank = plain["text"].str.strip_chars(f" \t{self._dialect.delimiter}") == ""
        odd, lost = plain.filter(below & ~blank), joined.filter(below)
        skips["blank"] += plain.filter(below & blank).height
        skips["continuation"] += int((lost["lines"] - 1).sum())
        told = rejected(pl.concat([odd, lost.drop("lines")]).sort("line"), self._other.reason(self._other_at))
        return plain.filter(~below), joined.filter(~below), told

    def _without_idle(self, frame: pl.DataFrame, skips: Counter[str]) -> pl.DataFrame:
        """Count blank lines, comments and the header said again."""
        delimiter, header = self._dialect.delimiter, self._dialect.header_text
        text = frame["text"]
        # Few lines begin like one of these: only they are looked at closely.
        starts = [text.str.starts_with(mark) for mark in (" ", "\t", "#", delimiter, header[:12])]
        suspects = (text == "") | starts[0] | starts[1] | starts[2] | starts[3] | starts[4]
        if not suspects.any():
            return frame
        near = text.filter(suspects)
        trimmed = near.str.strip_chars()
        blank = near.str.strip_chars(f" \t{delimiter}") == ""
        again = (trimmed == header) & ~blank
        few = _cell_count(near, delimiter) != len(self._dialect.names)
        comment = near.str.starts_with("#") & few & ~again & ~blank
        skips["blank"] += int(blank.sum())
        skips["repeated header"] += int(again.sum())
        skips["comment"] += int(comment.sum())
        idle = suspects.clone()
        idle[suspects.arg_true()] = blank | again | comment
        return frame.filter(~idle)

    def _cells(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Part lines that have the right number of cells."""
        names = self._dialect.names
        if not frame.height:
            return pl.DataFrame(schema={**dict.fromkeys(names, pl.String()), "@line": pl.Int64(), "@text": pl.String()})
        quoted = _has_quote(frame["text"])
        cells = pl.read_csv(
            frame["text"].str.join("\n").item().encode(),
            has_header=False,
            separator=self._dialect.delimiter,
            quote_char='"' if quoted else None,
            schema=dict.fromkeys(names, pl.String()),
            infer_schema=False,
        )
        return cells.with_columns(frame["line"].alias("@line"), frame["text"].alias("@text"))

    def _one_by_one(self, frame: pl.DataFrame, skips: Counter[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Part records that need the csv module; what has another number of cells is rejected."""
        delimiter, width = self._dialect.delimiter, len(self._dialect.names)
        rows, wrong = [], []
        total = re.compile(
            rf'[\s"{re.escape(delimiter)}]*(?:{_TOTALS})[\s":]*(?:{re.escape(delimiter)}.*|$)', re.IGNORECASE
        )
        for line, text, count in frame.select("line", "text", "lines").iter_rows():
            row = self._row(text)
            skips["continuation"] += count - 1
            if row is not None:
                rows.append((*row, line, text))
            elif total.match(text):
                skips["total"] += 1
            else:
                found = len(_split(text, delimiter))
                wrong.append((line, f"{found} cells where the header has {width}", text[:2000], None))
        schema = {**dict.fromkeys(self._dialect.names, pl.String()), "@line": pl.Int64(), "@text": pl.String()}
        cells = pl.DataFrame(rows, schema=schema, orient="row")
        return cells, pl.DataFrame(wrong, schema=frames.REJECTS, orient="row")

    def _row(self, text: str) -> list[str] | None:
        row, width = _split(text, self._dialect.delimiter), len(self._dialect.names)
        if len(row) == width + 1 and not row[-1]:
            row.pop()
        return row if len(row) == width else None

    def _without_doubles(self, parsed: Parsed) -> Parsed:
        """Count rows met before, and totals in the place of a time."""
        if not parsed.cells.height:
            return parsed
        keep = self._seen.is_new(parsed.lines["text"])
        parsed.skips["duplicate"] += int((~keep).sum())
        if self._ts is not None:
            word = _is_total(parsed.cells[self._ts])
            parsed.skips["total"] += int((word & keep).sum())
            keep &= ~word
        if not keep.all():
            parsed.cells, parsed.lines = parsed.cells.filter(keep), parsed.lines.filter(keep)
        return parsed


def _split(text: str, delimiter: str) -> list[str]:
    try:
        rows = list(
            csv.reader(
                text.split("\n") if "\n" not in text else [text + "\n"], delimiter=delimiter, skipinitialspace=True
            )
        )
    except csv.Error:
        rows = []
    return rows[0] if len(rows) == 1 else text.split(delimiter)


def _is_total(cells: pl.Series) -> pl.Series:
    return cells.str.strip_chars(' ":').str.contains(rf"(?i)^(?:{_TOTALS})$").fill_null(value=False)


def _cell_count(text: pl.Series, delimiter: str) -> pl.Series:
    """Count the cells of lines; 0 where the quotes are not those of CSV."""
    if not _has_quote(text):
        return text.str.count_matches(delimiter, literal=True) + 1
    mark = re.escape(delimiter)
    field_ = rf'(?:[^"{mark}]*|{_CLOSED})'
    proper = text.str.contains(rf"(?s)^{field_}(?:{mark}{field_})*$")
    count = text.str.replace_all(_CLOSED, "").str.count_matches(delimiter, literal=True) + 1
    return pl.select(pl.when(proper).then(count).otherwise(0)).to_series()


def _open_lines(frame: pl.DataFrame) -> list[int]:
    """Give the rows whose quotes do not close in the line."""
    if not _has_quote(frame["text"]):
        return []
    odd = frame["text"].str.count_matches('"', literal=True) % 2 == 1
    return odd.arg_true().to_list()


def _has_quote(text: pl.Series) -> bool:
    return bool(text.str.contains('"', literal=True).any())
