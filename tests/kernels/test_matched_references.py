"""The reference cases of the matched test, against the stated numbers and their tolerance."""

import json
from itertools import product

import numpy as np
import pytest
from lcg import Lcg
from shared import shared_path

from workbench.kernels.bound import upper_bound
from workbench.kernels.clogit import conditional_logit
from workbench.kernels.matched import centre, exact_p, inflation, matched_score
from workbench.kernels.multiplicity import adjusted_p, bonferroni, step_down_max
from workbench.kernels.ranks import betting_process, rank_sum_p, smallest_p
from workbench.kernels.sequential import besag_clifford, expected_draws
from workbench.kernels.tail import lattice_tail, saddle_point_tail

BENJAMINI_HOCHBERG_1995 = [
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
    *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
]


@pytest.fixture(scope="module")
def refs() -> dict[str, tuple[list[float], float]]:
    cases = json.loads(shared_path("method", "refs.json").read_text())
    return {case["case"].split()[0]: (case["expected"], case["tol"]) for case in cases}


@pytest.fixture(scope="module")
def exact() -> dict:
    return json.loads(shared_path("method", "refs_exact.json").read_text())


def agree(found, wanted: tuple[list[float], float]) -> None:
    # the file holds ten digits, so no agreement can be asked beyond them
    expected, tolerance = wanted
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=tolerance)


def test_r3_rank_sum(refs):
    case = [4, 4, 3, 4, 2, 4]
    sets = [[rank, *(r for r in range(1, 5) if r != rank)] for rank in case]
    agree([sum(case), rank_sum_p(sets)], refs["R3"])


def test_r4_largest_of_two_features(refs):
    x = Lcg(4).normals(5, 4, 2)
    x[:, 0, 0] += 1.2
    # the reference scores are scaled, centred ranks: rank - 2.5 over four, in units of ten
    ranks = x.argsort(axis=1).argsort(axis=1) + 1.0
    offsets = np.arange(0, 21, 4)
    scores = centre(ranks.reshape(20, 2), offsets)
    score = matched_score(scores, offsets)
    expected, tolerance = refs["R4"]
    z = score.total / np.sqrt(score.variance)
    assert z == pytest.approx(expected[:2], abs=1e-9)
    assert exact_p(scores, offsets, score.largest) == pytest.approx(expected[2], abs=tolerance)


def test_r5_null_variance(refs):
    offsets = np.arange(0, 221, 11)
    ranks = np.tile(np.arange(1.0, 12.0) / 11, 20)[:, None]
    agree(matched_score(centre(ranks, offsets), offsets).variance, refs["R5"])


def test_r6_conditional_logit(refs):
    x = Lcg(6).normals(40, 4, 2)
    x[:, 0, 0] += 0.8
    fit = conditional_logit(x.reshape(160, 2), np.arange(0, 161, 4))
    agree([*fit.beta, *fit.se], refs["R6"])


def test_r7_pairs(refs):
    exposed = [(1.0, 0.0)] * 17 + [(0.0, 1.0)] * 6 + [(1.0, 1.0)] * 17
    fit = conditional_logit(np.array(exposed).reshape(80, 1), np.arange(0, 81, 2))
    sets = [[2 * a, 2 * b] for a, b in exposed[:23]]
    two_sided = 2 * rank_sum_p(sets)
    agree([fit.beta[0], fit.se[0], two_sided], refs["R7"])


def test_r10_step_up(refs):
    p = np.array(BENJAMINI_HOCHBERG_1995)
    found = [
        int((q <= 0.05).sum()) for q in (adjusted_p(p, dependent=False), adjusted_p(p, dependent=True), bonferroni(p))
    ]
    agree(found, refs["R10"])


def test_r11_westfall_young(refs):
    y = Lcg(11).normals(8, 4)
    y[:, 0] += 1.1
    y[:, 1] += 0.7
    signs = np.array(list(product((1.0, -1.0), repeat=8)))
    null = np.abs(np.einsum("bi,ij->bj", signs, y)) / np.sqrt((y * y).sum(axis=0))
    agree(step_down_max(null[0], null), refs["R11"])


def test_r16_betting(refs):
    ranks = np.array([11, 9, 11, 4, 10, 11, 8, 11], dtype=float)
    agree([betting_process(ranks, np.full(8, 11.0), 0.75)[-1]], refs["R16"])


def test_r17_smallest_p(refs):
    found = [smallest_p(np.full(f, 11)) for f in (1, 2, 3, 4)] + [smallest_p(np.full(f, 2)) for f in (5, 8, 10)]
    agree(found, refs["R17"])


def shared_hosts() -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    lcg, sizes = Lcg(21), [4, 4, 3, 4, 3, 4]
    x = [lcg.normals(size, 2) for size in sizes]
    for members in x:
        members[0, 0] += 1.0
    x[1][1] = 0.8 * x[0][1] + 0.2 * x[1][1]
    x[2][1] = 0.8 * x[1][2] + 0.2 * x[2][1]
    x[5][2] = 0.8 * x[3][0] + 0.2 * x[5][2]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    left = np.array([offsets[0] + 1, offsets[1] + 2, offsets[3]])
    right = np.array([offsets[1] + 1, offsets[2] + 1, offsets[5] + 2])
    return centre(np.concatenate(x), offsets), offsets, (left, right)


def test_x1_unequal_sets_and_shared_hosts(exact):
    scores, offsets, pairs = shared_hosts()
    score = matched_score(scores, offsets)
    v = inflation(scores, offsets, pairs, score.variance)
    assert score.largest == pytest.approx(exact["X1"]["T"], abs=1e-12)
    assert v == pytest.approx(exact["X1"]["vif"], abs=1e-12)
    assert exact_p(scores, offsets, score.largest) == pytest.approx(exact["X1"]["p_plain"], abs=1e-12)
    deflated = score.largest / np.sqrt(v)
    assert exact_p(scores, offsets, deflated) == pytest.approx(exact["X1"]["p_deflated"], abs=1e-12)


def test_x2_tails(exact):
    normals = Lcg(22).normals(12, 11)
    scores = np.rint(50 * np.clip(1.5 * normals**3 / 3, -6, 6)).astype(int).ravel()
    offsets = np.arange(0, 133, 11)
    for case in exact["X2"]:
        assert lattice_tail(scores, offsets, case["x"]) == pytest.approx(case["exact"], rel=1e-9)
        saddle = saddle_point_tail(scores.astype(float), offsets, float(case["x"]), step=1.0)
        assert saddle == pytest.approx(case["saddle"], rel=1e-9)


def test_x3_besag_clifford(exact):
    exceeded = Lcg(23).uniforms(5616) < 0.004
    hits = np.flatnonzero(exceeded)
    p = besag_clifford(10, int(hits[9]) + 1, stop_at=10)
    assert p == pytest.approx(exact["X3"]["p"], abs=1e-15)
    assert expected_draws(0.004, stop_at=10, most=5616) == pytest.approx(exact["X3"]["mean_draws"], rel=1e-8)


def test_x4_bound(exact):
    differences = Lcg(24).normals(60)[:, None]
    assert upper_bound(differences, 1.1) == pytest.approx(exact["X4"]["U"], abs=1e-12)
