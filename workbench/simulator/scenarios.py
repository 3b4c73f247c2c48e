"""What a simulated cluster records, and what is planted in it: one scenario, one story."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.errors import UnknownNameError
from workbench.simulator.layout import Hazard
from workbench.simulator.plants import Plant, Role

__all__ = ["SCENARIOS", "Channel", "Scenario", "scenario_of"]

_TRUE = ("SUPPORTED",)
_DRIVES = ("SUPPORTED", "UNDECIDED", "REFUTED")  # it carries the load, which does raise the hazard: no word is wrong
_TRAP = ("REFUTED", "UNDECIDED")


@dataclass(frozen=True, kw_only=True)
class Channel:
    """One metric as a source writes it.

    Attributes
    ----------
    source : str
        ``dcgm`` (per GPU), ``node`` (per host) or ``bmc`` (per host, means over 15 minutes).
    name, help, kind : str
        As in the exposition; ``gauge`` or ``counter``.
    metric : str
        Metric id after ingest.
    plant : Plant or None
        Where its values come from; None: ``own`` says which part of the world it shows
        (``load``, ``temperature``, ``xid``).
    offset, scale : float
        Value = offset + scale x, cut to ``low`` .. ``high`` and rounded to multiples of ``quantum``.
    growth : str
        ``counts``: a running total of x. ``rate``: of Poisson counts with mean offset exp(scale x)
        per minute. "": not a running total.
    volatile : bool
        Starts at 0 again when the driver is reloaded after a failure on that host.
    labels : str
        Extra labels, as written.
    expected : tuple of str
        Verdict words that a sound analysis may give it for the scenario's outcome.
    why : str
        What it is, in a sentence.
    """

    source: str
    name: str
    help: str
    metric: str
    kind: str = "gauge"
    plant: Plant | None = None
    own: str = ""
    offset: float = 0.0
    scale: float = 1.0
    low: float = 0.0
    high: float = float("inf")
    quantum: float = 1.0
    growth: str = ""
    volatile: bool = False
    labels: str = ""
    expected: tuple[str, ...] = _TRAP
    why: str = ""

    @property
    def decimals(self) -> int:
        """Decimals that the source prints."""
        return 0 if self.quantum >= 1.0 else len(f"{self.quantum:g}".partition(".")[2])


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One story.

    Attributes
    ----------
    outcome : mapping of failure kind to selector
        What to ask for; the first is the scenario's main question.
    failures, episodes : int
        For the scenario's own size; scaled with hosts and days.
    """

    name: str
    about: str
    hosts: int
    gpus: int
    days: float
    failures: int
    episodes: int
    rack_size: int
    job_hosts: tuple[int, int]
    outcome: Mapping[str, str]
    channels: tuple[Channel, ...]
    hazard: Hazard = field(default_factory=Hazard)


def _dcgm(name: str, text: str, metric: str, **more: object) -> Channel:
    return Channel(source="dcgm", name=f"DCGM_FI_{name}", help=text, metric=f"gpu.{metric}", **more)  # type: ignore[arg-type]


def _node(name: str, text: str, metric: str, **more: object) -> Channel:
    return Channel(source="node", name=f"node_{name}", help=text, metric=metric, **more)  # type: ignore[arg-type]


def _gpu_plant(name: str, role: Role, **more: object) -> Plant:
    return Plant(name=name, role=role, scope="gpu", **more)  # type: ignore[arg-type]


def _host_plant(name: str, role: Role, **more: object) -> Plant:
    return Plant(name=name, role=role, scope="host", **more)  # type: ignore[arg-type]


def _ecc(plant: Plant, expected: tuple[str, ...], why: str) -> Channel:
    return _dcgm(
        "DEV_ECC_SBE_VOL_TOTAL",
        "Total number of single-bit volatile ECC errors.",
        "ecc_sbe_total",
        kind="counter",
        plant=plant,
        growth="counts",
        volatile=True,
        expected=expected,
        why=why,
    )


_ECC_BURST = _ecc(
    _gpu_plant("sbe", Role.BURST, share=0.75, size=2.0, failure_kind="memory"),
    _TRUE,
    "true precursor: a burst of 5 to 20 minutes that starts 15 to 90 minutes before three of four failures",
)
_ECC_NOISE = _ecc(_gpu_plant("sbe", Role.NOISE, base="sparse"), _TRAP, "noise: bursts that precede nothing")

