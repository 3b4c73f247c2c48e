"""Where a series changes its level or slope, each change with a p that holds, or the reason why none can.

A partition is the cheapest for its penalty; the penalty is a quantile of what noise of the same
long-run variance needs. Levels are sought in normal scores of the ranks, so that heavy tails cost
nothing. A change is believed only where pieces with autoregressive noise explain the series better
than autoregressive noise alone, slow drift, or a random walk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.changenull import Model, p_of_strength, penalty_at
from workbench.kernels.segment import constant_pieces, fitted, straight_pieces
from workbench.kernels.wander import NoiseModel, drift_score, noise_model, rhythm_score, walk_score

__all__ = ["Changes", "Kind", "find_changes", "find_spread_changes", "least_piece"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Kind = Literal["auto", "level", "slope"]

MARGIN = 4.0  # of the score, by which steps must beat every other explanation
_STILL = 10.0  # by which another explanation must beat standing still
LEAST_EFFECTIVE = 40.0  # independent values that a series must be worth
MOST_STRAIGHT = 1_000  # cells of a search for straight pieces; longer series are averaged first
LIKELY = 7.352  # -2 log(1 - sqrt(.95)): Hansen (2000), table 1
_ROUNDS = 4
_STEP = 1.15  # from penalty to penalty
_STRONGEST = 200.0  # penalty beyond which p is below 1e-30
_RECURRENT = 2  # excursions that make them the normal behaviour of a series
_FLIPS = 4  # changes between the same two levels that do
_TWO_LEVELS = 0.9  # of the variance between pieces

TOO_SHORT = "too few cells"
CONSTANT = "it never moved"
PERSISTENT = "its memory is too long: it is worth fewer than 40 independent cells"
WANDERS = "a random walk explains it as well"
DRIFTS = "a slow drift or rhythm explains it as well"
REMEMBERS = "memory without any change explains it as well"
RECURS = "it goes back and forth between levels: such changes are its normal behaviour"


@dataclass(frozen=True, eq=False, kw_only=True)
class Changes:
    """Changes of one series.

    Attributes
    ----------
    at : (change,) int64
        First cell after each change, ascending.
    low, high : (change,) int64
        Cells between which it lies (95 %).
    strength : (change,) float64
        Largest penalty at which it is still found, in units of the long-run variance.
    p : (change,) float64
        Of that strength, over all places and sizes of pieces in this series.
    returns : (change,) bool
        Begin or end of an excursion, after which the level is what it was.
    kind : str
        ``level``, ``slope`` or ``spread``: what was sought in the end.
    holds : bool
        Whether p, and "no change", may be believed.
    why : str
        Why not; "" where they may.
    fit : (cell,) float64
        The pieces, in units of the series.
    effective : float
        How many independent values the cells are worth.
    least : int
        Cells that a piece has at least.
    """

    at: Indices
    low: Indices
    high: Indices
    strength: Floats
    p: Floats
    returns: NDArray[np.bool_]
    kind: str
    holds: bool
    why: str
    fit: Floats
    effective: float
    least: int


def least_piece(values: Floats, wanted: int | None = None) -> int:
    """Give how many cells a piece has at least: 1 % of the series, or 5, or what five odd values need.

    Examples
    --------
    >>> least_piece(np.arange(200.0)), least_piece(np.arange(5000.0)), least_piece(np.repeat([0.0, 1.0], [190, 10]))
    (5, 50, 100)
    """
    if wanted is not None:
        return wanted
    counts = np.unique(values, return_counts=True)[1]
    odd = 1.0 - counts.max() / values.size
    sparse = int(np.ceil(5.0 / odd)) if 0 < odd < 0.5 else 0
    return max(5, int(np.ceil(values.size / 100)), sparse)


def find_changes(values: Floats, *, kind: Kind = "auto", least: int | None = None, alpha: float = 0.05) -> Changes:
    """Find the changes of a series.

    Parameters
    ----------
    values : (cell,) float64
        Finite; leave gaps out.
    kind : {"auto", "level", "slope"}
        ``auto``: level, and slope where levels do not explain the series.
    least : int, optional
        Cells that a piece has at least; None: see :func:`least_piece`.
    alpha : float
        Chance of any change in a series that has none.

    Returns
    -------
    Changes

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> found = find_changes(rng.normal(size=600) + np.repeat([0.0, 2.0], [400, 200]))
    >>> bool(abs(found.at[0] - 400) <= 2), found.holds, bool(found.p[0] < 1e-6)
    (True, True, True)
    >>> find_changes(np.cumsum(rng.normal(size=600)), kind="level").why
    'a random walk explains it as well'
    """
    piece = least_piece(values, least) if values.size else 1
    if values.size < max(4 * piece, 1):
        return _nothing(values, piece, TOO_SHORT)
    if not np.ptp(values) > 0:
        return _nothing(values, piece, CONSTANT)
    first = _sought(values, piece, alpha, "slope" if kind == "slope" else "level")
    if kind != "auto" or first.holds or first.why == RECURS:
        return first
    second = _sought(values, piece, alpha, "slope")
    return second if second.holds else first


def find_spread_changes(values: Floats, *, least: int | None = None, alpha: float = 0.05) -> Changes:
    """Find changes of the spread around the level, whatever the level does.

    Square roots of the distances from the pieces of the level (from the cell before, where no pieces
    explain the series) are searched for changes of their level.

    Parameters and result as for :func:`find_changes`; ``fit`` is the standard deviation of each piece.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> found = find_spread_changes(rng.normal(size=900) * np.repeat([1.0, 3.0], [500, 400]))
    >>> bool(abs(found.at[0] - 500) <= 5), found.holds, found.fit[[0, -1]].round().tolist()
    (True, True, [1.0, 3.0])
    """
    level = find_changes(values, least=least, alpha=alpha)
    if level.why in (TOO_SHORT, CONSTANT):
        return level
    rest = values - level.fit if level.holds else np.diff(values, prepend=values[0])
    found = _sought(np.sqrt(np.abs(rest)), least_piece(rest, least), alpha, "level")
    edges = np.concatenate(([0], found.at, [values.size]))
    spread = np.repeat([rest[a:b].std() for a, b in pairwise(edges)], np.diff(edges))
    return replace(found, kind="spread", fit=spread if level.holds else spread / np.sqrt(2.0))


def _nothing(values: Floats, least: int, why: str) -> Changes:
    none, empty = np.empty(0, dtype=np.int64), np.empty(0)
    return Changes(
        at=none, low=none, high=none, strength=empty, p=empty, returns=np.empty(0, dtype=np.bool_), kind="level",
        holds=False, why=why, fit=np.full(values.size, values.mean() if values.size else np.nan), effective=0.0, least=least,
    )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class _Search:
    """A series in the shape in which it is searched."""

    shape: Floats
    model: Model
    least: int

    def changes(self, penalty: float) -> Indices:
        if self.model == "straight":
            return straight_pieces(self.shape, penalty, least=self.least)
        return constant_pieces(self.shape, penalty, least=self.least)

    def noise(self, at: Indices) -> NoiseModel:
        straight = self.model == "straight"
        rest = self.shape - fitted(self.shape, at, straight=straight)
        return noise_model(rest, (3 * at.size + 1) if straight else 2 * at.size)

    def long_run(self, at: Indices) -> float:
        """Long-run variance around the pieces, unbiased for the levels that were fitted."""
        spent = (2 if self.model == "straight" else 1) * (at.size + 1)
        size = self.shape.size
        return max(self.noise(at).long_run * size / max(size - spent, 1), 1e-12)


def _sought(values: Floats, least: int, alpha: float, kind: str) -> Changes:
    """Search for one kind of change."""
    width = 1 if kind == "level" else -(-values.size // MOST_STRAIGHT)
    averaged = (
        values if width == 1 else np.array([part.mean() for part in np.array_split(values, values.size // width)])
    )
    starts = np.cumsum([0, *(part.size for part in np.array_split(values, values.size // width))])
    model: Model = "constant" if kind == "level" else "straight"
    shape = _scores(values) if kind == "level" else _clipped(averaged)
    search = _Search(shape=shape, model=model, least=max(-(-least // width), 5))
    penalty = penalty_at(alpha, shape.size / search.least, model)
    at = _settled(search, penalty)
    why, effective = _doubt(search, at)
    long_run = search.long_run(at)
    edges = np.array([_interval(search, at, place, long_run) for place in range(at.size)], dtype=np.int64).reshape(
        -1, 2
    )
    returns, recurs = _recurrence(shape, at) if kind == "level" else (np.zeros(at.size, dtype=np.bool_), False)
    why = why or (RECURS if recurs else "")
    # Where p does not hold nobody needs it, and raising the penalty is most of the work.
    strength = np.full(at.size, penalty) if why else _strength(search, at, edges, (long_run, penalty))
    cells = starts[at]
    return Changes(
        at=cells, low=starts[edges[:, 0]], high=starts[edges[:, 1]], strength=strength,
        p=p_of_strength(strength, shape.size / search.least, model), returns=returns, kind=kind, holds=not why, why=why,
        fit=fitted(values, cells, straight=kind == "slope"), effective=effective, least=least,
    )  # fmt: skip


def _scores(values: Floats) -> Floats:
    """Give the normal scores of the ranks, ties sharing theirs."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(values) - 0.5) / values.size), dtype=np.float64)


