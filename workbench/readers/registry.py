"""All readers, and the choice among them by content."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from workbench.errors import UsageError
from workbench.model.context import Context
from workbench.readers.base import Match, Reader

__all__ = ["BUILT_IN", "about", "readers", "recognise"]

#: Opening brackets of one line; more come from no dump in lines.
_MOST_BRACKETS = 2000
#: One line a format; the order breaks ties.
BUILT_IN = (
    "prometheus_text",
    "promtool_tsdb_dump",
    "otlp_json",
    "loki_json",
    "alertmanager_json",
    "prometheus_query_json",
    "influx_line_protocol",
    "telegraf_json",
    "kernel_log",
    "journald_json",
    "syslog",
    "dcgmi_dmon",
    "nvidia_smi_dmon",
    "nvidia_smi_xml",
    "nvidia_smi_q_text",
    "nvidia_smi_query_csv",
    "nvidia_smi_nvlink",
    "entity_map",
    "gpu_topology",
    "rocm_smi_json",
    "nccl_flight_recorder",
    "fabric_manager_log",
    "ipmi_sel",
    "ipmi_sel_info",
    "ipmi_sensor",
    "redfish",
    "smartctl_json",
    "nvme_smart_log_json",
    "lustre_proc",
    "inventory",
    "change_log",
    "fault_trace",
    "slurm_sacct",
    "slurm_json",
    "slurm_nodes",
    "slurmctld_log",
    "k8s_events",
    "training_log",
    "ib_topology",
    "ib_perfquery",
    "ibswinfo",
    "ethtool_s",
    "rdma_stat",
    "ibdiagnet",
    "sysstat_text",
    "grafana_csv",
    "power_cooling_csv",
    "datadog_csv",
    "collectd_csv",
    "mlxlink",
    "ufm",
    "lldp",
    "parquet",
    "table",
    "topology",
)


@cache
def readers() -> tuple[Reader, ...]:
    """Give the built-in readers, then those of installed plug-ins (``workbench.readers``)."""
    own = [import_module(f"workbench.readers.{name}").READER for name in BUILT_IN]
    theirs = [point.load() for point in entry_points(group="workbench.readers")]
    names = [reader.name for reader in (*own, *theirs)]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UsageError(f"Two readers share a name: {', '.join(sorted(twice))}; uninstall one of the plug-ins.")
    return (*own, *theirs)


def about(reader: Reader) -> str:
    """Say in one line what a reader reads: the first line of its module.

    Examples
    --------
    >>> about(next(reader for reader in readers() if reader.name == "ufm"))
    'What UFM exports: events as CSV, its event log, and telemetry as JSON.'
    """
    text = sys.modules[reader.read.__module__].__doc__ or ""
    return text.strip().split("\n", 1)[0].replace("``", "`")


def recognise(head: bytes, context: Context, among: Sequence[Reader] | None = None) -> tuple[Reader, Match] | None:
    """Choose the reader that is surest of the first bytes of a file.

    Parameters
    ----------
    head : bytes
        Up to 64 KiB of decompressed content.
    context : Context
        What the user stated; a mapping of columns speaks for the table reader.

    Returns
    -------
    (Reader, Match) or None
        None where no reader recognises the content.
    """
    among = readers() if among is None else among
    found = _surest(head, context, among)
    if found is None and (clean := _without_odd_lines(head)) != head:
        found = _surest(clean, context, among)
    return found


def _surest(head: bytes, context: Context, among: Sequence[Reader]) -> tuple[Reader, Match] | None:
    found = [(reader, reader.recognise(head, context)) for reader in among]
    sure = [(reader, match) for reader, match in found if match is not None]
    return max(sure, key=lambda pair: pair[1].confidence, default=None)


def _without_odd_lines(head: bytes) -> bytes:
    """Leave out lines that a crash or an attacker left behind: with NUL bytes, or nested beyond reason."""
    lines = head.splitlines(keepends=True)
    kept = [line for line in lines if b"\0" not in line and line.count(b"[") + line.count(b"{") < _MOST_BRACKETS]
    return b"".join(kept) if 2 * len(kept) > len(lines) else head
