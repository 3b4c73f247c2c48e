"""Families inside the online rule: variants of one idea pay for each other and earn once.

Two claims are of one family where they ask the same signal about the same outcome, or where they
declare the same family name. The k-th test of a family enters the sequence with k times its p
(Bonferroni over the tries so far). Once a test of a family is rejected, the family has had its
discovery: later variants are held against the level of that discovery and neither pay nor earn,
so that many variants of one true claim cannot buy credit for false ones. Earlier decisions never
change, and the rule sees only what came before: the guarantee of the online rule stays whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.online import OnlineDecisions, saffron

__all__ = ["Decision", "Rule", "Tried", "decide_in_order", "family_groups", "family_sizes"]

Rule = Callable[[NDArray[np.float64]], OnlineDecisions]


class Tried(NamedTuple):
    """One test of the sequence.

    Attributes
    ----------
    p : float
        As the test gave it; NaN counts as 1.
    idea : tuple of str
        Signal and outcome.
    family : str or None
        Declared family.
    """

    p: float
    idea: tuple[str, str]
    family: str | None = None


class Decision(NamedTuple):
    """What the rule says of one test.

    Attributes
    ----------
    tries : int
        Tests of its family up to and with this one.
    p_family : float
        ``tries`` times p, at most 1: what is held against the level.
    level : float
        alpha_t.
    rejected : bool
    wealth : float
        After this test.
    pays : bool
        False where the family had been rejected before.
    """

    tries: int
    p_family: float
    level: float
    rejected: bool
    wealth: float
    pays: bool


def family_sizes(tests: Sequence[Tried]) -> list[int]:
    """Count, for each test, the tests of its family up to and with it.

    Examples
    --------
    >>> family_sizes([Tried(0.1, ("a", "x")), Tried(0.1, ("b", "x"), "f"), Tried(0.1, ("a", "x"), "f")])
    [1, 1, 3]
    """
    groups = _Groups()
    return [groups.join(test).count for test in tests]


def family_groups(tests: Sequence[Tried]) -> list[int]:
    """Give each test the number of its family, all links counted: the place of its first test.

    Examples
    --------
    >>> family_groups([Tried(0.1, ("a", "x")), Tried(0.1, ("b", "x"), "f"), Tried(0.1, ("a", "x"), "f")])
    [0, 0, 0]
    """
    groups = _Groups()
    for test in tests:
        groups.join(test)
    first: dict[int, int] = {}
    return [first.setdefault(id(groups.of(test)), place) for place, test in enumerate(tests)]


def decide_in_order(tests: Sequence[Tried], *, rule: Rule = saffron) -> list[Decision]:
    """Decide every test of the sequence; a pure function of what is handed in.

    Parameters
    ----------
    tests : sequence of Tried
        In the order of the ledger.
    rule : callable
        An online rule of :mod:`workbench.kernels.online`.

    Returns
    -------
    list of Decision

    Examples
    --------
    >>> idea = ("gpu.ecc_sbe_total", "xid")
    >>> [d.rejected for d in decide_in_order([Tried(0.001, idea), Tried(0.004, idea), Tried(0.001, ("b", "xid"))])]
    [True, False, True]
    """
    raised = np.minimum(1.0, np.array(family_sizes(tests)) * np.nan_to_num(np.array([t.p for t in tests]), nan=1.0))
    outside: set[int] = set()
    while True:
        inside = [place for place in range(len(tests)) if place not in outside]
        decided = rule(raised[inside])
        found = _after_discovery(tests, dict(zip(inside, decided.rejected.tolist(), strict=True)))
        if not found:
            return _assemble(tests, raised, dict(zip(inside, zip(*decided, strict=True), strict=True)))
        outside |= found


def _after_discovery(tests: Sequence[Tried], rejected: dict[int, bool]) -> set[int]:
    """Find tests inside the sequence that come after a discovery of their family.

    Only discoveries before the first such test are sure, since it changes what comes after it;
    but every test of their families is found at once.
    """
    groups = _Groups()
    found: set[int] = set()
    for place, test in enumerate(tests):
        group = groups.join(test)
        if place not in rejected:
            continue
        if group.level is not None:
            found.add(place)
        elif not found and rejected[place]:
            group.level = 0.0
    return found


def _assemble(
    tests: Sequence[Tried], raised: NDArray[np.float64], decided: dict[int, tuple[float, bool, float]]
) -> list[Decision]:
    groups, wealth, answers = _Groups(), float("nan"), []
    for place, test in enumerate(tests):
        group, p = groups.join(test), float(raised[place])
        if place in decided:
            level, rejected, wealth = decided[place]
            if rejected:
                group.level = float(level)
        else:
            assert group.level is not None, "a test outside the sequence follows a discovery"
            level, rejected = group.level, p <= group.level
        answers.append(Decision(group.count, p, float(level), bool(rejected), float(wealth), place in decided))
    return answers


@dataclass(eq=False)
class _Group:
    """One family so far; ``level`` is that of its discovery."""

    count: int = 0
    level: float | None = None
    names: set[tuple[str, ...]] = field(default_factory=set)


class _Groups:
    """Families so far; a declared name joins what shares no idea."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, ...], _Group] = {}

    def of(self, test: Tried) -> _Group:
        """Give the family of a test that was joined before."""
        return self._of[("idea", *test.idea)]

    def join(self, test: Tried) -> _Group:
        """Count a test in; families that it links become one."""
        names = [("idea", *test.idea)] + ([("family", test.family)] if test.family else [])
        merged = _Group(names=set(names))
        for group in {id(self._of[name]): self._of[name] for name in names if name in self._of}.values():
            merged.count += group.count
            merged.names |= group.names
            levels = [level for level in (merged.level, group.level) if level is not None]
            merged.level = min(levels, default=None)
        merged.count += 1
        for name in merged.names:
            self._of[name] = merged
        return merged