def _clipped(values: Floats) -> Floats:
    """Bring outliers within 3.5 sd of the median of the five cells around them; then scale to sd 1."""
    around = np.lib.stride_tricks.sliding_window_view(np.pad(values, 2, mode="reflect"), 5)
    middle = np.median(around, axis=1)
    away = values - middle
    moved = np.abs(away[away != 0])
    reach = 3.5 * float(np.median(moved)) / 0.6745 if moved.size else np.inf
    tame = middle + np.clip(away, -reach, reach)
    return np.asarray((tame - tame.mean()) / (tame.std() or 1.0), dtype=np.float64)


def _settled(search: _Search, penalty: float) -> Indices:
    """Search, take the noise around the pieces, and search again, until both agree."""
    at = search.changes(penalty * _first_guess(search.shape))
    for _ in range(_ROUNDS):
        again = search.changes(penalty * search.long_run(at))
        if np.array_equal(again, at):
            break
        at = again
    return at


def _first_guess(shape: Floats) -> float:
    """Long-run variance from differences over one and two cells, as if the noise were of first order."""
    near, far = (float(np.median(np.abs(shape[k:] - shape[:-k]))) / 0.6745 for k in (1, 2))
    if not near > 0:
        return max(float(np.mean(np.diff(shape) ** 2)) / 2, 1e-9)
    memory = min(max(far**2 / near**2 - 1.0, 0.0), 0.95)
    return near**2 / 2 * (1.0 + memory) / (1.0 - memory) ** 2


