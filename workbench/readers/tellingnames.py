"""Names of files that say what their content cannot: what was measured, and where."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["CollectdName", "collectd_name", "panel_title", "telling_name"]

_DATED = re.compile(r"(?P<type>[A-Za-z][A-Za-z0-9_]*)(?:-(?P<instance>.+?))?-\d{4}-\d\d-\d\d")
_PLUGIN = re.compile(r"(?P<plugin>[A-Za-z][A-Za-z0-9_]*)(?:-(?P<instance>.+))?")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PANEL = re.compile(r"(?P<title>.+?)-data(?:-as-[a-z]+)?-\d{4}-\d\d-\d\d[ _T]\d\d[_:.]\d\d[_:.]\d\d(?: ?\(\d+\))?\.csv")


@dataclass(frozen=True, kw_only=True)
class CollectdName:
    """What the path of a file of collectd's csv plugin says.

    Attributes
    ----------
    host : str or None
        None: the path begins below the folder of the host.
    plugin, plugin_instance, type_, type_instance : str or None
    """

    host: str | None
    plugin: str
    plugin_instance: str | None
    type_: str
    type_instance: str | None


def collectd_name(path: str) -> CollectdName | None:
    """Read ``HOST/plugin-instance/type-instance-YYYY-MM-DD``; slashes may be written as two underscores.

    Examples
    --------
    >>> collectd_name("dump/n1/cpu-0/cpu-idle-2026-11-30")
    CollectdName(host='n1', plugin='cpu', plugin_instance='0', type_='cpu', type_instance='idle')
    >>> collectd_name("load__load-2026-11-30").host, collectd_name("n1/x.csv")
    (None, None)
    """
    *folders, name = path.split("/")
    if "__" in name:
        *folders, name = name.split("__")
    file = _DATED.fullmatch(name.removesuffix(".gz").removesuffix(".zst").removesuffix(".csv"))
    plugin = _PLUGIN.fullmatch(folders[-1]) if folders else None
    if file is None or plugin is None:
        return None
    host = folders[-2] if len(folders) > 1 and _HOST.fullmatch(folders[-2]) else None
    return CollectdName(
        host=host,
        plugin=plugin["plugin"],
        plugin_instance=plugin["instance"],
        type_=file["type"],
        type_instance=file["instance"],
    )


def panel_title(path: str) -> str | None:
    """Give the title of the panel that Grafana names its exports by.

    Examples
    --------
    >>> panel_title("x/GPU Temp-data-2025-11-02 03_14_00.csv"), panel_title("x.csv")
    ('GPU Temp', None)
    """
    found = _PANEL.fullmatch(path.rpartition("/")[2])
    return found["title"].strip() if found else None


def telling_name(path: str) -> str | None:
    """Give the part of a path that says more than its content does; None where it says nothing.

    Two files of one content are two where their names tell different things of it.

    Examples
    --------
    >>> telling_name("dump/n1/load/load-2026-11-30"), telling_name("n1/dmesg.txt")
    ('n1/load/load-2026-11-30', None)
    """
    if collectd_name(path) is not None:
        return "/".join(path.split("/")[-3:])
    return path.rpartition("/")[2] if panel_title(path) is not None else None
