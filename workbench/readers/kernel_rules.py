"""What single lines of a Linux kernel log say: one rule a message, each a regular expression.

Spellings follow the kernel's and the drivers' own print statements. A rule names the event kind;
its named groups are the code (``code``), the device (``device``), and attributes. Events that
span lines are in :mod:`workbench.readers.kernel_groups`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from workbench.model.pci import normal_pci_column

__all__ = ["LINE_RULES", "PCI", "Rule", "parsed", "typed"]

#: A PCI address as drivers print it.
PCI = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"
_INTEGERS = frozenset(
    {"bank", "compute_instance", "count", "cpu", "engine", "gpu_instance", "killed_pid", "level", "link", "module"}
    | {"pid", "port", "seconds", "sector", "skipped", "subengine", "time", "uid", "watts"}
)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One message of the kernel.

    Attributes
    ----------
    kind : str
        Kind of the event.
    find : str
        Text that every such message holds: the cheap first test.
    pattern : str
        Its named groups are ``code``, ``device`` and attributes. A PCI address in ``device`` is
        written in one way, and kept as written in the attribute ``pci``.
    device_kind : str
        Kind of ``device``; the event is the host's own where that group is missing or empty.
    codes : mapping
        Codes as we write them, by what stands in the message; others in lower case.
    code : str or None
        For messages that have no ``code`` group.
    backdate : int
        The message comes this many times its ``seconds`` after the fact, at most.
    """

    kind: str
    find: str
    pattern: str
    device_kind: str = "host"
    codes: Mapping[str, str] = field(default_factory=dict)
    code: str | None = None
    backdate: int = 0


_LINK = {"ACTIVE": "up", "UP": "up", "Up": "up", "DOWN": "down", "Down": "down"}
_NFS = {"not responding, still trying": "not_responding", "not responding, timed out": "timed_out", "OK": "ok"}
_NVME = {
    "timeout": "timeout",
    "controller is down": "down",
    "Device not ready": "not_ready",
    "Removing after probe failure": "removed",
}
_TARGET = r"(?P<target>[A-Za-z0-9_]+-(?:OST|MDT|MGT)[0-9a-fA-F]{0,4})"  # what follows is a pointer
_LUSTRE = {
    "was lost": "lost",
    "Connection restored": "restored",
    "was evicted": "evicted",
    "Skipped": "skipped",
}

