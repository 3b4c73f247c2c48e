"""Which words of log lines are variables: all lines of one shape tell together, in whatever order they come."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["variable_positions"]

_PAIRS_POSITIONS = 40
_PAIRS_ROWS = 5_000
_ROUNDS = 8
_NEVER = np.iinfo(np.int64).max

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def variable_positions(tokens: Ints, odd: Flags, least: Ints) -> Flags:
    """Tell at which positions each line holds a variable.

    A position varies as a variable does where one of its tokens is odd (holds a number, an address,
    a dot inside) or ``least`` different words stand there. First all lines are one group. A group
    whose varying positions all vary as variables do is one template; any other is split by the
    position that has the fewest different tokens. Then groups that are equal but for one or two
    positions are joined where those vary as variables do, until nothing changes. A template has
    at least as many plain words as variables. Each step looks at a whole group at once, so the order
    of lines does not matter.

    Parameters
    ----------
    tokens : (line, position) int64
        Numbers of tokens; all lines differ.
    odd : (token,) bool
        Tokens that look like values: by token number.
    least : (line, position) int64
        Different words that make a variable there; the largest of a group counts.

    Returns
    -------
    (line, position) bool

    Notes
    -----
    Splitting by the position of fewest tokens is IPLoM's (Makanju et al., KDD 2009); joining what is
    alike but for a word is the similarity of Drain (He et al., ICWS 2017), made symmetric.

    Examples
    --------
    >>> tokens = np.array([[0, 1], [0, 2], [3, 1]])
    >>> variable_positions(tokens, np.array([False, True, True, False]), np.full((3, 2), 6)).tolist()
    [[False, True], [False, True], [False, False]]
    """
    tokens = np.ascontiguousarray(tokens, np.int64)
    variable = np.zeros(tokens.shape, bool)
    waiting = [np.arange(len(tokens))]
    while waiting:
        rows = waiting.pop()
        if rows.size < 2:
            continue
        own = tokens[rows]
        varying = (own != own[0]).any(axis=0)
        different = np.array([np.unique(own[:, p]).size if varying[p] else 1 for p in range(own.shape[1])])
        values = odd[own].any(axis=0)
        passing = varying & (values | (different >= least[rows].max(axis=0)))
        kept = int((~varying & ~values).sum())
        if (passing == varying).all() and kept >= passing.sum():
            variable[np.ix_(rows, np.flatnonzero(passing))] = True
            continue
        waiting += _split(rows, own, different, values | passing)
    return _joined(tokens, odd, least, variable)


def _split(rows: Ints, own: Ints, different: Ints, like_values: Flags) -> list[Ints]:
    """Split a group by the position of fewest tokens; by words first, by what looks like values last."""
    cost = np.where(different > 1, different + np.where(like_values, _NEVER // 2, 0), _NEVER)
    position = int(cost.argmin())
    column = own[:, position]
    order = np.argsort(column, kind="stable")
    cuts = np.flatnonzero(np.diff(column[order])) + 1
    return np.split(rows[order], cuts)


def _joined(tokens: Ints, odd: Flags, least: Ints, variable: Flags) -> Flags:
    """Join groups that are equal but for one position, or two."""
    lines, width = tokens.shape
    if lines < 2:
        return variable
    hashes = _mix(tokens.astype(np.uint64) * np.uint64(width) + np.arange(width, dtype=np.uint64)[None, :])
    open_hash = _mix(np.arange(width, dtype=np.uint64) + np.uint64(2**63))
    plain = ~odd[tokens]
    for _ in range(_ROUNDS):
        now = np.where(variable, open_hash, hashes)
        total = now.sum(axis=1, dtype=np.uint64)
        _, first, group = np.unique(total, return_index=True, return_inverse=True)
        if first.size < 2:
            break
        need = np.zeros((first.size, width), np.int64)
        np.maximum.at(need, group, least)
        state = _Groups(
            now=now[first], total=total[first], token=np.where(variable, -1, tokens)[first], odd=odd, least=need
        )
        opened = variable[first] | state.opened(1)
        kept = plain[first]
        opened = _kept(opened, variable[first], kept)
        if (opened == variable[first]).all() and width <= _PAIRS_POSITIONS and first.size <= _PAIRS_ROWS:
            opened = _kept(variable[first] | state.opened(2), variable[first], kept)
        if (opened == variable[first]).all():
            break
        variable = opened[group]
    return variable


@dataclass(frozen=True, eq=False, kw_only=True)
class _Groups:
    """One row for each group as it is in this round; ``token`` is -1 at variables."""

    now: NDArray[np.uint64]
    total: NDArray[np.uint64]
    token: Ints
    odd: Flags
    least: Ints

    def opened(self, count: int) -> Flags:
        """Tell which positions vary as variables do in a bucket that leaves ``count`` of them open."""
        marks = np.zeros(self.token.shape, bool)
        for positions in combinations(range(self.token.shape[1]), count):
            rest = self.total.copy()
            for position in positions:
                rest -= self.now[:, position]
            order = np.argsort(rest, kind="stable")
            same = rest[order][1:] == rest[order][:-1]
            if not same.any():
                continue
            rows = order[np.append(same, False) | np.append(False, same)]
            bucket = np.cumsum(np.append(True, rest[rows][1:] != rest[rows][:-1])) - 1
            passing = np.ones(rows.size, bool)
            for position in positions:
                passing &= self._varies(rows, bucket, position)
            for position in positions:
                marks[rows[passing], position] = True
        return marks

    def _varies(self, rows: Ints, bucket: Ints, position: int) -> Flags:
        """Tell for each row whether the position varies as a variable does in its bucket."""
        token = self.token[rows, position]
        pair = np.unique(np.stack([bucket, token]), axis=1)
        different = np.bincount(pair[0])
        values = np.bincount(pair[0], weights=(pair[1] < 0) | self.odd[pair[1]])
        need = np.zeros(different.size, np.int64)
        np.maximum.at(need, bucket, self.least[rows, position])
        enough = (different > 1) & ((values > 0) | (different >= need))
        return enough[bucket]


def _kept(opened: Flags, before: Flags, plain: Flags) -> Flags:
    """Take back what would leave a line fewer words than variables; the lines of a bucket share these words."""
    hollow = (~opened & plain).sum(axis=1) < opened.sum(axis=1)
    return np.where(hollow[:, None], before, opened)


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread numbers over 64 bits: the finaliser of splitmix64 (Steele et al., OOPSLA 2014)."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
