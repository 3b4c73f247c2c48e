"""What single lines of a Linux kernel log say: one rule a message, each a regular expression.

Spellings follow the kernel's and the drivers' own print statements. Those of storage are in
:mod:`workbench.readers.kernel_storage`; events that span lines in
:mod:`workbench.readers.kernel_groups`.
"""

from __future__ import annotations

from workbench.readers.kernel_rule import PCI, Rule
from workbench.readers.kernel_storage import STORAGE_RULES

__all__ = ["LINE_RULES"]

_LINK = {"ACTIVE": "up", "UP": "up", "Up": "up", "DOWN": "down", "Down": "down"}
_NIC = {
    "health compromised": "compromised",
    "device in error": "error",
    "High temperature": "temperature",
    "ACCESS_REG": "command_failed",
}
_PCIE = {
    "containment event": "contained",
    "device recovery failed": "recovery_failed",
    "device recovery successful": "recovered",
    "Link Down": "link_down",
    "Link Up": "link_up",
    "Card not present": "not_present",
    "Card present": "present",
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
        find=": Port: ",
        pattern=r"^(?:(?P<driver>infiniband) )?(?P<device>mlx\d_\d+): Port: (?P<port>\d+) "
        r"Link (?:is )?(?P<code>UP|DOWN|ACTIVE|INIT|ARMED)\b",
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
        kind="nic_health",
        find="mlx5_core ",
        pattern=rf"^(?P<driver>mlx5_core) (?P<device>{PCI})[^:]*: .*?"
        r"(?P<code>health compromised|device in error|High temperature|ACCESS_REG)\b",
        device_kind="nic",
        codes=_NIC,
    ),
    Rule(
        kind="pcie",
        find="pcieport ",
        pattern=rf"^(?P<driver>pcieport) (?P<device>{PCI}): (?:(?P<service>pciehp|AER|DPC): )?(?:Slot\((?P<slot>[^)]*)\): )?"
        r"(?P<code>containment event|device recovery failed|device recovery successful|Link Down|Link Up|Card not present|"
        r"Card present)\b",
        device_kind="pci",
        codes=_PCIE,
    ),
    Rule(
        kind="edac",
        find="EDAC ",
        pattern=r"^EDAC (?P<controller>[^\s:]+): (?P<count>\d+) (?P<code>CE|UE) (?P<what>[^(]*?)(?: on (?P<device>[^\s(]+) )?\(",
        device_kind="dimm",
        codes={"CE": "CE", "UE": "UE"},
    ),
    *STORAGE_RULES,
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
    Rule(
        kind="gpu_error",
        find="uvm encountered global fatal error",
        pattern=r"^NVRM: .*uvm encountered global fatal error (?P<status>0x[0-9a-f]+)",
        code="uvm_fatal",
    ),
    Rule(kind="oops", find="Oops: ", pattern=r"^(?:Internal error: )?Oops: (?P<detail>.{0,200})"),
    Rule(kind="oops", find="general protection fault", pattern=r"^general protection fault\b(?P<detail>.{0,200})\[#"),
    Rule(
        kind="log.lost",
        find=" messages suppressed",
        pattern=r"^(?P<function>[^\s:]+): (?P<count>\d+) messages suppressed",
    ),
    Rule(kind="boot", find="Linux version ", pattern=r"^Linux version (?P<version>\S+)"),
    Rule(kind="panic", find="Kernel panic - ", pattern=r"^Kernel panic - not syncing: (?P<detail>.*)$"),
)
