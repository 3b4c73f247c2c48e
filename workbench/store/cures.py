"""What the user has to state so that rejected records are read, by pattern of file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from workbench.model.mapping import Mapping as MappingFile
from workbench.store.walk import clock_for

__all__ = ["advice", "idle", "pattern_of"]

_MOST_PATTERNS = 12
_WHAT = {
    "clock": ("a time zone", "--clock '{glob}=ZONE' (such as Europe/Berlin)"),
    "year": ("a year", "--year Y, or --map FILE with [[file]] glob = '{glob}' and year = Y"),
    "host": ("a host name", "--map FILE with [[file]] glob = '{glob}' and host = \"...\""),
    "boot_at": ("the time of the boot they count from", "--map FILE with [[file]] glob = '{glob}' and boot_at = ..."),
    "taken_at": ("the time they were taken at", "--map FILE with [[file]] glob = '{glob}' and taken_at = ..."),
    "interval": ("the seconds between their samples", "--map FILE with [[file]] glob = '{glob}' and interval_s = ..."),
    "map": ("the meaning of their columns", "--map FILE with [[file]] glob = '{glob}', shape = ... and [file.columns]"),
    "salvage": ("leave to trust a stream whose checksum fails", "--salvage"),
}  # fmt: skip


def pattern_of(path: str) -> str:
    """Give a glob on the name of a file that fits its sisters too: numbers are left open.

    Examples
    --------
    >>> pattern_of("dumps/node07-dmesg.txt"), pattern_of("all.tar!n1/odd[1].log")
    ('node*-dmesg.txt', 'odd[[]*].log')
    """
    name = PurePath(path.rpartition("!")[2]).name
    return re.sub(r"[0-9]+", "*", name.replace("[", "[[]").replace("?", "[?]").replace("*", "[*]"))


def advice(cures: Iterable[tuple[str, Mapping[str, int]]]) -> list[str]:
    """Say in one line each how many records of which files wait for what, and how to state it.

    Parameters
    ----------
    cures : iterable of (path, counts by what must be stated)

    Examples
    --------
    >>> advice([("a/n1.log", {"clock": 2}), ("a/n2.log", {"clock": 3})])
    ["5 rejected records wait for a time zone: --clock 'n*.log=ZONE' (such as Europe/Berlin); 2 files"]
    """
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for path, counts in cures:
        for cure, count in counts.items():
            key = (cure, "" if cure == "salvage" else pattern_of(path))
            records, files = found.get(key, (0, 0))
            found[key] = records + count, files + 1
    lines = []
    ranked = sorted(found.items(), key=lambda pair: (pair[0][0], -pair[1][0], pair[0][1]))
    for (cure, glob), (records, files) in ranked[:_MOST_PATTERNS]:
        what, how = _WHAT.get(cure, (cure, "--map FILE"))
        lines.append(
            f"{records:,} rejected records wait for {what}: {how.format(glob=glob)}; {files} file{'s' if files > 1 else ''}"
        )
    if len(ranked) > _MOST_PATTERNS:
        more = sum(records for _, (records, _) in ranked[_MOST_PATTERNS:])
        lines.append(f"{more:,} more wait in files of {len(ranked) - _MOST_PATTERNS} other patterns: see --json")
    return lines


def idle(clocks: Sequence[tuple[str, str]], mapping: MappingFile | None, paths: Sequence[str]) -> list[str]:
    """Name what was stated of files and fits none of them: most likely a slip.

    Examples
    --------
    >>> idle([("*.log", "UTC"), ("bmc/*", "UTC")], None, ["n1/kern.log"])
    ["--clock 'bmc/*=UTC' fits no file"]
    """
    told = [
        f"--clock '{glob}={zone}' fits no file"
        for glob, zone in clocks
        if not any(clock_for(path, [(glob, zone)]) for path in paths)
    ]
    if mapping is not None:
        for number, rule in enumerate(mapping.rules, start=1):
            if all(rule.found(path) is None for path in paths):
                place = "" if rule.line is None else f" (line {rule.line})"
                told.append(f"rule {number}{place} of {mapping.name} fits no file")
    return told
