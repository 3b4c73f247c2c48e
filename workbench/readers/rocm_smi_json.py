"""``rocm-smi --json`` of AMD: an object a card; the unit stands in the key, every value is text.

Keys are spelled anew from release to release. No time, no host. ``Unique ID`` is often ``N/A``: then
the PCI bus names the card.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.model.pci import normal_pci
from workbench.readers.base import Match, Reader
from workbench.readers.gpu_cells import reading_of
from workbench.readers.gpu_tree import WORDS
from workbench.readers.graph import Node
from workbench.readers.jsondoc import documents_of, outer_keys
from workbench.readers.jsonvalues import number_text, text_of
from workbench.readers.source import Source, damage_batches
from workbench.readers.told import TAKEN_AT_MISSING, Told
from workbench.readers.toldlines import HOST_MISSING

__all__ = ["READER"]

_CARD = re.compile(r"card(\d{1,3})")
_UNIT = re.compile(r".*\((C|W|mV|B|MiB|%|J|uJ|GB/s|MB/s|MHz)\)")
_CLOCK = re.compile(r"\((\d{1,6})Mhz\)", re.IGNORECASE)
_LEVEL = re.compile(r"\d{1,3}")  # lists of clock levels use bare numbers as keys
_FACTS = {
    "Card series": "model", "Card Series": "model", "Card model": "card_model", "Card SKU": "sku", "Serial Number": "serial",
    "VBIOS version": "vbios", "Unique ID": "unique_id", "PCI Bus": "pci", "Device ID": "device_id", "GPU ID": "device_id",
    "Card vendor": "vendor", "GPU memory vendor": "memory_vendor", "GUID": "guid", "GFX Version": "gfx",
}  # fmt: skip
_TEXT = re.compile(r"(?i).*(?:version|vendor|SKU|series|model|serial|\bID\b|\brev\b|bus).*")
_COUNTED = re.compile(r"(?i).*(?:replay|counter|error|accumulated energy).*")
_NO_CARD = "no card in the document"
_AGAIN = "another dump of this card, and neither holds a time: split the file, one dump each"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    keys = outer_keys(head)
    if not any(_CARD.fullmatch(key) for key in keys):
        return None
    sure = re.search(rb"\(Sensor |\(Mhz|clock speed:|VRAM|Graphics Package Power|GPU use \(%\)", head) is not None
    return Match(confidence=0.95 if sure else 0.6, rule="objects named card0 and on, as rocm-smi writes them")


def _read(source: Source, context: Context) -> Iterator[Batch]:
    told = Told()
    seen: dict[Node, str] = {}
    for document in documents_of(source):
        cards = [
            (name, card) for name, card in document.value.items() if _CARD.fullmatch(name) and isinstance(card, dict)
        ] if isinstance(document.value, dict) else []  # fmt: skip
        if document.why is not None or not cards:
            told.reject(document.line, document.why or _NO_CARD, document.text)
            continue
        system = document.value.get("system")
        driver = text_of(system.get("Driver version")) if isinstance(system, dict) else None
        for name, card in cards:
            _tell(name, card, (document.line, driver or ""), context, to=(told, seen))
    yield told.batch()
    yield from damage_batches(source)


def _tell(
    name: str, card: Mapping[str, Any], where: tuple[int, str], context: Context, *, to: tuple[Told, dict[Node, str]]
) -> None:
    told, seen = to
    line, driver = where
    if context.host is None:
        told.reject(line, HOST_MISSING, name, curable="host")
        return
    if context.taken_at_us is None:
        told.reject(line, TAKEN_AT_MISSING, name, curable="taken_at")
        return
    index = name.removeprefix("card")
    facts = {fact: text for key, fact in _FACTS.items() if (text := _known(card.get(key)))}
    pci = normal_pci(facts.get("pci", ""))
    node: Node = (context.host, "gpu", facts.get("unique_id") or pci or index)
    cells = repr(sorted(card.items(), key=lambda pair: pair[0]))
    if node in seen:
        told.skip("duplicate") if seen[node] == cells else told.reject(line, _AGAIN, name)
        return
    seen[node] = cells
    told.row()
    told.graph.entity(
        node, {**facts, **({"pci": pci} if pci else {}), **({"driver_version": driver} if driver else {})}
    )
    for other in (pci, index):
        if other:
            told.graph.alias(node, other, "rocm-smi", context.taken_at_us)
    for key, value in card.items():
        _tell_cell(node, key, value, context.taken_at_us, told=told)


def _known(value: Any) -> str | None:
    text = text_of(value)
    return None if text is None or reading_of("", text).absent is not None else text


def _tell_cell(node: Node, key: str, value: Any, ts_us: int, *, told: Told) -> None:
    cell = number_text(value) or text_of(value)
    if cell is None or _LEVEL.fullmatch(key):
        return
    name = text_of(key) or ""
    if clock := _CLOCK.fullmatch(cell.strip()):
        told.sample(node, name, clock[1], ts_us=ts_us, unit="MHz")
        return
    found = reading_of(name, cell)
    if found.absent is not None or "N/A" in cell:
        told.absent(name, found.absent or cell[:60])
    elif key in _FACTS or _TEXT.fullmatch(key):
        return
    elif found.number is None:
        told.absent(name, WORDS)
    else:
        unit = _UNIT.fullmatch(key)
        kind = "counter" if _COUNTED.fullmatch(key) else None
        told.sample(node, name, found.number, ts_us=ts_us, unit=found.unit or (unit[1] if unit else None), kind=kind)


READER = Reader(name="rocm_smi_json", recognise=_recognise, read=_read)
