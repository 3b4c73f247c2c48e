"""What the columns of a generic table mean, by what the user stated and by well-known headers.

Nothing is guessed from content. Where the header leaves it open, the answer is one
:class:`Problem`, which names what was found and what to state.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.model.context import Columns, Context
from workbench.readers.metriccolumns import MetricColumn, metric_columns
from workbench.readers.units import split_unit

__all__ = ["Layout", "Problem", "extended", "header_weight", "knows_time", "layout_of", "normal"]

_UNITS = ("", "_s", "_ms", "_us", "_ns")
_TIMES = " ".join(
    (
        "datetime date_time event_time eventtime time_utc timestamp_utc utc_time unix_time unixtime time_stamp",
        "recorded_at occurred_at observed_at sample_time",
        *(name + unit for name in ("time", "timestamp", "ts", "epoch") for unit in _UNITS),
    )
)
#: Role: names that mean it, then names that mean it where none of the first kind is there.
_WORDS: dict[str, tuple[str, str]] = {
    "ts": (_TIMES, "date day when created_at created"),
    "date": ("", "date"),
    "cluster": ("cluster cluster_name", ""),
    "host": (
        "host hostname host_name node nodename node_name server server_name servername machine machine_name",
        "instance node_id host_id server_id",
    ),
    "entity": ("entity entity_id", ""),
    "device": ("device device_id device_name dev", ""),
    "device_kind": ("device_kind device_type entity_kind", ""),
    "gpu": ("gpu gpu_id gpu_index gpu_idx gpuid gpu_num gpu_number", ""),
    "gpu_uuid": ("gpu_uuid uuid", ""),
    "gpu_pci": ("gpu_pci pci_bus_id pci_busid gpu_bus_id gpu_pci_bus_id pci_address", "bus_id pci"),
    "gpu_serial": ("gpu_serial", "serial"),
    "mig": ("mig mig_id gpu_i_id gpu_instance", ""),
    "nic": ("nic hca ib_device rdma_device netdev", ""),
    "port": ("port ib_port switch_port port_num", ""),
    "switch": ("switch switch_name leaf_switch", ""),
    "rack": ("rack rack_id rack_name cabinet", ""),
    "pdu": ("pdu pdu_id pdu_name", ""),
    "outlet": ("outlet outlet_id", ""),
    "loop": ("loop cooling_loop cdu cooling", ""),
    "metric": ("metric metric_name measurement metricname", "name counter sensor field parameter key"),
    "value": ("value val reading metric_value", ""),
    "unit": ("unit units uom", ""),
    "labels": ("labels tags", ""),
    "code": ("code error_code errorcode event_code err_code xid xid_code sxid", ""),
    "severity": ("severity level priority loglevel", ""),
    "message": ("message msg description", "text details detail body"),
    "end": ("end end_time endtime ended ended_at finish finished finished_at finish_time", ""),
    "job": ("job job_id jobid jobidraw job_id_raw", ""),
    "attempt": ("attempt restart restarts restart_count", ""),
    "submitted": ("submit submit_time submitted submitted_at", ""),
    "start": ("start start_time starttime started started_at begin", ""),
    "state": ("state job_state status exit_state", ""),
    "exit": ("exit exit_code exitcode", ""),
    "user": ("user username user_name owner", ""),
    "name": ("job_name jobname", "name"),
    "parent": ("parent container", ""),
    "child": ("child member", ""),
    "relation": ("relation relationship", ""),
    "nodes": ("nodes nodelist node_list hosts hostlist host_list", ""),
}
_EVENT_KIND = ("event event_kind event_type event_name alert alertname alert_name fault fault_type", "kind type")
_METRIC_KIND = ("metric_type metric_kind", "kind type")
_WHEN = ("ts", "date")
WHO = ("cluster", "host", "entity", "device", "device_kind", "gpu", "gpu_uuid", "gpu_pci", "gpu_serial", "mig")
WHERE = ("nic", "port", "switch", "rack", "pdu", "outlet", "loop")
#: Roles that a table of each shape may have.
_ROLES_OF = {
    "wide": (*_WHEN, *WHO, *WHERE, "job"),
    "long": (*_WHEN, *WHO, *WHERE, "metric", "value", "unit", "kind", "labels"),
    "events": (*_WHEN, "end", *WHO, *WHERE, "kind", "code", "severity", "message"),
    "jobs": ("job", "attempt", "submitted", "start", "end", "state", "exit", "user", "name", "nodes", "cluster"),
}
_NEEDED = {"long": ("metric", "value"), "events": ("kind",), "jobs": ("job", "start")}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Why a table cannot be read, and what the user can state so that it can.

    Attributes
    ----------
    reason : str
    curable : str or None
    """

    reason: str
    curable: str | None = "map"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What each column means.

    Attributes
    ----------
    shape : str
        ``wide``, ``long``, ``events`` or ``jobs``.
    roles : mapping of role to column name, or to ``"=constant"``
    metrics : tuple of MetricColumn
        Of a wide table.
    rest : tuple of str
        Columns without a role: labels of a long table, attributes of events.
    """

    shape: str
    roles: Mapping[str, str]
    metrics: tuple[MetricColumn, ...] = ()
    rest: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def column(self, role: str) -> str | None:
        """Give the column of a role; None where it has none, or is a constant."""
        name = self.roles.get(role)
        return None if name is None or name.startswith("=") else name

    def constant(self, role: str) -> str | None:
        """Give the constant of a role."""
        name = self.roles.get(role)
        return name[1:] if name is not None and name.startswith("=") else None


def normal(name: str) -> str:
    """Bring a column name into the form that synonyms are compared in.

    Examples
    --------
    >>> normal("Date/Time"), normal("pci.bus_id"), normal("Power Draw [W]"), normal("@timestamp")
    ('date_time', 'pci_bus_id', 'power_draw', 'timestamp')
    """
    return re.sub(r"[^0-9a-z]+", "_", split_unit(name)[0].lower()).strip("_")


def knows_time(names: Sequence[str]) -> bool:
    """Tell whether a header holds a well-known name for the time.

    Examples
    --------
    >>> knows_time(["Timestamp", "host"]), knows_time(["a", "b"])
    (True, False)
    """
    words = " ".join(_WORDS["ts"]).split()
    return any(normal(name) in words for name in names)


def header_weight(names: Sequence[str]) -> int:
    """Count the names of a header that are well known.

    Examples
    --------
    >>> header_weight(["time", "host", "a"]), header_weight(["a b"])
    (2, 0)
    """
    known = {word for both in _WORDS.values() for words in both for word in words.split()}
    return sum(normal(name) in known for name in names)


def layout_of(names: Sequence[str], context: Context) -> Layout | Problem:
    """Tell what the columns mean.

    Parameters
    ----------
    names : sequence of str
        As written in the header.
    context : Context
        ``context.columns`` goes before everything that headers suggest.

    Examples
    --------
    >>> layout = layout_of(["timestamp", "host", "gpu", "temp"], Context())
    >>> layout.shape, layout.roles["gpu"], [column.metric for column in layout.metrics]
    ('wide', 'gpu', ['temp'])
    >>> layout_of(["a", "b"], Context()).curable
    'map'
    """
    stated = context.columns
    missing = [(role, name) for role, name in stated.roles.items() if not name.startswith("=") and name not in names]
    if missing:
        role, name = missing[0]
        return Problem(reason=f"the mapping says that column '{name}' is {role}, but the columns are {_shown(names)}")
    free = [name for name in names if name not in {*stated.roles.values(), *stated.ignore, *stated.labels}]
    found = _Finder(free, stated)
    shape = stated.shape or _shape(found, context)
    if isinstance(shape, Problem):
        return Problem(reason=f"{shape.reason}; columns found: {_shown(names)}", curable=shape.curable)
    if shape not in _ROLES_OF:
        return Problem(reason=f"a table of shape '{shape}' is for another reader")
    problem = found.settle(shape) or _lacks(shape, found, context)
    if problem is not None:
        return Problem(reason=f"{problem.reason}; columns found: {_shown(names)}", curable=problem.curable)
    return _laid_out(shape, found, context)


def extended(layout: Layout, names: Sequence[str], context: Context) -> Layout:
    """Give a layout the columns that only later rows have (JSON): metrics, labels or attributes.

    Examples
    --------
    >>> layout = layout_of(["time", "host", "a"], Context())
    >>> [column.metric for column in extended(layout, ["time", "b"], Context()).metrics]
    ['a', 'b']
    """
    known = {
        *layout.roles.values(),
        *layout.rest,
        *(column.column for column in layout.metrics),
        *context.columns.ignore,
    }
    new = [name for name in names if name not in known and normal(name)]
    if not new:
        return layout
    if layout.shape == "wide":
        return replace(layout, metrics=(*layout.metrics, *metric_columns(new, context.columns)[0]))
    return replace(layout, rest=(*layout.rest, *new))


def _shown(names: Sequence[str]) -> str:
    shown = ", ".join(name[:40] for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


class _Finder:
    """Columns still without a role, and the roles that are settled."""

    def __init__(self, free: Sequence[str], stated: Columns) -> None:
        self.free = list(free)
        self.roles = dict(stated.roles)
        self._normal = {name: normal(name) for name in free}

    def candidates(self, role: str, words: tuple[str, str] | None = None) -> list[str]:
        """Give the columns that could have a role, strong names before weak ones."""
        for text in words or _WORDS.get(role, ("", "")):
            known = text.split()
            if hits := [name for name in self.free if self._normal[name] in known]:
                return hits
        return []

    def has(self, role: str, words: tuple[str, str] | None = None) -> bool:
        return role in self.roles or bool(self.candidates(role, words))

    def strong(self, words: tuple[str, str]) -> bool:
        return bool(self.candidates("", (words[0], "")))

    def settle(self, shape: str) -> Problem | None:
        """Give each role of a shape its column; two columns for one role are a problem."""
        kinds = {"long": _METRIC_KIND, "events": _EVENT_KIND}.get(shape, ("", ""))
        for role in _ROLES_OF[shape]:
            if role in self.roles:
                continue
            hits = self.candidates(role, kinds if role == "kind" else None)
            if len(hits) > 1:
                both = ", ".join(hits[:4])
                return Problem(reason=f"several columns could be {role}: {both}; state {role} in a mapping (--map)")
            if hits:
                self.roles[role] = hits[0]
                self.free.remove(hits[0])
        if "gpu" in _ROLES_OF[shape] and "gpu_uuid" in self.roles and "gpu" not in self.roles and "index" in self.free:
            self.roles["gpu"] = "index"  # nvidia-smi: beside a UUID, the index is that of the GPU
            self.free.remove("index")
        return None


def _shape(found: _Finder, context: Context) -> str | Problem:
    """Tell the shape by the roles that a header offers."""
    timed = found.has("ts") or context.taken_at_us is not None
    samples = found.has("value") and (found.has("metric") or found.has("labels"))
    if found.has("job") and found.has("start") and not samples and any(map(found.has, ("end", "state", "nodes"))):
        return "jobs"
    if not timed:
        return Problem(reason="no column says when: state ts, or taken_at for the file, in a mapping (--map)")
    if samples:
        return "long"
    told = "kind" in found.roles or found.strong(_EVENT_KIND) or found.strong(_WORDS["message"])
    if told or (found.has("code") and found.has("severity")):
        return "events"
    if found.has("code") and not _others(found, "code"):
        return Problem(reason="it could hold metrics or events: state shape in a mapping (--map)")
    return "wide"


def _others(found: _Finder, role: str) -> bool:
    """Tell whether anything is left that could be a metric."""
    known = {name for other in (*_WHEN, *WHO, *WHERE, role) for name in found.candidates(other)}
    return any(name not in known for name in found.free)


def _lacks(shape: str, found: _Finder, context: Context) -> Problem | None:
    """Name the first thing that a table of this shape cannot do without."""
    roles = found.roles
    need = _needs(shape, roles, context)
    if need is not None or shape == "jobs":
        return need
    apart = any(role in roles for role in ("host", "entity", "labels", "gpu_uuid", "switch", "rack", "pdu", "loop"))
    other = "device" in roles and context.columns.device_kind not in {None, "gpu", "nic", "mig", "host"}
    named = metric_columns(found.free, context.columns)[0] if shape == "wide" else ()
    if apart or other or context.host is not None or (named and all(column.host for column in named)):
        return None
    why = "no column says which host: state host, for the column or for the file, in a mapping (--map)"
    return Problem(reason=why, curable="host")


def _needs(shape: str, roles: dict[str, str], context: Context) -> Problem | None:
    if shape == "events" and "kind" not in roles and ("message" in roles or "severity" in roles):
        roles["kind"] = "=log"
    for role in _NEEDED.get(shape, ()):
        if role not in roles and not (role == "metric" and "labels" in roles):
            return Problem(reason=f"no column is {role}, which {shape} need: state {role} in a mapping (--map)")
    if shape != "jobs" and "ts" not in roles and context.taken_at_us is None:
        return Problem(reason="no column says when: state ts, or taken_at for the file, in a mapping (--map)")
    return None


def _laid_out(shape: str, found: _Finder, context: Context) -> Layout | Problem:
    stated = context.columns
    rest = tuple(dict.fromkeys((*(name for name in stated.labels if name not in stated.ignore), *found.free)))
    if shape != "wide":
        rest = tuple(name for name in rest if normal(name))
        return Layout(shape=shape, roles=found.roles, rest=rest)
    metrics, notes = metric_columns([name for name in found.free if normal(name)], stated)
    if not metrics:
        return Problem(reason="no column is left that could be a metric: state the roles in a mapping (--map)")
    if "job" in found.roles:
        notes = (*notes, f"column {found.roles['job']} names jobs and is not kept as a metric")
    labels = tuple(name for name in stated.labels if name not in stated.ignore)
    return Layout(shape=shape, roles=found.roles, metrics=metrics, rest=labels, notes=notes)
