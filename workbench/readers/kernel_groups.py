"""Kernel events that span lines: which line begins one, and which only tells more of it.

A line is the first of an event, more of an event that began before it, or neither. That is decided
in the order of the file by what came before alone, so a file that is cut tells the same events as
the whole one, up to the cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from workbench.model.pci import normal_pci_column
from workbench.readers.kernel_gpu import NVRM, ODD_XID, XID
from workbench.readers.kernel_oom import OOM, OOM_BLOCK, OOM_ROLES, with_scope
from workbench.readers.kernel_rule import PCI, typed

__all__ = ["FAMILIES", "Family", "Fate", "Memory", "Row", "family_rows"]

_SECOND = 1_000_000
_AER_WINDOW = 100_000  # the lines of one error come within 10 ms; journals and relays blur that
_BLOCK_WINDOW = 10 * _SECOND


class Row(NamedTuple):
    """What a family needs to know of a line to place it."""

    row: int
    host: str | None
    ts: int
    role: str
    device: str | None
    code: str | None
    upstream: str | None


class Fate(NamedTuple):
    """What became of a line: ``owner`` is its own row for the first line of an event.

    ``kind`` is None where it is neither first nor more: it stays a plain log line.
    """

    owner: int
    kind: str | None
    device: str | None = None
    uuid: str | None = None
    serial: str | None = None


@dataclass
class Memory:
    """What a family remembers from line to line, and from block to block.

    Attributes
    ----------
    groups : dict
        Events that may go on, by host and device: ``[row, ts, what the family notes]``.
    names : dict
        UUID and serial of GPUs, by host and PCI address.
    last_gpu : dict
        The GPU that the driver named last on a host, and when.
    """

    groups: dict[tuple[Any, ...], list[Any]] = field(default_factory=dict)
    names: dict[tuple[str | None, str | None], list[str | None]] = field(default_factory=dict)
    last_gpu: dict[str | None, tuple[str | None, int]] = field(default_factory=dict)

    def within(self, key: tuple[Any, ...], ts: int, window: int) -> list[Any] | None:
        """Give the event of ``key`` if it began no longer than ``window`` ago."""
        group = self.groups.get(key)
        return group if group is not None and abs(ts - group[1]) <= window else None

    def forget(self, latest: dict[str | None, int], window: int) -> set[int]:
        """Drop the events that are over; give the rows of those that may go on."""
        self.groups = {
            key: group for key, group in self.groups.items() if abs(latest.get(key[0], group[1]) - group[1]) <= window
        }
        return {group[0] for group in self.groups.values()}


@dataclass(frozen=True, kw_only=True)
class Family:
    """Messages that belong together.

    Attributes
    ----------
    find : str
        Regular expression: the cheap first test.
    block : str or None
        Regular expression of lines that have a role only while an event goes on.
    roles : tuple of (role, pattern)
        A line has the first role that fits; groups are as in the rules for single lines.
    place : callable
        ``(rows, memory) -> fates``, in order.
    window_us : int
        How long an event may go on.
    device_kind : str
    enriched : bool
        Later lines tell attributes: an event is held back while it may go on.
    """

    find: str
    roles: tuple[tuple[str, str], ...]
    place: Callable[[Iterable[Row], Memory], list[Fate]]
    window_us: int
    device_kind: str
    enriched: bool
    block: str | None = None


def family_rows(lines: pl.DataFrame, family: Family, *, goes_on: bool = False) -> pl.DataFrame:
    """Give the lines that have a role in ``family``, with what its patterns caught.

    Parameters
    ----------
    lines : polars.DataFrame
        With ``row`` and ``text``; its other columns are kept.
    family : Family
    goes_on : bool
        An event of an earlier block may go on in this one.

    Examples
    --------
    >>> lines = pl.DataFrame({"row": [0], "text": ["NVRM: Xid (PCI:0000:3A:00): 79, pid=7, name=a, lost"]})
    >>> family_rows(lines, FAMILIES[0]).select("role", "device", "code", "pid").rows()
    [('xid', '0000:3a:00', '79', 7)]
    """
    hits = lines["text"].str.contains(family.find)
    if family.block is not None and (goes_on or hits.any()):
        hits |= lines["text"].str.contains(family.block)
    rest = lines.filter(hits)
    if rest.is_empty():
        return rest.with_columns(role=pl.lit(""))
    found = []
    for role, pattern in family.roles:
        if rest.is_empty():
            break
        fits = rest["text"].str.contains(pattern)
        caught = rest.filter(fits).with_columns(role=pl.lit(role))
        if "(?P<" in pattern and caught.height:
            caught = caught.with_columns(pl.col("text").str.extract_groups(pattern).struct.unnest())
        found.append(caught)
        rest = rest.filter(~fits)
    caught = pl.concat(found, how="diagonal")
    empty = [
        pl.lit(None, pl.String).alias(name) for name in ("device", "code", "upstream") if name not in caught.columns
    ]
    pci = normal_pci_column(pl.col("device"))
    frame = caught.with_columns(*empty).with_columns(
        pci=pl.when(pci.is_not_null()).then("device"),
        device=pci.fill_null(pl.col("device")),
        upstream=normal_pci_column(pl.col("upstream")),
    )
    return typed(with_scope(frame)).sort("row")


def _place_gpu(rows: Iterable[Row], memory: Memory) -> list[Fate]:
    """Xids, with the names that the driver gave just before; a GPU lost with or without one."""
    fates = []
    for row in rows:
        key = (row.host, row.device)
        if row.role == "xid":
            memory.groups[key] = [row.row, row.ts, row.code == "79"]
            uuid, serial = memory.names.get(key, (None, None))
            fates.append(Fate(row.row, "xid", row.device, uuid, serial))
        elif row.role == "odd":
            fates.append(Fate(row.row, "log"))
        elif row.role in ("lost", "lost_late"):
            fates.append(_lost(row, memory))
        else:
            _remember_name(row, memory)
            fates.append(Fate(row.row, None, row.device))
    return fates


def _lost(row: Row, memory: Memory) -> Fate:
    device = row.device
    if row.role == "lost_late":
        named, since = memory.last_gpu.get(row.host, (None, row.ts))
        device = named if abs(row.ts - since) <= _SECOND else None
    key = (row.host, device)
    group = memory.within(key, row.ts, _SECOND)
    if group is not None and group[2]:
        return Fate(group[0], "gpu_lost", device)
    memory.groups[key] = [row.row, row.ts, True]
    uuid, serial = memory.names.get(key, (None, None))
    return Fate(row.row, "gpu_lost", device, uuid, serial)


def _remember_name(row: Row, memory: Memory) -> None:
    if row.role == "serial":
        device, _ = memory.last_gpu.get(row.host, (None, 0))
        if (row.host, device) in memory.names:
            memory.names[row.host, device][1] = row.code
        return
    memory.last_gpu[row.host] = (row.device, row.ts)
    if row.role == "uuid":
        memory.names[row.host, row.device] = [row.code, None]


def _place_sxid(rows: Iterable[Row], memory: Memory) -> list[Fate]:
    """Three lines an SXid: what, how severe, data."""
    fates = []
    for row in rows:
        key = (row.host, row.device, row.code)
        group = memory.within(key, row.ts, _SECOND)
        if row.role == "first":
            memory.groups[key] = [row.row, row.ts]
            fates.append(Fate(row.row, "sxid", row.device))
        else:
            fates.append(Fate(row.row, None) if group is None else Fate(group[0], "sxid"))
    return fates


def _place_aer(rows: Iterable[Row], memory: Memory) -> list[Fate]:
    """A port says that an error came in; the device that it came from says which."""
    fates = []
    for row in rows:
        key = (row.host, row.device or row.upstream)
        group = memory.within(key, row.ts, _AER_WINDOW)
        if row.role == "head" or (row.role == "bus" and (group is None or row.device in group[2])):
            started: list[Any] = [row.row, row.ts, set() if row.role == "head" else {row.device}]
            memory.groups[key] = memory.groups[row.host, row.upstream or row.device] = started
            fates.append(Fate(row.row, "aer", row.device or row.upstream))
        elif group is None:
            fates.append(Fate(row.row, None))
        else:
            if row.role == "bus":
                group[2].add(row.device)
            fates.append(Fate(group[0], "aer"))
    return fates


def _place_mce(rows: Iterable[Row], memory: Memory) -> list[Fate]:
    """Hardware errors: a headline, then one bank after the other; firmware numbers its own."""
    fates = []
    for row in rows:
        key = (row.host, row.code) if row.role.startswith("firmware") else (row.host,)
        group = memory.within(key, row.ts, _SECOND)
        begins = row.role in ("logged", "firmware_first") or group is None or (row.role == "bank" and group[2])
        if begins or group is None:
            memory.groups[key] = [row.row, row.ts, row.role == "bank"]
            fates.append(Fate(row.row, "mce"))
        else:
            group[2] = group[2] or row.role == "bank"
            fates.append(Fate(group[0], "mce"))
    return fates


def _place_oom(rows: Iterable[Row], memory: Memory) -> list[Fate]:
    """From "invoked oom-killer" to the process killed, and its reaping."""
    fates = []
    for row in rows:
        group = memory.within((row.host,), row.ts, _BLOCK_WINDOW)
        goes_on = group is not None and (not group[2] or row.role == "reaped") and row.role not in group[3]
        if group is not None and goes_on and row.role != "invoked" and (row.role != "block" or group[4]):
            group[2] = group[2] or row.role == "killed"
            group[3] |= {row.role} - {"block"}
            fates.append(Fate(group[0], "oom"))
        elif row.role == "block":
            fates.append(Fate(row.row, None))
        else:
            memory.groups[row.host,] = [row.row, row.ts, row.role == "killed", {row.role}, row.role == "invoked"]
            fates.append(Fate(row.row, "oom"))
    return fates


_SWITCH = rf"^(?P<switch>nvidia-nvswitch\d+): SXid \(PCI:(?P<device>{PCI})\): (?P<code>[1-9][0-9]{{0,5}}),?\s+"
_MCE = r"^(?:mce: )?(?:\{\d+\})?\[Hardware Error\]: "
_AER_LINE = rf"^(?:\S+) (?P<device>{PCI}): (?:AER: )?\s*"
_AER_WHAT = r"Correct(?:ed|able)|Uncorrect(?:ed|able) \((?:Non-)?Fatal\)"

FAMILIES = (
    Family(
        find=NVRM,
        roles=(
            ("xid", XID),
            ("odd", ODD_XID),
            ("uuid", rf"^NVRM: GPU at (?:PCI:)?(?P<device>{PCI}): (?P<code>GPU-[0-9a-fA-F-]{{36}})"),
            ("serial", r"^NVRM: GPU Board Serial Number: (?P<code>\S+)"),
            ("lost", rf"^NVRM: GPU (?:at )?(?:PCI:)?(?P<device>{PCI}):? (?:GPU )?has fallen off the bus"),
            ("named", rf"^NVRM: The NVIDIA GPU (?P<device>{PCI})"),
            ("lost_late", r"^NVRM: .*fallen off the bus and is not responding"),
        ),
        place=_place_gpu,
        window_us=_SECOND,
        device_kind="gpu",
        enriched=False,
    ),
    Family(
        find=r"SXid \(",
        roles=(
            (
                "severity",
                _SWITCH
                + r"Severity (?P<level>\d+)(?: Engine instance (?P<engine>\d+))?(?: Sub-engine instance (?P<subengine>\d+))?",
            ),
            ("data", _SWITCH + r"Data \{(?P<data>[^}]*)"),
            ("first", _SWITCH + r"(?P<fatality>Non-fatal|Fatal)?(?:, )?(?:Link (?P<link>\d+))?"),
        ),
        place=_place_sxid,
        window_us=_SECOND,
        device_kind="nvswitch",
        enriched=True,
    ),
    Family(
        find=r"AER: |PCIe Bus Error|error status/mask|TLP Header|:\s+\[ *\d+\] ",
        roles=(
            (
                "head",
                (
                    rf"^(?P<driver>\S+) (?P<upstream>{PCI}): AER: (?P<multiple>Multiple )?(?P<code>{_AER_WHAT}) error "
                    rf"(?:message )?received(?: from)?:? (?:(?P<device>{PCI})|id=)"
                ),
            ),
            (
                "bus",
                (
                    rf"^(?P<driver>\S+) (?P<device>{PCI}): (?:AER: )?PCIe Bus Error: severity=(?P<code>{_AER_WHAT}), "
                    r"type=(?P<layer>[^,]+)(?:, (?:id=\w+)?\(?(?P<agent>[^)]*)\)?)?"
                ),
            ),
            (
                "status",
                _AER_LINE + r"device \[[0-9a-f:]+\] error status/mask=(?P<status>[0-9a-f]+)/(?P<mask>[0-9a-f]+)",
            ),
            ("bit", _AER_LINE + r"\[ *\d+\] (?P<error>\S[^()]*?)\s*(?:\(First\))?\s*$"),
            ("header", _AER_LINE + r"TLP Header: (?P<tlp>.*)$"),
            ("first", _AER_LINE + r"Error of this Agent (?:is|\(\w+\) is) reported first"),
        ),
        place=_place_aer,
        window_us=_AER_WINDOW,
        device_kind="pci",
        enriched=True,
    ),
    Family(
        find=r"\[Hardware Error\]: ",
        roles=(
            ("firmware_first", r"^\{(?P<code>\d+)\}\[Hardware Error\]: Hardware error from APEI"),
            ("firmware", r"^\{(?P<code>\d+)\}\[Hardware Error\]: (?:event severity: (?P<event_severity>\w+))?"),
            ("logged", _MCE + r"Machine check events logged"),
            (
                "bank",
                (
                    _MCE + r"CPU (?P<cpu>\d+): Machine Check(?: Exception)?: \S+ Bank (?P<bank>\d+): "
                    r"(?P<status>[0-9a-fA-F]+)"
                ),
            ),
            ("time", _MCE + r"PROCESSOR \S+ TIME (?P<time>\d+)"),
            ("address", _MCE + r"TSC \S+ (?:ADDR (?P<address>[0-9a-fA-F]+))?"),
            ("more", _MCE),
        ),
        place=_place_mce,
        window_us=_SECOND,
        device_kind="host",
        enriched=True,
    ),
    Family(
        find=OOM,
        block=OOM_BLOCK,
        roles=OOM_ROLES,
        place=_place_oom,
        window_us=_BLOCK_WINDOW,
        device_kind="host",
        enriched=True,
    ),
)
