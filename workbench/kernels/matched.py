"""The matched-set score test: case against controls of the same moment (METHOD section 4).

Members lie set by set, the case first: ``offsets`` (set + 1,) holds where each set starts, so the
case of set ``f`` is member ``offsets[f]`` and the set holds ``offsets[f] ... offsets[f + 1] - 1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MatchedScore",
    "case_mask",
    "centre",
    "exact_p",
    "inflation",
    "matched_score",
    "overlapping_pairs",
    "set_of",
    "winsorise",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

CLIP = 6.0
MAD_TO_SD = 1.4826
SD_SHARE = 0.3
TIE = 1e-9  # two sums that differ by less are the same sum, added in another order


def set_of(offsets: Indices) -> Indices:
    """Give the set of each member.

    Examples
    --------
    >>> set_of(np.array([0, 3, 5]))
    array([0, 0, 0, 1, 1])
    """
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))


def case_mask(offsets: Indices) -> Mask:
    """Tell which member is the case of its set.

    Examples
    --------
    >>> case_mask(np.array([0, 3, 5]))
    array([ True, False, False,  True, False])
    """
    mask = np.zeros(int(offsets[-1]), dtype=np.bool_)
    mask[offsets[:-1]] = True
    return mask


def winsorise(features: Floats, control: Mask) -> Floats:
    """Scale by what controls do, and bound: clip((x - median) / scale, -6, 6).

    Parameters
    ----------
    features : (member, feature) float64
        Finite.
    control : (member,) bool

    Returns
    -------
    (member, feature) float64
        scale = max(1.4826 MAD, .3 sd) of the controls; where no control ever moved, .3 sd of all
        members; where nobody moved the score is 0.

    Examples
    --------
    >>> x = np.array([[9.0], [1.0], [2.0], [3.0]])
    >>> winsorise(x, np.array([False, True, True, True])).round(3).ravel().tolist()
    [4.721, -0.674, 0.0, 0.674]
    """
    controls = features[control]
    middle = np.median(controls, axis=0)
    mad = MAD_TO_SD * np.median(np.abs(controls - middle), axis=0)
    scale = np.maximum(mad, SD_SHARE * controls.std(axis=0))
    scale = np.where(scale > 0, scale, SD_SHARE * features.std(axis=0))
    moved = scale > 0
    scaled = (features - middle) / np.where(moved, scale, 1.0)
    return np.where(moved, np.clip(scaled, -CLIP, CLIP), 0.0)


def centre(scores: Floats, offsets: Indices) -> Floats:
    """Subtract the mean of each set from its members.

    Examples
    --------
    >>> centre(np.array([[4.0], [1.0], [1.0]]), np.array([0, 3])).ravel().tolist()
    [2.0, -1.0, -1.0]
    """
    mean = np.add.reduceat(scores, offsets[:-1], axis=0) / np.diff(offsets)[:, None]
    return scores - mean[set_of(offsets)]


@dataclass(frozen=True, kw_only=True)
class MatchedScore:
    """Sum over cases, its permutation variance and z, per feature.

    Attributes
    ----------
    total, variance, z : (feature,) float64
        z = total / sqrt(variance); 0 where the variance is 0.
    best : int
        Feature with the largest |z|.
    largest : float
        T = max |z|.
    """

    total: Floats
    variance: Floats
    z: Floats
    best: int
    largest: float


def matched_score(scores: Floats, offsets: Indices) -> MatchedScore:
    """Sum the case scores and scale by the variance of a case label given at random.

    Parameters
    ----------
    scores : (member, feature) float64
        Centred in each set.
    offsets : (set + 1,) int64

    Examples
    --------
    >>> s = centre(np.array([[3.0], [0.0], [0.0], [3.0], [0.0], [0.0]]), np.array([0, 3, 6]))
    >>> round(matched_score(s, np.array([0, 3, 6])).largest, 6)
    2.0
    """
    total = scores[offsets[:-1]].sum(axis=0)
    sizes = np.diff(offsets)[:, None]
    variance = (np.add.reduceat(scores * scores, offsets[:-1], axis=0) / sizes).sum(axis=0)
    z = np.divide(total, np.sqrt(variance), out=np.zeros_like(total), where=variance > 0)
    best = int(np.abs(z).argmax())
    return MatchedScore(total=total, variance=variance, z=z, best=best, largest=float(abs(z[best])))


def overlapping_pairs(group: Indices, time: Indices, offsets: Indices, within: int) -> tuple[Indices, Indices]:
    """Pairs of members of different sets, of the same group, whose times lie close.

    Parameters
    ----------
    group : (member,) int64
        Rack, or host where no rack is known; -1: in no group.
    time : (set,) int64
        Time of each set, in any unit.
    within : int
        Largest difference in time.

    Returns
    -------
    left, right : (pair,) int64
        Members, each pair once.

    Examples
    --------
    >>> overlapping_pairs(np.array([1, 2, 1, 3]), np.array([0, 5]), np.array([0, 2, 4]), within=5)
    (array([0]), array([2]))
    """
    owner = set_of(offsets)
    when = time[owner]
    order = np.lexsort((when, group))
    left, right = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    edges = np.flatnonzero(np.diff(group[order], prepend=group[order][:1] - 1))
    for members in np.split(order, edges[1:]):
        if members.size < 2 or group[members[0]] < 0:
            continue
        place = np.arange(members.size)
        reach = np.searchsorted(when[members], when[members] + within, side="right") - place - 1
        first = np.repeat(place, reach)
        second = first + 1 + np.arange(first.size) - np.repeat(np.cumsum(reach) - reach, reach)
        a, b = members[first], members[second]
        other = owner[a] != owner[b]
        left.append(np.minimum(a, b)[other])
        right.append(np.maximum(a, b)[other])
    return np.concatenate(left), np.concatenate(right)


def inflation(scores: Floats, offsets: Indices, pairs: tuple[Indices, Indices], variance: Floats) -> float:
    """Estimate how much dependence between sets inflates the variance (exact.md section 1).

    v = 1 + mean over features of [sum over pairs of 2 w w' s s'] / V, with w = 1 - 1/n for a case
    and -1/n for a control; features without variance do not count.

    Examples
    --------
    >>> offsets = np.array([0, 2, 4])
    >>> s = centre(np.array([[1.0], [0.0], [1.0], [0.0]]), offsets)
    >>> inflation(s, offsets, (np.array([0]), np.array([2])), matched_score(s, offsets).variance)
    1.25
    """
    sizes = np.repeat(np.diff(offsets), np.diff(offsets))
    weight = case_mask(offsets) - 1.0 / sizes
    weighted = weight[:, None] * scores
    excess = 2.0 * np.einsum("ij,ij->j", weighted[pairs[0]], weighted[pairs[1]])
    moved = variance > 0
    return 1.0 + float((excess[moved] / variance[moved]).mean()) if moved.any() else 1.0


def exact_p(scores: Floats, offsets: Indices, bound: float) -> float:
    """P(T* >= bound) over every way to give the case labels; for few and small sets only.

    The cost is the product of the set sizes: callers keep it below some ten thousand.

    Examples
    --------
    >>> s = centre(np.array([[3.0], [0.0], [0.0], [3.0], [0.0], [0.0]]), np.array([0, 3, 6]))
    >>> round(exact_p(s, np.array([0, 3, 6]), 2.0), 6)  # 1 of 9
    0.111111
    """
    score = matched_score(scores, offsets)
    deviation = np.sqrt(np.where(score.variance > 0, score.variance, np.inf))
    ranges = [range(a, b) for a, b in pairwise(offsets.tolist())]
    chosen = np.array(list(product(*ranges)), dtype=np.int64)
    largest = (np.abs(scores[chosen].sum(axis=1)) / deviation).max(axis=1)
    return float((largest >= bound - TIE * max(1.0, bound)).mean())
