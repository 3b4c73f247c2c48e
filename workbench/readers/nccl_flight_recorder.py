"""The flight recorder of PyTorch's NCCL backend, a dump a rank: which collective was never finished.

A pickle of plain containers, or the same as JSON. Times are nanoseconds since 1970. The rank stands in
the name of the file alone, unless the dump says it. Of each process group the last collective that was
enqueued and the last that was completed tell how many are outstanding: where ranks differ, the one
that enqueued less than the others is the one they wait for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import DataError
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.graph import Node
from workbench.readers.jsondoc import document_at, outer_keys
from workbench.readers.jsonvalues import clean, dicts
from workbench.readers.plainpickle import PickleRefusedError, plain_pickle
from workbench.readers.source import Source, damage_batches
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING

__all__ = ["READER"]

_LIMIT = 128 * 1024 * 1024
_KEYS = frozenset({"pg_config", "pg_status", "entries", "version"})
_FEWEST = 3
_MARK = b"\xef\xbb\xbf"
_OTHER = "no flight record: a dict with entries and pg_status was expected"
_MORE = "more bytes after the pickle"
_NO_TIME = "the entry has no time of creation"
_LATEST_NS = 253_402_300_799_000_000_000
_SEQUENCES = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        named = [key for key in sorted(_KEYS) if key.encode() in head]
        if b"entries" in head or len(named) >= _FEWEST - 1:
            return Match(confidence=0.9, rule=f"a pickle that speaks of {', '.join(named)}")
        return None
    found = outer_keys(head) & _KEYS
    if len(found) >= _FEWEST and {"pg_config", "pg_status"} & found:
        return Match(confidence=0.95, rule="JSON with pg_config and pg_status, as PyTorch's flight recorder writes it")
    return None


def _read(source: Source, context: Context) -> Iterator[Batch]:
    told = Told()
    try:
        data = source.read_all(_LIMIT).removeprefix(_MARK)
        dump, rest = _dump(data) if data.strip() else (None, b"")
        if dump is not None:
            _Dump(dump, context, told).tell()
        if rest.strip():
            told.reject(1, _MORE)
    except (DataError, PickleRefusedError) as error:
        told.reject(1, str(error))
    yield told.batch()
    yield from damage_batches(source)


def _dump(data: bytes) -> tuple[Mapping[Any, Any], bytes]:
    """Give the dict of a dump, and the bytes behind it.

    Raises
    ------
    PickleRefusedError
        Where there is none.
    """
    if data[:1] == b"\x80":
        value, end = plain_pickle(data)
        rest = data[end:]
    else:
        document = document_at(data.strip(), 1)
        if document.why is not None:
            raise PickleRefusedError(document.why)
        value, rest = document.value, b""
    if not isinstance(value, dict) or not {"entries", "pg_status"} & set(value):
        raise PickleRefusedError(_OTHER)
    return value, rest


@dataclass(eq=False)
class _Dump:
    """One rank's dump."""

    dump: Mapping[Any, Any]
    context: Context
    told: Told
    _latest_us: int = 0
    _first_us: dict[tuple[str, int], int] = field(default_factory=dict)

    def tell(self) -> None:
        """Tell the entries, then what each process group has left to do."""
        who = self._who()
        entries = dicts(self.dump.get("entries"))
        status = self.dump.get("pg_status")
        groups = status if isinstance(status, dict) else {}
        if who is None:
            for number in range(1, len(entries) + len(groups) + 1):
                self.told.reject(number, HOST_MISSING, curable="host")
            return
        for number, entry in enumerate(entries, start=1):
            self._entry(number, entry, who)
        names = self._names(entries)
        for number, (group, facts) in enumerate(groups.items(), start=len(entries) + 1):
            self._status(number, str(group), facts, (who, names))
        if not entries and not groups:
            self.told.skip("empty")

    def _who(self) -> Node | None:
        rank = _whole(self.dump.get("rank"))
        if rank is not None:
            return (self.context.host, "rank", str(rank))
        return None if self.context.host is None else (self.context.host, "host", None)

    def _entry(self, number: int, entry: Mapping[str, Any], who: Node) -> None:
        created = _us(entry.get("time_created_ns"))
        if created is None:
            self.told.reject(number, _NO_TIME, _shown(entry))
            return
        seen = [_us(entry.get(f"time_discovered_{word}_ns")) for word in ("started", "completed")]
        self._latest_us = max(self._latest_us, created, *(moment or 0 for moment in seen))
        group, sequence = _group(entry), _whole(entry.get("collective_seq_id"))
        if sequence is not None and not entry.get("is_p2p"):
            self._first_us.setdefault((group[0], sequence), created)
        attributes = {
            "record": _whole(entry.get("record_id")), "group": group[0], "group_name": group[1], "sequence": sequence,
            "p2p_sequence": _whole(entry.get("p2p_seq_id")) if entry.get("is_p2p") else None,
            "sizes": json.dumps(_sizes(entry.get("input_sizes"))), "timeout_ms": _whole(entry.get("timeout_ms")),
            "started_us": seen[0], "completed_us": seen[1],
        }  # fmt: skip
        self.told.row()
        self.told.event(
            who, "nccl", _text(entry.get("profiling_name")) or "collective", span_us=(created, created), line=number,
            code=_text(entry.get("state")), attributes=attributes,
        )  # fmt: skip

    def _names(self, entries: list[dict[str, Any]]) -> dict[str, tuple[str, str | None]]:
        """Give what each key of ``pg_status`` is called: its number counts groups, entries name them."""
        names = {
            str(_whole(entry.get("pg_id"))): _group(entry)
            for entry in entries
            if _whole(entry.get("pg_id")) is not None
        }
        config = self.dump.get("pg_config")
        for key, facts in config.items() if isinstance(config, dict) else ():
            if isinstance(facts, dict):
                names.setdefault(str(key), (_text(facts.get("name")) or str(key), _text(facts.get("desc"))))
        return names

    def _status(
        self, number: int, group: str, facts: Any, whose: tuple[Node, dict[str, tuple[str, str | None]]]
    ) -> None:
        who, names = whose
        if not isinstance(facts, dict) or not self._latest_us:
            self.told.reject(number, "status of a process group without a time: the dump has no entries", _shown(facts))
            return
        name, description = names.get(group, (group, None))
        self.told.row()
        values = {key: _whole(facts.get(key)) for key in _SEQUENCES}
        labels = {"group": name, **({"group_name": description} if description else {}), "group_id": group}
        for key, value in values.items():
            if value is None or value < 0:
                self.told.absent(f"nccl.{key}", "none yet" if value is not None else "empty")
            else:
                self.told.sample(who, f"nccl.{key}", value, ts_us=self._latest_us, kind="counter", labels=labels)
        enqueued, completed = values[_SEQUENCES[0]], values[_SEQUENCES[2]]
        if enqueued is None or completed is None or enqueued <= max(completed, -1) or enqueued < 0:
            return
        begun = self._first_us.get((name, max(completed, 0) + 1), min(self._first_us.values(), default=self._latest_us))
        self.told.event(
            who,
            "nccl",
            f"process group {name} ({description or group}): {enqueued} enqueued, {completed} completed",
            span_us=(min(begun, self._latest_us), self._latest_us),
            line=number,
            code="outstanding",
            attributes={"group": name, "group_name": description, "enqueued": enqueued, "completed": completed,
                        "outstanding": enqueued - max(completed, 0)},
        )  # fmt: skip


def _group(entry: Mapping[str, Any]) -> tuple[str, str | None]:
    """Give name and description of the group of an entry."""
    group = entry.get("process_group")
    if isinstance(group, (list, tuple)) and group:
        return _text(group[0]) or "?", _text(group[1]) if len(group) > 1 else None
    return _text(entry.get("pg_name")) or _text(group) or "?", None


def _whole(value: Any) -> int | None:
    """Give an integer of 63 bits; truth values are none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _us(value: Any) -> int | None:
    number = _whole(value)
    return number // 1000 if number is not None and 0 < number < _LATEST_NS else None


def _text(value: Any) -> str | None:
    return clean(value[:500]) if isinstance(value, str) and value else None


def _sizes(value: Any) -> list[list[int]]:
    rows = value if isinstance(value, (list, tuple)) else ()
    return [[n for n in row if _whole(n) is not None][:16] for row in rows[:16] if isinstance(row, (list, tuple))]


def _shown(value: Any) -> str:
    """Show the keys: a value may be a list that holds itself many times over."""
    return (
        ", ".join(clean(str(key)[:40]) for key in list(value)[:20]) if isinstance(value, dict) else type(value).__name__
    )


READER = Reader(name="nccl_flight_recorder", recognise=_recognise, read=_read)