_OWN = (
    _dcgm(
        "DEV_GPU_UTIL", "GPU utilization (in %).", "util_percent",
        own="load", scale=100.0, high=100.0, expected=_DRIVES, why="the load itself, which raises the hazard",
    ),
    _dcgm(
        "DEV_POWER_USAGE", "Power draw (in W).", "power_w",
        plant=_gpu_plant("power", Role.LOAD), offset=70.0, scale=110.0, quantum=0.1, low=55.0, expected=_DRIVES,
        why="follows the load, which raises the hazard; stands for the load where it is the one recorded",
    ),
    _dcgm(
        "DEV_GPU_TEMP", "GPU temperature (in C).", "temperature_c",
        own="temperature", high=110.0, why="follows the load with a delay; has no effect of its own",
    ),
    _dcgm(
        "DEV_XID_ERRORS", "Value of the last XID error encountered.", "xid_last",
        own="xid", why="consequence: repeats the last Xid until the driver is reloaded",
    ),
)  # fmt: skip
_TRAPS = (
    _dcgm(
        "DEV_FB_USED", "Framebuffer memory used (in MiB).", "memory_used_mib",
        plant=_gpu_plant("memory", Role.PHASE), offset=72000.0, scale=-9000.0, quantum=128.0, high=81559.0,
        why="follows the age of the job: young jobs hold little memory, and fail more often",
    ),
    _dcgm(
        "PROF_PCIE_TX_BYTES", "The rate of data transmitted over the PCIe bus - including both protocol headers and data payloads - in bytes "
        "per second.",
        "pcie_tx_bytes_per_s",
        plant=_gpu_plant("pcie", Role.LOAD), scale=2.0e9, quantum=1.0e7, why="follows the load; does nothing itself",
    ),
)  # fmt: skip
_PCIE_RAMP = _dcgm(
    "DEV_PCIE_REPLAY_COUNTER", "Total number of PCIe retries.", "pcie_replay_total",
    kind="counter", plant=_gpu_plant("pcie_replay", Role.RAMP, share=0.75, size=1.5, failure_kind="bus"),
    growth="rate", offset=0.05, volatile=True, expected=_TRUE,
    why="true precursor of Xid 79 only: rises over about an hour before three of four",
)  # fmt: skip
_HOST = (
    _node(
        "cpu_scaling_frequency_hertz", "Current scaled CPU thread frequency in hertz.",
        "node_cpu_scaling_frequency_hertz",
        plant=_host_plant("frequency", Role.ROLLOUT), offset=3.1e9, scale=-5.0e7, quantum=2.5e7,
        why="a clock limit is rolled out to all hosts and taken back, over the epoch of extra failures",
    ),
    _node(
        "load1", "1m load average.", "host.load1",
        plant=_host_plant("load1", Role.LOAD), scale=12.0, quantum=0.01, expected=_DRIVES,
        why="follows the load, which raises the hazard",
    ),
    _node(
        "memory_MemAvailable_bytes", "Memory information field MemAvailable_bytes.", "host.memory_available_bytes",
        plant=_host_plant("available", Role.NOISE, base="walk"), offset=1.2e12, scale=6.0e10, quantum=4096.0 * 65536,
        why="noise: a random walk",
    ),
)  # fmt: skip
_BMC = Channel(
    source="bmc", name="mean_power_15min", help="Means over 15 minutes, stamped at their start.", metric="mean_power_15min",
    plant=_host_plant("bmc", Role.COARSE, size=1.0), offset=5200.0, scale=-350.0,
    why="consequence: falls when the job stops, but the 15-minute mean is stamped before it",
)  # fmt: skip
_HARD = (
    _dcgm(
        "DEV_SM_CLOCK", "SM clock frequency (in MHz).", "sm_clock_mhz",
        plant=_gpu_plant("clock", Role.ROLLOUT), offset=1755.0, scale=-30.0, quantum=15.0, high=1980.0,
        why="a clock limit is rolled out to all hosts and taken back, over the epoch of extra failures",
    ),
    _dcgm(
        "DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "Total number of NVLink retries.", "nvlink_replay_errors_total",
        kind="counter", plant=_gpu_plant("replay", Role.AFTER), growth="rate", offset=0.05, scale=1.0, volatile=True,
        why="consequence: rises 12 to 20 minutes after the failure, when links are trained again",
    ),
    _dcgm(
        "DEV_POWER_VIOLATION", "Throttling duration due to power constraints (in us).", "power_violation_total",
        kind="counter", plant=_gpu_plant("violation", Role.FRAIL), growth="rate", offset=40.0, scale=0.2,
        why="stable trait of the GPU, which also raises its hazard",
    ),
    _dcgm(
        "PROF_PCIE_RX_BYTES", "The rate of data received over the PCIe bus - including both protocol headers and data payloads - in bytes "
        "per second.",
        "pcie_rx_bytes_per_s",
        plant=_gpu_plant("rx", Role.SELECT), scale=4.0e9, quantum=1.0e7,
        why="busy or not: failures are recorded on busy hosts only",
    ),
    _node(
        "memory_Dirty_bytes", "Memory information field Dirty_bytes.", "host.memory_dirty_bytes",
        plant=_host_plant("dirty", Role.OUTAGE), offset=4.0e9, scale=5.0e8, quantum=4096.0,
        why="its collector chokes, falls silent and catches up, all within the epoch of extra failures",
    ),
    _node(
        "hwmon_fan_rpm", "Hardware monitor for fan revolutions per minute (input).", "node_hwmon_fan_rpm",
        plant=_host_plant("fan", Role.COOLING), offset=7200.0, scale=240.0, quantum=60.0,
        why="fans speed up on the racks with a cooling incident, which also fail more often in the epoch",
    ),
    _node(
        "memory_MemFree_bytes", "Memory information field MemFree_bytes.", "host.memory_free_bytes",
        plant=_host_plant("free", Role.NOISE, base="trend"), offset=9.0e11, scale=-2.0e10, quantum=4096.0 * 65536,
        why="noise: a trend, each host its own",
    ),
    _node(
        "context_switches_total", "Total number of context switches.", "host.context_switches_total",
        kind="counter", plant=_host_plant("switches", Role.NOISE, base="counter"), scale=1000.0,
        why="noise: a raw counter, its rate a trait of each host, with resets",
    ),
    _node(
        "procs_blocked", "Number of processes blocked waiting for I/O to complete.", "host.processes_blocked",
        plant=_host_plant("blocked", Role.NOISE, base="heavy"), offset=2.0, why="noise with heavy tails",
    ),
)  # fmt: skip

