"""Which files of an ingest are to be read: content that is there already is not, nor what another file begins with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workbench.errors import DataError
from workbench.model.context import Context
from workbench.store.known import LOADED, Known, context_json
from workbench.store.look import LEVELS, Look, digests_of_first, look_at
from workbench.store.walk import Found

__all__ = ["Candidate", "Shelf", "longer_of"]

#: Longer files of the store that are compared with a new one, at most.
_MOST_COMPARED = 16


@dataclass(eq=False, kw_only=True)
class Candidate:
    """A file of this ingest that was looked at.

    Attributes
    ----------
    number : int
        Its place among the files found.
    found : Found
    context : Context
    look : Look or None
        None: it cannot be looked at, for the reason ``trouble``.
    longer : Candidate or None
        Another one that begins with all of it, read the same way.
    """

    number: int
    found: Found
    context: Context
    look: Look | None = None
    trouble: str = ""
    longer: Candidate | None = field(default=None, repr=False)

    @property
    def source(self) -> str:
        """Id of the content, read in this context: the same dump of two hosts is two."""
        assert self.look is not None
        return Known.source_of(self.look.digest, self.context)


def _level(size: int) -> int:
    """Give the place of the longest opening that a file of this size has; -1 where it has none."""
    return sum(level <= size for level in LEVELS) - 1


def longer_of(candidates: Sequence[Candidate]) -> None:
    """Note for each file the longest other one of this ingest that begins with all of it."""
    shared: dict[tuple[int, str, str], list[Candidate]] = {}
    seen = [one for one in candidates if one.look is not None and one.look.opening]
    for one in seen:
        for level, opening in enumerate(one.look.opening if one.look else ()):
            shared.setdefault((level, opening, context_json(one.context)), []).append(one)
    wanted: dict[int, list[Candidate]] = {}
    for one in seen:
        assert one.look is not None
        level = _level(one.look.size)
        peers = shared[level, one.look.opening[level], context_json(one.context)]
        for other in peers:
            if _may_begin_with(other.look, one.look.size, damaged=bool(one.look.damage)):
                wanted.setdefault(id(other), []).append(one)
    by_size = sorted(seen, key=lambda one: (one.look.size if one.look else 0, -one.number))
    for other in by_size:  # the longest speaks last
        shorter = wanted.get(id(other), [])
        if shorter:
            told = _begins(other.found, [one.look.size for one in shorter if one.look])
            for one in shorter:
                if one.look and told.get(one.look.size) == one.look.content:
                    one.longer = other


def _may_begin_with(look: Look | None, size: int, *, damaged: bool) -> bool:
    return look is not None and (look.size > size or (look.size == size and damaged and not look.damage))


def _begins(found: Found, sizes: Iterable[int]) -> dict[int, str]:
    try:
        return digests_of_first(found, list(sizes))
    except OSError:
        return {}  # it will be found unreadable when its turn comes


class Shelf:
    """The files of the store, found by what they begin with.

    Parameters
    ----------
    known : iterable of Known
    """

    def __init__(self, known: Iterable[Known]) -> None:
        self._by_opening: dict[tuple[int, str], list[Known]] = {}
        for one in known:
            if one.status in LOADED and one.size:
                for level, opening in enumerate(one.opening):
                    self._by_opening.setdefault((level, opening), []).append(one)

    def shorter(self, one: Candidate) -> list[Known]:
        """Give the files of the store whose whole content this one begins with, read the same way."""
        assert one.look is not None
        look, context = one.look, context_json(one.context)
        mine = [
            other
            for level, opening in enumerate(look.opening)
            for other in self._by_opening.get((level, opening), ())
            if _level(other.size) == level and other.context == context and other.digest != look.digest
            and _may_begin_with(look, other.size, damaged=other.status == "damaged")
        ]  # fmt: skip
        told = _begins(one.found, [other.size for other in mine]) if mine else {}
        return [other for other in mine if told.get(other.size) == other.content]

    def longer(self, one: Candidate) -> Known | None:
        """Give a file of the store that begins with all of this one; it must still be where it was to tell.

        Files of which nobody said whose they are tell nothing of this one.
        """
        assert one.look is not None
        look, context, level = one.look, context_json(one.context), _level(one.look.size)
        if level < 0 or not look.opening:
            return None
        near = self._by_opening.get((level, look.opening[level]), ())
        alike = [
            other for other in near if other.context == context or (other.settled and not Known.is_whose(one.context))
        ]
        mine = [other for other in alike if other.size > look.size and not other.nameless]
        for other in sorted(mine, key=lambda other: -other.size)[:_MOST_COMPARED]:
            there = Found(path=Path(other.path), shown=other.path, relative=other.path)
            try:
                if look_at(there).digest == other.digest and _begins(there, [look.size]).get(look.size) == look.content:
                    return other
            except DataError:
                continue  # it is gone
        return None
