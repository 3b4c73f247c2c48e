"""Text dumps of tools, read line by line, block by block, into :class:`workbench.readers.told.Told`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from workbench.model.batch import Batch
from workbench.readers.source import Source, damage_batches
from workbench.readers.text import lines_of
from workbench.readers.told import Told

__all__ = ["HOST_MISSING", "LineMachine", "line_batches"]

HOST_MISSING = "the dump does not name its host: state host for this file in a mapping (--map)"


class LineMachine(Protocol):
    """What is known of a text dump from line to line; each line is counted once, now or later."""

    def line(self, number: int, text: str, told: Told) -> None:
        """Take the next whole line."""

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell what waited for the end; ``cut``: a last line without a newline was rejected."""


def line_batches(source: Source, machine: LineMachine, *, longest: int | None = None) -> Iterator[Batch]:
    r"""Feed the lines of a file to a machine; what may be cut or has no end is rejected here.

    Parameters
    ----------
    source : Source
    machine : LineMachine
    longest : int, optional
        Lines of more characters are no lines of this format, and are rejected before anything
        looks at them: patterns cost by the square of what they nearly match.

    Examples
    --------
    >>> import io
    >>> class Rows:
    ...     def line(self, number, text, told):
    ...         told.row()
    ...     def end(self, told, *, cut):
    ...         told.note(f"cut: {cut}")
    >>> batches = list(line_batches(Source(io.BytesIO(b"a\nb\nc")), Rows()))
    >>> sum(batch.rows for batch in batches), sum(batch.records for batch in batches), batches[-1].notes
    (2, 3, ('cut: True',))
    """
    told, cut = Told(), False
    for block in source.blocks():
        lines = lines_of(block)
        cut |= block.unterminated
        for number, reason, text, _ in lines.rejects.iter_rows():
            told.reject(number, reason, text)
        for number, text in lines.frame.iter_rows():
            if longest is not None and len(text) > longest:
                told.reject(number, f"line is longer than {longest} characters: none of this format is", text)
            else:
                machine.line(number, text, told)
        yield told.batch()
    machine.end(told, cut=cut or source.damage is not None)
    yield told.batch()
    yield from damage_batches(source)