_DEMO_HAZARD = Hazard(load=3.5, temperature=0.0, young=1.5, epoch=1.0, cooling=0.8, lemon=1.0)
_MEMORY = {"memory": "xid:48,94,95"}
SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            name="first_incident",
            about="GPUs are lost to memory errors; corrected errors burst before most of them, and traps lie beside it",
            hosts=40, gpus=2, days=2.0, failures=32, episodes=28, rack_size=4, job_hosts=(8, 16), outcome=_MEMORY, hazard=_DEMO_HAZARD,
            channels=(*_OWN, _ECC_BURST, *_TRAPS, *_HOST, _BMC),
        ),
        Scenario(
            name="null",
            about="the same cluster, losses and traps, and nothing that precedes a loss",
            hosts=40, gpus=2, days=2.0, failures=32, episodes=28, rack_size=4, job_hosts=(8, 16), outcome=_MEMORY, hazard=_DEMO_HAZARD,
            channels=(*_OWN, _ECC_NOISE, *_TRAPS, *_HOST, _BMC),
        ),
        Scenario(
            name="traps",
            about="two kinds of loss, each with a precursor of its own, and every trap that we know",
            hosts=48, gpus=2, days=4.0, failures=100, episodes=80, rack_size=4, job_hosts=(8, 16), hazard=_DEMO_HAZARD,
            outcome={**_MEMORY, "bus": "xid:79"},
            channels=(*_OWN, _ECC_BURST, *_TRAPS, _PCIE_RAMP, *_HARD, *_HOST, _BMC),
        ),
    )
}  # fmt: skip


def scenario_of(name: str) -> Scenario:
    """Give a scenario by name.

    Raises
    ------
    UnknownNameError
        With the nearest names.

    Examples
    --------
    >>> scenario_of("null").hosts
    40
    """
    if name not in SCENARIOS:
        known = [*SCENARIOS, "names"]  # the last is written by a module of its own
        raise UnknownNameError("scenario", name, known, f"Known: {', '.join(known)}.")
    return SCENARIOS[name]
