"""What a reader is: a name, a test of the first bytes, and a function from a source to batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.source import Source

__all__ = ["Match", "Reader"]


@dataclass(frozen=True, kw_only=True)
class Match:
    """How sure a reader is that a file is of its format, and by which rule.

    Attributes
    ----------
    confidence : float
        0 to 1. 0.9: an unmistakable signature. 0.5: likely. Below 0.3: a fallback.
    rule : str
        What was seen, in words for the ingest report.
    """

    confidence: float
    rule: str


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One format.

    Attributes
    ----------
    name : str
        Such as ``prometheus_text``; also the name of the folder in ``data_samples/``.
    recognise : callable
        ``(head, context) -> Match | None``; ``head`` is up to 64 KiB of the decompressed content.
    read : callable
        ``(source, context) -> iterator of Batch``: bounded batches (at most about 64 MiB of text
        each) whose records add up to those of the file; what it says must not depend on where the
        blocks of the source end. Bad data are rejects; nothing is raised for the content of a
        file. After the last block it yields from ``damage_batches(source)``: what a cut or corrupt
        stream lost is one more record, rejected. A last line without a newline may be cut, and is
        rejected too.
    """

    name: str
    recognise: Callable[[bytes, Context], Match | None]
    read: Callable[[Source, Context], Iterator[Batch]]
