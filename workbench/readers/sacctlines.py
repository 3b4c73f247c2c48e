"""Lines of ``sacct --parsable2`` as records: no quotes, a delimiter of one or more characters.

A field may hold line breaks. Lines that have too few delimiters are joined until they have as many
as the header; where a whole record comes before that, they are rejected.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from workbench.model import frames
from workbench.readers.dialect import decoded
from workbench.readers.source import Block
from workbench.readers.text import UNTERMINATED, Seen, lines_of, rejected

__all__ = ["Header", "Records", "SacctSplitter", "header_of"]

#: Fields that sacct can print, as far as they tell a dump of it from another table.
_FIELDS = frozenset(
    {
        "account", "admincomment", "alloccpus", "allocnodes", "alloctres", "associd", "avecpu", "averss", "avevmsize",
        "blockid", "cluster", "comment", "constraints", "consumedenergy", "container", "cputime", "cputimeraw", "dbindex",
        "derivedexitcode", "elapsed", "elapsedraw", "eligible", "end", "exitcode", "extra", "failednode", "flags",
        "gid", "group", "jobid", "jobidraw", "jobname", "layout", "licenses", "maxrss", "maxvmsize",
        "maxdiskread", "maxdiskwrite", "mcslabel", "mincpu", "ncpus", "nnodes", "nodelist", "ntasks", "partition",
        "planned", "plannedcpu", "priority", "qos", "qosraw", "reason", "reqcpus", "reqmem", "reqnodes",
        "reqtres", "reservation", "reservationid", "reserved", "restarts", "resvcpu", "start", "state", "submit",
        "submitline", "suspended", "systemcomment", "systemcpu", "timelimit", "timelimitraw", "totalcpu", "uid", "user",
        "usercpu", "wckey", "wckeyid", "workdir",
    }
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_CELL = "\x1f"
_WHOLE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_STATES = (
    "COMPLETED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "REQUEUED",
)
_MOST_LINES = 1000


@dataclass(frozen=True, kw_only=True)
class Header:
    """Names and delimiter of a dump.

    Attributes
    ----------
    names : tuple of str
        In lower case.
    delimiter : str
    text : str
        The header line.
    line : int
        1-based.
    """

    names: tuple[str, ...]
    delimiter: str
    text: str
    line: int


@dataclass(eq=False, kw_only=True)
class Records:
    """Records of a stretch of a dump.

    Attributes
    ----------
    cells : polars.DataFrame
        The wanted columns, by name.
    lines : polars.DataFrame
        ``line`` and ``text`` of each record.
    skips : Counter of rule
    rejects : polars.DataFrame
    notes : list of str
    """

    cells: pl.DataFrame
    lines: pl.DataFrame
    skips: Counter[str]
    rejects: pl.DataFrame
    notes: list[str]


def header_of(head: bytes) -> Header | None:
    r"""Find the header among the first lines; None where it is no dump of sacct.

    Examples
    --------
    >>> header_of(b"JobID|#State|#End\n").delimiter, header_of(b"job|state|end\n") is None
    ('|#', True)
    """
    lines = decoded(head.removeprefix(b"\xef\xbb\xbf"))[0].splitlines()[:20]
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        names = tuple(name.lower() for name in _NAME.findall(text))
        marks = set(_NAME.split(text)[1:-1])
        ends = _NAME.split(text)[-1:]
        known = sum(name in _FIELDS for name in names)
        if len(marks) == 1 and {"jobid", "jobidraw"} & set(names) and known >= max(2, len(names) // 2):
            mark = marks.pop()
            if mark.strip() and ends[0] in {"", mark}:
                return Header(names=names, delimiter=mark, text=text, line=number)
    return None


class SacctSplitter:
    r"""Parts the lines of one dump.

    Parameters
    ----------
    header : Header
    wanted : sequence of str
        Columns to keep.

    Examples
    --------
    >>> text = b"JobID|State|Comment\n1|FAILED|a\n2|FAI\nLED|b\n3|x\n4|COMPLETED|c\n"
    >>> parsed = SacctSplitter(header_of(text), ["jobid", "state"]).take(Block(first_line=1, text=text, unterminated=False))
    >>> parsed.cells.rows(), dict(+parsed.skips), parsed.rejects["line"].to_list()
    ([('1', 'FAILED'), ('2', 'FAI LED'), ('4', 'COMPLETED')], {'header': 1, 'continuation': 1}, [5])
    """

    def __init__(self, header: Header, wanted: Sequence[str]) -> None:
        self._header = header
        self._wanted = [name for name in dict.fromkeys(wanted) if name in header.names]
        self._seen = Seen()
        self._open = pl.DataFrame(schema={"line": pl.Int64(), "text": pl.String()})
        self._latin = False
        self._other_at: int | None = None  # where a header with other columns stands

    def take(self, block: Block) -> Records:
        """Part the next block."""
        text, latin = decoded(block.text)
        found = lines_of(replace(block, text=text.encode() if latin else block.text, unterminated=False))
        alone = not (latin or block.unterminated or found.rejects.height or self._open.height)
        alone = alone and self._other_at is None and not any(map(self._is_other, _with_ident(block.text)))
        records = self._at_once(block.text, found.frame) if alone else None
        if records is None:
            records = self._parse(pl.concat([self._open, found.frame]), last=block.unterminated)
        records.rejects = pl.concat([found.rejects, records.rejects])
        if latin and not self._latin:
            self._latin = True
            records.notes.append(
                f"text from line {block.first_line} on is not all UTF-8: such lines are read as Latin-1"
            )
        if block.unterminated:
            self._judge_end(records, block.first_line)
        return records

    def finish(self) -> Records:
        """Give what waits for more delimiters that never came."""
        return self._parse(self._open, last=True)

    def _judge_end(self, records: Records, line: int) -> None:
        """Reject a last line without a newline, unless its last field shows that it is whole, or is not used."""
        if not records.lines.height:
            return
        at, text = records.lines.row(-1)
        name, last = self._header.names[-1], text.rpartition(self._header.delimiter)[2]
        # A last field that repeats an earlier one (sacct prints End twice if asked) is not used.
        unused = name not in self._wanted or self._header.names.index(name) < len(self._header.names) - 1
        whole = _WHOLE_TIME.fullmatch(last) or (name == "state" and last in _STATES)
        if at + text.count("\n") != line or unused or whole:
            return
        more = text.count("\n")
        records.skips["continuation"] -= more
        records.rejects = pl.concat([records.rejects, *[rejected(records.lines.tail(1), UNTERMINATED)] * (more + 1)])
        records.cells, records.lines = records.cells.head(-1), records.lines.head(-1)

    def _at_once(self, text: bytes, frame: pl.DataFrame) -> Records | None:
        """Part lines that are one record each, all in one form; None where they are not."""
        above = max(0, self._header.line - int(frame["line"][0]) + 1) if frame.height else 0
        if above >= frame.height or (above and not self._is_header(frame["text"][above - 1 : above]).item()):
            return None
        start = 0
        for _ in range(above):
            start = text.index(b"\n", start) + 1
        lines = frame.slice(above)
        cells = self._table(text[start:] if start else text, lines.height)
        if cells is None:
            return None
        skips = _preamble(frame["text"].head(max(above - 1, 0)))
        skips["header"] = int(above > 0)
        new = self._seen.is_new(lines["text"])
        if not new.all():
            skips["duplicate"] = int((~new).sum())
            cells, lines = cells.filter(new), lines.filter(new)
        return Records(cells=cells, lines=lines, skips=skips, rejects=frames.empty(frames.REJECTS), notes=[])

    def _table(self, text: bytes, height: int) -> pl.DataFrame | None:
        """Read lines as a table; None unless each is a whole record with as many delimiters as the others."""
        names, mark = self._header.names, self._header.delimiter.encode()
        if len(mark) != 1 or any(odd in text for odd in (b"\r", b"\0", _CELL.encode())):
            return None
        marks = int(np.count_nonzero(np.frombuffer(text, np.uint8) == mark[0]))
        width = marks // height + 1
        if marks != (width - 1) * height or width - len(names) not in (0, 1):
            return None
        columns = [f"column_{place + 1}" for place in range(width)]
        try:  # a line with more delimiters than these raises; so does what the average hides
            cells = pl.read_csv(
                text,
                has_header=False,
                separator=self._header.delimiter,
                quote_char=None,
                infer_schema=False,
                schema=dict.fromkeys(columns, pl.String()),
            )
        except pl.exceptions.PolarsError:
            return None
        if cells.height != height or (width > len(names) and cells[columns[-1]].null_count() < height):
            return None
        places = {name: names.index(name) for name in self._wanted}
        ident = "jobid" if "jobid" in places else "jobidraw"
        said = self._header.text.split(self._header.delimiter)[places[ident]]
        if cells[columns[places[ident]]].str.contains(said, literal=True).any():
            return None  # perhaps the header again
        return cells.select(pl.col(columns[place]).alias(name) for name, place in places.items())

    def _is_header(self, text: pl.Series) -> pl.Series:
        return text.str.strip_chars() == self._header.text

    def _is_other(self, line: str) -> bool:
        found = header_of(line.encode())
        return found is not None and (found.names, found.delimiter) != (self._header.names, self._header.delimiter)

    def _up_to_other(self, frame: pl.DataFrame, skips: Counter[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Give what stands above a header with other columns, and that header and all below it as rejects."""
        if self._other_at is None:
            near = frame.filter(pl.col("text").str.contains("JobID", literal=True))
            self._other_at = next((line for line, text in near.iter_rows() if self._is_other(text)), None)
        if self._other_at is None:
            return frame, frames.empty(frames.REJECTS)
        below = frame.filter(pl.col("line") >= self._other_at)
        blank = below["text"].str.strip_chars() == ""
        skips["blank"] += int(blank.sum())
        reason = f"another header stands at line {self._other_at}, with other columns: split the file there"
        return frame.filter(pl.col("line") < self._other_at), rejected(below.filter(~blank), reason)

    def _parse(self, frame: pl.DataFrame, *, last: bool) -> Records:
        before = frame["line"] < self._header.line
        skips = _preamble(frame["text"].filter(before))
        frame, behind = self._up_to_other(frame.filter(~before), skips)
        last = last or self._other_at is not None
        again = self._is_header(frame["text"])
        first = again & (frame["line"] == self._header.line)
        skips["header"] += int(first.sum())
        skips["repeated header"] += int((again & ~first).sum())
        records, rejects = self._records(frame.filter(~again), skips, last=last)
        new = self._seen.is_new(records["text"])
        skips["duplicate"] += int((~new).sum())
        records = records.filter(new)
        rejects = pl.concat([rejects, behind]) if behind.height else rejects
        return Records(cells=self._cells(records["text"]), lines=records, skips=skips, rejects=rejects, notes=[])

    def _records(self, frame: pl.DataFrame, skips: Counter[str], *, last: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Join lines to records; lines that make none are rejected, an unfinished end is kept open."""
        need = len(self._header.names) - 1
        count = frame["text"].str.count_matches(self._header.delimiter, literal=True).cast(pl.Int64)
        trailing = (count == need + 1) & frame["text"].str.ends_with(self._header.delimiter)
        whole = (count == need) | trailing
        self._open = frame.clear()
        if whole.all():
            return frame, frames.empty(frames.REJECTS)
        counts, full, texts, numbers = (
            count.to_list(),
            whole.to_list(),
            frame["text"].to_list(),
            frame["line"].to_list(),
        )
        joined: list[tuple[int, str]] = []
        wrong: list[int] = []
        used: set[int] = set()
        for start in [index for index, fits in enumerate(full) if not fits]:
            if start in used:
                continue
            stop = _joined(counts, full, start, need) if texts[start].strip() else None
            if not texts[start].strip():
                used.add(start)
                skips["blank"] += 1
            elif stop is None and not last and frame.height - start < _MOST_LINES and not any(full[start:]):
                self._open = frame.slice(start)
                used.update(range(start, frame.height))
            elif stop is None:
                used.add(start)
                wrong.append(start)
            else:
                joined.append((numbers[start], "\n".join(texts[start : stop + 1])))
                used.update(range(start, stop + 1))
                skips["continuation"] += stop - start
        rejects = self._ragged(frame[wrong], [counts[index] for index in wrong])
        more = pl.DataFrame(joined, schema=frame.schema, orient="row")
        return pl.concat([frame.filter(whole), more]).sort("line"), rejects

    def _ragged(self, lines: pl.DataFrame, counts: list[int]) -> pl.DataFrame:
        width = len(self._header.names)
        advice = "a field holds the delimiter or a line break: export with --delimiter"
        reasons = pl.Series(
            [f"{count + 1} fields where the header has {width}; {advice}" for count in counts], dtype=pl.String
        )
        told = rejected(lines, "")
        return told.with_columns(reasons.alias("reason")) if counts else told

    def _cells(self, text: pl.Series) -> pl.DataFrame:
        names = list(self._header.names)
        places = [names.index(name) for name in self._wanted]
        if not text.len():
            return pl.DataFrame(schema=dict.fromkeys(self._wanted, pl.String()))
        plain = text.str.replace_all(r"[\n\x1f]", " ").str.replace_all(self._header.delimiter, _CELL, literal=True)
        plain = plain.str.strip_suffix(_CELL) if len(names) == 1 else plain
        cells = pl.read_csv(
            "\n".join(plain.to_list()).encode(),
            has_header=False,
            separator=_CELL,
            quote_char=None,
            infer_schema=False,
            columns=sorted(places),
            truncate_ragged_lines=True,
        )
        cells.columns = [names[place] for place in sorted(places)]
        return cells.select(self._wanted)


def _with_ident(text: bytes) -> Iterator[str]:
    """Give the lines that could be a header: those that hold the name that every header has."""
    at = text.find(b"JobID")
    while at >= 0:
        stop = text.find(b"\n", at)
        stop = len(text) if stop < 0 else stop
        yield text[text.rfind(b"\n", 0, at) + 1 : stop].decode()
        at = text.find(b"JobID", stop)


def _preamble(text: pl.Series) -> Counter[str]:
    """Count the lines before the header."""
    blank = int((text.str.strip_chars() == "").sum())
    return Counter({"blank": blank, "preamble": text.len() - blank})


def _joined(counts: list[int], full: list[bool], start: int, need: int) -> int | None:
    """Give the line that completes the record begun at ``start``; None where a whole one comes first."""
    have = counts[start]
    for stop in range(start + 1, min(len(counts), start + _MOST_LINES)):
        have += counts[stop]
        if full[stop] or have > need:
            return None
        if have == need:
            return stop
    return None
