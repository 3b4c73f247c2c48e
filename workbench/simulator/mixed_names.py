"""Dumps in which every source names every device in its own way: what must join, what cannot, what must not.

Values carry the number of the GPU that they are of, so that a wrong join shows in the number itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import UsageError
from workbench.simulator.exposition import text_file
from workbench.simulator.noise import stream
from workbench.simulator.site_text import node_list
from workbench.timebase import MICROS, format_us, from_us

__all__ = ["CODE_OF_LOSS", "LEAST_HOSTS", "MixedNames", "write_mixed_names"]

#: Fast, rebooted, unlisted by nvidia-smi, with a BMC that nobody states; and some that are plain.
LEAST_HOSTS = 6
CODE_OF_LOSS = 79
_GPUS = 4
_START_US = 1_772_409_600_000_000  # 2026-03-02T00:00:00Z
_HOUR_US = 3600 * MICROS
_FAST_S = 90
_BUS = ("18", "2A", "9A", "DB")
_NIC = ("0000:5e:00.0", "mlx5_0", "ibp94s0")
_STEP_US = 600 * MICROS
_SMI_EVERY_US = 1800 * MICROS


@dataclass(frozen=True, kw_only=True)
class MixedNames:
    """What is where: hosts by number, GPUs by (host, place).

    Attributes
    ----------
    hosts : int
    span_us : int
    fast, rebooted, dark : int
        Clock 90 s ahead; order of its GPUs turned around at a reboot; not listed by nvidia-smi.
    reboot_us : int
    """

    hosts: int
    span_us: int
    fast: int = 1
    rebooted: int = 2
    seed: int = 0

    @property
    def dark(self) -> int:
        """The last host."""
        return self.hosts - 1

    @property
    def reboot_us(self) -> int:
        """In the middle, between two listings."""
        return _START_US + (self.span_us // 2 // _SMI_EVERY_US) * _SMI_EVERY_US + 700 * MICROS

    def short(self, host: int) -> str:
        """As jobs, files of logs and listings have it."""
        return f"node{host + 1:02d}"

    def bmc(self, host: int) -> str:
        """As the BMC calls itself."""
        return f"r1u{host + 1:02d}-bmc"

    def number(self, host: int, place: int) -> int:
        """Of a GPU: its values are 1000 and this."""
        return host * _GPUS + place

    def uuid(self, host: int, place: int) -> str:
        """Of a GPU, by its slot."""
        words = stream(self.seed, f"uuid {host} {place}").integers(0, 2**32, 4)
        text = "".join(f"{word:08x}" for word in words.tolist())
        return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def index(self, host: int, place: int, us: int) -> int:
        """The number that the driver gives to the GPU of a slot at a time."""
        return _GPUS - 1 - place if host == self.rebooted and us >= self.reboot_us else place

    def shift(self, host: int) -> int:
        """How much the clock of a host is ahead, microseconds."""
        return _FAST_S * MICROS if host == self.fast else 0

    def down(self, host: int, us: int) -> bool:
        """Tell whether the host is rebooting."""
        return host == self.rebooted and self.reboot_us - 200 * MICROS <= us < self.reboot_us

    def times(self, every_us: int) -> range:
        """True times of what is written now and then."""
        return range(_START_US, _START_US + self.span_us, every_us)


def write_mixed_names(folder: Path, *, seed: int, hosts: int | None, days: float | None) -> dict[str, Any]:
    """Write dumps, ``mapping.toml``, ``names.csv``, ``truth.json`` and ``README.txt``; give the truth.

    Raises
    ------
    UsageError
        Fewer than six hosts, or less than half a day.
    """
    count, span = hosts or 8, days or 1.0
    if count < LEAST_HOSTS or count > 99 or span < 0.5:
        raise UsageError(f"The names of {count} hosts over {span:g} days: allow 6 to 99 hosts and half a day.")
    site = MixedNames(hosts=count, span_us=round(span * 24 * _HOUR_US), seed=seed)
    dumps = folder / "dumps"
    losses, teardowns = _losses(site), _teardowns(site)
    for host in range(count):
        _write(dumps / "dcgm" / f"target-{host}.prom", _exposition(site, host))
        _write(dumps / "collector" / f"part-{host}.csv", _clocks_csv(site, host))
        _write(dumps / "kernel" / f"{site.short(host)}.dmesg.iso.txt", _kernel(site, host, losses, teardowns))
        _write(dumps / "bmc" / f"{site.bmc(host)}.sel.txt", _sel(site, host))
        _write(dumps / "net" / f"{site.short(host)}.ibdev2netdev.txt", _ibdev(site))
        _write(dumps / "node_exporter" / f"target-{host}.prom", _node_exporter(site, host))
        if host != site.dark:
            _write(dumps / "smi" / f"{site.short(host)}.csv", _smi(site, host))
    _write(dumps / "slurm" / "sacct.txt", _sacct(site, teardowns))
    truth = _truth(site, losses)
    _write(folder / "names.csv", _names_csv(site))
    _write(folder / "mapping.toml", [_MAPPING])
    _write(folder / "truth.json", [json.dumps(truth, indent=1), "\n"])
    _write(folder / "README.txt", [_README])
    return truth


def _write(path: Path, lines: Iterator[str] | list[str]) -> None:
    with text_file(path) as out:
        for line in lines:
            out.write(line.encode())


def _losses(site: MixedNames) -> list[tuple[int, int, int]]:
    """(true us, host, place) of GPUs that fall off the bus: two a host, before and after the middle."""
    rng = stream(site.seed, "losses")
    half = site.span_us // 2
    return sorted(
        (_START_US + int(rng.integers(part * half + _HOUR_US, (part + 1) * half - _HOUR_US)), host, place)
        for host in range(site.hosts)
        for part, place in enumerate(rng.integers(0, _GPUS, 2).tolist())
    )


def _teardowns(site: MixedNames) -> list[tuple[int, tuple[int, ...]]]:
    """(true us, hosts) of jobs that end: all their GPUs say so within seconds."""
    rng = stream(site.seed, "teardowns")
    moments = np.sort(rng.integers(_START_US + _HOUR_US, _START_US + site.span_us - _HOUR_US, 14))
    return [(int(at), tuple(sorted(rng.permutation(site.hosts)[: max(5, site.hosts - 2)].tolist()))) for at in moments]


def _exposition(site: MixedNames, host: int) -> Iterator[str]:
    """Yield scrapes of an exporter in a pod: ``Hostname`` is the pod, ``instance`` its address."""
    yield "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
    for us in site.times(_STEP_US):
        if site.down(host, us):
            continue
        for place in range(_GPUS):
            labels = (
                f'gpu="{site.index(host, place, us)}",UUID="{site.uuid(host, place)}",'
                f'pci_bus_id="00000000:{_BUS[place]}:00.0",Hostname="dcgm-exporter-{host:02d}x7q",instance="10.244.{host}.9:9400"'
            )
            stamp = (us + site.shift(host)) // 1000
            yield f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} {1000 + site.number(host, place)} {stamp}\n"


def _node_exporter(site: MixedNames, host: int) -> Iterator[str]:
    """Yield scrapes under the full name of the host; the adapter by its netdev and by its HCA."""
    yield "# TYPE node_load1 gauge\n# TYPE node_network_mtu_bytes gauge\n# TYPE node_infiniband_info gauge\n"
    instance = f'instance="{site.short(host).title()}.hpc.example.com:9100"'
    for us in site.times(6 * _STEP_US):
        stamp = (us + site.shift(host)) // 1000
        yield f"node_load1{{{instance}}} {1000 + host} {stamp}\n"
        yield f'node_network_mtu_bytes{{{instance},device="{_NIC[2]}"}} {1000 + host} {stamp}\n'
        yield f'node_infiniband_info{{{instance},device="{_NIC[1]}"}} 1 {stamp}\n'


def _clocks_csv(site: MixedNames, host: int) -> Iterator[str]:
    """Yield a collector that knows index and host name in capitals only."""
    yield "time,host,gpu,sm_clock_mhz\n"
    for us in site.times(_STEP_US):
        if site.down(host, us):
            continue
        stamp = format_us(us + site.shift(host))
        for place in range(_GPUS):
            index = site.index(host, place, us)
            yield f"{stamp},{site.short(host).upper()},{index},{1000 + site.number(host, place)}\n"


def _smi(site: MixedNames, host: int) -> Iterator[str]:
    """Yield ``nvidia-smi --query-gpu`` every half hour: index, UUID and address side by side."""
    yield "timestamp, index, uuid, pci.bus_id, power.draw [W]\n"
    for us in site.times(_SMI_EVERY_US):
        stamp = f"{from_us(us + site.shift(host)):%Y/%m/%d %H:%M:%S}.000"
        for index in range(_GPUS):
            place = next(place for place in range(_GPUS) if site.index(host, place, us) == index)
            yield (
                f"{stamp}, {index}, {site.uuid(host, place)}, 00000000:{_BUS[place]}:00.0, "
                f"{1000 + site.number(host, place)}.00 W\n"
            )


def _kernel(
    site: MixedNames, host: int, losses: list[tuple[int, int, int]], teardowns: list[tuple[int, tuple[int, ...]]]
) -> list[str]:
    rng = stream(site.seed, f"kernel {host}")
    lines: list[tuple[int, str]] = []
    for us, where, place in losses:
        if where == host:
            text = f"NVRM: Xid (PCI:0000:{_BUS[place].lower()}:00): 79, pid=4711, name=python3, GPU has fallen off the bus."
            lines.append((us, text))
    for us, members in teardowns:
        late = int(rng.integers(0, 3 * MICROS))
        for place in range(_GPUS if host in members else 0):
            text = f"NVRM: Xid (PCI:0000:{_BUS[place].lower()}:00): 45, pid=4711, name=python3, Ch 00000008"
            lines.append((us + late + place * 1000, text))
    down = _START_US + int(rng.integers(_HOUR_US, site.span_us - _HOUR_US))
    lines.append((down, f"mlx5_core {_NIC[0]} {_NIC[2]}: Link down"))
    stamped = ((us + site.shift(host), text) for us, text in sorted(lines))
    return [
        f"kern  :err   : {from_us(us).isoformat(timespec='microseconds').replace('.', ',')} {text}\n"
        for us, text in stamped
    ]


def _sel(site: MixedNames, host: int) -> list[str]:
    rng = stream(site.seed, f"sel {host}")
    moments = np.sort(rng.integers(_START_US, _START_US + site.span_us, 3)).tolist()
    return [
        f"{number:4x} | {from_us(us):%m/%d/%Y} | {from_us(us):%H:%M:%S} UTC | Fan FAN{number} | Lower Critical going low  | Asserted\n"
        for number, us in enumerate(moments, start=1)
    ]


def _ibdev(site: MixedNames) -> list[str]:
    pci, hca, netdev = _NIC
    model = "(MT4129 - MCX75310AAS-NEAT) ConnectX-7 fw 28.39.1002"
    return [f"{pci} {hca} {model} port 1 (ACTIVE) ==> {netdev} (Up)\n"] if site.hosts else []


def _sacct(site: MixedNames, teardowns: list[tuple[int, tuple[int, ...]]]) -> Iterator[str]:
    yield "JobID|JobIDRaw|JobName|User|Submit|Start|End|State|ExitCode|NNodes|NodeList\n"
    for number, (us, members) in enumerate(teardowns, start=7001):
        start, end = (f"{from_us(at):%Y-%m-%dT%H:%M:%S}" for at in (us - _HOUR_US // 2, us + 4 * MICROS))
        nodes = node_list([site.short(host) for host in members])
        yield f"{number}|{number}|train|u1|{start}|{start}|{end}|FAILED|1:0|{len(members)}|{nodes}\n"


def _names_csv(site: MixedNames) -> list[str]:
    stated = [f"{site.bmc(host)},{site.short(host)}\n" for host in range(site.hosts) if host != 0]
    return ["name,same_as\n", *stated]


def _truth(site: MixedNames, losses: list[tuple[int, int, int]]) -> dict[str, Any]:
    gap = _open_span(site)
    lost_rows = sum(_GPUS for us in site.times(_STEP_US) if not site.down(site.rebooted, us) and gap[0] < us < gap[1])
    rows = sum(_GPUS for us in site.times(_STEP_US))
    return {
        "schema": "workbench.truth/1", "scenario": "names", "about": _ABOUT, "seed": site.seed, "hosts": site.hosts,
        "gpus_per_host": _GPUS, "episodes": 0, "signals": [], "failures": [
            {
                "host": site.short(host), "true": format_us(us), "kernel_log_says": format_us(us + site.shift(host)),
                "pci": f"0000:{_BUS[place].lower()}:00", "uuid": site.uuid(host, place), "joins": host != site.dark,
            }
            for us, host, place in losses
        ],
        "gpus": [
            {"host": site.short(host), "uuid": site.uuid(host, place), "value": 1000 + site.number(host, place)}
            for host in range(site.hosts)
            for place in range(_GPUS)
        ],
        "clocks": {"fast_host": site.short(site.fast), "fast_by_s": _FAST_S},
        "reboot": {"host": site.short(site.rebooted), "at": format_us(site.reboot_us)},
        "adapter": {"pci": _NIC[0].removesuffix(".0"), "hca": _NIC[1], "netdev": _NIC[2]},
        "unjoined": {
            "bmc": site.bmc(0),
            "host_without_listing": site.short(site.dark),
            "collector_rows": {site.short(site.dark): rows, site.short(site.rebooted): lost_rows},
            "exporter_rows": rows,
        },
    }  # fmt: skip


def _open_span(site: MixedNames) -> tuple[int, int]:
    """Between the last listing before the reboot and the first after it, which GPU an index means is open."""
    listed = list(site.times(_SMI_EVERY_US))
    return max(us for us in listed if us < site.reboot_us), min(us for us in listed if us >= site.reboot_us)


_ABOUT = "every source names every device in its own way; one clock is fast, one host turns its GPUs around at a reboot"
_MAPPING = """# What the dumps cannot say themselves. Use: workbench ingest dumps --map mapping.toml ...

