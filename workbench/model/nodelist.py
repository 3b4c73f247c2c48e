"""Node lists as schedulers write them: ``node[001-003,7],gpu-a[1-2]-ib0``."""

from __future__ import annotations

import itertools
import re

__all__ = ["expand"]

_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")
_ONE_RANGE = re.compile(r"([^\[\],\s]+)\[([0-9]{1,18})-([0-9]{1,18})\]([^\[\],\s]*)")
#: Characters of all names of one part: a long name times many numbers is a bomb too.
_MOST_TEXT = 64 * 1024 * 1024


def expand(text: str, *, limit: int = 100_000) -> list[str]:
    """Give the host names of a node list, in its order; leading zeros are kept.

    Parameters
    ----------
    text : str
        Names separated by commas, with any number of bracketed lists of numbers and ranges.
    limit : int
        Largest number of names; a list that holds more is refused before it is built.

    Raises
    ------
    ValueError
        Where brackets do not match, a range is no range, or there are too many names.

    Examples
    --------
    >>> expand("node[08-10],login1")
    ['node08', 'node09', 'node10', 'login1']
    >>> expand("r[1-2]n[1,3]")
    ['r1n1', 'r1n3', 'r2n1', 'r2n3']
    """
    if one := _ONE_RANGE.fullmatch(text):  # as most are
        before, low, high, after = one.groups()
        count = int(high) - int(low) + 1
        if 0 < count <= limit and count * len(text) <= _MOST_TEXT:
            width = len(low)
            return [f"{before}{number:0{width}d}{after}" for number in range(int(low), int(high) + 1)]
    names: list[str] = []
    for part in _split(text):
        pieces = [_choices(piece, limit) for piece in re.split(r"(\[[^\[\]]*\])", part) if piece]
        count = 1
        for choices in pieces:
            count *= len(choices)
        if len(names) + count > limit or count * len(part) > _MOST_TEXT:
            raise ValueError(f"the node list names more than {limit} hosts")
        names += ["".join(choice) for choice in itertools.product(*pieces)]
    return names


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if depth not in (0, 1):
            raise ValueError(f"brackets do not match in node list '{text[:80]}'")
        if char == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    if depth:
        raise ValueError(f"brackets do not match in node list '{text[:80]}'")
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _choices(piece: str, limit: int) -> list[str]:
    if not piece.startswith("["):
        return [piece]
    choices: list[str] = []
    for item in piece[1:-1].split(","):
        match = _RANGE.fullmatch(item.strip())
        if match is None:
            raise ValueError(f"'{item[:40]}' is no number or range in node list brackets")
        low, high = match[1], match[2] or match[1]
        if int(high) < int(low) or int(high) - int(low) >= limit:
            raise ValueError(f"range '{item[:40]}' is backwards or names more than {limit} hosts")
        if len(choices) + int(high) - int(low) >= limit:
            raise ValueError(f"the node list names more than {limit} hosts")
        choices += [str(number).zfill(len(low)) for number in range(int(low), int(high) + 1)]
    return choices