def _doubt(search: _Search, at: Indices) -> tuple[str, float]:
    """Say what else explains the series, or "", and how many independent values it is worth."""
    noise = search.noise(at)
    effective = search.shape.size * noise.variance / noise.long_run if noise.long_run > 0 else float(search.shape.size)
    drift = min(drift_score(search.shape), rhythm_score(search.shape))
    others = {DRIFTS: drift, WANDERS: walk_score(search.shape)}
    if at.size:
        others[REMEMBERS] = search.noise(at[:0]).score
    best = min(others, key=lambda name: others[name])
    if at.size:
        return ("" if noise.score + MARGIN < others[best] else best), effective
    if effective < LEAST_EFFECTIVE:
        return PERSISTENT, effective
    return ("" if noise.score <= others[best] + _STILL else best), effective


def _interval(search: _Search, at: Indices, place: int, long_run: float) -> tuple[int, int]:
    """Cells at which the change may lie as well: those that cost less than ``LIKELY`` more."""
    edges = np.concatenate(([0], at, [search.shape.size]))
    start, cut, end = (int(edge) for edge in edges[place : place + 3])
    part = search.shape[start:end]
    least = 2 if search.model == "straight" else 1
    places = np.arange(least, part.size - least + 1)
    costs = _costs(part, places, straight=search.model == "straight")
    likely = places[costs <= costs[places == cut - start].min(initial=np.inf) + LIKELY * long_run] + start
    return min(int(likely.min(initial=cut)), cut), max(int(likely.max(initial=cut)), cut)


