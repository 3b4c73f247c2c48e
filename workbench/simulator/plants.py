"""What is planted in a simulated world, and what is true of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from workbench.errors import SpecificationError
from workbench.simulator.noise import PROCESSES

__all__ = ["PRECURSORS", "Plant", "Role", "Truth", "check_plants", "default_plants", "null_plants"]


class Role(StrEnum):
    """What a signal is in the truth."""

    RAMP = "ramp"  # true precursors: planted before a share of the failures
    BURST = "burst"
    SHIFT = "shift"
    VAR = "var"
    DRIVER = "driver"  # measured Z, which raises the hazard
    HALF_A = "half a"  # A and B raise the hazard only together
    HALF_B = "half b"
    PROXY = "proxy"  # follows Z, does nothing itself
    HIDDEN = "hidden"  # follows U, which raises the hazard and is recorded nowhere else
    LOAD = "load"  # follow a recorded confounder
    TEMPERATURE = "temperature"
    PHASE = "phase"
    FRAIL = "frail"  # stable trait of the entity, which also raises the hazard
    SELECT = "select"  # busy flag: failures are recorded on busy hosts only
    AFTER = "after"  # consequences
    SKEW = "skew"
    COARSE = "coarse"
    ROLLOUT = "rollout"  # waves that overlap the epoch of extra failures
    OUTAGE = "outage"
    COOLING = "cooling"
    LEMON = "lemon"  # one device makes nearly all of the events
    NOISE = "noise"


#: Planted before failures, or raising the hazard: a test that flags them is right.
PRECURSORS = frozenset({Role.RAMP, Role.BURST, Role.SHIFT, Role.VAR, Role.DRIVER, Role.HALF_A, Role.HALF_B})
#: Roles whose signals go where no precursor may be.
_NOT_IN_NULL = PRECURSORS | {Role.PROXY, Role.HIDDEN}


@dataclass(frozen=True, kw_only=True)
class Plant:
    """One signal to plant.

    Attributes
    ----------
    name : str
    role : Role
    share : float
        Of the failures that the shape precedes (ramp, burst, shift, var) or follows (after, skew, coarse).
    size : float
        Multiplies the shape; 0.5: half the usual size.
    base : str
        Noise process underneath, one of ``noise.PROCESSES``.
    pair : int
        Which conjunction pair (0 or 1).
    scope : str
        ``gpu`` or ``host``; "": that of the world.
    failure_kind : str
        Only failures of this kind; "": all.
    """

    name: str
    role: Role
    share: float = 1.0
    size: float = 1.0
    base: str = "ar90"
    pair: int = 0
    scope: str = ""
    failure_kind: str = ""

    @property
    def kind(self) -> str:
        """``event`` for signals that count events, else ``metric``."""
        return "event" if self.role is Role.LEMON else "metric"

    @property
    def interval_s(self) -> float:
        """Sampling or aggregation interval of the source, seconds."""
        return 900.0 if self.role is Role.COARSE else 60.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Truth:
    """What is true of one signal.

    Attributes
    ----------
    role : Role
    is_precursor : bool
        Planted before failures, or raises the hazard.
    share : float
        Of the failures that were planted; NaN for drivers of the hazard and for noise.
    leads_s : (failure,) float64
        Seconds from the onset of the shape to the true time of each failure; negative: after it;
        NaN: this failure was not planted.
    follows : str
        What the signal follows: ``z``, ``u``, ``load`` ...; "" where it follows nothing.
    """

    role: Role
    is_precursor: bool
    share: float
    leads_s: NDArray[np.float64]
    follows: str = ""
    base: str = ""
    failure_kind: str = ""

    @property
    def median_lead_s(self) -> float:
        """Median of the planted leads, seconds; NaN where nothing was planted."""
        planted = self.leads_s[np.isfinite(self.leads_s)]
        return float(np.median(planted)) if planted.size else float("nan")


def default_plants(*, size: float = 1.0) -> tuple[Plant, ...]:
    """Give the 60 signals of the reference world.

    Eight true precursors (each shape before 60 % and before 30 % of the failures), the driver Z,
    two conjunction pairs, two proxies, two signals of each trap, the lemon, 20 of noise.

    Examples
    --------
    >>> plants = default_plants()
    >>> len(plants), sum(plant.role in PRECURSORS for plant in plants)
    (60, 13)
    """
    shapes = [
        Plant(name=f"{role}_{round(100 * share)}", role=role, share=share, size=size)
        for share in (0.6, 0.3)
        for role in (Role.RAMP, Role.BURST, Role.SHIFT, Role.VAR)
    ]
    drivers = [Plant(name="driver_z", role=Role.DRIVER)]
    for pair in (0, 1):
        drivers += [
            Plant(name=f"half_a{pair}", role=Role.HALF_A, pair=pair),
            Plant(name=f"half_b{pair}", role=Role.HALF_B, pair=pair),
        ]
    twice = (
        *(Role.PROXY, Role.HIDDEN, Role.LOAD, Role.TEMPERATURE, Role.PHASE, Role.FRAIL, Role.SELECT),
        *(Role.AFTER, Role.SKEW, Role.COARSE, Role.ROLLOUT, Role.OUTAGE, Role.COOLING),
    )
    traps = [Plant(name=f"{role}_{number}", role=role) for role in twice for number in (1, 2)]
    lemon = [Plant(name="lemon", role=Role.LEMON)]
    counts = {"ar99": 4, "walk": 4, "trend": 3, "heavy": 3, "counter": 3, "sparse": 3}
    noise = [
        Plant(name=f"noise_{base}_{number}", role=Role.NOISE, base=base)
        for base, count in counts.items()
        for number in range(1, count + 1)
    ]
    return (*shapes, *drivers, *traps, *lemon, *noise)


def null_plants() -> tuple[Plant, ...]:
    """Give the default signals without those that truly precede: traps and noise only.

    Examples
    --------
    >>> {plant.role for plant in null_plants()} & PRECURSORS
    set()
    """
    return tuple(plant for plant in default_plants() if plant.role not in _NOT_IN_NULL)


def check_plants(plants: tuple[Plant, ...], *, scope: str) -> tuple[Plant, ...]:
    """Fill in the scope of each plant; report every mistake at once.

    Raises
    ------
    SpecificationError
        Two plants of one name, a share outside 0 to 1, an unknown base or scope.
    """
    names = [plant.name for plant in plants]
    mistakes = [f"plant '{name}' stands twice" for name in sorted({n for n in names if names.count(n) > 1})]
    known = ("host", "gpu") if scope == "gpu" else ("host",)
    for plant in plants:
        if not 0.0 <= plant.share <= 1.0:
            mistakes.append(f"plant '{plant.name}': share is {plant.share}, expected 0 to 1")
        if plant.base not in PROCESSES:
            mistakes.append(f"plant '{plant.name}': no noise '{plant.base}', expected one of {', '.join(PROCESSES)}")
        if plant.pair not in (0, 1):
            mistakes.append(f"plant '{plant.name}': pair is {plant.pair}, expected 0 or 1")
        if plant.scope not in ("", *known):
            mistakes.append(f"plant '{plant.name}': scope is '{plant.scope}', this world has {' and '.join(known)}")
    if mistakes:
        raise SpecificationError("the list of plants", mistakes)
    return tuple(replace(plant, scope=plant.scope or scope) for plant in plants)
