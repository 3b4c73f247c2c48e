"""The constants of the screen, each with its reason; a run records those it used."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Settings"]

HOUR_S = 3600.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a screen judges. The defaults are the measured procedure; change them with a reason.

    Attributes
    ----------
    alpha : float
        Level of BH (candidate) and BY (SUPPORTED).
    controls : int
        Controls per case. Ten are enough: twenty save two episodes of 31.
    reuse : int
        Sets with overlapping windows in which one entity may serve, its own use as a case counted.
    chain_s : float
        Incidents of one component at gaps up to this long are one episode.
    quiet_s, ahead_s : float
        An entity is fit as case or control when its own last incident is longer ago than
        :meth:`quiet`, and as control when its own next one is farther off than :meth:`ahead`.
        These are floors: see the methods.
    block_s : float
        Block of time that is left out in turn; never shorter than the reach of one case.
    stop_at, max_draws : int
        Sequential permutation stops at this many exceedances; and no signal takes more draws.
    refute_below, refute_p, refute_coverage : float
        REFUTED as "no effect above U" needs U below, p above and coverage of at least these.
    least_coverage : float
        Below this share of observed cells, in cases or controls, a signal is "not observed".
    least_episodes : int
        Fewer usable episodes never make SUPPORTED: five signs reach 2^-5 = .03, four cannot.
    siblings : float
        Largest share of a case's controls that may stand in its own host (GPU scope).
    adjust_for : tuple of str or None
        Roles to match and residualise on; None: every one that was recorded.
    tested : int or None
        Size of the family, where more hypotheses were tested than are handed in.
    family_known : bool
        False: the signal was picked by hand after looking; it can be a candidate at most.

    Examples
    --------
    >>> Settings().quiet(7200.0) / 3600, Settings().quiet(86400.0) / 3600
    (8.0, 96.0)
    """

    alpha: float = 0.05
    controls: int = 10
    reuse: int = 2
    chain_s: float = HOUR_S
    quiet_s: float = 8 * HOUR_S
    ahead_s: float = 2 * HOUR_S
    block_s: float = 6 * HOUR_S
    stop_at: int = 20
    max_draws: int = 20_000_000
    refute_below: float = 1 / 3
    refute_p: float = 0.1
    refute_coverage: float = 0.9
    least_coverage: float = 0.5
    least_episodes: int = 5
    siblings: float = 0.5
    adjust_for: tuple[str, ...] | None = None
    tested: int | None = None
    family_known: bool = True

    def quiet(self, before_s: float) -> float:
        """Seconds without an own incident before a case or control: the floor, or 4 W.

        A window reaches 3 W back (W and the baseline). An incident in it, or one whose recovery
        reaches into it, would make the entity its own trap; W more is left for the recovery. At
        W = 2 h this is the 8 h of the measured procedure.
        """
        return max(self.quiet_s, 4.0 * before_s)

    def ahead(self, before_s: float) -> float:
        """Seconds without an own incident after a control: the floor, or W.

        A control that fails within W is itself in the time before a failure, where a precursor
        may stand.
        """
        return max(self.ahead_s, before_s)

    def block(self, before_s: float) -> float:
        """Seconds of the blocks that are left out in turn: the floor, or the 3 W of one window."""
        return max(self.block_s, 3.0 * before_s)
