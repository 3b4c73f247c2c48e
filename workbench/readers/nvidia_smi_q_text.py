"""``nvidia-smi -q``: a tree by indentation, one block a GPU; and the table that ``nvidia-smi`` prints.

One key stands at many depths (``Total`` of FB, BAR1, ...), so fields are told by their path:
``FB Memory Usage/Used``. The time is local.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.gpu_tree import Tree
from workbench.readers.smi_stamp import iso_stamp
from workbench.readers.smi_table import Table
from workbench.readers.source import Source
from workbench.readers.text import matched_share
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING, line_batches
from workbench.readers.toldtimes import Waiting

__all__ = ["READER"]

_BANNER = r"^=+NVSMI LOG=+\s*$"
_TABLE = r"^\| NVIDIA-SMI \S+ +(?:Driver Version|KMD Version)"
_GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*")
_HEAD = re.compile(r"(Timestamp|Driver Version|CUDA Version|CUDA UMD Version|Attached GPUs)\s*: ?(.*)")
_FIELD = re.compile(r"( +)(\S.*?)(?:\s*: ?(.*))?")
_KEYED = re.compile(r"( +)(\S.*?)\s+: ?(.*)")
_ASIDE = frozenset({"Processes", "Supported Clocks", "Accounted Processes"})
_SLICE = "MIG Device"
_CUT = "the block of this GPU is cut: its UUID does not stand in it"
_OTHER = "no line of nvidia-smi -q"
_DEEPEST = 12
_AT_ONCE = 2000  # GPUs that wait for their times


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if matched_share(head, _BANNER):
        return Match(confidence=0.95, rule="'NVSMI LOG', as nvidia-smi -q prints it")
    if matched_share(head, _TABLE):
        return Match(confidence=0.95, rule="the table that nvidia-smi prints")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return line_batches(source, _Log(context))


@dataclass(eq=False)
class _Log:
    """What is known from line to line."""

    context: Context
    _waiting: Waiting = field(init=False)
    _table: Table = field(init=False)
    _head: dict[str, str] = field(default_factory=dict)
    _gpus: list[tuple[Tree, str, int]] = field(default_factory=list)  # with heading, and further lines
    _path: list[tuple[int, str]] = field(default_factory=list)
    _inside: bool = False

    def __post_init__(self) -> None:
        self._waiting = Waiting(self.context)
        self._table = Table(self.context, self._waiting)

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
        elif re.match(_BANNER, text):
            self._finish(told)
            self._inside = True
            told.skip("banner")
        elif self._table.line(number, text, told):
            self._inside = False
        elif self._inside and (found := _HEAD.fullmatch(text)):
            if found[1] == "Timestamp" and "Timestamp" in self._head:  # a dump of -l has its banner once
                self._finish(told)
                self._inside = True
            self._head[found[1]] = found[2].strip()
            told.skip("metadata")
        elif self._inside and (found := _GPU.fullmatch(text)):
            self._gpus.append((Tree(line=number, pci=found[1]), text, 0))
            self._path = []
        elif self._gpus and (parts := _KEYED.fullmatch(text) or _FIELD.fullmatch(text)):
            self._field(*parts.groups())
        else:
            told.reject(number, _OTHER, text)

    def _field(self, indent: str, key: str, cell: str | None) -> None:
        tree, heading, lines = self._gpus[-1]
        self._gpus[-1] = (tree, heading, lines + 1)
        while self._path and self._path[-1][0] >= len(indent):
            self._path.pop()
        if len(self._path) < _DEEPEST:
            self._path.append((len(indent), key.strip()))
        names = [name for _, name in self._path]
        if names == [_SLICE]:
            tree.slices.append([])
        if cell is None:
            return
        if names[0] in _ASIDE:
            tree.aside.append(("/".join(names), cell))
        elif names[0] == _SLICE and tree.slices:
            tree.slices[-1].append(("/".join(names[1:]), cell))
        else:
            tree.leaves.append(("/".join(names), cell))

    def _finish(self, told: Told) -> None:
        """Let the GPUs of a dump wait for their time."""
        attached = int(self._head["Attached GPUs"]) if self._head.get("Attached GPUs", "").isdigit() else None
        stamp = iso_stamp(self._head.get("Timestamp", ""))
        for place, (tree, heading, lines) in enumerate(self._gpus):
            told.skip("continuation", lines)
            tree.driver = self._head.get("Driver Version", "")
            tree.index = place if attached == len(self._gpus) else None
            if self.context.host is None:
                told.reject(tree.line, HOST_MISSING, heading, curable="host")
            elif "uuid" not in tree.facts().known and not any(name == "GPU UUID" for name, _ in tree.leaves):
                told.reject(tree.line, _CUT, heading)
            else:
                self._waiting.add(tree.line, stamp, heading, tell=partial(tree.tell, told, self.context.host))
        self._head, self._gpus, self._path, self._inside = {}, [], [], False
        if self._waiting.count > _AT_ONCE:
            self._waiting.tell(told)

    def end(self, told: Told, *, cut: bool) -> None:
        """Tell what waits; a cut dump lists fewer GPUs than there were."""
        attached, listed = self._head.get("Attached GPUs", ""), len(self._gpus)
        if not cut and attached.isdigit() and 0 < listed < int(attached):
            told.note(f"the last dump lists {listed} GPUs of {attached}: it is cut, or the others are lost")
        self._finish(told)
        self._table.end(told)
        self._waiting.tell(told)


READER = Reader(name="nvidia_smi_q_text", recognise=_recognise, read=_read)
