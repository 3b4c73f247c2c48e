"""Records of ``scontrol show node`` and ``show job``, and rows of ``sinfo``, as fields by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest

__all__ = ["NodeRow", "SinfoHeader", "fields_of", "node_of", "sinfo_header"]

_KEY = re.compile(r"(?:^|\s)([A-Z][A-Za-z_]*(?:[/:][A-Za-z:]+)?)=")
#: Free text: what follows may look like other fields. It ends with the line, or before the field named here.
_NAME = re.compile(r"(?:^|\s)JobName=(.*?)(?= UserId=|$)")
_FREE = re.compile(
    r"(?:^|\s)(?:Comment|AdminComment|SystemComment|Extra|Command|WorkDir|StdErr|StdIn|StdOut|SubmitLine)=.*"
)
_REASON = re.compile(r"(?:^|\s)Reason=(.*?) \[([^\s@\]]*)@(\S+?)\]")
_REASON_BARE = re.compile(r"(?:^|\s)Reason=(.*?)(?= Comment=|$)")
_LISTED = re.compile(r"^(.*?)\s+(\S+)\s+(\d{4}-\d\d-\d\dT[\d:]+|Unknown|N/A)\s+(\S+)$")
_WHO = ("HOSTNAMES", "NODELIST", "NODE_ADDR", "HOSTNAME")
_WORD = re.compile(r"[A-Z][A-Z0-9_:/()]*")


@dataclass(frozen=True, kw_only=True)
class NodeRow:
    """What is told of a node, or of several in the same state.

    Attributes
    ----------
    nodes : str
        A node list.
    state, reason, by, since, booted : str or None
        As written; the times are local.
    facts : mapping of attribute to text
    """

    nodes: str
    state: str | None
    reason: str | None
    by: str | None
    since: str | None
    booted: str | None
    facts: Mapping[str, str]


def fields_of(text: str) -> dict[str, str]:
    r"""Give the fields of one line of scontrol; the first of a name counts, since free text may repeat it.

    Examples
    --------
    >>> fields_of("OS=Linux 5.15.0 #115-Ubuntu SMP Mon Apr 15 State=IDLE+DRAIN Owner=N/A")["OS"]
    'Linux 5.15.0 #115-Ubuntu SMP Mon Apr 15'
    >>> fields_of("JobId=7 JobName=a State=DOWN UserId=x(1)")["JobName"], fields_of("Reason=cpu A=1 [root@2025-11-02T03:20:00]")
    ('a State=DOWN', {'Reason': 'cpu A=1', 'ReasonBy': 'root', 'ReasonTime': '2025-11-02T03:20:00'})
    """
    found: dict[str, str] = {}
    if (name := _NAME.search(text)) is not None:
        found["JobName"] = name[1]
        text = text[: name.start()] + text[name.end() :]
    if (why := _REASON.search(text)) is not None:
        found |= {"Reason": why[1], "ReasonBy": why[2], "ReasonTime": why[3]}
        text = text[: why.start()] + text[why.end() :]
    elif "JobState=" not in text and (why := _REASON_BARE.search(text)) is not None:
        found["Reason"] = why[1]
        text = text[: why.start()] + text[why.end() :]
    text = _FREE.sub("", text)
    keys = list(_KEY.finditer(text))
    for key, after in zip_longest(keys, keys[1:]):
        found.setdefault(key[1], text[key.end() : after.start() if after else len(text)].strip())
    return found


_FACTS = {
    "OS": "os", "Version": "slurmd version", "Gres": "gres", "Arch": "architecture", "Partitions": "partitions",
    "AvailableFeatures": "features", "CPUTot": "cpus", "RealMemory": "memory_mb", "NodeAddr": "address",
}  # fmt: skip
_COLUMNS = {
    "GRES": "gres", "AVAIL_FEATURES": "features", "VERSION": "slurmd version", "CPUS": "cpus", "MEMORY": "memory_mb",
    "NODE_ADDR": "address",
}  # fmt: skip
_NOTHING = frozenset({"", "(null)", "N/A", "n/a", "none", "None", "Unknown", "NONE"})


def node_of(fields: Mapping[str, str]) -> NodeRow:
    """Give what a record of ``scontrol show node`` tells.

    Examples
    --------
    >>> node_of({"NodeName": "n1", "State": "IDLE", "Gres": "(null)", "CPUTot": "224"}).facts
    {'cpus': '224'}
    """
    return NodeRow(
        nodes=fields["NodeName"],
        state=fields.get("State"),
        reason=_said(fields.get("Reason")),
        by=_said(fields.get("ReasonBy")),
        since=_said(fields.get("ReasonTime")),
        booted=_said(fields.get("BootTime")),
        facts={name: text for key, name in _FACTS.items() if (text := _said(fields.get(key)))},
    )


def _said(text: str | None) -> str | None:
    return None if text is None or text.strip() in _NOTHING else text.strip()


@dataclass(frozen=True, kw_only=True)
class SinfoHeader:
    """The header of a table of sinfo.

    Attributes
    ----------
    names : tuple of str
    delimiter : str or None
        None: white space.
    """

    names: tuple[str, ...]
    delimiter: str | None

    def row(self, text: str) -> NodeRow | None:
        """Read a row; None where it has another number of cells.

        Examples
        --------
        >>> header = sinfo_header("REASON               USER      TIMESTAMP           NODELIST")
        >>> header.row("Xid 79 GPU0          root      2025-11-02T03:20:00 node-a[03,05]").nodes
        'node-a[03,05]'
        """
        cells = self._cells(text)
        if cells is None:
            return None
        who = next((cells[name] for name in _WHO if cells.get(name)), None)
        if who is None:
            return None
        return NodeRow(
            nodes=who,
            state=_said(cells.get("STATE")),
            reason=_said(cells.get("REASON")),
            by=_said(cells.get("USER")),
            since=_said(cells.get("TIMESTAMP")),
            booted=None,
            facts={name: told for key, name in _COLUMNS.items() if (told := _said(cells.get(key)))},
        )

    def _cells(self, text: str) -> dict[str, str] | None:
        if self.delimiter is not None:
            parts = [part.strip() for part in text.split(self.delimiter)]
            if not len(self.names) <= len(parts) <= len(self.names) + 1 or any(parts[len(self.names) :]):
                return None
        elif self.names == ("REASON", "USER", "TIMESTAMP", "NODELIST"):
            listed = _LISTED.match(text.strip())
            parts = [] if listed is None else list(listed.groups())
        else:
            parts = text.split(None, len(self.names) - 1)
        if len(parts) < len(self.names):
            return None
        cells: dict[str, str] = {}
        for name, part in zip(self.names, parts, strict=False):
            cells.setdefault(name, part.strip())
        return cells


def sinfo_header(text: str) -> SinfoHeader | None:
    """Tell whether a line is the header of a table of nodes.

    Examples
    --------
    >>> sinfo_header("PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST").names[-1]
    'NODELIST'
    >>> sinfo_header("node-a01 idle") is None, sinfo_header("HOSTNAMES|STATE|REASON").delimiter
    (True, '|')
    """
    delimiter = "|" if "|" in text else None
    names = tuple(part.strip() for part in text.split(delimiter))
    names = names[:-1] if delimiter and names and not names[-1] else names
    right = len(names) >= 2 and all(_WORD.fullmatch(name) for name in names)
    if not right or not set(names) & set(_WHO) or not {"STATE", "REASON"} & set(names):
        return None
    return SinfoHeader(names=names, delimiter=delimiter)
