"""The checks that a finding must stand, at the feature that won (METHOD section 4, step 11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.design import MatchedSets
from workbench.analysis.precursor import MatchedTest, Source, deflation
from workbench.analysis.settings import Settings
from workbench.kernels.ranks import rank_z
from workbench.kernels.sequential import draw_members
from workbench.kernels.tail import saddle_point_tail
from workbench.kernels.windows import UNITS, Windows
from workbench.panel.fleet import Fleet
from workbench.timebase import MICROS, format_us

__all__ = [
    "CHECKS",
    "EPOCH",
    "FAILED",
    "NOT_DONE",
    "PASSED",
    "Check",
    "crossover_check",
    "leave_one_out",
    "placebo_check",
    "reversed_time",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

PASSED, FAILED, NOT_DONE = "passed", "failed", "not done"
CHECKS = ("guard", "placebo", "leave_one_out", "crossover", "reversed_time", "proxy")
EPOCH = "one epoch carries it"

TWO_SIDED = 0.05
ONE_SIDED = 0.05
LEFT_P = 0.025
LEAVE_OUT_DRAWS = 1_999
PLACEBO_SHARE = 0.5
Z_AFTER, AFTER_TO_BEFORE = 4.0, 1.5
AFTER_UNITS = UNITS // 2


@dataclass(frozen=True, kw_only=True)
class Check:
    """How one check went.

    Attributes
    ----------
    state : str
        ``passed``, ``failed`` or ``not done``.
    about : str
        What failed, or why it was not done.
    numbers : mapping
        What it was decided on.
    """

    state: str
    about: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)


def placebo_check(test: MatchedTest, placebo: MatchedTest | None, *, least: int) -> Check:
    """Ask the same question at a quiet moment before; a like answer means that something else is seen.

    Fails where the same feature has p < .05 there (two-sided) and more than half of the z.
    """
    if placebo is None or placebo.sets.sets < least:
        return Check(state=NOT_DONE, about="too few cases have data so long before")
    z, before = test.z(test.best), placebo.z(test.best)
    column, offsets = placebo.centred[:, test.best], placebo.sets.offsets
    size = abs(float(column[offsets[:-1]].sum())) / deflation(placebo.v)
    p = saddle_point_tail(column, offsets, size) + saddle_point_tail(-column, offsets, size) if column.any() else 1.0
    failed = p < TWO_SIDED and abs(before) > PLACEBO_SHARE * abs(z)
    about = "as strong when nothing followed" if failed else ""
    numbers = {"z": z, "z_placebo": before, "p_placebo": min(1.0, p)}
    return Check(state=FAILED if failed else PASSED, about=about, numbers=numbers)


def crossover_check(test: MatchedTest, crossover: MatchedTest | None, *, least: int) -> Check:
    """Compare the same entity with its other moments, one-sided in the direction of the finding."""
    if crossover is None or crossover.sets.sets < least:
        return Check(state=NOT_DONE, about="too few cases have other moments to compare with")
    sign = 1.0 if test.up else -1.0
    scores = sign * crossover.centred[:, test.best]
    offsets = crossover.sets.offsets
    p = saddle_point_tail(scores, offsets, float(scores[offsets[:-1]].sum())) if scores.any() else 1.0
    failed = not p < ONE_SIDED
    about = "the entity's own other moments look alike" if failed else ""
    return Check(state=FAILED if failed else PASSED, about=about, numbers={"p": p})


def leave_one_out(test: MatchedTest, fleet: Fleet, *, before_s: float, settings: Settings, key: int) -> Check:
    """Leave out each block of time, entity, host, rack and episode in turn; the rest must still say it.

    One epoch, one device or one rack that makes most of the events must not carry a claim. What is
    left must have a one-sided permutation p of at most .025 at the winning feature: z of 1.96, where
    z is normal. (It is not for rare events: one event in one case, with none in its ten controls, has
    z = 3.2 and p = .09.) Where every case lies in one group of a kind, nothing is left without it
    and the check fails; racks do not count where the fleet has only one.

    Parameters
    ----------
    key : int
        Of the draws, which all groups share.
    """
    sign = 1.0 if test.up else -1.0
    column, offsets = sign * test.centred[:, test.best], test.sets.offsets
    out, names = _left_out(test.sets, fleet, settings.block(before_s))
    kept = ~out
    total = column[offsets[:-1]]
    variance = np.add.reduceat(column * column, offsets[:-1]) / np.diff(offsets)
    left, spread = kept @ total, kept @ variance
    z = np.divide(left, np.sqrt(spread), out=np.zeros_like(left), where=spread > 1e-12) / deflation(test.v)
    drawn = column[draw_members(key, 0, LEAVE_OUT_DRAWS, offsets)] @ kept.T.astype(np.float64)
    reached = (drawn >= left / deflation(test.v) - 1e-9).sum(axis=0)
    p = np.where(spread > 1e-12, (1.0 + reached) / (1.0 + LEAVE_OUT_DRAWS), 1.0)
    weakest = int(np.lexsort((z, -p))[0])
    numbers = {"z_weakest": float(z[weakest]), "p_weakest": float(p[weakest])}
    if p[weakest] <= LEFT_P:
        return Check(state=PASSED, about=f"weakest without {names[weakest]}", numbers=numbers)
    about = EPOCH if names[weakest].startswith("the block") else f"{names[weakest]} carries it"
    return Check(state=FAILED, about=about, numbers=numbers)


def reversed_time(found: MatchedTest, guarded: MatchedTest, source: Source, windows: Windows, *, least: int) -> Check:
    """Look after the outcome: a signal that moves far more there, the same way, looks like a consequence.

    Fails where the rank z over (0, W/2] after the record is above 4 and above 1.5 times the largest
    rank z before the guard, in the family and direction of the finding. A move the other way (load
    that falls when the job dies) says nothing here.

    Parameters
    ----------
    found : MatchedTest
        The finding, with or without guard: it says which family moved, and which way.
    guarded : MatchedTest
        The test with the guard: what happens in the guard cannot be told from after.
    source : Source
    windows : Windows
        With the guard.
    least : int
        Fewest cases.
    """
    after, usable = source.after(guarded.sets, windows, max(1, round(AFTER_UNITS * windows.unit)))
    kept, members = guarded.sets.keep(usable)
    if kept.sets < least:
        return Check(state=NOT_DONE, about="too few cases were observed after it")
    family = found.families[found.best][0]
    sign = 1.0 if found.up else -1.0
    column = {"spread": 1, "peak": 2}.get(family, 0)
    z_after = sign * float(rank_z(after[members, column][:, None], kept.offsets)[0])
    features, _ = source.features(guarded.sets, windows)
    same = [k for k, (name, _) in enumerate(guarded.families) if name == family]
    z_before = float((sign * rank_z(features[:, same], guarded.sets.offsets)).max())
    failed = z_after > Z_AFTER and z_after > AFTER_TO_BEFORE * z_before
    about = "far stronger after the outcome than before" if failed else ""
    numbers = {"z_after": z_after, "z_before": z_before}
    return Check(state=FAILED if failed else PASSED, about=about, numbers=numbers)


def _left_out(sets: MatchedSets, fleet: Fleet, block_s: float) -> tuple[NDArray[np.bool_], list[str]]:
    """(group, set) which sets each group takes away, and what it is called; groups that take the same away once."""
    rows: dict[bytes, NDArray[np.bool_]] = {}
    names: list[str] = []
    for kind, labels in _groups(sets, fleet, block_s).items():
        for label in np.unique(labels).tolist():
            taken = labels == label
            if taken.tobytes() not in rows:
                rows[taken.tobytes()] = taken
                names.append(_name(kind, label, fleet, block_s))
    return np.stack(list(rows.values())), names


def _groups(sets: MatchedSets, fleet: Fleet, block_s: float) -> dict[str, Indices]:
    """Label of each set, for every way to leave something out; the first name of a group is the one it goes by."""
    case = sets.row[sets.offsets[:-1]]
    groups = {"entity": case.astype(np.int64)}
    host, rack = fleet.host[case], fleet.rack[case]
    if (host >= 0).all():
        groups["host"] = host
    if (rack >= 0).all() and len(fleet.racks) > 1:
        groups["rack"] = rack
    groups["block"] = sets.time_us // round(block_s * MICROS)
    groups["episode"] = sets.episode
    return groups


def _name(kind: str, label: int, fleet: Fleet, block_s: float) -> str:
    if kind == "block":
        return f"the block from {format_us(label * round(block_s * MICROS))}"
    if kind == "episode":
        return f"episode {label + 1}"
    return {"entity": fleet.entities, "host": fleet.hosts, "rack": fleet.racks}[kind][label]
