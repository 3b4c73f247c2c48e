"""``nvidia-smi nvlink``: ``-s`` (speed), ``-e`` (errors), ``-gt`` (bytes), ``-p`` (the other end), ``-R``.

``GPU 0: name (UUID: ...)`` heads lines such as ``Link 0: Replay Errors: 0``; several links may stand in
one line (``Links 0-2, 4-5: No errors``). No line holds a time. A count of CRC errors sticks at 65535.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.model.pci import normal_pci
from workbench.readers.base import Match, Reader
from workbench.readers.gpu_cells import LOST
from workbench.readers.graph import Node
from workbench.readers.source import Source
from workbench.readers.text import matched_share
from workbench.readers.told import TAKEN_AT_MISSING, Told
from workbench.readers.toldlines import HOST_MISSING, line_batches

__all__ = ["READER"]

_HOST = r"(?:(?P<host>[A-Za-z][\w.-]{0,200}): )?\s*"
_GPU = re.compile(
    rf"{_HOST}GPU (?P<index>\d{{1,3}}): (?P<model>.+?)(?: \(UUID: (?P<uuid>[A-Za-z]+-[0-9A-Fa-f-]+)\))?\s*"
)
_LINK = re.compile(rf"{_HOST}Links? (?P<links>\d{{1,3}}(?:\s*[-,]\s*\d{{1,3}})*)\s*[:,]\s*(?P<rest>.*?)\s*")
_SPEED = re.compile(r"(\d+(?:\.\d+)?) ([KMGT]i?B/s)")
_COUNT = re.compile(r"([A-Za-z][\w ./()-]{0,60}?):?\s+(\d{1,20})(?: ([KMGT]i?B(?:ytes)?|KBytes|flits))?")
_FLAG = re.compile(r"([A-Za-z][\w .-]{0,60}?)(?: is supported)?: (true|false)", re.IGNORECASE)
_REMOTE = re.compile(r"Remote Device (?P<pci>[0-9A-Fa-f:.]{7,16}): Link (?P<link>\d{1,3})")
_NO_LINKS = re.compile(rf"{_HOST}(?:NVML: .*|.*[Nn]v[Ll]ink.*(?:not supported|inActive|inactive|[Uu]nable).*)")
_BER = re.compile(r"[A-Za-z][\w ]*BER: \S+")
_ERRORS = ("Replay Errors", "Recovery Errors", "CRC Errors")
_STUCK = 65_535
_UNITS = {"KBytes": "KiB", "flits": None}
_OTHER = "no line of nvidia-smi nvlink"
_HEADLESS = "no GPU before this line"
_AGAIN = "the dump starts again here, and holds no time: split the file, one dump each"
_MOST_LINKS = 64


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    links = matched_share(head, r"^(?:[A-Za-z][\w.-]*: )?\s+Links? \d.*[:,]")
    bare = matched_share(head, r"^(?:NVML: .*NvLink|.*NVLink.*not supported for [Dd]evices in MIG)")
    if matched_share(head, r"^(?:[A-Za-z][\w.-]*: )?\s*GPU \d{1,3}: \S") and (links or bare):
        return Match(confidence=0.93, rule="links below GPUs, as nvidia-smi nvlink prints them")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    return line_batches(source, _Dump(context))


@dataclass(eq=False)
class _Dump:
    """What is known from line to line."""

    context: Context
    _gpu: Node | None = None
    _model: str = ""
    _seen: dict[tuple[Node, str], str] = field(default_factory=dict)

    def line(self, number: int, text: str, told: Told) -> None:
        """Take a line."""
        if not text.strip():
            told.skip("blank")
        elif found := _LINK.fullmatch(text):
            self._links(number, text, found, told)
        elif found := _GPU.fullmatch(text):
            self._head(number, text, found, told)
        elif _NO_LINKS.fullmatch(text):
            told.row()
            told.absent("nvlink", text.strip()[:100])
        elif self._gpu is not None and text.strip().lower() in LOST:
            told.row()
            told.absent("nvlink", text.strip())
        else:
            told.reject(number, _OTHER, text)

    def end(self, told: Told, *, cut: bool) -> None:
        """Nothing waits."""
        del told, cut

    def _head(self, number: int, text: str, found: re.Match[str], told: Told) -> None:
        host = found["host"] or self.context.host
        self._gpu = None
        if host is None:
            told.reject(number, HOST_MISSING, text, curable="host")
            return
        self._gpu = (host, "gpu", found["uuid"] or found["index"])
        self._model = found["model"]
        told.graph.entity(self._gpu, {"model": self._model})
        if found["uuid"]:
            told.graph.alias(self._gpu, found["index"], "nvidia-smi index", self.context.taken_at_us)
        told.row()

    def _links(self, number: int, text: str, found: re.Match[str], told: Told) -> None:
        links = _numbers(found["links"])
        host = found["host"] or self.context.host
        if self._gpu is None or links is None:
            why = (_HEADLESS if host else HOST_MISSING) if links is not None else _OTHER
            told.reject(number, why, text, curable="host" if why == HOST_MISSING else None)
            return
        cells = _cells(found["rest"])
        if cells is None:
            told.reject(number, _OTHER, text)
        elif isinstance(cells, dict) and cells and self.context.taken_at_us is None:
            told.reject(number, TAKEN_AT_MISSING, text, curable="taken_at")
        else:
            self._tell(number, text, (links, cells, found["rest"]), told)

    def _tell(self, number: int, text: str, what: tuple[list[int], _Cells, str], told: Told) -> None:
        links, cells, rest = what
        nodes = [self._node(link) for link in links]
        known = [self._seen.get((node, name)) for node in nodes for name in cells or {rest: None}]
        if any(cell is not None for cell in known):
            same = all(
                self._seen.get((node, name)) == str(cell)
                for node in nodes
                for name, cell in (cells or {rest: None}).items()
            )
            told.skip("duplicate") if same else told.reject(number, _AGAIN, text)
            return
        told.row()
        assert self._gpu is not None
        told.graph.entity(self._gpu, {"model": self._model})  # this may be another batch than that of its line
        for node in nodes:
            told.graph.link(node, "in", self._gpu)
            if other := _REMOTE.fullmatch(rest):
                told.graph.entity(
                    node, {"remote_pci": normal_pci(other["pci"]) or other["pci"], "remote_link": other["link"]}
                )
            for name, cell in (cells or {rest: None}).items():
                self._seen[node, name] = str(cell)
                if cell is not None:
                    self._sample(node, name, cell, told)

    def _sample(self, node: Node, name: str, cell: tuple[str, str | None, str], told: Told) -> None:
        number, unit, kind = cell
        if number == "-":
            told.absent(name, unit or "-")
            return
        assert self.context.taken_at_us is not None
        told.sample(node, name, number, ts_us=self.context.taken_at_us, unit=unit, kind=kind)
        if name == "nvlink.CRC Errors" and int(number) == _STUCK:
            told.note(f"CRC errors at {_STUCK} are stuck at the maximum: at least so many, and new ones do not show")

    def _node(self, link: int) -> Node:
        assert self._gpu is not None
        return (self._gpu[0], "link", f"{self._gpu[2]}:{link}")


#: Name of the metric: number, unit and kind; or nothing to measure.
_Cells = dict[str, tuple[str, str | None, str] | None]
_DOWN: _Cells = {"nvlink.active": ("0", None, "state")}
_WORDS: dict[str, _Cells] = {
    "inactive": _DOWN, "disabled": _DOWN, "down": _DOWN,
    "no errors": {f"nvlink.{name}": ("0", None, "counter") for name in _ERRORS},
}  # fmt: skip


def _numbers(text: str) -> list[int] | None:
    """Give the links that ``0-2, 4-5`` names; None beyond reason."""
    found: list[int] = []
    for part in text.split(","):
        low, _, high = (piece.strip() for piece in part.partition("-"))
        last = int(high or low)
        if last < int(low) or last >= 1000 or last - int(low) > _MOST_LINKS:
            return None
        found += range(int(low), last + 1)
    return sorted(set(found))[:_MOST_LINKS] or None


def _cells(rest: str) -> _Cells | None:
    """Read what is said of a link; None where it is not understood.

    Examples
    --------
    >>> _cells("26.562 GB/s")
    {'nvlink.speed': ('26.562', 'GB/s', 'state'), 'nvlink.active': ('1', None, 'state')}
    >>> _cells("Replay Errors: 12"), _cells("<inactive>")
    ({'nvlink.Replay Errors': ('12', None, 'counter')}, {'nvlink.active': ('0', None, 'state')})
    """
    low = rest.strip("<>[]").lower()
    if found := _SPEED.fullmatch(rest):
        return {"nvlink.speed": (found[1], found[2], "state"), "nvlink.active": ("1", None, "state")}
    if low in LOST or low in ("n/a", "not supported"):
        return {"nvlink": ("-", rest, "state")}
    if low in _WORDS:
        return dict(_WORDS[low])
    if _REMOTE.fullmatch(rest) or _BER.fullmatch(rest):
        return {}
    return _named(rest)


def _named(rest: str) -> _Cells | None:
    """Read ``name: flag`` or counts such as ``Rx0: 5 KBytes, Tx0: 7 KBytes``."""
    if found := _FLAG.fullmatch(rest):
        return {f"nvlink.{found[1]}": (str(int(found[2].lower() == "true")), None, "state")}
    told: _Cells = {}
    for part in (_COUNT.fullmatch(part.strip()) for part in rest.split(",")):
        if part is None:
            return None
        told[f"nvlink.{part[1]}"] = (part[2], _UNITS.get(part[3], part[3]), "counter")
    return told


READER = Reader(name="nvidia_smi_nvlink", recognise=_recognise, read=_read)
