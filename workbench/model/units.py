"""Conversion between the units that sources write and the one a metric is kept in."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Conversion", "conversion", "tidy_unit"]


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """``kept = written * factor + offset``."""

    factor: float = 1.0
    offset: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether integers stay integers."""
        return self.offset == 0.0 and float(self.factor).is_integer()


# Factor (and offset) to the first unit of each family: watt, joule, degree Celsius, second, byte, hertz ...
_FAMILIES: tuple[dict[str, tuple[float, float]], ...] = (
    {"W": (1.0, 0.0), "mW": (1e-3, 0.0), "uW": (1e-6, 0.0), "kW": (1e3, 0.0), "MW": (1e6, 0.0)},
    {"J": (1.0, 0.0), "mJ": (1e-3, 0.0), "kJ": (1e3, 0.0), "Wh": (3600.0, 0.0), "kWh": (3.6e6, 0.0)},
    {"C": (1.0, 0.0), "mC": (1e-3, 0.0), "K": (1.0, -273.15), "F": (5 / 9, -160 / 9)},
    {"s": (1.0, 0.0), "ms": (1e-3, 0.0), "us": (1e-6, 0.0), "ns": (1e-9, 0.0), "min": (60.0, 0.0), "h": (3600.0, 0.0)},
    {
        "B": (1.0, 0.0), "kB": (1e3, 0.0), "MB": (1e6, 0.0), "GB": (1e9, 0.0), "TB": (1e12, 0.0),
        "KiB": (2.0**10, 0.0), "MiB": (2.0**20, 0.0), "GiB": (2.0**30, 0.0), "TiB": (2.0**40, 0.0),
    },
    {
        "B/s": (1.0, 0.0), "kB/s": (1e3, 0.0), "KB/s": (1e3, 0.0), "MB/s": (1e6, 0.0), "GB/s": (1e9, 0.0),
        "KiB/s": (2.0**10, 0.0), "MiB/s": (2.0**20, 0.0), "GiB/s": (2.0**30, 0.0),
    },
    {"Hz": (1.0, 0.0), "kHz": (1e3, 0.0), "MHz": (1e6, 0.0), "GHz": (1e9, 0.0)},
    {"ratio": (1.0, 0.0), "%": (0.01, 0.0)},
    {"V": (1.0, 0.0), "mV": (1e-3, 0.0)},
    {"A": (1.0, 0.0), "mA": (1e-3, 0.0)},
    {"L/min": (1.0, 0.0), "GPM": (3.785411784, 0.0), "L/s": (60.0, 0.0), "m3/h": (1000 / 60, 0.0)},
    {"Pa": (1.0, 0.0), "kPa": (1e3, 0.0), "bar": (1e5, 0.0), "psi": (6894.757293168, 0.0)},
)  # fmt: skip
_SPELLINGS = {
    "watt": "W", "watts": "W", "milliwatts": "mW", "kilowatts": "kW", "joules": "J", "joule": "J",
    "c": "C", "°c": "C", "degc": "C", "celsius": "C", "degrees c": "C", "cel": "C", "f": "F", "°f": "F", "degf": "F",
    "fahrenheit": "F", "kelvin": "K", "k": "K",
    "seconds": "s", "second": "s", "sec": "s", "milliseconds": "ms", "microseconds": "us", "µs": "us", "nanoseconds": "ns",
    "bytes": "B", "byte": "B", "b": "B", "kib": "KiB", "mib": "MiB", "gib": "GiB", "hertz": "Hz", "hz": "Hz", "mhz": "MHz", "ghz": "GHz",
    "percent": "%", "pct": "%", "ratio": "ratio", "volts": "V", "volt": "V", "amperes": "A", "amps": "A", "amp": "A",
    "lpm": "L/min", "l/min": "L/min", "gpm": "GPM", "kpa": "kPa", "psi": "psi", "bar": "bar",
    "w": "W", "kw": "kW", "mw": "mW",
}  # fmt: skip


def tidy_unit(unit: str | None) -> str:
    """Give the one spelling of a unit; what is not known passes as it is, nothing is "".

    Examples
    --------
    >>> tidy_unit("watts"), tidy_unit("°F"), tidy_unit("furlong"), tidy_unit(None)
    ('W', 'F', 'furlong', '')
    """
    text = (unit or "").strip().strip("[]").strip()
    if any(text in family for family in _FAMILIES):
        return text
    return _SPELLINGS.get(text.lower(), text)


def conversion(written: str | None, kept: str | None) -> Conversion | None:
    """Give the conversion from one unit to another; None where there is none.

    An unstated unit on either side is taken to be the other one.

    Examples
    --------
    >>> conversion("kW", "W"), conversion("W", "C") is None
    (Conversion(factor=1000.0, offset=0.0), True)
    >>> fahrenheit = conversion("F", "C")
    >>> round(212 * fahrenheit.factor + fahrenheit.offset, 9)
    100.0
    """
    source, target = tidy_unit(written), tidy_unit(kept)
    if source == target or not source or not target:
        return Conversion()
    for family in _FAMILIES:
        if source in family and target in family:
            (factor, offset), (factor_to, offset_to) = family[source], family[target]
            return Conversion(factor=_whole(factor / factor_to), offset=(offset - offset_to) / factor_to)
    return None


def _whole(factor: float) -> float:
    """Undo what binary fractions do to a factor that is a whole number (0.001 / 0.000001)."""
    return float(round(factor)) if factor >= 1 and abs(factor - round(factor)) < 1e-9 * factor else factor