#: In order of priority: a line is what the first rule that fits says it is.
LINE_RULES = (
    Rule(
        kind="link",
        find=": Link ",
        pattern=rf"^(?P<driver>\S+) (?P<device>{PCI})(?: (?P<netdev>[^\s:]+))?: (?:Port: (?P<port>\d+) )?"
        r"Link (?:is )?(?P<code>[Uu]p|[Dd]own|UP|DOWN|ACTIVE|INIT|ARMED)\b",
        device_kind="nic",
        codes=_LINK,
    ),
    Rule(
        kind="link",
        find=" Link ",
        pattern=rf"^(?P<driver>\S+) (?P<device>{PCI})(?: (?P<netdev>[^\s:]+))?: (?:NIC |Port: (?P<port>\d+) )"
        r"Link (?:is )?(?P<code>[Uu]p|[Dd]own|UP|DOWN|ACTIVE|INIT|ARMED)\b",
        device_kind="nic",
        codes=_LINK,
    ),
    Rule(
        kind="link",
        find="link status definitely ",
        pattern=r"^(?:bonding: )?(?P<bond>[^\s:]+): (?:\(slave (?P<device>[^)]+)\): )?link status definitely "
        r"(?P<code>up|down)(?: for (?:active )?interface (?P<netdev>[^\s,]+))?",
        device_kind="nic",
    ),
    Rule(
        kind="cable",
        find="Port module event",
        pattern=rf"^(?P<driver>\S+) (?P<device>{PCI})[^:]*: Port module event(?:\[error\])?: module (?P<module>\d+), "
        r"Cable (?P<code>plugged|unplugged|error)(?:, (?P<detail>.*))?$",
        device_kind="nic",
    ),
    Rule(
        kind="slot_power",
        find="insufficient power on the PCIe slot",
        pattern=rf"^(?P<driver>\S+) (?P<device>{PCI}): .*insufficient power on the PCIe slot \((?P<watts>\d+)W\)",
        device_kind="nic",
    ),
    Rule(
        kind="edac",
        find="EDAC ",
        pattern=r"^EDAC (?P<controller>[^\s:]+): (?P<count>\d+) (?P<code>CE|UE) (?P<what>[^(]*?)(?: on (?P<device>[^\s(]+) )?\(",
        device_kind="dimm",
        codes={"CE": "CE", "UE": "UE"},
    ),
    Rule(
        kind="nfs",
        find="nfs: server ",
        pattern=r"^nfs: server (?P<server>\S+) (?P<code>not responding, still trying|not responding, timed out|OK)",
        codes=_NFS,
    ),
    Rule(
        kind="lustre",
        find="Lustre",
        pattern=r"^Lustre(?:Error)?: (?P<code>Skipped) (?P<skipped>\d+) previous similar message",
        codes=_LUSTRE,
    ),
    Rule(
        kind="lustre",
        find="Lustre: ",
        pattern=rf"^Lustre: .*?{_TARGET}.*?(?:\(at (?P<nid>[^)\s]+)\) )?(?P<code>was lost)",
        codes=_LUSTRE,
    ),
    Rule(
        kind="lustre",
        find="Lustre: ",
        pattern=rf"^Lustre: .*?{_TARGET}.*?(?P<code>Connection restored|was evicted)(?:.*\(at (?P<nid>[^)\s]+)\))?",
        codes=_LUSTRE,
    ),
    Rule(
        kind="lustre",
        find="LustreError: ",
        pattern=rf"^LustreError: (?:.*?{_TARGET})?"
        r"(?:.*?(?P<code>was evicted))?(?:.*? rc = (?P<rc>-?\d+))?",
        codes=_LUSTRE,
        code="error",
    ),
    Rule(
        kind="hung_task",
        find="blocked for more than ",
        pattern=r"^(?:INFO: )?task (?P<task>.+):(?P<pid>\d+) blocked for more than (?P<seconds>\d{1,7}) seconds",
        backdate=2,  # the watchdog looks once in so many seconds, and speaks after as many more
    ),
    Rule(
        kind="lockup",
        find="soft lockup - CPU",
        pattern=r"^(?:NMI )?(?:watchdog: )?BUG: soft lockup - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d{1,7})s!(?: \[(?P<task>.+):(?P<pid>\d+)\])?",
        code="soft",
        backdate=1,
    ),
    Rule(
        kind="lockup",
        find="hard LOCKUP",
        pattern=r"^(?:NMI )?watchdog: (?:Watchdog detected )?hard LOCKUP on cpu (?P<cpu>\d+)",
        code="hard",
    ),
    Rule(
        kind="lockup",
        find="detected stall",
        pattern=r"^(?:rcu: )?(?:INFO: )?rcu_\w+ (?:self-)?detected stalls?",
        code="rcu",
    ),
    Rule(
        kind="segfault",
        find="]: segfault at ",
        pattern=r"^(?P<name>[^\[]+)\[(?P<pid>\d+)\]: segfault at [^\[]*? in (?P<library>[^\[\s]+)\[",
    ),
    Rule(kind="peermem", find="nvidia-peermem ", pattern=r"^nvidia-peermem (?P<function>\S+) ERROR (?P<detail>.*)$"),
    Rule(
        kind="nvme",
        find="nvme nvme",
        pattern=r"^nvme (?P<device>nvme\d+): .*?(?P<code>timeout|controller is down|Device not ready|"
        r"Removing after probe failure)",
        device_kind="disk",
        codes=_NVME,
    ),
    Rule(
        kind="io_error",
        find="error, dev ",
        pattern=r"^(?:[\w.]+: )?(?P<code>I/O|critical \w+) error, dev (?P<device>[^\s,]+), sector (?P<sector>\d+)",
        device_kind="disk",
        codes={"I/O": "io", "critical medium": "medium", "critical target": "target", "critical space": "space"},
    ),
    Rule(
        kind="filesystem",
        find="emounting filesystem read-only",
        pattern=r"^(?P<type>[^\s:(]+) \((?P<device>[^):]+)[^)]*\): Remounting filesystem read-only",
        device_kind="disk",
        code="readonly",
    ),
    Rule(
        kind="filesystem",
        find="-fs error (device ",
        pattern=r"^(?P<type>\S+)-fs error \(device (?P<device>[^)]+)\)",
        device_kind="disk",
        code="error",
    ),
    Rule(
        kind="gpu_init",
        find="RmInitAdapter failed",
        pattern=rf"^NVRM: (?:GPU )?(?P<device>{PCI}): RmInitAdapter failed",
        device_kind="gpu",
        code="failed",
    ),
    Rule(
        kind="cpu_throttle",
        find="cpu clock throttled",
        pattern=r"^(?:mce: )?CPU(?P<cpu>\d+): (?P<code>Core|Package) temperature (?:is )?above threshold",
    ),
    Rule(
        kind="log.lost",
        find="callbacks suppressed",
        pattern=r"^(?P<function>[^\s:]+): (?P<count>\d+) callbacks suppressed",
    ),
    Rule(kind="boot", find="Linux version ", pattern=r"^Linux version (?P<version>\S+)"),
    Rule(kind="panic", find="Kernel panic - ", pattern=r"^Kernel panic - not syncing: (?P<detail>.*)$"),
)


