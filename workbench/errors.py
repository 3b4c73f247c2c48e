"""Every error that workbench raises on purpose.

The tree::

    WorkbenchError
    |-- UsageError            wrong use: the caller can mend the call
    |   |-- SpecificationError    a hypothesis, mapping or selector with mistakes (all of them)
    |   |-- UnknownNameError      a name that the store does not hold, with the nearest ones
    |   `-- NothingToDoError      a path, selector or folder that matches nothing
    |-- DataError             the data at hand do not allow the question
    |   |-- StoreError            a store that is missing, damaged, newer, locked or read-only
    |   `-- JoinError             two sources name their entities too differently to be joined
    |-- ResourceError         not enough memory or disk for what was asked
    `-- InterruptedWorkError  stopped by the user; what is done is kept and the work resumes
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = [
    "DataError",
    "InterruptedWorkError",
    "JoinError",
    "Mistake",
    "NothingToDoError",
    "ResourceError",
    "SpecificationError",
    "StoreError",
    "UnknownNameError",
    "UsageError",
    "WorkbenchError",
    "nearest",
]


class WorkbenchError(Exception):
    """Base of every error that workbench raises on purpose."""

    exit_code = 2


class UsageError(WorkbenchError):
    """Wrong use: the caller can mend the call."""


class Mistake(str):
    """One mistake of a specification: where it stands, what was expected, what was found."""

    __slots__ = ()


class SpecificationError(UsageError):
    """A specification with mistakes; carries all of them at once.

    Parameters
    ----------
    what : str
        What was being read, such as ``"hypothesis file claim.toml"``.
    mistakes : iterable of str
        One sentence each: where, expected, found, nearest right name.

    Examples
    --------
    >>> print(SpecificationError("claim.toml", ["line 2: no 'then'", "line 4: seed is not a number"]))
    claim.toml has 2 mistakes:
      1. line 2: no 'then'
      2. line 4: seed is not a number
    """

    def __init__(self, what: str, mistakes: Iterable[str]) -> None:
        self.what = what
        self.mistakes = tuple(Mistake(m) for m in mistakes)
        count = len(self.mistakes)
        head = f"{what} has {count} mistake{'' if count == 1 else 's'}:"
        lines = [f"  {number}. {text}" for number, text in enumerate(self.mistakes, start=1)]
        super().__init__("\n".join([head, *lines]))


class UnknownNameError(UsageError):
    """A name that is not there, with the nearest ones that are.

    Examples
    --------
    >>> print(UnknownNameError("metric", "gpu.powr_w", ["gpu.power_w", "host.load"], "See store.catalog()."))
    No metric 'gpu.powr_w' among the 2 known. Did you mean gpu.power_w? See store.catalog().
    """

    def __init__(self, what: str, name: str, known: Sequence[str], next_step: str = "") -> None:
        self.what, self.name, self.known = what, name, tuple(known)
        near = nearest(name, known)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        tail = f" {next_step}" if next_step else ""
        among = f"among the {len(known)} known" if known else "here, nor any other"
        super().__init__(f"No {what} '{name}' {among}.{hint}{tail}")


class NothingToDoError(UsageError):
    """A path, selector or folder that matches nothing."""


class DataError(WorkbenchError):
    """The data at hand do not allow the question."""


class StoreError(DataError):
    """A store that is missing, damaged, newer than this program, locked or read-only."""


class JoinError(DataError):
    """Two sources name their entities too differently to be joined."""


class ResourceError(WorkbenchError):
    """Not enough memory or disk for what was asked."""


class InterruptedWorkError(WorkbenchError):
    """Stopped by the user; what is done is kept and the work resumes."""

    exit_code = 3


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Give the known names nearest to ``name``, best first.

    Examples
    --------
    >>> nearest("xdi", ["xid", "sxid", "aer"])
    ['xid']
    """
    return difflib.get_close_matches(name, list(known), n=count, cutoff=0.6)
