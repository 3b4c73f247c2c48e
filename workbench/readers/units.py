"""Units that stand in cells and headers, and the base unit of each dimension they are turned into.

One base a dimension, and not the unit of the first cell, so that two files of one metric agree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from workbench.model.units import conversion, tidy_unit

__all__ = ["Unit", "split_unit", "unit_of"]


@dataclass(frozen=True, kw_only=True)
class Unit:
    """``value_in_base = value * factor + offset``.

    Attributes
    ----------
    name : str
        In its one spelling, such as ``MiB``.
    base : str
        Base unit of the dimension, such as ``B``.
    factor, offset : float
    """

    name: str
    base: str
    factor: float = 1.0
    offset: float = 0.0


_BASES = ("W", "J", "C", "s", "B", "Hz", "%", "V", "A", "L/min", "Pa")
#: Dimensions that only cells have: rates, and plain words.
_MORE = {
    "B/s": "B/s Bps kB/s=1e3 KB/s=1e3 MB/s=1e6 GB/s=1e9 TB/s=1e12 KiB/s=1024 MiB/s=1048576 GiB/s=1073741824",
    "b/s": "b/s bps bit/s kb/s=1e3 kbps=1e3 Kbps=1e3 Mb/s=1e6 Mbps=1e6 Mbit/s=1e6 Gb/s=1e9 Gbps=1e9 Gbit/s=1e9",
    "rpm": "rpm RPM r/min",
    "dB": "dB",
    "dBm": "dBm",
    "VA": "VA kVA=1e3",
    "B": "KB=1e3 PB=1e15 PiB=1125899906842624",
    "Hz": "Mhz=1e6 Ghz=1e9 KHz=1e3",
    "W": "KW=1e3",
    "J": "MJ=1e6 KWh=3.6e6 MWh=3.6e9",
    "V": "kV=1e3",
    "A": "kA=1e3 Ampere=1",
    "s": "mins=60 minutes=60 hours=3600 hr=3600 d=86400 days=86400",
    "Pa": "hPa=1e2 mbar=1e2 MPa=1e6",
}
#: Thousand or kelvin, bit or byte: they do not say.
_OPEN = frozenset({"k", "m", "b"})
_HEADER_UNIT = re.compile(r"\s*(.*?)\s*[\[(]\s*([^\[\]()]{1,20}?)\s*[\])]\s*")


@cache
def _more() -> dict[str, Unit]:
    words = [(base, word.partition("=")) for base, text in _MORE.items() for word in text.split()]
    return {name: Unit(name=name, base=base, factor=float(factor or 1.0)) for base, (name, _, factor) in words}


@cache
def unit_of(text: str) -> Unit | None:
    """Give the unit that a text names, None where it names none that is known.

    Examples
    --------
    >>> unit_of("GiB").base, unit_of("GiB").factor, unit_of("watts").base, unit_of("apples")
    ('B', 1073741824.0, 'W', None)
    >>> f = unit_of("°F")
    >>> round(130 * f.factor + f.offset, 6)
    54.444444
    """
    name = text.strip()
    if not name or name in _OPEN:
        return None
    if name in _more():
        return _more()[name]
    tidy = tidy_unit(name)
    for base in _BASES:
        step = conversion(tidy, base)
        if step is not None:
            return Unit(name=tidy, base=base, factor=step.factor, offset=step.offset)
    return None


def split_unit(header: str) -> tuple[str, str | None]:
    """Part a column name from the unit in its brackets; other brackets are part of the name.

    Examples
    --------
    >>> split_unit("power.draw [W]"), split_unit("Supply Temp (°F)"), split_unit("value (raw)")
    (('power.draw', 'W'), ('Supply Temp', '°F'), ('value (raw)', None))
    """
    found = _HEADER_UNIT.fullmatch(header)
    if found is None or not found[1] or unit_of(found[2]) is None:
        return header.strip(), None
    return found[1], found[2]
