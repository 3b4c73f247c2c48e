"""Stand-ins for names: hosts, users, jobs and devices, the same one everywhere in a write-up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["Pseudonyms"]

_TOKEN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
_SPLIT = re.compile(r"([._\-])")
_JOB = re.compile(r"(?i)(\bjob(?:[ _]?id)?\b[\s:=#]*)([0-9][\w.+\-]*)")
_SERIAL = re.compile(r"(?i)(\bserial(?:[ _]?(?:number|no))?\b[\s:=#]*)([\w\-]*\d[\w\-]*)")
_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
# Words that name nobody, though a host or user may be called so.
_COMMON = frozenset(
    {"cluster", "gpu", "host", "job", "localhost", "node", "nobody", "port", "rack", "root", "switch", "user"}
)


class Pseudonyms:
    """Replaces known names by stand-ins such as ``host-003``; the same name always by the same one.

    Best effort over the names that the store knows: hosts with their other names and domains, other
    entities, users, job names and job numbers, serial numbers and IPv4 addresses. A name that
    stands nowhere but in free text is not known and stays: read the page before you pass it on.
    Names that are common words, numbers or single characters stay as well.

    Parameters
    ----------
    names : mapping of kind to names
        Kinds name the stand-ins.
    same : mapping of name to name
        Other names of one thing: both get the same stand-in.

    Examples
    --------
    >>> names = Pseudonyms({"host": ["node07", "node03"], "user": ["alice"]})
    >>> names.text("alice on node03.dc.example: job 8841 fell, see node03/gpu:0 from 10.0.0.7")
    'user-1 on host-2.dc.example: job job-x fell, see host-2/gpu:0 from address-x'
    """

    def __init__(self, names: Mapping[str, Iterable[str]], *, same: Mapping[str, str] | None = None) -> None:
        self._jobs = _numbered("job", names.get("job", ()))
        self._known: dict[str, str] = {}
        for kind in sorted(names):
            if kind != "job":
                usable = {name for name in names[kind] if _tells(name)}
                for name, alias in _numbered(kind, usable).items():
                    self._known.setdefault(name.lower(), alias)
        self._known |= {name.lower(): alias for name, alias in self._jobs.items() if not name.isdigit()}
        for other, name in (same or {}).items():
            if _tells(other) and name.lower() in self._known:
                self._known.setdefault(other.lower(), self._known[name.lower()])
        odd = [name for name in self._known if not _TOKEN.fullmatch(name)]
        pattern = "|".join(re.escape(name) for name in sorted(odd, key=len, reverse=True))
        self._odd = re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE) if odd else None

    @classmethod
    def of(cls, store: Store) -> Pseudonyms:
        """Collect the names that a store knows."""
        names: dict[str, set[str]] = {"host": set(), "user": set(), "job": set(), "job-name": set()}
        entities = store.entities().select("entity", "kind").unique()
        for entity, kind in entities.iter_rows():
            first, *rest = entity.split("/")
            if rest:
                names.setdefault("cluster", set()).add(first)
            last = entity.rsplit("/", 1)[-1].partition(":")[2] or entity.rsplit("/", 1)[-1]
            names.setdefault(kind, set()).add(last)
        aliases = store.sql("select distinct name, same_as from aliases where kind = 'host' order by all").rows()
        for name, _ in aliases:
            if "." in name:
                names.setdefault("domain", set()).add(name.partition(".")[2])
        jobs = store.jobs()
        for column, kind in (("user", "user"), ("job", "job"), ("name", "job-name")):
            if column in jobs.columns:
                names[kind] |= set(jobs[column].drop_nulls().cast(pl.String).to_list())
        return cls(names, same={name: same for name, same in aliases if "." not in name})

    def text(self, text: str) -> str:
        """Replace every known name in a text."""
        if self._odd is not None:
            text = self._odd.sub(lambda found: self._known[found[0].lower()], text)
        text = _SERIAL.sub(lambda found: found[1] + "serial-x", _ADDRESS.sub("address-x", text))
        text = _JOB.sub(lambda found: found[1] + self._jobs.get(found[2], "job-x"), text)
        return _TOKEN.sub(lambda found: self._token(found[0]), text)

    def over(self, value: Any, *, keys: bool = False) -> Any:
        """Replace in every text of plain values; keys are names only below ``details``."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self.text(str(key)) if keys else key: self._item(str(key), item, keys=keys)
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.over(item, keys=keys) for item in value]
        return value

    def _item(self, key: str, item: Any, *, keys: bool) -> Any:
        if key == "job" and isinstance(item, str) and item in self._jobs:
            return self._jobs[item]
        return self.over(item, keys=keys or key == "details")

    def _token(self, token: str) -> str:
        """Replace a word, or the longest runs of its parts that are names: ``node07-kern.log``."""
        whole = self._known.get(token.lower())
        if whole is not None:
            return whole
        parts = _SPLIT.split(token)
        if len(parts) == 1:
            return token
        result, at = [], 0
        while at < len(parts):
            for end in range(len(parts), at, -1):
                alias = self._known.get("".join(parts[at:end]).lower())
                if alias is not None:
                    result.append(alias)
                    at = end
                    break
            else:
                result.append(parts[at])
                at += 1
        return "".join(result)


def _tells(name: str) -> bool:
    return len(name) > 1 and not name.isdigit() and name.lower() not in _COMMON


def _numbered(kind: str, names: Iterable[str]) -> dict[str, str]:
    ordered = sorted(set(names), key=lambda name: sha256(name.encode()).digest())  # no order that tells the name
    wide = len(str(len(ordered)))
    return {name: f"{kind}-{number:0{wide}d}" for number, name in enumerate(ordered, start=1)}
