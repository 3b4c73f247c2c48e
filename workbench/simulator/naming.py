"""Names and clocks: every source has its own of both."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from workbench.simulator.world import World
from workbench.timebase import MICROS, from_us, zone_of

__all__ = ["FAST_S", "HOST_ZONE", "SITE_ZONE", "Names", "local", "names_of"]

HOST_ZONE = "America/Chicago"  # dmesg -T, syslog and sacct print the time of the hosts
SITE_ZONE = "America/Denver"  # the building and the BMC exports print that of the site office
FAST_S = 90  # the clock of one host is this much ahead
_BUS = ("18", "2A", "3A", "5D", "9A", "AB", "BA", "DB")


@dataclass(frozen=True, kw_only=True)
class Names:
    """What each source calls a host or GPU.

    Attributes
    ----------
    short : tuple of str
        DCGM, Slurm, topology and the names of kernel log files: ``node007``.
    uuids : tuple of str
        One a GPU, host by host.
    per_host : int
    fast_host : int
        Index of the host whose clock is ahead.
    """

    short: tuple[str, ...]
    uuids: tuple[str, ...]
    per_host: int
    fast_host: int

    def fqdn(self, host: int) -> str:
        """As node_exporter targets and BMC exports have it."""
        return f"{self.short[host]}.hpc.example.com"

    def upper(self, host: int) -> str:
        """As syslog has it."""
        return self.short[host].upper()

    def pci_dcgm(self, entity: int) -> str:
        """Eight-digit domain, upper case, with function: ``00000000:2A:00.0``."""
        return f"00000000:{self._bus(entity)}:00.0"

    def pci_kernel(self, entity: int) -> str:
        """As in an Xid line, without function: ``0000:2a:00``."""
        return f"0000:{self._bus(entity).lower()}:00"

    def _bus(self, entity: int) -> str:
        index = entity % self.per_host
        return _BUS[index] if index < len(_BUS) else f"{0xC0 + index:02X}"

    def shift_us(self, host: int) -> int:
        """How much the clock of a host is ahead, microseconds."""
        return FAST_S * MICROS if host == self.fast_host else 0


def names_of(world: World) -> Names:
    """Name the hosts and GPUs of a world; the fast clock is on the host of its first failure."""
    per_host = len(world.entities) // len(world.hosts)
    return Names(
        short=tuple(name.rpartition("/")[2] for name in world.hosts),
        uuids=tuple(name.rpartition("gpu:")[2] for name in world.entities),
        per_host=per_host,
        fast_host=world.failures[0].host if world.failures else 0,
    )


def local(us: int, zone: str) -> datetime:
    """Give the wall clock of a zone."""
    return from_us(us).astimezone(zone_of(zone))
