"""Objects of Kubernetes: what events, nodes and pods tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import UsageError
from workbench.readers.graph import Node
from workbench.readers.jsonvalues import dicts, dig, text_of
from workbench.readers.slurm_fields import number_of
from workbench.readers.stamps import EARLIEST_US, LATEST_US
from workbench.readers.told import Told
from workbench.timebase import format_us, parse_time

__all__ = ["Objects", "moment_of", "who_of"]

Span = tuple[int, int]
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,9}))?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_LISTS = ("List", "EventList", "NodeList", "PodList")
_MOST_SEEN = 1_000_000
_NO_TIME = "the event has no time"
_NO_OBJECT = "no object of Kubernetes: it has no kind"
_BACKWARDS = (
    "events were last seen before they were first seen, as it is written: the earlier time is taken as the first"
)
_UNTIMED = "conditions without lastTransitionTime are left out: since when they hold is not told"
_GPUS = ("nvidia.com/gpu", "amd.com/gpu")
_LABELS = {
    "nvidia.com/gpu.product": "gpu product", "topology.kubernetes.io/zone": "zone", "node.kubernetes.io/instance-type": "instance type",
    "topology.kubernetes.io/rack": "rack",
}  # fmt: skip
_INFO = {
    "kernelVersion": "kernel", "osImage": "os", "kubeletVersion": "kubelet version", "bootID": "boot id", "machineID": "machine id",
    "containerRuntimeVersion": "container runtime",
}  # fmt: skip


def moment_of(value: Any) -> Span | None:
    """Give the span, in microseconds, that a time can mean; None for what is no time of this century.

    Examples
    --------
    >>> moment_of("2025-11-02T03:14:02Z"), moment_of("2025-11-02T03:14:02.5Z")
    ((1762053242000000, 1762053242999999), (1762053242500000, 1762053242599999))
    >>> moment_of("0001-01-01T00:00:00Z"), moment_of(None), moment_of("2025-11-02T03:14:02")
    (None, None, None)
    """
    found = _RFC3339.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    try:
        low = parse_time(found[0] if found[1] is None else found[0].replace(found[1], found[1][:6]))
    except UsageError:
        return None
    return (low, low + 10 ** (6 - min(len(found[1] or ""), 6)) - 1) if EARLIEST_US <= low < LATEST_US else None


def who_of(kind: str, namespace: str | None, name: str) -> Node:
    """Give whom an object is.

    Examples
    --------
    >>> who_of("Node", None, "n1"), who_of("Pod", "ml", "train-0")
    (('n1', 'host', None), (None, 'pod', 'ml/train-0'))
    """
    if kind.lower() in {"node", "nodes", "no"}:
        return name, "host", None
    return None, re.sub(r"[^a-z0-9]+", "", kind.lower())[:60] or "object", f"{namespace}/{name}" if namespace else name


@dataclass(eq=False)
class Objects:
    """Tells objects, each event once.

    Parameters
    ----------
    told : Told
    taken_at_us : int or None
        When the dump was taken, as far as stated.
    """

    told: Told
    taken_at_us: int | None
    _seen: set[tuple[str, int]] = field(default_factory=set)

    def tell(self, value: Any, *, line: int, text: str) -> None:
        """Tell a document: an object, a list of objects, or a change of a watched object."""
        if isinstance(value, dict) and isinstance(value.get("object"), dict) and isinstance(value.get("type"), str):
            value = value["object"]
        if not isinstance(value, dict) or text_of(value.get("kind")) is None:
            self.told.reject(line, _NO_OBJECT, text)
        elif value["kind"] in _LISTS and isinstance(value.get("items"), list):
            if not value["items"]:
                self.told.skip("empty answer")
            for item in value["items"]:
                self._one(item, value["kind"].removesuffix("List"), line)
        else:
            self._one(value, "", line)

    def _one(self, item: Any, of: str, line: int) -> None:
        kind = (text_of(item.get("kind")) or of) if isinstance(item, dict) else ""
        name = text_of(dig(item, "metadata", "name"))
        shown = f"{kind} {text_of(dig(item, 'metadata', 'namespace')) or ''}/{name}"
        if not isinstance(item, dict) or not kind:
            self.told.reject(line, _NO_OBJECT, str(item)[:200])
        elif kind == "Event":
            self._event(item, line, shown)
        elif kind not in {"Node", "Pod"}:
            self.told.skip("other object")
        elif name is None:
            self.told.reject(line, "an object without a name", shown)
        elif kind == "Node":
            self.told.row()
            self._node(item, name, line)
        else:
            self.told.row()
            self._pod(item, name, line)

    def _event(self, item: dict[str, Any], line: int, shown: str) -> None:
        about = item.get("involvedObject") if isinstance(item.get("involvedObject"), dict) else item.get("regarding")
        name = text_of(dig(about, "name"))
        spans = [span for path in _TIMES if (span := moment_of(dig(item, *path))) is not None]
        if name is None or not spans:
            self.told.reject(line, _NO_TIME if name is not None else "the event names no object", shown)
            return
        last, first = max(spans), min(spans)
        if _is_backwards(item):
            self.told.note(_BACKWARDS)
        who = who_of(text_of(dig(about, "kind")) or "object", text_of(dig(about, "namespace")), name)
        host = text_of(dig(item, "source", "host")) or text_of(dig(item, "deprecatedSource", "host"))
        if host and who[1] == "pod":
            self.told.graph.link(who, "in", (host, "host", None))
        count = next((n for path in _COUNTS if (n := number_of(dig(item, *path))) is not None), 1)
        attributes = {
            "count": count,
            "first": format_us(first[0]),
            "reporter": next((text for path in _REPORTERS if (text := text_of(dig(item, *path)))), None),
            "host": host,
        }
        key = text_of(dig(item, "metadata", "uid")) or shown
        moments = {last: attributes} if count <= 1 or first == last else {first: attributes, last: attributes}
        fresh = {span: told for span, told in moments.items() if self._is_new(key, span[0])}
        for span, told in fresh.items():
            self._tell(who, ("k8s", text_of(item.get("reason")), item), span=span, line=line, attributes=told)
        if fresh:
            self.told.row()
        else:
            self.told.skip("duplicate")

    def _is_new(self, key: str, us: int) -> bool:
        new = (key, us) not in self._seen
        if len(self._seen) < _MOST_SEEN:
            self._seen.add((key, us))
        return new

    def _tell(
        self,
        who: Node,
        what: tuple[str, str | None, Mapping[str, Any]],
        *,
        span: Span,
        line: int,
        attributes: Mapping[str, Any],
    ) -> None:
        kind, code, item = what
        message = text_of(item.get("message")) or text_of(item.get("note")) or code or ""
        severity = (text_of(item.get("type")) or "").lower() if kind == "k8s" and "metadata" in item else None
        self.told.event(
            who, kind, message.strip(), span_us=span, line=line, code=code, severity=severity or None,
            attributes=attributes,
        )  # fmt: skip

    def _node(self, item: dict[str, Any], name: str, line: int) -> None:
        who = (name, "host", None)
        found = _named(dig(item, "metadata", "labels"), _LABELS) | _named(dig(item, "status", "nodeInfo"), _INFO)
        if address := next((a for a in dicts(dig(item, "status", "addresses")) if a.get("type") == "InternalIP"), None):
            found["address"] = text_of(address.get("address")) or ""
        at = self._as_of(item)
        for part in ("capacity", "allocatable"):
            for resource in _GPUS:
                count = number_of(dig(item, "status", part, resource))
                if count is None:
                    continue
                found[f"{part} {resource}"] = str(count)
                if at is not None:
                    self.told.sample(who, f"gpu_{part}", count, ts_us=at, unit="1", kind="gauge")
        if number_of(dig(item, "spec", "unschedulable")) or str(dig(item, "spec", "unschedulable")).lower() == "true":
            found["unschedulable"] = "true"
        self.told.graph.entity(who, {key: value for key, value in found.items() if value})
        for condition in dicts(dig(item, "status", "conditions")):
            self._condition(who, condition, line)

    def _condition(self, who: Node, condition: dict[str, Any], line: int) -> None:
        """Tell a condition that is bad, or that a node became ready."""
        name, status = text_of(condition.get("type")), str(condition.get("status"))
        if name is None or (name != "Ready" and status.lower() == "false"):
            return
        span = moment_of(condition.get("lastTransitionTime"))
        if span is None:
            self.told.note(_UNTIMED)
            return
        ready = name == "Ready"
        code = ("ready" if status.lower() == "true" else "not_ready") if ready else name
        attributes = {"status": status, "reason": text_of(condition.get("reason"))}
        told = {"message": text_of(condition.get("message")) or f"{name} is {status}"}
        self._tell(who, ("node" if ready else "k8s", code, told), span=span, line=line, attributes=attributes)

    def _as_of(self, item: dict[str, Any]) -> int | None:
        """Give when the node last spoke; else when the dump was taken, if that is stated."""
        beats = [moment_of(one.get("lastHeartbeatTime")) for one in dicts(dig(item, "status", "conditions"))]
        return max((beat[0] for beat in beats if beat is not None), default=self.taken_at_us)

    def _pod(self, item: dict[str, Any], name: str, line: int) -> None:
        who = who_of("Pod", text_of(dig(item, "metadata", "namespace")), name)
        found = _named(item.get("status"), {"phase": "phase", "reason": "reason"})
        self.told.graph.entity(who, found)
        if host := text_of(dig(item, "spec", "nodeName")):
            self.told.graph.link(who, "in", (host, "host", None))
        for part in dicts(dig(item, "status", "containerStatuses")):
            for state in ("lastState", "state"):
                ended = dig(part, state, "terminated")
                span = moment_of(dig(ended, "finishedAt"))
                if span is None:
                    continue
                code = text_of(dig(ended, "reason")) or "Terminated"
                attributes = {
                    "container": text_of(part.get("name")),
                    "exit": number_of(dig(ended, "exitCode")),
                    "signal": number_of(dig(ended, "signal")),
                    "restarts": number_of(part.get("restartCount")),
                    "host": text_of(dig(item, "spec", "nodeName")),
                }
                told = {"message": text_of(dig(ended, "message")) or f"container ended: {code}"}
                self._tell(who, ("pod", code, told), span=span, line=line, attributes=attributes)


def _is_backwards(item: Any) -> bool:
    """Tell whether an event says that it was last seen before it was first seen."""
    first = next((span for path in _FIRSTS if (span := moment_of(dig(item, *path))) is not None), None)
    last = next((span for path in _TIMES[:3] if (span := moment_of(dig(item, *path))) is not None), None)
    return first is not None and last is not None and last[0] < first[0]


def _named(value: Any, wanted: Mapping[str, str]) -> dict[str, str]:
    return {name: text for key, name in wanted.items() if (text := text_of(dig(value, key)))}


_TIMES = (
    ("series", "lastObservedTime"),
    ("lastTimestamp",),
    ("deprecatedLastTimestamp",),
    ("eventTime",),
    ("firstTimestamp",),
    ("deprecatedFirstTimestamp",),
)
_FIRSTS = (("firstTimestamp",), ("deprecatedFirstTimestamp",))
_COUNTS = (("series", "count"), ("count",), ("deprecatedCount",))
_REPORTERS = (
    ("source", "component"),
    ("reportingComponent",),
    ("reportingController",),
    ("deprecatedSource", "component"),
)