def parsed(lines: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Give the rows of ``lines`` that ``rule`` fits, with what its groups caught.

    Parameters
    ----------
    lines : polars.DataFrame
        With ``text``; its other columns are kept.

    Returns
    -------
    polars.DataFrame
        With ``kind``, ``code``, ``device_kind``, ``device`` and the attributes, typed.

    Examples
    --------
    >>> lines = pl.DataFrame({"text": ["mlx5_core 0000:5e:00.0 ibp94s0: Link down", "Link to nowhere"]})
    >>> parsed(lines, LINE_RULES[0]).select("kind", "code", "device_kind", "device", "netdev").rows()
    [('link', 'down', 'nic', '0000:5e:00', 'ibp94s0')]
    """
    fits = lines.filter(pl.col("text").str.contains(rule.pattern))
    groups = _groups(rule.pattern)
    caught = fits.with_columns(pl.col("text").str.extract_groups(rule.pattern).struct.unnest()) if groups else fits
    code = pl.lit(rule.code, pl.String)
    if "code" in groups:
        said = pl.col("code").replace_strict(
            rule.codes, default=pl.col("code").str.to_lowercase(), return_dtype=pl.String
        )
        code = said.fill_null(code)
    device = pl.col("device") if "device" in groups else pl.lit(None, pl.String)
    if rule.kind == "link" and "bond" in groups:
        device = device.fill_null(pl.col("netdev"))
    pci = normal_pci_column(device)
    return typed(
        caught.with_columns(
            kind=pl.lit(rule.kind),
            code=code,
            device=pci.fill_null(device),
            device_kind=pl.when(device.is_null()).then(pl.lit("host")).otherwise(pl.lit(rule.device_kind)),
            **({"pci": pl.when(pci.is_not_null()).then(device)} if "device" in groups else {}),
        )
    )


def typed(caught: pl.DataFrame) -> pl.DataFrame:
    """Turn the attributes that are whole numbers into integers; empty ones into null.

    Examples
    --------
    >>> typed(pl.DataFrame({"pid": ["7", ""], "name": ["a", ""]})).rows()
    [(7, 'a'), (None, '')]
    """
    whole = [name for name in caught.columns if name in _INTEGERS and caught.schema[name] == pl.String]
    return caught.with_columns(pl.col(whole).cast(pl.Int64, strict=False))


def _groups(pattern: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\(\?P<(\w+)>", pattern))
