"""``nvidia-smi dmon`` and ``pmon``: ``# gpu  pwr gtemp`` over ``# Idx  W  C`` over rows of numbers.

No row holds a time, but with ``-o DT``. A ``-`` stands where there is no value; the header comes again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.gpu_monitor import Grammar, Header, screens
from workbench.readers.source import Source
from workbench.readers.text import matched_share

__all__ = ["READER"]

_HEADER = r"^\s*#\s*(?:Date\s+)?(?:Time\s+)?gpu\s+\S"
_UNITS = r"^\s*#\s*(?:YYYYMMDD\s+)?(?:HH:MM:SS\s+)?Idx\b"
_WHEN = {"date", "time"}
_PROCESS = {"pid": "pid", "type": "type", "command": "command"}
_INSTANCES = {"gi": "gpu_instance", "ci": "compute_instance"}
_OTHER = "no row of nvidia-smi dmon"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if matched_share(head, _HEADER) and matched_share(head, _UNITS):
        return Match(confidence=0.95, rule="'# gpu' over '# Idx', as nvidia-smi dmon prints it")
    return None


def _names(header: str) -> list[str]:
    return header.replace("#", " ", 1).lower().split()


def _headed(header: str, units: str) -> Header:
    names = _names(header)
    marks = units.replace("#", " ", 1).split()
    process = "pid" in names
    metrics, told, labels = {}, {}, {}
    for place, name in enumerate(names):
        if name in _WHEN or name == "gpu":
            continue
        if name in _PROCESS or name in _INSTANCES:
            labels[place] = _PROCESS.get(name) or _INSTANCES[name]
            continue
        metrics[place] = f"pmon.{name}" if process else f"dmon.{name}"
        mark = marks[place] if len(marks) == len(names) else ""
        if mark in ("MB", "GB", "KB"):
            told[place] = f"{mark[0]}iB"  # memory, which it counts in powers of two
        elif re.fullmatch(r"[A-Za-z%/]{1,5}", mark) and mark not in ("flag", "name", "errs", "bool"):
            told[place] = mark
    return Header(metrics=metrics, width=len(names), units=told, labels=labels, place=names.index("gpu"))


def _rows(lines: pl.DataFrame, header: Header) -> pl.DataFrame:
    last, place = header.width - 1, header.place
    cells = pl.col("text").str.strip_chars().str.replace_all(r"\s+", "\t").str.split("\t")
    found = lines.with_columns(cells=cells)
    if header.labels.get(last) == "command":  # it may hold spaces
        tail = pl.concat_list(pl.col("cells").list.slice(last).list.join(" "))
        long = pl.col("cells").list.len() > header.width
        found = found.with_columns(
            cells=pl.when(long).then(pl.col("cells").list.head(last).list.concat(tail)).otherwise("cells")
        )
    index = pl.col("cells").list.get(place, null_on_oob=True)
    pid = next((n for n, label in header.labels.items() if label == "pid"), None)
    return found.with_columns(
        stamp=_dated(pl.col("cells").list.head(place).list.join(" ")) if place else pl.lit(None, pl.String),
        part=pl.lit(None, pl.String) if pid is None else pl.col("cells").list.get(pid, null_on_oob=True),
        device_kind=pl.lit("gpu"),
        device=pl.when(index.str.contains(r"^\d{1,3}$")).then(index),
    )


def _dated(when: pl.Expr) -> pl.Expr:
    """Write ``20260714 08:12:53`` as ISO; a time without a date stays as it is, and is refused for that."""
    return when.str.replace(r"^(\d{4})(\d\d)(\d\d) ", "${1}-${2}-${3} ")


_GRAMMAR = Grammar(header=_HEADER, units=_UNITS, headed=_headed, rows=_rows, reason=_OTHER)


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return screens(source, context, _GRAMMAR)


READER = Reader(name="nvidia_smi_dmon", recognise=_recognise, read=_read)
