"""Headers of sysstat's reports: which tool wrote them, what each column measures, and in which unit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Column", "Table", "is_number", "table_of"]

_NUMBER = re.compile(r"-?(?:\d+(?:[.,]\d+)?|[.,]\d+|nan)", re.IGNORECASE)
#: First column of a table: what each row is about.
_KEYS = {"CPU": "cpu", "Device": "disk", "DEV": "disk", "IFACE": "nic", "NODE": None, "CORE": "cpu"}
_PERCENT = ("us", "sy", "id", "wa", "st", "gu")
_MILLISECONDS = ("await", "r_await", "w_await", "d_await", "f_await", "svctm")
_SOFT = ("HI/s", "TIMER/s", "NET_TX/s", "NET_RX/s")
_VMSTAT = ("r", "b", "swpd")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One number of a row.

    Attributes
    ----------
    metric : str
    unit : str or None
        None where the header does not say it.
    labels : mapping
    """

    metric: str
    unit: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A header, and what the rows below it are.

    Attributes
    ----------
    tool : str
    header : str
        Tells tables of one file apart.
    keyed : bool
        The first cell of a row says what it is about.
    kind : str or None
        Kind of that device; None: it is a part of the host.
    columns : tuple of Column
    stamped : bool
        The last two cells are date and time (``vmstat -t``), in ``zone``.
    averages_first : bool
        The first report is the average since boot.
    """

    tool: str
    header: str
    keyed: bool
    kind: str | None
    columns: tuple[Column, ...]
    stamped: bool = False
    zone: str = ""
    averages_first: bool = False

    def holds(self, cells: list[str]) -> bool:
        """Tell whether these are the cells of a row."""
        values = cells[int(self.keyed) : len(cells) - 2 * self.stamped]
        return len(values) == len(self.columns) and all(map(is_number, values))

    def misfit(self, cells: list[str]) -> str:
        """Say why they are none."""
        wanted = len(self.columns) + self.keyed + 2 * self.stamped
        if len(cells) != wanted:
            return f"{len(cells)} cells where the header has {wanted}"
        return "row holds a cell that is no number"

    def parted(self, cells: list[str]) -> tuple[str | None, list[str]]:
        """Give what a row is about, and its numbers."""
        values = cells[int(self.keyed) : len(cells) - 2 * self.stamped]
        return (cells[0] if self.keyed else None), values


def is_number(cell: str) -> bool:
    """Tell whether a cell is a number, as sysstat writes them.

    Examples
    --------
    >>> is_number("0,50"), is_number("-nan"), is_number("sda")
    (True, True, False)
    """
    return _NUMBER.fullmatch(cell) is not None


def table_of(text: str, *, timed: bool) -> Table | None:
    """Read a header; None where the line is none.

    Parameters
    ----------
    text : str
        Without the clock before it.
    timed : bool
        Whether a clock stands before it.

    Examples
    --------
    >>> table = table_of("CPU    %usr   %idle", timed=True)
    >>> table.tool, table.kind, [(column.metric, column.unit) for column in table.columns]
    ('mpstat', 'cpu', [('mpstat.%usr', '%'), ('mpstat.%idle', '%')])
    >>> table_of("sda 0.1 0.2", timed=False) is None
    True
    """
    names = text.split()
    if len(names) < 2 or any(map(is_number, names)):
        return None
    first = names[0].removesuffix(":")
    if not timed:
        return _untimed(first, names)
    keyed = first in _KEYS
    values = names[1:] if keyed else names
    if not all(re.search(r"[%/_-]|^[a-z]", name) for name in values) or any(name == "all" for name in names):
        return None
    tool = "mpstat" if first == "CPU" and not any(name in ("%user", "%system") for name in values) else "sar"
    return Table(
        tool=tool,
        header=text,
        keyed=keyed,
        kind=_KEYS.get(first),
        columns=_interrupts(values) if tool == "mpstat" and not values[0].startswith("%") else _columns(tool, values),
    )


def _untimed(first: str, names: list[str]) -> Table | None:
    if first in ("avg-cpu", "Device"):
        keyed = first == "Device"
        kind = "disk" if keyed else None
        columns = _columns("iostat", names[1:])
        return Table(tool="iostat", header=first, keyed=keyed, kind=kind, columns=columns, averages_first=True)
    if tuple(names[:3]) != _VMSTAT:
        return None
    stamped = len(names[-1]) > 2 and names[-1].isupper()
    return Table(
        tool="vmstat",
        header="vmstat",
        keyed=False,
        kind=None,
        columns=_columns("vmstat", names[:-1] if stamped else names),
        stamped=stamped,
        zone=names[-1] if stamped else "",
        averages_first=True,
    )


def _columns(tool: str, names: list[str]) -> tuple[Column, ...]:
    return tuple(Column(metric=f"{tool}.{name}", unit=_unit(name, tool)) for name in names)


def _interrupts(names: list[str]) -> tuple[Column, ...]:
    """Name the columns of interrupts: one metric, told apart by the interrupt."""
    if names == ["intr/s"]:
        return _columns("mpstat", names)
    soft = any(name in _SOFT for name in names)
    metric, label = ("mpstat.softirqs/s", "softirq") if soft else ("mpstat.interrupts/s", "irq")
    return tuple(Column(metric=metric, unit="1/s", labels={label: name.removesuffix("/s")}) for name in names)


def _unit(name: str, tool: str) -> str | None:
    """Give the unit that a column's name says; kB and MB of sysstat are 1024 and 1024^2 bytes."""
    if name.startswith("%") or (tool == "vmstat" and name in _PERCENT):
        return "%"
    if name in _MILLISECONDS:
        return "ms"
    size = next((unit for word, unit in (("kB", "KiB"), ("MB", "MiB")) if word in name), None)
    if size is not None or name.startswith("kb"):
        return (size or "KiB") + ("/s" if name.endswith("/s") else "")
    return "1/s" if name.endswith("/s") and not name.startswith(("rsec", "wsec", "Blk", "dsec")) else None