[[file]]
match = 'kernel/(?P<host>[^/.]+)\\.dmesg\\.iso\\.txt$'

[[file]]
match = 'smi/(?P<host>[^/.]+)\\.csv$'
zone = "UTC"

[[file]]
match = 'net/(?P<host>[^/.]+)\\.ibdev2netdev\\.txt$'

[[file]]
match = 'bmc/(?P<host>[^/.]+)\\.sel\\.txt$'
zone = "UTC"

[[file]]
match = 'slurm/sacct\\.txt$'
zone = "UTC"

[[alias]]
file = "names.csv"
"""
_README = """Simulated dumps: names
Every source names every device in its own way. truth.json says what is what, and what cannot be joined.

    dumps/dcgm/           from pods: Hostname is the pod, instance its address; GPUs by index, UUID and address
    dumps/collector/      host in capitals, GPU by index only; the index of one host turns around at a reboot
    dumps/smi/            index, UUID and address side by side, every half hour; of one host there is none
    dumps/kernel/         GPUs by address; one clock is 90 s fast
    dumps/node_exporter/  full host names; the adapter by netdev and by HCA
    dumps/net/            ibdev2netdev: address, HCA and netdev side by side
    dumps/bmc/            under names of their own; names.csv says whose they are, but for one
    dumps/slurm/          lists of short names

The value of every GPU metric is 1000 and the number of the GPU that it is of.
Read them in, from this folder:
    workbench ingest dumps --store case --map mapping.toml
    workbench info --store case
"""