def _costs(part: Floats, places: Indices, *, straight: bool) -> Floats:
    """Residual sum of squares with the series cut at each place."""
    head, tail = _running(part, straight=straight), _running(part[::-1], straight=straight)
    return head[places] + tail[part.size - places]


def _running(part: Floats, *, straight: bool) -> Floats:
    """Residual sum of squares of the first 0, 1, 2 ... cells around their mean, or their line."""
    size = np.arange(part.size + 1, dtype=np.float64)
    many = np.maximum(size, 1.0)
    total = np.concatenate(([0.0], np.cumsum(part)))
    rest = np.concatenate(([0.0], np.cumsum(part**2))) - total**2 / many
    if straight:
        moment = np.concatenate(([0.0], np.cumsum(np.arange(part.size) * part)))
        across = moment - (size - 1) / 2 * total
        rest = rest - across**2 / np.maximum(size * (size**2 - 1) / 12, 1e-9)
    return np.maximum(rest, 0.0)


def _strength(search: _Search, at: Indices, edges: Indices, scale: tuple[float, float]) -> Floats:
    """Raise the penalty until each change is gone."""
    long_run, penalty = scale
    strength = np.full(at.size, penalty)
    alive = np.ones(at.size, dtype=np.bool_)
    while alive.any() and penalty < _STRONGEST:
        penalty *= _STEP
        left = search.changes(penalty * long_run)
        reach = np.maximum(search.least, 1)
        near = [bool(((left >= low - reach) & (left <= high + reach)).any()) for low, high in edges.tolist()]
        alive &= np.array(near, dtype=np.bool_)
        strength[alive] = penalty
    return strength


def _recurrence(shape: Floats, at: Indices) -> tuple[NDArray[np.bool_], bool]:
    """Tell which changes belong to excursions, and whether going back and forth is what the series does."""
    returns = np.zeros(at.size, dtype=np.bool_)
    if at.size < 2:
        return returns, False
    edges = np.concatenate(([0], at, [shape.size]))
    sizes = np.diff(edges).astype(np.float64)
    means = np.add.reduceat(shape, edges[:-1]) / sizes
    excursions = 0
    for piece in range(1, at.size):
        out, back = means[piece] - means[piece - 1], means[piece + 1] - means[piece]
        shorter = sizes[piece] < min(sizes[piece - 1], sizes[piece + 1])
        if shorter and abs(out + back) < 0.25 * min(abs(out), abs(back)):
            returns[piece - 1 : piece + 1] = True
            excursions += 1
    flips = _alternates(means) or (at.size >= _FLIPS and _two_levels(means, sizes))
    return returns, excursions >= _RECURRENT or flips


def _alternates(means: Floats) -> bool:
    """Tell whether every other piece is alike: up, down, up, down."""
    if means.size < 4:
        return False
    even, odd = means[::2], means[1::2]
    return bool(max(np.ptp(even), np.ptp(odd)) < 0.35 * abs(even.mean() - odd.mean()))


def _two_levels(means: Floats, sizes: Floats) -> bool:
    """Tell whether two levels explain nearly all the variance between the pieces."""
    order = np.argsort(means)
    ranked, weight = means[order], sizes[order]
    centre = (weight @ ranked) / weight.sum()
    whole = float(weight @ (ranked - centre) ** 2)
    best = 0.0
    for cut in range(1, ranked.size):
        low, high = weight[:cut], weight[cut:]
        gap = (low @ ranked[:cut]) / low.sum() - (high @ ranked[cut:]) / high.sum()
        best = max(best, float(low.sum() * high.sum() / weight.sum() * gap**2))
    return best >= _TWO_LEVELS * whole
