"""``dcgmi dmon``: ``#Entity  POWER  TMPTR`` over rows such as ``GPU 0  600.000  58``.

No row holds a time, unless each line was stamped on its way into the file. Entities have spaces
(``GPU 1 LINK 3``, ``GPU-CI 0``, ``Switch 0``); widths change; the header comes again every screen.
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

_HEADER = r"#\s*Entity\b"
_UNITS = r"^(?:\S+(?: \S+)?\s+)?I[Dd]\s*$|^(?:\S+(?: \S+)?\s+)??I[Dd]\s{2,}[^\d\s]"
_ENTITY = r"(?:GPU-CI|GPU-I|GPU|Switch|NvSwitch|CPU|Core|ConnectX)\s+\d{1,5}(?:\s+(?i:LINK)\s+\d{1,3})?"
_ROW = rf"^(?:(?P<stamp>\S.*?\d\S*)\s+)?(?P<entity>{_ENTITY})(?P<rest>\s.*)$"
_KINDS = {
    "gpu": "gpu", "gpu-i": "gpu_instance", "gpu-ci": "compute_instance", "switch": "nvswitch", "nvswitch": "nvswitch",
    "cpu": "cpu", "core": "core", "connectx": "nic",
}  # fmt: skip
_TOKEN = re.compile(r"\S+")


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if matched_share(head, _HEADER) and matched_share(head, _ROW):
        return Match(confidence=0.95, rule="'#Entity' over rows of GPUs, as dcgmi dmon prints them")
    if re.match(rb"(?:\xef\xbb\xbf)?\s*#Entity +\S", head):
        return Match(confidence=0.8, rule="'#Entity', as dcgmi dmon prints it")
    return None


def _headed(header: str, units: str) -> Header:
    """Lay the units under the names by their place in the line."""
    shift = header.index("Entity") + len("Entity")
    tokens = list(_TOKEN.finditer(header, shift))
    starts = [found.start() for found in tokens]
    told: dict[int, str] = {}
    first = re.search(r"I[Dd]\b", units)
    for found in _TOKEN.finditer(units, first.end() if first else 0):
        below = [place for place, start in enumerate(starts) if start <= found.start()]
        if below and found[0] != "#":
            told[below[-1]] = found[0]
    metrics = {place: f"dcgmi.{found[0]}" for place, found in enumerate(tokens)}
    return Header(metrics=metrics, width=len(tokens), units=told)


def _rows(lines: pl.DataFrame, header: Header) -> pl.DataFrame:
    parts = lines.with_columns(pl.col("text").str.extract_groups(_ROW).struct.unnest())
    rest = pl.col("rest").str.strip_chars()
    wide, narrow = (rest.str.replace_all(gap, "\t").str.split("\t") for gap in (r"\s{2,}", r"\s+"))
    kind = pl.col("entity").str.extract(r"^(\S+)").str.to_lowercase().replace_strict(_KINDS, default=None)
    number, link = pl.col("entity").str.extract(r"\s(\d+)"), pl.col("entity").str.extract(r"(?i)LINK\s+(\d+)$")
    # Slices are numbered over all GPUs of the host: the number alone would be taken for one inside a GPU.
    name = (
        pl.when(kind.is_in(["gpu_instance", "compute_instance"]))
        .then(pl.concat_str(pl.lit("dcgm-"), number))
        .otherwise(number)
    )
    of_switch = link.is_not_null() & (kind == "nvswitch")
    return parts.with_columns(
        cells=pl.when(wide.list.len() == header.width).then(wide).otherwise(narrow),
        part=pl.lit(None, pl.String),
        device_kind=pl.when(link.is_null())
        .then(kind)
        .when(of_switch)
        .then(pl.lit("switch_link"))
        .otherwise(pl.lit("link")),
        device=pl.when(link.is_null()).then(name).otherwise(pl.concat_str(number, pl.lit(":"), link)),
    )


_GRAMMAR = Grammar(
    header=_HEADER, units=_UNITS, headed=_headed, rows=_rows, reason="no entity as dcgmi dmon names them"
)


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return screens(source, context, _GRAMMAR)


READER = Reader(name="dcgmi_dmon", recognise=_recognise, read=_read)
