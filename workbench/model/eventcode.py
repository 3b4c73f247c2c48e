"""What a code of an event means: Xids and SXids in our own words, from ``catalogue/{xid,sxid}.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import polars as pl

__all__ = ["ORIGINS", "ROLES", "EventCode", "event_code", "event_codes", "meanings"]

#: Where the fault lies as a rule. ``either``: hardware or software, and the code does not tell.
ORIGINS = ("hardware", "application", "driver", "link", "either", "information")
#: root: a fault of its own. teardown: cleaning up after another. detail: more of another one.
ROLES = ("root", "teardown", "detail", "information")
_FILES = ("xid.toml", "sxid.toml")


@dataclass(frozen=True, kw_only=True)
class EventCode:
    """One code.

    Attributes
    ----------
    kind, code : str
        Such as ``xid`` and ``79``.
    name, meaning : str
        In a few words, and in a sentence or two.
    origin : str
        One of :data:`ORIGINS`.
    action : str
        What to do at once.
    role : str
        One of :data:`ROLES`.
    leads_to, follows : tuple of str
        Events that are known to come after it, and those that it is known to come after:
        ``kind:code@place``, where the place is ``same`` (the same device), ``host`` or ``peers``
        (other devices of the job).
    noise : bool
        Of no account by itself.
    """

    kind: str
    code: str
    name: str
    meaning: str
    origin: str
    action: str
    role: str
    leads_to: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    noise: bool = False


def event_code(kind: str, code: str | int | None) -> EventCode | None:
    """Give what is known of a code; None where nothing is.

    Examples
    --------
    >>> known = event_code("xid", 79)
    >>> known.name, known.origin, known.role, known.leads_to[0]
    ('GPU fell off the bus', 'hardware', 'root', 'xid:154@same')
    >>> event_code("xid", "999") is None, event_code("nfs", "ok") is None
    (True, True)
    """
    return _by_code().get((kind, str(code)))


def event_codes(kind: str | None = None) -> tuple[EventCode, ...]:
    """Give all codes that are known, or those of one kind, in the order of their numbers.

    Examples
    --------
    >>> len(event_codes("xid")), len(event_codes("sxid"))
    (172, 92)
    """
    return tuple(known for known in _by_code().values() if kind is None or known.kind == kind)


def meanings() -> pl.DataFrame:
    """Give the catalogue as a table: ``kind, code, name, meaning, origin, role, action``.

    Examples
    --------
    >>> meanings().filter(kind="xid", code="45").select("role", "origin").rows()
    [('teardown', 'information')]
    """
    columns = ("kind", "code", "name", "meaning", "origin", "role", "action")
    rows = [tuple(getattr(known, name) for name in columns) for known in _by_code().values()]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


@cache
def _by_code() -> dict[tuple[str, str], EventCode]:
    folder = resources.files("workbench.model") / "catalogue"
    known = []
    for file in _FILES:
        for entry in tomllib.loads((folder / file).read_text(encoding="utf-8"))["event"]:
            known += _codes(entry)
    known.sort(key=lambda one: (one.kind, int(one.code)))
    return {(one.kind, one.code): one for one in known}


def _codes(entry: dict[str, Any]) -> list[EventCode]:
    names: dict[str, str] = entry.get("names", {})
    same = {name: entry[name] for name in ("kind", "meaning", "origin", "action", "role")}
    return [
        EventCode(
            **same,
            code=str(code),
            name=names.get(str(code), entry["name"]),
            leads_to=tuple(entry.get("leads_to", ())),
            follows=tuple(entry.get("follows", ())),
            noise=entry.get("noise", False),
        )
        for code in entry["codes"]
    ]
