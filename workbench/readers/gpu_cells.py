"""Cells as nvidia-smi writes them, in its text, XML and CSV: numbers with units, words that are states.

What says who a GPU is (serial, UUID, versions, addresses) is text even where it looks like a number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.model.metric import find
from workbench.readers.cells import MISSING

__all__ = ["LOST", "Reading", "is_identity", "reading_of"]

#: Texts that stand in every cell of a GPU that the driver cannot reach, in lower case.
LOST = frozenset({"gpu is lost", "gpu requires reset", "gpu requires restart", "unknown error", "err!"})
_NONE = frozenset(
    {"function not found", "insufficient permissions", "not found", "no permission", "not available", "in use"}
)
_WORDS = {
    "active": 1, "not active": 0, "yes": 1, "no": 0, "enabled": 1, "disabled": 0, "true": 1, "false": 0, "on": 1, "off": 0,
}  # fmt: skip
#: Words in the order of NVML's codes.
_CODES = {
    "recovery": {"none": 0, "reset": 1, "gpu reset": 1, "reboot": 2, "drain p2p": 3, "drain and reset": 4},
    "fabric": {"not supported": 0, "not started": 1, "in progress": 2, "completed": 3},
}
_RECOVERY = re.compile(r"(?i)gpu[ _]recovery[ _]action")
_FABRIC = re.compile(r"(?i)fabric[./]state")
_NUMBER = re.compile(
    r"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(°?C|[munk]?W|[MkG]?Hz|[KMGT]i?B(?:/s)?|%|[mu]?s|ns|mJ|J|x|bank\(s\))?"
)
_PSTATE = re.compile(r"P(\d{1,2})")
_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
_NO_UNIT = frozenset({"x", "bank(s)"})
_IDENTITY = re.compile(
    r"(?i)(?:^|[./])(?:[^./]*(?:serial|uuid|guid|version|object|part[ _]number|board[ _]id|buffer[ _]size|checksum|firmware)[^./]*|"
    r"gpu[ _]?pdi|pdi|img|oem|ecc|pwr|minor[ _]number|index|count|name|product[^./]*|[^./]*instance[ _]id|process[ _]id|pid|"
    r"(?:gpu_)?(?:chassis|slot|tray|host|module|clique|peer)[ _]?(?:id|index|number|type)|compute_cap|"
    r"(?:pci[._])?(?:bus|device|domain|bus[ _]id|device[ _]id|sub[^./]*|base[^./]*))$"
)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a cell says.

    Attributes
    ----------
    number : str or int or None
        Without its unit; None where the cell holds no number.
    unit : str or None
    state : bool
        A word or code, not a level.
    absent : str or None
        The mark that stands in place of a value.
    lost : bool
        The mark says that the GPU does not answer.
    """

    number: str | int | None = None
    unit: str | None = None
    state: bool = False
    absent: str | None = None
    lost: bool = False


def is_identity(name: str) -> bool:
    """Tell whether a field says who a GPU is or which version it has: text, whatever it looks like.

    Examples
    --------
    >>> is_identity("Inforom Version/ECC Object"), is_identity("serial"), is_identity("pci.pci_bus")
    (True, True, True)
    >>> is_identity("temperature.gpu"), is_identity("ECC Errors/Volatile/DRAM Correctable")
    (False, False)
    """
    return find(name) is None and _IDENTITY.search(name) is not None


def reading_of(name: str, cell: str) -> Reading:
    """Read a cell; what is text is neither a number nor absent.

    Examples
    --------
    >>> reading_of("power.draw", "631.95 W")
    Reading(number='631.95', unit='W', state=False, absent=None, lost=False)
    >>> reading_of("remapped_rows.pending", "No").number, reading_of("pstate", "P8").number
    (0, 8)
    >>> reading_of("temperature.gpu", "[GPU is lost]").lost, reading_of("temperature.gpu", "N/A").absent
    (True, 'N/A')
    >>> reading_of("compute_mode", "Default") == Reading()
    True
    """
    text = cell.strip()
    low = text.lower().strip("[]")
    coded = _coded(name, low)
    if coded is not None:
        return Reading(number=coded, state=True)
    if low in LOST or not text or low in MISSING or text.lower() in MISSING or low in _NONE:
        return Reading(absent=text or "empty", lost=low in LOST)
    if found := _NUMBER.fullmatch(text):
        return Reading(number=found[1], unit=None if found[2] in _NO_UNIT else found[2])
    state = _state(text)
    return Reading() if state is None else Reading(number=state, state=True)


def _state(text: str) -> str | int | None:
    """Give the code of a word, of ``P8``, or of a mask."""
    if found := _PSTATE.fullmatch(text):
        return int(found[1])
    return text if _HEX.fullmatch(text) else _WORDS.get(text.lower())


def _coded(name: str, low: str) -> int | None:
    if _RECOVERY.search(name):
        return _CODES["recovery"].get(low)
    return _CODES["fabric"].get(low) if _FABRIC.search(name) else None
