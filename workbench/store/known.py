"""What is stated about a file, and whether content that is there already must be read again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from workbench.model.context import Context

__all__ = ["LOADED", "SUPERSEDED", "Known", "context_json", "known_files", "same_known"]

#: Statuses of files whose rows are in the store.
LOADED = frozenset({"loaded", "loaded with rejects", "no rows", "damaged"})
#: Status of a file whose whole content stands at the beginning of another one.
SUPERSEDED = "superseded"
_WHOSE = ("host", "cluster", "taken_at_us", "file_name")
_NOTHING: dict[str, Any] = json.loads(json.dumps(asdict(Context())))


def context_json(context: Context) -> str:
    """Write what was stated, and nothing of what was not.

    Examples
    --------
    >>> context_json(Context(zone="UTC")), context_json(Context())
    ('{"zone":"UTC"}', '{}')
    """
    return json.dumps(_stated(json.loads(json.dumps(asdict(context)))), sort_keys=True, separators=(",", ":"))


def _stated(facts: Mapping[str, Any]) -> dict[str, Any]:
    columns = facts.get("columns") or {}
    usual = _NOTHING["columns"]
    own = {f"columns.{name}": value for name, value in columns.items() if value != usual.get(name)}
    return {name: value for name, value in facts.items() if name != "columns" and value not in (None, False)} | own


@dataclass(frozen=True, kw_only=True)
class Known:
    """A file that the store knows by its content.

    ``content``, ``size`` and ``opening`` are those of :class:`workbench.store.look.Look`; ``taken``:
    by the ingest that is under way.
    """

    source: str
    status: str
    curable: int = 0
    hostless: int = 0
    context: str = "{}"
    digest: str = ""
    path: str = ""
    reader: str = ""
    content: str = ""
    size: int = 0
    opening: tuple[str, ...] = ()
    taken: bool = False

    @staticmethod
    def source_of(digest: str, context: Context) -> str:
        """Give the id of content that is read in a context.

        Examples
        --------
        >>> Known.source_of("0" * 64, Context()), Known.source_of("0" * 64, Context(host="n1"))[:4]
        ('0000000000000000', '4ac2')
        """
        whose = _whose(context_json(context))
        return digest[:16] if not whose else hashlib.sha256(f"{digest} {whose}".encode()).hexdigest()[:16]

    @property
    def nameless(self) -> bool:
        """Whether nobody said which host some of the content is of: the same lines may be of another one.

        Examples
        --------
        >>> one = Known(source="1", status="loaded", hostless=1)
        >>> one.nameless, Known(source="1", status="loaded", hostless=1, context='{"host":"n1"}').nameless
        (True, False)
        """
        return bool(self.hostless or self.curable) and "host" not in json.loads(self.context)

    def kept_beside(self, path: str, reader: str) -> str:
        """Say why it stays beside a file that begins with all of it; "" where it gives way."""
        if self.nameless and self.path != path:
            return f"begins with {self.path}; nobody says which host that is of, so both are kept: state host (--map)"
        return (
            "" if self.reader == reader else f"begins with {self.path}, which reader {self.reader} took: both are kept"
        )

    @property
    def settled(self) -> bool:
        """Whether nothing was stated about the content, and nothing of it waits for that."""
        return self.context == "{}" and not self.curable and not self.hostless

    def read_again(self, context: Context) -> bool:
        """Tell whether the content is to be read again, replacing its rows.

        It is where nothing of it was loaded; and where something is stated now that was not, or
        otherwise, and records were rejected for want of it, names were left without a host, or
        something was stated already; or the rows went because another file begins with them, which
        may be of another host. Stating less than before changes nothing.
        """
        if self.taken:
            return False
        if self.status not in LOADED and self.status != SUPERSEDED:
            return True
        before: dict[str, Any] = json.loads(self.context)
        now: dict[str, Any] = json.loads(context_json(context))
        if self.status != SUPERSEDED and not (self.curable or self.hostless or before):
            return False
        return any(before.get(name) != value for name, value in now.items())

    @staticmethod
    def is_whose(context: Context) -> bool:
        """Tell whether something is stated that makes two files of one content two."""
        return bool(_whose(context_json(context)))

    def is_same(self, path: str, context: Context) -> bool:
        """Tell whether a file of this content is this one: of the same host and time, as far as stated, or place."""
        before, now = _whose(self.context), _whose(context_json(context))
        return before == now or self.path == path or not before or not now


def _whose(context: str) -> dict[str, Any]:
    """Give what makes two files of one content two: dumps of idle devices are alike on many hosts."""
    return {name: value for name, value in json.loads(context).items() if name in _WHOSE}


def known_files(files: pl.DataFrame) -> dict[str, list[Known]]:
    """Give what the ``files`` table knows, by digest."""
    found: dict[str, list[Known]] = {}
    for row in files.filter(pl.col("digest") != "").iter_rows(named=True):
        one = Known(
            source=row["source"], status=row["status"], curable=row["curable"] or 0, hostless=row["hostless"] or 0,
            context=row["context"] or "{}", digest=row["digest"], path=row["path"], reader=row["reader"] or "",
            content=row["content_digest"] or "", size=row["content_bytes"] or 0, opening=tuple((row["opening"] or "").split()),
        )  # fmt: skip
        found.setdefault(one.digest, []).append(one)
    return found


def same_known(known: Iterable[Known], path: str, context: Context) -> Known | None:
    """Choose what the store knows of a file, among all that it has of its content."""
    mine = [one for one in known if one.is_same(path, context)]
    exact = [one for one in mine if _whose(one.context) == _whose(context_json(context))]
    return next(iter(exact or mine), None)
