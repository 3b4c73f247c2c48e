"""All readers, and the choice among them by content."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from workbench.errors import UsageError
from workbench.model.context import Context
from workbench.readers.base import Match, Reader

__all__ = ["BUILT_IN", "readers", "recognise"]

#: One line a format; the order breaks ties.
BUILT_IN = (
    "prometheus_text",
    "promtool_tsdb_dump",
    "prometheus_query_json",
    "telegraf_json",
    "influx_line_protocol",
    "kernel_log",
    "journald_json",
    "syslog",
    "fabric_manager_log",
    "ipmi_sel",
    "ipmi_sel_info",
    "ipmi_sensor",
    "redfish",
    "smartctl_json",
    "nvme_smart_log_json",
    "lustre_proc",
    "inventory",
    "slurm_sacct",
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
    found = [(reader, reader.recognise(head, context)) for reader in (readers() if among is None else among)]
    sure = [(reader, match) for reader, match in found if match is not None]
    return max(sure, key=lambda pair: pair[1].confidence, default=None)
