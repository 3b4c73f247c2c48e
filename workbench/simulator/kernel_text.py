"""Kernel logs: what a loss leaves behind, what its neighbours say, and the chatter in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workbench.simulator.exposition import text_file
from workbench.simulator.naming import HOST_ZONE, Names, local
from workbench.simulator.noise import stream
from workbench.simulator.physical import RELOAD_AFTER
from workbench.simulator.world import Failure, World
from workbench.timebase import MICROS, from_us

__all__ = ["Line", "kernel_lines", "write_kernel_logs", "xids_of"]

_DRIVER = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024"
_CHATTER = (
    "perf: interrupt took too long (2503 > 2500), lowering kernel.perf_event_max_sample_rate to 79000",
    "docker0: port 1(veth3a2b9c1) entered blocking state",
    "docker0: port 1(veth3a2b9c1) entered forwarding state",
    "EXT4-fs (nvme0n1p2): re-mounted. Quota mode: none.",
    "IPv6: ADDRCONF(NETDEV_CHANGE): ibp94s0: link becomes ready",
)
_DAY_US = 86_400 * MICROS


@dataclass(frozen=True, kw_only=True, order=True)
class Line:
    """One kernel message: true UTC microseconds, level, text."""

    us: int
    level: str
    text: str


def xids_of(failure: Failure, order: int) -> tuple[int, ...]:
    """Give the Xids that a loss leaves on its own GPU, in order; the first names the failure.

    Examples
    --------
    >>> loss = Failure(entity=0, host=0, recorded_us=0, true_us=0, ts_low_us=0, ts_high_us=0, job=0, kind="bus")
    >>> xids_of(loss, 1)
    (79, 154)
    """
    if failure.kind == "bus":
        return (79, 154)
    return (48, 63, 95, 154) if order % 5 < 3 else (94, 63, 154)


def _xid_text(code: int, pci: str, pid: int) -> str:
    said = {
        45: f"pid={pid}, name=python3, Ch 00000008",
        48: "pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in "
        "the framebuffer at partition 2, subpartition 1.",
        63: "pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate.",
        79: f"pid={pid}, name=python3, GPU has fallen off the bus.",
        94: f"pid={pid}, name=python3, Contained: SM (0x1). RST: No, D-RST: No",
        95: f"pid={pid}, name=python3, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No",
        154: "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
        31: f"pid={pid}, name=python3, Ch 0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted "
        "@ 0x7f2d_a4000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
        13: f"pid={pid}, name=python3, Graphics SM Warp Exception on (GPC 9, TPC 1, SM 1): Out Of Range Address",
        43: f"pid={pid}, name=python3, Ch 00000008",
    }[code]
    return f"NVRM: Xid (PCI:{pci}): {code}, {said}"


def kernel_lines(world: World, names: Names, lemon: str, *, seed: int) -> list[list[Line]]:
    """Give the messages of every host, in order of time.

    Parameters
    ----------
    lemon : str
        Signal that counts the Xid 31 of every GPU and minute.
    """
    lines: list[list[Line]] = [[] for _ in names.short]
    rng = stream(seed, "kernel")
    for order, failure in enumerate(world.failures):
        lines[failure.host] += _loss(failure, order, names, rng)
        for host in world.course.jobs[failure.job].members.tolist():
            lines[host] += _teardown(failure, host, names, rng)
    counts = np.nan_to_num(world.signals[lemon]).astype(np.int64)
    for entity, minute in np.argwhere(counts > 0).tolist():
        for _ in range(counts[entity, minute]):
            at = int(world.ts_us[minute]) + int(rng.integers(0, 60 * MICROS))
            text = _xid_text(31, names.pci_kernel(entity), int(rng.integers(10_000, 99_999)))
            lines[entity // names.per_host].append(Line(us=at, level="warn", text=text))
    first, span = int(world.ts_us[0]), int(world.ts_us[-1] - world.ts_us[0])
    for host, own in enumerate(lines):
        own.extend(_chatter(host, names, (first, span), rng))
        own.sort()
    return lines


def _loss(failure: Failure, order: int, names: Names, rng: np.random.Generator) -> Iterator[Line]:
    """Yield what a failing GPU writes within a second, and the reload of the driver."""
    pci, pid, at = names.pci_kernel(failure.entity), int(rng.integers(10_000, 99_999)), failure.true_us
    serial = 1_650_000_000_000 + failure.entity
    yield Line(us=at - 4, level="err", text=f"NVRM: GPU at PCI:{pci}: {names.uuids[failure.entity]}")
    yield Line(us=at - 2, level="err", text=f"NVRM: GPU Board Serial Number: {serial}")
    for code in xids_of(failure, order):
        yield Line(us=at, level="err", text=_xid_text(code, pci, pid))
        if code == 79:
            yield Line(us=at + 8, level="err", text=f"NVRM: GPU {pci}.0: GPU has fallen off the bus.")
        at += int(rng.integers(20_000, 250_000))
    yield Line(us=failure.true_us + RELOAD_AFTER * 60 * MICROS, level="info", text=_DRIVER)


def _teardown(failure: Failure, host: int, names: Names, rng: np.random.Generator) -> Iterator[Line]:
    """Yield what the other GPUs of the job write some seconds later."""
    start = failure.true_us + int(rng.integers(2 * MICROS, 8 * MICROS))
    for entity in range(host * names.per_host, (host + 1) * names.per_host):
        if entity != failure.entity:
            at = start + int(rng.integers(0, 300_000))
            text = _xid_text(45, names.pci_kernel(entity), int(rng.integers(10_000, 99_999)))
            yield Line(us=at, level="warn", text=text)
    text = "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing"
    yield Line(us=start + 400_000, level="err", text=text)


def _chatter(host: int, names: Names, span: tuple[int, int], rng: np.random.Generator) -> Iterator[Line]:
    """Yield what a healthy host writes too: some 30 lines a day, an application error now and then."""
    first, length = span
    days = length / _DAY_US

    def moment() -> int:
        return first + int(rng.integers(0, length + 1))

    for _ in range(rng.poisson(25 * days)):
        yield Line(us=moment(), level="info", text=str(rng.choice(_CHATTER)))
    for _ in range(rng.poisson(0.4 * days * names.per_host)):
        pci, pid, at = names.pci_kernel(host * names.per_host), int(rng.integers(10_000, 99_999)), moment()
        yield Line(us=at, level="warn", text=_xid_text(13, pci, pid))
        yield Line(us=at + 4_000, level="warn", text=_xid_text(43, pci, pid))
    for _ in range(rng.poisson(0.3 * days)):
        yield from _aer(moment())
    for _ in range(rng.poisson(0.5 * days)):
        at = moment()
        yield Line(us=at, level="notice", text="nfs: server nfs-01 not responding, still trying")
        yield Line(us=at + int(rng.integers(MICROS, 30 * MICROS)), level="notice", text="nfs: server nfs-01 OK")


def _aer(at: int) -> Iterator[Line]:
    port = "pcieport 0000:15:01.0:"
    for later, text in (
        (0, f"{port} AER: Corrected error received: 0000:15:01.0"),
        (16, f"{port} PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)"),
        (20, f"{port}   device [8086:352a] error status/mask=00001000/00002000"),
        (24, f"{port}    [12] Timeout"),
    ):
        yield Line(us=at + later, level="warn", text=text)


def write_kernel_logs(folder: Path, lines: list[list[Line]], names: Names, *, boot_us: int) -> dict[str, str]:
    """Write one file a host (``dmesg -T`` or ``--decode``), and syslog of every third host in one file.

    Returns
    -------
    mapping of file to its form
        ``local``, ``iso`` or ``syslog``.
    """
    forms: dict[str, str] = {}
    gathered: list[tuple[int, str]] = []
    for host, own in enumerate(lines):
        shift = names.shift_us(host)
        if host % 3 == 2:
            gathered += [(line.us, _syslog(line, names.upper(host), shift, boot_us)) for line in own]
            continue
        form, suffix = (("local", "dmesg.txt"), ("iso", "dmesg.iso.txt"))[host % 3]
        path = folder / "kernel" / f"{names.short[host]}.{suffix}"
        with text_file(path) as out:
            for line in own:
                out.write((_local(line, shift) if form == "local" else _iso(line, shift)).encode())
        forms[f"kernel/{path.name}"] = form
    if gathered:
        with text_file(folder / "syslog" / "messages") as out:
            for _, text in sorted(gathered, key=lambda pair: pair[0]):
                out.write(text.encode())
        forms["syslog/messages"] = "syslog"
    return forms


def _local(line: Line, shift: int) -> str:
    return f"[{local(line.us + shift, HOST_ZONE):%a %b %e %H:%M:%S %Y}] {line.text}\n"


def _iso(line: Line, shift: int) -> str:
    stamp = from_us(line.us + shift).isoformat(timespec="microseconds").replace(".", ",")
    return f"kern  :{line.level:<6}: {stamp} {line.text}\n"


def _syslog(line: Line, host: str, shift: int, boot_us: int) -> str:
    up = (line.us - boot_us) / MICROS
    return f"{local(line.us + shift, HOST_ZONE):%b %e %H:%M:%S} {host} kernel: [{up:12.6f}] {line.text}\n"
