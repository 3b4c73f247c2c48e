"""What one row of a change log says, whatever its columns are called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.model.nodelist import expand
from workbench.readers.graph import Node
from workbench.readers.installed import word
from workbench.readers.jsoncells import plain_text
from workbench.readers.who import parse_entity

__all__ = ["CLUSTER", "Change", "change_of", "roles_of"]

CLUSTER: Node = (None, "cluster", None)
_NAMES = {
    "time": ("time", "ts", "timestamp", "at", "when", "date", "changed_at", "applied_at", "start", "started_at", "start_time", "datetime"),
    "end": ("end", "ended_at", "end_time", "finished_at", "completed_at", "until"),
    "kind": ("kind", "type", "change_type", "category", "change_kind", "action"),
    "component": ("component", "subsystem", "package", "product"),
    "what": ("what", "item", "name", "parameter", "key", "setting", "summary", "title", "description", "message", "change"),
    "file": ("file", "path", "config_file", "file_path"),
    "target": ("target", "targets", "host", "hosts", "hostname", "node", "nodes", "nodelist", "node_list", "device", "devices", "entity", "entities"),
    "scope": ("scope", "rollout", "stage", "wave"),
    "percent": ("percent", "percentage", "pct", "rollout_percent", "share_percent"),
    "from": ("from", "old", "before", "old_value", "old_version", "previous", "from_version", "old_hash", "from_value", "was"),
    "to": ("to", "new", "after", "new_value", "new_version", "version", "to_version", "new_hash", "to_value", "value", "is"),
    "id": ("id", "change_id", "ticket", "change_ticket", "number", "reference"),
    "by": ("by", "author", "user", "operator", "who", "changed_by"),
}  # fmt: skip
_ROLES = {name: role for role, names in _NAMES.items() for name in names}
_NO_KIND = frozenset({"change", "update", "upgrade", "rollout", "deploy", "deployment", "apply", "changed", "event"})
_STATES = frozenset({"inventory", "snapshot", "state", "audit"})
_ALL = frozenset({"all", "fleet", "cluster", "global", "everything", "everywhere", "*", "fleet_wide", "all_hosts"})
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?) ?%(?: of .*)?")
_LIMIT = 100_000
NOBODY = "the change names neither targets nor a scope"


def roles_of(names: list[str] | tuple[str, ...]) -> dict[str, str]:
    """Give the role of each column that has one; of two columns with one role the first has it.

    Examples
    --------
    >>> roles_of(["Changed At", "Hosts", "Old Value", "New Value", "x"])
    {'time': 'Changed At', 'target': 'Hosts', 'from': 'Old Value', 'to': 'New Value'}
    """
    found: dict[str, str] = {}
    ranked = sorted(range(len(names)), key=lambda place: _rank(names[place]))
    for place in ranked:
        role = _ROLES.get(word(names[place]) or "")
        if role is not None and role not in found:
            found[role] = names[place]
    order = {name: place for place, name in enumerate(names)}
    return dict(sorted(found.items(), key=lambda item: order[item[1]]))


def _rank(name: str) -> int:
    """Prefer the names that say most."""
    key = word(name) or ""
    role = _ROLES.get(key)
    return 99 if role is None else _NAMES[role].index(key)


@dataclass(frozen=True, kw_only=True)
class Change:
    """One row.

    Attributes
    ----------
    start, end : object
        Times as written; ``end`` is None where the change has none.
    code : str or None
        What was changed, as one word.
    targets : tuple of Node
        Empty where ``why`` says why nobody is known.
    is_state : bool
        The row says what is, not what changed.
    """

    start: Any
    end: Any
    code: str | None
    message: str
    targets: tuple[Node, ...]
    why: str | None
    is_state: bool
    to: str | None
    attributes: Mapping[str, Any]


def change_of(row: Mapping[str, Any], host: str | None) -> Change:
    """Read a row.

    Parameters
    ----------
    row : mapping
        Names and values as written.
    host : str or None
        Host of the file, for rows that name nobody.

    Examples
    --------
    >>> found = change_of({"time": "2026-01-05T09:00:00Z", "kind": "firmware", "hosts": "n[1-2]", "what": "NIC FW",
    ...                    "from": "28.39.1002", "to": "28.41.1000"}, None)
    >>> found.code, found.message, found.targets
    ('firmware', 'NIC FW: 28.39.1002 -> 28.41.1000', (('n1', 'host', None), ('n2', 'host', None)))
    >>> change_of({"time": "t", "file": "/etc/nccl.conf", "scope": {"percent": 10}}, None).targets
    ((None, 'cluster', None),)
    """
    roles = roles_of(list(row))
    cell = {role: row[name] for role, name in roles.items()}
    text = {role: told for role, value in cell.items() if (told := _told(value)) is not None}
    scope = cell.get("scope")
    inner = scope if isinstance(scope, dict) else {}
    percent = _percent(cell.get("percent", inner.get("percent", inner.get("percentage"))), text.get("scope"))
    targets, why = _targets(cell.get("target", _listed(inner)), scope, percent)
    if not targets and host is not None and (why is None or why == NOBODY):
        targets, why = ((host, "host", None),), None
    kind = word(text.get("kind", ""))
    what = text.get("what") or text.get("file") or text.get("component") or kind or "change"
    return Change(
        start=cell.get("time"),
        end=cell.get("end") if text.get("end") else None,
        code=_code(kind, text),
        message=_message(what, text),
        targets=targets,
        why=why,
        is_state=kind in _STATES,
        to=text.get("to"),
        attributes={
            **{
                role: text[role]
                for role in ("kind", "component", "what", "file", "from", "to", "id", "by")
                if role in text
            },
            "scope": text.get("scope"),
            "percent": percent,
            "targets": len(targets) if len(targets) > 1 else None,
        },
    )


def _code(kind: str | None, text: Mapping[str, str]) -> str | None:
    """Name what was changed: the kind, unless it says only that something was."""
    if kind is not None and kind not in _NO_KIND and kind not in _STATES:
        return kind
    return word(text.get("component", "")) or ("config" if "file" in text else word(text.get("what", "")))


def _message(what: str, text: Mapping[str, str]) -> str:
    if "from" in text or "to" in text:
        return f"{what}: {text.get('from', '?')} -> {text.get('to', '?')}"
    return what


def _told(value: Any) -> str | None:
    """Write a value as text; lists and objects in short."""
    if isinstance(value, list):
        return ", ".join(part for item in value[:20] if (part := plain_text(item))) or None
    if isinstance(value, dict):
        return ", ".join(f"{plain_text(key)}={_told(item) or ''}" for key, item in list(value.items())[:20]) or None
    told = plain_text(value)
    return told.strip() or None if told is not None else None


def _percent(value: Any, scope: str | None) -> float | None:
    written = (_told(value) or "").removesuffix("%").strip()
    found = _PERCENT.fullmatch(f"{written}%") or _PERCENT.fullmatch(scope or "")
    share = float(found[1]) if found else None
    return share if share is not None and share <= 100 else None


def _listed(scope: Mapping[str, Any]) -> Any:
    """Give the targets that a scope lists; those of one kind say which."""
    for key, value in scope.items():
        role, kind = _ROLES.get(word(plain_text(key) or "") or ""), word(plain_text(key) or "") or ""
        if role == "target":
            return value
        if kind.rstrip("s") in ("rack", "switch", "pdu", "loop", "row", "hall"):
            names = value if isinstance(value, list) else [value]
            return [f"{kind.rstrip('s')}:{name}" for item in names if (name := plain_text(item))]
    return None


def _targets(value: Any, scope: Any, percent: float | None) -> tuple[tuple[Node, ...], str | None]:
    """Give the things that were changed, or why they are not known."""
    names = value if isinstance(value, list) else [value]
    written = [told.strip() for item in names if (told := plain_text(item)) and told.strip()]
    if not written and isinstance(scope, str) and ":" in scope:
        written = [scope]
    if not written and isinstance(scope, list):
        written = [told for item in scope if (told := plain_text(item))]
    if not written:
        everybody = percent is not None or word(_told(scope) or "") in _ALL or (_told(scope) or "") == "*"
        return ((CLUSTER,), None) if everybody else ((), NOBODY)
    found: dict[Node, None] = {}
    for name in written:
        if name == "*" or word(name) in _ALL:
            found[CLUSTER] = None
            continue
        if (node := parse_entity(name)) is not None:
            found[node] = None
            continue
        try:
            listed = expand(re.sub(r"[;,\s]+", ",", name).strip(","), limit=_LIMIT)
        except ValueError as error:
            return (), str(error)
        found.update(dict.fromkeys((host, "host", None) for host in listed if host))
    return tuple(found), None
